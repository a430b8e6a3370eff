"""What a report says of scores and of a comparison, in words."""

from attention_book.foundations.bilingual import Bilingual
from attention_book.runs.command.speech.language import spoken
from attention_book.runs.command.speech.pages import columns
from attention_book.runs.scoring import Comparison, LengthScore, Scores, SystemScore

# Below it, a difference is called one that chance hardly makes.
_UNLIKELY = 0.05


def told(scores: Scores) -> str:
    """Return the scores of a text as lines for people."""
    rows = [
        ("BLEU", scores.bleu),
        ("chrF", scores.chrf),
        (spoken(Bilingual("BLEU（小写词元）", "BLEU of lower-case tokens")), scores.tokenized_bleu),
    ]
    width = max(columns(name) for name, found in rows if found is not None)
    lines = [line for name, found in rows if found for line in _score(name, found, width)]
    ratio = Bilingual(
        f"译文长度是参考译文的 {scores.length_ratio:.2f} 倍",
        f"the translations are {scores.length_ratio:.2f} times as long as the references",
    )
    lines.append(spoken(ratio))
    if scores.by_length:
        lines += ["", spoken(Bilingual("按原文长度（词数）：", "By the source's length in words:"))]
        lines += [_bin(each) for each in scores.by_length]
    return "\n".join(lines)


def _score(name: str, score: SystemScore, width: int) -> list[str]:
    return [f"{name}{' ' * (width - columns(name))}  {score}", f"{' ' * width}  {score.signature}"]


def _bin(each: LengthScore) -> str:
    lengths = f"{each.low}–{each.high}" if each.high else f"{each.low}+"
    count = spoken(Bilingual(f"{each.count:>6} 句", f"{each.count:>6} sentences"))
    return f"  {lengths:<7} {count}   BLEU {each.bleu:5.1f}"


def winner_of(found: Comparison, first: str, second: str) -> str | None:
    """Return which of two is better; None where chance alone may have made the difference.

    >>> one, other = SystemScore(30.0, "nrefs:1"), SystemScore(32.0, "nrefs:1")
    >>> winner_of(Comparison(one, other, 0.01), "a", "b"), winner_of(
    ...     Comparison(one, other, 0.2), "a", "b"
    ... )
    ('b', None)
    """
    if not found.p_value < _UNLIKELY or not found.difference:
        return None
    return second if found.difference > 0 else first


def comparison_told(found: Comparison, first: str, second: str) -> str:
    """Return what a comparison found as lines for people."""
    winner = winner_of(found, first, second)
    verdict = Bilingual(
        f"{winner} 更好，这样的差别不像是偶然的。"
        if winner
        else "分不出高下，说不出谁更好：这样的差别，偶然也会有。",
        f"{winner} is better: chance hardly makes such a difference"
        if winner
        else "the two cannot be told apart, there is no winner: chance makes such differences too",
    )
    number = f"{found.difference:+.1f} BLEU, p = {found.p_value:.3f}"
    return "\n".join(
        [
            f"{first}:  BLEU {found.first}",
            f"{second}:  BLEU {found.second}",
            f"{number}: {spoken(verdict)}",
            found.first.signature,
        ]
    )


__all__ = ("comparison_told", "told", "winner_of")
