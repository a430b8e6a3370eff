"""Answers to the exercise on the encoder's final states."""

import torch


def finals(outputs, lengths, back=1):
    return torch.stack([outputs[n - back, i] for i, n in enumerate(lengths)])


def gathered(outputs, lengths):
    index = (lengths - 1)[None, :, None].expand(1, -1, outputs.shape[2])
    return outputs.gather(0, index)[0]


def by_mask(outputs, lengths):
    last = torch.arange(len(outputs))[:, None] == lengths - 1
    return torch.where(last[..., None], outputs, 0).sum(0)


def without_zeros(outputs, lengths):
    """Take the last row that is not zero: padding, after an unpacking, is."""
    return torch.stack(
        [outputs[:, i][outputs[:, i].ne(0).any(-1)][-1] for i in range(len(lengths))]
    )


RIGHT = {
    "final-states": [
        lambda outputs, lengths: finals(outputs, lengths),
        gathered,
        by_mask,
        lambda outputs, lengths: outputs.transpose(0, 1)[torch.arange(len(lengths)), lengths - 1],
    ]
}

WRONG = {
    "final-states": [
        (lambda outputs, lengths: outputs.select(0, len(outputs) - 1), "last-place"),
        (lambda outputs, lengths: outputs[-1], "last-place"),
        (lambda outputs, lengths: outputs.unbind(1)[-1], "batch-first"),
        (lambda outputs, lengths: finals(outputs, lengths, back=2), "previous-step"),
        (lambda outputs, lengths: finals(outputs, lengths, back=0), "rejected"),
        (
            lambda outputs, lengths: torch.stack(
                [outputs[:n, i].sum(0) / n for i, n in enumerate(lengths)]
            ),
            "mean",
        ),
        (lambda outputs, lengths: outputs.mean(0), "mean-with-padding"),
        (lambda outputs, lengths: outputs.amax(0), "rejected"),
        (lambda outputs, lengths: outputs[0], "first-step"),
        (lambda outputs, lengths: outputs[lengths - 1], "all-pairs"),
        (lambda outputs, lengths: outputs[:, lengths - 1], "rejected"),
        (
            lambda outputs, lengths: outputs[lengths % len(outputs), torch.arange(len(lengths))],
            "rejected",
        ),
        (lambda outputs, lengths: outputs[lengths.max() - 1], "rejected"),
        (lambda outputs, lengths: outputs[lengths.min() - 1], "rejected"),
        (lambda outputs, lengths: outputs[lengths[0] - 1], "rejected"),
        (without_zeros, "rejected"),
        (lambda outputs, lengths: finals(outputs, lengths)[None], "shape"),
        (lambda outputs, lengths: finals(outputs, lengths).squeeze(), "rejected"),
        (lambda outputs, lengths: [outputs[n - 1, i] for i, n in enumerate(lengths)], "type"),
        (
            lambda outputs, lengths: finals(outputs, lengths.sort(descending=True).values),
            "rejected",
        ),
    ]
}
