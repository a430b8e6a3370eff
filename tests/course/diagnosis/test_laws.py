"""The check-up: a healthy Transformer passes, and every fault breaks the laws it should."""

import pytest
import torch
from torch import nn

from attention_book.course.diagnosis import FAULTS, LAWS, check_up, planted
from attention_book.models import Transformer, TransformerConfig
from attention_book.models.transformer.layer_config import POSITION_KINDS


def make(**changes):
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
    assert all(check_up(make(norm=norm, positions=positions)).values())
    assert all(check_up(make(norm=norm, positions=positions, bias=True, tied=True)).values())
    assert all(check_up(make(norm=norm, positions=positions).double()).values())


@pytest.mark.parametrize("too_small", ["source_vocabulary", "target_vocabulary"])
def test_a_vocabulary_without_words_is_refused(too_small):
    sizes = {"source_vocabulary": 10, "target_vocabulary": 10, too_small: 5}
    with pytest.raises(ValueError, match=f"{too_small}: expected at least 6, got 5"):
        check_up(Transformer(TransformerConfig(**sizes)))


def test_without_positions_the_order_is_not_read():
    broken = [name for name, obeyed in check_up(make(positions="none")).items() if not obeyed]
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
    model = make(norm=norm)
    with planted(model, fault):
        obeyed = check_up(model)
    assert {law for law, holds in obeyed.items() if not holds} == BREAKS[fault]


def test_the_model_and_the_random_numbers_are_left_alone():
    model = make(dropout=0.5)
    model.decoder.eval()
    modes = [module.training for module in model.modules()]
    learned, numbers = [p.clone() for p in model.parameters()], torch.get_rng_state()
    check_up(model)
    assert modes == [module.training for module in model.modules()]
    assert torch.equal(numbers, torch.get_rng_state())
    assert all(torch.equal(*pair) for pair in zip(model.parameters(), learned, strict=True))
    assert all(p.grad is None for p in model.parameters())
