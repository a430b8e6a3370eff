"""Every broken subject is named rightly, with any seed of the inputs; no sound one is accused."""

import os
import re

import broken_kernels
import broken_sequences
import pytest
import sound
import torch

from attention_book.conformance import CAUSES, Kernel, Sequence, examine, laws
from attention_book.conformance.reference import VALUE_FAULTS, attend
from attention_book.foundations import set_language

SEED = int(os.environ.get("CONFORMANCE_SEED", "0"))
BROKEN = [*broken_kernels.subjects(), *broken_sequences.subjects()]
SOUND = [*sound.kernels(), *sound.sequences()]

pytestmark = [
    pytest.mark.usefixtures("unchecked"),
    pytest.mark.filterwarnings("ignore"),  # what others' libraries deprecate
]


@pytest.mark.parametrize(("subject", "cause"), BROKEN, ids=[f"{s.name}: {c}" for s, c in BROKEN])
def test_what_is_broken_is_named(subject, cause):
    report = examine(subject, seed=SEED)
    assert report.cause == cause, report


@pytest.mark.parametrize("subject", SOUND, ids=[each.name for each in SOUND])
def test_what_is_sound_is_not_accused(subject):
    report = examine(subject, seed=SEED)
    assert report, report
    assert len(report.held) > len(report.skipped) / 2


def test_all_faults_have_a_cause_and_most_causes_a_broken_subject():
    """`scaled-twice` is the same function as `scale-without-root`; `bias-scaled` needs a bias."""
    assert set(VALUE_FAULTS) <= set(CAUSES)
    says_nothing = {"unknown", "raises", "not-deterministic", "padding-attended"}
    found = {cause for _, cause in BROKEN}
    assert set(CAUSES) - found == says_nothing | {
        "scaled-twice",
        "bias-scaled",
        "hidden-numbers-matter",
    }


def test_a_bias_that_is_scaled_and_hidden_numbers_that_matter():
    def bias(num_queries, num_keys):
        return torch.linspace(-1, 1, num_queries * num_keys).view(num_queries, num_keys)

    def attention(q, k, v, mask):
        scores = (q @ k.mT + bias(q.shape[-2], k.shape[-2])) * q.shape[-1] ** -0.5
        return broken_kernels.softmax_zero(scores, torch.tensor(True) if mask is None else mask) @ v

    def reference(q, k, v, allow, **more):
        return attend(q, k, v, allow, bias=bias(q.shape[-2], k.shape[-2]).double(), **more)

    subject = Kernel(attention, reference=reference, places=True, halves=(), compiles=False)
    assert examine(subject).cause == "bias-scaled"
    good = Kernel(broken_kernels.good, hidden="anything", halves=())
    assert examine(good).cause == "hidden-numbers-matter"


def test_a_report_says_it_in_both_languages():
    report = examine(Kernel(broken_kernels.inverted, name="mine"))
    for language, words in (
        ("zh", ["mine：", "条性质不成立", "常见的原因：mask-inverted：掩码读反了", "批量 1"]),
        ("en", ["mine: ", "laws broken", "usual cause: mask-inverted: the mask"]),
    ):
        text = report.text(language)
        assert all(each in text for each in words)
        assert bool(re.search("[一-鿿]", text)) == (language == "zh")
        set_language(language)
        assert str(report) == text
    for each in CAUSES.values():
        assert re.search("[一-鿿]", each.zh)
        assert not re.search("[一-鿿]", each.en)


def test_laws_have_names_of_their_own_and_statements_in_both_languages():
    for subject in (Kernel(broken_kernels.good), Sequence(torch.nn.Identity(), width=4)):
        found = laws(subject)
        assert len({law.name for law in found}) == len(found)
        for law in found:
            assert law.statement.en[0].isupper()
            assert law.statement.en.endswith(".")
            assert law.statement.zh.endswith("。")


def test_an_error_breaks_a_law_and_the_next_is_tested_all_the_same():
    def refuses(q, k, v, mask):
        if len(q) > 1:
            raise ValueError("one example alone")
        return broken_kernels.good_half(q, k, v, mask)

    report = examine(Kernel(refuses))
    assert report.cause == "raises"
    assert "ValueError: one example alone" in str(report)
    assert "trace" in report.held
