"""Besides attention: embedding, RMSNorm, residual connection (post-norm, pre-norm), FFN, SwiGLU."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from attention_book.foundations.checks import (
    check_features,
    check_floating,
    check_numbers,
    check_positive,
    check_probability,
    check_sizes,
    is_strict,
    whole_numbers,
)
from attention_book.foundations.resetting import ResettableLayer
from attention_book.foundations.shapes import Features

#: Where the norm stands: after the sum, before the sublayer, or before both.
NormOrder = Literal["post", "pre", "both"]
NormKind = Literal["layer", "rms"]
#: What a feed-forward network computes between its linear maps.
FeedForwardKind = Literal["relu", "gelu", "swiglu", "geglu", "geglu-erf"]
_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "swiglu": F.silu,
    "geglu": partial(F.gelu, approximate="tanh"),
    "geglu-erf": F.gelu,
}


class TokenEmbedding(nn.Embedding):
    """An ``nn.Embedding`` whose vectors are scaled, with a clear error for an unknown number.

    Args:
        size: Number of different tokens.
        d_embed: Size of a token's vector.
        name: What the numbers are called in the error.
        scale: What :meth:`scaled` multiplies by; the root of ``d_embed`` when None, as Vaswani et
            al. (2017) do.

    >>> import torch
    >>> TokenEmbedding(10, 4, name="source")(torch.tensor([[2, 9]])).shape
    torch.Size([1, 2, 4])
    """

    def __init__(self, size: int, d_embed: int, *, name: str, scale: float | None = None) -> None:
        """Draw the vectors as torch does."""
        super().__init__(size, d_embed)
        self.name = name
        self.scale = math.sqrt(d_embed) if scale is None else scale

    def forward(self, input: Tensor) -> Tensor:
        """Return one vector for each token.

        On the CPU torch itself notices a wrong number. A GPU notices too, but later, and can then
        not be used again in this process: there the numbers are looked at before, in strict mode.

        Raises:
            TypeError: if they are no integers; of any size they will do.
            ValueError: if a number is not in the vocabulary: usually a model and a
                vocabulary that do not belong together; on a GPU in strict mode.
        """
        looked_up = (torch.int64, torch.int32)  # what torch can look up
        if not isinstance(input, Tensor) or input.dtype not in looked_up:
            input = whole_numbers(self.name, input)
        if input.device.type not in ("cpu", "meta") and is_strict():
            check_numbers(self.name, input, self.num_embeddings)
        try:
            return super().forward(input)
        except IndexError as error:
            check_numbers(self.name, input, self.num_embeddings)
            raise ValueError(f"{self.name}: {error}") from error

    def scaled(self, input: Tensor) -> Tensor:
        """Return the vectors times the scale.

        Drawn with a standard deviation of :math:`1 / \\sqrt{d_\\mathrm{model}}` they then have
        about 1 a feature, like the sinusoidal positions that are added to them.
        """
        vectors: Tensor = self(input)
        # √d_model, rounded to the vectors' type first, as in Gemma.
        scale = torch.full((), self.scale, dtype=vectors.dtype, device=vectors.device)
        return vectors * scale


def token_embedding(
    size: int, d_model: int, *, name: str, scale: float | None = None
) -> TokenEmbedding:
    """Return an embedding drawn with a standard deviation of :math:`1 / \\sqrt{d_\\text{model}}`.

    >>> token_embedding(1000, 64, name="tokens").weight.std().item()  # doctest: +ELLIPSIS
    0.12...
    """
    embedding = TokenEmbedding(size, d_model, name=name, scale=scale)
    nn.init.normal_(embedding.weight, std=d_model**-0.5)
    return embedding


class RMSNorm(nn.Module):
    """Divide each vector by the root of the mean of its squares, and weigh the features.

    .. math::

        \\operatorname{RMSNorm}(x) = \\frac{x}{\\sqrt{\\frac{1}{d} \\sum_j x_j^2 + \\epsilon}}
        \\odot g

    Zhang and Sennrich (2019), equation 4. Layer norm without the mean and without the bias:
    half the parameters. What is multiplied by a positive number comes out the same, but for
    :math:`\\epsilon`. Half precision is computed in single.

    Args:
        d_model: Size of a vector; the norm is over this axis alone.
        eps: :math:`\\epsilon`, for a vector of zeros.
        around_one: Keep :math:`g - 1`, drawn towards 0 by weight decay, as Gemma does.

    Raises:
        ValueError: if a size is below 1, or ``eps`` not above 0.

    >>> norm = RMSNorm(d_model=2).requires_grad_(False)
    >>> norm(torch.tensor([[3.0, 4.0], [300.0, 400.0]]))  # divided by √12.5
    tensor([[0.8485, 1.1314],
            [0.8485, 1.1314]])
    """

    def __init__(self, *, d_model: int, eps: float = 1e-6, around_one: bool = False) -> None:
        """Begin with g = 1."""
        super().__init__()
        check_sizes(d_model=d_model)
        check_positive("eps", eps)
        self.eps, self.around_one = eps, around_one
        self.weight = nn.Parameter(torch.zeros(d_model) if around_one else torch.ones(d_model))

    def reset_parameters(self) -> None:
        """Begin with g = 1 again."""
        nn.init.constant_(self.weight, 0.0 if self.around_one else 1.0)

    def forward(self, x: Features) -> Features:
        """Return the vectors, scaled.

        Raises:
            ValueError: if they are not ``d_model`` long.
        """
        check_floating("x", x)
        check_features("x", x, len(self.weight))
        precise = x.to(torch.promote_types(x.dtype, torch.float32))
        scaled = precise * torch.rsqrt(precise.square().mean(dim=-1, keepdim=True) + self.eps)
        if self.around_one:
            return (scaled * (1 + self.weight.to(scaled.dtype))).to(x.dtype)
        weighed: Tensor = self.weight * scaled.to(x.dtype)
        return weighed

    def extra_repr(self) -> str:
        """Show the settings where the module is printed."""
        around_one = ", around_one=True" if self.around_one else ""
        return f"{len(self.weight)}, eps={self.eps:g}{around_one}"


def create_norm(
    kind: NormKind, size: int, *, eps: float, bias: bool = True, around_one: bool = False
) -> nn.Module:
    """Return a norm over vectors of this size: LayerNorm, or RMSNorm, which has no bias.

    >>> create_norm("rms", 4, eps=1e-6)
    RMSNorm(4, eps=1e-06)
    """
    if kind == "layer":
        return nn.LayerNorm(size, eps=eps, bias=bias)
    return RMSNorm(d_model=size, eps=eps, around_one=around_one)


class AddNorm(ResettableLayer):
    """Add a sublayer's output to its input, and normalize each position's vector.

    .. math::

        \\text{post: } & \\operatorname{Norm}(x + \\operatorname{Sublayer}(x)) \\\\
        \\text{pre: } & x + \\operatorname{Sublayer}(\\operatorname{Norm}(x)) \\\\
        \\text{both: } & x + \\operatorname{Norm}(\\operatorname{Sublayer}(
            \\operatorname{Norm}(x)))

    Vaswani et al. (2017), section 3.1, Xiong et al. (2020), figure 1, and Gemma 3. Dropout acts
    on the sublayer's output, before the sum (section 5.4 of the first).

    Args:
        d_model: Size of a position's vector. The norm is over this axis alone.
        dropout: Probability of dropping a feature of the sublayer's output while training.
        order: "post", "pre" or "both".
        kind: "layer" (LayerNorm) or "rms" (RMSNorm).
        eps: The small number of the norm.
        bias: Whether a layer norm has a bias.
        around_one: Whether RMSNorm keeps its weights minus 1.

    >>> import torch
    >>> x = torch.tensor([[1.0, 2.0, 3.0, 6.0]])
    >>> AddNorm(d_model=4, order="pre")(x, torch.zeros_like)
    tensor([[1., 2., 3., 6.]])
    >>> AddNorm(d_model=4, order="post")(x, torch.zeros_like).mean().abs().item() < 1e-6
    True
    """

    def __init__(
        self,
        *,
        d_model: int,
        dropout: float = 0.0,
        order: NormOrder = "post",
        kind: NormKind = "layer",
        eps: float = 1e-5,
        bias: bool = True,
        around_one: bool = False,
    ) -> None:
        """Create the norm, or two."""
        super().__init__()
        check_sizes(d_model=d_model)
        check_probability("dropout", dropout)
        if order not in get_args(NormOrder):
            raise ValueError(f"order: expected post, pre or both, got {order!r}")
        self.d_model = d_model
        self.dropout = dropout
        self.order = order
        norm = partial(create_norm, kind, d_model, eps=eps, bias=bias, around_one=around_one)
        self.norm = norm()
        self.norm_after = norm() if order == "both" else None

    def forward(self, x: Features, sublayer: Callable[..., Features], **how: Any) -> Features:
        """Return the sum of ``x`` and what the sublayer makes of it, normalized.

        Args:
            x: One vector for each position.
            sublayer: Attention or feed-forward network; returns the shape that it got.
            how: What else the sublayer is given, such as a mask.

        Raises:
            ValueError: if the vectors are not ``d_model`` long, or the sublayer returns
                another shape.
        """
        check_features("x", x, self.d_model)
        update = sublayer(x if self.order == "post" else self.norm(x), **how)
        if update.shape != x.shape:  # broadcasting would hide the mistake
            raise ValueError(
                f"sublayer: expected an output of the shape {tuple(x.shape)}, "
                f"got {tuple(update.shape)}"
            )
        if self.norm_after is not None:
            update = self.norm_after(update)
        if self.dropout and self.training:
            update = F.dropout(update, self.dropout)
        output: Features = self.norm(x + update) if self.order == "post" else x + update
        return output

    def extra_repr(self) -> str:
        """Show the settings where the module is printed."""
        return f"dropout={self.dropout}, order={self.order!r}"


class FeedForward(ResettableLayer):
    """Apply the same small network to each position separately (FFN, MLP).

    .. math::

        \\operatorname{FFN}(x) &= \\phi(x W_1 + b_1)\\, W_2 + b_2 \\\\
        \\text{with a gate: }
        \\operatorname{FFN}(x) &= \\bigl(\\phi(x W_\\text{gate}) \\odot x W_1\\bigr)\\, W_2

    Vaswani et al. (2017), equation 2, with :math:`\\phi = \\operatorname{ReLU}`, and Shazeer
    (2020), equations 5 and 6: a gate decides, feature by feature and position by position, what
    passes. Three matrices where the network of 2017 has two: with :math:`d_\\text{ff} =
    \\frac{8}{3} d_\\text{model}` instead of :math:`4 d_\\text{model}` they have as many numbers.

    Args:
        d_model: Size of a position's vector.
        d_ff: Size of the hidden layer; the paper takes 4 d_model.
        d_out: Size of a position's new vector; None means d_model, as a residual
            connection needs it.
        kind: "relu" as in the paper, "gelu" as in BERT and GPT-2; with a gate "swiglu" (SiLU:
            Llama, Mistral, Qwen), "geglu" (GELU computed with a tanh: Gemma) or "geglu-erf"
            (GELU itself, as in Shazeer's paper).
        dropout: Probability of dropping a hidden feature while training.
        bias: Whether the linear maps have biases.

    >>> import torch
    >>> feed_forward = FeedForward(d_model=4, d_ff=8)
    >>> output = feed_forward(torch.ones(2, 3, 4))
    >>> output.shape
    torch.Size([2, 3, 4])
    >>> torch.allclose(output[0, 0], output[1, 2])
    True
    >>> gated = FeedForward(d_model=6, d_ff=16, kind="swiglu", bias=False)
    >>> gated(torch.zeros(2, 3, 6)).abs().max().item()
    0.0
    """

    def __init__(
        self,
        *,
        d_model: int,
        d_ff: int,
        d_out: int | None = None,
        kind: FeedForwardKind = "relu",
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        """Create the two linear maps, or three."""
        super().__init__()
        d_out = d_model if d_out is None else d_out
        check_sizes(d_model=d_model, d_ff=d_ff, d_out=d_out)
        check_probability("dropout", dropout)
        if kind not in _ACTIVATIONS:
            raise ValueError(f"kind: expected one of {', '.join(_ACTIVATIONS)}, got {kind!r}")
        self.d_model = d_model
        self.dropout = dropout
        self.kind: FeedForwardKind = kind
        gated = kind in ("swiglu", "geglu", "geglu-erf")
        self.W_gate = nn.Linear(d_model, d_ff, bias=bias) if gated else None
        self.W_1 = nn.Linear(d_model, d_ff, bias=bias)
        self.W_2 = nn.Linear(d_ff, d_out, bias=bias)

    def forward(self, x: Features) -> Float[Tensor, "*batch position d_out"]:
        """Return one new vector for each position.

        Raises:
            ValueError: if the vectors are not ``d_model`` long.
        """
        check_features("x", x, self.d_model)
        activation = _ACTIVATIONS[self.kind]
        if self.W_gate is None:
            hidden = activation(self.W_1(x))
        else:
            hidden = activation(self.W_gate(x)) * self.W_1(x)
        if self.dropout and self.training:
            hidden = F.dropout(hidden, self.dropout)
        output: Tensor = self.W_2(hidden)
        return output

    def extra_repr(self) -> str:
        """Show the settings where the module is printed."""
        return f"kind={self.kind!r}, dropout={self.dropout}"
