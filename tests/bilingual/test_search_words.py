"""Sources and formulas in the search's index: words that a reader knows, no keys and no TeX."""

from types import SimpleNamespace
from typing import Any

import pytest
from bilingual.search.formulas import readable
from bilingual.search.references import CLOSE, OPEN, with_words
from bilingual.search.spellings import variants


def environment(**sources: list[str]) -> Any:
    """Return what is asked of Sphinx: the sources, each with the names of its authors."""
    citations = [
        SimpleNamespace(
            key=key,
            entry=SimpleNamespace(
                fields={"year": "2017"},
                persons={"author": [SimpleNamespace(last_names=[name]) for name in names]},
            ),
        )
        for key, names in sources.items()
    ]
    cite = SimpleNamespace(citations=citations)
    std = SimpleNamespace(data={"labels": {}})
    return SimpleNamespace(get_domain=lambda name: {"cite": cite, "std": std}[name])


@pytest.mark.parametrize(
    ("keys", "zh", "en"),
    [
        ("one", "[Yule, 2017]", "[Yule, 2017]"),
        ("two", "[Press 与 Wolf, 2017]", "[Press and Wolf, 2017]"),
        ("many, one", "[Vaswani 等, 2017; Yule, 2017]", "[Vaswani et al., 2017; Yule, 2017]"),
        ("unknown", "[unknown]", "[unknown]"),
    ],
)
def test_a_source_is_called_by_its_authors(keys: str, zh: str, en: str) -> None:
    env = environment(one=["Yule"], two=["Press", "Wolf"], many=["Vaswani", "Shazeer", "Parmar"])
    text = f"a {OPEN}cite p {keys}{CLOSE} b"
    assert with_words(env, text, "zh") == f"a {zh} b"
    assert with_words(env, text, "en") == f"a {en} b"


@pytest.mark.parametrize(
    ("kind", "target", "words"),
    [("ref", "ex-masks-hand", "练习"), ("eq", "eq-masks", "公式"), ("numref", "fig-masks", "图")],
)
def test_what_has_no_title_is_called_by_its_kind(kind: str, target: str, words: str) -> None:
    text = f"{OPEN}std {kind} {target}{CLOSE}"
    assert with_words(environment(), text, "zh") == words


def test_characters_stand_for_those_of_the_book():
    """Traditional and Japanese forms lead to the book's own; what it has itself stays."""
    found = variants("机头变权转发概率 乾")
    pairs = dict(zip(found[::2], found[1::2], strict=True))
    assert {each: pairs.get(each) for each in "機頭變権転發髮乾"} == {
        "機": "机", "頭": "头", "變": "变", "権": "权", "転": "转", "發": "发", "髮": "发",
        "乾": None,
    }  # fmt: skip
    assert set(pairs.values()) <= set("机头变权转发概率")


@pytest.mark.parametrize(
    ("tex", "text"),
    [
        (r"4.5\times1 \approx 4.5", "4.5×1 ≈4.5"),
        (r"W^{O}\in\mathbb{R}^{n\times d}", "W^O∈R^(n×d)"),
        (r"\operatorname{MHA}_{\text{causal}}(x)", "MHA_causal(x)"),
        (r"\begin{cases}s/w & s\le w\\1\end{cases}", "s/w s≤w 1"),
        (r"\frac{a+b}{c}\,\log \varepsilon", "(a+b)/c log ε"),
        (r"\sqrt{d_k} \unheardof{x}", "√d_k unheardofx"),
        (r"x^", "x^"),
    ],
)
def test_a_formula_is_a_line_of_text(tex: str, text: str) -> None:
    assert readable(tex) == text
