"""What is read next must fit to what was read: a row, or a token, for each text."""

from attention_book.foundations.shapes import StepIds, TokenIds


def check_rows(tokens: TokenIds, batch_size: int) -> None:
    """Check that there is one row of tokens for each text, and something in it.

    >>> import torch
    >>> check_rows(torch.tensor([[4, 5], [6, 7]]), batch_size=2)

    Raises:
        ValueError: if not.
    """
    if tokens.ndim != 2 or tokens.shape[0] != batch_size or tokens.shape[1] == 0:
        raise ValueError(
            f"tokens: expected one row for each of {batch_size} texts, with at least one token, "
            f"got the shape {tuple(tokens.shape)}"
        )


def check_one_each(token: StepIds, batch_size: int) -> None:
    """Check that there is one token for each text.

    >>> import torch
    >>> check_one_each(torch.tensor([4, 5]), batch_size=2)

    Raises:
        ValueError: if there are not as many tokens as texts.
    """
    if token.shape != (batch_size,):
        raise ValueError(
            f"token: expected one for each of {batch_size} texts, "
            f"got the shape {tuple(token.shape)}"
        )
