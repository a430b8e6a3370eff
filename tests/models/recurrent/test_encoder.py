"""Laws of the encoder: torch's packed GRU is the oracle."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attention_book.foundations.checks import strict
from attention_book.models import Seq2Seq
from attention_book.models.recurrent.encoder import RecurrentEncoder

Build = Callable[..., Seq2Seq]


def packed_oracle(encoder: RecurrentEncoder, source: Tensor) -> tuple[Tensor, Tensor]:
    """The same parameters in one nn.GRU that reads a packed batch."""
    both_ways = encoder.backwards is not None
    gru = nn.GRU(11, 11, 2, batch_first=True, bidirectional=both_ways).double()
    with torch.no_grad():
        for layer, forwards in enumerate(encoder.forwards):
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                getattr(gru, f"{name}_l{layer}").copy_(getattr(forwards, f"{name}_l0"))
                if both_ways:
                    backwards = encoder.backwards[layer]
                    mine = getattr(backwards, f"{name}_l0")
                    getattr(gru, f"{name}_l{layer}_reverse").copy_(mine)
    lengths = (source > 0).sum(dim=1)
    packed = pack_padded_sequence(
        encoder.embedding(source), lengths, batch_first=True, enforce_sorted=False
    )
    states, final = gru(packed)
    return pad_packed_sequence(states, batch_first=True)[0], final


@pytest.mark.parametrize("both_ways", [False, True])
def test_equals_a_packed_gru(build: Build, source: Tensor, both_ways: bool) -> None:
    encoder = build("bahdanau", bidirectional=both_ways).encoder
    expected, expected_final = packed_oracle(encoder, source)
    states, final = encoder(source, source > 0)
    real = source > 0
    torch.testing.assert_close(states[real], expected[real])
    if both_ways:
        joined = torch.cat((expected_final[0::2], expected_final[1::2]), dim=-1)
        expected_final = torch.tanh(encoder.bridge(joined))
    torch.testing.assert_close(final, expected_final)


def test_one_direction_knows_only_the_past(build: Build, source: Tensor) -> None:
    changed = source.clone()
    changed[0, 4] = 11
    for both_ways, untouched in ((False, True), (True, False)):
        encoder = build("bahdanau", bidirectional=both_ways).encoder
        before, after = (encoder(s, s > 0)[0][0, :4] for s in (source, changed))
        assert torch.equal(before, after) is untouched


@pytest.mark.usefixtures("unchecked")
def test_unreadable_sources_are_refused(build: Build, source: Tensor) -> None:
    encoder = build("bahdanau").encoder
    with pytest.raises(ValueError, match=r"expected the shape \(3, 7\).*got \(3, 6\)"):
        encoder(source, (source > 0)[:, :6])
    empty = (source > 0) & torch.tensor([[True], [False], [True]])
    with strict(), pytest.raises(ValueError, match="at least one real token, got none in row 1"):
        encoder(source, empty)


@pytest.mark.parametrize("both_ways", [False, True])
def test_a_token_has_the_same_state_wherever_the_padding_stands(
    build: Build, source: Tensor, both_ways: bool
) -> None:
    encoder = build("bahdanau", bidirectional=both_ways).encoder
    expected, expected_final = encoder(source, source > 0)
    # Between the words too: four columns of padding are spread over the sentence.
    columns = torch.tensor([1, 2, 4, 5, 7, 9, 10])
    spread = torch.zeros(3, 11, dtype=torch.long)
    spread[:, columns] = source
    states, final = encoder(spread, spread > 0)
    real = source > 0
    torch.testing.assert_close(states[:, columns][real], expected[real])
    torch.testing.assert_close(final, expected_final)
