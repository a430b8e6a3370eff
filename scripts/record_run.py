"""Record a run for the book: what was trained, where, how, and how good it became.

    python scripts/record_run.py runs/multi30k-en-de src/attention_book/course/data --every 5

writes ``multi30k-en-de.json`` into that folder. The chapter on real data draws its figures from
such files: the run itself takes an hour, and needs a corpus that is not ours to ship.

For the curve of quality against time, every ``--every`` epochs the mean of the last checkpoints
until then translates the test data. The run must have kept them: ``--set training.keep=200``.
A run that has been interrupted is recorded as far as it went.
"""

import argparse
import itertools
import json
import re
import sys
from bisect import bisect
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import torch
from torch.profiler import ProfilerActivity, profile

from attention_book.cli.evaluate import by_model, length_in_words, scored_tokens
from attention_book.cli.inspect import head_reports
from attention_book.cli.translators import Learned
from attention_book.models import Transformer
from attention_book.runs import RunFolder, Scores, load_run, read_lines, read_log, score
from attention_book.runs.batches import PreparedCorpus
from attention_book.runs.building import keep_freed_memory, open_material
from attention_book.runs.checkpoints import Checkpoints, average_checkpoints
from attention_book.runs.ddp import Ranks
from attention_book.runs.training import Training
from attention_book.text import ParallelData, SentencePair
from attention_book.training import load_checkpoint

WHICH = ("best", "last", "average")
STEPS_SEEN = 5  # for where the time goes
HEADS_SEEN = 200  # pairs of the test data, for what the heads do
FREQUENCIES = (1, 5, 25, 125, 625)  # where the bins of words begin: seen so often in training
POINTS = 240  # so many of a log's lines are kept


def main() -> None:
    """Record the run that the command line names."""
    options = _options()
    folder = RunFolder(options.run)
    data = folder.settings().data
    test = list(read_lines(data, "test"))
    training = list(read_lines(data, "train"))
    written = {which: _translated(folder, which, test, options.beam) for which in WHICH}
    record = {
        "name": folder.path.name,
        "command": options.command or f"attention-book train --recipe {folder.path.name}",
        "made": json.loads(folder.versions.read_text()),
        "settings": folder.settings().to_dict(),
        "parameters": sum(each.numel() for each in load_run(folder.path).model.parameters()),
        "text": _about_text(folder, training, test),
        "log": _thinned(_timed(folder)),
        "curve": list(_curve(folder, test, options.every)) if options.every else [],
        "beam": options.beam,
        "scores": {which: asdict(each.scores) for which, each in written.items()},
        "faults": _faults(written["average"].lines, training, test),
        "time": _time_of_a_step(folder),
        "heads": _heads(folder, test[:HEADS_SEEN]),
        "sentences": _sentences(folder, options.sentences, options.beam),
    }
    to = Path(options.to) / f"{folder.path.name}.json"
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text(
        json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8"
    )
    print(f"{to}: {to.stat().st_size / 1024:.0f} KiB")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("run", type=Path, help="the folder of the run")
    parser.add_argument("to", type=Path, help="the folder of the records")
    parser.add_argument("--command", help="the line that repeats it, where that needs more")
    parser.add_argument("--every", type=int, default=0, help="epochs between points of the curve")
    parser.add_argument("--sentences", type=Path, help="sentences of our own to translate")
    parser.add_argument("--beam", type=int, default=5, help="the width of the final search")
    return parser.parse_args()


def _about_text(
    folder: RunFolder, training: list[tuple[str, str]], test: list[tuple[str, str]]
) -> dict[str, Any]:
    """Return how much text there is, how long its sentences are, which test words are new."""
    data = folder.settings().data
    prepared = PreparedCorpus.open(folder.corpus("train"))
    lengths = [side.tolist() for side in prepared.lengths()]
    sides = {}
    for number, language in enumerate((data.source, data.target)):
        seen = Counter(word for pair in training for word in _words(pair[number]))
        asked = [word for pair in test for word in _words(pair[number])]
        sides[language] = {
            "words": seen.total(),
            "distinct": len(seen),
            "once": sum(count == 1 for count in seen.values()),
            "unseen": sum(word not in seen for word in asked) / len(asked),
            "pieces": sum(lengths[number]),
        }
    pairs = Counter(zip(*lengths, strict=True))
    return {
        "pairs": len(training),
        "test": len(test),
        "sides": sides,
        "lengths": sorted([*lengths, count] for lengths, count in pairs.items()),
    }


def _words(text: str) -> list[str]:
    """Return the words of a text in lower case, punctuation left out."""
    return re.findall(r"\w+", text.lower())


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


def _curve(folder: RunFolder, test: list[tuple[str, str]], every: int) -> Iterator[dict[str, Any]]:
    """Yield how good the mean of the last checkpoints is, as the training goes on."""
    lines = {line["step"]: line for line in _timed(folder)}
    began = datetime.fromisoformat(json.loads(folder.versions.read_text())[0]["date"]).timestamp()
    planned = Checkpoints(folder.checkpoints).planned(max(lines))
    for number in range(every - 1, len(planned), every):
        step = planned[number]
        path = Checkpoints(folder.checkpoints).path(step)
        found = _scored(_with_mean(folder, planned[: number + 1]), test, beam=1).scores
        point = {
            "epoch": number + 1,
            "step": step,
            "minutes": round(lines[step]["minutes"], 3),
            "clock": round((path.stat().st_mtime - began) / 60, 3),
            "bleu": round((found.tokenized_bleu or found.bleu).value, 2),
        }
        print(point, file=sys.stderr, flush=True)
        yield point


def _with_mean(folder: RunFolder, steps: list[int]) -> Learned:
    """Return the run's model with the mean of the weights of its last checkpoints until then."""
    files, average = Checkpoints(folder.checkpoints), folder.settings().training.average
    model = _learned(folder, "last")
    with TemporaryDirectory() as name:
        mean = Path(name) / "mean"
        average_checkpoints([files.path(step) for step in steps[-average:]], mean, extra={})
        load_checkpoint(mean, model=model.model)
    return model


def _learned(folder: RunFolder, which: Literal["best", "last"]) -> Learned:
    found = load_run(folder.path, which)
    return Learned(
        name=str(folder.path), model=found.model, codec=found.codec, settings=found.settings
    )


def _model(folder: RunFolder, which: str) -> Learned:
    """Return the best weights, the last ones, or the mean of the last ones."""
    if which == "average":
        files = Checkpoints(folder.checkpoints)
        return _with_mean(folder, files.planned(max(files.steps())))
    return _learned(folder, "best" if which == "best" else "last")


@dataclass(frozen=True)
class Written:
    """What a model makes of the test data, and how good that is."""

    lines: tuple[str, ...]
    scores: Scores


def _translated(folder: RunFolder, which: str, test: list[tuple[str, str]], beam: int) -> Written:
    written = _scored(_model(folder, which), test, beam=beam)
    print(which, written.scores.tokenized_bleu, written.scores.bleu, file=sys.stderr, flush=True)
    return written


def _scored(model: Learned, test: list[tuple[str, str]], *, beam: int) -> Written:
    text = model.settings.text
    sources, references = zip(*test, strict=True)
    with torch.inference_mode():
        made = by_model(model, sources, beam=beam, length_penalty=1.0 if beam > 1 else 0.0)
    ours, theirs = scored_tokens(model, made), scored_tokens(model, references)
    found = score(
        made,
        references,
        language=model.settings.data.target,
        lowercase=text.unit == "words" or text.lowercase,
        lengths=[length_in_words(each) for each in sources],
        tokens=None if ours is None or theirs is None else (ours, theirs),
        resamples=1000 if beam > 1 else 0,
    )
    return Written(made, found)


def _faults(
    lines: Sequence[str], training: list[tuple[str, str]], test: list[tuple[str, str]]
) -> dict[str, Any]:
    """Return what goes wrong: words that are missed, by how often they were seen; repetition."""
    seen = Counter(word for pair in training for word in _words(pair[1]))
    asked, found = Counter[int](), Counter[int]()
    repeated = 0
    for line, (_, reference) in zip(lines, test, strict=True):
        made, wanted = Counter(_words(line)), Counter(_words(reference))
        for word, count in wanted.items():
            place = bisect(FREQUENCIES, seen[word])
            asked[place] += count
            found[place] += min(count, made[word])
        repeated += _repeats(line) and not _repeats(reference)
    bins = zip((0, *FREQUENCIES), (*FREQUENCIES, None), strict=True)
    return {
        "words": [
            {"seen": list(each), "asked": asked[place], "found": found[place]}
            for place, each in enumerate(bins)
        ],
        "repeats": repeated / len(test),
    }


def _repeats(text: str) -> bool:
    """Whether a pair of words comes twice."""
    pairs = list(itertools.pairwise(_words(text)))
    return len(set(pairs)) < len(pairs)


def _time_of_a_step(folder: RunFolder) -> dict[str, float]:
    """Return which share of a step's time goes where, on one processor core."""
    torch.set_num_threads(1)
    keep_freed_memory()
    material = open_material(folder)
    steps = Training(folder.settings(), material, Ranks()).steps()
    for _ in range(3):
        next(steps)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as seen:
        for _ in range(STEPS_SEEN):
            next(steps)
    spent = Counter[str]()
    for event in seen.key_averages(group_by_input_shape=True):
        vocabulary = str(len(material.codec.target_vocabulary)) in str(event.input_shapes)
        spent[_kind(event.key, vocabulary)] += event.self_cpu_time_total
    return {kind: round(time / spent.total(), 4) for kind, time in spent.items()}


def _kind(operation: str, vocabulary: bool) -> str:
    """Return what an operation is for, by its name and by whether it is as wide as the words."""
    if vocabulary or "nll_loss" in operation or "softmax_backward" in operation:
        return "vocabulary"
    if "attention" in operation:
        return "attention"
    if operation in ("aten::mm", "aten::addmm", "aten::bmm"):
        return "products"
    if "bernoulli" in operation or "dropout" in operation:
        return "dropout"
    return "optimizer" if "adam" in operation else "rest"


def _heads(folder: RunFolder, test: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return what the heads of a Transformer do on some of the test data."""
    model = _model(folder, "average")
    if not isinstance(model.model, Transformer):
        return []
    codec = model.codec
    pairs = [
        SentencePair(codec.source_tokens(source), codec.target_tokens(target))
        for source, target in test
    ]
    data = ParallelData(pairs, codec.source_vocabulary, codec.target_vocabulary)
    return [
        {name: round(value, 4) if isinstance(value, float) else value
         for name, value in asdict(report).items()}
        for report in head_reports(model.model, data)
    ]  # fmt: skip


def _sentences(folder: RunFolder, path: Path | None, beam: int) -> list[list[str]]:
    """Return what the model makes of sentences of our own."""
    if path is None:
        return []
    ours = path.read_text(encoding="utf-8").splitlines()
    made = by_model(_model(folder, "average"), ours, beam=beam, length_penalty=1.0)
    return [list(pair) for pair in zip(ours, made, strict=True)]


if __name__ == "__main__":
    main()
