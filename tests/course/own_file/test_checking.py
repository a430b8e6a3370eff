"""`check_file`: planted slips are named, later edits found, and whatever a file holds is told."""

import re
from pathlib import Path

import pytest
import torch
from course.own_file.planted import LATER, PLANTED

from attention_book.course.own_file import changes, check_file, file_at


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "my_attention.py"


def edited(step: int, old: str, new: str) -> str:
    text = "".join(line.split("  # ")[0] + "\n" for line in file_at(step).splitlines())
    assert old in text
    return text.replace(old, new)


@pytest.mark.parametrize("step", range(1, 17))
def test_every_planted_slip_gets_the_hint_of_its_name(file: Path, step: int) -> None:
    missed = []
    for _, name, old, new in (each for each in PLANTED if each[0] == step):
        file.write_text(edited(step, old, new), encoding="utf8")
        verdict = check_file(step, file, language="en", remember=False)
        told = name in (verdict.mistake, verdict.cause) and verdict.hint is not None
        if verdict or not told or not (verdict.broken == step or verdict.cause == name):
            missed.append((step, name, verdict.broken, verdict.mistake, verdict.cause))
    assert not missed


@pytest.mark.parametrize(("earlier", "later", "name", "old", "new"), LATER)
def test_a_later_edit_that_breaks_an_earlier_step_is_found(
    file: Path, earlier: int, later: int, name: str, old: str, new: str
) -> None:
    file.write_text(file_at(later - 1), encoding="utf8")
    assert check_file(later - 1, file)
    file.write_text(edited(later, old, new), encoding="utf8")
    verdict = check_file(later, file, language="en")
    assert verdict.broken == earlier
    assert verdict.statement is not None
    assert f"edit of `{name}` (line " in verdict.statement.en
    assert f"改 `{name}`（第 " in verdict.statement.zh
    assert "行）时弄坏的" in verdict.statement.zh


def test_a_name_that_a_later_step_brings_is_told_as_missing(file: Path) -> None:
    """The kind: "did you mean", where the reader has only not come so far yet."""
    file.write_text(file_at(2), encoding="utf8")
    assert check_file(2, file)
    start = file_at(3).split("def attention_weights")[0]
    file.write_text(start, encoding="utf8")
    verdict = check_file(3, file, language="en")
    assert verdict.broken == 1
    assert "The file has no `attention_weights` yet (step 3)" in str(verdict)
    file.write_text(start.replace("attention_weights(", "attention_poling("), encoding="utf8")
    assert "Did you mean `attention_pooling`" in str(check_file(3, file, language="en"))


def test_without_a_mask_it_is_none_even_where_a_later_slip_shows_as_well(file: Path) -> None:
    old = GOOD[GOOD.index("    if mask is None") : GOOD.index("def future_mask")]
    new = "    return scores.masked_fill(mask == 0, -1e9).softmax(-1)\n\n\n"
    file.write_text(GOOD.replace(old, new), encoding="utf8")
    assert "Without `mask` it is None" in str(check_file(3, file, language="en"))


def test_a_step_that_never_held_was_broken_by_no_later_edit(file: Path) -> None:
    file.write_text(file_at(2), encoding="utf8")
    assert check_file(2, file)
    file.write_text(
        edited(
            3, "return attention_weights(scores, mask) @ v", "return attention_weights(scores) @ v"
        )
    )
    verdict = check_file(3, file, language="en")
    assert (verdict.broken, verdict.mistake) == (3, "pooling-without-mask")
    assert "held before" not in str(verdict)


GOOD = file_at(4)
PAST = "\n\ndef n_past(cache):\n    return 0\n"
# The file, the step, and what is said of it in English.
ODD: dict[str, tuple[str, int, str]] = {
    "empty": ("", 1, "no `def attention_pooling(scores, v)`"),
    "no colon": ("def attention_pooling(scores, v)\n    return scores\n", 1, "ends with a colon"),
    "no import in step 2": (
        file_at(2).replace("return -(((q[:, None] - k) * w) ** 2) / 2", "return math.exp(q)"),
        2,
        "An import is missing",
    ),
    "full width": ("def attention_pooling(scores，v):\n    return scores\n", 1, "full-width"),
    "indentation": ("def attention_pooling(scores, v):\nw = scores\n", 1, "indentation"),
    "open bracket": ("def attention_pooling(scores, v):\n    return (scores @ v\n", 1, "bracket"),
    "pasted marks": (changes(3), 3, "mark of the comparison"),
    "null byte": ("PAD = 0\0\n", 1, "is not Python"),
    "other name": (
        "def attention_pool(scores, v):\n    return scores\n",
        1,
        "You have `attention_pool`",
    ),
    "signature": (
        "def attention_pooling(v):\n    return v\n",
        1,
        "should take `attention_pooling(scores, v)`",
    ),
    "no return": (
        "def attention_pooling(scores, v):\n    w = scores @ v\n",
        1,
        "a `return` missing",
    ),
    "no import": (GOOD.replace("import math\n", ""), 3, "import"),
    "no mask in pool": (
        GOOD.replace(
            "def attention_pooling(scores, v, mask=None)", "def attention_pooling(scores, v)"
        ).replace("weights(scores, mask) @ v", "weights(scores) @ v"),
        3,
        "no argument `mask`",
    ),
    "no mask in attend": (
        GOOD.replace("def qkv_attention(q, k, v, mask=None)", "def qkv_attention(q, k, v)").replace(
            "v, mask)", "v)"
        ),
        4,
        "no argument `mask`",
    ),
    "no mask in a module": (
        file_at(8).replace("y=None, mask=None)", "y=None)").replace("W_v(y), mask)", "W_v(y))"),
        8,
        "it has no argument `mask`",
    ),
    "typing error": (
        GOOD.replace("w.masked_fill(", "w.mask_fill("),
        3,
        "Did you mean `masked_fill`",
    ),
    "misspelt name": (
        GOOD.replace("(scaled_dot_product(q", "(scaled_dot_products(q"),
        4,
        "`scaled_dot_product`",
    ),
    "stops at the top": (GOOD + "\nprint(qkv_attention(1, 2, 3))\n", 4, "stops at line"),
    "leaves": (GOOD + "\nexit()\n", 4, "stops at line"),
    "leaves when called": (
        GOOD.replace("    w = scores", "    exit()\n    w = scores"),
        3,
        "raises",
    ),
    "not done yet": (file_at(3), 4, "has no `def scaled_dot_product(q, k)` yet"),
    "half done": (
        file_at(3).split("def future_mask")[0],
        3,
        "right so far; the file has no `def future_mask",
    ),
    "half done, wrong": (
        file_at(3)
        .split("def future_mask")[0]
        .replace("return w.masked_fill(~mask, 0)", "return w"),
        3,
        "NaN",
    ),
    "name of a variable": (
        GOOD.replace(
            "    return attention_weights(scores, mask) @ v",
            "    attention_weights = attention_weights(scores, mask)\n"
            "    return attention_weights @ v",
        ),
        3,
        "rename the variable",
    ),
    "if mask": (GOOD.replace("if mask is None:", "if not mask:"), 3, "is not None"),
    "mask is None": (
        GOOD.replace("    if mask is None:\n        return scores.softmax(-1)\n", ""),
        3,
        "Without `mask`",
    ),
    "no cache": (
        file_at(15)
        .replace("def positional_encoding(n, d)", "def positional_encoding(n, d, start=0)")
        .replace("torch.arange(n)", "torch.arange(start, start + n)")
        + PAST,
        16,
        "`AttentionLayer.forward` should take",
    ),
    ".T in a batch": (GOOD.replace("k.mT", "k.T"), 4, ".mT"),
    "float mask": (GOOD.replace(", dtype=torch.bool", ""), 3, "boolean"),
    "prints": (GOOD + "\nprint('hello')\n", 4, "steps 1 to 4 hold"),
    "another mark of the order of bytes": ("\ufeff" + GOOD, 4, "steps 1 to 4 hold"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ODD)
def test_whatever_a_file_holds_is_told_in_both_languages(
    file: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text, step, said = ODD[name]
    file.write_text(text, encoding="utf8")
    verdicts = {
        language: check_file(step, file, language=language, remember=False)
        for language in ("zh", "en")
    }
    assert said in str(verdicts["en"])
    assert str(verdicts["zh"]) != str(verdicts["en"])
    assert re.search("[\u3400-\u9fff]", str(verdicts["zh"]))
    assert not re.search("[\u3400-\u9fff]", str(verdicts["en"]))
    assert "verdict" in verdicts["zh"]._repr_html_()
    assert not capsys.readouterr().out


def test_a_file_that_cannot_be_read_is_told(file: Path) -> None:
    assert "no such file" in str(check_file(1, file, language="en"))
    file.with_name("my_atention.py").touch()
    assert "There is `my_atention.py` here" in str(check_file(1, file, language="en"))
    file.mkdir()
    assert "cannot be read" in str(check_file(1, file, language="en"))
    other = file.with_name("latin.py")
    other.write_bytes(b"# caf\xe9\n")
    assert "not UTF-8" in str(check_file(1, other, language="en"))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (GOOD + "\nwhile True:\n    pass\n", len(GOOD.splitlines()) + 2),
        (GOOD.replace("    w = scores", "    while True:\n        pass\n    w = scores"), None),
    ],
    ids=["at the top", "when called"],
)
def test_a_loop_without_end_is_stopped(file: Path, text: str, line: int | None) -> None:
    file.write_text(text, encoding="utf8")
    verdict = check_file(4, file, language="en", limit=1.0)
    assert verdict.mistake == "endless"
    assert "loop without end" in str(verdict)
    assert "stopped at line " in str(verdict)
    assert (verdict.broken is None) == (line is not None)


def test_the_step_may_be_left_out_and_must_exist(file: Path) -> None:
    file.write_text(GOOD, encoding="utf8")
    assert check_file(path=file).step == 4
    for step in (0, 17):
        with pytest.raises(ValueError, match=f"expected 1 to 16, got {step}"):
            check_file(step, file)
    with pytest.raises(ValueError, match="'zh' or 'en'"):
        check_file(1, file, language="fr")


def test_a_check_leaves_the_readers_surroundings_alone(file: Path) -> None:
    file.write_text(GOOD + "\ntorch.manual_seed(3)\ntorch.rand(3)\n", encoding="utf8")
    torch.manual_seed(5)
    expected = torch.rand(2)
    torch.manual_seed(5)
    with torch.no_grad():
        assert check_file(4, file)
        assert not torch.is_grad_enabled()
    assert torch.equal(torch.rand(2), expected)


def test_nothing_is_remembered_of_a_file_that_does_not_hold_or_where_nobody_may_write(
    file: Path,
) -> None:
    kept = file.with_name(".my_attention.json")
    file.write_text(file_at(2), encoding="utf8")
    assert not check_file(3, file)
    assert check_file(2, file, remember=False)
    assert not kept.exists()
    assert check_file(2, file)
    assert kept.exists()
    kept.write_text("not JSON", encoding="utf8")
    assert check_file(2, file)
    kept.unlink()
    kept.mkdir()
    assert check_file(2, file)


def test_a_learner_goes_from_an_empty_file_through_two_steps(file: Path) -> None:
    """What is said on the way, as somebody would go who has only the tasks."""
    head = "def attention_pooling(scores, v):\n"
    average = head + "    w = torch.softmax(scores, dim={})\n    return w @ v\n"
    first = "import torch\n\n" + average
    second = "\ndef gaussian_scores(q, k, w=1.0):\n    return -(({} - k) * w) ** 2 / 2\n"
    estimate = "\ndef kernel_regression(x, xs, ys, w=1.0):\n"
    third = estimate + "    return attention_pooling(gaussian_scores(x, xs, w), ys{})\n"
    right = first.format(-1) + second.format("q[:, None]")
    saves = [
        (1, first.format(1).replace("import torch\n", ""), "import is missing"),
        (1, first.format(1), "axis is fixed as 1"),
        (1, first.format(-1), "step 1 holds"),
        (2, first.format(-1) + second.format("q"), "Every q meets every k"),
        (2, right, "`gaussian_scores`: right so far"),
        (2, right + third.format(".reshape(-1, 1)"), "an axis of size 1 too many"),
        (2, right + third.format(""), "steps 1 to 2 hold"),
    ]
    for step, text, said in saves:
        file.write_text(text, encoding="utf8")
        assert said in str(check_file(step, file, language="en"))
