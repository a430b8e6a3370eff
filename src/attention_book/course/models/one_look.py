"""The smallest model in which order can matter: words, positions and one self-attention."""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor, nn

from attention_book.attention import SelfAttention
from attention_book.attention.positions.scheme import check_at_input
from attention_book.foundations.shapes import TokenIds
from attention_book.models.token_embedding import TokenEmbedding

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

    Raises:
        ValueError: if ``place`` is a scheme that enters inside attention.

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
