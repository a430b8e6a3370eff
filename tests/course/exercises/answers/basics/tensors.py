"""Answers to the exercises on tensors."""

import torch
from torch import nn
from torch.nn import functional as F


def flat(a, b):
    return torch.tensor([x - y for x in a for y in b])


def one_row(x, W, b):
    return W @ x + b


def only_matrices(x, W, b):
    return torch.einsum("bi,oi->bo", x, W) + b


def by_loop(tokens, table):
    if tokens.ndim == 0:
        return table[tokens.item()]
    return torch.stack([by_loop(each, table) for each in tokens])


RIGHT = {
    "broadcast": [
        lambda a, b: torch.stack([each - b for each in a]),
        lambda a, b: torch.tensor([[x - y for y in b] for x in a]),
        lambda a, b: a.double().unsqueeze(1).expand(-1, len(b)) - b,
        lambda a, b: -torch.sub(b, a.view(-1, 1)),
    ],
    "linear-layer": [
        F.linear,
        lambda x, W, b: torch.einsum("...i,oi->...o", x, W) + b,
        lambda x, W, b: (W @ x.unsqueeze(-1)).squeeze(-1) + b,
        lambda x, W, b: (
            torch.cat((x, torch.ones(*x.shape[:-1], 1)), -1) @ torch.cat((W.T, b[None]))
        ),
    ],
    "embedding": [
        F.embedding,
        by_loop,
        lambda tokens, table: F.one_hot(tokens, len(table)).float() @ table,
        lambda tokens, table: table.index_select(0, tokens.flatten()).view(*tokens.shape, -1),
    ],
}

WRONG = {
    "broadcast": [
        (lambda a, b: a.expand(len(b), len(a)) - b.unsqueeze(1), "transposed"),
        (lambda a, b: torch.stack([a - each for each in b]), "transposed"),
        (lambda a, b: torch.stack([b - each for each in a]), "sign"),
        (lambda a, b: b - a[:, None], "sign"),
        (torch.sub, "no-new-axis"),
        (lambda a, b: a[: len(b)] - b[: len(a)], "rejected"),
        (lambda a, b: a[:, None] + b, "added"),
        (lambda a, b: torch.cdist(a[:, None], b[:, None]), "absolute"),
        (lambda a, b: (a[:, None] - b).abs(), "absolute"),
        (lambda a, b: (a[:, None] - b).square(), "rejected"),
        (lambda a, b: a[:, None] * b, "rejected"),
        (lambda a, b: (a[:, None] - b).squeeze(), "squeezed"),
        (lambda a, b: a.repeat(len(b)).view(len(a), len(b)) - b, "rejected"),
        (lambda a, b: a.view(2, 1) - b, "rejected"),
        (flat, "shape"),
        (lambda a, b: [[x - y for y in b] for x in a], "type"),
        (lambda a, b: (a[:, None] - b).long(), "dtype"),
        (lambda a, b: a[:, None] - b.mean(), "rejected"),
    ],
    "linear-layer": [
        (lambda x, W, b: torch.einsum("...i,io->...o", x, W) + b, "not-transposed"),
        (lambda x, W, b: x @ W + b, "not-transposed"),
        (lambda x, W, b: F.linear(x, W), "no-bias"),
        (lambda x, W, b: x @ W.T, "no-bias"),
        (lambda x, W, b: nn.Tanh()(F.linear(x, W, b)), "activation"),
        (lambda x, W, b: F.linear(x, W, b).relu(), "activation"),
        (lambda x, W, b: F.linear(x, W, b).sigmoid(), "activation"),
        (lambda x, W, b: F.linear(x, W) - b, "bias-subtracted"),
        (lambda x, W, b: F.linear(x, W, 2 * b), "rejected"),
        (lambda x, W, b: F.linear(x, W, b) / x.shape[-1] ** 0.5, "rejected"),
        (one_row, "rejected"),
        (only_matrices, "rejected"),
        (lambda x, W, b: torch.addmm(b, x, W.T), "rejected"),
        (lambda x, W, b: F.linear(x, W, b).squeeze(-1), "rejected"),
        (lambda x, W, b: F.linear(x.flatten(0, -2) if x.ndim > 1 else x, W, b), "rejected"),
        (lambda x, W, b: F.linear(x, W, b.mean()), "rejected"),
        (lambda x, W, b: F.linear(x, W, b).softmax(-1), "rejected"),
        (lambda x, W, b: F.linear(x.mean(0, keepdim=True), W, b), "rejected"),
    ],
    "embedding": [
        (lambda tokens, table: F.embedding(tokens, table).sum(dim=-2), "added-up"),
        (lambda tokens, table: F.embedding(tokens, table).mean(dim=-2), "added-up"),
        (
            lambda tokens, table: table[torch.arange(tokens.shape[-1])].expand(*tokens.shape, -1),
            "first-rows",
        ),
        (
            lambda tokens, table: table.index_select(1, tokens.flatten()).reshape(
                len(table), *tokens.shape
            ),
            "columns",
        ),
        (lambda tokens, table: table.T[tokens], "columns"),
        (lambda tokens, table: table[tokens - 1], "counted-from-one"),
        (lambda tokens, table: table[tokens.flatten()], "axes-lost"),
        (lambda tokens, table: table[tokens].squeeze(), "rejected"),
        (lambda tokens, table: table[tokens].flatten(-2), "rejected"),
        (lambda tokens, table: torch.stack([table[t] for t in tokens.flatten()]), "axes-lost"),
        (lambda tokens, table: table[tokens] * table.shape[1] ** 0.5, "rejected"),
        (lambda tokens, table: table[tokens] * (tokens != 0)[..., None], "id-zero-lost"),
        (lambda tokens, table: table[tokens.unique()], "rejected"),
        (lambda tokens, table: F.one_hot(tokens, len(table)), "rejected"),
        (lambda tokens, table: F.one_hot(tokens).float() @ table, "rejected"),
        (lambda tokens, table: torch.stack([table[t] for t in tokens]), "rejected"),
        (lambda tokens, table: F.normalize(table[tokens], dim=-1), "rejected"),
        (lambda tokens, table: F.embedding(tokens, table, max_norm=0.5), "rejected"),
    ],
}
