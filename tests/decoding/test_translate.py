"""From words to words: order, company, unknown words, and where the model looks."""

import pytest
import torch

from attention_book import set_seed
from attention_book.decoding import attention_of, beam_search, greedy_search, translate
from attention_book.models import Seq2Seq, Seq2SeqConfig
from attention_book.text import BOS, EOS, UNK, Vocabulary, encode_source

ENGLISH = Vocabulary.build([("go", "home", ".", "!", "i'm", "lazy", "calm")])
FRENCH = Vocabulary.build([("va", "rentre", "chez", "toi", "!")])
SENTENCES = [
    ("i'm", "lazy", "."),
    ("go", "!"),
    ("go", "home", "go", "home", "go", "home", "!"),
    ("go", "away", "!"),
    ("calm",),
    ("i'm", "calm", "and", "away", "."),
    ("go", "!"),
]


def make_model(**options) -> Seq2Seq:
    set_seed(4)
    model = Seq2Seq(
        Seq2SeqConfig(source_vocabulary=len(ENGLISH), target_vocabulary=len(FRENCH), **options)
    )
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    with torch.no_grad():
        model.decoder.readout.bias[EOS] += 7.5  # so that some sentences end
    return model.double()


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("batch_size", [1, 2, 128])
def test_translations_come_in_the_order_of_the_sentences(width, batch_size) -> None:
    model = make_model()
    found = translate(
        model, SENTENCES, ENGLISH, FRENCH, width=width, length_penalty=2.0, batch_size=batch_size
    )
    assert [translation.source for translation in found] == SENTENCES
    assert any(translation.finished for translation in found)
    for sentence, translation in zip(SENTENCES, found, strict=True):
        source, mask = encode_source([sentence], ENGLISH)
        limit = 2 * len(sentence) + 10
        if width == 1:
            [expected] = greedy_search(model, source, mask, max_tokens=limit)
        else:
            [[expected]] = beam_search(
                model, source, mask, width=width, length_penalty=2.0, max_tokens=limit
            )
        assert translation.tokens == tuple(FRENCH.decode(expected.ids))
        assert translation.finished == expected.finished
        assert translation.log_prob == pytest.approx(expected.log_prob)


def test_a_length_penalty_reaches_the_search() -> None:
    model = make_model()
    short, long = (
        translate(model, SENTENCES, ENGLISH, FRENCH, width=5, length_penalty=length_penalty)
        for length_penalty in (0.0, 5.0)
    )
    assert sum(len(t.tokens) for t in short) < sum(len(t.tokens) for t in long)


def test_unknown_words_are_read_as_unk_and_reported() -> None:
    model = make_model()
    found = translate(model, SENTENCES, ENGLISH, FRENCH)
    assert [t.unknown for t in found] == [(), (), (), ("away",), (), ("and", "away"), ()]
    [other] = translate(model, [("go", "swimming", "!")], ENGLISH, FRENCH)
    assert other.tokens == found[3].tokens


def test_an_unknown_word_may_be_written() -> None:
    model = make_model()
    with torch.no_grad():
        model.decoder.readout.bias[UNK] = 100
    [translation] = translate(model, [("go", "!")], ENGLISH, FRENCH, max_tokens=4)
    assert translation.tokens == ("<unk>",) * 4
    assert not translation.finished


def test_the_default_limit_depends_on_the_sentence_alone() -> None:
    model = make_model()
    with torch.no_grad():
        model.decoder.readout.bias[5] = 100
    for width in (1, 3):
        found = translate(model, SENTENCES, ENGLISH, FRENCH, width=width)
        assert [len(t.tokens) for t in found] == [2 * len(s) + 10 for s in SENTENCES]


def test_a_sentence_longer_than_any_is_translated() -> None:
    [translation] = translate(make_model(), [("go", "home") * 60], ENGLISH, FRENCH, max_tokens=300)
    assert 0 < len(translation.tokens) <= 300


def test_nothing_is_drawn_and_nothing_is_left_switched() -> None:
    model = make_model(dropout=0.5)
    model.encoder.eval()
    before = [module.training for module in model.modules()]
    set_seed(0)
    first = translate(model, SENTENCES, ENGLISH, FRENCH)
    weights = attention_of(model, SENTENCES[0], ("va", "!"), ENGLISH, FRENCH)
    assert translate(model, SENTENCES, ENGLISH, FRENCH) == first
    again = attention_of(model, SENTENCES[0], ("va", "!"), ENGLISH, FRENCH)
    assert torch.equal(weights, again)
    assert not weights.requires_grad
    drawn = torch.rand(1)
    set_seed(0)
    assert torch.equal(drawn, torch.rand(1))
    assert [module.training for module in model.modules()] == before


def test_no_sentence_gives_no_translation() -> None:
    assert translate(make_model(), [], ENGLISH, FRENCH) == []


class Untouchable:
    """A model that nothing may be asked of: wrong input is refused before."""

    def encode(self, source, source_mask):
        raise AssertionError

    decode = start = step = encode


@pytest.mark.parametrize(
    ("sentences", "options", "error", "message"),
    [
        ([("go",), ()], {}, ValueError, "sentence 1: expected at least one token, got none"),
        ([("go",), "go"], {}, TypeError, "sentence 1: expected its tokens, got the string 'go'"),
        ([("go",)], {"width": 0}, ValueError, "width: expected 1 or more, got 0"),
        ([("go",)], {"batch_size": 0}, ValueError, "batch_size: expected 1 or more, got 0"),
        ([("go",)], {"max_tokens": 0}, ValueError, "max_tokens: expected 1 or more, got 0"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_wrong_input_is_one_clear_error(sentences, options, error, message) -> None:
    with pytest.raises(error, match=message):
        translate(Untouchable(), sentences, ENGLISH, FRENCH, **options)


@pytest.mark.parametrize("attention", ["bahdanau", "luong-general", "luong-concat"])
def test_attention_has_a_row_and_a_column_for_eos(attention) -> None:
    model = make_model(attention=attention)
    target = ("rentre", "chez", "toi", "!")
    weights = attention_of(model, SENTENCES[3], target, ENGLISH, FRENCH)
    assert weights.shape == (5, 4)
    torch.testing.assert_close(weights.sum(dim=1), torch.ones(5).double())
    model.eval()
    source, mask = encode_source([SENTENCES[3]], ENGLISH)
    target_input = torch.tensor([[BOS, *FRENCH.encode(target)]])
    assert torch.equal(weights, model.weights(source, mask, target_input)[0])


def test_a_later_word_does_not_change_an_earlier_look() -> None:
    model = make_model()
    short = attention_of(model, SENTENCES[0], ("va",), ENGLISH, FRENCH)
    long = attention_of(model, SENTENCES[0], ("va", "toi", "!"), ENGLISH, FRENCH)
    torch.testing.assert_close(short, long[:2])


def test_a_model_without_attention_says_so() -> None:
    with pytest.raises(ValueError, match="has no attention"):
        attention_of(make_model(attention="none"), ("go",), ("va",), ENGLISH, FRENCH)
    with pytest.raises(ValueError, match="expected at least one token, got none"):
        attention_of(make_model(), (), ("va",), ENGLISH, FRENCH)
