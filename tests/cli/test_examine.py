"""``attention-book examine``: law by law, in both languages, as JSON, with an exit code."""

import json
import re

import pytest

from attention_book.cli.errors import ExitCode

SOURCE = """
import torch
from torch.nn.functional import scaled_dot_product_attention as sdpa

def sound(q, k, v, mask):
    return sdpa(q, k, v, mask)

def inverted(q, k, v, mask):
    return sdpa(q, k, v, None if mask is None else ~mask)
"""
WORDS = "empty_row=any compiles=no"


@pytest.fixture(autouse=True)
def _mine(tmp_path, monkeypatch, unchecked):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(SOURCE, encoding="utf8")


def test_a_sound_one_is_told_so_and_ends_well(say):
    found = say(f"examine mine.py:sound {WORDS}")
    assert found.code == ExitCode.FINE
    assert found.out.startswith("mine.py:sound: all laws hold\n")
    assert "各条性质都成立" in say(f"examine mine.py:sound {WORDS} --lang zh").out


def test_a_broken_one_is_named_in_both_languages(say):
    found = say(f"examine mine.py:inverted {WORDS}")
    assert found.code == ExitCode.OWN_FILE
    assert "usual cause: mask-inverted: the mask is read the other way round" in found.out
    assert not re.search("[一-鿿]", found.out + found.err)
    found = say(f"examine mine.py:inverted {WORDS} --lang zh")
    assert found.code == ExitCode.OWN_FILE
    assert "常见的原因：mask-inverted：掩码读反了" in found.out
    assert "有性质不成立" in found.err


def test_as_data_and_one_law_alone(say):
    found = say(f"examine mine.py:inverted {WORDS} --law mask --law formula --seed 3 --json")
    data = json.loads(found.out)
    assert not data["holds"]
    [report] = data["reports"]
    assert {law["law"]: law["outcome"] for law in report["laws"]} == {
        "formula": "holds",
        "mask": "broken",
    }
    assert report["cause"] == "mask-inverted"


@pytest.mark.parametrize(
    ("line", "en", "zh"),
    [
        ("examine mine.py:lost", "there is no lost in mine.py", "里没有 lost"),
        ("examine mine.py:sound mask=foo", "got 'foo'", "得到 'foo'"),
        ("examine mine.py:sound --law weight", "expected one of formula", "没有叫 weight 的性质"),
        ("examine mine.py", "expected module:name", "要写成 模块:名字"),
    ],
)
def test_a_wrong_line_is_said_in_both_languages(say, line, en, zh):
    found = say(line)
    assert found.code == ExitCode.WRONG_LINE
    assert en in found.err
    assert zh in say(f"{line} --lang zh").err
