"""Listings of the chapters' questions: as printed they break a law, as mended they keep it."""

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.nn import functional as F
from written import of_the_book

LISTINGS = of_the_book("line")
#: Runs a listing with these names, and returns all names that there are then.
Run = Callable[..., SimpleNamespace]
LAWS: dict[str, Callable[[Run], bool]] = {}


def law(name: str) -> Callable[[Callable[[Run], bool]], Callable[[Run], bool]]:
    def named(holds: Callable[[Run], bool]) -> Callable[[Run], bool]:
        LAWS[name] = holds
        return holds

    return named


def runner(listing: str) -> Run:
    def run(**names: Any) -> SimpleNamespace:
        space = {"torch": torch, "F": F, **names}
        exec(listing, space)
        return SimpleNamespace(**{key: each for key, each in space.items() if key.isidentifier()})

    return run


def in_heads(x: torch.Tensor, heads: int) -> torch.Tensor:
    return x.unflatten(-1, (heads, -1)).transpose(-2, -3)


def joined(x: torch.Tensor) -> torch.Tensor:
    return x.transpose(-2, -3).flatten(-2)


def matrices(count: int, size: int) -> list[torch.Tensor]:
    return [torch.randn(size, size) for _ in range(count)]


@law("checkpoint-unnoted-days")
def _(run: Run) -> bool:
    known = torch.tensor([True, True, False, True, False])
    guess = run().guess(torch.tensor(2.0), torch.arange(5.0), 30.0 * known, known)
    return math.isclose(guess, 30, abs_tol=1e-4)


@law("checkpoint-same-note")
def _(run: Run) -> bool:
    cell = torch.nn.GRUCell(6, 4)
    found = run().notes(torch.randn(3, 2), torch.randn(5, 4), torch.randn(4), cell)
    return not torch.allclose(found[0], found[2])


@law("checkpoint-flat-heads")
def _(run: Run) -> bool:
    x, weights = torch.randn(5, 64), matrices(3, 64)
    found = run(split=in_heads, merge=joined).attend(x, *weights, 16)
    q, k, v = (in_heads(x @ w, 16) for w in weights)
    expected = joined(F.scaled_dot_product_attention(q, k, v))
    return torch.allclose(found, expected, rtol=1e-3, atol=1e-3)


@law("efficient-lost-factor")
def _(run: Run) -> bool:
    q, v = torch.randn(4, 8), torch.randn(96, 8)
    k = torch.randn(96, 8) * torch.linspace(0.1, 3, 96)[:, None]  # the largest scores come late
    start = {"m": torch.full((4, 1), -torch.inf), "s": torch.zeros(4, 1), "u": torch.zeros(4, 8)}
    output = run(q=q, k=k, v=v, **start).output
    return torch.allclose(output, F.scaled_dot_product_attention(q, k, v), atol=1e-5)


@law("failures-which-line")
def _(run: Run) -> bool:
    words = torch.tensor([[1, 4, 5, 6, 2]])
    batch = SimpleNamespace(
        source=None, source_mask=None, target_input=words[:, :-1], target_output=words[:, 1:],
        target_mask=torch.ones(1, 4, dtype=torch.bool),
    )  # fmt: skip
    sure = (20.0 * F.one_hot(batch.target_output, 8)).requires_grad_()
    adam = torch.optim.Adam([sure])
    return run(model=lambda *_: sure, batch=batch, adam=adam).loss.item() < 1e-3


@law("fixed-state-read-too-early")
def _(run: Run) -> bool:
    keys, values = F.normalize(torch.randn(4, 3), dim=-1), torch.randn(4, 2)
    given = {"decays": [0.5] * 4, "strengths": [1.0] * 4, "S": torch.randn(3, 2)}
    state = run(keys=keys, values=values, **given).S
    return torch.allclose(keys[-1] @ state, values[-1], atol=1e-5)


@law("forecasting-leaking-scale")
def _(run: Run) -> bool:
    def forecast(values: torch.Tensor) -> torch.Tensor:
        def method(past: torch.Tensor) -> Any:
            return lambda known, horizon: known[-1].clamp(-1, 1).expand(horizon)

        given = {"origins": [20], "horizon": 3, "errors": [], "method": method}
        found: torch.Tensor = run(values=values, **given).forecast
        return found

    values = torch.randn(30).cumsum(0)
    other = torch.cat([values[:20], 100 + torch.randn(10)])
    return torch.equal(forecast(values), forecast(other))


@law("masks-off-by-one")
def _(run: Run) -> bool:
    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, card: torch.Tensor) -> Any:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=card)

    words = torch.randn(5, 4)
    other = torch.cat([words[:-1], torch.randn(1, 4)])
    first, second = (run().practice(each, attend)[0] for each in (words, other))
    return torch.allclose(first, second)


@law("modern-turned-values")
def _(run: Run) -> bool:
    look = torch.nn.Module()
    for name, size in (("W_q", 16), ("W_k", 8), ("W_v", 8), ("W_o", 16)):
        setattr(look, name, torch.nn.Linear(16, size, bias=False))

    def output(x: torch.Tensor, first: int) -> torch.Tensor:
        def turn(each: torch.Tensor) -> torch.Tensor:
            places = first + torch.arange(each.shape[-2])
            angles = places[:, None] * torch.tensor([1.0, 0.1])
            turned = torch.view_as_complex(each.unflatten(-1, (-1, 2)).contiguous())
            turned = turned * torch.polar(torch.ones_like(angles), angles)
            return torch.view_as_real(turned).flatten(-2)

        def rms(each: torch.Tensor) -> torch.Tensor:
            return each / each.square().mean(-1, keepdim=True).sqrt()

        def split(each: torch.Tensor) -> torch.Tensor:
            return in_heads(each, each.shape[-1] // 4)

        found: torch.Tensor = run(x=x, look=look, turn=turn, rms=rms, split=split).x
        return found

    x = torch.randn(5, 16)
    return torch.allclose(output(x, 0), output(x, 9), atol=1e-4)


@law("multi-head-join")
def _(run: Run) -> bool:
    def attention(*given: torch.Tensor) -> torch.Tensor:
        q, k, v, mask = given
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    space = run(split_heads=in_heads, dot_product_attention=attention)
    x, weights, causal = torch.randn(2, 5, 8), matrices(4, 8), torch.ones(5, 5).tril().bool()
    other = torch.cat([x[:, :-1], torch.randn(2, 1, 8)], dim=1)
    first, second = (space.multi_head(each, 2, *weights, causal)[:, :-1] for each in (x, other))
    return torch.allclose(first, second, atol=1e-5)


@law("self-attention-copy-paste")
def _(run: Run) -> bool:
    x, weights = torch.randn(5, 8), matrices(3, 8)
    expected = F.scaled_dot_product_attention(*(x @ w for w in weights))
    return torch.allclose(run().attend(x, *weights), expected, rtol=1e-3, atol=1e-3)


def test_every_listing_has_a_law():
    assert set(LISTINGS) == set(LAWS)


@pytest.mark.parametrize("name", LISTINGS)
def test_a_listing_breaks_its_law_and_keeps_it_when_mended(name):
    torch.manual_seed(0)
    question, holds = LISTINGS[name], LAWS[name]
    assert not holds(runner(question.listing)), "nothing is wrong with the line"
    assert holds(runner(question.mended())), "the repair does not mend it"
