"""The curves of a run, drawn from its log."""

from pathlib import Path

from attention_book.foundations.bilingual import L
from attention_book.foundations.environment import from_extra
from attention_book.foundations.files import write_whole
from attention_book.runs.log import read_log

#: More points than this a curve does not show: each is the mean of several steps then.
_MOST_POINTS = 400


def draw_curves(log: Path, to: Path) -> None:
    """Draw the losses over the steps; nothing is drawn of a log without steps.

    Raises:
        ImportError: if matplotlib is not installed.
        OSError: if the file cannot be written.
    """
    lines = list(read_log(log))
    if not lines:
        return
    curve = {L("训练", "training"): thinned([(line["step"], line.get("loss")) for line in lines])}
    looked = [(line["step"], line.get("validation_loss")) for line in lines]
    seen = [(step, loss) for step, loss in looked if loss is not None]
    if seen:
        curve[L("验证", "validation")] = seen
    with from_extra("plot", "matplotlib"):
        from attention_book.plotting.files import svg_of_curves
    drawn = svg_of_curves(
        curve, xlabel=L("步", "step"), ylabel=L("每个词元的损失", "loss per token")
    )
    write_whole(to, drawn)


def thinned(
    points: list[tuple[int | float, int | float | None]], most: int = _MOST_POINTS
) -> list[tuple[int | float, int | float]]:
    """Return at most so many points, each the mean of as many neighbors.

    >>> thinned([(1, 4.0), (2, 2.0), (3, 1.0)], most=2)
    [(1.5, 3.0), (3.0, 1.0)]
    """
    known = [(step, loss) for step, loss in points if loss is not None]
    size = -(-len(known) // most) or 1
    groups = (known[start : start + size] for start in range(0, len(known), size))
    return [
        (sum(step for step, _ in group) / len(group), sum(loss for _, loss in group) / len(group))
        for group in groups
    ]
