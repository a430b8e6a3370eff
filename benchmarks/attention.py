"""What our attention costs, forward and backward, against torch's own.

    python benchmarks/attention.py            # all sizes, about two minutes
    python benchmarks/attention.py --quick    # fewer rounds

The baseline is F.scaled_dot_product_attention. nn.MultiheadAttention's core is
what that layer computes between its projections, without and with the weights
it returns by default (need_weights).
"""

import argparse
import math
from collections.abc import Callable

import torch
from paired import compare, table
from torch import Tensor
from torch.nn import functional as F

from attention_book import set_seed
from attention_book.attention import Attention, DotProductAttention, ScaledDotScore, causal_mask

# name: ((*batch, length, d_k), rounds)
SIZES = {
    "small": ((64, 10, 32), 300),
    "medium": ((32, 8, 128, 32), 40),
    "long": ((4, 8, 1024, 64), 9),
}
BASELINE = "F.scaled_dot_product_attention"
Mechanism = Callable[[Tensor, Tensor, Tensor, Tensor | None], Tensor]


def torch_fused(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
    return F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask)


def torch_with_weights(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None
) -> Tensor:
    """Compute what F.multi_head_attention_forward does between its projections."""
    queries = queries * math.sqrt(1.0 / queries.shape[-1])
    if mask is None:
        scores = queries @ keys.mT
    else:
        bias = torch.zeros(mask.shape).masked_fill(~mask, -math.inf)
        scores = bias + queries @ keys.mT
    return F.softmax(scores, dim=-1) @ values


MECHANISMS: dict[str, Mechanism] = {
    BASELINE: torch_fused,
    "DotProductAttention": DotProductAttention(),
    "nn.MultiheadAttention's core": torch_with_weights,
    "Attention(ScaledDotScore())": Attention(ScaledDotScore()),
}


def program(
    mechanism: Mechanism, shape: tuple[int, ...], mask: Tensor | None
) -> Callable[[], None]:
    """Prepare one forward and backward pass with its own inputs."""
    tensors = [torch.randn(shape, requires_grad=True) for _ in range(3)]
    upstream = torch.randn(shape)

    def forward_and_backward() -> None:
        output = mechanism(*tensors, mask)
        torch.autograd.grad(output, tensors, upstream)

    return forward_and_backward


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rounds")
    arguments = parser.parse_args()
    set_seed(42)
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, CPU, 1 thread; forward + backward, float32")
    for name, (shape, rounds) in SIZES.items():
        rounds = max(5, rounds // 10) if arguments.quick else rounds
        length = shape[-2]
        for masked, mask in {"no mask": None, "causal mask": causal_mask(length)}.items():
            print(f"\n{name}, {shape}, {masked}, {rounds} rounds")
            programs = {key: program(used, shape, mask) for key, used in MECHANISMS.items()}
            timings = compare(programs, baseline=BASELINE, rounds=rounds)
            print(table(timings, baseline=BASELINE), flush=True)


if __name__ == "__main__":
    main()
