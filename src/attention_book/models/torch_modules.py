"""The same Transformer as torch's modules and as ours: ``nn.Transformer``, its stacks, its layers.

Layers and norms have the same parts on both sides, so each part is copied whole, with its
parameters, its dtype, its device and ``requires_grad``.
"""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, cast

import torch
from torch import nn
from torch.nn import functional as F

from attention_book.attention import MultiHeadAttention, NoPositions
from attention_book.attention.from_torch import (
    attention_from_torch,
    attention_to_torch,
    check_outside_attention,
)
from attention_book.models.config import LayerConfig
from attention_book.models.layers import Layer, LayerStack, TokenStack
from attention_book.models.parts import AddNorm, FeedForwardKind
from attention_book.models.transformer import Transformer, TransformerConfig

TorchLayer = nn.TransformerEncoderLayer | nn.TransformerDecoderLayer
TorchStack = nn.TransformerEncoder | nn.TransformerDecoder

#: What torch's layers call our attentions.
_ATTENTIONS = {"self_attention": "self_attn", "cross_attention": "multihead_attn"}


def from_torch(module: nn.Module, **settings: Any) -> nn.Module:
    """Return our module that computes the same as torch's, with copies of its parameters.

    - ``nn.MultiheadAttention``: :class:`~attention_book.attention.MultiHeadAttention`.
    - ``nn.TransformerEncoderLayer``, ``nn.TransformerDecoderLayer``:
      :class:`~attention_book.models.Layer`, without or with a cross-attention.
    - ``nn.TransformerEncoder``: :class:`~attention_book.models.LayerStack`, without positions.
    - ``nn.TransformerDecoder``: :class:`~attention_book.models.TokenStack`.
    - ``nn.Transformer``: :class:`~attention_book.models.Transformer`.

    The last two of torch's have no embeddings, no positions and no output layer. Ours have them:
    they are freshly initialized, and you copy yours in. Torch's layers then correspond to ours
    when they get ``model.encoder.embed(source)`` and ``model.decoder.embed(target)``.

    The copies keep dtype, device, train or eval mode, and every dropout rate. Ours take the batch
    first, whatever ``batch_first`` was, and their masks mean the opposite of torch's: True where
    a query may see a key. What torch's are besides (GELU, another ``eps``, no biases, a final norm
    after post-norm or none after pre-norm) stands in ``config``, so that a new model built from it
    takes the copy's weights.

    Args:
        module: One of torch's modules.
        settings: What a ``TransformerConfig`` says and torch's module doesn't. A decoder needs
            ``target_vocabulary``, a whole Transformer also ``source_vocabulary``; ``positions``,
            ``tied``, ``shared`` and the numbers of the special tokens are optional.

    Raises:
        TypeError: if the module is none of these, or the settings are not those that it needs.
        ValueError: if torch's has what ours lacks: ``add_bias_kv``, ``add_zero_attn``, another
            activation, layers of different sizes, more layers on one side than on the other.

    >>> theirs = nn.TransformerEncoder(
    ...     nn.TransformerEncoderLayer(8, 2, 32, batch_first=True), num_layers=3
    ... ).eval()
    >>> ours, x = from_torch(theirs), torch.rand(1, 5, 8)
    >>> len(ours.layers), torch.allclose(ours(x), theirs(x), atol=1e-6)
    (3, True)
    >>> model = from_torch(
    ...     nn.Transformer(8, 2, 1, 1, 32, batch_first=True),
    ...     source_vocabulary=10, target_vocabulary=12,
    ... )
    >>> model.config.d_ff, model.config.norm
    (32, 'post')
    """
    if settings and not isinstance(module, nn.TransformerDecoder | nn.Transformer):
        raise TypeError(
            f"settings: expected none for {type(module).__name__}, got {', '.join(settings)}"
        )
    ours: nn.Module
    match module:
        case nn.MultiheadAttention():
            ours = attention_from_torch(module)
        case nn.TransformerEncoderLayer() | nn.TransformerDecoderLayer():
            ours = _layer_from_torch(module)
        case nn.TransformerEncoder():
            ours = _stack_from_torch(module)
        case nn.TransformerDecoder():
            ours = _decoder_from_torch(module, settings)
        case nn.Transformer():
            ours = _model_from_torch(module, settings)
        case _:
            raise TypeError(_EXPECTED_THEIRS.format(type(module).__name__))
    return ours.train(module.training)


def to_torch(module: nn.Module) -> nn.Module:
    """Return torch's module that computes the same as ours, with copies of its parameters.

    - :class:`~attention_book.attention.MultiHeadAttention`: ``nn.MultiheadAttention``.
    - :class:`~attention_book.models.Layer`: ``nn.TransformerEncoderLayer``, or with a
      cross-attention ``nn.TransformerDecoderLayer``.
    - :class:`~attention_book.models.LayerStack` and :class:`~attention_book.models.TokenStack`:
      ``nn.TransformerEncoder``, or where they read a source ``nn.TransformerDecoder``.
    - :class:`~attention_book.models.Transformer`: ``nn.Transformer``.

    Torch's stacks consist of the layers and the final norm alone. Their input is what our
    ``place`` or ``embed`` returns, and their output is what ``model.readout`` takes.

    The copies keep dtype, device, train or eval mode, and every dropout rate within the layers.
    Torch's are made with ``batch_first=True``; in their boolean masks True means "ignore"
    (:func:`~attention_book.attention.ignore_from_mask`).

    The law: :func:`from_torch` of the result has the same parameters.

    Raises:
        TypeError: if the module is none of these.
        ValueError: if ours has what torch's lacks: grouped heads of keys and values, positions
            inside attention, another scale; or if only some of the projections that torch joins
            are frozen.

    >>> from attention_book.models import TransformerConfig
    >>> config = TransformerConfig(source_vocabulary=10, target_vocabulary=12)
    >>> ours, source, target = Transformer(config), torch.tensor([[4, 5]]), torch.tensor([[2]])
    >>> theirs = to_torch(ours.eval())
    >>> features = theirs(ours.encoder.embed(source), ours.decoder.embed(target))
    >>> torch.allclose(ours.readout(features), ours(source, source > 0, target), atol=1e-6)
    True
    """
    match module:
        case MultiHeadAttention():
            return attention_to_torch(module)
        case Layer():
            return _layer_to_torch(module)
        case LayerStack():
            return _stack_to_torch(module)
        case Transformer():
            return _model_to_torch(module)
    raise TypeError(_EXPECTED_OURS.format(type(module).__name__))


_EXPECTED_THEIRS = (
    "module: expected nn.MultiheadAttention, nn.Transformer, or one of its stacks or layers, got {}"
)
_EXPECTED_OURS = (
    "module: expected MultiHeadAttention, Layer, LayerStack, TokenStack or Transformer, got {}"
)


# --- from torch ------------------------------------------------------------------------------


def _layer_from_torch(theirs: TorchLayer) -> Layer:
    config = LayerConfig(**_settings_of(theirs))
    reads_source = isinstance(theirs, nn.TransformerDecoderLayer)
    with torch.device("meta"):  # nothing is drawn: every parameter is a copy
        ours = Layer(config, NoPositions(), reads_source=reads_source)
    _fill_layer(ours, theirs)
    return ours


def _stack_from_torch(theirs: nn.TransformerEncoder) -> LayerStack:
    config = LayerConfig(positions="none", **_settings_of_all(theirs))
    with torch.device("meta"):
        ours = LayerStack(config)
    ours.dropout.p = 0.0  # torch's drops nothing before the first layer
    _fill_stack(ours, theirs)
    return ours


def _decoder_from_torch(theirs: nn.TransformerDecoder, settings: dict[str, Any]) -> TokenStack:
    # The decoder has no source words: any number of them will do.
    config = TransformerConfig(source_vocabulary=1, **_settings_of_all(theirs), **settings)
    ours = Transformer(config).decoder.to(next(theirs.parameters()))
    _fill_stack(ours, theirs)
    return ours


def _model_from_torch(theirs: nn.Transformer, settings: dict[str, Any]) -> Transformer:
    read, written = _settings_of_all(theirs.encoder), _settings_of_all(theirs.decoder)
    if read != written:
        raise ValueError(f"decoder: expected the encoder's settings, {read}, got {written}")
    ours = Transformer(TransformerConfig(**read, **settings)).to(next(theirs.parameters()))
    _fill_stack(ours.encoder, cast(nn.TransformerEncoder, theirs.encoder))
    _fill_stack(ours.decoder, cast(nn.TransformerDecoder, theirs.decoder))
    return ours


def _fill_stack(ours: LayerStack, theirs: TorchStack) -> None:
    check_outside_attention(ours.positions)
    for mine, other in zip(ours.layers, theirs.layers, strict=True):
        _fill_layer(cast(Layer, mine), cast(TorchLayer, other))
    norm = cast(nn.LayerNorm | None, theirs.norm)
    ours.norm = nn.Identity() if norm is None else deepcopy(norm)


def _fill_layer(ours: Layer, theirs: TorchLayer) -> None:
    for number, name, add_norm in _sublayers(ours):
        add_norm.norm = deepcopy(getattr(theirs, f"norm{number}"))
        add_norm.dropout = getattr(theirs, f"dropout{number}").p
        if name in _ATTENTIONS:
            attention = attention_from_torch(getattr(theirs, _ATTENTIONS[name]))
            attention.positions = getattr(ours, name).positions
            setattr(ours, name, attention)
    ours.feed_forward.W_1 = deepcopy(theirs.linear1)
    ours.feed_forward.W_2 = deepcopy(theirs.linear2)
    ours.feed_forward.dropout = theirs.dropout.p
    ours.feed_forward.kind = _activation(theirs)


def _settings_of_all(stack: nn.Module) -> dict[str, Any]:
    """Return the settings of a stack; those of its layers must be the same."""
    if not isinstance(stack, TorchStack):
        raise TypeError(_EXPECTED_THEIRS.format(type(stack).__name__))
    for layer in stack.layers:
        if not isinstance(layer, TorchLayer):
            raise TypeError(_EXPECTED_THEIRS.format(type(layer).__name__))
    if not len(stack.layers):
        raise ValueError("layers: expected at least one, got none")
    first, *others = (_settings_of(cast(TorchLayer, layer)) for layer in stack.layers)
    for other in others:
        if other != first:
            raise ValueError(f"layers: expected the same settings in all, got {first} and {other}")
    # Only where it is another than the norms' order says.
    has_norm = stack.norm is not None
    final_norm = None if has_norm == (first["norm"] == "pre") else has_norm
    return {"num_layers": len(stack.layers), **first, "final_norm": final_norm}


def _settings_of(layer: TorchLayer) -> dict[str, Any]:
    return {
        "d_model": layer.linear1.in_features,
        "num_heads": layer.self_attn.num_heads,
        "d_ff": layer.linear1.out_features,
        "dropout": layer.dropout1.p,
        "inner_dropout": layer.self_attn.dropout,
        "norm": "pre" if layer.norm_first else "post",
        "bias": layer.self_attn.in_proj_bias is not None,
        "feed_forward": _activation(layer),
        "feed_forward_bias": layer.linear1.bias is not None,
        "norm_bias": layer.norm1.bias is not None,
        "eps": layer.norm1.eps,
    }


def _activation(layer: TorchLayer) -> FeedForwardKind:
    activation = layer.activation
    if activation in (F.relu, torch.relu) or isinstance(activation, nn.ReLU):
        return "relu"
    if activation is F.gelu or (
        isinstance(activation, nn.GELU) and activation.approximate == "none"
    ):
        return "gelu"
    raise ValueError(f"activation: expected ReLU or the exact GELU, got {activation}")


# --- to torch --------------------------------------------------------------------------------


def _layer_to_torch(ours: Layer) -> TorchLayer:
    _check_expressible(ours)
    decodes = hasattr(ours, "cross_attention")
    kind = nn.TransformerDecoderLayer if decodes else nn.TransformerEncoderLayer
    theirs = kind(
        ours.self_attention.d_model,
        ours.self_attention.num_heads,
        ours.feed_forward.W_1.out_features,
        activation=ours.feed_forward.kind,
        norm_first=ours.self_attention_norm.order == "pre",
        batch_first=True,
        device="meta",  # nothing is drawn: every parameter is a copy
    )
    for number, name, add_norm in _sublayers(ours):
        setattr(theirs, f"norm{number}", deepcopy(add_norm.norm))
        getattr(theirs, f"dropout{number}").p = add_norm.dropout
        if name in _ATTENTIONS:
            setattr(theirs, _ATTENTIONS[name], attention_to_torch(getattr(ours, name)))
    theirs.linear1 = deepcopy(ours.feed_forward.W_1)
    theirs.linear2 = deepcopy(ours.feed_forward.W_2)
    theirs.dropout.p = ours.feed_forward.dropout
    return theirs.train(ours.training)


def _check_expressible(ours: Layer) -> None:
    if ours.feed_forward.W_gate is not None:
        raise ValueError(
            "feed_forward: expected relu or gelu, for torch's layers have no gate, "
            f"got {ours.feed_forward.kind}"
        )
    for _, name, add_norm in _sublayers(ours):
        if not isinstance(add_norm.norm, nn.LayerNorm) or add_norm.order == "both":
            raise ValueError(
                f"{name}_norm: expected one LayerNorm, for torch's layers have no other, got "
                f"order={add_norm.order!r} with {add_norm.norm}"
            )


def _stack_to_torch(ours: LayerStack) -> TorchStack:
    layers = [_layer_to_torch(cast(Layer, layer)) for layer in ours.layers]
    norm = None if isinstance(ours.norm, nn.Identity) else deepcopy(ours.norm)
    theirs: TorchStack
    first = layers[0]
    if isinstance(first, nn.TransformerDecoderLayer):
        theirs = nn.TransformerDecoder(first, len(layers), norm)
    else:
        theirs = nn.TransformerEncoder(first, len(layers), norm, enable_nested_tensor=False)
    theirs.layers = nn.ModuleList(layers)
    return theirs.train(ours.training)


def _model_to_torch(ours: Transformer) -> nn.Transformer:
    # The stacks come after the constructor, which would draw their parameters anew.
    nothing = nn.Identity()
    theirs = nn.Transformer(
        ours.config.d_model,
        ours.config.num_heads,
        custom_encoder=nothing,
        custom_decoder=nothing,
        batch_first=True,
    )
    theirs.encoder, theirs.decoder = _stack_to_torch(ours.encoder), _stack_to_torch(ours.decoder)
    return theirs.train(ours.training)


def _sublayers(ours: Layer) -> Iterator[tuple[int, str, AddNorm]]:
    """Yield the sublayers' numbers, by which torch names norms and dropouts, names and norms."""
    names = ["self_attention", "feed_forward"]
    if hasattr(ours, "cross_attention"):
        names.insert(1, "cross_attention")
    for number, name in enumerate(names, start=1):
        yield number, name, getattr(ours, f"{name}_norm")
