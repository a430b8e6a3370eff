"""Answers to the exercises on split heads."""

import torch


def split(x, num_heads):
    parts = x.chunk(num_heads, dim=-1)
    return torch.stack(parts, dim=1)


RIGHT = {
    "split-heads": [
        lambda x, num_heads: split(x, num_heads),
        lambda x, h: x.reshape(len(x), x.shape[1], h, -1).transpose(1, 2),
        lambda x, h: x.unflatten(-1, (h, -1)).permute(0, 2, 1, 3).contiguous(),
        lambda x, h: torch.stack(
            [x[..., i * x.shape[2] // h : (i + 1) * x.shape[2] // h] for i in range(h)], 1
        ),
    ],
    "merge-heads": [
        lambda heads: torch.cat(heads.unbind(1), dim=-1),
        lambda heads: heads.transpose(1, 2).flatten(2),
        lambda heads: heads.permute(0, 2, 1, 3).reshape(len(heads), heads.shape[2], -1),
    ],
}

WRONG = {
    "split-heads": [
        (lambda x, h: x.view(x.shape[0], h, x.shape[1], -1), "view-instead-of-swap"),
        (lambda x, h: x.reshape(len(x), x.shape[1], h, -1), "no-swap"),
        (lambda x, h: torch.stack([x[..., i::h] for i in range(h)], 1), "features-dealt-out"),
        (lambda x, h: split(x, h).flip(1), "heads-reversed"),
        (lambda x, h: split(x, h).mT, "features-before-positions"),
        (lambda x, h: split(x, h).transpose(0, 1), "heads-first"),
        (lambda x, h: split(x, h)[0], "batch-lost"),
        (lambda x, h: split(x, h).squeeze(), "rejected"),
        (lambda x, h: split(x, h).flatten(0, 1), "batch-and-heads-joined"),
        (lambda x, h: x[:, None].expand(-1, h, -1, -1), "copied-to-every-head"),
        (lambda x, h: x.chunk(h, dim=-1), "type"),
        (lambda x, h: torch.stack(x.chunk(h, dim=1), 1), "positions-split"),
        (lambda x, h: split(x, x.shape[-1] // h), "sizes-mixed-up"),
        (lambda x, h: split(x, 2), "rejected"),
        (lambda x, h: torch.stack(x.split(h, dim=-1), 1), "sizes-mixed-up"),
        (lambda x, h: split(x, h).detach().round(), "rejected"),
        (lambda x, h: torch.cat(x.chunk(h, -1), 1), "rejected"),
        (lambda x, h: split(x, h) / h**0.5, "rejected"),
    ],
    "merge-heads": [
        (lambda heads: heads.reshape(len(heads), heads.shape[2], -1), "view-instead-of-swap"),
        (lambda heads: torch.stack(heads.unbind(1), -1).flatten(-2), "features-dealt-out"),
        (lambda heads: sum(heads.unbind(1)), "heads-added"),
        (lambda heads: heads.mean(1), "heads-averaged"),
        (lambda heads: heads.transpose(1, 2), "not-merged"),
        (lambda heads: heads.flatten(1, 2), "positions-merged"),
        (lambda heads: heads[:, 0], "first-head-alone"),
        (lambda heads: torch.cat(heads.flip(1).unbind(1), -1), "heads-reversed"),
        (lambda heads: torch.cat(heads.unbind(1), 1), "positions-merged"),
        (lambda heads: torch.cat(heads.unbind(1), -1).squeeze(0), "batch-lost"),
        (lambda heads: torch.cat(heads.unbind(1), -1).squeeze(), "rejected"),
        (lambda heads: heads.flatten(2), "rejected"),
        (lambda heads: torch.cat(heads.unbind(0), -1), "rejected"),
        (lambda heads: torch.cat(heads.unbind(1), -1).mT, "rejected"),
        (lambda heads: heads.movedim(1, -1).flatten(2), "features-dealt-out"),
        (lambda heads: heads.amax(1), "rejected"),
        (lambda heads: torch.cat(heads.unbind(1), -1) / heads.shape[1], "rejected"),
        (lambda heads: torch.cat(heads.unbind(1), -1).tolist(), "type"),
    ],
}
