"""Drawing clauses that make sense: who does what, where, when, and in which mood."""

from dataclasses import replace

from attention_book.text.grammar.languages.french import VOWELS
from attention_book.text.grammar.lexicon import (
    ADJECTIVES,
    NOUNS,
    PLACES,
    PRONOUNS,
    TIMES,
    VERBS,
    Adjective,
    Verb,
)
from attention_book.text.grammar.meaning import Clause, Mention, Phrase
from attention_book.text.grammar.phrases import (
    COMPANIONS,
    DESCRIBED,
    RECIPIENTS,
    SUBJECTS,
    Draw,
    draw_object,
    draw_place,
    draw_quality,
    draw_subject,
    phrase_of,
)

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
