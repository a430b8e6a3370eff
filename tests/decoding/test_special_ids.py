"""The numbers of <pad>, <bos> and <eos> are settings: others change nothing but the numbering."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from attention_book.decoding import attention_of, sample, translate
from attention_book.decoding.prediction import special_ids
from attention_book.models import (
    LanguageConfig,
    LanguageModel,
    NgramModel,
    Seq2Seq,
    Seq2SeqConfig,
    Transformer,
    TransformerConfig,
)
from attention_book.models.recurrent.config import ATTENTION_KINDS
from attention_book.text import ParallelData, SpecialIds, Vocabulary, encode_text, phrasebook
from attention_book.training import fit, next_token_loss

PAIRS = phrasebook("en", "fr")[:60]
ENGLISH = Vocabulary.build(pair.source for pair in PAIRS)
FRENCH = Vocabulary.build(pair.target for pair in PAIRS)


def renumbered(vocabulary: Vocabulary, seed: int) -> tuple[Vocabulary, torch.Tensor]:
    """The same words with other numbers, and the old number of each new one."""
    order = torch.randperm(len(vocabulary), generator=torch.Generator().manual_seed(seed))
    tokens = tuple(vocabulary.tokens[number] for number in order)
    frequencies = tuple(vocabulary.frequencies[number] for number in order)
    return Vocabulary(tokens, frequencies), order


OTHER_ENGLISH, ENGLISH_ORDER = renumbered(ENGLISH, 1)
OTHER_FRENCH, FRENCH_ORDER = renumbered(FRENCH, 4)


def with_rows_moved(model: nn.Module, other: nn.Module) -> None:
    """Give ``other`` the parameters of ``model``, its words in the other order."""
    state = model.state_dict()
    for name, value in state.items():
        if "embedding" in name or name.split(".")[-2] == "readout":
            source = name.startswith("encoder")
            state[name] = value[ENGLISH_ORDER if source else FRENCH_ORDER]
    other.load_state_dict(state)


def trained(model: nn.Module, source: Vocabulary, target: Vocabulary) -> list[float]:
    torch.manual_seed(3)  # the same dropout
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    data = ParallelData(PAIRS, source, target)
    return [report.loss_per_token for report in fit(model, data, optimizer, epochs=2, batch_size=8)]


@pytest.mark.parametrize("kind", [*ATTENTION_KINDS, "transformer"])
def test_with_other_numbers_a_model_learns_and_writes_the_same(kind: str) -> None:
    sizes = {"source_vocabulary": len(ENGLISH), "target_vocabulary": len(FRENCH)}
    usual: Seq2SeqConfig | TransformerConfig = (
        TransformerConfig(**sizes)
        if kind == "transformer"
        else Seq2SeqConfig(attention=kind, **sizes)
    )
    build = Transformer if kind == "transformer" else Seq2Seq
    others = OTHER_FRENCH.special_ids
    assert all(number != vars(SpecialIds())[name] for name, number in vars(others).items())
    torch.manual_seed(7)
    model = build(usual).double()
    other = build(replace(usual, **vars(others))).double()
    with_rows_moved(model, other)

    losses = trained(model, ENGLISH, FRENCH)
    assert trained(other, OTHER_ENGLISH, OTHER_FRENCH) == pytest.approx(losses, rel=1e-9)
    sentences = [pair.source for pair in PAIRS[:20]]
    for width in (1, 3):
        expected = translate(model, sentences, ENGLISH, FRENCH, width=width)
        found = translate(other, sentences, OTHER_ENGLISH, OTHER_FRENCH, width=width)
        assert [each.tokens for each in found] == [each.tokens for each in expected]
        assert [each.finished for each in found] == [each.finished for each in expected]
    if kind != "none":
        weights = [
            attention_of(one, sentences[5], PAIRS[5].target, *words)
            for one, words in ((model, (ENGLISH, FRENCH)), (other, (OTHER_ENGLISH, OTHER_FRENCH)))
        ]
        torch.testing.assert_close(*weights)


def test_a_vocabulary_with_other_specials_is_refused() -> None:
    model = Seq2Seq(Seq2SeqConfig(source_vocabulary=len(ENGLISH), target_vocabulary=len(FRENCH)))
    with pytest.raises(ValueError, match="target_vocabulary: expected the model's Spec"):
        translate(model, [PAIRS[0].source], ENGLISH, OTHER_FRENCH)


def written(model: LanguageModel | NgramModel, vocabulary: Vocabulary) -> list[list[str]]:
    prompt = torch.full((3, 1), special_ids(model).bos)
    found = sample(model, prompt, max_tokens=9, top_k=1)
    return [vocabulary.decode(each.ids) for each in found]


def test_a_language_model_with_other_numbers_writes_the_same() -> None:
    config = LanguageConfig(vocabulary=len(FRENCH), dropout=0.0)
    torch.manual_seed(7)
    model = LanguageModel(config).double()
    other = LanguageModel(replace(config, **vars(OTHER_FRENCH.special_ids))).double()
    with_rows_moved(model, other)
    sentences = [pair.target for pair in PAIRS]
    for one, words in ((model, FRENCH), (other, OTHER_FRENCH)):
        optimizer = torch.optim.Adam(one.parameters(), lr=0.01)
        for _ in range(20):
            loss = next_token_loss(one, *encode_text(sentences, words))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    texts = written(model, FRENCH)
    assert all(texts)
    assert written(other, OTHER_FRENCH) == texts


def test_counted_ngrams_with_other_numbers_write_the_same() -> None:
    texts = []
    for words in (FRENCH, OTHER_FRENCH):
        sentences = [words.encode(pair.target) for pair in PAIRS]
        ids = vars(words.special_ids)
        model = NgramModel.count(sentences, order=2, vocabulary=len(words), **ids)
        assert special_ids(model) == words.special_ids
        history = (words.special_ids.bos,)
        texts.append(model.probabilities(history)[words.encode(FRENCH.tokens)])
    torch.testing.assert_close(*texts)


def test_a_model_without_settings_has_the_usual_numbers() -> None:
    assert special_ids(object()) == SpecialIds()
