"""The words of the grammar, tables that anyone can read and extend; and what a sentence means.

They stand in ``data/grammar/*.tsv``, one concept a line with its forms in English,
French and Chinese. "-" means: there is none. A French asterisk, as in dictionaries,
marks an *h* that forbids elision (*hamster: le hamster, not l'hamster). Two forms with
a bar stand before a consonant and before a vowel (beau|bel). Tags say what a noun
is; verbs and adjectives name the tags, or the nouns, that they go with.
"""

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "data" / "grammar"


@dataclass(frozen=True, slots=True, eq=False)
class Noun:
    """A noun: its forms, its gender and 量词, and the tags that say what goes with it.

    >>> NOUNS["book"].measure
    '本'
    """

    english: str
    plural: str | None
    french: str
    french_plural: str
    gender: str
    chinese: str
    measure: str
    tags: frozenset[str]

    def is_any(self, names: frozenset[str]) -> bool:
        """Whether ``names`` hold this noun or one of its tags."""
        return self.english in names or not self.tags.isdisjoint(names)


@dataclass(frozen=True, slots=True, eq=False)
class Pronoun:
    """A pronoun: subject and object forms, gender and number.

    >>> PRONOUNS[2].french_object
    "la|l'"
    """

    english: str
    english_object: str
    french: str
    french_object: str
    chinese: str
    gender: str
    number: str
    refers: str


@dataclass(frozen=True, slots=True, eq=False)
class Adjective:
    """An adjective: four French forms, its place there, and how Chinese says it.

    >>> [adjective.french("f", plural=True) for adjective in ADJECTIVES[:2]]
    ['petites', 'grandes']
    """

    english: str
    forms: tuple[str, ...]
    french_place: str
    chinese: str
    particle: str
    chinese_copula: str
    describes: frozenset[str]

    def french(self, gender: str, *, plural: bool) -> str:
        """Return the form that agrees with a noun of this gender and number."""
        return self.forms[(gender == "f") + 2 * plural]


@dataclass(frozen=True, slots=True, eq=False)
class Verb:
    """A verb: its forms, who does it to what, where, and in which moods.

    >>> [verb.third for verb in VERBS if "letter" in verb.objects]
    ['writes', 'gives']
    """

    english: str
    third: str
    particle: str
    je: str
    il: str
    ils: str
    infinitive: str
    chinese: str
    subjects: frozenset[str]
    objects: frozenset[str]
    takes: frozenset[str]
    places: frozenset[str]
    moods: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A noun with the words that turn it into a place, and what may be found there.

    >>> PLACES["garden"].french_preposition
    'dans'
    """

    noun: Noun
    english_preposition: str
    english_article: str
    french_preposition: str
    localizer: str
    holds: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Time:
    """When, or how often: "today", "every day", "often".

    >>> [time.french for time in TIMES if time.kind == "adverb"]
    ['souvent', 'toujours', 'parfois']
    """

    english: str
    french: str
    chinese: str
    kind: str


def _rows(name: str) -> list[list[str]]:
    """Return the rows of a table without its heading; "-" becomes an empty string."""
    lines = (FOLDER / f"{name}.tsv").read_text(encoding="utf-8").splitlines()[1:]
    return [["" if cell == "-" else cell for cell in line.split("\t")] for line in lines]


def _names(cell: str) -> frozenset[str]:
    return frozenset(cell.split())


def _read_nouns() -> tuple[dict[str, Noun], frozenset[str]]:
    """Read the nouns, and which French forms begin with an aspirated h."""
    nouns: dict[str, Noun] = {}
    aspirated: set[str] = set()
    for english, plural, french, french_plural, gender, chinese, measure, tags in _rows("nouns"):
        aspirated.update(form[1:] for form in (french, french_plural) if form.startswith("*"))
        forms = french.lstrip("*"), french_plural.lstrip("*")
        nouns[english] = Noun(
            english, plural or None, *forms, gender, chinese, measure, _names(tags)
        )
    return nouns, frozenset(aspirated)


def _read_verb(*cells: str) -> Verb:
    """Split the row of a verb into its eight forms and five lists of names."""
    english, third, particle, je, il, ils, infinitive, chinese, *lists = cells
    subjects, objects, takes, places, moods = map(_names, lists)
    return Verb(
        english, third, particle, je, il, ils, infinitive, chinese,
        subjects, objects, takes, places, moods,
    )  # fmt: skip


NOUNS, ASPIRATED = _read_nouns()
PRONOUNS = tuple(Pronoun(*row) for row in _rows("pronouns"))
ADJECTIVES = tuple(
    Adjective(english, tuple(forms), place, chinese, particle, copula, _names(describes))
    for english, *forms, place, chinese, particle, copula, describes in _rows("adjectives")
)
VERBS = tuple(_read_verb(*row) for row in _rows("verbs"))
PLACES = {
    row[0]: Place(NOUNS[row[0]], row[1], row[2], row[3], row[4], _names(row[5]))
    for row in _rows("places")
}
TIMES = tuple(Time(*row) for row in _rows("times"))


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
