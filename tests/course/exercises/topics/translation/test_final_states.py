import pytest
import torch

from attention_book.course.exercises import check


def finals(outputs, lengths, back=1):
    return torch.stack([outputs[n - back, i] for i, n in enumerate(lengths)])


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda outputs, lengths: outputs.select(0, len(outputs) - 1), "last-place"),
        (lambda outputs, lengths: outputs.unbind(1)[-1], "batch-first"),
        (lambda outputs, lengths: finals(outputs, lengths, back=2), "previous-step"),
        (
            lambda outputs, lengths: torch.stack(
                [outputs[:n, i].sum(0) / n for i, n in enumerate(lengths)]
            ),
            "mean",
        ),
    ],
)
def test_the_end_of_a_sentence(answer, mistake):
    assert check("final-states", finals)
    assert check("final-states", answer).mistake == mistake
