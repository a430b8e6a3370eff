"""Modules of torch, transformers and x-transformers as subjects, with their own conventions.

None of these libraries is imported: whoever has a module of theirs has them.
"""

import copy
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attention_book.conformance.cross import Cross
from attention_book.conformance.kernel import Kernel
from attention_book.conformance.sequence import Sequence

#: The sides on which all of these can be padded.
_SIDES = ("right", "left")
#: What a model calls its cache: before transformers 5.24, and since.
_CACHES = ("past_key_values", "cache")


def from_torch(module: nn.Module, *, cross: bool = False, **conventions: Any) -> Sequence | Cross:
    """Return attention, an encoder or a decoder of ``torch.nn`` as a subject.

    Args:
        module: ``nn.MultiheadAttention``, ``nn.TransformerEncoder``, ``nn.TransformerDecoder``, or
            one layer of these. The decoder is asked for its targets, with a memory that stays.
        cross: whether the multi-head attention reads a memory; so it does where ``kdim`` is another
            size than that of the queries.
        **conventions: what to say otherwise, such as ``name`` or ``half``.

    Raises:
        TypeError: if it is another module.

    >>> from_torch(nn.MultiheadAttention(8, 2)).mask
    'blocked'
    """
    if isinstance(module, nn.MultiheadAttention):
        return _torch_heads(module, cross, conventions)
    if isinstance(module, nn.TransformerEncoder | nn.TransformerEncoderLayer):
        return _torch_encoder(module, conventions)
    if isinstance(module, nn.TransformerDecoder | nn.TransformerDecoderLayer):
        return _torch_decoder(module, conventions)
    raise TypeError(
        "module: expected nn.MultiheadAttention, an nn.TransformerEncoder or an "
        f"nn.TransformerDecoder, or a layer of these, got {type(module).__name__}"
    )


def _torch_heads(
    heads: nn.MultiheadAttention, cross: bool, conventions: dict[str, Any]
) -> Sequence | Cross:
    def turned(x: Tensor) -> Tensor:
        return x if heads.batch_first else x.transpose(0, 1)

    def look(x: Tensor, memory: Tensor, blocked: Tensor | None, **how: bool) -> Any:
        q, k = turned(x), turned(memory)
        out, weights = heads(q, k, k, key_padding_mask=blocked, **how)
        return turned(out), weights

    def call(x: Tensor, memory: Tensor, blocked: Tensor | None) -> Any:
        return look(x, memory, blocked, need_weights=False)[0]

    def weights(x: Tensor, memory: Tensor, blocked: Tensor | None) -> Any:
        return look(x, memory, blocked, need_weights=True, average_attn_weights=False)[1]

    def parts(x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        if heads.in_proj_weight is None:
            projections = heads.q_proj_weight, heads.k_proj_weight, heads.v_proj_weight
        else:
            projections = heads.in_proj_weight.chunk(3)
        biases = (None,) * 3 if heads.in_proj_bias is None else heads.in_proj_bias.chunk(3)
        pairs = zip((x, memory, memory), projections, biases, strict=True)
        q, k, v = (
            F.linear(of, weight, bias).unflatten(-1, (heads.num_heads, -1)).transpose(1, 2)
            for of, weight, bias in pairs
        )
        return q, k, v

    # A learned key that every query sees is none of the formula's.
    plain = heads.bias_k is None and not heads.add_zero_attn
    common: dict[str, Any] = {
        "mask": "blocked",
        "padding": _SIDES,
        "module": heads,
        "name": "torch MultiheadAttention",
        "merge": (lambda t: heads.out_proj(t.transpose(1, 2).flatten(2))) if plain else None,
    }
    if cross or heads.kdim != heads.embed_dim:
        told = {"parts": parts, "weights": weights} if plain else {}
        sizes = {"width": heads.embed_dim, "memory_width": heads.kdim, "positions": False}
        return Cross(call, **(common | sizes | told | conventions))
    told = {"parts": lambda x: parts(x, x), "weights": lambda x, b: weights(x, x, b)}
    common |= {"width": heads.embed_dim, "positions": False} | (told if plain else {})
    return Sequence(lambda x, blocked: call(x, x, blocked), **(common | conventions))


def _torch_encoder(module: nn.Module, conventions: dict[str, Any]) -> Sequence:
    attention = _first_heads(module)

    def call(x: Tensor, blocked: Tensor | None) -> Tensor:
        given = x if attention.batch_first else x.transpose(0, 1)
        out = module(given, src_key_padding_mask=blocked)
        out = out if attention.batch_first else out.transpose(0, 1)
        # Its fast path cuts off places that are padding in every row.
        return F.pad(out, (0, 0, 0, x.shape[1] - out.shape[1]))

    own: dict[str, Any] = {
        "width": attention.embed_dim,
        "mask": "blocked",
        "padding": _SIDES,
        "positions": False,
        "module": module,
        "name": f"torch {type(module).__name__}",
    }
    return Sequence(call, **(own | conventions))


def _torch_decoder(module: nn.Module, conventions: dict[str, Any]) -> Sequence:
    attention = _first_heads(module)
    width = attention.embed_dim

    def call(x: Tensor, blocked: Tensor | None) -> Tensor:
        n = x.shape[1]
        later = torch.ones(n, n, dtype=torch.bool, device=x.device).triu(1)
        memory = torch.arange(3.0 * width, device=x.device).sin().view(1, 3, width)
        given = x, memory.to(x.dtype).expand(len(x), -1, -1)
        if not attention.batch_first:
            given = given[0].transpose(0, 1), given[1].transpose(0, 1)
        out: Tensor = module(*given, tgt_mask=later, tgt_key_padding_mask=blocked)
        return out if attention.batch_first else out.transpose(0, 1)

    own: dict[str, Any] = {
        "width": width,
        "mask": "blocked",
        "causal": True,
        "positions": False,
        "module": module,
        "name": f"torch {type(module).__name__}",
    }
    return Sequence(call, **(own | conventions))


def _first_heads(module: nn.Module) -> nn.MultiheadAttention:
    return next(each for each in module.modules() if isinstance(each, nn.MultiheadAttention))


class _Read(NamedTuple):
    """What a model of transformers has read: its cache, and which places are no padding."""

    cache: Any
    real: Tensor


def from_transformers(model: nn.Module, **conventions: Any) -> Sequence:
    """Return a language model or an encoder of Hugging Face transformers as a subject.

    Its caches are written in place by design; a step gets a copy. Models that write see no later
    place; of one that reads and writes (T5, BART) the encoder is asked. It is in float32: load it
    with ``dtype=torch.float32``.

    Args:
        model: a ``PreTrainedModel``, of any size; a small one drawn from its configuration will do.
        **conventions: what to say otherwise, such as ``causal`` or ``padding``.

    Raises:
        TypeError: if it is no model of that library.

    >>> from_transformers(nn.Linear(2, 2))
    Traceback (most recent call last):
    TypeError: model: expected a PreTrainedModel of transformers, got Linear
    """
    if not _is_of(model, "transformers") or not hasattr(model, "config"):
        raise TypeError(
            f"model: expected a PreTrainedModel of transformers, got {type(model).__name__}"
        )
    whole: Any = model
    if whole.config.is_encoder_decoder:
        whole = whole.get_encoder()
    settings = whole.config.get_text_config()
    asked = inspect.signature(whole.forward).parameters

    def places(real: Tensor) -> dict[str, Tensor]:
        found = {"attention_mask": real.long()}
        if "position_ids" in asked:
            found["position_ids"] = (real.long().cumsum(1) - 1).clamp(min=0)
        return found

    quiet = {"use_cache": False} if "use_cache" in asked else {}

    def call(ids: Tensor, real: Tensor | None) -> Any:
        return whole(ids, **({} if real is None else places(real)), **quiet)

    kept = next((name for name in _CACHES if name in asked and whole.can_generate()), None)
    writes = kept is not None
    own: dict[str, Any] = {
        "vocabulary": settings.vocab_size,
        "causal": writes,
        "positions": True,
        "padding": _SIDES if "position_ids" in asked else ("right",),
        "module": whole,
        "window": _reach(settings) if writes else None,
        "name": f"transformers {type(model).__name__}",
    }
    if kept is not None:
        own |= _cached(whole, places, kept)
    learned = {name.rpartition(".")[2] for name, _ in whole.named_parameters()}
    if getattr(settings, "_attn_implementation", "") == "eager" and "sinks" not in learned:

        def weights(ids: Tensor, real: Tensor | None) -> Any:
            given = {} if real is None else places(real)
            return whole(ids, **given, **quiet, output_attentions=True).attentions

        own["weights"] = weights
    return Sequence(call, **(own | conventions))


def _cached(model: Any, places: Callable[[Tensor], dict[str, Tensor]], kept: str) -> dict[str, Any]:
    """Return how a model of transformers reads step by step; ``kept`` is its word for a cache."""

    @torch.no_grad()  # a cache with gradients can't be copied
    def step(ids: Tensor, state: _Read) -> tuple[Tensor, _Read]:
        real = torch.cat((state.real, torch.ones_like(ids, dtype=torch.bool)), 1)
        given = places(real)
        if "position_ids" in given:
            given["position_ids"] = given["position_ids"][:, -ids.shape[1] :]
        cache = copy.deepcopy(state.cache)
        out = model(ids, **given, **{kept: cache}, use_cache=True)
        return out.logits, _Read(out[kept], real)

    @torch.no_grad()
    def prefill(ids: Tensor, real: Tensor) -> _Read:
        out = model(ids, **places(real), use_cache=True)
        return _Read(out[kept], real)

    def select(state: _Read, rows: Tensor) -> _Read:
        cache = copy.deepcopy(state.cache)
        cache.reorder_cache(rows)
        return _Read(cache, state.real[rows])

    def start(batch: int) -> _Read:
        return _Read(None, torch.ones(batch, 0, dtype=torch.bool, device=model.device))

    steps = {"start": start, "step": step, "select": select}
    # A window's cache keeps the last places, padding among them: on the right that is not promised.
    windowed = getattr(model.config.get_text_config(), "sliding_window", None) is not None
    return steps if windowed else steps | {"prefill": prefill}


def _reach(settings: Any) -> int | None:
    """Return how far a stack of windows reaches; None where a layer sees all."""
    window = getattr(settings, "sliding_window", None)
    kinds = getattr(settings, "layer_types", None) or ["sliding_attention"]
    everywhere = all(kind == "sliding_attention" for kind in kinds)
    if window is None or not everywhere or not getattr(settings, "use_sliding_window", True):
        return None
    return int(settings.num_hidden_layers * (window - 1) + 1)


def from_x_transformers(module: nn.Module, **conventions: Any) -> Kernel | Sequence:
    """Return what lucidrains' x-transformers builds as a subject.

    Args:
        module: a ``TransformerWrapper`` (ids to logits), an ``Encoder`` or ``Decoder`` (features to
            features), or ``Attend``, the function of q, k, v and a mask.
        **conventions: what to say otherwise.

    Raises:
        TypeError: if it is none of these.

    >>> from_x_transformers(nn.Linear(2, 2))
    Traceback (most recent call last):
    TypeError: module: expected TransformerWrapper, ... or Attend of x-transformers, got Linear
    """
    whole: Any = module
    kinds = {each.__name__ for each in type(module).__mro__}
    name = f"x-transformers {type(module).__name__}"
    if _is_of(module, "x_transformers") and "TransformerWrapper" in kinds:
        own = {
            "vocabulary": whole.token_emb.emb.num_embeddings,
            "causal": whole.attn_layers.causal,
            "module": whole,
            "half": None,
            "name": name,
        }
        return Sequence(lambda ids, real: whole(ids, mask=real), **(own | conventions))
    if _is_of(module, "x_transformers") and "AttentionLayers" in kinds:
        own = {"width": whole.dim, "causal": whole.causal, "module": whole, "half": None}
        own |= {"name": name, "positions": None}
        return Sequence(lambda x, real: whole(x, mask=real), **(own | conventions))
    if _is_of(module, "x_transformers") and "Attend" in kinds:
        own = {"causal": whole.causal, "empty_row": "any", "halves": (), "compiles": False}
        own |= {"name": name}
        return Kernel(lambda q, k, v, mask: whole(q, k, v, mask=mask)[0], **(own | conventions))
    raise TypeError(
        "module: expected TransformerWrapper, Encoder, Decoder or Attend of x-transformers, got "
        f"{type(module).__name__}"
    )


def _is_of(module: object, library: str) -> bool:
    return any(each.__module__.partition(".")[0] == library for each in type(module).__mro__)


def adapted(module: nn.Module, **conventions: Any) -> Kernel | Sequence | Cross | None:
    """Return a module of one of these libraries as a subject; None if it is of none.

    >>> adapted(nn.Linear(2, 2)) is None
    True
    """
    of_torch = (
        nn.MultiheadAttention,
        nn.TransformerEncoder,
        nn.TransformerEncoderLayer,
        nn.TransformerDecoder,
        nn.TransformerDecoderLayer,
    )
    if isinstance(module, of_torch):
        return from_torch(module, **conventions)
    if _is_of(module, "transformers"):
        return from_transformers(module, **conventions)
    return from_x_transformers(module, **conventions) if _is_of(module, "x_transformers") else None


__all__ = ["adapted", "from_torch", "from_transformers", "from_x_transformers"]
