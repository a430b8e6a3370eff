"""Answers to the exercise on the way back through a softmax."""

import torch


def jacobian(weights, gradient):
    """Write out the whole matrix of each row."""
    rows = [(torch.diag(a) - torch.outer(a, a)) @ g for a, g in zip(weights, gradient, strict=True)]
    return torch.stack(rows)


def by_autograd(weights, gradient):
    scores = weights.log().requires_grad_()
    (found,) = torch.autograd.grad(scores.softmax(-1), scores, gradient)
    return found


def divided(a, g):
    """Undo the weights by dividing by them."""
    inner = (a * g).sum(-1, keepdim=True)
    return a * (g * a - inner * a) / a


RIGHT = {
    "softmax-backward": [
        jacobian,
        lambda a, g: a * g - a * torch.einsum("ij,ij->i", a, g)[:, None],
        by_autograd,
        lambda a, g: torch.ops.aten._softmax_backward_data(g, a, -1, torch.float32),
    ]
}

WRONG = {
    "softmax-backward": [
        (lambda a, g: (a - a**2) * g, "diagonal-only"),
        (lambda a, g: torch.mul(a, g), "nothing-subtracted"),
        (lambda a, g: a * g - a * g.mean(1, keepdim=True), "plain-mean"),
        (lambda a, g: -jacobian(a, g), "sign"),
        (lambda a, g: a * ((a * g).sum(-1, keepdim=True) - g), "sign"),
        (lambda a, g: a * g - a * (a * g).sum(0, keepdim=True), "wrong-axis"),
        (lambda a, g: a * (g - (a * g).sum()), "wrong-axis"),
        (lambda a, g: a * (g - (a * g).sum(-1)), "no-kept-axis"),
        (lambda a, g: a * (g - a @ g.T), "rejected"),
        (lambda a, g: a * (g - g.sum(-1, keepdim=True)), "plain-sum"),
        (lambda a, g: a * (g - (a * g).mean(-1, keepdim=True)), "rejected"),
        (lambda a, g: g - (a * g).sum(-1, keepdim=True), "weights-missing"),
        (lambda a, g: a * g - (a * g).sum(-1, keepdim=True), "rejected"),
        (lambda a, g: g * (a - (a * g).sum(-1, keepdim=True)), "rejected"),
        (lambda a, g: a * (g - (a.softmax(-1) * g).sum(-1, keepdim=True)), "softmax-twice"),
        (lambda a, g: jacobian(a.softmax(-1), g), "softmax-twice"),
        (lambda g, a: jacobian(a, g), "rejected"),
        (divided, "divided-by-weights"),
        (lambda a, g: a - g, "rejected"),
        (lambda a, g: jacobian(a, g).sum(0), "rejected"),
        (lambda a, g: a * (g - (a * g).sum(-1, keepdim=True)) / a.shape[0], "rejected"),
    ],
}
