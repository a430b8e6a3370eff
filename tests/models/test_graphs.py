"""The same code compiled, exported, mapped over models and in half precision; nothing is read back.

A model's forward holds no branch on data: so it never makes a GPU wait, and one graph holds it.
"""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap
from torch.utils._python_dispatch import TorchDispatchMode

from attention_book.attention import (
    AdditiveScore,
    Attention,
    DotProductAttention,
    MultiHeadAttention,
    SelfAttention,
    masked_softmax,
)
from attention_book.foundations.checks import strict
from attention_book.models import (
    CausalLanguageModel,
    LanguageModelConfig,
    MaskedLanguageModel,
    Transformer,
    TransformerConfig,
)
from attention_book.models.transformer.layer_config import POSITION_KINDS
from attention_book.training import loss_per_token

BATCH, SOURCE, TARGET, WORDS = 3, 7, 5, 23


@pytest.fixture(autouse=True)
def not_strict():
    with strict(False):
        yield


class Reads(TorchDispatchMode):
    """Counts what waits for the device: a number or a truth value that Python asks for."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        names = ("_local_scalar_dense", "is_nonzero", "equal", "nonzero")
        self.count += func.overloadpacket.__name__ in names
        return func(*args, **(kwargs or {}))


def reads_of(call: Callable[[], object]) -> int:
    with Reads() as reads:
        call()
    return reads.count


def test_the_counter_counts() -> None:
    assert reads_of(lambda: bool(torch.ones(2).sum() > 1)) == 1
    assert reads_of(lambda: torch.ones(2).sum() * 2) == 0


def sentences() -> tuple[Tensor, Tensor, Tensor]:
    """Padded sources, their mask, and targets that begin with <bos>."""
    mask = torch.arange(SOURCE) < torch.tensor([[SOURCE], [3], [5]])
    source = torch.randint(4, WORDS, (BATCH, SOURCE)) * mask
    target = torch.randint(4, WORDS, (BATCH, TARGET))
    target[:, 0] = 2
    return source, mask, target


def transformer(**settings) -> Transformer:
    config = TransformerConfig(
        source_vocabulary=WORDS, target_vocabulary=WORDS, d_model=16, num_heads=2, **settings
    )
    return Transformer(config).eval()


def seen_by_some() -> Tensor:
    mask = torch.rand(BATCH, TARGET, SOURCE) < 0.6
    mask[0, 0] = False  # a query that may see nothing
    return mask


class Case:
    """A module or function with arguments to call it with."""

    def __init__(self, call: Callable[..., Tensor], *args: Tensor, **kwargs: object) -> None:
        self.call, self.args, self.kwargs = call, args, kwargs

    def __call__(self, call: Callable[..., Tensor] | None = None) -> Tensor:
        return (call or self.call)(*self.args, **self.kwargs)


def attentions() -> dict[str, Callable[[], Case]]:
    queries, keys = torch.randn(BATCH, TARGET, 16), torch.randn(BATCH, SOURCE, 16)
    mask = seen_by_some()
    heads = {"d_model": 16, "num_heads": 4}
    additive = AdditiveScore(d_q=16, d_k=16, d_hidden=8)
    return {
        "masked softmax": lambda: Case(masked_softmax, queries @ keys.mT, mask),
        "additive": lambda: Case(Attention(additive), queries, keys, keys, mask),
        "dot product": lambda: Case(DotProductAttention(), queries, keys, keys, mask),
        "self-attention": lambda: Case(SelfAttention(d_model=16), keys),
        "multi-head": lambda: Case(MultiHeadAttention(**heads), queries, keys, keys, mask),
        "causal": lambda: Case(MultiHeadAttention(**heads), keys, keys, keys, is_causal=True),
        "grouped-query": lambda: Case(
            MultiHeadAttention(**heads, num_kv_heads=2), queries, keys, keys, mask
        ),
    }


def models() -> dict[str, Callable[[], Case]]:
    source, mask, target = sentences()
    config = LanguageModelConfig(vocabulary=WORDS, d_model=16, num_heads=2)
    of_positions = {
        f"Transformer, {kind}": lambda kind=kind: Case(
            transformer(positions=kind), source, mask, target
        )
        for kind in POSITION_KINDS
    }
    return of_positions | {
        "pre-norm, tied": lambda: Case(transformer(norm="pre", tied=True), source, mask, target),
        "causal language model": lambda: Case(CausalLanguageModel(config).eval(), target),
        "masked language model": lambda: Case(MaskedLanguageModel(config).eval(), source, mask),
    }


CASES = {**attentions(), **models()}


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_read_back_in_a_forward(name: str) -> None:
    assert reads_of(CASES[name]()) == 0


def test_nothing_is_read_back_in_a_step_of_decoding() -> None:
    model, (source, mask, target) = transformer(), sentences()

    def decode() -> None:
        state = model.start(model.encode(source, mask))
        for token in target.unbind(dim=1):
            _, state = model.step(token, state)

    assert reads_of(decode) == 0


@pytest.mark.filterwarnings("default")  # the compiler's own deprecations
@pytest.mark.parametrize("name", ["grouped-query", "causal", "additive", "pre-norm, tied"])
def test_one_compiled_graph_gives_the_same(name: str) -> None:
    case = CASES[name]()
    torch.compiler.reset()
    compiled = torch.compile(case.call, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(case(compiled), case(), rtol=1e-6, atol=1e-6)


@pytest.mark.filterwarnings("default")
def test_a_step_of_training_is_one_graph() -> None:
    torch.compiler.reset()
    model, (source, mask, target) = transformer(dropout=0.0), sentences()
    real = torch.ones(BATCH, TARGET - 1, dtype=torch.bool)

    def loss(source: Tensor, mask: Tensor, target: Tensor, real: Tensor) -> Tensor:
        return loss_per_token(model(source, mask, target[:, :-1]), target[:, 1:], real)

    gradients = []
    for function in (loss, torch.compile(loss, fullgraph=True, backend="aot_eager")):
        model.zero_grad()
        function(source, mask, target, real).backward()
        gradients.append([parameter.grad.clone() for parameter in model.parameters()])
    torch.testing.assert_close(*gradients, rtol=1e-6, atol=1e-6)


@pytest.mark.filterwarnings("default")
def test_an_exported_transformer_takes_other_batches_and_lengths() -> None:
    from torch.export import Dim, export

    model, sizes = transformer(), {"batch": Dim("batch"), "source": Dim("source", min=2)}
    axes = {0: sizes["batch"], 1: sizes["source"]}
    shapes = (axes, axes, {0: sizes["batch"], 1: Dim("target", min=2)})
    program = export(model, sentences(), dynamic_shapes=shapes).module()
    source, mask, target = sentences()
    others = source[:2].repeat(1, 2), mask[:2, :1].expand(-1, 2 * SOURCE), target[:2, :3]
    for given in (sentences(), others):
        torch.testing.assert_close(program(*given), model(*given), rtol=1e-6, atol=1e-6)


def test_stacked_models_are_mapped_at_once() -> None:
    seeds, (source, mask, target) = [transformer() for _ in range(3)], sentences()
    parameters, buffers = stack_module_state(seeds)
    blank = transformer()

    def run(parameters: dict[str, Tensor], buffers: dict[str, Tensor]) -> Tensor:
        output: Tensor = functional_call(blank, (parameters, buffers), (source, mask, target))
        return output

    together = vmap(run)(parameters, buffers)
    alone = torch.stack([model(source, mask, target) for model in seeds])
    torch.testing.assert_close(together, alone, rtol=1e-5, atol=1e-6)


def test_autocast_computes_in_half_precision_and_stays_close() -> None:
    model, (source, mask, target) = transformer(), sentences()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = model(source, mask, target)
        half.float().logsumexp(dim=-1).sum().backward()
    assert half.dtype == torch.bfloat16
    whole = model(source, mask, target)
    torch.testing.assert_close(half.float(), whole, rtol=0.05, atol=0.05)
    assert all(isinstance(p, nn.Parameter) and p.grad.isfinite().all() for p in model.parameters())
