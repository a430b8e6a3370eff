"""A progress bar for a training."""

from collections.abc import Iterable, Iterator

from attention_book.foundations.environment import bar_options, from_extra
from attention_book.training.reports import EpochReport


def progress(
    reports: Iterable[EpochReport], *, total: int, description: str = ""
) -> Iterator[EpochReport]:
    """Pass the reports on, and draw a progress bar with the loss.

    The bar goes to the standard error of a terminal, or to the output of a notebook's
    cell. There is none while the book is built (``ATTENTION_BOOK_BUILD`` is 1), or where
    it could not be seen.

    Args:
        reports: What :func:`fit` yields.
        total: How many epochs there will be at most.
        description: Stands before the bar.

    Raises:
        ImportError: if tqdm is not installed.

    >>> report = EpochReport(
    ...     epoch=1, loss_per_token=2.5, num_tokens=3000, gradient_norm=4.0, seconds=1.5
    ... )
    >>> [report.epoch for report in progress([report], total=1)]
    [1]
    """
    with from_extra("training", "tqdm"):
        from tqdm import tqdm
    with tqdm(total=total, desc=description, unit="epoch", **bar_options()) as bar:
        for report in reports:
            bar.set_postfix(loss=f"{report.loss_per_token:.3f}", refresh=False)
            bar.update()
            yield report
