"""Answers to the exercises of “Find the bug”."""

import math

import torch
from torch.nn import functional as F


# final-states
def finals(outputs, lengths, back=1):
    return torch.stack([outputs[n - back, i] for i, n in enumerate(lengths)])


# dead-parameters
def dead(function, parameters, *, same=lambda a, b: torch.allclose(a, b, atol=1e-4)):
    found = set()
    for name in parameters:
        other = dict(parameters)
        other[name] = 3 * parameters[name] + 2
        if same(function(**parameters), function(**other)):
            found.add(name)
    return found


def untouched(function, parameters):
    leaves = {name: value.clone().requires_grad_() for name, value in parameters.items()}
    function(**leaves).sum().backward()
    return {name for name, leaf in leaves.items() if (leaf.grad == 0).all()}


def left_changed(function, parameters):
    before, found = function(**parameters), set()
    for name in parameters:
        parameters[name] = parameters[name] + 3
        if torch.allclose(before, function(**parameters), atol=1e-4):
            found.add(name)
    return found


def small_gradient(function, parameters):
    leaves = {n: v.clone().requires_grad_() for n, v in parameters.items()}
    function(**leaves).square().sum().backward()
    return {n for n, leaf in leaves.items() if leaf.grad.abs().max() < 1e-4}


# mask-test
def plain(x):
    return torch.softmax(x @ x.mT / 8**0.5, -1) @ x


def good_test(attention):
    x, lengths = torch.randn(2, 6, 8), torch.tensor([2, 5])
    for i, n in enumerate(lengths.tolist()):
        alone = attention(x[i : i + 1, :n], lengths[i : i + 1])[0]
        together = attention(x, lengths)[i, :n]
        if not (torch.allclose(together, plain(x[i, :n]), atol=1e-4) and alone.shape == (n, 8)):
            return False
    return True


def against_an_oracle(attention):
    x, lengths = torch.randn(3, 4, 8), torch.tensor([1, 4, 2])
    scores = x @ x.mT / 8**0.5
    scores = scores.masked_fill(torch.arange(4) >= lengths[:, None, None], -torch.inf)
    return torch.allclose(attention(x, lengths), scores.softmax(-1) @ x, atol=1e-5)


def shortened(lengths):
    """Compare with the sentences cut to their lengths."""

    def test(attention):
        x = torch.randn(len(lengths), 6, 8)
        output = attention(x, torch.tensor(lengths))
        return all(
            torch.allclose(output[i, :n], plain(x[i, :n]), atol=1e-5) for i, n in enumerate(lengths)
        )

    return test


def asserting(attention):
    x, lengths = torch.randn(2, 6, 8), torch.tensor([2, 5])
    for i, n in enumerate([2, 5]):
        assert torch.allclose(attention(x, lengths)[i, :n], plain(x[i, :n]), atol=1e-4)
    return True


def nothing_returned(attention):
    assert good_test(attention)


def zeros_in_padding(attention):
    """Compare with zeros in place of padding: to look at zeros is not to look away."""
    x, lengths = torch.randn(2, 5, 8), torch.tensor([3, 4])
    real = (torch.arange(5) < lengths[:, None])[..., None]
    expected = plain(x * real)
    return torch.allclose((attention(x, lengths) * real), expected * real, atol=1e-5)


# ignore-mask
def attend(queries, keys, values, ignore):
    return F.scaled_dot_product_attention(queries, keys, values, attn_mask=ignore != 1)


def with_mask(mask):
    def answer(queries, keys, values, ignore):
        return F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask(ignore))

    return answer


def scores(queries, keys):
    return queries @ keys.T / math.sqrt(keys.shape[1])


def filled(value):
    return lambda q, k, v, ignore: scores(q, k).masked_fill(ignore == 1, value).softmax(dim=-1) @ v


def by_exponentials(q, k, v, ignore):
    parts = scores(q, k).exp() * (1 - ignore)
    return parts / parts.sum(-1, keepdim=True) @ v


def look(query, keys, values):
    return torch.softmax(query @ keys.T / keys.shape[1] ** 0.5, dim=1) @ values


# content-attention
def places(query, keys, values, *, to_places=torch.linspace(-1, 1, 24).view(4, 6)):  # noqa: B008
    return torch.softmax(query[:, :4] @ to_places[:, : len(keys)], 1) @ values[:6]


RIGHT = {
    "final-states": [
        lambda outputs, lengths: finals(outputs, lengths),
        lambda outputs, lengths: outputs.gather(
            0, (lengths - 1)[None, :, None].expand(1, -1, outputs.shape[2])
        )[0],
        lambda outputs, lengths: torch.where(
            (torch.arange(len(outputs))[:, None] == lengths - 1)[..., None], outputs, 0
        ).sum(0),
        lambda outputs, lengths: outputs.transpose(0, 1)[torch.arange(len(lengths)), lengths - 1],
    ],
    "dead-parameters": [
        lambda f, p: dead(f, p),
        lambda f, p: {
            n for n in p if (f(**{**p, n: p[n] * 1.5 + 0.7}) - f(**p)).abs().max() < 1e-4
        },
        small_gradient,
    ],
    "mask-test": [good_test, against_an_oracle, shortened([2, 5])],
    "ignore-mask": [
        attend,
        filled(-1e9),
        lambda q, k, v, ignore: torch.stack(
            [look(q[i : i + 1], k[ignore[i] == 0], v[ignore[i] == 0])[0] for i in range(len(q))]
        ),
    ],
    "content-attention": [
        look,
        F.scaled_dot_product_attention,
        lambda q, k, v: (q @ k.T / math.sqrt(q.shape[-1])).log_softmax(-1).exp() @ v,
    ],
}

WRONG = {
    "final-states": {
        "last-place": [lambda outputs, lengths: outputs.select(0, len(outputs) - 1)],
        "batch-first": [lambda outputs, lengths: outputs.unbind(1)[-1]],
        "shape": [lambda outputs, lengths: finals(outputs, lengths)[None]],
        "type": [lambda outputs, lengths: [outputs[n - 1, i] for i, n in enumerate(lengths)]],
        "rejected": [
            lambda outputs, lengths: finals(outputs, lengths, back=0),
            lambda outputs, lengths: outputs.amax(0),
            lambda outputs, lengths: outputs[:, lengths - 1],
            lambda outputs, lengths: outputs[lengths % len(outputs), torch.arange(len(lengths))],
            lambda outputs, lengths: outputs[lengths.max() - 1],
            lambda outputs, lengths: outputs[lengths.min() - 1],
            lambda outputs, lengths: outputs[lengths[0] - 1],
            lambda outputs, lengths: torch.stack(
                [outputs[:, i][outputs[:, i].ne(0).any(-1)][-1] for i in range(len(lengths))]
            ),
            lambda outputs, lengths: finals(outputs, lengths).squeeze(),
            lambda outputs, lengths: finals(outputs, lengths.sort(descending=True).values),
        ],
    },
    "dead-parameters": {
        "rounding-taken-for-life": [lambda f, p: dead(f, p, same=torch.equal)],
        "never-dead": [lambda f, p: {name for name in p if p[name] is None}],
        "type": [lambda f, p: [*dead(f, p)], lambda f, p: len(dead(f, p))],
        "rejected": [
            untouched,
            lambda function, parameters: dead(function, dict(list(parameters.items())[:1])),
            left_changed,
            lambda f, p: dead(f, p, same=lambda a, b: bool((a == b).any())),
            lambda f, p: {n for n in dead(f, p) if n.startswith("b")},
            lambda f, p: {next(iter(p))},
            lambda f, p: {n for n, v in p.items() if v.ndim},
        ],
    },
    "mask-test": {
        "cannot-fail": [
            lambda attention: attention(torch.ones(1, 2, 8), torch.tensor([1])) is not None
        ],
        "nothing-hidden": [
            lambda attention: bool(
                (attention(torch.ones(3, 4, 8), torch.tensor([4, 5, 4])) == 1).all()
            )
        ],
        "raises": [nothing_returned, asserting],
        "type": [lambda attention: int(good_test(attention))],
        "rejected": [
            lambda attention: (
                not attention(torch.randn(2, 3, 8), torch.tensor([1, 2])).isnan().any().item()
            ),
            zeros_in_padding,
        ],
    },
    "ignore-mask": {
        "mask-inverted": [with_mask(lambda ignore: ignore > 0)],
        "added-as-a-number": [with_mask(lambda ignore: ignore.float())],
        "hidden-is-nothing": [with_mask(lambda ignore: ignore * -1.0)],
        "raises": [with_mask(lambda ignore: ignore)],
        "rejected": [
            filled(1e9),
            by_exponentials,
            lambda q, k, v, ignore: scores(q, k).masked_fill(ignore == 1, -1e9).softmax(0) @ v,
            lambda q, k, v, ignore: attend(q, k, v, ignore).T,
            lambda q, k, v, ignore: attend(q, k, v * (1 - ignore[0])[:, None], ignore),
        ],
    },
    "content-attention": {
        "uniform": [lambda q, k, v: v.sum(0, keepdim=True) / len(v)],
        "not-scaled": [lambda q, k, v: look(k.shape[1] ** 0.5 * q, k, v)],
        "any-number-of-features": [lambda q, k, v: (q @ k.T / 2).softmax(1) @ v],
        "order-is-free": [places, lambda q, k, v: look(q, k, v.flip(0))],
        "any-number-of-keys": [lambda query, keys, values: look(query, keys.view(6, -1), values)],
        "raises": [lambda q, k, v: look(k, q, v), lambda q, k, v: look(q, v, k)],
        "rejected": [
            lambda query, keys, values: (-torch.cdist(query, keys)).softmax(dim=-1) @ values,
            lambda q, k, v: look(q, k, v).squeeze(0),
            lambda q, k, v: q + 0 * look(q, k, v).sum(),
        ],
    },
}
