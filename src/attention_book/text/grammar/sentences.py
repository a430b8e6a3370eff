"""Drawing whole sentences: one clause, or several that belong together."""

from collections.abc import Callable
from dataclasses import replace

from attention_book.text.grammar.clauses import (
    draw_action,
    draw_existence,
    draw_state,
    draw_whereabouts,
)
from attention_book.text.grammar.lexicon import ADJECTIVES, VERBS, Adjective, Verb
from attention_book.text.grammar.meaning import Clause, Meaning, Mention, Phrase
from attention_book.text.grammar.phrases import DESCRIBED, OBJECTS, Draw, draw_subject, pronoun_for

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
