"""On a real GPU: the numbers of the CPU, within bounds; recorded steps; flex; resume."""

import copy

import pytest
import torch
from torch import Tensor

from attention_book import set_seed
from attention_book.attention import MultiHeadAttention, Places, Visibility
from attention_book.decoding import RecordedStep, greedy_search
from attention_book.models import LanguageConfig, LanguageModel, Transformer, TransformerConfig
from attention_book.models.config import POSITION_KINDS
from attention_book.text import ParallelData, Vocabulary
from attention_book.text.corpora import phrasebook
from attention_book.training import fit, next_token_loss

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU that torch can use"),
]
#: How far |card - CPU| / |CPU| may be off, in each type; gradients four times as far.
BOUNDS = {
    torch.float64: 1e-10,
    torch.float32: 1e-4,
    torch.bfloat16: 5e-2,
    torch.float16: 1e-2,
}
SIZES = {"d_model": 32, "num_heads": 4, "d_ff": 48, "num_layers": 2}
KINDS = pytest.mark.parametrize("kind", POSITION_KINDS)


@pytest.fixture(autouse=True)
def exact_products():
    """TensorFloat-32 rounds products of single precision."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    yield
    torch.backends.cuda.matmul.allow_tf32 = before


def distance(found: Tensor, expected: Tensor) -> float:
    found, expected = found.detach().cpu().double(), expected.detach().double()
    return ((found - expected).norm() / expected.norm()).item()


def language(kind: str, **settings) -> LanguageModel:
    set_seed(1)
    return LanguageModel(LanguageConfig.today(vocabulary=60, positions=kind, **SIZES, **settings))


@KINDS
@pytest.mark.parametrize("dtype", BOUNDS, ids=str)
def test_a_card_gives_the_numbers_of_the_cpu(kind, dtype) -> None:
    exact = language(kind).double()
    tokens = torch.randint(4, 60, (3, 17))
    next_token_loss(exact, tokens, tokens > 0).backward()
    there = copy.deepcopy(exact).to("cuda", dtype)
    there.zero_grad()
    next_token_loss(there, tokens.cuda(), tokens.cuda() > 0).backward()
    assert distance(there(tokens.cuda()), exact(tokens)) < BOUNDS[dtype]
    for (name, ours), theirs in zip(there.named_parameters(), exact.parameters(), strict=True):
        if theirs.grad.norm() > 1e-6:
            assert distance(ours.grad, theirs.grad) < 4 * BOUNDS[dtype], name


@KINDS
@pytest.mark.parametrize("settings", [{}, {"windows": (5, None)}, {"num_kv_heads": 1}], ids=str)
@torch.no_grad()
def test_a_replayed_step_is_the_step(kind, settings) -> None:
    model = language(kind, **settings).cuda().double().eval()
    tokens = torch.randint(4, 60, (3, 12), device="cuda")
    _, state = model.read(tokens[:, :4], model.start(3, max_tokens=12))
    step = RecordedStep(model, state)
    expected = model(tokens)
    for place in range(4, 12):
        torch.testing.assert_close(step(tokens[:, place]), expected[:, place])


@torch.no_grad()
def test_a_translator_is_replayed() -> None:
    set_seed(1)
    sizes = {"source_vocabulary": 60, "target_vocabulary": 60}
    model = Transformer(TransformerConfig(**sizes, **SIZES)).cuda().double().eval()
    source = torch.randint(4, 60, (3, 9), device="cuda")
    memory = model.encode(source, source > 0)
    target = torch.randint(4, 60, (3, 8), device="cuda")
    target[:, 0] = 2
    _, state = model.step(target[:, 0], model.start(memory, max_tokens=8))
    step, expected = RecordedStep(model, state), model.decode(target, memory)
    for place in range(1, 8):
        torch.testing.assert_close(step(target[:, place]), expected[:, place])


@pytest.mark.parametrize("rule", [{}, {"window": 96}, {"window": 96, "num_first": 4}], ids=str)
@pytest.mark.parametrize("documents", [False, True])
def test_flex_attention_is_the_dense_mask(rule, documents) -> None:
    from torch.nn.attention.flex_attention import flex_attention

    n, at = 256, Places(256, 256)
    mask = None
    if documents:
        number = torch.arange(n, device="cuda") // 100
        mask = number[:, None] == number
    see = Visibility(causal=True, mask=mask, **rule)
    q, k, v = torch.randn(3, 2, 4, n, 32, device="cuda")
    ours = torch.compile(flex_attention)(q, k, v, block_mask=see.blocks(at, device="cuda"))
    dense = see.dense(at, "cuda")
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, dense)
    torch.testing.assert_close(ours, expected, rtol=2e-3, atol=2e-3)


def test_sinks_are_the_same_on_a_card() -> None:
    set_seed(2)
    attention = MultiHeadAttention(d_model=32, num_heads=4, window=5, sinks=True).double()
    x = torch.randn(2, 40, 32).double()
    there = copy.deepcopy(attention).cuda()(x.cuda(), is_causal=True)
    assert distance(there, attention(x, is_causal=True)) < BOUNDS[torch.float64]


@pytest.mark.parametrize("autocast", [None, torch.bfloat16, torch.float16], ids=str)
def test_a_training_that_was_cut_off_goes_on_bit_by_bit(tmp_path, autocast) -> None:
    pairs = phrasebook("en", "fr")[:64]
    words = Vocabulary.build(text for pair in pairs for text in (pair.source, pair.target))
    data = ParallelData(pairs, words, words)

    def trained(path, *epochs: int) -> Transformer:
        for each in epochs:
            set_seed(3)
            sizes = {"source_vocabulary": len(words), "target_vocabulary": len(words)}
            model = Transformer(TransformerConfig(**sizes, **SIZES, dropout=0.1)).cuda()
            optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
            how = {"epochs": each, "batch_size": 16, "checkpoint": path, "autocast": autocast}
            list(fit(model, data, optimizer, **how))
        return model

    whole, pieces = (
        trained(tmp_path / "a.safetensors", 4),
        trained(tmp_path / "b.safetensors", 2, 4),
    )
    for ours, theirs in zip(whole.parameters(), pieces.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    source = torch.tensor([[4, 5, 3]], device="cuda")
    found = [greedy_search(m, source, source > 0, max_tokens=9) for m in (whole, pieces)]
    assert found[0] == found[1]
