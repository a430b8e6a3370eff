"""The Transformer's settings: kept, copied, and refused where no model can be built."""

import pytest

from attention_book.models import Transformer, TransformerConfig

SIZES = {"source_vocabulary": 13, "target_vocabulary": 19}


def test_settings_survive_json() -> None:
    config = TransformerConfig(**SIZES, norm="pre", positions="alibi", tied=True)
    assert TransformerConfig.from_dict(config.to_dict()) == config


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"d_model": 30, "num_heads": 4},
            "num_heads: expected a divisor of d_model, got num_heads=4",
        ),
        (
            {"d_model": 9, "num_heads": 3, "positions": "rotary"},
            "d_k: expected an even number .* 3",
        ),
        ({"d_ff": 0}, "d_ff: expected at least 1, got 0"),
        ({"dropout": 1.5}, "dropout: expected a probability between 0 and 1, got 1.5"),
        ({"inner_dropout": -1}, "inner_dropout: expected a probability between 0 and 1, got -1"),
        ({"norm": "last"}, "norm: expected one of post, pre, both, got 'last'"),
        ({"shared": True}, "shared: expected vocabularies of one size, got 13 and 19"),
        ({"positions": "sine"}, "positions: expected one of sinusoidal, .* got 'sine'"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_what_cannot_be_built_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TransformerConfig(**SIZES, **changes)


def test_dropout_acts_where_the_settings_say() -> None:
    model = Transformer(TransformerConfig(**SIZES, dropout=0.3, inner_dropout=0.2))
    for layer in (*model.encoder.layers, *model.decoder.layers):
        assert layer.self_attention.dropout == layer.feed_forward.dropout == 0.2
        assert layer.self_attention_norm.dropout == layer.feed_forward_norm.dropout == 0.3
    assert model.encoder.dropout.p == model.decoder.dropout.p == 0.3


def test_the_number_of_heads_does_not_change_the_number_of_parameters() -> None:
    counts = {
        sum(p.numel() for p in Transformer(TransformerConfig(**SIZES, num_heads=h)).parameters())
        for h in (1, 2, 8, 32)
    }
    assert len(counts) == 1
