"""Faults change what they say and nothing after; check-ups find them; a healthy model passes."""

import contextlib
from collections.abc import Callable
from types import SimpleNamespace
from unittest import mock

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from attention_book.attention import NoPositions
from attention_book.course.diagnosis import (
    FAULTS,
    LANGUAGE_LAWS,
    LAWS,
    check_up,
    check_up_language,
    planted,
)
from attention_book.models import (
    LanguageConfig,
    LanguageModel,
    Transformer,
    TransformerConfig,
)
from attention_book.models.config import POSITION_KINDS
from attention_book.text import ParallelData, SentencePair, Vocabulary
from attention_book.training import batch_loss, fit

# --- faults ------------------------------------------------------------------------------------


IN_MODELS = [name for name, (kind, _) in FAULTS.items() if kind is Transformer]
SOURCE = torch.tensor([[4, 5, 6, 7, 8, 9, 3], [10, 4, 11, 3, 0, 0, 0]])
MASK = SOURCE > 0
TARGET = torch.tensor([[2, 4, 5, 6, 7], [2, 8, 9, 10, 11]])


def make(**changes):
    torch.manual_seed(7)
    sizes = {"d_model": 12, "num_heads": 3, "d_ff": 20, "num_layers": 2, **changes}
    config = TransformerConfig(source_vocabulary=13, target_vocabulary=17, **sizes)
    return Transformer(config).double().eval()


def make_data():
    words = Vocabulary.build([("a", "b", "c", "d")])
    pairs = [SentencePair(("a", "b", "c"), ("d", "c", "b", "a")), SentencePair(("a",), ("d",))] * 3
    return ParallelData(pairs, words, words)


def stepwise(model):
    memory = model.encode(SOURCE, MASK)
    state, logits = model.start(memory), []
    for token in TARGET.unbind(dim=1):
        step, state = model.step(token, state)
        logits.append(step)
    return torch.stack(logits, dim=1)


def insides(model):
    """Every module's own attributes: what is planted must not stay among them."""
    return {
        name: {key: value for key, value in vars(module).items() if key[0] != "_"}
        | dict(module._modules)
        for name, module in model.named_modules()
    }


# --- nothing is left -------------------------------------------------------------------------


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("fault", IN_MODELS)
def test_the_model_is_as_it_was(fault, norm):
    model = make(norm=norm)
    inside, learned = insides(model), {k: v.clone() for k, v in model.state_dict().items()}
    before, steps_before = model(SOURCE, MASK, TARGET), stepwise(model)
    with contextlib.suppress(KeyError), planted(model, fault):
        changed = model(SOURCE, MASK, TARGET), stepwise(model)
        raise KeyError("even an error restores it")
    assert not torch.allclose(changed[0], before) or not torch.allclose(changed[1], steps_before)
    assert insides(model) == inside
    assert learned.keys() == model.state_dict().keys()
    assert all(torch.equal(learned[k], v) for k, v in model.state_dict().items())
    assert torch.equal(model(SOURCE, MASK, TARGET), before)
    assert torch.equal(stepwise(model), steps_before)


@pytest.mark.parametrize("fault", IN_MODELS)
def test_a_model_can_be_trained_with_the_fault(fault):
    data, model = make_data(), None
    size = len(data.source_vocabulary)
    torch.manual_seed(7)
    model = Transformer(TransformerConfig(source_vocabulary=size, target_vocabulary=size))
    names = model.state_dict().keys()
    adam = torch.optim.Adam(model.parameters(), lr=0.01)
    with planted(model, fault):
        first, *_, last = fit(model, data, adam, epochs=4, batch_size=6)
        assert model.state_dict().keys() == names
    assert last.loss_per_token < first.loss_per_token


# --- each does what it says ------------------------------------------------------------------


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(
    ("fault", "scale", "axis"), [("no-scaling", 1, -1), ("softmax-over-queries", 2, -2)]
)
def test_scores_are_not_scaled_or_are_normalized_over_the_queries(fault, scale, axis, masked):
    model, x = make(), torch.randn(5, 12).double()
    attention = model.encoder.layers[0].self_attention
    queries, keys, values = (
        linear(x).view(len(x), attention.num_heads, -1).transpose(0, 1)
        for linear in (attention.W_q, attention.W_k, attention.W_v)
    )
    mask = torch.ones(5, 5).tril().bool() if masked else torch.ones(5, 5).bool()
    scores = (queries @ keys.mT / scale).masked_fill(~mask, -torch.inf)
    with planted(model, fault):
        output = attention(x[None], x[None], x[None], mask)[0]
    expected = attention.W_o((scores.softmax(axis) @ values).movedim(0, 1).flatten(1))
    torch.testing.assert_close(output, expected)


def test_the_decoder_sees_the_future_in_training_only():
    model, steps = make(), None
    healthy_steps = stepwise(model)
    other = TARGET.clone()
    other[:, -1] = 12
    with planted(model, "no-causal-mask"):
        before, after = (model(SOURCE, MASK, target) for target in (TARGET, other))
        steps = stepwise(model)
    assert ((before - after)[:, :-1].abs().amax(-1) > 1e-6).all()
    assert torch.equal(steps, healthy_steps)


def test_padding_is_seen_and_words_are_hidden():
    model = make()
    words, padding = SOURCE.clone(), SOURCE.clone()
    words[:, 0], padding[1, 5:] = 12, 12
    with planted(model, "inverted-padding-mask"):
        own, other_words, other_padding = (
            model(source, MASK, TARGET) for source in (SOURCE, words, padding)
        )
        alone = [model(source[:1], MASK[:1], TARGET[:1]) for source in (SOURCE, words)]
    assert torch.equal(own, other_words)
    assert not torch.allclose(own[1], other_padding[1])
    assert not torch.allclose(*alone)  # a batch without padding is read as ever


@pytest.mark.parametrize("kind", POSITION_KINDS)
def test_the_encoder_takes_its_words_for_a_set(kind):
    model = make(positions=kind)
    for parameter in model.encoder.positions.parameters():
        nn.init.normal_(parameter)  # the biases of the buckets begin at 0
    shuffled = SOURCE.clone()
    shuffled[0] = SOURCE[0, torch.tensor([3, 1, 6, 0, 2, 5, 4])]
    with planted(model, "no-positions"):
        own, other = (model(source, MASK, TARGET) for source in (SOURCE, shuffled))
        assert all(
            isinstance(module.positions, NoPositions)
            for module in model.modules()
            if hasattr(module, "positions")
        )
    torch.testing.assert_close(own, other)
    if kind != "none":
        assert not torch.allclose(model(SOURCE, MASK, TARGET), model(shuffled, MASK, TARGET))


@pytest.mark.parametrize("kind", ["sinusoidal", "learned"])
def test_every_step_stands_at_position_zero(kind):
    model = make(positions=kind)
    healthy = model(SOURCE, MASK, TARGET), stepwise(model)
    with planted(model, "position-zero"):
        at_once, steps = model(SOURCE, MASK, TARGET), stepwise(model)
        embedded = model.decoder.embed(TARGET[:, 3:4], offset=3)
    assert torch.equal(at_once, healthy[0])
    assert torch.equal(steps[:, 0], healthy[1][:, 0])
    assert ((steps - healthy[1])[:, 1:].abs().amax(-1) > 1e-6).all()
    assert torch.equal(embedded, model.decoder.embed(TARGET[:, 3:4]))


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_input_is_not_added(norm):
    model, x = make(norm=norm), torch.randn(2, 5, 12).double()
    add_norm = model.encoder.layers[1].feed_forward_norm
    nn.init.normal_(add_norm.norm.weight)
    expected = add_norm.norm(x.sin()) if norm == "post" else add_norm.norm(x).sin()
    with planted(model, "no-residual"):
        assert torch.equal(add_norm(x, torch.sin), expected)
    torch.testing.assert_close(
        add_norm(x, torch.sin), add_norm.norm(x + x.sin()) if norm == "post" else x + expected
    )


def test_the_norm_runs_over_the_sentence():
    model, x = make(), torch.randn(2, 5, 12).double()
    norm = model.decoder.layers[0].cross_attention_norm.norm
    nn.init.normal_(norm.weight), nn.init.normal_(norm.bias)
    centered = x - x.mean(dim=(1, 2), keepdim=True)
    variance = centered.square().mean(dim=(1, 2), keepdim=True)
    expected = centered / (variance + 1e-5).sqrt() * norm.weight + norm.bias
    with planted(model, "norm-over-time"):
        torch.testing.assert_close(norm(x), expected)
    torch.testing.assert_close(norm(x), F.layer_norm(x, (12,), norm.weight, norm.bias))


def test_padding_is_counted():
    data = make_data()
    healthy = list(data.batches(3))
    with planted(data, "padding-in-loss"):
        counted = list(data.batches(3))
    assert sum(batch.num_tokens for batch in counted) > data.num_tokens
    for batch, other in zip(counted, healthy, strict=True):
        assert batch.target_mask.all()
        assert torch.equal(batch.target_output, other.target_output)
    assert sum(batch.num_tokens for batch in data.batches(3)) == data.num_tokens


def test_the_word_itself_is_asked_for():
    data = make_data()
    with planted(data, "no-shift"):
        for batch in data.batches(3):
            assert torch.equal(batch.target_output, batch.target_input)
    batch = next(data.batches(3))
    assert torch.equal(batch.target_output[:, :-1][batch.target_mask[:, 1:]],
                       batch.target_input[:, 1:][batch.target_mask[:, 1:]])  # fmt: skip


def small():
    data, size = make_data(), len(make_data().source_vocabulary)
    model = Transformer(TransformerConfig(source_vocabulary=size, target_vocabulary=size))
    return model.eval(), data, torch.optim.SGD(model.parameters(), lr=0.1)


def test_nothing_is_learned_without_a_step():
    model, data, sgd = small()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with planted(sgd, "no-step"):
        list(fit(model, data, sgd, epochs=3, batch_size=3))
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    list(fit(model, data, sgd, epochs=1, batch_size=3))
    assert not all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_gradients_pile_up():
    model, data, sgd = small()
    batch, weight = next(data.batches(6)), model.readout.weight

    def gradient():
        sgd.zero_grad()
        batch_loss(model, batch).backward()
        return weight.grad.clone()

    once = gradient()
    with planted(sgd, "no-zero-grad"):
        torch.testing.assert_close(gradient(), 2 * once)
        torch.testing.assert_close(gradient(), 3 * once)
    torch.testing.assert_close(gradient(), once)


# --- a Transformer -----------------------------------------------------------------------------


def drawn(**changes):
    torch.manual_seed(7)
    config = TransformerConfig(source_vocabulary=13, target_vocabulary=17, **changes)
    model = Transformer(config)
    for name, parameter in model.named_parameters():
        if ".positions." in name:
            nn.init.normal_(parameter)  # some begin at 0, as if they were not there
    return model


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("positions", [kind for kind in POSITION_KINDS if kind != "none"])
def test_a_healthy_model_obeys_every_law(norm, positions):
    assert all(check_up(drawn(norm=norm, positions=positions)).values())
    assert all(check_up(drawn(norm=norm, positions=positions, bias=True, tied=True)).values())
    assert all(check_up(drawn(norm=norm, positions=positions).double()).values())


def test_without_positions_the_order_is_not_read():
    broken = [name for name, obeyed in check_up(drawn(positions="none")).items() if not obeyed]
    assert broken == ["order is read"]


BREAKS = {
    "no-scaling": {"attention is torchs"},
    "softmax-over-queries": {
        "future is hidden",
        "steps agree",
        "padding is nothing",
        "attention is torchs",
    },
    "no-causal-mask": {"future is hidden", "steps agree"},
    "inverted-padding-mask": {"padding is nothing", "source is read", "order is read"},
    "no-positions": {"order is read"},
    "position-zero": {"steps agree"},
    "no-residual": {"input comes through"},
    "norm-over-time": {"future is hidden", "steps agree", "padding is nothing"},
}


def test_every_fault_in_a_model_is_caught():
    assert BREAKS.keys() == {name for name, (kind, _) in FAULTS.items() if kind is Transformer}
    assert set().union(*BREAKS.values()) == set(LAWS)


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("fault", BREAKS)
def test_a_fault_breaks_its_laws_and_no_others(fault, norm):
    model = drawn(norm=norm)
    with planted(model, fault):
        obeyed = check_up(model)
    assert {law for law, holds in obeyed.items() if not holds} == BREAKS[fault]


def test_the_model_and_the_random_numbers_are_left_alone():
    model = drawn(dropout=0.5)
    model.decoder.eval()
    modes = [module.training for module in model.modules()]
    learned, numbers = [p.clone() for p in model.parameters()], torch.get_rng_state()
    check_up(model)
    assert modes == [module.training for module in model.modules()]
    assert torch.equal(numbers, torch.get_rng_state())
    assert all(torch.equal(*pair) for pair in zip(model.parameters(), learned, strict=True))
    assert all(p.grad is None for p in model.parameters())


# --- a language model --------------------------------------------------------------------------


def decoder(**settings: object) -> LanguageModel:
    torch.manual_seed(3)
    return LanguageModel(LanguageConfig.today(vocabulary=11, **settings))


HEALTHY: dict[str, Callable[[], object]] = {
    "decoder": decoder,
    "windows": lambda: decoder(windows=(2, None), num_kv_heads=2),
    "half precision": lambda: decoder(qk_norm=True).bfloat16(),
    "of 2018": lambda: LanguageModel(LanguageConfig(vocabulary=11, norm="pre")),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_models_obey_and_stay_as_they_were(name: str) -> None:
    model = HEALTHY[name]()
    assert check_up_language(model) == dict.fromkeys(LANGUAGE_LAWS, True)
    assert model.training


def broken_by(model: LanguageModel) -> set[str]:
    return {name for name, obeyed in check_up_language(model).items() if not obeyed}


def test_a_mask_that_is_forgotten_is_seen() -> None:
    model = decoder()
    attention = model.stack.layers[0].self_attention
    whole = attention.forward
    with mock.patch.object(
        attention, "forward", lambda *a, is_causal=False, **more: whole(*a, **more)
    ):
        assert "future is hidden" in broken_by(model)


def test_a_cache_at_the_wrong_place_is_seen() -> None:
    model = decoder()
    positions = model.stack.positions
    whole = positions.rotate
    with mock.patch.object(positions, "rotate", lambda heads, *, offset=0: whole(heads)):
        assert broken_by(model) == {"steps agree"}


def test_a_state_that_is_written_into_is_seen() -> None:
    model = decoder()
    whole = model.step

    def step(token: torch.Tensor, state: object) -> object:
        found = whole(token, state)
        for layer in state.layers:
            for rows in layer.rows:
                rows.mul_(0.5)
        return found

    with mock.patch.object(model, "step", step):
        assert "state is left alone" in broken_by(model)


def test_a_model_that_reads_its_last_token_alone_is_seen() -> None:
    assert broken_by(decoder(windows=(1, 1))) == {"past is read"}


# A model from elsewhere: a function of token numbers, an object with `logits`, one whose settings
# call the vocabulary otherwise. It is asked for what it can be asked for.
FOREIGN: dict[str, Callable[[LanguageModel], object]] = {
    "a function": lambda model: lambda ids: model(ids),
    "an object with logits": lambda model: lambda ids: SimpleNamespace(logits=model(ids)),
    "a module": lambda model: torch.nn.Sequential(model),
    "more logits than tokens": lambda model: (
        lambda ids: torch.nn.functional.pad(model(ids), (0, 3))
    ),
}
WITHOUT_STEPS = {"future is hidden", "past is read"}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_model_from_elsewhere_is_asked_for_what_needs_no_steps(name: str) -> None:
    found = check_up_language(FOREIGN[name](decoder().eval()), vocabulary=11)
    assert found == dict.fromkeys(WITHOUT_STEPS, True)
    sick = decoder(windows=(1, 1)).eval()
    assert check_up_language(FOREIGN[name](sick), vocabulary=11)["past is read"] is False
    backwards = check_up_language(lambda ids: sick(ids.flip(1)).cumsum(1), vocabulary=11)
    assert backwards["future is hidden"] is False


def test_a_model_of_the_library_is_asked() -> None:
    transformers = pytest.importorskip("transformers", minversion="5.0")
    sizes = {"vocab_size": 11, "n_embd": 8, "n_layer": 1, "n_head": 2, "n_positions": 16}
    sees_back = transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes)).train()
    assert check_up_language(sees_back) == dict.fromkeys(WITHOUT_STEPS, True)
    assert sees_back.training
    small = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    both_ways = transformers.BertForMaskedLM(
        transformers.BertConfig(vocab_size=11, intermediate_size=8, initializer_range=1.0, **small)
    )
    assert check_up_language(both_ways) == {"future is hidden": False, "past is read": True}


def test_what_cannot_be_asked_is_told(unchecked: None) -> None:
    model = decoder().eval()

    class Half:
        config = model.config
        __call__ = model.forward
        step = model.step

    for wrong, size, error, message in (
        (lambda ids: model(ids), None, ValueError, "vocabulary: expected the number of tokens"),
        (7, 11, TypeError, "expected one that is called with token numbers .* got int"),
        (Half(), None, TypeError, "expected both start and step, or neither, got step alone"),
        (
            lambda ids: ids,
            11,
            ValueError,
            r"logits of the shape \(1, 2, 11\), got the shape \(1, 2\)",
        ),
        (lambda ids: model(ids)[:, -1], 11, ValueError, r"got the shape \(1, 11\)"),
        (lambda ids: model(ids), 12, ValueError, "index out of range|expected logits of the shape"),
        (lambda ids: model(ids % 11), 40, ValueError, r"\(1, 2, 40\), got the shape \(1, 2, 11\)"),
        (lambda ids: model(ids).tolist(), 11, ValueError, "got list"),
        (lambda ids: (model(ids),), 11, ValueError, "got tuple"),
    ):
        with pytest.raises((error, IndexError), match=message):
            check_up_language(wrong, vocabulary=size)


WORDS = {"source_vocabulary": 10, "target_vocabulary": 10}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: planted(make(), "no-luck").__enter__(),
            ValueError,
            "fault: expected one of no-scaling, .* got 'no-luck'",
        ),
        (
            lambda: planted(make(), "no-shift").__enter__(),
            TypeError,
            "thing: expected a ParallelData for 'no-shift', got Trans",
        ),
        *[
            (
                lambda sizes=sizes: check_up(Transformer(TransformerConfig(**sizes))),
                ValueError,
                "_vocabulary: expected at least 6, got 5",
            )
            for sizes in ({**WORDS, name: 5} for name in WORDS)
        ],
        (
            lambda: check_up_language(LanguageModel(LanguageConfig.today(vocabulary=3))),
            ValueError,
            "vocabulary: expected at least 4, got 3",
        ),
    ],
)
def test_what_cannot_be_planted_or_checked_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
