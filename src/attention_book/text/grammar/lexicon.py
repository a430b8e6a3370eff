"""The words of the grammar: tables that anyone can read and extend.

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
