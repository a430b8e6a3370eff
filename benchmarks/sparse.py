"""What skipping the empty blocks of a mask saves, against dense attention under the same mask.

    python benchmarks/sparse.py            # all, about three minutes
    python benchmarks/sparse.py --quick    # fewer rounds

The baseline is dot_product_attention with the mask: torch's fused kernel, which computes all
pairs. Both give the same output (checked here) for the same random queries, keys and values,
batch 1, 4 heads of 32 features. "forward": the output alone; "with backward": the gradients of
queries, keys and values too. "planning": plan_blocks is called anew each time, and then the
forward pass.

Part one: masks whose visible blocks are drawn at random, so that the share of pairs and the
share of blocks are the same. Part two: patterns of the book, in which they differ.
"""

import argparse
from collections.abc import Callable

import torch
from paired import Timing, compare
from torch import Tensor

from attention_book import set_seed
from attention_book.attention import (
    BlockPlan,
    block_mask,
    block_sparse_attention,
    causal_mask,
    density,
    dot_product_attention,
    global_mask,
    plan_blocks,
    random_mask,
    strided_mask,
    window_mask,
)

HEADS, D_K = 4, 32
Program = Callable[[], object]


def random_blocks(length: int, block_size: int, share: float) -> Tensor:
    """Draw a mask of whole blocks, the same number in each row of blocks."""
    count = length // block_size
    blocks = random_mask(count, num_keys=max(1, round(share * count)))
    return blocks.repeat_interleave(block_size, 0).repeat_interleave(block_size, 1)


def patterns(length: int) -> dict[str, Tensor]:
    window = window_mask(length, radius=64)
    return {
        "window 64": window,
        "window 64 and 4 global": window | global_mask(length, positions=range(4)),
        "blocks of 256": block_mask(length, block_size=256),
        "causal": causal_mask(length),
        "window 64 and stride 64": window | strided_mask(length, stride=64),
        "window 64 and 16 random": window | random_mask(length, num_keys=16),
    }


def programs(mask: Tensor, block_size: int) -> dict[str, dict[str, Program]]:
    """Prepare what is compared: for each measure, dense and skipping."""
    q, k, v = (each.requires_grad_() for each in torch.randn(3, 1, HEADS, len(mask), D_K))
    upstream = torch.randn_like(v)
    plan = plan_blocks(mask, block_size=block_size)

    def dense() -> Tensor:
        return dot_product_attention(q, k, v, mask)

    def skipping(plan: BlockPlan = plan) -> Tensor:
        return block_sparse_attention(q, k, v, plan)

    def planning() -> Tensor:
        return skipping(plan_blocks(mask, block_size=block_size))

    def forward(attend: Callable[[], Tensor]) -> Program:
        return torch.no_grad()(attend)

    def with_backward(attend: Callable[[], Tensor]) -> Program:
        return lambda: torch.autograd.grad(attend(), (q, k, v), upstream)

    torch.testing.assert_close(skipping(), dense(), atol=1e-5, rtol=1e-4)
    return {
        "forward": {"dense": forward(dense), "skipping": forward(skipping)},
        "with backward": {"dense": with_backward(dense), "skipping": with_backward(skipping)},
        "planning": {"dense": forward(dense), "skipping": forward(planning)},
    }


def report(name: str, mask: Tensor, block_size: int, rounds: int) -> None:
    """Print one line: shares of pairs and of blocks, and the three ratios of time."""
    kept = plan_blocks(mask, block_size=block_size).kept
    cells = []
    for measured in programs(mask, block_size).values():
        timing: Timing = compare(measured, baseline="dense", rounds=rounds)["skipping"]
        cells.append(
            f"{timing.ratio:.2f} ({timing.lower_quartile:.2f} to {timing.upper_quartile:.2f})"
        )
    shares = f"{density(mask):.3f} | {kept:.3f}"
    print(f"| {len(mask)} | {name} | {shares} | " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds, shorter sequences")
    parser.add_argument("--block-size", type=int, default=64)
    arguments = parser.parse_args()
    set_seed(42)
    torch.set_num_threads(1)
    rounds = 5 if arguments.quick else 15
    lengths = (512, 1024, 2048) if arguments.quick else (512, 1024, 2048, 4096)
    block_size = arguments.block_size
    print(f"torch {torch.__version__}, CPU, 1 thread, float32; blocks of {block_size}")
    print("| length | mask | pairs | blocks | forward | with backward | planning and forward |")
    print("|---|---|---|---|---|---|---|")
    for length in lengths:
        for share in (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1):
            report("random blocks", random_blocks(length, block_size, share), block_size, rounds)
    for length in lengths:
        for name, mask in patterns(length).items():
            report(name, mask, block_size, rounds)


if __name__ == "__main__":
    main()
