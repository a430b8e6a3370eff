"""Record a small language model for the book: what its page loads, and how well it writes.

    attention-book train --task language --corpus tang-poems --folder runs/tang-poems
    python scripts/record_writing.py runs/tang-poems 春 一 江 明月 白日依山尽，

writes the model, in 8 bits, into ``book/data/runs`` and the record into
``src/attention_book/course/data``. What is recorded is measured with the weights of that file: the
loss on documents that the training has not seen, beside n-grams and xz; how much is copied; and how
much it repeats itself, drawn at several temperatures, with documents by people for comparison. The
beginnings are those that the page proposes. Half a minute.
"""

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from attention_book.cli.language import (
    LearnedLanguage,
    beginnings,
    documents_of,
    learned_language,
    quality,
    written_by,
)
from attention_book.decoding import sample
from attention_book.live.language import ExportedLanguage, as_in_a_page, export
from attention_book.runs import RunFolder
from attention_book.runs.language.settings import (
    DocumentSettings,
    LanguageSettings,
    PieceSettings,
)
from attention_book.runs.language.yardsticks import copying

ROOT = Path(__file__).parents[1]
MODELS, RECORDS = ROOT / "book" / "data" / "runs", ROOT / "src/attention_book/course/data"
GREEDY = "greedy"
TEMPERATURES = (0.5, 0.8, 1.0)
BEGINNINGS = 50  # so many of the most frequent ones are gone on with
RUN = 4  # tokens
MOST = 100  # tokens of a text


def main() -> None:
    """Record the run that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("beginnings", nargs="+")
    given = parser.parse_args()
    torch.set_num_threads(1)
    learned = learned_language(str(given.run))
    found = replace(learned, model=as_in_a_page(learned.model))
    name, settings, codec = given.run.name, found.settings, found.codec
    exported = ExportedLanguage(
        name=name,
        digest=settings.digest,
        model=found.model,
        vocabulary=codec.vocabulary,
        tokenizer=codec.tokenizer,
        lowercase=codec.settings.lowercase,
        context=settings.model.context,
        beginnings=given.beginnings,
    )
    binary = export(exported, MODELS)
    binary.with_suffix(".js").unlink()  # the build writes it from the other
    train, held_out = documents_of(settings.data, "train"), documents_of(settings.data, "test")
    known, held = codec.encode(train), codec.encode(held_out)
    texts = written_by(found, 200)
    record = {
        "name": name,
        "command": command(settings),
        "made": json.loads(RunFolder(given.run).versions.read_text()),
        "settings": settings.to_dict(),
        "parameters": sum(each.numel() for each in found.model.parameters()),
        "tokens": len(codec.vocabulary),
        "bytes": binary.stat().st_size,
        "documents": len(train),
        "quality": asdict(quality(found, known, train, held_out)),
        "copying": {
            "written": asdict(copying([text for text in texts if text], known)),
            "held_out": asdict(copying(held[:200], known)),
        },
        "repeating": repeating(found, train, held),
        "greedy": {each: gone_on(found, [each], None)[0] for each in given.beginnings},
    }
    to = RECORDS / f"{name}.json"
    to.write_text(json.dumps(record, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    print(f"{binary}: {binary.stat().st_size / 1e6:.2f} MB, {to}")


def command(settings: LanguageSettings) -> str:
    """Return the line that repeats a training, of which at most the subwords differ from usual."""
    line = f"attention-book train --task language --corpus {settings.data.corpus}"
    pieces = settings.text.num_pieces
    asked = line if pieces is None else f"{line} --bpe {pieces}"
    unit = "auto" if pieces is None else "subwords"
    usual = LanguageSettings(
        data=DocumentSettings(corpus=settings.data.corpus),
        text=PieceSettings(unit=unit, num_pieces=pieces),
    )
    if settings != usual:
        raise ValueError(f"expected the settings of {asked}, got {settings.to_dict()}")
    return asked


def repeating(
    found: LearnedLanguage, train: Sequence[str], held: Sequence[Sequence[int]]
) -> dict[str, Any]:
    """Measure texts from the most frequent beginnings, and as many by people."""
    starts = beginnings(found, train, BEGINNINGS)
    ways = {GREEDY: None} | {f"{each:g}": each for each in TEMPERATURES}
    written = {
        way: [found.codec.numbers(text) for text in gone_on(found, starts, temperature)]
        for way, temperature in ways.items()
    }
    return {way: repeats(found, texts) for way, texts in written.items()} | {
        "held_out": repeats(found, held[: len(starts)])
    }


def gone_on(found: LearnedLanguage, starts: Sequence[str], temperature: float | None) -> list[str]:
    """Write from each beginning once, the most probable token each time or drawn."""
    how: dict[str, Any] = {"top_k": 1} if temperature is None else {"temperature": temperature}
    texts = []
    for seed, start in enumerate(starts):
        prompt, dice = found.prompt(start), torch.Generator().manual_seed(seed)
        [made] = sample(found.model, prompt, max_tokens=MOST, generator=dice, **how)
        texts.append(found.codec.text([*prompt[0, 1:].tolist(), *made.ids]))
    return texts


def repeats(found: LearnedLanguage, texts: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Return how many tokens stood in the same text before, and which run most texts share."""
    spelled = {number: found.codec.text([number]) for number in found.codec.vocabulary.words()}
    said = [[each for each in text if spelled.get(each, "").strip().isalpha()] for text in texts]
    again = sum(len(text) - len(set(text)) for text in said)
    runs = Counter(
        run for text in said for run in {*zip(*(text[i:] for i in range(RUN)), strict=False)}
    )
    [(run, count)] = runs.most_common(1)
    return {
        "texts": len(texts),
        "again": again / sum(map(len, said)),
        "run": found.codec.text(run),
        "with_the_run": count,
    }


if __name__ == "__main__":
    main()
