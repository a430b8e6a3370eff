"""What a sentence means, before any language says it."""

from dataclasses import dataclass

from attention_book.text.grammar.lexicon import Adjective, Noun, Place, Pronoun, Time, Verb


@dataclass(frozen=True, slots=True)
class Phrase:
    """A noun with what stands around it: "these two red books".

    ``determiner`` is "the", "a", "this", "my", "our", "some", "" (names, and numbers
    alone), "mass" (tea, in some amount: du thé) or "generic" (tea as such: le thé).

    >>> from attention_book.text.grammar.lexicon import NOUNS
    >>> Phrase(NOUNS["cat"], "this", number=2).plural
    True
    """

    noun: Noun
    determiner: str
    number: int = 1
    many: bool = False
    adjective: Adjective | None = None

    @property
    def plural(self) -> bool:
        """Whether it speaks of more than one."""
        return self.many or self.number > 1

    @property
    def gender(self) -> str:
        """The French gender."""
        return self.noun.gender


@dataclass(frozen=True, slots=True)
class Mention:
    """A pronoun in the place of a phrase.

    >>> from attention_book.text.grammar.lexicon import PRONOUNS
    >>> [Mention(pronoun).plural for pronoun in PRONOUNS[:4]]
    [False, False, False, True]
    """

    pronoun: Pronoun

    @property
    def plural(self) -> bool:
        """Whether it speaks of more than one."""
        return self.pronoun.number == "plural"

    @property
    def gender(self) -> str:
        """The French gender."""
        return self.pronoun.gender

    @property
    def speaker(self) -> bool:
        """Whether it is "I"."""
        return self.pronoun.refers == "speaker"


@dataclass(frozen=True, slots=True)
class Where:
    """A place, perhaps with an adjective: "under the old tree".

    >>> from attention_book.text.grammar.lexicon import PLACES
    >>> Where(PLACES["garden"]).phrase.noun.french
    'jardin'
    """

    place: Place
    adjective: Adjective | None = None

    @property
    def phrase(self) -> Phrase:
        """The noun with its article."""
        return Phrase(self.place.noun, "the", adjective=self.adjective)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """One clause: somebody acts, is somehow, is somewhere, or there is something.

    With a ``verb`` the subject acts; with a ``quality`` it is so; with neither it is
    at ``where``, or, if ``exists``, "there is" such a thing there.

    >>> from attention_book.text.grammar.lexicon import NOUNS, VERBS
    >>> Clause(subject=Phrase(NOUNS["girl"], "the"), verb=VERBS[0]).negative
    False
    """

    subject: Phrase | Mention
    verb: Verb | None = None
    quality: Adjective | None = None
    exists: bool = False
    object: Phrase | Mention | None = None
    recipient: Phrase | None = None
    companion: Phrase | None = None
    where: Where | None = None
    time: Time | None = None
    time_first: bool = False
    adverb: Time | None = None
    modal: str = ""  # "will", "want" or "must"
    negative: bool = False
    question: bool = False


@dataclass(frozen=True, slots=True)
class Meaning:
    """Clauses, and what joins each to the one before: "and", "but", "because", "so".

    >>> from attention_book.text.grammar.lexicon import NOUNS, VERBS
    >>> Meaning((Clause(subject=Phrase(NOUNS["girl"], "the"), verb=VERBS[0]),)).joints
    ()
    """

    clauses: tuple[Clause, ...]
    joints: tuple[str, ...] = ()
