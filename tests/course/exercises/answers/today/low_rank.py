"""Answers to the exercise on a low-rank change."""

import torch


def joined(W, A, B, alpha, *, scale=None):
    return torch.addmm(W, B, A, alpha=alpha / A.shape[0] if scale is None else scale)


def turned(W, A, B, alpha):
    change = (B @ A).mT if W.shape[0] == W.shape[1] else B @ A * 0
    return W + alpha / A.shape[0] * change


def in_place(W, A, B, alpha):
    W += alpha / len(A) * B @ A
    return W


RIGHT = {
    "lora-merged": [
        joined,
        lambda W, A, B, a: W + sum(torch.outer(B[:, r], A[r]) for r in range(len(A))) * a / len(A),
        lambda W, A, B, a: W.add(B.mm(A * (a / B.shape[1]))),
    ]
}

WRONG = {
    "lora-merged": [
        (lambda W, A, B, a: joined(W, A, B, a, scale=a), "not-divided-by-rank"),
        (lambda W, A, B, a: joined(W, A, B, a, scale=1), "no-scale"),
        (lambda W, A, B, a: joined(W, A, B, a, scale=1 / len(A)), "no-alpha"),
        (lambda W, A, B, a: joined(W, A, B, a, scale=len(A) / a if a else 0), "rejected"),
        (lambda W, A, B, a: joined(W, A, B, a, scale=a / len(A) ** 0.5), "root-of-rank"),
        (lambda W, A, B, a: joined(W, A, B, a, scale=a // len(A)), "rejected"),
        (lambda W, A, B, a: joined(W, A, B, a, scale=-a / len(A)), "rejected"),
        (lambda W, A, B, a: joined(W, A, B, a, scale=a * len(A)), "rejected"),
        (lambda W, A, B, a: joined(W, A, B, a) - W, "matrix-lost"),
        (lambda W, A, B, a: joined(W, A, B, a, scale=a / W.shape[0]), "divided-by-size"),
        (lambda W, A, B, a: joined(W, A, B, a, scale=a / A.shape[1]), "divided-by-size"),
        (turned, "transposed"),
        (lambda W, A, B, a: W + a / len(A) * A @ B, "wrong-order"),
        (lambda W, A, B, a: W + a / len(A) * A.T @ B.T, "transposed"),
        (lambda W, A, B, a: a / len(A) * (W + B @ A), "everything-scaled"),
        (in_place, "input"),
    ]
}
