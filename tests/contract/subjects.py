"""Every mechanism of the package, with its conventions, as `attention_book.conformance` takes it.

This is the one file that knows how each is called. Run as a script, it tells as JSON how each law
of graphs is broken, since the tests' own checks of types would stand in the compiler's way.
"""

import copy
import json
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor, nn

from attention_book.attention import (
    AdditiveScore,
    AlibiPositions,
    Attention,
    BilinearScore,
    ConcatLinearScore,
    ConcatTanhSumScore,
    CosineScore,
    DotProductAttention,
    DotScore,
    GaussianScore,
    HardAttention,
    KernelRegression,
    KVCache,
    LatentAttention,
    LearnableKernelRegression,
    LinearState,
    LocalAttention,
    MultiHeadAttention,
    PartialAttention,
    Places,
    PredictiveLocalAttention,
    RelativePositions,
    RotaryPositions,
    ScaledDotScore,
    SelfAttention,
    T5Buckets,
    Visibility,
    YarnScaling,
    block_sparse_attention,
    dot_product_attention,
    dot_product_weights,
    elu_features,
    fixed_state_attention,
    linear_attention,
    linear_attention_weights,
    mask_from_attention_mask,
    masked_softmax,
    plan_blocks,
    route_blocks,
    select_keys,
    tiled_attention,
    unit_length,
    window_mask,
)
from attention_book.attention.soft import attention_weights
from attention_book.conformance import Cross, Kernel, Sequence, laws
from attention_book.conformance.reference import attend
from attention_book.models import (
    FeedForward,
    LanguageConfig,
    LanguageModel,
    Layer,
    LayerConfig,
    MixtureOfExperts,
    RMSNorm,
    RotarySettings,
    Seq2Seq,
    Seq2SeqConfig,
    Transformer,
    TransformerConfig,
)
from attention_book.models.config import POSITION_KINDS
from attention_book.models.recurrent.config import ATTENTION_KINDS

WIDTH, HEADS, WORDS = 16, 4, 13
SIDES = "right", "left"
ANYWHERE = "right", "left", "between"
#: Laws about graphs; `tests/contract/test_contract.py` asks for them in a process of their own.
OF_GRAPHS = "one-graph", "trace"


def kernels() -> Iterator[Kernel]:
    yield from _dot_products()
    yield from _scores()
    yield from _tiles()
    yield from _near()
    yield from _fixed_size()
    yield from _regressions()
    yield from _heads_as_kernels()


def layers() -> Iterator[Sequence | Cross]:
    yield from _self_attention()
    yield from _cross_attention()
    yield from _parts()


def models() -> Iterator[Sequence]:
    yield from _language_models()
    yield from _translators()


def with_graphs() -> list[Kernel | Sequence | Cross]:
    """Return those that are promised to compile, or hold tables that a trace could spoil."""
    tables = "LanguageModel", "LanguageModel", "LatentAttention", "window"
    return [
        each
        for each in (*kernels(), *layers(), *models())
        if each.compiles or each.name.startswith(tables)
    ]


# --- functions (q, k, v, mask) ---------------------------------------------------------------


def _dot_products() -> Iterator[Kernel]:
    yield Kernel(
        dot_product_attention,
        weights=lambda q, k, v, m: dot_product_weights(q, k, m),
        hidden="anything",
        dtype=torch.float64,
        name="dot_product_attention",
    )
    sinks = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64)

    def with_sinks(q: Tensor, k: Tensor, v: Tensor, m: Tensor | None) -> tuple[Tensor, Tensor]:
        at = Places(q.shape[-2], k.shape[-2])
        weights = attention_weights(q, k, Visibility(mask=m), at, sinks=sinks)
        return weights @ v, weights

    yield Kernel(
        with_sinks,
        sinks=sinks,
        weights="returned",
        dtype=torch.float64,
        name="attention_weights @ v",
    )
    yield Kernel(
        lambda q, k, v, m: dot_product_attention(q, k, v, m, is_causal=True),
        causal=True,
        square=True,
        hidden="anything",
        dtype=torch.float64,
        name="dot_product_attention, causal",
    )
    yield Kernel(
        lambda q, k, v, m: dot_product_attention(q, k, v, m, scale=0.3),
        scale=0.3,
        hidden="anything",
        dtype=torch.float64,
        name="dot_product_attention, scale",
    )

    def bias(q: Tensor, k: Tensor) -> Tensor:
        n, m = q.shape[-2], k.shape[-2]
        return torch.linspace(-1, 1, n * m, dtype=q.dtype).view(n, m)

    for causal in (False, True):
        yield Kernel(
            lambda q, k, v, m, causal=causal: dot_product_attention(
                q, k, v, m, bias=bias(q, k), is_causal=causal
            ),
            reference=lambda q, k, v, m, **more: attend(q, k, v, m, bias=bias(q, k), **more),
            places=True,
            causal=causal,
            square=causal,
            hidden="anything",
            dtype=torch.float64,
            name=f"dot_product_attention, bias{', causal' * causal}",
        )
    yield Kernel(
        DotProductAttention(dropout=0.5).eval(),
        hidden="anything",
        dtype=torch.float64,
        name="DotProductAttention",
    )
    yield Kernel(
        lambda q, k, v, m: dot_product_weights(q, k, m) @ v,
        dtype=torch.float64,
        name="dot_product_weights @ v",
    )
    yield Kernel(
        lambda q, k, v, m: masked_softmax((q * q.shape[-1] ** -0.5) @ k.mT, m) @ v,
        dtype=torch.float64,
        name="masked_softmax @ v",
    )


def _scores() -> Iterator[Kernel]:
    torch.manual_seed(0)
    width = {"d_q": 4, "d_k": 4}
    scores: dict[str, tuple[nn.Module, bool]] = {
        "ScaledDotScore": (ScaledDotScore(), True),
        "DotScore": (DotScore(), False),
        "CosineScore": (CosineScore(temperature=0.5), True),
        "GaussianScore": (GaussianScore(bandwidth=0.8), False),
        "BilinearScore": (BilinearScore(**width), False),
        "AdditiveScore": (AdditiveScore(**width, d_hidden=5, bias=True), False),
        "ConcatLinearScore": (ConcatLinearScore(**width), False),
        "ConcatTanhSumScore": (ConcatTanhSumScore(**width, d_hidden=5), False),
    }
    for name, (score, halves) in scores.items():
        yield Kernel(
            Attention(score.double()).eval(),
            reference=partial(_with_score, score),
            width=4 if list(score.parameters()) else 0,
            halves=Kernel.halves if halves else (),
            dtype=torch.float64,
            name=f"Attention, {name}",
        )


def _with_score(score: nn.Module, q: Tensor, k: Tensor, v: Tensor, m: Tensor, **more) -> Tensor:
    return attend(q, k, v, m, score=score, **more)


def _tiles() -> Iterator[Kernel]:
    tiles = {"query_tile": 2, "key_tile": 3}
    for causal in (False, True):
        yield Kernel(
            lambda q, k, v, m, causal=causal: tiled_attention(
                q, k, v, m, is_causal=causal, **tiles
            ),
            causal=causal,
            square=causal,
            hidden="anything",
            halves=(),  # thousands of keys in tiles of three take too long
            compiles=False,
            dtype=torch.float64,
            name=f"tiled_attention{', causal' * causal}",
        )
    yield Kernel(
        lambda q, k, v, m: tiled_attention(q, k, v, m, query_tile=64, key_tile=512),
        compiles=False,
        dtype=torch.float64,
        name="tiled_attention, large tiles",
    )

    def in_two_parts(q: Tensor, k: Tensor, v: Tensor, m: Tensor | None) -> Tensor:
        scores = ((q * q.shape[-1] ** -0.5) @ k.mT).float()
        cut = (k.shape[-2] + 1) // 2
        parts = [
            PartialAttention.of(
                scores[..., keys], v[..., keys, :].float(), None if m is None else m[..., keys]
            )
            for keys in (slice(cut), slice(cut, None))
            if len(range(k.shape[-2])[keys])
        ]
        merged = parts[0] if len(parts) == 1 else parts[0].merge(parts[1])
        return merged.output.to(v.dtype)

    yield Kernel(in_two_parts, compiles=False, name="PartialAttention, two parts")

    def in_blocks(q: Tensor, k: Tensor, v: Tensor, m: None = None) -> Tensor:
        n = q.shape[-2]
        plan = plan_blocks(window_mask(n, radius=2, causal=True), block_size=2)
        return block_sparse_attention(q, k, v, plan)

    yield Kernel(
        in_blocks,
        mask="none",
        causal=True,
        square=True,
        window=3,
        halves=(),
        compiles=False,
        dtype=torch.float64,
        name="block_sparse_attention",
    )

    def selected(q: Tensor, k: Tensor, v: Tensor, m: Tensor | None) -> tuple[Tensor, Tensor]:
        chosen = select_keys(dot_product_weights(q, k, m), 2, m)
        return dot_product_attention(q, k, v, chosen), dot_product_weights(q, k, chosen)

    def best_two(
        q: Tensor, k: Tensor, v: Tensor, m: Tensor | None, fault: str = "", **_: object
    ) -> Tensor:
        """Return the average over the two visible keys that fit best, row by row."""
        scores = q @ k.mT / q.shape[-1] ** 0.5
        if m is not None:
            scores = scores.masked_fill(~m, -torch.inf)
        kth = scores.sort(-1).values[..., [-min(2, k.shape[-2])]]
        return masked_softmax(scores, (scores >= kth) & (scores > -torch.inf)) @ v

    yield Kernel(
        selected,
        reference=best_two,
        weights="returned",
        halves=(),
        compiles=False,
        dtype=torch.float64,
        name="select_keys, dot_product_attention",
    )

    def routed(q: Tensor, k: Tensor, v: Tensor, m: None = None) -> Tensor:
        return dot_product_attention(q, k, v, route_blocks(q, k, block_size=2, num_blocks=9))

    yield Kernel(
        routed,
        mask="none",
        causal=True,
        square=True,
        halves=(),
        compiles=False,
        dtype=torch.float64,
        name="route_blocks, as many as there are",
    )


def _near() -> Iterator[Kernel]:
    for causal in (False, True):
        yield Kernel(
            LocalAttention(ScaledDotScore(), radius=2, causal=causal),
            causal=causal,
            square=True,
            window=3,
            dtype=torch.float64,
            name=f"LocalAttention{', causal' * causal}",
        )
    torch.manual_seed(0)
    predictive = PredictiveLocalAttention(ScaledDotScore(), d_q=4, d_hidden=3, radius=2)
    exact = copy.deepcopy(predictive).double()

    def around_a_place(q: Tensor, k: Tensor, v: Tensor, m: Tensor | None, **_) -> Tensor:
        """Luong et al. (2015), equations 9 and 10, query by query."""
        mask = torch.ones(1, 1, 1, 1, dtype=torch.bool) if m is None else m
        mask = mask.expand(*q.shape[:2], q.shape[-2], k.shape[-2])
        out = q.new_zeros(*q.shape[:-1], v.shape[-1])
        for b, h, i in torch.cartesian_prod(*(torch.arange(n) for n in q.shape[:3])).tolist():
            seen = mask[b, h, i].nonzero()[:, 0].tolist()
            length = max(seen, default=-1) + 1
            asked = q[b, h, i]
            place = length * exact.v_p(exact.W_p(asked).tanh()).sigmoid()
            near = [j for j in seen if abs(j - place) <= 2]
            if near:
                scores = torch.stack([asked @ k[b, h, j] / 2 for j in near])
                shares = [torch.exp(-((j - place) ** 2) / 2) for j in near]
                weights = scores.softmax(0) * torch.cat(shares)
                out[b, h, i] = weights @ v[b, h, near]
        return out

    yield Kernel(
        predictive,
        reference=around_a_place,
        width=4,
        normalized=False,
        places=True,
        halves=(),
        compiles=False,
        name="PredictiveLocalAttention",
    )

    def hard(q: Tensor, k: Tensor, v: Tensor, m: Tensor | None, **_) -> Tensor:
        scores = q @ k.mT
        mask = torch.ones_like(scores, dtype=torch.bool) if m is None else m.expand_as(scores)
        chosen = scores.masked_fill(~mask, -torch.inf).argmax(-1)
        found = torch.nn.functional.one_hot(chosen, k.shape[-2]).to(v.dtype) @ v
        return found.masked_fill(~mask.any(-1, keepdim=True), 0)

    yield Kernel(
        HardAttention(ScaledDotScore()),
        reference=hard,
        halves=(),
        trains=False,
        name="HardAttention",
    )


def _fixed_size() -> Iterator[Kernel]:
    def of_features(q: Tensor, k: Tensor) -> Tensor:
        return (elu_features(q) @ elu_features(k).mT).log()

    def rows(m: Tensor | None) -> Tensor | None:
        return None if m is None else m[:, None, None]

    def step_by_step(q: Tensor, k: Tensor, v: Tensor, m: Tensor | None) -> Tensor:
        state = LinearState.empty(k, v)
        for j in range(k.shape[-2]):
            here = slice(j, j + 1)
            state = state.add(k[..., here, :], v[..., here, :], None if m is None else m[..., here])
        return state.read(q)

    of_linear = {
        "linear_attention": linear_attention,
        "linear_attention, causal": partial(linear_attention, is_causal=True, chunk=2),
        "linear_attention_weights @ v": lambda q, k, v, m: linear_attention_weights(q, k, m) @ v,
        "LinearState": step_by_step,
    }
    for name, call in of_linear.items():
        causal = "causal" in name
        yield Kernel(
            lambda q, k, v, m, call=call: call(q, k, v, rows(m)),
            reference=partial(_with_score, of_features),
            mask_axes="bk",
            causal=causal,
            square=causal,
            hidden="finite" if "weights" in name else "anything",
            halves=(),
            compiles=False,
            name=name,
        )

    def fixed(q: Tensor, k: Tensor, v: Tensor, m: Tensor | None, *, decay: bool, delta: bool):
        log_decay, strength = -k[..., 0].abs(), 2 * k[..., 1].sigmoid()
        k = unit_length(k) if delta else k
        given = {"log_decay": log_decay if decay else None, "strength": strength if delta else None}
        return fixed_state_attention(q, k, v, rows(m), chunk=2, **given)[0]

    def recurrence(
        q: Tensor, k: Tensor, v: Tensor, m: Tensor | None, *, decay: bool, delta: bool, **_
    ) -> Tensor:
        """One key after another: forget, then write under the key what is not yet there."""
        log_decay, strength = -k[..., 0].abs(), 2 * k[..., 1].sigmoid()
        k = unit_length(k) if delta else k
        real = torch.ones(1, 1, 1, k.shape[-2]).bool() if m is None else m[:, :, :1]
        state, outputs = q.new_zeros(*k.shape[:2], k.shape[-1], v.shape[-1]), []
        for j in range(k.shape[-2]):
            key, value, keep = k[..., j, :, None], v[..., j, None, :], real[..., j, None]
            kept = state * log_decay[..., j, None, None].exp() if decay else state
            if delta:
                value = strength[..., j, None, None] * (value - key.mT @ kept)
            state = torch.where(keep, kept + key @ value, state)
            outputs.append(q[..., j, None, :] @ state)
        return torch.cat(outputs, -2)

    for decay, delta in ((False, False), (True, False), (False, True), (True, True)):
        kind = {"decay": decay, "delta": delta}
        yield Kernel(
            partial(fixed, **kind),
            reference=partial(recurrence, **kind),
            mask_axes="bk",
            causal=True,
            square=True,
            normalized=False,
            halves=(),
            compiles=False,
            dtype=torch.float64,
            name=f"fixed_state_attention{', decay' * decay}{', delta rule' * delta}",
        )


def _regressions() -> Iterator[Kernel]:
    def near(width: float, q: Tensor, k: Tensor) -> Tensor:
        return -((q[..., :1] - k[..., :1].mT) ** 2) / (2 * width**2)

    learnable = LearnableKernelRegression(initial=1 / 0.7, bias=True)
    for module in (KernelRegression(bandwidth=0.7), learnable):

        def numbers(q: Tensor, k: Tensor, v: Tensor, m: Tensor | None, module=module) -> Tensor:
            columns = [module(q[..., 0], k[..., 0], v[..., i], m) for i in range(v.shape[-1])]
            return torch.stack(columns, -1)

        yield Kernel(
            numbers,
            reference=partial(_with_score, partial(near, 0.7)),
            halves=(),
            trains=False,  # of q and k all but one feature
            compiles=False,
            name=type(module).__name__,
        )


def _heads_as_kernels() -> Iterator[Kernel]:
    """Modules with several heads: any mask of (batch, query, key), under their own weights."""
    for name, module in multi_heads().items():
        if module.positions.biases_values:
            continue  # values are biased, too: no softmax of scores times the values
        for with_cache in (False, True):
            yield _heads_as_kernel(f"{name}{', a cache' * with_cache}", module, with_cache)

    for name, module in looking_back().items():  # what is known of them without their formula
        latent = isinstance(module, LatentAttention)

        def call(q: Tensor, k: Tensor, v: Tensor, m: Tensor | None, module=module, latent=latent):
            return module(q, k, None if latent else v, m)

        yield Kernel(
            call,
            layout="bnd",
            mask_axes="bqk",
            width=WIDTH,
            reference=None,
            normalized=False,
            places=True,
            square=not latent,
            hidden="anything",
            dtype=torch.float64,
            trains=not latent,  # values have no gradient there, for they are the keys
            compiles=False,
            name=f"{name} (q, k, v, mask)",
        )


def _heads_as_kernel(name: str, module: MultiHeadAttention, with_cache: bool) -> Kernel:
    def call(q: Tensor, k: Tensor, v: Tensor, m: Tensor | None = None) -> Tensor:
        if with_cache:
            return module(q, module.project(k, v), mask=m, offset=k.shape[-2] - q.shape[-2])
        return module(q, k, v, m)

    def reference(q: Tensor, k: Tensor, v: Tensor, m: Tensor | None, **more) -> Tensor:
        offset = k.shape[-2] - q.shape[-2] if with_cache else 0
        asked, found, _ = parts(module, q[:, 0], k[:, 0], v[:, 0], offset)
        _, _, values = parts(module, q[:, 0], k[:, 0], v[:, 0])
        at = Places(q.shape[-2], k.shape[-2], offset)
        bias = module.positions.bias(asked, at, scale=module.scale)
        more["scale"] = module.scale
        heads = attend(asked, found, values, m, bias=bias, **more)
        return module.W_o(heads.transpose(1, 2).flatten(2))[:, None]

    biased = module.W_o.bias is not None
    places = type(module.positions).__name__ != "NoPositions"
    return Kernel(
        call,
        layout="bnd",
        mask_axes="bqk",
        width=WIDTH,
        reference=reference,
        normalized=False,  # times a matrix
        places=places,
        square=places and not with_cache,
        empty_row="any" if biased else "zeros",
        hidden="anything",
        dtype=torch.float64,
        halves=(),
        compiles=False,  # their layers are
        name=name,
    )


# --- layers: features to features --------------------------------------------------------------


def multi_heads() -> dict[str, MultiHeadAttention]:
    torch.manual_seed(0)
    size = {"d_model": WIDTH, "num_heads": HEADS}
    buckets = {"num_heads": HEADS, "num_buckets": 32, "max_distance": 64}
    made = {
        "plain": MultiHeadAttention(**size, dropout=0.3),
        "biases": MultiHeadAttention(**size, bias=True),
        "scale": MultiHeadAttention(**size, scale=0.3),
        "wide heads": MultiHeadAttention(**size, d_k=6),
        "grouped": MultiHeadAttention(**size, num_kv_heads=2),
        "one head of keys": MultiHeadAttention(**size, num_kv_heads=1, bias=True),
        "norms": MultiHeadAttention(
            **size, query_norm=RMSNorm(d_model=4), key_norm=RMSNorm(d_model=4)
        ),
        "rotary": MultiHeadAttention(**size, positions=RotaryPositions(d_k=4)),
        "rotary halves, grouped": MultiHeadAttention(
            **size, num_kv_heads=2, positions=RotaryPositions(d_k=4, pairing="halves")
        ),
        "rotary, stretched": MultiHeadAttention(
            **size,
            positions=RotaryPositions(d_k=4, scaling=YarnScaling(factor=4.0, trained_length=8)),
        ),
        "ALiBi": MultiHeadAttention(**size, positions=AlibiPositions(num_heads=HEADS)),
        "ALiBi, grouped": MultiHeadAttention(
            **size, num_kv_heads=2, positions=AlibiPositions(num_heads=HEADS)
        ),
        "T5": MultiHeadAttention(**size, positions=T5Buckets(**buckets, bidirectional=True)),
        "Shaw": MultiHeadAttention(**size, positions=RelativePositions(d_k=4, max_distance=3)),
        "Shaw, keys alone": MultiHeadAttention(
            **size, positions=RelativePositions(d_k=4, max_distance=3, values=False)
        ),
    }
    for module in made.values():
        for parameter in module.double().parameters():
            nn.init.normal_(parameter, std=0.5)
        module.eval()
    return made


def parts(
    module: MultiHeadAttention, q: Tensor, k: Tensor, v: Tensor, offset: int = 0
) -> tuple[Tensor, Tensor, Tensor]:
    """The heads' queries, keys and values, cut from the matrices by hand; turned by positions."""
    d = module.d_k
    linears = module.W_q, module.W_k, module.W_v
    heads = [
        nn.functional.linear(x, each.weight, each.bias).unflatten(-1, (-1, d)).transpose(1, 2)
        for x, each in zip((q, k, v), linears, strict=True)
    ]
    asked = heads[0] if module.query_norm is None else module.query_norm(heads[0])
    found = heads[1] if module.key_norm is None else module.key_norm(heads[1])
    rotate = module.positions.rotate
    return rotate(asked, offset=offset), rotate(found), heads[2]


def attention_mask(real: Tensor | None) -> Tensor | None:
    return None if real is None else mask_from_attention_mask(real)


def cached(module: nn.Module) -> dict[str, object]:
    """How a layer is read step by step; the cache of a step before stays where it was."""
    attention = next(m for m in module.modules() if hasattr(m, "new_cache"))

    def step(x: Tensor, cache: KVCache) -> tuple[Tensor, KVCache]:
        after = cache.fork()
        return module(x, cache=after), after

    return {
        "start": lambda batch: attention.new_cache(),
        "step": step,
        "select": lambda cache, rows: cache.select(rows),
    }


def _self_attention() -> Iterator[Sequence]:
    for name, module in multi_heads().items():
        counts = type(module.positions).__name__ != "NoPositions"
        common = {"width": WIDTH, "module": module}
        if not module.positions.biases_values:

            def cut(x: Tensor, module=module) -> tuple[Tensor, Tensor, Tensor]:
                return parts(module, x, x, x)

            def merge(heads: Tensor, module=module) -> Tensor:
                return module.W_o(heads.transpose(1, 2).flatten(2))

            by_formula = {"parts": cut, "merge": merge, "scale": module.scale}
            biased = "ALiBi" in name or name == "T5"
            if biased:
                asked = torch.zeros(1, HEADS, 50, 4, dtype=torch.float64)
                table = module.positions.bias(asked, Places(50, 50)).detach()
                by_formula["bias"] = lambda n, table=table: table[..., :n, :n]
            if name != "Shaw, keys alone":  # its bias depends on the queries
                common |= by_formula
        yield Sequence(
            lambda x, real, m=module: m(x, x, x, attention_mask(real)),
            padding=SIDES,
            positions=counts,
            compiles=True,
            weights=lambda x, real, m=module: m.weights(x, x, attention_mask(real)),
            name=f"MultiHeadAttention, {name}",
            **common,
        )
        yield Sequence(
            lambda x, real, m=module: m(x, x, x, attention_mask(real), is_causal=True),
            padding=SIDES,
            causal=True,
            positions=counts,
            weights=lambda x, real, m=module: m.weights(x, x, attention_mask(real), is_causal=True),
            **cached(module),
            name=f"MultiHeadAttention, {name}, causal",
            **common,
        )
    yield from _windows()
    torch.manual_seed(0)
    alone = SelfAttention(d_model=WIDTH, dropout=0.3).double()
    yield Sequence(
        lambda x, real: alone(x, attention_mask(real)),
        width=WIDTH,
        module=alone,
        padding=SIDES,
        positions=False,
        compiles=True,
        parts=lambda x: tuple(W(x)[:, None] for W in (alone.W_q, alone.W_k, alone.W_v)),
        merge=lambda heads: heads[:, 0],
        name="SelfAttention",
    )


def looking_back() -> dict[str, nn.Module]:
    """Windows, sinks and latent attention."""
    torch.manual_seed(0)
    size = {"d_model": WIDTH, "num_heads": HEADS}
    latent = {"kv_rank": 6, "d_k": 4, "d_rope": 2}
    stretched = YarnScaling(factor=4.0, trained_length=8)
    positions = {
        "none": lambda: None,
        "rotary": lambda: RotaryPositions(d_k=4),
        "stretched": lambda: RotaryPositions(d_k=4, scaling=stretched),
        "ALiBi": lambda: AlibiPositions(num_heads=HEADS),
        "T5": lambda: T5Buckets(num_heads=HEADS, bidirectional=False),
        "Shaw": lambda: RelativePositions(d_k=4, max_distance=5),
    }
    windows = [(1, 0), (3, 0), (3, 2), (50, 2), (None, 0), (3, 1)]
    made: dict[str, nn.Module] = {}
    for kind, turn, heads in (("window", 0, (4, 2)), ("sinks", 3, (2, 4))):
        for index, (name, scheme) in enumerate(positions.items()):
            window, first = windows[(index + turn) % 6]
            settings = {"window": window, "num_first": first, "num_kv_heads": heads[index % 2]}
            settings["sinks"] = kind == "sinks"
            title = f"{kind}, {name}, window {window}{f', {first} kept' if first else ''}"
            made[title] = MultiHeadAttention(**size, **settings, positions=scheme())
    made["LatentAttention"] = LatentAttention(**size, **latent)
    made["LatentAttention, queries too"] = LatentAttention(**size, **latent, q_rank=5)
    for module in made.values():
        for parameter in module.double().parameters():
            nn.init.normal_(parameter, std=0.4)
    return made


def _windows() -> Iterator[Sequence]:
    made = looking_back()
    for name, module in made.items():
        kept = getattr(module, "num_first", 0)
        yield Sequence(
            lambda x, real, m=module: m(x, x, x, attention_mask(real), is_causal=True),
            width=WIDTH,
            module=module,
            causal=True,
            # Which are the text's first is counted with the padding.
            padding=("right",) if kept else SIDES,
            positions=None if "none" in name or "window 1" in name else True,
            mixes="window 1" not in name,
            window=None if kept else getattr(module, "window", None),
            **cached(module),
            name=name,
        )
    for name in ("LatentAttention", "LatentAttention, queries too"):
        module = made[name]
        yield Sequence(
            lambda x, real, m=module: m(x, x, x, attention_mask(real)),
            width=WIDTH,
            module=module,
            padding=SIDES,
            positions=True,
            name=f"{name}, both ways",
        )


def _cross_attention() -> Iterator[Cross]:
    """Heads that read a memory of another width."""
    torch.manual_seed(0)
    size = {"d_model": WIDTH, "num_heads": HEADS, "d_key": 12, "d_value": 12}
    for name, module in {
        "plain": MultiHeadAttention(**size, dropout=0.3, bias=True),
        "grouped": MultiHeadAttention(**size, num_kv_heads=2),
        "wide heads, scale": MultiHeadAttention(**size, d_k=6, scale=0.3),
    }.items():
        module.double()
        yield Cross(
            lambda x, memory, real, m=module: m(x, memory, memory, attention_mask(real)),
            width=WIDTH,
            memory_width=12,
            padding=ANYWHERE,
            positions=False,
            module=module,
            parts=lambda x, memory, m=module: parts(m, x, memory, memory),
            merge=lambda heads, m=module: m.W_o(heads.transpose(1, 2).flatten(2)),
            weights=lambda x, memory, real, m=module: m.weights(x, memory, attention_mask(real)),
            scale=module.scale,
            compiles=True,
            name=f"MultiHeadAttention, a memory, {name}",
        )


def _parts() -> Iterator[Sequence]:
    torch.manual_seed(0)
    for name, module in {
        "FeedForward": FeedForward(d_model=WIDTH, d_ff=24).double(),
        "FeedForward, gate": FeedForward(d_model=WIDTH, d_ff=24, kind="swiglu").double(),
        "RMSNorm": RMSNorm(d_model=WIDTH).double(),
    }.items():
        yield Sequence(
            lambda x, real, m=module: m(x),
            width=WIDTH,
            mask="none",
            mixes=False,
            module=module,
            compiles=True,
            name=name,
        )
    mixture = MixtureOfExperts(d_model=WIDTH, d_ff=12, num_experts=4, num_chosen=2).double()
    yield Sequence(
        lambda x, real: mixture(x),
        width=WIDTH,
        mask="none",
        mixes=False,
        module=mixture,
        name="MixtureOfExperts",
    )
    from attention_book.attention import NoPositions

    layer = Layer(LayerConfig(d_model=WIDTH, num_heads=HEADS), NoPositions())
    of_today = LanguageConfig.today(vocabulary=WORDS, d_model=WIDTH, num_heads=HEADS)
    layer, block = layer.double(), Layer(of_today, RotaryPositions(d_k=4)).double()
    common = {"width": WIDTH, "padding": SIDES, "compiles": True}
    yield Sequence(
        lambda x, real: layer(x, attention_mask(real)),
        module=layer,
        positions=False,
        name="Layer",
        **common,
    )
    yield Sequence(
        lambda x, real: layer(x, attention_mask(real), is_causal=True),
        module=layer,
        causal=True,
        **cached(layer),
        name="Layer, causal",
        **common,
    )
    yield Sequence(
        lambda x, real: block(x, attention_mask(real), is_causal=True),
        module=block,
        causal=True,
        positions=True,
        **cached(block),
        name="Layer of today, causal",
        **common,
    )


# --- models: ids to logits ---------------------------------------------------------------------


def drawn(model: nn.Module) -> nn.Module:
    """In double precision, with weights wide enough that an error would show."""
    for parameter in model.double().parameters():
        nn.init.normal_(parameter, mean=0.5 if parameter.ndim == 1 else 0.0, std=0.3)
    return model


def _language_models() -> Iterator[Sequence]:
    torch.manual_seed(0)
    size = {"vocabulary": WORDS, "d_model": WIDTH, "num_heads": HEADS, "num_layers": 2}
    for name, settings in {
        "today": {},
        "layer norm, windows": {"norm_kind": "layer", "windows": (3, None), "num_kv_heads": 2},
        "relu": {"feed_forward": "relu", "rotary": RotarySettings(pairing="halves")},
        "sinusoidal": {"positions": "sinusoidal", "tied": True, "num_kv_heads": 2},
        "sinusoidal, windows": {"positions": "sinusoidal", "windows": (1, 4), "qk_norm": True},
        "alibi": {"positions": "alibi", "norm_kind": "layer", "qk_norm": True},
        "alibi, windows": {"positions": "alibi", "windows": (None, 4), "num_kv_heads": 2},
        "none": {"positions": "none", "num_kv_heads": 1},
        "none, windows": {"positions": "none", "windows": (3, None), "norm_kind": "layer"},
        "one head of keys": {"num_kv_heads": 1, "tied": True},
        "norms, wide heads": {"qk_norm": True, "d_k": 10},
        "window of one": {"windows": (1, 1), "num_kv_heads": 2},
        "like gemma": {
            "feed_forward": "geglu",
            "around_one": True,
            "norm": "both",
            "qk_norm": True,
            "num_kv_heads": 2,
            "d_k": 6,
            "scale": 0.3,
            "tied": True,
            "windows": (3, None),
            "windowed_rotary": RotarySettings(base=100.0, pairing="halves"),
            "rotary": RotarySettings(base=1e6, pairing="halves"),
        },
        "biases": {"bias": True, "feed_forward_bias": True, "embedding_scale": 1.0},
    }.items():
        model = drawn(LanguageModel(LanguageConfig.today(**size, **settings)))

        def prefill(x: Tensor, real: Tensor, model=model) -> object:
            return model.read(x, model.start(len(x)), real=real)[1]

        alone = name == "window of one"  # a place sees itself, and nothing of what was before
        yield Sequence(
            model,
            vocabulary=WORDS,
            module=model,
            causal=True,
            padding=ANYWHERE,
            positions=None if alone else "none" not in name,
            mixes=not alone,
            start=model.start,
            step=model.read,
            prefill=prefill,
            select=lambda state, rows: state.select(rows),
            name=f"LanguageModel, {name}",
        )
    for positions in POSITION_KINDS:
        for norm in ("post", "pre"):
            config = LanguageConfig(**size, positions=positions, norm=norm, max_distance=3)
            model, both = (
                drawn(LanguageModel(config)),
                drawn(LanguageModel(replace(config, causal=False))),
            )
            name = f"{positions}, {norm}-norm"
            yield Sequence(
                model,
                vocabulary=WORDS,
                module=model,
                causal=True,
                padding=ANYWHERE,
                positions=positions != "none",
                start=model.start,
                step=model.read,
                select=lambda state, rows: state.select(rows),
                name=f"LanguageModel, {name}",
            )
            yield Sequence(
                both,
                vocabulary=WORDS,
                module=both,
                padding=ANYWHERE,
                positions=positions != "none",
                name=f"LanguageModel, both ways, {name}",
            )


def _translators() -> Iterator[Sequence]:
    torch.manual_seed(0)
    words = {"source_vocabulary": WORDS, "target_vocabulary": WORDS}
    size = {"d_model": WIDTH, "num_heads": HEADS, "num_layers": 2, "max_distance": 3}
    for positions in POSITION_KINDS:
        for norm in ("post", "pre"):
            shared = {"shared": True} if (positions, norm) == ("sinusoidal", "pre") else {}
            config = TransformerConfig(**words, **size, positions=positions, norm=norm, **shared)
            name = f"Transformer, {positions}, {norm}-norm"
            yield from _translator(name, drawn(Transformer(config)), positions != "none")
    for attention in ATTENTION_KINDS:
        for both_ways in (False, True):
            if both_ways and attention in ("luong-dot", "input-dot"):
                continue
            sizes = {"d_embed": 16, "d_hidden": 16, "num_places": 64}
            config = Seq2SeqConfig(
                **words, **sizes, attention=attention, bidirectional=both_ways, dropout=0.1
            )
            name = f"Seq2Seq, {attention}{', both ways' * both_ways}"
            yield from _translator(name, drawn(Seq2Seq(config)), True)


def _translator(name: str, model: nn.Module, positions: bool) -> Iterator[Sequence]:
    """What it writes for a given source, and what it makes of any source for a given text."""
    source = torch.tensor([[4, 5, 6, 3]])
    recurrent = isinstance(model, Seq2Seq)

    def memory(batch: int) -> object:
        given = source.expand(batch, -1)
        return model.encode(given, torch.ones_like(given, dtype=torch.bool))

    def begun(x: Tensor) -> Tensor:
        return torch.cat((torch.full_like(x[:, :1], model.config.bos), x), 1)

    def write(x: Tensor, _: None) -> Tensor:
        return model.decode(begun(x), memory(len(x)))[:, 1:]

    def start(batch: int) -> object:
        return model.step(torch.full((batch,), model.config.bos), model.start(memory(batch)))[1]

    def step(x: Tensor, state: object) -> tuple[Tensor, object]:
        logits, after = model.step(x[:, 0], state)
        return logits[:, None], after

    half = None if recurrent else torch.bfloat16
    yield Sequence(
        write,
        vocabulary=WORDS,
        mask="none",
        module=model,
        causal=True,
        positions=positions,
        start=start,
        step=step,
        chunks=False,
        select=lambda state, rows: state.select(rows),
        half=half,
        name=f"{name}: targets",
    )

    def read(x: Tensor, real: Tensor | None) -> Tensor:
        real = torch.ones_like(x, dtype=torch.bool) if real is None else real
        text = begun(torch.tensor([[7, 8, 4]]).expand(len(x), -1))
        logits = model(x, real, text).flatten(1)
        return logits[:, None].expand(-1, x.shape[1], -1)  # the same at each place of the source

    if name != "Seq2Seq, none":  # that reads the last state alone
        yield Sequence(
            read,
            vocabulary=WORDS,
            module=model,
            padding=ANYWHERE,
            positions=positions,
            half=half,
            name=f"{name}: sources",
        )


def main() -> None:
    """Print how each subject breaks the laws of graphs, by its name."""
    warnings.simplefilter("ignore")  # the compiler's own deprecations
    torch.set_num_threads(1)
    found = {}
    for subject in with_graphs():
        outcomes = [law.outcome() for law in laws(subject) if law.name in OF_GRAPHS]
        found[subject.name] = {
            each.law: f"{each.breach.cause}: {each.breach.found.en}"
            for each in outcomes
            if each.breach is not None
        }
    json.dump(found, sys.stdout)


__all__ = ["OF_GRAPHS", "kernels", "layers", "models", "with_graphs"]

if __name__ == "__main__":
    main()
