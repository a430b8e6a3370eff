"""What is said when a training is over: how good it is, and what to type next."""

import itertools
import shlex
from pathlib import Path

from attention_book.foundations.bilingual import Bilingual
from attention_book.runs.command.describing.texts import by_model, scored_tokens
from attention_book.runs.command.speech.language import spoken
from attention_book.runs.command.speech.terminal import visible
from attention_book.runs.command.translators import Learned, learned
from attention_book.runs.corpora import read_lines
from attention_book.runs.scoring import score
from attention_book.text import CorpusError

# So many held-out sentences are translated at the end: enough to tell, and soon done.
_SENTENCES = 500


def result_told(folder: Path) -> str:
    """Return how good a run is on held-out sentences, and a line to go on with."""
    model = learned(str(folder), None)
    try:
        lines = list(itertools.islice(read_lines(model.settings.data, "test"), _SENTENCES))
    except CorpusError:
        lines = []
    told = [_quality(model, lines), _next(folder, _sentence(model, lines))]
    return "\n\n".join(told)


def _quality(model: Learned, lines: list[tuple[str, str]]) -> str:
    """Return the BLEU, of tokens where the papers of such a model report that."""
    if not lines:
        text = Bilingual(
            "语料太小，没有留出测试句，无法打分。",
            "the corpus is too small to hold out test sentences: no score",
        )
        return spoken(text)
    sources, references = zip(*lines, strict=True)
    made = by_model(model, sources, beam=1, length_penalty=0.0)
    ours, theirs = scored_tokens(model, made), scored_tokens(model, references)
    tokens = None if ours is None or theirs is None else (ours, theirs)
    found = score(made, references, language=model.codec.languages[1], tokens=tokens)
    bleu = found.tokenized_bleu or found.bleu
    kind = Bilingual("BLEU（小写词元）", "BLEU of lower-case tokens")
    name = spoken(kind) if found.tokenized_bleu else "BLEU"
    text = Bilingual(
        f"{name} {bleu}，测试集 {len(lines)} 句（训练时没见过）",
        f"{name} {bleu}, on {len(lines)} sentences that the training has not seen",
    )
    return spoken(text)


def _sentence(model: Learned, lines: list[tuple[str, str]]) -> str:
    """Return a sentence to try: one that the model has not seen, or else one that it has."""
    found = lines or itertools.islice(read_lines(model.settings.data), 1)
    return min((source for source, _ in itertools.islice(found, 20)), key=_far_from_typical)


def _far_from_typical(sentence: str) -> int:
    return abs(len(sentence.split()) - 6)


def _next(folder: Path, sentence: str) -> str:
    run = shlex.quote(str(folder))
    heading = Bilingual("接下来可以：", "What to type next:")
    return "\n".join(
        [
            spoken(heading),
            f"  attention-book translate --run {run} -- {shlex.quote(visible(sentence))}",
            f"  attention-book evaluate --run {run}",
        ]
    )


__all__ = ("result_told",)
