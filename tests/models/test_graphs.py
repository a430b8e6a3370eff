"""The same code compiled, exported, mapped over models and in half precision; nothing is read back.

A model's forward holds no branch on data: so it never makes a GPU wait, and one graph holds it.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.func import functional_call, stack_module_state, vmap

from attention_book.foundations.checks import STRICT_VARIABLE, strict

sys.path.append(str(Path(__file__).parent))
from graph_cases import CASES, sentences, transformer

ReadsOf = Callable[[Callable[[], object]], int]


@pytest.fixture(autouse=True)
def not_strict():
    with strict(False):
        yield


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_read_back_in_a_forward(name: str, reads_of: ReadsOf) -> None:
    assert reads_of(CASES[name]()) == 0


def test_nothing_is_read_back_in_a_step_of_decoding(reads_of: ReadsOf) -> None:
    model, (source, mask, target) = transformer(), sentences()

    def decode() -> None:
        state = model.start(model.encode(source, mask))
        for token in target.unbind(dim=1):
            _, state = model.step(token, state)

    assert reads_of(decode) == 0


@pytest.fixture(scope="module")
def distances() -> dict[str, float]:
    """How far compiled and exported graphs are from plain calls; in a process of its own."""
    script = Path(__file__).with_name("graph_cases.py")
    environment = {**os.environ, STRICT_VARIABLE: "0"}
    run = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=environment, check=False
    )
    assert run.returncode == 0, run.stderr
    found: dict[str, float] = json.loads(run.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("name", [*CASES, "a training step", "exported"])
def test_one_graph_gives_the_same(distances: dict[str, float], name: str) -> None:
    assert distances[name] <= 1e-6


@pytest.mark.filterwarnings("default")  # a kernel that is mapped by a slow rule
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
    assert all(p.grad.isfinite().all() for p in model.parameters())
