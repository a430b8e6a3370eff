"""Drawing sentences that make sense: noun phrases, clauses, and several that belong together."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random

from attention_book.text.grammar.languages.french import VOWELS
from attention_book.text.grammar.lexicon import (
    ADJECTIVES,
    NOUNS,
    PLACES,
    PRONOUNS,
    TIMES,
    VERBS,
    Adjective,
    Clause,
    Meaning,
    Mention,
    Noun,
    Phrase,
    Pronoun,
    Verb,
    Where,
)

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


FRESH = PRONOUNS[:4]  # those that need nobody named before: i, he, she, they
_AGENTS = frozenset({"person", "animal"})
LIVING = [noun for noun in NOUNS.values() if not noun.tags.isdisjoint(_AGENTS)]
# "Ce sac est nouveau" is not how French says that a bag is new.
_PREDICATES = [quality for quality in ADJECTIVES if quality.english != "new"]
PASSING = frozenset({"tired", "happy", "hungry", "thirsty"})
_PRAISE = frozenset({"good", "beautiful", "interesting", "clever"})  # nobody dislikes those
_AGE = frozenset({"old"})  # nobody writes old letters
_TIMES = {
    kind: [t for t in TIMES if t.kind == kind] for kind in ("today", "will", "habit", "adverb")
}
_HOLDERS = [place for place in PLACES.values() if place.holds]
_WHEREABOUTS = {
    "person": frozenset(PLACES) - {"tree", "table"},
    "animal": frozenset({"garden", "park", "tree"}),
    "pet": frozenset({"garden", "kitchen"}),
}


def draw_action(
    draw: Draw,
    verb: Verb | None = None,
    *,
    subject: Phrase | Mention | None = None,
    future: bool | None = None,
    first: bool = True,
) -> Clause | None:
    """Draw a clause in which somebody acts; None when the dice lead nowhere.

    Args:
        draw: The sentence so far.
        verb: What is done; by default any verb.
        subject: Who does it; by default drawn too.
        future: Whether it is in the future; None: perhaps, and with a time.
        first: Whether it opens the sentence: only there may "him" and "they" stand
            for people whom nobody has named.

    >>> from random import Random
    >>> draw_action(Draw(Random(3)), VERBS[0]).verb.chinese
    '读'
    """
    verb = verb or draw.dice.choice(VERBS)
    subject = subject or _agent(draw, verb, first=first)
    if subject is None:
        return None
    clause = _mood(draw, Clause(subject=subject, verb=verb), verb, future)
    if verb.objects:
        clause = _with_object(draw, clause, verb, first=first)
        if clause.object is None:
            return None
    if verb.english == "give":
        recipient = draw_subject(draw, RECIPIENTS, adjective=0.2)
        return clause and replace(clause, recipient=recipient, where=None)
    if "with" in verb.moods and draw.happens(0.15):
        companion = draw_subject(draw, COMPANIONS, adjective=0.2)
        clause = replace(clause, companion=companion)
    if "there" in verb.moods or draw.happens(0.4 if verb.objects else 0.6):
        clause = replace(clause, where=draw_place(draw, verb.places))
    return clause


def _agent(draw: Draw, verb: Verb, *, first: bool) -> Phrase | Mention | None:
    for_people = "person" in verb.subjects or "adult" in verb.subjects
    if for_people and draw.happens(0.3):
        return Mention(draw.dice.choice(FRESH if first else FRESH[:1]))
    return draw_subject(draw, SUBJECTS[verb])


def _mood(draw: Draw, clause: Clause, verb: Verb, future: bool | None) -> Clause:
    """Add a time, an adverb, a modal verb or a negation, as the verb allows."""
    negative = "not" in verb.moods and draw.happens(0.15)
    if future is not None:
        modal = "will" if future and "will" in verb.moods else ""
        return replace(clause, modal=modal, negative=negative)
    kinds = sorted(verb.moods & {"today", "will", "habit", "want", "must"}) + ["plain"] * 2
    kind = draw.dice.choice(kinds)
    if kind == "plain":
        return replace(clause, negative=negative)
    if kind in ("want", "must"):
        return replace(clause, modal=kind, negative=negative and kind == "want")
    if kind == "habit" and draw.happens(0.5):
        adverb = draw.dice.choice(_TIMES["adverb"][:1] if negative else _TIMES["adverb"])
        return replace(clause, adverb=adverb, negative=negative)
    time = draw.dice.choice(_TIMES[kind])
    if kind == "will" and draw.happens(0.3):
        return replace(clause, modal="will", negative=negative)
    modal = "will" if kind == "will" else ""
    negative = negative and kind != "habit"
    time_first = draw.happens(0.4)
    return replace(clause, time=time, time_first=time_first, modal=modal, negative=negative)


def _with_object(draw: Draw, clause: Clause, verb: Verb, *, first: bool) -> Clause:
    """Add what the verb acts on: a phrase, or a pronoun for people."""
    if first and not verb.objects.isdisjoint({"person", "kid"}) and draw.happens(0.35):
        # Before a vowel "le" and "la" are both "l'": him or her? Only "les" stays clear.
        forms = PRONOUNS[3:4] if verb.il[0] in VOWELS else PRONOUNS[1:4]
        return replace(clause, object=Mention(draw.dice.choice(forms)))
    habit = clause.adverb or (clause.time and clause.time.kind == "habit")
    definite = clause.negative or bool(habit)
    what = draw_object(draw, verb, definite=definite)
    if habit and what and "food" in what.noun.tags:  # this cake, every morning?
        return clause
    odd = _PRAISE if clause.negative else _AGE if verb.english == "write" else frozenset[str]()
    if what and what.adjective and what.adjective.english in odd:
        what = replace(what, adjective=None)
    return replace(clause, object=what)


def draw_state(
    draw: Draw,
    quality: Adjective | None = None,
    *,
    subject: Phrase | Mention | None = None,
    timed: bool = True,
) -> Clause | None:
    """Draw a clause in which somebody or something is so: "this book is new".

    >>> from random import Random
    >>> draw_state(Draw(Random(1)), ADJECTIVES[-4]).quality.english
    'tired'
    """
    quality = quality or draw.dice.choice(_PREDICATES)
    passing = quality.english in PASSING
    if subject is None and passing and draw.happens(0.3):
        subject = Mention(draw.dice.choice(FRESH))
    if subject is None:
        harmless = passing or quality.french_place == "only"  # not "the red book is blue"
        avoided = {"place", "person"} if quality.english in ("good", "old") else {"place"}
        noun = draw.noun([n for n in DESCRIBED[quality] if n.tags.isdisjoint(avoided)])
        if noun is None:
            return None
        the = "person" in noun.tags or (passing and "animal" in noun.tags)
        subject = phrase_of(draw, noun, adjective=0.25 if harmless else 0.0, the=the)
    if subject is None:
        return None
    clause = Clause(subject=subject, quality=quality)
    if timed and passing and draw.happens(0.3):
        clause = replace(clause, time=_TIMES["today"][0], time_first=draw.happens(0.4))
    return replace(clause, negative=timed and draw.happens(0.2))


def draw_existence(draw: Draw) -> Clause | None:
    """Draw "there is a cat under the old tree".

    >>> from random import Random
    >>> draw_existence(Draw(Random(1))).exists
    True
    """
    place = draw.dice.choice(_HOLDERS)
    where = draw_place(draw, frozenset({place.noun.english}))
    noun = draw.noun([noun for noun in NOUNS.values() if noun.is_any(place.holds)])
    if noun is None:
        return None
    choices = [("a", 1, False)] * 3 + [("", 2, False), ("", 3, False), ("some", 1, True)]
    thing = Phrase(noun, *draw.dice.choice(choices), draw_quality(draw, noun, 0.5))
    return Clause(subject=thing, exists=True, where=where)


def draw_whereabouts(draw: Draw) -> Clause | None:
    """Draw "my cat is in the garden".

    >>> from random import Random
    >>> draw_whereabouts(Draw(Random(1))).verb is None
    True
    """
    subject: Phrase | Mention | None
    if draw.happens(0.25):
        subject, kind = Mention(draw.dice.choice(FRESH)), "person"
    else:
        subject = draw_subject(draw, LIVING)
        assert subject is not None
        kind = next(kind for kind in ("person", "pet", "animal") if kind in subject.noun.tags)
    where = draw_place(draw, _WHEREABOUTS[kind])
    clause = Clause(subject=subject, where=where, negative=draw.happens(0.2))
    if draw.happens(0.3):
        clause = replace(clause, time=_TIMES["today"][0], time_first=draw.happens(0.4))
    return clause


_QUALITY = {quality.english: quality for quality in ADJECTIVES}
# Why people do things: (verb, how they are).
_NEEDS = (
    ("sleep", "tired"), ("eat", "hungry"), ("drink", "thirsty"), ("sing", "happy"),
    ("dance", "happy"),
)  # fmt: skip
# What they do all the same.
_DESPITE = {
    "tired": ("read", "write", "work", "dance", "help", "run"),
    "hungry": ("read", "write", "work", "draw", "help"),
    "thirsty": ("work", "run", "dance"),
}
# What things are like, and what that makes people do, or leave.
_DRAWN = (
    ("buy", "beautiful"), ("want", "beautiful"), ("like", "beautiful"),
    ("like", "interesting"), ("read", "interesting"), ("look", "beautiful"), ("like", "good"),
)  # fmt: skip
_PUT_OFF = (
    ("buy", "expensive"), ("want", "expensive"), ("buy", "heavy"), ("want", "old"),
    ("buy", "old"), ("read", "difficult"), ("like", "difficult"),
)  # fmt: skip


def _verbs(name: str) -> list[Verb]:
    """Return the entries of a verb; "look" at, not "look" for."""
    return [verb for verb in VERBS if verb.english == name and verb.particle != "for"]


def _plain(clause: Clause | None) -> Clause | None:
    """Leave out what would not sit well beside a reason: negation, times, company."""
    if clause is None:
        return None
    modal = "" if clause.modal == "must" else clause.modal
    time = clause.time if clause.time and clause.time.kind != "habit" else None
    clause = replace(clause, time=time, time_first=clause.time_first and time is not None)
    return replace(clause, negative=False, modal=modal, adverb=None, companion=None)


def _fitting(draw: Draw, verb: Verb, quality: str) -> list[tuple[Phrase, Adjective]]:
    """Return a thing that the verb takes and the adjective describes, or nothing."""
    for adjective in ADJECTIVES:
        if adjective.english == quality and adjective.chinese != "老":
            things = [
                noun for noun in OBJECTS[verb]
                if noun in DESCRIBED[adjective] and noun.tags.isdisjoint({"person", "animal"})
            ]  # fmt: skip
            phrase = draw_subject(draw, things, adjective=0.0, the=False) if things else None
            return [(phrase, adjective)] if phrase and phrase.determiner == "this" else []
    return []


def draw_need(draw: Draw) -> Meaning | None:
    """Draw "the girl sleeps because she is tired", or "is tired, so she sleeps".

    >>> from random import Random
    >>> draw_need(Draw(Random(2))).joints[0] in ("because", "so")
    True

    """
    name, quality = draw.dice.choice(_NEEDS)
    act = _plain(draw_action(draw, draw.dice.choice(_verbs(name))))
    if act is None or (act.modal == "will" and act.time):
        return None
    state = draw_state(draw, _QUALITY[quality], subject=act.subject, timed=False)
    assert state is not None
    if draw.happens(0.5):
        return Meaning((act, replace(state, subject=pronoun_for(act.subject))), ("because",))
    act = replace(act, time=None, subject=pronoun_for(act.subject))
    return Meaning((state, act), ("so",))


def draw_despite(draw: Draw) -> Meaning | None:
    """Draw "the girl is tired, but she works".

    >>> from random import Random
    >>> draw_despite(Draw(Random(1))).joints
    ('but',)
    """
    quality = draw.dice.choice(sorted(_DESPITE))
    verb = draw.dice.choice(_verbs(draw.dice.choice(_DESPITE[quality])))
    act = _plain(draw_action(draw, verb, future=False, first=True))
    if act is None or (isinstance(act.object, Mention)):
        return None
    state = draw_state(draw, _QUALITY[quality], subject=act.subject, timed=False)
    assert state is not None
    return Meaning((state, replace(act, subject=pronoun_for(act.subject))), ("but",))


def draw_opinion(draw: Draw) -> Meaning | None:
    """Draw "the girl buys this bag because it is new", or "this bag is new and …".

    >>> from random import Random
    >>> draw_opinion(Draw(Random(5))).joints[0] in ("and", "because", "so", "but")
    True
    """
    likes = draw.happens(0.6)
    name, quality = draw.dice.choice(_DRAWN if likes else _PUT_OFF)
    verb = _verbs(name)[0]
    found = _fitting(draw, verb, quality)
    if not found:
        return None
    thing, adjective = found[0]
    because = draw.happens(0.5)
    act = draw_action(draw, verb, future=False, first=because)
    if act is None:
        return None
    act = replace(act, companion=None, negative=not likes)
    if likes and "want" in verb.moods and draw.happens(0.5):
        act = replace(act, modal="want", where=None)
    if because:
        act = replace(act, object=thing)
        reason = Clause(subject=pronoun_for(thing), quality=adjective)
        return Meaning((act, reason), ("because",))
    joint = draw.dice.choice(("and", "so")) if likes else "so"
    if not likes and name in ("buy", "want", "read") and draw.happens(0.5):
        act, joint = replace(act, negative=False), "but"
    act = replace(act, object=pronoun_for(thing), where=None)
    return Meaning((Clause(subject=thing, quality=adjective), act), (joint,))


def draw_contrast(draw: Draw) -> Meaning | None:
    """Draw "the girl does not drink tea, but she drinks milk".

    >>> from random import Random
    >>> drawn = map(draw_contrast, map(Draw, map(Random, range(100))))
    >>> next(filter(None, drawn)).clauses[0].negative
    True
    """
    verb = draw.dice.choice(_verbs(draw.dice.choice(("eat", "drink", "like", "buy"))))
    first = draw_action(draw, verb, future=False)
    if first is None or not isinstance(first.object, Phrase):
        return None
    second = draw_action(draw, verb, subject=pronoun_for(first.subject), future=False)
    if second is None or not isinstance(second.object, Phrase):
        return None
    if {first.object.determiner, second.object.determiner} & {"mass", "generic"} == set():
        return None
    if len({"mass" in p.noun.tags for p in (first.object, second.object)}) == 2:
        return None
    first = replace(first, negative=True, companion=None, where=None)
    return Meaning((first, replace(second, negative=False, companion=None, where=None)), ("but",))


def draw_single(draw: Draw) -> Meaning | None:
    """Draw a sentence of one clause; some are questions.

    >>> from random import Random
    >>> len(draw_single(Draw(Random(2))).clauses)
    1
    """
    draws: tuple[Callable[[Draw], Clause | None], ...] = (
        draw_action, draw_state, draw_existence, draw_whereabouts,
    )  # fmt: skip
    clause = draw.dice.choices(draws, weights=(65, 20, 8, 7))[0](draw)
    if clause is None:
        return None
    return Meaning((_ask(clause) if draw.happens(0.2) else clause,))


def _ask(clause: Clause) -> Clause:
    """Turn a clause into a question where that comes naturally."""
    indefinite = isinstance(clause.object, Phrase) and clause.object.determiner in ("a", "some", "")
    about_me = isinstance(clause.subject, Mention) and clause.subject.speaker
    named = isinstance(clause.object, Phrase) and "name" in clause.object.noun.tags
    see = clause.verb is not None and clause.verb.english == "see"
    if clause.negative or clause.exists or about_me or see or clause.modal == "must":
        return clause
    if (indefinite and not named) or clause.adverb:
        return clause
    return replace(clause, question=True, time_first=False)


def draw_pair(draw: Draw) -> Meaning | None:
    """Draw two clauses about two people: "the girl reads and the boy sleeps".

    >>> from random import Random
    >>> len(draw_pair(Draw(Random(4))).clauses)
    2
    """
    first = draw_action(draw)
    if first is None:
        return None
    # "But" needs something to compare: the same deed.
    verb = first.verb if draw.happens(0.45) else None
    second = draw_action(draw, verb, future=first.modal == "will", first=False)
    if second is None:
        return None
    if isinstance(first.subject, Mention) and isinstance(second.subject, Mention):
        return None
    if first.verb is not second.verb:
        pair = replace(first, negative=False), replace(second, negative=False)
        return Meaning(pair, ("and",))
    if not first.object and first.negative == second.negative:  # both sleep: say it in one
        return None
    contrast = first.negative != second.negative or (first.object and draw.happens(0.3))
    return Meaning((first, second), ("but" if contrast else "and",))


def draw_three(draw: Draw) -> Meaning | None:
    """Draw a pair and a third clause: "… and the cat sleeps because it is tired".

    >>> from random import Random
    >>> len(draw_three(Draw(Random(1))).clauses)
    3
    """
    pair = draw.dice.choice((draw_need, draw_opinion, draw_despite, draw_pair))(draw)
    if pair is None or pair.clauses[0].time or pair.joints == ("and",):
        return None
    future = any(clause.modal == "will" for clause in pair.clauses)
    third = draw_action(draw, future=future, first=False)
    if third is None or isinstance(third.subject, Mention):
        return None
    third = replace(third, negative=False)
    return Meaning((*pair.clauses, third), (*pair.joints, "and"))


_KINDS: tuple[Callable[[Draw], Meaning | None], ...] = (
    draw_single, draw_pair, draw_need, draw_despite, draw_opinion, draw_contrast, draw_three,
)  # fmt: skip
_WEIGHTS = (52, 20, 6, 4, 10, 3, 10)


def draw_meaning(draw: Draw) -> Meaning | None:
    """Draw the meaning of one sentence; None when the dice lead nowhere, so throw again.

    >>> from random import Random
    >>> draw_meaning(Draw(Random(1))).clauses[0].subject.plural
    False
    """
    return draw.dice.choices(_KINDS, weights=_WEIGHTS)[0](draw)
