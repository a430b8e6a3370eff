"""Record a run for the book: what was trained, where, how, and how good it became.

    python scripts/record_run.py runs/multi30k-en-de book/data/runs --every 5

writes ``book/data/runs/multi30k-en-de.json``. The chapter on real data draws its figures from
such files: the run itself takes an hour, and needs a corpus that is not ours to ship.

For the curve of quality against time, every ``--every`` epochs the mean of the last checkpoints
until then translates the test data. The run must have kept them: ``--set training.keep=200``.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import datetime
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from attention_book.runs import RunFolder, load_run, read_lines, read_log
from attention_book.runs.averaging import average_checkpoints
from attention_book.runs.checkpoints import Checkpoints
from attention_book.runs.command.describing.texts import by_model, length_in_words, scored_tokens
from attention_book.runs.command.translators import Learned
from attention_book.runs.corpora import PreparedCorpus
from attention_book.runs.scoring import Scores, score
from attention_book.training import load_checkpoint

POINTS = 240  # so many of a log's lines are kept


def main() -> None:
    """Record the run that the command line names."""
    options = _options()
    folder = RunFolder(options.run)
    record = {
        "name": folder.path.name,
        "command": options.command or f"attention-book train --recipe {folder.path.name}",
        "made": json.loads(folder.versions.read_text()),
        "settings": folder.settings().to_dict(),
        "model": _about_model(folder),
        "text": _about_text(folder),
        "log": _thinned(_timed(folder)),
        "curve": list(_curve(folder, options.every)) if options.every else [],
        "scores": _scores(folder, options.beam),
    }
    to = Path(options.to) / f"{folder.path.name}.json"
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text(json.dumps(record, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    print(f"{to}: {to.stat().st_size / 1024:.0f} KiB")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("run", type=Path, help="the folder of the run")
    parser.add_argument("to", type=Path, help="the folder of the records")
    parser.add_argument("--command", help="the line that repeats it, where that needs more")
    parser.add_argument("--every", type=int, default=0, help="epochs between points of the curve")
    parser.add_argument("--beam", type=int, default=5, help="the width of the final search")
    return parser.parse_args()


def _about_model(folder: RunFolder) -> dict[str, Any]:
    model = load_run(folder.path).model
    return {"parameters": sum(each.numel() for each in model.parameters())}


def _about_text(folder: RunFolder) -> dict[str, Any]:
    """Return how much text there is, and how many of the test data's words are new."""
    data = folder.settings().data
    train, test = list(read_lines(data, "train")), list(read_lines(data, "test"))
    prepared = PreparedCorpus.open(folder.corpus("train"))
    tokens = [int(side.sum()) for side in (prepared.source_lengths, prepared.target_lengths)]
    sides = {}
    for number, language in enumerate((data.source, data.target)):
        seen = [word for pair in train for word in _words(pair[number])]
        asked = [word for pair in test for word in _words(pair[number])]
        known = set(seen)
        sides[language] = {
            "words": len(seen),
            "distinct": len(known),
            "unseen": sum(word not in known for word in asked) / len(asked),
            "pieces": tokens[number],
        }
    return {"pairs": len(train), "test": len(test), "sides": sides}


def _words(text: str) -> list[str]:
    return text.lower().split()


def _timed(folder: RunFolder) -> list[dict[str, Any]]:
    """Return the log with the minutes of training until each line."""
    lines = list(read_log(folder.log))
    seconds = accumulate(line["tokens"] / line["tokens_per_second"] for line in lines)
    return [{**line, "minutes": second / 60} for line, second in zip(lines, seconds, strict=True)]


def _thinned(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return some lines of a log: means of neighbors, and every look at the validation data."""
    size, kept = max(1, len(lines) // POINTS), []
    for start in range(0, len(lines), size):
        part = lines[start : start + size]
        looks = [line["validation_loss"] for line in part if line["validation_loss"] is not None]
        kept.append(
            {
                "step": part[-1]["step"],
                "epoch": part[-1]["epoch"],
                "minutes": round(part[-1]["minutes"], 3),
                "loss": round(sum(line["loss"] for line in part) / len(part), 4),
                "learning_rate": round(part[-1]["learning_rate"], 7),
                "tokens_per_second": round(
                    sum(line["tokens"] for line in part)
                    / sum(line["tokens"] / line["tokens_per_second"] for line in part)
                ),
                "validation_loss": round(looks[-1], 4) if looks else None,
            }
        )
    return kept


def _curve(folder: RunFolder, every: int) -> Iterator[dict[str, Any]]:
    """Yield how good the mean of the last checkpoints is, as the training goes on."""
    lines = {line["step"]: line for line in _timed(folder)}
    files, average = Checkpoints(folder.checkpoints), folder.settings().training.average
    began = datetime.fromisoformat(json.loads(folder.versions.read_text())[0]["date"]).timestamp()
    planned = files.planned(max(lines))
    for number in range(every - 1, len(planned), every):
        steps = planned[max(0, number + 1 - average) : number + 1]
        path = files.path(steps[-1])
        found = _score(_with_mean(folder, [files.path(step) for step in steps]), beam=1)
        line = lines[steps[-1]]
        point = {
            "epoch": number + 1,
            "step": steps[-1],
            "minutes": round(line["minutes"], 3),
            "clock": round((path.stat().st_mtime - began) / 60, 3),
            "bleu": round((found.tokenized_bleu or found.bleu).value, 2),
        }
        print(point, file=sys.stderr, flush=True)
        yield point


def _with_mean(folder: RunFolder, paths: list[Path]) -> Learned:
    """Return the run's model with the mean of the weights of some checkpoints."""
    model = _learned(folder)
    with TemporaryDirectory() as name:
        average_checkpoints(paths, Path(name) / "mean", extra={})
        load_checkpoint(Path(name) / "mean", model=model.model)
    return model


def _learned(folder: RunFolder, which: Any = None) -> Learned:
    found = load_run(folder.path, which)
    return Learned(
        name=str(folder.path), model=found.model, codec=found.codec, settings=found.settings
    )


def _scores(folder: RunFolder, beam: int) -> dict[str, Any]:
    """Return how good the mean, the best and the last weights are, with the search of the paper."""
    kinds = [("best", folder.best.is_file()), ("average", folder.average.is_file()), ("last", True)]
    found = {}
    for which, there in kinds:
        if there:
            found[which] = {"beam": beam, **asdict(_score(_learned(folder, which), beam=beam))}
            print(which, found[which]["tokenized_bleu"], file=sys.stderr, flush=True)
    return found


def _score(model: Learned, *, beam: int) -> Scores:
    data, text = model.settings.data, model.settings.text
    sources, references = zip(*read_lines(replace(data), "test"), strict=True)
    with torch.inference_mode():
        made = by_model(model, sources, beam=beam, length_penalty=1.0 if beam > 1 else 0.0)
    ours, theirs = scored_tokens(model, made), scored_tokens(model, references)
    return score(
        made,
        references,
        language=data.target,
        lowercase=text.unit == "words" or text.lowercase,
        lengths=[length_in_words(each) for each in sources],
        tokens=None if ours is None or theirs is None else (ours, theirs),
        resamples=1000 if beam > 1 else 0,
    )


if __name__ == "__main__":
    main()
