"""A configuration that no model can be built from is refused at once."""

import json

import pytest

from attention_book.models import Seq2SeqConfig


def config(**changes: object) -> Seq2SeqConfig:
    return Seq2SeqConfig(**{"source_vocabulary": 10, "target_vocabulary": 12, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"d_hidden": 0}, "d_hidden: expected at least 1, got 0"),
        ({"source_vocabulary": 0}, "source_vocabulary"),
        ({"num_layers": -1}, "num_layers"),
        ({"dropout": 1.5}, "dropout: expected a probability"),
        ({"attention": "luong"}, "expected one of none, bahdanau, .*got 'luong'"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_wrong_settings(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        config(**changes)


def test_survives_json() -> None:
    original = config(attention="location", bidirectional=True, dropout=0.25)
    assert Seq2SeqConfig.from_dict(json.loads(json.dumps(original.to_dict()))) == original


def test_source_states_are_twice_as_long_when_read_both_ways() -> None:
    assert (config().d_source, config(bidirectional=True).d_source) == (32, 64)
