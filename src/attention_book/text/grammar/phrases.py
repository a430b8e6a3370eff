"""Drawing noun phrases that make sense: who can act, what with which article."""

from dataclasses import dataclass, field
from random import Random

from attention_book.text.grammar.lexicon import (
    ADJECTIVES,
    NOUNS,
    PLACES,
    PRONOUNS,
    VERBS,
    Adjective,
    Noun,
    Pronoun,
    Verb,
)
from attention_book.text.grammar.meaning import Mention, Phrase, Where

SUBJECTS = {verb: [n for n in NOUNS.values() if n.is_any(verb.subjects)] for verb in VERBS}
OBJECTS = {verb: [n for n in NOUNS.values() if n.is_any(verb.objects)] for verb in VERBS}
COMPANIONS = [noun for noun in NOUNS.values() if noun.is_any(frozenset({"family", "name"}))]
RECIPIENTS = [noun for noun in NOUNS.values() if "person" in noun.tags]
DESCRIBED = {
    quality: [noun for noun in NOUNS.values() if noun.is_any(quality.describes)]
    for quality in ADJECTIVES
}
QUALITIES = {
    noun: [a for a in ADJECTIVES if noun in DESCRIBED[a] and a.french_place in ("before", "after")]
    for noun in NOUNS.values()
}


@dataclass(slots=True)
class Draw:
    """The state of drawing one sentence: the dice, who speaks, which nouns are taken.

    Attributes:
        dice: The source of randomness.
        owner: "my" or "our", the same throughout a sentence.
        used: Nouns that already stand in the sentence; none comes twice.

    >>> Draw(Random(0)).owner
    'my'
    """

    dice: Random
    owner: str = ""
    used: set[Noun] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Throw the dice for the owner."""
        self.owner = self.dice.choice(("my", "my", "our"))

    def happens(self, probability: float) -> bool:
        """Return True with this probability."""
        return self.dice.random() < probability

    def noun(self, nouns: list[Noun]) -> Noun | None:
        """Draw a noun that is not in the sentence yet; None if all are."""
        free = [noun for noun in nouns if noun not in self.used]
        if not free:
            return None
        noun = self.dice.choice(free)
        self.used.add(noun)
        return noun


def draw_subject(
    draw: Draw, nouns: list[Noun], *, adjective: float = 0.3, the: bool = True
) -> Phrase | None:
    """Draw a definite phrase: "the girl", "these two cats", "my friend".

    Args:
        draw: The sentence so far.
        nouns: What it may speak of.
        adjective: The probability of an adjective.
        the: Whether "the" alone is definite enough; things take "this" or "my".

    >>> draw_subject(Draw(Random(1)), [NOUNS["girl"]]).noun.english
    'girl'
    """
    noun = draw.noun(nouns)
    return None if noun is None else phrase_of(draw, noun, adjective=adjective, the=the)


def phrase_of(draw: Draw, noun: Noun, *, adjective: float, the: bool) -> Phrase:
    """Draw a definite phrase about this noun; see :func:`draw_subject`.

    >>> phrase_of(Draw(Random(1)), NOUNS["paul"], adjective=0.5, the=True).determiner
    ''
    """
    quality = draw_quality(draw, noun, adjective)
    if "name" in noun.tags:
        return Phrase(noun, "")
    if "family" in noun.tags:
        return Phrase(noun, draw.owner, adjective=_beside(draw.owner, quality))
    choices = [("this", 1, False), ("this", 1, True), ("this", 2, False)]
    if the:
        choices += [("the", 1, False)] * 4 + [("the", 1, True)] * ("person" in noun.tags)
    if "mine" in noun.tags:
        choices += [(draw.owner, 1, False)] * 2
    determiner, number, many = draw.dice.choice(choices)
    plural_exists = noun.plural is not None
    number, many = (number, many) if plural_exists else (1, False)
    return Phrase(noun, determiner, number, many, _beside(determiner, quality))


def draw_object(draw: Draw, verb: Verb, *, definite: bool) -> Phrase | None:
    """Draw what the verb acts on; ``definite`` forbids "a", "two" and "some".

    >>> milk = draw_object(Draw(Random(1)), VERBS[5], definite=False)
    >>> milk.determiner
    'mass'
    """
    noun = draw.noun(OBJECTS[verb])
    if noun is None:
        return None
    if "mass" in noun.tags:
        return Phrase(noun, "generic" if verb.english == "like" else "mass")
    if "unique" in noun.tags:
        return Phrase(noun, "the")
    if "name" in noun.tags or "family" in noun.tags:
        return Phrase(noun, "" if "name" in noun.tags else draw.owner)
    quality = draw_quality(draw, noun, 0.5)
    choices = [("this", 1, False)] * 2 + [("this", 1, True), ("this", 2, False)]
    if "my" in verb.takes and "mine" in noun.tags:
        choices += [(draw.owner, 1, False)] * 2
    if not definite and "a" in verb.takes and "person" not in noun.tags:
        choices += [("a", 1, False)] * 6
        if "costly" not in noun.tags:
            choices += [("", 2, False), ("", 3, False), ("some", 1, True)]
    determiner, number, many = draw.dice.choice(choices)
    return Phrase(noun, determiner, number, many, _beside(determiner, quality))


def _beside(determiner: str, quality: Adjective | None) -> Adjective | None:
    """Drop what would put two 的 in a row, as in 我 的 红色 的 包."""
    return None if quality and quality.particle and determiner in ("my", "our") else quality


def draw_quality(draw: Draw, noun: Noun, probability: float) -> Adjective | None:
    """Draw an adjective that fits the noun, or none.

    >>> draw_quality(Draw(Random(0)), NOUNS["hamster"], 1.0).english
    'white'
    """
    fitting = QUALITIES[noun]
    if fitting and draw.happens(probability):
        return draw.dice.choice(fitting)
    return None


def draw_place(draw: Draw, names: frozenset[str]) -> Where | None:
    """Draw one of the places, perhaps with an adjective.

    >>> draw_place(Draw(Random(1)), frozenset({"garden"})).place.english_preposition
    'in'
    """
    if NOUNS["house"] in draw.used:  # French would say "maison" twice
        names = names - {"home"}
    free = sorted(name for name in names if NOUNS[name] not in draw.used)
    if not free:
        return None
    place = PLACES[draw.dice.choice(free)]
    draw.used.add(place.noun)
    return Where(place, draw_quality(draw, place.noun, 0.25))


def pronoun_for(phrase: Phrase | Mention) -> Mention:
    """Return the pronoun that takes up a phrase: its person, gender and number.

    >>> pronoun_for(Phrase(NOUNS["flower"], "this", many=True)).pronoun.french
    'elles'
    """
    if isinstance(phrase, Mention):
        return phrase
    refers = "person" if "person" in phrase.noun.tags else "thing"
    number = "plural" if phrase.plural else "singular"
    return Mention(_PRONOUN_FOR[phrase.gender, number, refers])


_PRONOUN_FOR: dict[tuple[str, str, str], Pronoun] = {
    (pronoun.gender, pronoun.number, pronoun.refers): pronoun for pronoun in PRONOUNS
}
