"""Layers as functions."""

import math

from .. import _choices, _pointwise, _products, _rows
from .._broadcast import expand_to
from .._copies import cat
from .._dtypes import TITLES, bool_, finfo, int64
from .._graph import record
from .._missing import lookup, missing
from .._pointwise import relu, sigmoid, tanh  # noqa: F401 - PyTorch has them here, too
from .._random import default_generator
from .._tensor import collect, flat, make, new


def _usual(input, dim):
    """Return the axis that PyTorch takes, with a warning, where none is given."""
    return (0 if input.dim() in (0, 1, 3) else 1) if dim is None else dim


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    return _rows.softmax(input, _usual(input, dim), dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    return _rows.log_softmax(input, _usual(input, dim), dtype)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    return softmax(-input, dim, 3, dtype)


def logsigmoid(input):
    return -softplus(-input)


def silu(input, inplace=False):
    return input * sigmoid(input)


def softplus(input, beta=1.0, threshold=20.0):
    def one(each):
        scaled = each * beta
        return each if scaled > threshold else math.log1p(math.exp(scaled)) / beta

    made = make([one(each) for each in flat(input)], input.shape, input.dtype)
    return record(made, "SoftplusBackward0", (input,), lambda g: g * sigmoid(input * beta))


def gelu(input, approximate="none"):
    if approximate == "tanh":
        return input * 0.5 * (1 + tanh(math.sqrt(2 / math.pi) * (input + 0.044715 * input**3)))
    return input * 0.5 * (1 + _pointwise.erf(input / math.sqrt(2)))


def leaky_relu(input, negative_slope=0.01, inplace=False):
    return _choices.where(input > 0, input, input * negative_slope)


def elu(input, alpha=1.0, inplace=False):
    return _choices.where(
        input > 0, input, alpha * _pointwise.expm1(_pointwise.clamp(input, max=0.0))
    )


def relu6(input, inplace=False):
    return _pointwise.clamp(input, 0, 6)


def glu(input, dim=-1):
    a, b = input.chunk(2, dim)
    return a * sigmoid(b)


def linear(input, weight, bias=None):
    made = _products.matmul(input, weight.T if weight.dim() == 2 else weight)
    return made if bias is None else made + bias


def embedding(
    input,
    weight,
    padding_idx=None,
    max_norm=None,
    norm_type=2.0,
    scale_grad_by_freq=False,
    sparse=False,
):
    if input.dtype.kind != 1:
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar"
            " types: Long,"
            f" Int; but got torch.{TITLES[input.dtype]}Tensor instead (while checking arguments for"
            " embedding)"
        )
    for each in flat(input):
        if not 0 <= each < weight.shape[0]:
            raise IndexError("index out of range in self")
    return weight[input]


def one_hot(input, num_classes=-1):
    if input.dtype is not int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if num_classes == -1:
        num_classes = max(flat(input)) + 1
    for each in flat(input):
        if each < 0:
            raise RuntimeError("Class values must be non-negative.")
        if each >= num_classes:
            raise RuntimeError("Class values must be smaller than num_classes.")
    return new(
        [int(each == i) for each in flat(input) for i in range(num_classes)],
        (*input.shape, num_classes),
        int64,
    )


def pad(input, pad, mode="constant", value=None):
    if mode != "constant":
        raise missing(f"torch.nn.functional.pad(mode={mode!r})")
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) // 2 > input.dim():
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but"
            " got padding"
            f" length {len(pad)} and input of dimension {input.dim()}"
        )
    value = 0 if value is None else value
    for place in range(0, len(pad), 2):
        axis, (before, after) = input.dim() - 1 - place // 2, pad[place : place + 2]
        input = input.narrow(
            axis, max(0, -before), input.shape[axis] - max(0, -before) - max(0, -after)
        )
        parts = []
        for count in (max(0, before), max(0, after)):
            size = list(input.shape)
            size[axis] = count
            parts.append(new(input.dtype.fit([value]) * math.prod(size), size, input.dtype))
        if parts[0].numel() or parts[1].numel():
            input = (
                cat([each for each in (parts[0], input, parts[1]) if each.shape[axis]], axis)
                if input.shape[axis]
                else cat(parts, axis)
            )
    return input


def dropout(input, p=0.5, training=True, inplace=False):
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    kept = [draw >= p for draw in default_generator.uniform(input.numel(), input.dtype)]
    return input * new(kept, input.shape, bool_) / (1 - p) if p < 1 else input * 0


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    normalized_shape = list(normalized_shape)
    axes = list(range(-len(normalized_shape), 0))
    if list(input.shape[-len(normalized_shape) :]) != normalized_shape:
        raise RuntimeError(
            f"Given normalized_shape={normalized_shape}, expected input with shape [*,"
            f" {', '.join(map(str, normalized_shape))}], but got input of size{list(input.shape)}"
        )
    middle = input.mean(dim=axes, keepdim=True)
    made = (input - middle) * _pointwise.rsqrt(
        input.var(dim=axes, keepdim=True, correction=0) + eps
    )
    made = made if weight is None else made * weight
    return made if bias is None else made + bias


def rms_norm(input, normalized_shape, weight=None, eps=None):
    axes = list(range(-len(tuple(normalized_shape)), 0))
    eps = finfo(input.dtype).eps if eps is None else eps
    made = input * _pointwise.rsqrt((input * input).mean(dim=axes, keepdim=True) + eps)
    return made if weight is None else made * weight


def normalize(input, p=2.0, dim=1, eps=1e-12):
    return input / _pointwise.clamp(input.norm(p, dim, keepdim=True), min=eps)


def cosine_similarity(a, b, dim=1, eps=1e-8):
    lengths = _pointwise.clamp(a.norm(2, dim, keepdim=True), min=eps) * _pointwise.clamp(
        b.norm(2, dim, keepdim=True), min=eps
    )
    return (a * b / lengths).sum(dim)


def _collected(losses, reduction):
    if reduction == "none":
        return losses
    return losses.mean() if reduction == "mean" else losses.sum()


def mse_loss(input, target, reduction="mean"):
    return _collected((input - target) ** 2, reduction)


def l1_loss(input, target, reduction="mean"):
    return _collected((input - target).abs(), reduction)


def huber_loss(input, target, reduction="mean", delta=1.0):
    far = (input - target).abs()
    return _collected(
        _choices.where(far < delta, far * far / 2, delta * (far - delta / 2)), reduction
    )


def smooth_l1_loss(input, target, reduction="mean", beta=1.0):
    return _collected(huber_loss(input, target, "none", beta) / beta, reduction)


def binary_cross_entropy(input, target, weight=None, reduction="mean"):
    losses = -(
        target * input.log().clamp(min=-100) + (1 - target) * (1 - input).log().clamp(min=-100)
    )
    return _collected(losses if weight is None else losses * weight, reduction)


def binary_cross_entropy_with_logits(input, target, weight=None, reduction="mean", pos_weight=None):
    losses = softplus(-input) * target + softplus(input) * (1 - target)
    return _collected(losses if weight is None else losses * weight, reduction)


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    losses = target.exp() * (target - input) if log_target else _xlogy(target) - target * input
    if reduction == "batchmean":
        return losses.sum() / input.shape[0]
    return _collected(losses, reduction)


def _xlogy(p):
    return _choices.where(p == 0, 0.0, p * p.log())


def nll_loss(
    input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"
):
    axis = 0 if input.dim() == 1 else 1
    if input.dim() > 1 and input.shape[0] != target.shape[0]:
        raise ValueError(
            f"Expected input batch_size ({input.shape[0]}) to match target batch_size"
            f" ({target.shape[0]})."
        )
    told = target != ignore_index
    for each in flat(target):
        if each != ignore_index and not 0 <= each < input.shape[axis]:
            raise IndexError(f"Target {each} is out of bounds.")
    safe = target.masked_fill(~told, 0)
    losses = -input.gather(axis, safe.unsqueeze(axis)).squeeze(axis)
    weights = told.to(input.dtype) if weight is None else weight[safe] * told
    losses = _choices.where(told, losses * weights, 0.0)
    if reduction == "none":
        return losses
    return losses.sum() / weights.sum() if reduction == "mean" else losses.sum()


def cross_entropy(
    input,
    target,
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
    label_smoothing=0.0,
):
    axis = 0 if input.dim() == 1 else 1
    if target.dtype.kind == 2:
        if target.shape != input.shape:
            raise RuntimeError(
                "Expected floating point type for target with class probabilities, got"
                f" {TITLES[target.dtype]}"
            )
        goal = (
            target * (1 - label_smoothing) + label_smoothing / input.shape[axis]
            if label_smoothing
            else target
        )
        scores = log_softmax(input, axis)
        losses = -(scores * goal).sum(axis)
        if reduction == "mean":
            return losses.sum() / max(1, losses.numel())
        return _collected(losses, reduction)
    if target.dtype is not int64:
        raise RuntimeError(f"expected scalar type Long but found {TITLES[target.dtype]}")
    if input.dim() != target.dim() + 1:
        if input.dim() > 1 and target.dim() == input.dim():
            raise (
                RuntimeError(
                    "only batches of spatial targets supported (3D tensors) but got targets of"
                    " dimension: "
                    f"{target.dim()}"
                )
                if input.dim() != 2
                else RuntimeError("0D or 1D target tensor expected, multi-target not supported")
            )
        raise ValueError(
            f"Expected input batch_size ({input.shape[0]}) to match target batch_size"
            f" ({target.shape[0] if target.dim() else 1})."
        )
    if input.dim() > 2 and (input.shape[0], *input.shape[2:]) != tuple(target.shape):
        raise RuntimeError(
            f"Expected target size {[input.shape[0], *input.shape[2:]]}, got {list(target.shape)}"
        )
    scores = log_softmax(input, axis)
    plain = nll_loss(scores, target, weight, None, ignore_index, None, reduction)
    if not label_smoothing:
        return plain
    told = target != ignore_index
    spread = -(
        scores
        if weight is None
        else scores * weight.reshape([-1 if i == axis else 1 for i in range(input.dim())])
    ).sum(axis)
    spread = _choices.where(told, spread, 0.0)
    if reduction == "mean":
        total = (
            told.sum() if weight is None else (weight[target.masked_fill(~told, 0)] * told).sum()
        )
        smooth = spread.sum() / total
    else:
        smooth = _collected(spread, reduction)
    return (1 - label_smoothing) * plain + label_smoothing / input.shape[axis] * smooth


def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    if enable_gqa:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
        value = value.repeat_interleave(query.shape[-3] // value.shape[-3], -3)
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = _products.matmul(query, key.transpose(-2, -1)) * scale
    nothing = None
    if is_causal:
        if attn_mask is not None:
            raise RuntimeError(
                "_scaled_dot_product_attention: Explicit attn_mask should not be set when"
                " is_causal=True"
            )
        ones = new([True] * (scores.shape[-2] * scores.shape[-1]), scores.shape[-2:], bool_)
        attn_mask = ones.tril()
    if attn_mask is not None:
        if attn_mask.dtype is bool_:
            scores = scores.masked_fill(~attn_mask, -math.inf)
            nothing = ~attn_mask.any(-1, keepdim=True)
        else:
            scores = scores + attn_mask
            nothing = (scores == -math.inf).all(-1, keepdim=True)
    if nothing is not None:
        weights = softmax(
            scores.masked_fill(expand_to(nothing, scores.shape), 0.0), -1
        ).masked_fill(nothing, 0.0)
    else:
        weights = softmax(scores, -1)
    return _products.matmul(dropout(weights, dropout_p), value)


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """Return the patches of images as columns."""

    def pair(size):
        return (size, size) if isinstance(size, int) else tuple(size)

    (kh, kw), (dh, dw), (ph, pw), (sh, sw) = map(pair, (kernel_size, dilation, padding, stride))
    single = input.dim() == 3
    input = pad(input.unsqueeze(0) if single else input, (pw, pw, ph, ph))
    batch, channels, height, width = input.shape
    rows = range(0, height - dh * (kh - 1), sh)
    columns = range(0, width - dw * (kw - 1), sw)
    places = [
        ((b * channels + c) * height + r + i * dh) * width + s + j * dw
        for b in range(batch)
        for c in range(channels)
        for i in range(kh)
        for j in range(kw)
        for r in rows
        for s in columns
    ]
    made = collect(input, places, (batch, channels * kh * kw, len(rows) * len(columns)))
    return made.squeeze(0) if single else made


def avg_pool1d(input, kernel_size, stride=None, **ignored):
    return input.unfold(-1, kernel_size, stride or kernel_size).mean(-1)


def max_pool1d(input, kernel_size, stride=None, **ignored):
    return input.unfold(-1, kernel_size, stride or kernel_size).amax(-1)


__getattr__ = lookup("nn.functional", "torch.nn.functional")
