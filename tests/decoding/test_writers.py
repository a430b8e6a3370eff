"""What can be sampled from: whatever reads step by step, and any function of whole texts."""

import pytest
import torch
from torch import Tensor, nn

from attention_book.attention import AdditiveScore, DotScore, MultiHeadAttention
from attention_book.attention.scores import Score
from attention_book.decoding import (
    beam_search,
    beam_trace,
    greedy_search,
    sample,
    speculative_sample,
)
from attention_book.decoding.writers import GuessWriter, as_writer
from attention_book.models import (
    LanguageConfig,
    LanguageModel,
    NgramModel,
    Seq2Seq,
    Seq2SeqConfig,
    Transformer,
    TransformerConfig,
)
from attention_book.models.protocols import Translator, Writer

VOCABULARY = {"source_vocabulary": 9, "target_vocabulary": 9}
WRITERS = {
    "causal": lambda: LanguageModel(LanguageConfig(vocabulary=9)),
    "decoder": lambda: LanguageModel(LanguageConfig.today(vocabulary=9)),
    "n-grams": lambda: NgramModel.count([[4, 5]], order=2, vocabulary=9),
    "a function": lambda: GuessWriter(lambda tokens: torch.zeros(*tokens.shape, 9)),
}
TRANSLATORS = {
    "transformer": lambda: Transformer(TransformerConfig(**VOCABULARY)),
    "recurrent": lambda: Seq2Seq(Seq2SeqConfig(**VOCABULARY)),
}
OTHERS = {
    "length": lambda: len,
    "class": lambda: LanguageModel,
    "number": lambda: 3,
    "text": lambda: "gpt2",
    "nothing": lambda: None,
    "attention": lambda: MultiHeadAttention(d_model=4, num_heads=2),
}


@pytest.mark.parametrize("name", [*WRITERS, *TRANSLATORS, *OTHERS])
def test_a_protocol_is_told_by_what_its_methods_take(name) -> None:
    """Not by names alone: a translator starts and steps too, and len can be called."""
    thing = (WRITERS | TRANSLATORS | OTHERS)[name]()
    assert isinstance(thing, Writer) == (name in WRITERS)
    assert isinstance(thing, Translator) == (name in TRANSLATORS)


def test_a_score_is_whatever_takes_queries_and_keys() -> None:
    for score in (DotScore(), AdditiveScore(d_q=2, d_k=2, d_hidden=3), lambda q, k: q @ k.mT):
        assert isinstance(score, Score)
    for other in (len, print, DotScore, sum, lambda q: q, lambda q, k, v: q):
        assert isinstance(other, Score) == (other in (print, sum))


def logits_of(tokens: Tensor) -> Tensor:
    """A function of whole texts: the causal model, whatever its form."""
    torch.manual_seed(1)
    model = LanguageModel(LanguageConfig(vocabulary=9, d_model=8, num_heads=2)).eval()
    return model(tokens)


class Answers(nn.Module):
    """As other libraries' models do, it wraps its logits."""

    def __init__(self) -> None:
        super().__init__()
        self.dropout = nn.Dropout(0.5)

    def forward(self, tokens: Tensor) -> "Answers.Output":
        return self.Output(self.dropout(logits_of(tokens)))

    class Output:
        def __init__(self, logits: Tensor) -> None:
            self.logits = logits


@pytest.mark.parametrize("kind", [lambda: logits_of, Answers], ids=["function", "module"])
def test_any_function_of_texts_is_sampled_like_the_model_behind_it(kind) -> None:
    torch.manual_seed(1)
    model = LanguageModel(LanguageConfig(vocabulary=9, d_model=8, num_heads=2))
    prompt, settings = torch.tensor([[2, 5, 4], [2, 7, 7]]), {"max_tokens": 5, "temperature": 0.8}
    with torch.random.fork_rng():
        found, expected = (
            sample(each, prompt, **settings, generator=torch.Generator().manual_seed(3))
            for each in (kind(), model)
        )
    assert [each.ids for each in found] == [each.ids for each in expected]
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.log_prob == pytest.approx(theirs.log_prob, abs=1e-4)


def test_a_function_may_say_which_numbers_are_special() -> None:
    def uniform(tokens: Tensor) -> Tensor:
        return torch.zeros(*tokens.shape, 5)

    uniform.pad, uniform.bos, uniform.eos = 9, 8, 7  # none of the vocabulary
    [found] = sample(
        uniform, torch.tensor([[0]]), max_tokens=60, generator=torch.Generator().manual_seed(0)
    )
    assert set(found.ids) == set(range(5))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("name", [*TRANSLATORS, *OTHERS])
def test_what_writes_no_texts_is_told_what_would(name) -> None:
    thing, prompt = (TRANSLATORS | OTHERS)[name](), torch.tensor([[2, 4]])
    for call in (
        lambda: sample(thing, prompt, max_tokens=2),
        lambda: speculative_sample(thing, WRITERS["causal"](), prompt, num_drafts=1, max_tokens=2),
        lambda: speculative_sample(WRITERS["causal"](), thing, prompt, num_drafts=1, max_tokens=2),
    ):
        if name == "attention":  # it can be called, but not with numbers alone
            with pytest.raises(TypeError, match="queries: expected floating point tensors"):
                call()
            continue
        with pytest.raises(TypeError, match=r"model: expected a language model, .* or a function"):
            call()
    if name in TRANSLATORS:
        with pytest.raises(TypeError, match="a translator writes by greedy_search or beam_search"):
            as_writer(thing)


@pytest.mark.usefixtures("unchecked")
def test_logits_of_another_shape_are_told_apart() -> None:
    for shape in ((1, 9), (1, 2), (2, 2, 9)):
        with pytest.raises(
            ValueError, match=r"model: expected logits \(batch, token, vocabulary\)"
        ):
            sample(lambda tokens, s=shape: torch.zeros(s), torch.tensor([[2, 4]]), max_tokens=1)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("name", [*sorted(WRITERS.keys() - {"a function"}), *OTHERS])
def test_a_search_for_translations_says_what_it_needs(name) -> None:
    source = torch.tensor([[4, 3]])
    for search in (
        lambda model: greedy_search(model, source, source > 0, max_tokens=3),
        lambda model: beam_search(model, source, source > 0, width=2, max_tokens=3),
        lambda model: beam_trace(model, source, source > 0, width=2, max_tokens=3),
    ):
        with pytest.raises(TypeError, match=r"model: expected a translator, with encode.* sample"):
            search((WRITERS | OTHERS)[name]())
