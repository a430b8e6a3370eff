"""What stands behind a name is found and examined; what doesn't is said in both languages."""

import re
import textwrap

import pytest
import torch

from attention_book.conformance import AddressError, Cross, Kernel, Sequence, examine, subjects_at

pytestmark = pytest.mark.usefixtures("unchecked")

SOURCE = """
import torch
from torch import nn
from attention_book.conformance import Kernel
from torch.nn.functional import scaled_dot_product_attention as sdpa


def attend(q, k, v, mask=None):
    return sdpa(q, k, v, mask)


def pooled(x):
    return x.cumsum(1)


class Heads(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))

    def forward(self, q, k, v, mask=None):
        q, k, v = (
            f(x).unflatten(-1, (4, 4)).transpose(1, 2)
            for f, x in ((self.q, q), (self.k, k), (self.v, v))
        )
        return self.o(sdpa(q, k, v, mask).transpose(1, 2).flatten(2))


class Reader(nn.Module):
    def forward(self, x, memory, mask):
        return sdpa(x, memory, memory, None if mask is None else mask[:, None])


class Needs:
    def __init__(self, size):
        pass


def of_torch():
    return nn.MultiheadAttention(8, 2)


def raises():
    raise RuntimeError("no luck")


both = [Kernel(attend, empty_row="any", name="one"), Kernel(attend, empty_row="any", name="two")]
seven = 7
"""


@pytest.fixture(autouse=True)
def _beside(tmp_path, monkeypatch):
    (tmp_path / "of_a_reader.py").write_text(textwrap.dedent(SOURCE), encoding="utf8")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("attend empty_row=any", Kernel),
        ("pooled width=4 causal", Sequence),
        ("Heads width=16 mask_axes=bhqk padding=right,left", Sequence),
        ("Heads width=16 mask_axes=bhqk cross", Cross),
        ("Reader width=8 cross", Cross),
        ("of_torch", Sequence),
        ("of_torch cross", Cross),
        ("both", Kernel),
    ],
)
@pytest.mark.parametrize("where", ["of_a_reader", "of_a_reader.py"])
def test_what_is_sound_is_found_and_obeys(where, name, kind):
    found = subjects_at(f"{where}:{name}")
    assert all(type(each) is kind for each in found)
    assert len(found) == (2 if name == "both" else 1)
    for each in found:
        assert examine(each), each


def test_words_are_read_by_the_type_of_their_field():
    [found] = subjects_at(
        "of_a_reader:attend mask=blocked causal window=3 scale=0.5 halves=float16,bfloat16 "
        "compiles=no dtype=float64"
    )
    assert (found.mask, found.causal, found.window, found.scale) == ("blocked", True, 3, 0.5)
    assert found.halves == (torch.float16, torch.bfloat16)
    assert (found.compiles, found.dtype) == (False, torch.float64)
    [found] = subjects_at("of_a_reader:attend window=none halves=none")
    assert (found.window, found.halves) == (None, ())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("of_a_reader", "expected module:name"),
        ("nowhere_at_all:attend", "can't import nowhere_at_all"),
        ("nowhere.py:attend", "no file nowhere.py"),
        ("of_a_reader:lost", "there is no lost in of_a_reader"),
        ("of_a_reader:seven", "expected a function, a module, .* got int"),
        ("of_a_reader:Needs", r"it takes arguments \(size\)"),
        ("of_a_reader:raises", "calling it failed: RuntimeError: no luck"),
        ("of_a_reader:pooled", "expected what its inputs are, width="),
        ("of_a_reader:both causal", "it is a Kernel, and brings its conventions"),
        (
            "of_a_reader:attend casual",
            r"a convention of a Kernel \(causal.*\), got casual",
        ),
        ("of_a_reader:attend mask=block", "mask: expected attend or blocked or .* got 'block'"),
        ("of_a_reader:attend window=wide", "window: expected int, got 'wide'"),
        ("of_a_reader:attend halves=float17", "halves: expected dtype, got 'float17'"),
        ("of_a_reader:attend causal=maybe", "causal: expected yes or no, got 'maybe'"),
    ],
)
def test_what_is_no_subject_is_said_in_both_languages(name, words):
    with pytest.raises(AddressError, match=words) as error:
        subjects_at(name)
    assert re.search("[一-鿿]", error.value.text.zh)
    assert not re.search("[一-鿿]", error.value.text.en)
