"""Programs take turns: training steps, greedy decoding, beam search."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from paired import Timing, summary, take_turns
from transformer import training_step

from peers.agreement import check_decoding
from peers.machine import Machine, clock_for
from peers.programs import Program, ours_for
from peers.sizes import Plan, create, decoding_batch, training_batch
from peers.work import Work, decoding_work, training_work

BEAMS = 4


@dataclass(frozen=True, kw_only=True)
class Row:
    """What one program took for one task at one size.

    Attributes:
        seconds: The median.
        tokens: Target tokens in a second, padding not counted.
        ours: The median of our time over its time, in the same turn; None for ours.
        lower: The first quartile of that.
        upper: The third quartile.
        of_fastest: The same, of both programs' fastest turns.
        of_peak: Share of the machine's fastest matrix product.
        of_bandwidth: Share of the machine's fastest copy.
    """

    task: str
    size: str
    program: str
    seconds: float
    tokens: float
    of_peak: float
    of_bandwidth: float
    ours: float | None = None
    lower: float | None = None
    upper: float | None = None
    of_fastest: float | None = None


@dataclass(frozen=True)
class Task:
    """What is timed.

    Attributes:
        name: What the report calls it.
        calls: What each program does.
        rounds: How many turns each takes.
        num_tokens: How many tokens a call reads or writes.
        work: What a call cannot do without.
    """

    name: str
    calls: Mapping[str, Callable[[], object]]
    rounds: int
    num_tokens: int
    work: Work


def training(kinds: Mapping[str, type[Program]], plan: Plan, machine: Machine) -> Task:
    """Prepare training steps."""
    batch = training_batch(plan.size).to(machine.device)
    programs = create(kinds, plan.size.config(), max_tokens=plan.size.tokens, endless=True)
    calls = {
        name: training_step(program.to(machine.device).train(), batch)
        for name, program in programs.items()
    }
    return Task("training step", calls, plan.rounds[0], int(batch.mask.sum()), training_work(plan))


def decoding(kinds: Mapping[str, type[Program]], plan: Plan, machine: Machine) -> list[Task]:
    """Prepare greedy decoding and beam search, and check that all write the same."""
    batch = decoding_batch(plan).to(machine.device)
    longest = max(plan.size.tokens, plan.num_tokens + 1)
    programs = create(kinds, plan.size.config(), max_tokens=longest, endless=True)
    for program in programs.values():
        program.to(machine.device).eval()
    check_decoding(programs, batch, plan.num_tokens)
    written = plan.num_sources * plan.num_tokens

    def greedy(program: Program) -> Callable[[], object]:
        return lambda: program.greedy(batch, plan.num_tokens)

    def beam(program: Program) -> Callable[[], object]:
        return lambda: program.beam(batch, plan.num_tokens, BEAMS)

    greedily = {name: greedy(program) for name, program in programs.items()}
    beams = {name: beam(program) for name, program in programs.items() if program.can_beam}
    return [
        Task("greedy decoding", greedily, plan.rounds[1], written, decoding_work(plan)),
        Task(f"{BEAMS} beams", beams, plan.rounds[2], written, decoding_work(plan, width=BEAMS)),
    ]


def timed(task: Task, kinds: Mapping[str, type[Program]], size: str, machine: Machine) -> list[Row]:
    """Let the programs take turns, and compare ours with each."""
    clock = clock_for(machine.device, machine.num_threads)
    seconds = take_turns(task.calls, rounds=task.rounds, clock=clock)
    rows = []
    for name, mine in seconds.items():
        ours = ours_for(kinds[name])
        compared = summary(seconds[ours], mine)
        rows.append(_row(task, size, name, summary(mine, mine), machine, compared, ours == name))
    return rows


def _row(
    task: Task,
    size: str,
    name: str,
    timing: Timing,
    machine: Machine,
    compared: Timing,
    is_ours: bool,
) -> Row:
    ratios = (
        {}
        if is_ours
        else {
            "ours": compared.ratio,
            "lower": compared.lower_quartile,
            "upper": compared.upper_quartile,
            "of_fastest": compared.fastest,
        }
    )
    return Row(
        task=task.name,
        size=size,
        program=name,
        seconds=timing.seconds,
        tokens=task.num_tokens / timing.seconds,
        of_peak=task.work.operations / timing.seconds / machine.operations,
        of_bandwidth=task.work.num_bytes / timing.seconds / machine.bandwidth,
        **ratios,
    )
