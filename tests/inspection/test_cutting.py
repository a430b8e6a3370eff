"""Cut looks: what is cut has no part in the result, and all else is as before."""

from dataclasses import replace

import pytest
import torch

from attention_book.decoding import greedy_search
from attention_book.inspection import capture_attention
from attention_book.inspection.cutting import chosen_looks, cut_looks
from attention_book.models import Seq2Seq, Seq2SeqConfig, Transformer, TransformerConfig

SOURCE = torch.tensor([[4, 5, 6, 7, 3], [8, 9, 3, 0, 0]])
TARGET = torch.tensor([[2, 4, 5, 6], [2, 6, 7, 8]])
NUM_TARGET, NUM_SOURCE = TARGET.shape[1], SOURCE.shape[1]
KINDS = ("transformer", "bahdanau", "luong-general")


@pytest.fixture(params=KINDS)
def model(request):
    torch.manual_seed(3)
    sizes = {"source_vocabulary": 11, "target_vocabulary": 13}
    if request.param == "transformer":
        config = TransformerConfig(**sizes, d_model=16, num_heads=2, d_ff=24, num_layers=2)
        found = Transformer(config)
        for parameter in found.parameters():
            torch.nn.init.normal_(parameter, std=0.4)  # as sharp as a trained model's
        return found.eval()
    return Seq2Seq(Seq2SeqConfig(**sizes, attention=request.param, bidirectional=True)).eval()


def table(*pairs):
    return chosen_looks(pairs, num_target=NUM_TARGET, num_source=NUM_SOURCE)


def written(model, cut=None, source=SOURCE):
    """The logits of both sentences, word by word as in decoding."""
    with torch.no_grad():
        state = model.start(model.encode(source, source > 0))
        found = []
        if cut is None:
            cut = table()
        with cut_looks(model, cut):
            for token in TARGET.unbind(1):
                logits, state = model.step(token, state)
                found.append(logits)
    return torch.stack(found, dim=1)


def at_once(model, cut):
    with torch.no_grad(), cut_looks(model, cut):
        return model(SOURCE, SOURCE > 0, TARGET)


def test_nothing_cut_changes_nothing(model):
    with torch.no_grad():
        expected = model(SOURCE, SOURCE > 0, TARGET)
    assert torch.equal(at_once(model, table()), expected)
    with torch.no_grad():
        assert torch.equal(model(SOURCE, SOURCE > 0, TARGET), expected), "nothing stays behind"


@pytest.mark.parametrize("cut", [table((None, 1)), table((2, None)), table((1, 0), (3, 1))])
def test_word_by_word_is_all_at_once(model, cut):
    torch.testing.assert_close(written(model, cut), at_once(model, cut), atol=2e-5, rtol=1e-5)


def test_a_source_word_that_nobody_may_look_at_is_one_that_is_not_there(model):
    """Its key and its value may be anything: nothing of them arrives."""
    cut = table((None, 1))
    with torch.no_grad():
        memory = model.encode(SOURCE, SOURCE > 0)
    noisy = replaced(memory, 1)
    results = []
    for each in (memory, noisy):
        with torch.no_grad(), cut_looks(model, cut):
            logits, _ = model.step(TARGET[:, 0], model.start(each))
        results.append(logits)
    assert torch.equal(*results)
    with torch.no_grad():
        uncut = [model.step(TARGET[:, 0], model.start(each))[0] for each in (memory, noisy)]
    assert not torch.allclose(*uncut, atol=1e-3)


def replaced(memory, place):
    """The memory with other numbers at one place of the source."""

    def other(tensor, axis):
        changed = tensor.clone()
        changed.select(axis, place).mul_(-2).add_(1)
        return changed

    if hasattr(memory, "sources"):
        sources = tuple(
            type(each)(other(each.keys, 2), other(each.values, 2)) for each in memory.sources
        )
        return replace(memory, sources=sources)
    return replace(memory, values=other(memory.values, 1), keys=other(memory.keys, 1))


def test_a_cut_look_leaves_the_words_before_it_alone(model):
    before, after = written(model), written(model, table((2, 0)))
    assert torch.equal(before[:, :2], after[:, :2])
    assert (before[:, 2] - after[:, 2]).abs().amax() > 1e-4


def test_the_looks_that_are_left_share_the_weight(model):
    cut = table((None, 1), (2, 0))
    watched = model.decoder if isinstance(model, Transformer) else model.decoder.attention
    asked = capture_attention(watched)
    with torch.no_grad(), cut_looks(model, cut), asked as seen:
        model(SOURCE, SOURCE > 0, TARGET)
    crosses = [each for name, each in seen.items() if "self" not in name]
    for calls in crosses:
        weights = torch.cat(calls, dim=-2)  # (batch, perhaps head, target, source)
        assert (weights[..., cut] == 0).all()
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))


def test_a_word_whose_looks_are_all_cut_does_not_see_the_source(model):
    """It is written from the words before it: its prediction is the same for every source."""
    if not isinstance(model, Transformer):
        pytest.skip("a recurrent decoder begins with the source's last state")
    everything = table((None, None))
    logits = written(model, everything)
    other = written(model, everything, source=torch.tensor([[9, 9, 9, 9, 3], [4, 3, 0, 0, 0]]))
    assert torch.equal(logits, other)
    assert logits.isfinite().all()


def test_each_sentence_of_a_batch_has_its_own_cuts(model):
    both = torch.stack((table((None, 0)), table((1, 1))))
    together = at_once(model, both)
    for row, cut in enumerate(both):
        torch.testing.assert_close(together[row], at_once(model, cut)[row])


def test_a_translation_goes_through_it(model):
    one = SOURCE[:1]
    cut = chosen_looks([(None, 2)], num_target=6, num_source=NUM_SOURCE)
    [free] = greedy_search(model, one, one > 0, max_tokens=6)
    with cut_looks(model, cut):
        [found] = greedy_search(model, one, one > 0, max_tokens=6)
    assert found.log_prob != free.log_prob


def test_what_does_not_fit_is_refused(model):
    with pytest.raises(TypeError, match="cut"), cut_looks(model, table().float()):
        pass
    with pytest.raises(ValueError, match="4 up to this one, got 3"):
        at_once(model, table()[:3])
    with pytest.raises(ValueError, match="5 source words, got 4"):
        at_once(model, table()[:, :4])
    with pytest.raises(ValueError, match="each of 2 sentences, got 3"):
        at_once(model, torch.stack([table()] * 3))
    with pytest.raises(ValueError, match="from 0 to 4"):
        table((0, 5))
    wrong = pytest.raises(ValueError, match="looks at its source, got Linear")
    with wrong, cut_looks(torch.nn.Linear(2, 2), table()):
        pass
