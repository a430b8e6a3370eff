"""How French says a meaning: agreement, elision, ne … pas, pronouns before the verb.

A word that changes before a vowel is written with both forms, "le|l'", "beau|bel",
and the choice falls at the very end, when the next word is known. Elided words stay
tokens of their own: "l'" + "homme".
"""

from attention_book.text.grammar.languages import Word, choose_forms, say
from attention_book.text.grammar.lexicon import ASPIRATED, Clause, Meaning, Mention, Phrase

VOWELS = "aeiouyhâàéèêîôûœ"  # an h is silent, unless the lexicon says otherwise

_JOINTS = {"and": "et", "but": ", mais", "because": "parce que|qu'", "so": ", donc"}
_ETRE = ("suis", "est", "sont")
_AVOIR = ("ai", "a", "ont")
_MODALS = {
    "will": ("vais", "va", "vont"),
    "want": ("veux", "veut", "veulent"),
    "must": ("dois", "doit", "doivent"),
}
_NUMBERS = {2: "deux", 3: "trois"}
# (masculine, feminine, plural)
_DETERMINERS = {
    "the": ("le|l'", "la|l'", "les"),
    "generic": ("le|l'", "la|l'", "les"),
    "a": ("un", "une", "des"),
    "some": ("", "", "des"),
    "this": ("ce|cet", "cette", "ces"),
    "my": ("mon", "ma|mon", "mes"),
    "our": ("notre", "notre", "nos"),
    "mass": ("de le|l'", "de la|l'", ""),
    "": ("", "", ""),
}
_CONTRACTIONS = {("à", "le"): "au", ("à", "les"): "aux", ("de", "le"): "du"}


def say_french(meaning: Meaning) -> list[Word]:
    """Return the French words of a meaning.

    >>> from attention_book.text.grammar.lexicon import NOUNS, VERBS
    >>> clause = Clause(subject=Phrase(NOUNS["child"], "the"), verb=VERBS[0], negative=True,
    ...     object=Phrase(NOUNS["newspaper"], "this"))
    >>> " ".join(word.text for word in say_french(Meaning((clause,))))
    "l' enfant ne lit pas ce journal ."
    """
    words = []
    for index, clause in enumerate(meaning.clauses):
        if index:
            words += say(f"{index}/join", _JOINTS[meaning.joints[index - 1]])
        words += _clause(clause, str(index))
    words += say("end", "?" if meaning.clauses[0].question else ".")
    return _contract(choose_forms(words, VOWELS, aspirated=ASPIRATED))


def _contract(words: list[Word]) -> list[Word]:
    """Melt à + le into "au" and de + le into "du", which says the concepts of both."""
    melted: list[Word] = []
    for word in words:
        both = (melted[-1].text, word.text) if melted else ("", "")
        if both in _CONTRACTIONS:
            concepts = dict.fromkeys(melted[-1].concepts + word.concepts)
            melted[-1] = Word(_CONTRACTIONS[both], tuple(concepts))
        else:
            melted.append(word)
    return melted


def _clause(clause: Clause, at: str) -> list[Word]:
    words = []
    if clause.time and clause.time_first:
        words += say(f"{at}/time", clause.time.french)
    if clause.question:
        words += say(f"{at}/ask", "est-ce que|qu'")
    if not clause.exists:
        words += phrase_words(clause.subject, f"{at}/subject")
    words += _predicate(clause, at)
    if clause.recipient:
        words += say(f"{at}/to/by", "à") + phrase_words(clause.recipient, f"{at}/to")
    if clause.companion:
        words += say(f"{at}/with/by", "avec") + phrase_words(clause.companion, f"{at}/with")
    if clause.where:
        words += say(f"{at}/where/in", clause.where.place.french_preposition)
        words += phrase_words(clause.where.phrase, f"{at}/where")
    if clause.time and not clause.time_first:
        words += say(f"{at}/time", clause.time.french)
    return words


def _predicate(clause: Clause, at: str) -> list[Word]:
    """Say the verb with what clings to it: ne, pronouns, pas, the infinitive."""
    if clause.exists:
        return say(at, "il y a") + phrase_words(clause.subject, f"{at}/subject")
    if clause.verb is None:
        return _state(clause, at)
    verb, what = clause.verb, clause.object
    clitic = say(f"{at}/object", what.pronoun.french_object) if isinstance(what, Mention) else []
    forms = _MODALS.get(clause.modal, (verb.je, verb.il, verb.ils))
    finite = say(f"{at}/modal" if clause.modal else at, _person(clause, forms))
    adverb = say(f"{at}/often", clause.adverb.french) if clause.adverb else []
    if clause.modal:
        words = _negate(clause, at, finite) + clitic + say(at, verb.infinitive)
    else:
        words = _negate(clause, at, clitic + finite) + adverb
    if isinstance(what, Phrase):
        words += phrase_words(what, f"{at}/object", negated=clause.negative)
    return words


def _state(clause: Clause, at: str) -> list[Word]:
    """Something is so ("est fatiguée", "a faim"), or is somewhere."""
    quality = clause.quality
    if quality is None:
        return _negate(clause, at, say(at, _person(clause, _ETRE)))
    forms = _AVOIR if quality.french_place == "avoir" else _ETRE
    adjective = quality.french(clause.subject.gender, plural=clause.subject.plural)
    words = _negate(clause, at, say(f"{at}/is", _person(clause, forms)))
    return words + say(at, adjective.split("|")[0])


def _negate(clause: Clause, at: str, words: list[Word]) -> list[Word]:
    """Wrap the conjugated verb, and the pronouns before it, in ne … pas."""
    if not clause.negative:
        return words
    return say(f"{at}/not", "ne|n'") + words + say(f"{at}/not", "pas")


def _person(clause: Clause, forms: tuple[str, str, str]) -> str:
    """Pick the form for je, for il, elle and one noun, or for ils, elles and several."""
    if isinstance(clause.subject, Mention) and clause.subject.speaker:
        return forms[0]
    return forms[2] if clause.subject.plural else forms[1]


def phrase_words(phrase: Phrase | Mention, at: str, *, negated: bool = False) -> list[Word]:
    """Say a noun phrase, all of whose words agree with the noun.

    >>> from attention_book.text.grammar.lexicon import ADJECTIVES, NOUNS
    >>> small = Phrase(NOUNS["flower"], "some", many=True, adjective=ADJECTIVES[0])
    >>> [word.text for word in phrase_words(small, "0/object")]  # not "des" before an adjective
    ["de|d'", 'petites', 'fleurs']
    """
    if isinstance(phrase, Mention):
        return say(at, phrase.pronoun.french)
    noun, adjective = phrase.noun, phrase.adjective
    determiner = _DETERMINERS[phrase.determiner][2 if phrase.plural else noun.gender == "f"]
    first = adjective is not None and adjective.french_place == "before"
    if (determiner == "des" and first) or (phrase.determiner == "mass" and negated):
        determiner = "de|d'"  # de petites fleurs; pas de lait
    words = say(f"{at}/the", determiner) if determiner else []
    words += say(f"{at}/number", _NUMBERS[phrase.number]) if phrase.number > 1 else []
    quality = []
    if adjective is not None:
        form = adjective.french(noun.gender, plural=phrase.plural)
        quality = say(f"{at}/quality", form if first else form.split("|")[0])
    named = say(at, noun.french_plural if phrase.plural else noun.french)
    return words + (quality + named if first else named + quality)
