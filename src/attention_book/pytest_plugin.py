"""``pytest --attention my_package.model:Attention``: each law of attention as a test.

Where the package is installed, pytest finds this by its entry point.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from attention_book.foundations.bilingual import Language, chosen_language

if TYPE_CHECKING:
    from attention_book.conformance import Law

_GROUP = "attention", "laws of attention / 注意力的性质"
_HELP = (
    "test an attention, one test for each law: module:name and its conventions, such as "
    "'my_package.model:attend mask=blocked causal'; may be given several times. "
    "逐条检验一个注意力：模块:名字，后面用几个词说约定"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup(*_GROUP)
    group.addoption("--attention", action="append", default=[], metavar="NAME", help=_HELP)
    group.addoption(
        "--attention-seed",
        type=int,
        default=0,
        metavar="N",
        help="the seed of the inputs of --attention / 抽输入的种子",
    )
    group.addoption(
        "--attention-lang",
        choices=("en", "zh"),
        default=None,
        help="the language of the reports of --attention / 报告用英文还是中文",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Collect nothing else where no other test was named."""
    named = config.args_source is pytest.Config.ArgsSource.ARGS
    if config.getoption("attention") and not named:
        config.args = []


def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add a test for each law of each subject."""
    for name in config.getoption("attention"):
        items += _items(session, name, config.getoption("attention_seed"))


def _items(session: pytest.Session, name: str, seed: int) -> Iterator[pytest.Item]:
    from attention_book.conformance import laws
    from attention_book.conformance.naming import AddressError, subjects_at

    language = _language(session.config)
    try:
        subjects = subjects_at(name)
    except AddressError as error:
        raise pytest.UsageError(f"--attention {error.text.text(language)}") from error
    for subject in subjects:
        for law in laws(subject, seed=seed):
            yield LawItem.from_parent(session, name=f"{subject.name}::{law.name}", law=law)


def _language(config: pytest.Config) -> Language:
    asked: Language | None = config.getoption("attention_lang")
    return asked or chosen_language() or "en"


class Broken(Exception):
    """A law that does not hold; its text is the report's."""


class LawItem(pytest.Item):
    """One law as a test."""

    def __init__(self, *, law: "Law", **more: Any) -> None:
        """Take the law."""
        super().__init__(**more)
        self.law = law

    def runtest(self) -> None:
        """Test it."""
        from attention_book.conformance.report import lines_of

        outcome, language = self.law.outcome(), _language(self.config)
        if outcome.reason is not None:
            pytest.skip(outcome.reason.text(language))
        if outcome.breach is not None:
            raise Broken("\n".join(lines_of(outcome, language)))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Tell the report of a broken law, without a traceback."""
        if isinstance(excinfo.value, Broken):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Say which law it is."""
        return self.path, None, self.name


__all__ = ()  # for pytest alone
