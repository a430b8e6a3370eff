"""The Transformer that a chapter prints on one page is the package's, number by number."""

import ast
import inspect
import re
from pathlib import Path

import pytest
import torch

from attention_book.course import whole_transformer as whole
from attention_book.decoding import greedy_search
from attention_book.models import Transformer, TransformerConfig
from attention_book.text import BOS, EOS, PAD

SOURCE = Path(inspect.getfile(whole))
LINES, COLUMNS = 150, 77

Pair = tuple[Transformer, whole.Transformer]


def pair(norm: str, tied: bool, seed: int = 0) -> Pair:
    """Return the package's Transformer and the printed one, with the same parameters."""
    torch.manual_seed(seed)
    config = TransformerConfig(
        source_vocabulary=20,
        target_vocabulary=25,
        d_model=16,
        num_heads=4,
        d_ff=24,
        num_layers=2,
        norm=norm,  # type: ignore[arg-type]
        tied=tied,
    )
    ours = Transformer(config).double().eval()
    for parameter in ours.parameters():  # gains and biases, too, are not where they begin
        parameter.data += 0.1 * torch.randn_like(parameter)
    printed = whole.Transformer((20, 25), 2, 16, 4, 24, norm == "pre", tied).double()
    printed.load_state_dict(ours.state_dict())  # all names, and nothing else
    return ours, printed


def batch(rows: int = 8) -> tuple[torch.Tensor, torch.Tensor]:
    """Return sources of 3 to 9 tokens with padding, and targets that begin with <bos>."""
    source, target = torch.randint(4, 20, (rows, 9)), torch.randint(4, 25, (rows, 7))
    lengths = torch.randint(3, 10, (rows, 1))
    lengths[0], lengths[1] = 3, 9
    source[torch.arange(9) == lengths - 1] = EOS
    source[torch.arange(9) >= lengths] = PAD
    target[:, 0] = BOS
    target[2:, 5:] = PAD
    return source, target


models = pytest.mark.parametrize("norm", ["post", "pre"])
matrices = pytest.mark.parametrize("tied", [True, False])


@models
@matrices
def test_the_logits_and_the_loss_are_those_of_the_package(norm: str, tied: bool) -> None:
    ours, printed = pair(norm, tied)
    source, target = batch()
    expected = ours(source, source > 0, target)
    torch.testing.assert_close(printed(source, target), expected, rtol=0, atol=1e-6)
    log_p = ours(source, source > 0, target[:, :-1]).log_softmax(-1)
    words = target[:, 1:]
    of_words = log_p.gather(-1, words[..., None])[..., 0][words != PAD]
    torch.testing.assert_close(whole.loss(printed, source, target), -of_words.mean())


@models
@matrices
def test_greedy_translations_are_those_of_the_package(norm: str, tied: bool) -> None:
    ends = 0
    for seed in range(4):
        ours, printed = pair(norm, tied, seed)
        with torch.no_grad():  # so that some sentences end, and some do not
            ours.decoder.embedding.weight[EOS] *= 3
            ours.readout.weight[EOS] = ours.decoder.embedding.weight[EOS]
        printed.load_state_dict(ours.state_dict())
        source, _ = batch()
        expected = greedy_search(ours, source, source > 0, max_tokens=12)
        found = whole.translate(printed, source, most=12).tolist()
        for each, written in zip(expected, found, strict=True):
            tokens = [*each.ids, *[EOS] * each.finished]
            assert written == tokens + [PAD] * (12 - len(tokens))
            ends += each.finished
    assert 0 < ends < 4 * 8


@models
@matrices
def test_every_parameter_counts(norm: str, tied: bool) -> None:
    ours, printed = pair(norm, tied)
    source, target = batch()
    expected = ours(source, source > 0, target)
    for name, parameter in printed.named_parameters():
        at = (4, 0) if "embedding" in name else tuple(0 for _ in parameter.shape)
        before = parameter.data.clone()
        source[0, 0] = target[0, 1] = 4  # a word that is read
        expected = ours(source, source > 0, target)
        parameter.data[at] += 0.5
        moved = (printed(source, target) - expected).abs().max()
        assert moved > 1e-6, name
        parameter.data.copy_(before)
    torch.testing.assert_close(printed(source, target), expected, rtol=0, atol=1e-6)


def test_what_it_draws_is_drawn_alike() -> None:
    printed = whole.Transformer((1000, 1200), 1, 64, 4, 128)
    for stack in (printed.encoder, printed.decoder):
        assert stack.embedding.weight.std().item() == pytest.approx(1 / 8, rel=0.02)
    assert printed.readout.weight is printed.decoder.embedding.weight


def test_it_stands_on_one_page() -> None:
    lines = SOURCE.read_text(encoding="utf8").splitlines()
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= COLUMNS


def test_the_chapter_prints_it_from_the_first_line_to_the_last() -> None:
    page = (Path(__file__).parents[2] / "book/transformer.md").read_text(encoding="utf8")
    shown = re.findall(rf"^```{{literalinclude}} \S+/{SOURCE.name}\n(.*?)^```$", page, re.M | re.S)
    starts = [re.findall(r'^:start-at: "(.*)"$', options, re.M) for options in shown]
    ends = [re.findall(r'^:end-before: "(.*)"$', options, re.M) for options in shown]
    assert len(shown) > 1
    assert starts == [[], *ends[:-1]]
    assert ends[-1] == []
    lines = SOURCE.read_text(encoding="utf8").splitlines()
    first = [next(i for i, line in enumerate(lines) if start in line) for (start,) in starts[1:]]
    assert first == sorted(first)


def test_it_needs_torch_and_math_alone() -> None:
    imported = set()
    for node in ast.walk(ast.parse(SOURCE.read_text(encoding="utf8"))):
        if isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").partition(".")[0])
        elif isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
    assert imported == {"torch", "math"}
