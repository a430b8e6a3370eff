"""Answers to the exercises on masks, scores and choices."""

import math

import torch
from torch.nn import functional as F


# masked-softmax
def by_hand(scores, mask):
    visible = scores.masked_fill(~mask, -torch.inf)
    top = visible.amax(-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).min)
    likeness = (visible - top).exp()
    return likeness / likeness.sum(-1, keepdim=True).clamp(min=1e-6)


def filled(value, dim=-1):
    return lambda scores, mask: torch.softmax(torch.where(mask, scores, value), dim)


def right(scores, mask):
    return scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0)


# causal-with-cache
def full(num_keys):
    return torch.ones(num_keys, num_keys, dtype=torch.bool).tril()


def band(m, n, ahead=0):
    return torch.arange(n) <= torch.arange(m)[:, None] + ahead


# scaled-dot-product
def attend(q, k, v, mask, *, scale=None, dim=-1, after=1.0):
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    scores = torch.einsum("...qd,...kd->...qk", q, k) * scale
    weights = scores.masked_fill(~mask, -torch.inf).softmax(dim).nan_to_num()
    return after * weights @ v


def loop(q, k, v, mask):
    if q.ndim == 3:
        return torch.stack([loop(*each) for each in zip(q, k, v, mask, strict=True)])
    rows = []
    for query, seen in zip(q, mask.expand(len(q), len(k)), strict=True):
        scores = torch.tensor([query @ key / len(query) ** 0.5 for key in k[seen]])
        rows.append(scores.softmax(0) @ v[seen])
    return torch.stack(rows)


def scores(q, k):
    return q @ k.mT / q.shape[-1] ** 0.5


# additive-score
def pairs(hidden):
    """Return a score that visits each pair of a query and a key on its own."""

    def score(queries, keys, W_q, W_k, w_v):
        return torch.stack(
            [torch.stack([w_v @ hidden(W_q @ q, W_k @ k) for k in keys]) for q in queries]
        )

    return score


def additive(q, k, W_q, W_k, w_v):
    return torch.einsum("qkh,h->qk", ((q @ W_q.T)[:, None] + (k @ W_k.T)[None]).tanh(), w_v)


# local-gaussian
def local(
    scores, center, radius, *, sigma=0.5, power=2, again=False, everywhere=False, edge=True,
    density=False, gauss=True,
):  # fmt: skip
    places = range(len(scores))
    near = [
        j for j in places
        if everywhere or abs(j - center) < radius or (edge and abs(j - center) == radius)
    ]  # fmt: skip
    weights = torch.zeros(len(scores))
    top = max(scores[j].item() for j in near)
    total = sum(math.exp(scores[j].item() - top) for j in near)
    for j in near:
        fall = math.exp(-((j - center) ** 2) / (2 * (sigma * radius) ** power)) if gauss else 1.0
        weights[j] = math.exp(scores[j].item() - top) / total * fall
    if density:
        weights /= sigma * radius * math.sqrt(2 * math.pi)
    return weights / weights.sum() if again else weights


def locally(**settings):
    return lambda scores, center, radius: local(scores, center, radius, **settings)


def masked(scores, center, radius, fill=-torch.inf):
    d = torch.arange(len(scores)) - center
    weights = scores.masked_fill(d.abs() > radius, fill).softmax(0)
    return weights * torch.exp(-2 * d**2 / radius**2)


def sliced(scores, center, radius):
    """Cut the window out by its whole ends, which a center between two places has not."""
    low, high = max(0, int(center) - radius), int(center) + radius + 1
    d = torch.arange(len(scores)) - center
    weights = torch.zeros_like(scores)
    weights[low:high] = scores[low:high].softmax(0)
    return weights * torch.exp(-2 * d**2 / radius**2)


def negative_start(scores, center, radius):
    """Cut the window out with a start that may be negative."""
    low, high = math.ceil(center - radius), math.floor(center + radius) + 1
    d = torch.arange(len(scores)) - center
    weights = torch.zeros_like(scores)
    weights[low:high] = scores[low:high].softmax(0)
    return weights * torch.exp(-2 * d**2 / radius**2)


# reinforce
def surrogate(log_probs, losses, baseline):
    terms = [(loss.item() - baseline) * p for loss, p in zip(losses, log_probs, strict=True)]
    return sum(terms) / len(terms)


# softmax-backward
def jacobian(weights, gradient):
    """Write out the whole matrix of each row."""
    rows = [(torch.diag(a) - torch.outer(a, a)) @ g for a, g in zip(weights, gradient, strict=True)]
    return torch.stack(rows)


def by_autograd(weights, gradient):
    scores = weights.log().requires_grad_()
    (found,) = torch.autograd.grad(scores.softmax(-1), scores, gradient)
    return found


RIGHT = {
    "masked-softmax": [
        by_hand,
        right,
        lambda scores, mask: (
            scores.masked_fill(~mask, -torch.inf)
            .masked_fill(~mask.any(-1, keepdim=True), 0)
            .softmax(-1)
            * mask
        ),
        lambda scores, mask: right(scores.double(), mask),
        lambda scores, mask: filled(-torch.inf)(scores, mask).nan_to_num(),
    ],
    "causal-with-cache": [
        lambda num_queries, num_keys: full(num_keys)[-num_queries:],
        lambda m, n: band(m, n, n - m),
        lambda m, n: ~torch.ones(m, n).bool().triu(n - m + 1),
        lambda m, n: torch.tensor([[j <= i + n - m for j in range(n)] for i in range(m)]),
    ],
    "scaled-dot-product": [
        loop,
        lambda q, k, v, m: attend(q, k, v, m),
        lambda q, k, v, m: attend(q / q.shape[-1] ** 0.25, k / k.shape[-1] ** 0.25, v, m, scale=1),
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m).nan_to_num(),
        lambda q, k, v, m: (
            scores(q, k).masked_fill(~m, -torch.inf).softmax(-1).masked_fill(~m, 0) @ v
        ),
        lambda q, k, v, m: scores(q, k).masked_fill(~m, -torch.inf).softmax(-1) @ v,
        lambda q, k, v, m: scores(q, k).masked_fill(~m, -1e9).softmax(-1) @ v,
    ],
    "additive-score": [
        pairs(lambda q, k: (q + k).tanh()),
        additive,
        lambda q, k, W_q, W_k, w_v: (
            torch.tanh(
                torch.cat(
                    (q[:, None].expand(-1, len(k), -1), k[None].expand(len(q), -1, -1)), dim=-1
                )
                @ torch.cat((W_q, W_k), dim=1).T
            )
            @ w_v
        ),
    ],
    "local-gaussian": [locally(), masked, lambda s, c, r: masked(s.double(), c, r)],
    "reinforce": [
        surrogate,
        lambda p, loss, b: ((loss.detach() - b) * p).mean(),
        lambda p, loss, b: (loss - b).detach() @ p / len(p),
    ],
    "softmax-backward": [
        jacobian,
        lambda a, g: a * g - a * torch.einsum("ij,ij->i", a, g)[:, None],
        by_autograd,
        lambda a, g: torch.ops.aten._softmax_backward_data(g, a, -1, torch.float32),
    ],
}

WRONG = {
    "masked-softmax": {
        "wrong-axis": [filled(-1e9, dim=-2), filled(-torch.inf, dim=0)],
        "mask-inverted": [
            lambda scores, mask: torch.where(~mask, scores, -1e9).softmax(-1),
            lambda scores, mask: right(scores, ~mask),
        ],
        "finite-fill": [filled(-1e6)],
        "in-place": [lambda s, mask: s.masked_fill_(~mask, -torch.inf).softmax(-1) * mask],
        "finite-gradients": [
            lambda scores, mask: (
                (scores + torch.where(mask, 0, -torch.inf)).softmax(-1).nan_to_num()
            )
        ],
        "no-gradient": [
            lambda s, mask: right(s, mask).detach(),
            lambda s, mask: right(s.detach(), mask),
        ],
        "rejected": [
            lambda s, mask: (s + (~mask) * -torch.inf).softmax(-1),
            lambda scores, mask: (
                scores.masked_fill(~mask, -1e4).softmax(-1) * mask.any(-1, keepdim=True)
            ),
            lambda scores, mask: right(scores, mask[..., :1, :].expand_as(scores)),
            lambda s, mask: torch.where(mask, s.sigmoid(), 0),
            lambda mask, scores: right(scores, mask),
        ],
    },
    "causal-with-cache": {
        "from-position-zero": [lambda m, n: full(n)[:m]],
        "future": [lambda m, n: ~full(n)[-m:]],
        "dtype": [
            lambda m, n: full(n)[-m:].float(),
            lambda m, n: full(n)[-m:].int(),
            lambda m, n: torch.zeros(m, n).masked_fill(~full(n)[-m:], -torch.inf),
        ],
        "type": [lambda m, n: full(n)[-m:].tolist()],
        "shape": [lambda m, n: full(n)[-m:][None]],
        "rejected": [
            lambda m, n: torch.ones(m, n).tril(m - n) > 0,
            lambda m, n: torch.ones(m, n).triu(n - m) > 0,
            lambda m, n: torch.ones(m, n).tril(m) > 0,
            lambda m, n: torch.ones(m, n).tril(n // 2) > 0,
            lambda m, n: full(n),
            lambda m, n: full(n)[-1:],
            lambda m, n: full(n)[-m:].mT,
            lambda n, m: full(n)[-m:],
            lambda m, n: band(m, n, n - m) & ~band(m, n, -1),
        ],
    },
    "scaled-dot-product": {
        "divided-by-d": [lambda q, k, v, m: attend(q, k, v, m, scale=1 / q.shape[-1])],
        "not-scaled": [lambda q, k, v, m: attend(q, k, v, m, scale=1)],
        "rejected": [
            lambda q, k, v, m: attend(q, k, v, m, after=q.shape[-1] ** -0.5),
            lambda q, k, v, m: attend(q, k, k, m),
            lambda q, k, v, m: attend(q, v, k, m),
            lambda q, k, v, m: attend(F.normalize(q, dim=-1), F.normalize(k, dim=-1), v, m),
            lambda q, k, v, m: attend(q, k, v, m, scale=0),
            lambda q, k, v, m: scores(q, k).masked_fill(~m, -1e4).softmax(-1) @ v,
            lambda q, k, v, m: attend(q, k, v, m, scale=8**-0.5),
            lambda q, k, v, m: scores(q, k).masked_fill(~m, -torch.inf).softmax(-1).nan_to_num(),
        ],
    },
    "additive-score": {
        "not-broadcast": [
            lambda q, k, W_q, W_k, w_v: (torch.tanh(q @ W_q.T + k @ W_k.T) * w_v).sum(-1)
        ],
        "no-tanh": [pairs(lambda q, k: q + k)],
        "shape": [
            lambda *given: additive(*given)[..., None],
            lambda q, k, W_q, W_k, w_v: ((q @ W_q.T)[:, None] + k @ W_k.T).tanh() * w_v,
        ],
        "rejected": [
            pairs(lambda q, k: (q - k).tanh()),
            pairs(lambda q, k: (k - q).tanh()),
            pairs(lambda q, k: (q + k).relu()),
            pairs(lambda q, k: (q + k).sigmoid()),
            lambda q, k, W_q, W_k, w_v: (q @ W_q)[:, None] + k @ W_k,
            lambda k, q, W_q, W_k, w_v: additive(q, k, W_q, W_k, w_v),
        ],
    },
    "local-gaussian": {
        "sigma-is-radius": [locally(sigma=1.0)],
        "sigma-not-squared": [locally(power=1)],
        "type": [lambda s, c, r: local(s, c, r).tolist()],
        "rejected": [
            lambda s, c, r: masked(s, c, r, 0.0),
            lambda s, c, r: masked(s, c, r, -100.0),
            lambda s, c, r: masked(s, c, r) * masked(s, c, r).ne(0).sum(),
            sliced,
            negative_start,
            locally(sigma=0.25),
            lambda s, c, r: local(s, c - 1, r),
            lambda s, c, r: local(s, c + 1, r) if c + 1 - r < len(s) - 1 else s,
            lambda s, c, r: masked(s, c, r)[masked(s, c, r) > 0],
            lambda s, c, r: torch.exp(-2 * (torch.arange(len(s)) - c) ** 2 / r**2),
            lambda s, c, r: s.softmax(0),
        ],
    },
    "reinforce": {
        "uphill": [lambda p, loss, b: (-(loss.detach() - b) * p).mean()],
        "probabilities": [lambda p, loss, b: ((loss.detach() - b) * torch.exp(p)).mean()],
        "losses-are-constants": [
            lambda p, loss, b: ((loss - b) * p).mean(),
            lambda p, loss, b: ((loss.detach() - b) * p).mean().item(),
        ],
        "no-gradient": [
            lambda p, loss, b: ((loss.detach() - b) * p.detach()).mean(),
            lambda p, loss, b: ((loss - b) * p).mean().detach(),
        ],
        "shape": [lambda p, loss, b: (loss.detach() - b) * p],
        "rejected": [
            lambda p, loss, b: ((loss.detach() - loss.detach().mean()) * p).mean(),
            lambda p, loss, b: (loss.detach() - b).sum() * p.sum(),
            lambda p, loss, b: ((loss.detach() - b) * p.log()).mean(),
            lambda p, loss, b: (loss.detach() - b).mean(),
            lambda p, loss, b: (loss.detach() - b * p).mean(),
            lambda p, loss, b: ((loss.detach() - b) ** 2 * p).mean(),
            lambda p, loss, b: ((loss.detach() - b).abs() * p).mean(),
            lambda p, loss, b: ((loss.detach() - b).clamp(min=0) * p).mean(),
        ],
    },
    "softmax-backward": {
        "diagonal-only": [lambda a, g: (a - a**2) * g],
        "nothing-subtracted": [lambda a, g: torch.mul(a, g)],
        "rejected": [
            lambda a, g: a * (g - a @ g.T),
            lambda a, g: a * (g - (a * g).mean(-1, keepdim=True)),
            lambda a, g: a * g - (a * g).sum(-1, keepdim=True),
            lambda a, g: g * (a - (a * g).sum(-1, keepdim=True)),
            lambda g, a: jacobian(a, g),
            lambda a, g: a - g,
            lambda a, g: jacobian(a, g).sum(0),
            lambda a, g: a * (g - (a * g).sum(-1, keepdim=True)) / a.shape[0],
        ],
    },
}
