"""A header is read back as it was written, and believes nothing that cannot be."""

import json
from dataclasses import asdict, fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_book.runs.corpora.header import Header

HEADER = Header(
    digest="ab",
    rows=3,
    num_sources=8,
    num_targets=6,
    source_vocabulary=9,
    target_vocabulary=11,
    too_long=1,
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


def test_it_is_read_back():
    assert Header.from_json(HEADER.to_json()) == HEADER


@given(st.binary() | st.text() | JSON.map(json.dumps) | st.just("[" * 100_000))
def test_anything_else_is_an_error(text):
    with pytest.raises(ValueError, match="expected"):
        Header.from_json(text)


@given(st.sampled_from([*asdict(HEADER), "format", "byte_order"]), JSON)
def test_a_field_of_another_kind_is_named(name, value):
    content = json.loads(HEADER.to_json())
    if type(value) is type(content[name]):
        value = [value]
    content[name] = value
    with pytest.raises(ValueError, match=rf"^{name}: expected .*, got"):
        Header.from_json(json.dumps(content))


@pytest.mark.parametrize("name", [field.name for field in fields(Header)])
def test_no_field_may_be_missing(name):
    content = json.loads(HEADER.to_json())
    del content[name]
    with pytest.raises(ValueError, match=rf"^{name}: expected .*, got None"):
        Header.from_json(json.dumps(content))


@pytest.mark.parametrize(
    "wrong",
    [
        {"rows": 0},
        {"rows": 4},
        {"rows": -1},
        {"num_targets": 5},
        {"num_sources": 2**63},
        {"source_pad": 9},
        {"target_pad": 11},
        {"target_bos": 11},
        {"source_vocabulary": 0},
    ],
)
def test_numbers_that_contradict_each_other_are_refused(wrong):
    with pytest.raises(ValueError, match="expected"):
        Header.from_json(replace(HEADER, **wrong).to_json())
