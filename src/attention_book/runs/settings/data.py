"""The settings of the data: a corpus by its name, or files of one's own."""

from dataclasses import dataclass
from typing import Literal, get_args

from attention_book.foundations.checks import check_sizes
from attention_book.runs.settings.checking import one_of

#: The corpora with a name, each of which knows its languages and splits.
CORPORA = ("grammar", "phrasebook", "tatoeba-eng-fra", "multi30k-en-de", "multi30k-en-fr")

OnProblem = Literal["raise", "skip"]


@dataclass(frozen=True, kw_only=True)
class DataSettings:
    """What is read: a corpus by its name, or files of one's own.

    A file has lines "source TAB target"; two parallel files have a sentence a line each. A
    name that ends in ``.gz`` is unpacked on the way.

    Attributes:
        corpus: One of :data:`CORPORA`; None: the files.
        train: One file, or two parallel ones.
        validation: Likewise; none: some of the training lines are held out.
        test: Likewise.
        source: The language to translate from: "en", or any other short name.
        target: The language to translate to.
        num_train: How many pairs to train on; None: all.
        held_out: The share of the sources that validation and test get each, where they have
            no files of their own. A source sentence is in one part only, whatever its
            translations, and in the same one each time.
        max_tokens: Pairs with a longer side are left out of the training, and counted.
        on_problem: What is done with a line that is no pair of sentences (no tab, a bad
            encoding, an empty side): "raise" stops and names it; "skip" leaves it out, and
            counts it.

    Raises:
        ValueError: if there is neither corpus nor file, or both, or a number is out of range.

    >>> DataSettings(corpus=None, train=("pairs.tsv",), source="en", target="it").target
    'it'
    """

    corpus: str | None = "grammar"
    train: tuple[str, ...] = ()
    validation: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    source: str = "en"
    target: str = "fr"
    num_train: int | None = None
    held_out: float = 0.02
    max_tokens: int = 256
    on_problem: OnProblem = "raise"

    def __post_init__(self) -> None:
        """Refuse now what would fail after minutes of training."""
        files = (self.train, self.validation, self.test)
        if (self.corpus is None) != bool(self.train) or (self.corpus and any(files)):
            raise ValueError(
                f"corpus, train: expected a corpus by name or files of your own, "
                f"got {self.corpus!r} and {self.train}"
            )
        if self.corpus is not None:
            one_of("corpus", self.corpus, CORPORA)
        for name in ("train", "validation", "test"):
            if len(getattr(self, name)) > 2:
                raise ValueError(
                    f"{name}: expected one file or two, got {len(getattr(self, name))}"
                )
        one_of("on_problem", self.on_problem, get_args(OnProblem))
        if not 0 < self.held_out < 0.5:
            raise ValueError(f"held_out: expected a share below a half, got {self.held_out}")
        check_sizes(max_tokens=self.max_tokens)
        if self.num_train is not None:
            check_sizes(num_train=self.num_train)
