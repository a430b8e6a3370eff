"""The smallest models of single chapters: one look, one memory to recall from, a small CNN."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from attention_book.attention import (
    SelfAttention,
    dot_product_weights,
    fixed_state_attention,
    unit_length,
)
from attention_book.attention.positions.scheme import check_at_input
from attention_book.course.datasets import RecallBatch
from attention_book.foundations.checks import check_sizes
from attention_book.foundations.shapes import TokenIds
from attention_book.models.parts import TokenEmbedding

# --- one look at all the others ----------------------------------------------------------------


Vectors = Float[Tensor, "batch position d_model"]


class OneLook(nn.Module):
    """Predict a word at every position after a single look at all the others.

    .. math::
        \\text{logits} = \\operatorname{SelfAttention}(\\text{place}(E[\\text{words}])) \\, W + b

    No residual path, no second layer: what the prediction knows has come through the
    attention weights. ``place`` is where the position enters; any function of the word
    vectors will do, so that one scheme can be compared with another.

    Args:
        num_words: How many different words there are.
        d_model: Size of a word's vector.
        place: Puts the positions into the word vectors: a module such as
            ``SinusoidalPositions``, or a function such as ``lambda x: x * table``.
        centred: Subtract the mean of all word vectors from each, so that the words
            share no common part.

    >>> import torch
    >>> from attention_book.attention import SinusoidalPositions
    >>> model = OneLook(num_words=20, d_model=8, place=SinusoidalPositions(d_model=8))
    >>> words = torch.tensor([[4, 7, 7]])
    >>> model(words).shape, model.weights(words).shape
    (torch.Size([1, 3, 20]), torch.Size([1, 3, 3]))
    """

    def __init__(
        self,
        *,
        num_words: int,
        d_model: int,
        place: Callable[[Vectors], Vectors],
        centred: bool = False,
    ) -> None:
        """Draw the word vectors and the projections as torch does."""
        super().__init__()
        check_at_input("place", place)
        self.embedding = TokenEmbedding(num_words, d_model, name="words")
        self.place = place
        self.attention = SelfAttention(d_model=d_model)
        self.output = nn.Linear(d_model, num_words)
        self.centred = centred

    def embed(self, words: TokenIds) -> Vectors:
        """Return the vectors of the words, without their positions."""
        vectors: Tensor = self.embedding(words)
        if self.centred:
            vectors = vectors - self.embedding.weight.mean(dim=0)
        return vectors

    def forward(self, words: TokenIds) -> Float[Tensor, "batch position num_words"]:
        """Return the logits of the word asked for at every position."""
        attended: Tensor = self.attention(self.place(self.embed(words)))
        logits: Tensor = self.output(attended)
        return logits

    def weights(self, words: TokenIds) -> Float[Tensor, "batch position key"]:
        """Return where each position looks."""
        return self.attention.weights(self.place(self.embed(words)))


# --- recall from a memory of a kind ------------------------------------------------------------


@dataclass(frozen=True)
class _Kind:
    """Whether a memory forgets, corrects what it knew, and looks back with a softmax."""

    forgets: bool = False
    corrects: bool = False
    softmax: bool = False


#: The memories that a :class:`RecallModel` may have.
MEMORIES = {
    "sum": _Kind(),
    "decay": _Kind(forgets=True),
    "delta": _Kind(corrects=True),
    "gated delta": _Kind(forgets=True, corrects=True),
    "softmax": _Kind(softmax=True),
    "softmax, forgetting": _Kind(softmax=True, forgets=True),
}


class RecallModel(nn.Module):
    """Several models of one kind, side by side, that answer the questions of a recall task.

    .. math:: x = E_\\text{key} + E_\\text{value}, \\qquad
        \\text{logits} = \\operatorname{norm}(\\text{read}(E_\\text{key} W_q)) \\, W_o

    Pairs are written into the memory, then each question reads from it. There are no positions,
    no residual path and no second layer: what an answer knows has come through the memory. All
    kinds have the same parameters: maps to a query, a key and a value, and to the two gates that
    some kinds use, one for forgetting and one for the strength of a correction; both begin nearly
    open. Fixed states get queries and keys of length 1. A softmax that forgets adds the logarithm
    of what is left of a pair to its score (Lin et al. 2025).

    Args:
        memory: A name of ``MEMORIES``.
        models: How many models, which share nothing but the sequences that they see.
        num_keys: How many different keys there are in the task.
        num_values: How many different values there are.
        d_model: Features of an embedding.
        d_k: Features of a query, a key and a value: a fixed state has d_k² numbers.

    >>> from attention_book.course.datasets import recall_task
    >>> model = RecallModel("delta", models=2)
    >>> task = recall_task(5, 4, num_keys=16, num_values=16)
    >>> model(task).shape, model.accuracy(task).shape
    (torch.Size([2, 5, 4, 16]), torch.Size([2]))
    """

    def __init__(
        self,
        memory: str,
        *,
        models: int = 3,
        num_keys: int = 16,
        num_values: int = 16,
        d_model: int = 32,
        d_k: int = 8,
    ) -> None:
        """Draw the parameters of every model."""
        super().__init__()
        check_sizes(
            models=models, num_keys=num_keys, num_values=num_values, d_model=d_model, d_k=d_k
        )
        if memory not in MEMORIES:
            raise ValueError(f"memory: expected one of {', '.join(MEMORIES)}, got {memory!r}")
        self.kind, self.d_k = MEMORIES[memory], d_k
        self.key_vectors = nn.Parameter(torch.randn(models, num_keys, d_model))
        self.value_vectors = nn.Parameter(torch.randn(models, num_values, d_model))
        self.W_q = nn.Parameter(torch.randn(models, d_model, d_k) / d_model**0.5)
        self.W_kv = nn.Parameter(torch.randn(models, d_model, 2 * d_k + 2) / d_model**0.5)
        self.gates = nn.Parameter(torch.tensor([4.0, 2.0]).repeat(models, 1, 1, 1))
        self.W_o = nn.Parameter(torch.randn(models, d_k, num_values) / d_k**0.5)

    def forward(self, task: RecallBatch) -> Float[Tensor, "model batch question num_values"]:
        """Return the logits of the questions, for each model."""
        pairs = self.key_vectors[:, task.keys] + self.value_vectors[:, task.values]
        queries = _mapped(self.key_vectors[:, task.questions], self.W_q)
        read = self._read(queries, _mapped(pairs, self.W_kv))
        return _mapped(F.rms_norm(read, (self.d_k,)), self.W_o)

    def loss(self, task: RecallBatch) -> Float[Tensor, ""]:
        """Return the mean cross-entropy over all questions and models, in nats."""
        logits = self(task)
        answers = task.answer.expand(logits.shape[:-1])
        loss: Tensor = F.cross_entropy(logits.flatten(0, 2), answers.flatten())
        return loss

    @torch.no_grad()
    def accuracy(self, task: RecallBatch) -> Float[Tensor, " model"]:
        """Return each model's fraction of right answers."""
        right: Tensor = self(task).argmax(dim=-1) == task.answer
        return right.float().mean(dim=(1, 2))

    def _read(self, queries: Tensor, pairs: Tensor) -> Tensor:
        """Write the pairs, one after another; then let every query read."""
        keys, values, gates = pairs.split([self.d_k, self.d_k, 2], dim=-1)
        log_gates = F.logsigmoid(gates + self.gates)
        log_decay = log_gates[..., 0] if self.kind.forgets else None
        if self.kind.softmax:
            bias = None
            if log_decay is not None:  # what is left of each pair in the end
                left = log_decay.sum(dim=-1, keepdim=True) - log_decay.cumsum(dim=-1)
                bias = left.unsqueeze(-2)
            found: Tensor = dot_product_weights(queries, keys, bias=bias) @ values
            return found
        strength = log_gates[..., 1].exp() if self.kind.corrects else None
        keys = unit_length(keys)
        _, state = fixed_state_attention(keys, keys, values, log_decay=log_decay, strength=strength)
        answers: Tensor = state.read(unit_length(queries))
        return answers


def _mapped(x: Tensor, weight: Tensor) -> Tensor:
    """Map each model's vectors with its own matrix, (model, feature, new feature)."""
    mapped: Tensor = (x.flatten(1, 2) @ weight).unflatten(1, x.shape[1:3])
    return mapped


# --- a CNN, for comparison ---------------------------------------------------------------------


class SmallCNN(nn.Module):
    """Three convolutions of 3 by 3 pixels, halving the image twice, then a linear map.

    Locality is built in: a pixel's new features depend on its neighbors alone, and in
    the same way everywhere. After LeCun et al. (1998), with rectifiers and maxima.

    Args:
        channels: Features of a pixel after the first convolution; twice as many later.
        image_size: Height and width of the images, in pixels; a multiple of 4.
        num_classes: Number of answers.

    >>> import torch
    >>> SmallCNN(channels=4)(torch.rand(3, 8, 8)).shape
    torch.Size([3, 10])
    """

    def __init__(self, *, channels: int, image_size: int = 8, num_classes: int = 10) -> None:
        """Create the layers."""
        super().__init__()
        check_sizes(channels=channels, image_size=image_size, num_classes=num_classes)
        if image_size % 4:
            raise ValueError(f"image_size: expected a multiple of 4, got {image_size}")
        few, many = channels, 2 * channels
        self.layers = nn.Sequential(
            nn.Conv2d(1, few, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.Conv2d(few, many, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(many, many, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Linear(many * (image_size // 4) ** 2, num_classes)

    def forward(
        self, images: Float[Tensor, "image height width"]
    ) -> Float[Tensor, "image num_classes"]:
        """Return a score for each class."""
        logits: Tensor = self.classifier(self.layers(images[:, None]).flatten(1))
        return logits
