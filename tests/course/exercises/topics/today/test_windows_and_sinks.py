import pytest
import torch

from attention_book.course.exercises import check


def kept(i, w, f):
    return sorted({*range(min(f, i + 1))} | {*range(max(0, i + 1 - w), i + 1)})


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda i, w, f: kept(i, w + 1, f), "one-more"),
        (lambda i, w, f: kept(i, max(1, w - f), f), "first-inside-the-window"),
        (
            lambda i, w, f: list(range(min(f, i + 1))) + list(range(max(0, i + 1 - w), i + 1)),
            "twice",
        ),
        (lambda i, w, f: kept(i, w, f)[:-1], "not-itself"),
    ],
)
def test_kept(answer, mistake):
    assert check("kept-positions", kept)
    assert check("kept-positions", answer).mistake == mistake


def with_sink(scores, sink, *, extra=None):
    top = scores.amax(-1, keepdim=True).clamp(min=sink)
    extra = torch.exp(sink - top) if extra is None else extra * torch.exp(-top)
    parts = torch.exp(scores - top)
    return parts / (parts.sum(-1, keepdim=True) + extra)


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda scores, sink: torch.softmax(scores, -1), "no-sink"),
        (lambda scores, sink: with_sink(scores, sink, extra=sink), "sink-not-a-score"),
        (lambda scores, sink: with_sink(scores, sink, extra=1.0), "always-one"),
        (
            lambda scores, sink: torch.cat(
                (with_sink(scores, sink), 1 - with_sink(scores, sink).sum(-1, keepdim=True)), -1
            ),
            "sink-returned",
        ),
    ],
)
def test_sinks(answer, mistake):
    assert check("sink-softmax", with_sink)
    assert check("sink-softmax", answer).mistake == mistake
