"""What a compiled forward, training step and cached step hold that a CUDA graph cannot.

The models lie on ``meta``, so that whatever stands on another device in their graph shows. Run as a
script, for the tests' own checks of types would stand in the compiler's way: ``python graphs.py
FILE`` writes for each graph how many tensors it has, and those that lie elsewhere.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from attention_book.attention import FixedKVCache
from attention_book.models import LanguageConfig, LanguageModel, Transformer, TransformerConfig
from attention_book.models.config import POSITION_KINDS
from attention_book.training import loss_per_token, next_token_loss

SIZES: dict[str, Any] = {"d_model": 24, "num_heads": 2, "d_ff": 16, "num_layers": 2}


def nodes(call: Callable[..., Any], *given: Any) -> list[tuple[str, str]]:
    """Return the device and the name of every tensor in the one graph of a call."""
    found = []

    def noted(graph: Any, _: Any) -> Any:
        for node in graph.graph.nodes:
            value = node.meta.get("example_value")
            for each in value if isinstance(value, tuple | list) else [value]:
                if isinstance(each, Tensor):
                    found.append((each.device.type, str(node.target)))
        return graph.forward

    torch._dynamo.reset()
    torch.compile(call, backend=noted, fullgraph=True)(*given)
    return found


def graphs(kind: str) -> dict[str, list[tuple[str, str]]]:
    """Return the graphs of both models with these positions."""
    with torch.device("meta"):
        sizes = {"source_vocabulary": 12, "target_vocabulary": 12}
        translator = Transformer(TransformerConfig(positions=kind, **sizes, **SIZES))  # type: ignore[arg-type]
        settings = {"windows": (3, None), "num_kv_heads": 1, "tied": True}
        config = LanguageConfig.today(vocabulary=12, positions=kind, **settings, **SIZES)
        writer = LanguageModel(config)
        tokens = torch.ones(3, 5, dtype=torch.long)
    real = tokens > 0

    def translator_loss() -> Tensor:
        return loss_per_token(translator(tokens, real, tokens), tokens, real, label_smoothing=0.1)

    def step(token: Tensor, state: Any) -> Tensor:
        with torch.no_grad():
            logits: Tensor = writer.step(token, state)[0]
        return logits

    with torch.no_grad():
        _, grown = writer.read(tokens, writer.start(3))
        _, fixed = writer.read(tokens, writer.start(3, max_tokens=9))
    assert isinstance(fixed.layers[0], FixedKVCache)
    return {
        "translator": nodes(translator_loss),
        "writer": nodes(lambda: next_token_loss(writer, tokens, real)),
        "step": nodes(step, tokens[:, 0], grown),
        "step in a fixed cache": nodes(step, tokens[:, 0], fixed.on_device()),
    }


def main() -> None:
    """Write what was found."""
    found = {
        f"{name}, {kind}": {
            "nodes": len(each),
            "elsewhere": [target for device, target in each if device != "meta"],
        }
        for kind in POSITION_KINDS
        for name, each in graphs(kind).items()
    }
    Path(sys.argv[1]).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
