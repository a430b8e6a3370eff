"""What is remembered of the pages goes and comes with them."""

from types import SimpleNamespace
from typing import Any

from bilingual.environment import PerBook, PerPage, reading_order

WORDS = PerPage[str]("words")
TOTAL = PerBook[int]("total", 0)


def environment(**words: str) -> Any:
    env = SimpleNamespace()
    WORDS.of(env).update(words)
    return env


def test_pages_read_side_by_side_are_merged() -> None:
    ours, theirs = environment(a="old", b="ours"), environment(a="new", b="theirs", c="more")
    WORDS.merge(None, ours, {"a", "list"}, theirs)
    assert WORDS.of(ours) == {"a": "new", "b": "ours"}


def test_a_page_that_goes_is_forgotten() -> None:
    env = environment(a="here", b="there")
    WORDS.forget(None, env, "a")
    WORDS.forget(None, env, "never there")
    assert WORDS.of(env) == {"b": "there"}


def test_names_are_apart_and_environments_too() -> None:
    one, other = environment(a="one"), environment()
    assert PerPage[str]("others").of(one) == {}
    assert WORDS.of(other) == {}


def test_a_value_says_whether_it_is_new() -> None:
    env: Any = SimpleNamespace()
    assert TOTAL.of(env) == 0
    assert TOTAL.update(env, 3)
    assert not TOTAL.update(env, 3)
    assert TOTAL.of(env) == 3


def test_pages_come_in_reading_order() -> None:
    includes = {"intro": ["part", "end"], "part": ["b", "a"], "a": ["intro"]}
    env: Any = SimpleNamespace(
        toctree_includes=includes,
        config=SimpleNamespace(root_doc="intro"),
        found_docs={"end", "part", "b", "a", "intro", "z-orphan", "an-orphan"},
    )
    assert reading_order(env) == ["intro", "part", "b", "a", "end", "an-orphan", "z-orphan"]
