"""Hidden words: how many, which, and what stands in their place."""

import pytest
import torch

from attention_book.text import MASK, PAD, Vocabulary, encode_text, mask_tokens

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


def test_drawn_words_are_any_word_and_nothing_else() -> None:
    hidden = mask_tokens(TEXT, WORDS, share=1.0, masked=0.0, random=1.0, generator=seeded())
    drawn = hidden.tokens[hidden.chosen]
    words = set(range(4, len(WORDS))) - {NUMBER}
    assert set(drawn.tolist()) == words


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


def test_sentences_stand_between_beginning_and_end() -> None:
    ids, real = encode_text([("w01",), ("w02", "w01", "zebra")], WORDS)
    w01, w02 = WORDS.encode(("w01", "w02"))
    assert ids.tolist() == [[2, w01, 3, 0, 0], [2, w02, w01, 1, 3]]
    assert torch.equal(real, ids != PAD)


def test_wrong_inputs_get_a_clear_error() -> None:
    with pytest.raises(ValueError, match=r"share: expected a probability between 0 and 1, got 15"):
        mask_tokens(TEXT, WORDS, share=15.0)
    with pytest.raises(ValueError, match=r"masked \+ random: expected .* got 1.2"):
        mask_tokens(TEXT, WORDS, masked=0.8, random=0.4)
    with pytest.raises(ValueError, match="vocabulary: expected one with <mask>"):
        mask_tokens(TEXT, Vocabulary.build([("go",)]))
    with pytest.raises(ValueError, match="at least one, got none"):
        encode_text([], WORDS)
