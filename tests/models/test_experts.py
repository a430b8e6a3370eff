"""Laws of a mixture of experts: what the experts compute and weigh, who is chosen, and balance."""

import copy

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from rounding import off_by
from torch import Tensor, nn

from attention_book.models import FeedForward, MixtureOfExperts, Routing

EXACT = {"rtol": 0, "atol": 1e-12}
SCORES = ("softmax", "sigmoid")
kinds = pytest.mark.parametrize("scores", SCORES)


def mixture(
    *, num_experts: int = 5, num_chosen: int = 2, d_model: int = 6, **how
) -> MixtureOfExperts:
    made = MixtureOfExperts(
        d_model=d_model, d_ff=7, num_experts=num_experts, num_chosen=num_chosen, **how
    )
    return made.double()


def one_by_one(module: MixtureOfExperts, x: Tensor) -> Tensor:
    """The equation, a token at a time: sort the scores, take the first ones, weigh them."""
    rows = []
    for token in x.flatten(0, -2):
        logits = module.router.weight @ token
        scores = logits.softmax(0) if module.scores == "softmax" else logits.sigmoid()
        order = (scores + module.bias).argsort(descending=True)[: module.num_chosen]
        each = [scores[e] * module.experts[e](token[None])[0] for e in order]
        rows.append(sum(each) / scores[order].sum())
    return torch.stack(rows).view_as(x)


@kinds
@pytest.mark.parametrize("num_chosen", [1, 2, 5])
def test_each_token_gets_its_experts_weighed_average(scores, num_chosen) -> None:
    module, x = mixture(num_chosen=num_chosen, scores=scores), torch.randn(3, 4, 6).double()
    nn.init.normal_(module.bias)
    torch.testing.assert_close(module(x), one_by_one(module, x), **EXACT)


@kinds
def test_with_all_chosen_it_is_the_dense_mixture(scores) -> None:
    """Every expert is computed and weighed by its share of the scores, whatever the bias."""
    module, x = mixture(num_chosen=5, scores=scores), torch.randn(2, 9, 6).double()
    nn.init.normal_(module.bias)
    logits = module.router(x)
    found = logits.exp() if scores == "softmax" else logits.sigmoid()
    shares = found / found.sum(dim=-1, keepdim=True)
    dense = sum(shares[..., e, None] * each(x) for e, each in enumerate(module.experts))
    torch.testing.assert_close(module(x), dense, **EXACT)


def test_copies_of_one_expert_are_that_expert() -> None:
    module, x = mixture(num_chosen=3), torch.randn(2, 4, 6).double()
    for each in module.experts:
        each.load_state_dict(module.experts[0].state_dict())
    torch.testing.assert_close(module(x), module.experts[0](x), **EXACT)


def test_to_number_the_experts_otherwise_changes_nothing() -> None:
    module, x = mixture(num_chosen=2), torch.randn(2, 4, 6).double()
    nn.init.normal_(module.bias)
    order, other = torch.randperm(5), copy.deepcopy(module)
    other.experts = nn.ModuleList(module.experts[i] for i in order)
    other.router.weight.data, other.bias = module.router.weight.data[order], module.bias[order]
    torch.testing.assert_close(other(x), module(x), **EXACT)
    torch.testing.assert_close(other.route(x).load(), module.route(x).load()[order])


def test_an_expert_that_nobody_chose_is_not_touched() -> None:
    module = mixture(num_experts=3, num_chosen=1)
    module.bias[:] = torch.tensor([0.0, 0.0, -2.0])  # no share of a softmax makes up for it
    module(torch.randn(4, 5, 6).double()).sum().backward()
    none = [p for p in module.experts[2].parameters() if p.grad is not None and p.grad.any()]
    assert not none
    assert all(p.grad is not None and p.grad.any() for p in module.experts[:2].parameters())


def test_the_router_learns_from_the_weights_of_those_chosen() -> None:
    """With one expert chosen its weight is 1: nothing is left for the router to learn from."""
    x = torch.randn(3, 4, 6).double()
    for num_chosen, learns in ((1, False), (2, True)):
        module = mixture(num_chosen=num_chosen)
        module(x).square().sum().backward()
        largest = module.router.weight.grad.abs().max().item()
        assert (largest > 1e-4) is learns
        assert learns or largest < 1e-12


def test_the_bias_chooses_and_does_not_weigh() -> None:
    scores = torch.tensor([[0.5, 0.3, 0.2]])
    found = Routing.best(scores, num_chosen=2, bias=torch.tensor([0.0, -0.2, 0.0]))
    assert found.experts.tolist() == [[0, 2]]
    torch.testing.assert_close(found.weights, torch.tensor([[5 / 7, 2 / 7]]))


@given(st.integers(1, 6), st.integers(1, 40), st.data())
def test_a_load_counts_choices(num_experts, num_tokens, data) -> None:
    num_chosen = data.draw(st.integers(1, num_experts))
    found = Routing.best(torch.rand(num_tokens, num_experts), num_chosen=num_chosen)
    counted = [sum(e in row for row in found.experts.tolist()) for e in range(num_experts)]
    expected = torch.tensor(counted) / (num_tokens * num_chosen)
    torch.testing.assert_close(found.load(), expected)
    torch.testing.assert_close(found.load().sum(), torch.tensor(1.0))


def test_the_balance_loss_is_one_in_balance_and_e_where_one_gets_all() -> None:
    even = torch.eye(4).repeat(3, 1) + 1e-9
    torch.testing.assert_close(Routing.best(even, num_chosen=1).balance_loss(), torch.tensor(1.0))
    alone = torch.eye(4)[[2] * 6] + 1e-9
    torch.testing.assert_close(Routing.best(alone, num_chosen=1).balance_loss(), torch.tensor(4.0))


def test_a_step_against_the_balance_loss_evens_the_load() -> None:
    """Its gradient lowers the score of whoever has more than the others, and of no one else."""
    logits = torch.zeros(8, 4).double()
    logits[:, 0] = 0.1  # the first expert is chosen by all
    logits.requires_grad_(True)
    Routing.best(logits.softmax(-1), num_chosen=1).balance_loss().backward()
    assert (logits.grad[:, 0] > 0).all()
    assert (logits.grad[:, 1:] < 0).all()


def test_the_bias_moves_against_the_load_until_it_is_even() -> None:
    module, x = mixture(num_experts=8, scores="sigmoid"), torch.randn(40, 30, 6).double()
    nn.init.normal_(module.router.weight)
    before, weights = module.route(x), {n: p.clone() for n, p in module.named_parameters()}
    for _ in range(600):
        module.rebalance(module.route(x).load(), speed=0.005)
    after = module.route(x)
    assert before.load().max() > 1.3 / 8
    assert (after.load() - 1 / 8).abs().max() < 0.1 / 8
    assert all(torch.equal(p, weights[n]) for n, p in module.named_parameters())


@pytest.mark.usefixtures("unchecked")
def test_what_cannot_be() -> None:
    for change, message in (
        ({"num_chosen": 6}, "num_chosen: expected at most 5 experts, got 6"),
        ({"num_chosen": 0}, "num_chosen"),
        ({"scores": "relu"}, "scores: expected softmax or sigmoid, got 'relu'"),
    ):
        with pytest.raises(ValueError, match=message):
            mixture(**change)
    with pytest.raises(ValueError, match="x"):
        mixture()(torch.zeros(1, 2, 5).double())
    with pytest.raises(ValueError, match="load: expected one number for each of 5 experts"):
        mixture().rebalance(torch.zeros(4))


def test_drawn_anew_it_forgets_its_bias() -> None:
    module = mixture()
    nn.init.normal_(module.bias)
    before = module.experts[1].W_1.weight.clone()
    module.reset_parameters()
    assert not module.bias.any()
    assert not torch.equal(module.experts[1].W_1.weight, before)


# --- against the library -----------------------------------------------------------------------


def give(theirs: nn.Module, ours: MixtureOfExperts) -> None:
    """Copy our weights into a block of the library, whose experts are one tensor."""
    gates = [torch.cat((e.W_gate.weight, e.W_1.weight)) for e in ours.experts]
    with torch.no_grad():
        theirs.gate.weight.copy_(ours.router.weight)
        theirs.experts.gate_up_proj.copy_(torch.stack(gates))
        theirs.experts.down_proj.copy_(torch.stack([e.W_2.weight for e in ours.experts]))


@pytest.mark.differential
@given(
    family=st.sampled_from(["mixtral", "qwen3_moe", "deepseek_v3"]),
    num_experts=st.integers(1, 7),
    sizes=st.tuples(st.integers(2, 6), st.integers(1, 5)),
    seed=st.integers(0, 2**20),
    data=st.data(),
)
def test_it_computes_what_the_library_does(family, num_experts, sizes, seed, data) -> None:
    pytest.importorskip("transformers", minversion="5.0")
    from transformers import DeepseekV3Config, MixtralConfig, Qwen3MoeConfig
    from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3MoE
    from transformers.models.mixtral.modeling_mixtral import MixtralSparseMoeBlock
    from transformers.models.qwen3_moe.modeling_qwen3_moe import Qwen3MoeSparseMoeBlock

    d_model, d_ff = sizes
    num_chosen = data.draw(st.integers(1, num_experts))
    assume(family != "deepseek_v3" or num_experts > 1)  # it adds the two best of a group
    torch.manual_seed(seed)
    made = {"hidden_size": d_model, "num_experts_per_tok": num_chosen}
    if family == "mixtral":
        config = MixtralConfig(**made, intermediate_size=d_ff, num_local_experts=num_experts)
        theirs: nn.Module = MixtralSparseMoeBlock(config)
    elif family == "qwen3_moe":
        own = {"moe_intermediate_size": d_ff, "num_experts": num_experts}
        config = Qwen3MoeConfig(**made, **own, norm_topk_prob=True)
        theirs = Qwen3MoeSparseMoeBlock(config)
    else:
        own = {"moe_intermediate_size": d_ff, "n_routed_experts": num_experts}
        groups = {"n_group": 1, "topk_group": 1, "n_shared_experts": 1}
        config = DeepseekV3Config(**made, **own, **groups, routed_scaling_factor=1.0)
        theirs = DeepseekV3MoE(config)
        nn.init.zeros_(theirs.shared_experts.down_proj.weight)
    ours = MixtureOfExperts(
        d_model=d_model,
        d_ff=d_ff,
        num_experts=num_experts,
        num_chosen=num_chosen,
        scores="sigmoid" if family == "deepseek_v3" else "softmax",
    )
    give(theirs, ours)
    if family == "deepseek_v3":
        nn.init.normal_(ours.bias, std=0.1)
        theirs.gate.e_score_correction_bias.copy_(ours.bias)
    x = torch.randn(2, 5, d_model)
    with torch.no_grad():
        found, expected = ours(x), theirs.eval()(x)
        problem = off_by(found, expected, theirs.double()(x.double()))
    assert not problem, problem


@pytest.mark.differential
@given(st.integers(1, 6), st.integers(0, 2**20), st.data())
def test_the_balance_loss_is_the_library_s_for_one_expert(num_experts, seed, data) -> None:
    """With k chosen theirs is k times ours: its loads add up to k, ours to 1."""
    mixtral = pytest.importorskip("transformers.models.mixtral.modeling_mixtral")
    num_chosen = data.draw(st.integers(1, num_experts))
    torch.manual_seed(seed)
    logits = torch.randn(12, num_experts)
    theirs = mixtral.load_balancing_loss_func((logits,), num_experts, num_chosen)
    ours = Routing.best(logits.softmax(-1), num_chosen=num_chosen).balance_loss()
    torch.testing.assert_close(num_chosen * ours, theirs)


def test_it_stands_where_a_feed_forward_network_stood() -> None:
    """One expert is the network itself."""
    module, x = mixture(num_experts=1, num_chosen=1), torch.randn(2, 3, 6).double()
    alone = FeedForward(d_model=6, d_ff=7, kind="swiglu", bias=False).double()
    alone.load_state_dict(module.experts[0].state_dict())
    torch.testing.assert_close(module(x), alone(x), **EXACT)
