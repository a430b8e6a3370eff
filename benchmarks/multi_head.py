"""What our multi-head attention costs, forward and backward, against torch's own.

    python benchmarks/multi_head.py            # all sizes, about two minutes
    python benchmarks/multi_head.py --quick    # fewer rounds

The baseline is nn.MultiheadAttention asked for no weights: its fastest way. The inputs are
a sequence that attends to itself; both modules have the same parameters, biases included.
Under the causal mask torch's is timed twice: with the mask, as ours, and told besides that
it is causal (is_causal), so that it may leave the mask unread. Memory is what one forward
pass keeps for the backward pass, its output included.
"""

import argparse
from collections.abc import Callable
from typing import NamedTuple

import torch
from paired import compare, table
from torch import Tensor, nn

from attention_book import set_seed
from attention_book.attention import MultiHeadAttention, causal_mask


class Size(NamedTuple):
    batch: int
    length: int
    d_model: int
    num_heads: int
    rounds: int


SIZES = {
    "small": Size(64, 10, 32, 4, rounds=300),
    "medium": Size(32, 128, 256, 8, rounds=30),
    "long": Size(4, 1024, 512, 8, rounds=11),
}
BASELINE = "nn.MultiheadAttention"
Attend = Callable[[Tensor], Tensor]


def attending(size: Size, mask: Tensor | None) -> dict[str, tuple[nn.Module, Attend]]:
    """Create each module, and the way it is called."""
    theirs = nn.MultiheadAttention(size.d_model, size.num_heads, batch_first=True)
    ours = MultiHeadAttention(d_model=size.d_model, num_heads=size.num_heads, bias=True)
    hidden = None if mask is None else ~mask

    def torch_attends(x: Tensor, **options: bool) -> Tensor:
        output: Tensor = theirs(x, x, x, attn_mask=hidden, need_weights=False, **options)[0]
        return output

    ways: dict[str, tuple[nn.Module, Attend]] = {
        BASELINE: (theirs, torch_attends),
        "MultiHeadAttention": (ours, lambda x: ours(x, x, x, mask)),
    }
    if mask is not None:
        ways["nn.MultiheadAttention, is_causal"] = (
            theirs,
            lambda x: torch_attends(x, is_causal=True),
        )
    return ways


def program(module: nn.Module, attend: Attend, size: Size) -> Callable[[], None]:
    """Prepare one forward and backward pass with its own input."""
    x = torch.randn(size.batch, size.length, size.d_model, requires_grad=True)
    upstream = torch.randn_like(x)
    wanted = [x, *module.parameters()]

    def forward_and_backward() -> None:
        torch.autograd.grad(attend(x), wanted, upstream)

    return forward_and_backward


def kept_bytes(module: nn.Module, attend: Attend, size: Size) -> int:
    """Count the bytes of all tensors that the backward pass will need, each storage once."""
    storages: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage.nbytes()
        return tensor

    x = torch.randn(size.batch, size.length, size.d_model, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        output = attend(x)
    pack(output)
    own = {parameter.untyped_storage().data_ptr() for parameter in module.parameters()}
    return sum(count for place, count in storages.items() if place not in own)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rounds")
    arguments = parser.parse_args()
    set_seed(42)
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, CPU, 1 thread; forward + backward, float32")
    for name, size in SIZES.items():
        rounds = max(5, size.rounds // 10) if arguments.quick else size.rounds
        for masked, mask in {"no mask": None, "causal mask": causal_mask(size.length)}.items():
            print(
                f"\n{name}, (batch, length, d_model, heads) = {size[:4]}, {masked}, {rounds} rounds"
            )
            ways = attending(size, mask)
            programs = {key: program(*way, size) for key, way in ways.items()}
            print(table(compare(programs, baseline=BASELINE, rounds=rounds), baseline=BASELINE))
            for key, way in ways.items():
                print(f"  {key:32}{kept_bytes(*way, size) / 2**20:8.3f} MiB kept", flush=True)


if __name__ == "__main__":
    main()
