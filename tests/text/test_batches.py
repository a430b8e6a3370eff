"""A batch is its sentences and nothing else, an epoch the corpus once; how words hide."""

import itertools
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_book.attention import random_mask
from attention_book.foundations import strict
from attention_book.inspection import shuffled, without_random
from attention_book.runs.batches import BatchPlan
from attention_book.text import (
    BOS,
    EOS,
    MASK,
    PAD,
    UNK,
    ParallelData,
    SentencePair,
    Vocabulary,
    encode_source,
    encode_text,
    generate,
    mask_tokens,
    split_pairs,
)

# A pair is recognized by its first source token, its number; the lengths vary freely.
LENGTHS = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=80)
VOCABULARY = Vocabulary.build([tuple(map(str, range(1000)))])


def corpus(lengths):
    return [
        SentencePair((str(n), *["1"] * (s - 1)), (str(n), *["2"] * (t - 1))[:t])
        for n, (s, t) in enumerate(lengths)
    ]


def data_of(lengths, **options):
    return ParallelData(corpus(lengths), VOCABULARY, VOCABULARY, **options)


def many_lengths(n):
    """A translation is about as long as its source."""
    generator = torch.Generator().manual_seed(7)
    sources = torch.randint(1, 30, (n,), generator=generator)
    targets = sources + torch.randint(0, 4, (n,), generator=generator)
    return list(zip(sources.tolist(), targets.tolist(), strict=True))


def rows(batch):
    """The sentence pairs of a batch, read back through the masks."""
    for i in range(len(batch)):
        source = batch.source[i][batch.source_mask[i]].tolist()
        inputs = batch.target_input[i][batch.target_mask[i]].tolist()
        outputs = batch.target_output[i][batch.target_mask[i]].tolist()
        yield source, inputs, outputs


def padding_share(batches):
    masks = [mask for batch in batches for mask in (batch.source_mask, batch.target_mask)]
    return 1 - sum(int(mask.sum()) for mask in masks) / sum(mask.numel() for mask in masks)


@given(LENGTHS, st.integers(1, 11), st.none() | st.integers(0, 99), st.booleans())
def test_an_epoch_is_every_pair_exactly_once(lengths, batch_size, seed, bucket):
    data = data_of(lengths)
    batches = list(data.batches(batch_size, seed=seed, bucket=bucket))
    found = sorted(tuple(map(tuple, row)) for batch in batches for row in rows(batch))
    expected = []
    for pair in data.pairs:
        source, target = VOCABULARY.encode(pair.source), VOCABULARY.encode(pair.target)
        expected.append(((*source, EOS), (BOS, *target), (*target, EOS)))
    assert found == sorted(expected)
    assert sorted(map(len, batches))[1:] == [batch_size] * (len(batches) - 1)
    assert sum(batch.num_tokens for batch in batches) == data.num_tokens


@given(LENGTHS, st.integers(1, 11))
def test_padding_is_on_the_right_and_no_wider_than_needed(lengths, batch_size):
    for batch in data_of(lengths).batches(batch_size, seed=1):
        for ids, mask in (
            (batch.source, batch.source_mask),
            (batch.target_input, batch.target_mask),
            (batch.target_output, batch.target_mask),
        ):
            assert mask.dtype == torch.bool
            assert (mask.int().diff(dim=1) <= 0).all()  # True … True False … False
            assert mask.any(dim=0).all()
            assert (ids[~mask] == PAD).all()
            assert (ids[mask] != PAD).all()


def test_without_a_seed_the_order_is_the_corpus_s():
    data = data_of(many_lengths(23))
    first = [source[0] for batch in data.batches(5) for source, _, _ in rows(batch)]
    assert first == [VOCABULARY.encode(pair.source)[0] for pair in data.pairs]
    assert [len(batch) for batch in data.batches(5)] == [5, 5, 5, 5, 3]


def test_the_seed_names_the_epoch_and_the_global_numbers_are_left_alone():
    data = data_of(many_lengths(101))

    def order(seed):
        return [source for batch in data.batches(7, seed=seed) for source, _, _ in rows(batch)]

    state = torch.get_rng_state()
    assert order(1) == order(1)
    assert order(1) != order(2)
    assert torch.equal(torch.get_rng_state(), state)


def test_every_seed_is_another():
    """The kind: torch reads 32 bits of a seed, so that others are taken for one of these."""
    data = data_of(many_lengths(101))
    orders = {
        str([list(rows(batch)) for batch in data.batches(7, seed=seed)])
        for seed in (0, 1, 2, 42, 2**16, 2**20 + 1, 2**31, 2**32 - 1)
    }
    assert len(orders) == 8
    pairs = data.pairs[:20]
    for seed in (-1, 2**32, 2**32 + 1, 42 << 30):
        with pytest.raises(ValueError, match=r"seed: expected a number from 0 to 2\*\*32 - 1, got"):
            data.batches(7, seed=seed)
        with pytest.raises(ValueError, match=r"seed: expected a number from 0 to 2\*\*32 - 1, got"):
            split_pairs(pairs, fractions=(0.5, 0.5), seed=seed)
    with pytest.raises(ValueError, match="seed: expected 0 or more, got -1"):
        generate(1, seed=-1)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("seed", [1.0, True, "1"])
def test_a_seed_is_a_whole_number(seed) -> None:
    data = data_of(many_lengths(11))
    for call in (
        lambda: data.batches(7, seed=seed),
        lambda: split_pairs(data.pairs, fractions=(0.5, 0.5), seed=seed),
    ):
        with pytest.raises(ValueError, match="seed: expected a whole number, got"):
            call()


def test_buckets_save_most_of_the_padding():
    data = data_of(many_lengths(997))
    without = padding_share(data.batches(16, seed=1, bucket=False))
    assert padding_share(data.batches(16, seed=1)) < without / 2


def test_buckets_do_not_go_from_short_to_long():
    data = data_of(many_lengths(997))
    widths = [batch.target_output.shape[1] for batch in data.batches(16, seed=1)]
    assert widths != sorted(widths)
    climbs = sum(b > a for a, b in itertools.pairwise(widths))
    assert len(widths) / 4 < climbs < len(widths) * 3 / 4


def test_a_large_corpus_makes_other_batches_in_every_epoch():
    data = data_of(many_lengths(997))

    def together(seed):
        return {frozenset(s[0] for s, _, _ in rows(b)) for b in data.batches(4, seed=seed)}

    assert len(together(1) & together(2)) < 5


def test_cutting_keeps_the_end_and_is_counted():
    data = data_of([(9, 2), (4, 5), (3, 3), (5, 9)], max_tokens=5)
    assert data.truncated == 4  # 9; 5; 5 and 9: with <eos> they would be longer than 5
    for batch in data.batches(4):
        for source, inputs, outputs in rows(batch):
            assert len(source) <= 5
            assert len(outputs) <= 5
            assert source[-1] == outputs[-1] == EOS
            assert inputs[1:] == outputs[:-1]
    assert data_of([(9, 2), (4, 5)]).truncated == 0
    assert data_of([(4, 4)], max_tokens=5).truncated == 0


def test_a_padding_token_in_the_text_is_a_real_token():
    pair = SentencePair(("<pad>", "1"), ("<pad>",))
    batch = next(ParallelData([pair], VOCABULARY, VOCABULARY).batches(1))
    assert batch.source_mask.all()
    assert batch.num_tokens == 2


def test_a_batch_moves_as_a_whole():
    batch = next(data_of([(2, 3), (4, 5)]).batches(2)).to("meta")
    assert {tensor.device.type for tensor in vars(batch).values()} == {"meta"}


@pytest.mark.usefixtures("unchecked")
def test_what_does_not_fit_together_makes_no_batch():
    batch = next(data_of([(2, 3), (4, 5)]).batches(2))
    for changes, message in [
        ({"source_mask": batch.source_mask[:, :2]}, r"source_mask: expected the shape \(2, 5\)"),
        ({"target_mask": batch.target_mask[:1]}, r"target_mask: expected the shape \(2, 6\)"),
        ({"target_input": batch.target_input.T}, r"target_input: .* \(2, 6\), got \(6, 2\)"),
        ({"target_output": batch.target_output[:1]}, r"target_output: expected the shape \(2, 6\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            replace(batch, **changes)
    with pytest.raises(TypeError, match="target_mask: expected a boolean tensor"):
        replace(batch, target_mask=batch.target_mask.long())


@pytest.mark.parametrize("name", ["source_mask", "target_mask"])
def test_a_batch_of_padding_alone_is_refused_in_strict_mode(name):
    batch = next(data_of([(2, 3), (4, 5)]).batches(2))
    nothing = {name: torch.zeros_like(getattr(batch, name))}
    with pytest.raises(ValueError, match=f"{name}: expected at least one real token, got none"):
        replace(batch, **nothing)
    with strict(False):
        replace(batch, **nothing)


@given(LENGTHS)
def test_a_source_is_encoded_alone_as_in_a_batch(lengths):
    data = data_of(lengths)
    ids, mask = encode_source([pair.source for pair in data.pairs], VOCABULARY)
    batch = next(data.batches(len(data)))
    assert torch.equal(ids, batch.source)
    assert torch.equal(mask, batch.source_mask)
    assert encode_source([("7", "seven")], VOCABULARY)[0][0, 1:].tolist() == [UNK, EOS]


WORDS = Vocabulary.build([[f"w{i:02}" for i in range(40)], (MASK,)])
(NUMBER,) = WORDS.encode((MASK,))
TEXT = torch.randint(5, len(WORDS), (400, 53), generator=torch.Generator().manual_seed(1))
TEXT[:, 0], TEXT[:, -3], TEXT[:, -2:] = 2, 3, PAD


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def is_word(tokens: torch.Tensor) -> torch.Tensor:
    return (tokens > 3) & (tokens != NUMBER)


def test_shares_are_those_of_the_paper() -> None:
    hidden = mask_tokens(TEXT, WORDS, generator=seeded())
    chosen = hidden.chosen[is_word(TEXT)]
    assert abs(chosen.float().mean() - 0.15) < 0.01
    new, old = hidden.tokens[hidden.chosen], TEXT[hidden.chosen]
    assert abs((new == NUMBER).float().mean() - 0.8) < 0.02
    # A word drawn at random is the old one once in 40 times.
    assert abs((new == old).float().mean() - (0.1 + 0.1 / 40)) < 0.02
    assert abs(((new != old) & (new != NUMBER)).float().mean() - 0.1 * 39 / 40) < 0.02


def test_only_chosen_words_change_and_only_words_are_chosen() -> None:
    kept = TEXT.clone()
    hidden = mask_tokens(TEXT, WORDS, share=0.5, generator=seeded())
    assert torch.equal(TEXT, kept)
    assert torch.equal(hidden.tokens[~hidden.chosen], TEXT[~hidden.chosen])
    assert is_word(TEXT[hidden.chosen]).all()


def test_all_and_nothing() -> None:
    every = mask_tokens(TEXT, WORDS, share=1.0, masked=1.0, random=0.0, generator=seeded())
    assert torch.equal(every.chosen, is_word(TEXT))
    assert (every.tokens[every.chosen] == NUMBER).all()
    none = mask_tokens(TEXT, WORDS, share=0.0, generator=seeded())
    assert not none.chosen.any()
    assert torch.equal(none.tokens, TEXT)
    same = mask_tokens(TEXT, WORDS, share=1.0, masked=0.0, random=0.0, generator=seeded())
    assert torch.equal(same.tokens, TEXT)
    drawn = mask_tokens(TEXT, WORDS, share=1.0, masked=0.0, random=1.0, generator=seeded())
    words = set(range(4, len(WORDS))) - {NUMBER}
    assert set(drawn.tokens[drawn.chosen].tolist()) == words


def test_the_seed_decides_and_the_global_numbers_are_left_alone() -> None:
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    first, again = (mask_tokens(TEXT, WORDS, generator=seeded(5)) for _ in range(2))
    other = mask_tokens(TEXT, WORDS, generator=seeded(6))
    assert torch.equal(first.tokens, again.tokens)
    assert not torch.equal(first.tokens, other.tokens)
    assert torch.equal(torch.rand(2), expected)


def test_texts_on_another_device_stay_there() -> None:
    hidden = mask_tokens(TEXT.to("meta"), WORDS, generator=seeded())
    assert hidden.tokens.device == hidden.chosen.device == torch.device("meta")
    assert hidden.tokens.shape == hidden.chosen.shape == TEXT.shape


def test_draws_are_the_same_whatever_device_is_the_default() -> None:
    """The kind: random numbers of a generator on the CPU that are asked for on a GPU."""
    lengths = torch.randint(1, 9, (40,), generator=torch.Generator().manual_seed(1))
    data, pairs = data_of(many_lengths(40)), corpus(many_lengths(40))
    text = torch.randint(4, 40, (5, 9), generator=torch.Generator().manual_seed(2))
    words = Vocabulary.build([tuple(map(str, range(40))), (MASK,)])
    weights, seen = torch.rand(2, 7, 7), torch.ones(2, 7, 7, dtype=torch.bool)

    def drawn() -> list:
        generator = torch.Generator().manual_seed(3)
        order = BatchPlan(batch_tokens=40).order(lengths, lengths, epoch=1)
        return [
            [[*rows(batch)] for batch in data.batches(7, seed=4)],
            split_pairs(pairs, fractions=(0.5, 0.5), seed=5),
            [order.rows(number).tolist() for number in range(len(order))],
            mask_tokens(text, words, generator=generator).tokens.tolist(),
            shuffled(weights, seen, generator=generator).tolist(),
            without_random(weights, seen, generator=generator).tolist(),
        ]

    expected = drawn()
    with torch.device("meta"):
        assert drawn() == expected
        assert random_mask(5, num_keys=2).is_meta
        assert not random_mask(5, num_keys=2, device="cpu").is_meta


def test_sentences_stand_between_beginning_and_end() -> None:
    ids, real = encode_text([("w01",), ("w02", "w01", "zebra")], WORDS)
    w01, w02 = WORDS.encode(("w01", "w02"))
    assert ids.tolist() == [[2, w01, 3, 0, 0], [2, w02, w01, 1, 3]]
    assert torch.equal(real, ids != PAD)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: encode_source([("1",), ()], VOCABULARY), "sentence 1: expected at least one tok"),
        (lambda: encode_source([], VOCABULARY), "sentences: expected at least one, got none"),
        (lambda: encode_text([], WORDS), "at least one, got none"),
        (lambda: encode_source(["go"], VOCABULARY), "got the string 'go'"),
        (lambda: data_of([(1, 1), (1, 0)]), "target of pair 1: expected at least one token"),
        (lambda: data_of([]), "pairs: expected at least one pair"),
        (lambda: data_of([(1, 1)]).batches(0), "batch_size: expected 1 or more, got 0"),
        (lambda: data_of([(1, 1)], max_tokens=1), "max_tokens: expected 2 or more, got 1"),
        (
            lambda: mask_tokens(TEXT, WORDS, share=15.0),
            "share: expected a probability between 0 and 1, got 15",
        ),
        (
            lambda: mask_tokens(TEXT, WORDS, masked=0.8, random=0.4),
            r"masked \+ random: expected .* got 1.2",
        ),
        (
            lambda: mask_tokens(TEXT, Vocabulary.build([("go",)])),
            "vocabulary: expected one with <mask>",
        ),
    ],
)
def test_what_makes_no_batch_is_refused(call, message) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        call()
