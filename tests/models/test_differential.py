"""Drawn models against torch: language models of all settings, and torch's own Transformer.

The kind: settings that nobody has put together: an order of norms with positions, groups, windows,
sinks and padding. The oracle takes one text at a time, without padding and without a cache, through
torch's functions.
"""

import copy
import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import event, given
from hypothesis import strategies as st
from rounding import TOLERANCE, off_by
from torch import Tensor, nn
from torch.nn import functional as F

from attention_book.attention import RelativePositions
from attention_book.models import (
    LanguageConfig,
    LanguageModel,
    Layer,
    RotarySettings,
    from_torch,
)

pytestmark = [
    pytest.mark.differential,
    pytest.mark.filterwarnings("ignore:enable_nested_tensor"),
    pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors"),
]

LONGEST = 70
ACTIVATIONS = {
    "relu": F.relu,
    "gelu": F.gelu,
    "swiglu": F.silu,
    "geglu": lambda x: F.gelu(x, approximate="tanh"),
    "geglu-erf": F.gelu,
}


@st.composite
def configs(draw: st.DrawFn) -> dict[str, Any]:
    """What a `LanguageConfig` may be given."""

    def one(*values: Any) -> Any:
        return draw(st.sampled_from(values))

    layers, kv_heads, group, pairs = (draw(st.integers(1, most)) for most in (3, 3, 2, 4))
    window = st.none() | st.integers(1, 20)
    return dict(
        vocabulary=draw(st.integers(5, 20)),
        d_model=draw(st.integers(4, 20)),
        num_layers=layers,
        num_heads=kv_heads * group,
        num_kv_heads=kv_heads,
        d_k=2 * pairs,
        d_ff=draw(st.integers(1, 20)),
        feed_forward=one(*ACTIVATIONS),
        feed_forward_bias=one(False, True),
        norm=one("post", "pre", "both"),
        norm_kind=one("layer", "rms"),
        norm_bias=one(False, True),
        eps=one(1e-5, 1e-2),
        around_one=one(False, True),
        final_norm=one(None, False, True),
        qk_norm=one(False, True),
        positions=one(
            "sinusoidal", "learned", "relative", "buckets", "rotary", "rotary", "alibi", "none"
        ),
        max_positions=LONGEST,
        max_distance=draw(st.integers(1, 9)),
        rotary=RotarySettings(base=one(1e4, 30.0), pairing=one("neighbors", "halves")),
        windowed_rotary=one(None, RotarySettings(base=50.0)),
        windows=draw(st.just(()) | st.tuples(*[window] * layers)),
        sinks=one(False, True),
        scale=one(None, None, 0.2, 1.0),
        bias=one(False, True),
        output_bias=one(None, False, True),
        causal=one(True, True, False),
        tied=one(False, True),
        embedding_scale=one(None, 1.0),
    )


@dataclass(frozen=True)
class Reading:
    """How many texts are read, how long, in which pieces, with which padding in the first."""

    length: int
    cuts: tuple[int, ...]
    padding: tuple[int, ...]
    side: str
    dtype: torch.dtype
    seed: int

    def real(self, end: int) -> Tensor:
        """(text, token): which tokens are none of the padding, which stands before ``end``."""
        place, gaps = torch.arange(self.length), torch.tensor(self.padding)[:, None]
        if self.side == "left":
            return place >= gaps
        if self.side == "right":
            return (place < end - gaps) | (place >= end)
        draws = torch.Generator().manual_seed(self.seed)
        order = torch.rand(len(self.padding), end, generator=draws).argsort(dim=1)
        return F.pad(order >= gaps, (0, self.length - end), value=True)


@st.composite
def readings(draw: st.DrawFn) -> Reading:
    length, batch = draw(st.integers(1, LONGEST)), draw(st.integers(1, 3))
    cuts = draw(st.sets(st.integers(1, max(length - 1, 1)), max_size=4)) if length > 1 else set()
    most = draw(st.sampled_from([0, min([*cuts, length]) - 1]))  # all in the first piece
    return Reading(
        length=length,
        cuts=(0, *sorted(cuts), length),
        padding=tuple(draw(st.lists(st.integers(0, most), min_size=batch, max_size=batch))),
        side=draw(st.sampled_from(["left", "right", "anywhere"])),
        dtype=draw(st.sampled_from([*TOLERANCE])),
        seed=draw(st.integers(0, 99)),
    )


# --- a language model with torch's functions -----------------------------------------------------


def logits_of(c: LanguageConfig, model: LanguageModel, tokens: Tensor) -> Tensor:
    """Return the logits of one text, (token, word)."""
    scale = math.sqrt(c.d_model) if c.embedding_scale is None else c.embedding_scale
    x = F.embedding(tokens, model.stack.embedding.weight) * scale
    if c.positions == "sinusoidal":
        x = x + waves(len(x), c.d_model).to(x)
    elif c.positions == "learned":
        x = x + learned(model)[: len(x)]
    for layer, window in zip(model.stack.layers, c.windows or [None] * c.num_layers, strict=True):
        for kind in ("self_attention", "feed_forward"):
            sublayer, norms = getattr(layer, kind), getattr(layer, f"{kind}_norm")
            inner = x if c.norm == "post" else normed(c, norms.norm, x)
            if kind == "self_attention":
                update = attended(c, layer, inner, window)
            else:
                hidden = ACTIVATIONS[c.feed_forward](mapped(sublayer.W_gate or sublayer.W_1, inner))
                if sublayer.W_gate is not None:
                    hidden = hidden * mapped(sublayer.W_1, inner)
                update = mapped(sublayer.W_2, hidden)
            if c.norm == "both":
                update = normed(c, norms.norm_after, update)
            x = x + update
            if c.norm == "post":
                x = normed(c, norms.norm, x)
    if c.final_norm or (c.final_norm is None and c.norm != "post"):
        x = normed(c, model.stack.norm, x)
    return mapped(model.readout, x)


def mapped(linear: nn.Linear, x: Tensor) -> Tensor:
    return F.linear(x, linear.weight, linear.bias)


def normed(c: LanguageConfig, norm: nn.Module, x: Tensor) -> Tensor:
    if c.norm_kind == "layer":
        return F.layer_norm(x, x.shape[-1:], norm.weight, norm.bias, c.eps)
    return F.rms_norm(x, x.shape[-1:], norm.weight + c.around_one, c.eps)


def learned(model: LanguageModel) -> Tensor:
    [table] = model.stack.positions.parameters()
    return table


def waves(length: int, size: int) -> Tensor:
    angles = torch.tensor(
        [[i / 10000 ** (2 * (j // 2) / size) for j in range(size)] for i in range(length)],
        dtype=torch.float64,
    )
    return torch.where(torch.arange(size) % 2 == 0, angles.sin(), angles.cos())


def attended(c: LanguageConfig, layer: Layer, x: Tensor, window: int | None) -> Tensor:
    own, positions = layer.self_attention, layer.self_attention.positions
    q, k, v = (
        mapped(linear, x).unflatten(-1, (-1, c.d_k)).transpose(0, 1)
        for linear in (own.W_q, own.W_k, own.W_v)
    )
    if c.qk_norm:
        q, k = normed(c, own.query_norm, q), normed(c, own.key_norm, k)
    if c.positions == "rotary":
        how = c.rotary if window is None or c.windowed_rotary is None else c.windowed_rotary
        q, k = turned(q, how), turned(k, how)
    k, v = (each.repeat_interleave(c.num_heads // c.num_kv_heads, dim=0) for each in (k, v))
    place = torch.arange(len(x))
    distances = place - place[:, None]
    bias = torch.zeros(c.num_heads, *distances.shape, dtype=x.dtype)
    scale = c.d_k**-0.5 if c.scale is None else c.scale
    if c.positions == "alibi":
        slopes = torch.tensor(alibi(c.num_heads), dtype=torch.float64)
        bias = -(slopes[:, None, None] * distances.abs()).to(x)
    elif c.positions == "buckets":
        bias = positions.table[:, buckets(distances, two_sided=not c.causal)]
    rows = distances.clamp(-c.max_distance, c.max_distance) + c.max_distance
    if isinstance(positions, RelativePositions):
        bias = scale * torch.einsum("hqd,qkd->hqk", q, positions.keys[rows])
    hidden = distances > 0 if c.causal else torch.zeros_like(distances, dtype=torch.bool)
    if window is not None:
        hidden = hidden | (distances.abs() >= window)
    bias = bias.masked_fill(hidden, -torch.inf)
    keys = k
    if c.sinks:
        bias = torch.cat((bias, own.sinks[:, None, None].expand(-1, len(x), 1)), dim=-1)
        keys = F.pad(k, (0, 0, 0, 1))
    choice = torch.eye(keys.shape[1], dtype=x.dtype).expand(c.num_heads, -1, -1)
    weights = F.scaled_dot_product_attention(q, keys, choice, attn_mask=bias, scale=scale)
    weights = weights[..., : len(x)]
    heads = weights @ v
    if isinstance(positions, RelativePositions):
        heads = heads + torch.einsum("hqk,qkd->hqd", weights, positions.values[rows])
    return mapped(own.W_o, heads.transpose(0, 1).flatten(1))


def turned(x: Tensor, how: RotarySettings) -> Tensor:
    size, halves = x.shape[-1], how.pairing == "halves"
    pairs = torch.stack(x.chunk(2, -1), -1) if halves else x.unflatten(-1, (-1, 2))
    frequencies = how.base ** (-2 * torch.arange(size // 2, dtype=torch.float64) / size)
    angles = torch.arange(x.shape[-2])[:, None] * frequencies
    turns = torch.polar(torch.ones_like(angles), angles)
    y = torch.view_as_real(torch.view_as_complex(pairs.double().contiguous()) * turns).to(x.dtype)
    return torch.cat((y[..., 0], y[..., 1]), -1) if halves else y.flatten(-2)


def alibi(num_heads: int) -> list[float]:
    """Return the slopes of Press et al.: powers of two, those between of twice as many."""
    exact = 2 ** math.floor(math.log2(num_heads))
    between = [2 ** (-4 * (2 * head + 1) / exact) for head in range(num_heads - exact)]
    return [2 ** (-8 * (head + 1) / exact) for head in range(exact)] + between


def buckets(distances: Tensor, *, two_sided: bool) -> Tensor:
    """Return T5's buckets as the library's T5 has them."""
    t5 = pytest.importorskip("transformers.models.t5.modeling_t5")
    found: Tensor = t5.T5Attention._relative_position_bucket(distances, bidirectional=two_sided)
    return found


def our_logits(model: LanguageModel, tokens: Tensor, real: Tensor, cuts: list[int]) -> Tensor:
    """Return ours, read piece by piece; whole if there is one."""
    known = None if real.all() else real
    if len(cuts) == 2:
        return model(tokens, known)
    state, found = model.start(len(tokens)), []
    for begin, end in pairwise(cuts):
        part = None if known is None or begin else known[:, :end]
        if end - begin == 1 and part is None:
            logits, state = model.step(tokens[:, begin], state)
            found.append(logits[:, None])
        else:
            logits, state = model.read(tokens[:, begin:end], state, real=part)
            found.append(logits)
    return torch.cat(found, dim=1)


@given(config=configs(), reading=readings())
def test_a_language_model_of_any_settings_is_its_formula(
    config: dict[str, Any], reading: Reading
) -> None:
    config = LanguageConfig(**config)
    torch.manual_seed(reading.seed)
    model = LanguageModel(config).eval()
    for weight in model.parameters():
        nn.init.normal_(weight, mean=float(weight.ndim == 1 and not config.around_one), std=0.4)
    model = model.to(reading.dtype)
    cuts = [*reading.cuts] if config.causal else [0, reading.length]
    real = reading.real(cuts[1])
    tokens = torch.randint(config.vocabulary, real.shape)
    event(f"{len(cuts) - 1} pieces")
    with torch.no_grad():
        ways = [our_logits(model, tokens, real, way) for way in ([0, reading.length], cuts)]
        true, theirs = (
            torch.cat([logits_of(config, m, t[r]) for t, r in zip(tokens, real, strict=True)])
            for m in (copy.deepcopy(model).double(), model)
        )
    for found in ways:
        assert off_by(found[real], theirs, true) == ""


# --- torch's Transformer -------------------------------------------------------------------------


@st.composite
def transformers_of_torch(draw: st.DrawFn) -> dict[str, Any]:
    """What torch's `Transformer` may be given."""
    heads, layers = draw(st.integers(1, 4)), draw(st.integers(1, 2))
    return dict(
        d_model=heads * draw(st.integers(4, 8)),
        nhead=heads,
        num_encoder_layers=layers,
        num_decoder_layers=layers,
        dim_feedforward=draw(st.integers(1, 20)),
        dropout=0.0,
        activation=draw(st.sampled_from(["relu", "gelu"])),
        layer_norm_eps=draw(st.sampled_from([1e-5, 1e-2])),
        batch_first=True,
        norm_first=draw(st.booleans()),
        bias=draw(st.booleans()),
        dtype=draw(st.sampled_from([torch.float64, torch.float32])),
    )


@given(
    settings=transformers_of_torch(),
    ends_in_norm=st.booleans(),
    training=st.booleans(),
    positions=st.sampled_from(["sinusoidal", "learned", "none"]),
    lengths=st.tuples(st.integers(1, LONGEST), st.integers(1, 8)),
    share=st.lists(st.floats(0, 1), min_size=1, max_size=3),
    side=st.sampled_from(["left", "right"]),
    seed=st.integers(0, 99),
)
def test_torchs_transformer_is_ours_at_once_and_step_by_step(
    settings, ends_in_norm, training, positions, lengths, share, side, seed
) -> None:
    torch.manual_seed(seed)
    theirs = nn.Transformer(**settings).train(training)
    if not ends_in_norm:
        theirs.encoder.norm = theirs.decoder.norm = None
    for weight in theirs.parameters():
        nn.init.normal_(weight, mean=float(weight.ndim == 1), std=0.4)
    batch = len(share)
    ours = from_torch(theirs, source_vocabulary=9, target_vocabulary=11, positions=positions)
    assert ours.training == training
    source = torch.randint(9, (batch, lengths[0]))
    target = torch.randint(11, (batch, lengths[1]))
    target[:, 0] = ours.config.bos
    gaps = (torch.tensor(share, dtype=torch.float64)[:, None] * (lengths[0] - 1)).long()
    place = torch.arange(lengths[0])
    real = place >= gaps if side == "left" else place < lengths[0] - gaps
    later = torch.ones(lengths[1], lengths[1], dtype=torch.bool).triu(1)

    def torchs(theirs: nn.Transformer, ours: nn.Module) -> Tensor:
        places = (real.cumsum(dim=1) - 1).clamp(min=0)  # counted from the text's first token
        vectors = ours.encoder.embed(source, places=places), ours.decoder.embed(target)
        padding = {"src_key_padding_mask": ~real, "memory_key_padding_mask": ~real}
        return ours.readout(theirs(*vectors, tgt_mask=later, **padding))

    with torch.no_grad():
        at_once = ours(source, real, target)
        state, rows = ours.start(ours.encode(source, real)), []
        for token in target.unbind(dim=1):
            logits, state = ours.step(token, state)
            rows.append(logits)
        same_type = torchs(theirs, ours)
        true = torchs(copy.deepcopy(theirs).double(), copy.deepcopy(ours).double())
    assert true.shape == (batch, lengths[1], 11)
    for found in (at_once, torch.stack(rows, dim=1)):
        assert off_by(found, same_type, true) == ""
