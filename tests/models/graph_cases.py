"""Every model with inputs for a call; run as a script, compiled and exported too.

As a script, for the tests' own checks of types would stand in the compiler's way: it prints, as
JSON, how far each compiled or exported case is from the plain one.
"""

import json
import warnings
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from attention_book.models import (
    LanguageConfig,
    LanguageModel,
    Transformer,
    TransformerConfig,
)
from attention_book.models.config import POSITION_KINDS
from attention_book.training import loss_per_token

BATCH, SOURCE, TARGET, WORDS = 3, 7, 5, 23


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


class Case:
    """A module or function with arguments to call it with."""

    def __init__(self, call: Callable[..., Tensor], *args: Tensor, **kwargs: object) -> None:
        self.call, self.args, self.kwargs = call, args, kwargs

    def __call__(self, call: Callable[..., Tensor] | None = None) -> Tensor:
        return (self.call if call is None else call)(*self.args, **self.kwargs)


def models() -> dict[str, Callable[[], Case]]:
    source, mask, target = sentences()
    config = LanguageConfig(vocabulary=WORDS, d_model=16, num_heads=2)
    of_positions = {
        f"Transformer, {kind}": lambda kind=kind: Case(
            transformer(positions=kind, num_layers=1), source, mask, target
        )
        for kind in POSITION_KINDS
    }
    return of_positions | {
        "pre-norm, tied": lambda: Case(transformer(norm="pre", tied=True), source, mask, target),
        "causal language model": lambda: Case(LanguageModel(config).eval(), target),
        "decoder-only": lambda: Case(
            LanguageModel(
                LanguageConfig.today(
                    vocabulary=WORDS, num_kv_heads=2, qk_norm=True, windows=(2, None)
                )
            ).eval(),
            source,
            mask,
        ),
        "masked language model": lambda: Case(
            LanguageModel(replace(config, causal=False)).eval(), source, mask
        ),
    }


CASES = models()


def distance(some: Tensor, others: Tensor) -> float:
    return (some - others).abs().max().item()


def compiled(name: str) -> float:
    torch.compiler.reset()
    case = CASES[name]()
    with torch.no_grad():
        graph = torch.compile(case.call, fullgraph=True, backend="aot_eager")
        return distance(case(graph), case())


def compiled_training() -> float:
    """The gradients of a training step: model and loss in one graph."""
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
    return max(distance(*pair) for pair in zip(*gradients, strict=True))


def exported() -> float:
    """The exported Transformer, with another batch and other lengths than it was shown."""
    from torch.export import Dim, export

    model, batch = transformer(), Dim("batch")
    axes = {0: batch, 1: Dim("source", min=2)}
    shapes = (axes, axes, {0: batch, 1: Dim("target", min=2)})
    program = export(model, sentences(), dynamic_shapes=shapes).module()
    source, mask, target = sentences()
    longer = source[:2].repeat(1, 2), mask[:2, :1].expand(-1, 2 * SOURCE), target[:2, :3]
    return max(distance(program(*x), model(*x)) for x in (sentences(), longer))


def main() -> None:
    warnings.simplefilter("ignore")  # the compiler's own deprecations
    torch.manual_seed(7)
    found = {name: compiled(name) for name in CASES}
    found |= {"a training step": compiled_training(), "exported": exported()}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
