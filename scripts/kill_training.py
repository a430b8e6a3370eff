"""Kills a training again and again (SIGKILL), resumes it, and compares its end bit by bit.

    python scripts/kill_training.py --kills 20 --seed 1

Half of the kills come after a random time, half in the middle of writing: before or after one of
the calls that put a file on the disk. The folder that was killed so often must in the end hold the
same as one that was never disturbed: every tensor of every checkpoint, of the best weights and of
the average, and every line of the log but for its times.

It also kills ``attention-book export`` and ``attention-book evaluate --save``, which write over
older files: whenever they die, each file is the older one or the new one, whole.
"""

import argparse
import contextlib
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch._dynamo  # the optimizer loads it, and each child would anew

import attention_book.plotting  # noqa: F401  (loaded before the children are forked)
from attention_book.cli.program import program
from attention_book.runs import (
    DataSettings,
    ModelSettings,
    RunSettings,
    TrainingSettings,
    read_log,
    resume,
    start,
    status,
)
from attention_book.training.checkpoint import read_tensors

#: What opens, writes, renames and removes files.
CALLS = ((os, "fsync"), (Path, "open"), (Path, "replace"), (Path, "unlink"), (Path, "rename"))
STEPS = 14
EVALUATE = ["evaluate", "--run", "{run}", "--resamples", "0", "--save", "{to}/saved.txt"]
#: Two commands that write the same files, the second with other content.
WRITING = {
    "export": (
        ["export", "--run", "{run}", "--folder", "{to}", "--checkpoint", "average"],
        ["export", "--run", "{run}", "--folder", "{to}", "--checkpoint", "best"],
    ),
    "evaluate --save": (
        [*EVALUATE, "--split", "test"],
        [*EVALUATE, "--split", "validation"],
    ),
}


def settings(file: Path) -> RunSettings:
    """Return a small training that saves after every step, with dropout and accumulation."""
    sizes = {"d_model": 12, "num_heads": 2, "d_ff": 12, "num_layers": 1, "dropout": 0.2}
    return RunSettings(
        data=DataSettings(corpus=None, train=(str(file),), held_out=0.1),
        model=ModelSettings(config=sizes),
        training=TrainingSettings(
            epochs=None,
            steps=STEPS,
            batch_size=6,
            accumulate=2,
            checkpoint_every=1,
            validate_every=2,
            keep=4,
            average=3,
            warmup=2,
            device="cpu",
        ),
    )


def main() -> None:
    """Kill, resume, compare; the exit status says whether all was as it must be."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--writes", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(1)
    dice = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wanted = settings(write_corpus(folder / "pairs.tsv", dice))
        began = time.perf_counter()
        assert lived(lambda: train(wanted, folder / "undisturbed")) == 0
        whole = time.perf_counter() - began
        killed, rounds = 0, 0
        while killed < given.kills:
            rounds += 1
            killed += kill_often(wanted, folder / f"killed-{rounds}", dice, whole)
            compare(folder / "undisturbed", folder / f"killed-{rounds}")
        print(f"{killed} kills in {rounds} runs: all ended with the same bits.")
        for name, commands in WRITING.items():
            to = folder / name
            killed = kill_writing(commands, folder / "undisturbed", to, dice, given.writes)
            print(f"{killed} kills of {name}: every file stayed whole.")


def write_corpus(path: Path, dice: random.Random) -> Path:
    """Write random sentence pairs."""
    words = [chr(ord("a") + number) * 2 for number in range(20)]
    lines = []
    for _ in range(120):
        source = dice.choices(words, k=dice.randint(1, 7))
        lines.append(f"{' '.join(source)}\t{' '.join(reversed(source))}\n")
    path.write_text("".join(lines), encoding="utf-8")
    return path


def kill_often(wanted: RunSettings, folder: Path, dice: random.Random, whole: float) -> int:
    """Start and resume a run, killing it each time, until it is finished; return how often."""
    killed = 0
    while status(folder) != "finished":
        at = dice.randrange(60)
        seconds = dice.uniform(0.02, 0.6) * whole
        in_a_call = dice.random() < 0.5
        ended = lived(
            lambda: train(wanted, folder),
            at_call=at if in_a_call else None,
            after=None if in_a_call else seconds,
        )
        if ended == signal.SIGKILL:
            killed += 1
        elif ended:
            raise SystemExit(f"a training that was to go on ended with {ended}")
    return killed


def train(wanted: RunSettings, folder: Path) -> None:
    """Train to the end, from wherever the folder stands."""
    for _ in resume(folder) if status(folder) != "empty" else start(wanted, folder):
        pass


def lived(
    act: Callable[[], None], *, at_call: int | None = None, after: float | None = None
) -> int:
    """Act in a process of its own, until it ends or is killed; return how it ended."""
    child = os.fork()
    if not child:
        ended = 1
        try:
            if at_call is not None:
                die_in_a_call(at_call)
            act()
            ended = 0
        finally:
            sys.stderr.flush()
            os._exit(ended)
    if after is not None:
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
    _, how = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(how) if not os.WIFSIGNALED(how) else os.WTERMSIG(how)


def die_in_a_call(number: int) -> None:
    """Make this process kill itself before or after its call with this number."""
    calls = 0

    def deadly(call: Callable[..., object]) -> Callable[..., object]:
        def act(*arguments: object, **options: object) -> object:
            nonlocal calls
            calls += 1
            if calls == number:
                os.kill(os.getpid(), signal.SIGKILL)
            result = call(*arguments, **options)
            if calls + 1 == number:
                calls += 1
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return act

    for owner, name in CALLS:
        setattr(owner, name, deadly(getattr(owner, name)))


def kill_writing(
    commands: tuple[list[str], list[str]], run: Path, folder: Path, dice: random.Random, writes: int
) -> int:
    """Kill commands that write over what the other one wrote; each file must stay whole.

    One is killed after each of its calls that have to do with files, others at random moments.
    """
    began = time.perf_counter()
    wholes = [written(command, run, folder / str(n)) for n, command in enumerate(commands)]
    seconds = (time.perf_counter() - began) / 2
    assert all(wholes[0][name] != wholes[1][name] for name in wholes[0]), "nothing would be seen"
    to, killed = folder / "killed", 0
    written(commands[0], run, to)
    for number in range(writes + writes // 2):
        command = commands[number % 2]
        ended = lived(
            lambda command=command: say(command, run, to),
            at_call=number + 1 if number < writes else None,
            after=dice.uniform(0.2, 1.0) * seconds if number >= writes else None,
        )
        killed += ended == signal.SIGKILL
        assert ended in (0, signal.SIGKILL), f"a command that was to write ended with {ended}"
        for name, content in contents(to).items():
            assert content in (wholes[0][name], wholes[1][name]), f"{name} is not whole"
    assert written(commands[1], run, to) == wholes[1], "something is left over"
    return killed


def written(command: list[str], run: Path, to: Path) -> dict[str, bytes]:
    """Run a command to its end; return what files there are then."""
    assert lived(lambda: say(command, run, to)) == 0
    found = contents(to)
    names = {path.name for path in to.iterdir()}
    assert names == set(found), f"something is left over: {names}"
    return found


def say(command: list[str], run: Path, to: Path) -> None:
    """Run a command line, quietly."""
    to.mkdir(parents=True, exist_ok=True)
    words = [word.format(run=run, to=to) for word in command]
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        code = program.main(words, standalone_mode=False)
    assert code == 0, words


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder but those that are still to get their names."""
    return {path.name: path.read_bytes() for path in folder.glob("[!.]*")}


def compare(undisturbed: Path, killed: Path) -> None:
    """Check that both folders hold the same."""
    names = sorted(path.relative_to(undisturbed) for path in undisturbed.rglob("*.safetensors"))
    found = sorted(path.relative_to(killed) for path in killed.rglob("*.safetensors"))
    assert names == found, f"expected the files {names}, got {found}"
    assert len(names) == 4 + 2  # the last four checkpoints, the best, the average
    for name in names:
        expected, about = read_tensors(undisturbed / name)
        tensors, its_about = read_tensors(killed / name)
        assert about == its_about, f"{name}: expected {about}, got {its_about}"
        for each, tensor in expected.items():
            assert torch.equal(tensor, tensors[each]), f"{name}: {each} differs"
    logs = [without_times(folder / "log.jsonl") for folder in (undisturbed, killed)]
    assert logs[0] == logs[1], "the logs differ"
    assert len(logs[0]) == STEPS
    assert not list(killed.rglob(".*.part")), "something is left over"
    curves = [(folder / "curves.svg").read_bytes() for folder in (undisturbed, killed)]
    assert curves[0] == curves[1], "the curves differ"


def without_times(path: Path) -> list[str]:
    """Return the lines of a log without what differs from run to run."""
    return [json.dumps({**line, "tokens_per_second": None}) for line in read_log(path)]


if __name__ == "__main__":
    main()
