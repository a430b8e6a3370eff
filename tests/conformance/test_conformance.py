"""Every broken subject is named rightly, with any seed of the inputs; no sound one is accused."""

import os
import re

import broken_kernels
import broken_parts
import broken_sequences
import pytest
import sound
import torch

from attention_book.conformance import CAUSES, Cross, Kernel, Sequence, examine, laws
from attention_book.conformance.reference import VALUE_FAULTS
from attention_book.foundations import set_language

SEEDS = tuple(map(int, os.environ.get("CONFORMANCE_SEEDS", "0 1 2").split()))
BROKEN = [
    *broken_kernels.subjects(),
    *broken_sequences.subjects(),
    *broken_parts.subjects(),
]
SOUND = list(sound.subjects())

pytestmark = [
    pytest.mark.usefixtures("unchecked"),
    pytest.mark.filterwarnings("ignore"),  # what others' libraries deprecate
]


def test_the_lists_are_long():
    assert len(BROKEN) >= 120
    assert len(SOUND) >= 40


@pytest.mark.parametrize(("subject", "cause"), BROKEN, ids=[f"{s.name}: {c}" for s, c in BROKEN])
def test_what_is_broken_is_named(subject, cause):
    for seed in SEEDS:
        report = examine(subject, seed=seed)
        assert report.cause == cause, (seed, report)


@pytest.mark.parametrize("subject", SOUND, ids=[each.name for each in SOUND])
def test_what_is_sound_is_not_accused(subject):
    for seed in SEEDS:
        report = examine(subject, seed=seed)
        assert report, (seed, report)
        assert len(report.held) > len(report.skipped) / 2


def test_all_faults_have_a_cause_and_all_causes_a_broken_subject():
    """`scaled-twice` is the same function as `scale-without-root`."""
    assert set(VALUE_FAULTS) <= set(CAUSES)
    says_nothing = {"unknown", "raises", "not-deterministic", "padding-attended"}
    found = {cause for _, cause in BROKEN}
    assert set(CAUSES) - found == says_nothing | {"scaled-twice", "hidden-numbers-matter"}


def test_hidden_numbers_that_matter():
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
    for subject in (
        Kernel(broken_kernels.good),
        Sequence(torch.nn.Identity(), width=4),
        Cross(broken_parts.Reader(), width=16),
    ):
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


def test_one_law_alone_and_a_report_as_data():
    report = examine(Kernel(broken_kernels.inverted, name="mine"), only=["formula", "mask"])
    data = report.data()
    assert [law["outcome"] for law in data["laws"]] == ["holds", "broken"]
    assert data["cause"] == data["laws"][1]["cause"] == "mask-inverted"
    assert data["laws"][1]["where"].keys() == {"zh", "en"}
    assert not data["holds"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Kernel(max, mask="block"), "mask: expected attend or blocked or .*, got 'block'"),
        (lambda: Sequence(max, width=4, padding=("top",)), "padding: expected right or .*'top'"),
        (lambda: Cross(max, width=4, mask="additive"), "mask: expected .*, got 'additive'"),
        (lambda: Sequence(max), "width, vocabulary: expected one of them, got neither"),
    ],
)
def test_a_convention_that_is_none_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_inputs_are_where_the_subject_is_whatever_the_default():
    """Anything drawn on the default device would be on meta, and fail."""
    subjects = [
        Kernel(torch.nn.functional.scaled_dot_product_attention, empty_row="any", device="cpu"),
        broken_sequences.layer("")[0],
        sound.from_torch(torch.nn.MultiheadAttention(16, 4), cross=True),
    ]
    torch.set_default_device("meta")
    try:
        with pytest.raises(ValueError, match="device: expected one that holds numbers, got meta"):
            laws(Kernel(broken_kernels.good))
        told = [examine(subject) for subject in (subjects[0], subjects[2])]
    finally:
        torch.set_default_device(None)
    assert all(told), told
