"""How Chinese says a meaning: time, company and place before the verb, 量词, 的, 吗."""

from attention_book.text.grammar.languages import Word, say
from attention_book.text.grammar.lexicon import Clause, Meaning, Mention, Phrase

_JOINTS = {"and": "，", "but": "， 但是", "because": "， 因为", "so": "， 所以"}
_MODALS = {"will": "会", "want": "想", "must": "必须"}
_NUMBERS = {1: "一", 2: "两", 3: "三"}
_DETERMINERS = {"this": "这", "my": "我 的", "our": "我们 的", "some": "一些"}


def say_chinese(meaning: Meaning) -> list[Word]:
    """Return the Chinese words of a meaning.

    >>> from attention_book.text.grammar.lexicon import NOUNS, VERBS
    >>> clause = Clause(subject=Phrase(NOUNS["girl"], "the"), verb=VERBS[0], question=True,
    ...     object=Phrase(NOUNS["book"], "this"))
    >>> " ".join(word.text for word in say_chinese(Meaning((clause,))))
    '女孩 读 这 本 书 吗 ？'
    """
    words = []
    for index, clause in enumerate(meaning.clauses):
        if index:
            words += say(f"{index}/join", _JOINTS[meaning.joints[index - 1]])
        words += _clause(clause, str(index))
    return words + say("end", "？" if meaning.clauses[0].question else "。")


def _clause(clause: Clause, at: str) -> list[Word]:
    time = say(f"{at}/time", clause.time.chinese) if clause.time else []
    subject = _phrase(clause.subject, f"{at}/subject")
    if clause.exists:
        return _place(clause, at, within="") + say(at, "有") + subject
    words = time + subject if clause.time_first else subject + time
    words += say(f"{at}/not", "不") if clause.negative else []
    words += say(f"{at}/often", clause.adverb.chinese) if clause.adverb else []
    words += say(f"{at}/modal", _MODALS[clause.modal]) if clause.modal else []
    words += _action(clause, at) if clause.verb else _state(clause, at)
    return words + (say(f"{at}/ask", "吗") if clause.question else [])


def _action(clause: Clause, at: str) -> list[Word]:
    """Say with whom and where it happens, and then what: 和 朋友 一起 在 花园 里 读 书."""
    assert clause.verb is not None
    words = []
    if clause.companion:
        words += say(f"{at}/with/by", "和") + _phrase(clause.companion, f"{at}/with")
        words += say(f"{at}/with/by", "一起")
    if clause.where:
        words += _place(clause, at, within="在")
    words += say(at, clause.verb.chinese)
    words += _phrase(clause.recipient, f"{at}/to") if clause.recipient else []
    return words + (_phrase(clause.object, f"{at}/object") if clause.object else [])


def _state(clause: Clause, at: str) -> list[Word]:
    """Something is so (很 漂亮, 是 红色 的), or is somewhere (在 花园 里)."""
    quality = clause.quality
    if quality is None:
        return say(at, "在") + _place(clause, at, within="")
    words = []
    if quality.chinese_copula == "是":
        return say(f"{at}/is", "是") + say(at, f"{quality.chinese} 的")
    if not clause.negative and not clause.question:  # 很 fills the place of "is", weakly
        words += say(f"{at}/is", "很")
    return words + say(at, quality.chinese)


def _place(clause: Clause, at: str, *, within: str) -> list[Word]:
    """Say the place between 在, if it is wanted here, and its 里, 上 or 下."""
    where = clause.where
    assert where is not None
    words = say(f"{at}/where/in", within) if within else []
    words += _quality(where.phrase, f"{at}/where") + say(f"{at}/where", where.place.noun.chinese)
    if where.place.localizer:
        words += say(f"{at}/where/in", where.place.localizer)
    return words


def _quality(phrase: Phrase, at: str) -> list[Word]:
    adjective = phrase.adjective
    if adjective is None:
        return []
    text = f"{adjective.chinese} {adjective.particle}" if adjective.particle else adjective.chinese
    return say(f"{at}/quality", text)


def _phrase(phrase: Phrase | Mention, at: str) -> list[Word]:
    """Say a noun phrase: determiner, number, 量词, adjective, noun.

    "The" and the amount of a substance stay unsaid; 这些 and 一些 need no 量词; people
    take 们 when there are several and nobody counts.
    """
    if isinstance(phrase, Mention):
        return say(at, phrase.pronoun.chinese)
    determiner = _DETERMINERS.get(phrase.determiner, "")
    if phrase.determiner == "this" and phrase.many:
        determiner = "这些"
    words = say(f"{at}/the", determiner) if determiner else []
    if phrase.determiner == "a":
        words += say(f"{at}/the", "一")
    elif phrase.number > 1:
        words += say(f"{at}/number", _NUMBERS[phrase.number])
    if phrase.number > 1 or phrase.determiner == "a" or determiner == "这":
        words += say(f"{at}/measure", phrase.noun.measure)
    people = phrase.determiner == "the" and phrase.plural
    noun = say(at, f"{phrase.noun.chinese}们" if people else phrase.noun.chinese)
    return words + _quality(phrase, at) + noun
