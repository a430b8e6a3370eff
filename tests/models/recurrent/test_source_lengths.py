import pytest
import torch

from attention_book.models.recurrent.source_lengths import source_lengths


def test_counts_the_real_tokens() -> None:
    source = torch.tensor([[4, 5, 3], [3, 0, 0], [4, 3, 0]])
    assert source_lengths(source, source > 0).tolist() == [3, 1, 2]


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        ([[True, True], [False, False]], "source: expected at least one real token, got none in"),
        ([[True, True], [False, True]], "source_mask: expected the padding after the real tokens"),
    ],
)
def test_refuses_what_no_encoder_can_read(mask: list[list[bool]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        source_lengths(torch.tensor([[4, 3], [4, 3]]), torch.tensor(mask))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("dtype", [torch.int64, torch.float32])
def test_a_mask_is_boolean_even_where_nothing_is_padded(dtype: torch.dtype) -> None:
    source = torch.tensor([[4, 3], [4, 3]])
    with pytest.raises(TypeError, match="source_mask: expected a boolean tensor"):
        source_lengths(source, (source > 0).to(dtype))


@pytest.mark.usefixtures("unchecked")
def test_one_sentence_is_a_batch_too() -> None:
    source = torch.tensor([4, 5, 3])
    with pytest.raises(ValueError, match=r"source: expected the axes \(batch, source\), got"):
        source_lengths(source, source > 0)
