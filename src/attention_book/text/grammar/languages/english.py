"""How English says a meaning: do-support, the third person's -s, a or an."""

from attention_book.text.grammar.languages import Word, choose_forms, say
from attention_book.text.grammar.lexicon import Clause, Meaning, Mention, Phrase

_NUMBERS = {2: "two", 3: "three"}
_JOINTS = {"and": "and", "but": ", but", "because": "because", "so": ", so"}


def say_english(meaning: Meaning) -> list[Word]:
    """Return the English words of a meaning.

    >>> from attention_book.text.grammar.lexicon import NOUNS, VERBS
    >>> clause = Clause(subject=Phrase(NOUNS["girl"], "the"), verb=VERBS[0], negative=True,
    ...     object=Phrase(NOUNS["book"], "this"))
    >>> " ".join(word.text for word in say_english(Meaning((clause,))))
    'the girl does not read this book .'
    """
    words = []
    for index, clause in enumerate(meaning.clauses):
        if index:
            words += say(f"{index}/join", _JOINTS[meaning.joints[index - 1]])
        words += _clause(clause, str(index))
    words += say("end", "?" if meaning.clauses[0].question else ".")
    return choose_forms(words, "aeiou", aspirated=frozenset())


def _clause(clause: Clause, at: str) -> list[Word]:
    words = []
    if clause.time and clause.time_first:
        words += say(f"{at}/time", clause.time.english)
    words += _action(clause, at) if clause.verb else _state(clause, at)
    if clause.companion:
        words += say(f"{at}/with/by", "with") + _phrase(clause.companion, f"{at}/with")
    if clause.where:
        words += _place(clause, at)
    if clause.time and not clause.time_first:
        words += say(f"{at}/time", clause.time.english)
    return words


def _action(clause: Clause, at: str) -> list[Word]:
    """Somebody acts: "does the girl often read this book", "he gives it to her"."""
    verb = clause.verb
    assert verb is not None
    subject = _phrase(clause.subject, f"{at}/subject")
    third = not clause.subject.plural and not _is_speaker(clause)
    does = "does" if third else "do"
    words = []
    if clause.question:
        first = say(f"{at}/modal", "will") if clause.modal == "will" else say(f"{at}/ask", does)
        words += first + subject
    else:
        words += subject
    bare = clause.question or clause.negative
    words += _auxiliary(clause, at, does, third=third)
    if clause.adverb:
        words += say(f"{at}/often", clause.adverb.english)
    form = verb.third if third and not bare and not clause.modal else verb.english
    words += say(at, f"{form} {verb.particle}" if verb.particle else form)
    if clause.object:
        words += _phrase(clause.object, f"{at}/object", is_object=True)
    if clause.recipient:
        words += say(f"{at}/to/by", "to") + _phrase(clause.recipient, f"{at}/to")
    return words


def _auxiliary(clause: Clause, at: str, does: str, *, third: bool) -> list[Word]:
    """What stands between the subject and the verb: "does not", "will", "wants to"."""
    words = []
    if clause.modal == "will":
        words += [] if clause.question else say(f"{at}/modal", "will")
        words += say(f"{at}/not", "not") if clause.negative else []
        return words
    if clause.negative:
        words += say(f"{at}/not", f"{does} not")
    if clause.modal == "want":
        bare = clause.question or clause.negative or not third
        words += say(f"{at}/modal", "want to" if bare else "wants to")
    if clause.modal == "must":
        words += say(f"{at}/modal", "must")
    return words


def _state(clause: Clause, at: str) -> list[Word]:
    """Something is so, or somewhere, or is there at all."""
    is_ = "am" if _is_speaker(clause) else "are" if clause.subject.plural else "is"
    subject = _phrase(clause.subject, f"{at}/subject")
    if clause.exists:
        return [*say(at, f"there {is_}"), *subject]
    copula = say(f"{at}/is" if clause.quality else at, is_)
    words = copula + subject if clause.question else subject + copula
    words += say(f"{at}/not", "not") if clause.negative else []
    return words + (say(at, clause.quality.english) if clause.quality else [])


def _place(clause: Clause, at: str) -> list[Word]:
    where = clause.where
    assert where is not None
    words = say(f"{at}/where/in", where.place.english_preposition)
    if where.place.english_article:
        return words + _phrase(where.phrase, f"{at}/where")
    return words + say(f"{at}/where", where.place.noun.english)


def _is_speaker(clause: Clause) -> bool:
    return isinstance(clause.subject, Mention) and clause.subject.speaker


def _phrase(phrase: Phrase | Mention, at: str, *, is_object: bool = False) -> list[Word]:
    """Say a noun phrase, or the pronoun that stands for it."""
    if isinstance(phrase, Mention):
        return say(at, phrase.pronoun.english_object if is_object else phrase.pronoun.english)
    determiner = {"a": "a|an", "mass": "", "generic": ""}.get(phrase.determiner, phrase.determiner)
    if determiner == "this" and phrase.plural:
        determiner = "these"
    words = say(f"{at}/the", determiner) if determiner else []
    words += say(f"{at}/number", _NUMBERS[phrase.number]) if phrase.number > 1 else []
    words += say(f"{at}/quality", phrase.adjective.english) if phrase.adjective else []
    return words + say(at, (phrase.plural and phrase.noun.plural) or phrase.noun.english)
