"""On a GPU: does a call wait for the device? Python could go ahead otherwise."""

from collections.abc import Callable, Mapping

import torch
from transformer import Batch

from attention_book.models import Transformer
from attention_book.training import loss_per_token
from peers.programs import Program
from peers.sizes import Plan, create, training_batch


def waits(call: Callable[[], object]) -> str:
    """Return why a call waits for the device, "" if it doesn't; warmed up before."""
    call()
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        call()
    except RuntimeError as error:
        if "synchroniz" not in str(error):
            raise
        return str(error).splitlines()[0]
    finally:
        torch.cuda.set_sync_debug_mode("default")
    return ""


def waiting(kinds: Mapping[str, type[Program]], plan: Plan) -> dict[str, str]:
    """Tell for each program whether forward and backward pass wait; for ours a decoding step too.

    Raises:
        AssertionError: if ours waits.
    """
    batch = training_batch(plan.size).to("cuda")
    programs = create(kinds, plan.size.config(), max_tokens=plan.size.tokens, endless=True)
    found = {}
    for name, program in programs.items():
        found[name] = waits(passes(program.to("cuda").train(), batch))
        if isinstance(program.model, Transformer):
            found[f"{name}, a decoding step"] = waits(step(program.model.eval(), batch))
    bad = {name: why for name, why in found.items() if name.startswith("ours") and why}
    assert not bad, f"these wait for the device: {bad}"
    return found


def passes(program: Program, batch: Batch) -> Callable[[], object]:
    """Return a forward and a backward pass."""

    def call() -> None:
        logits = program(batch.source, batch.mask, batch.target_input)
        loss_per_token(logits, batch.target, batch.mask).backward()

    return call


def step(model: Transformer, batch: Batch) -> Callable[[], object]:
    """Return two steps of decoding: with nothing written, and with something."""
    with torch.no_grad():
        state = model.start(model.encode(batch.source, batch.mask))

    @torch.no_grad()
    def call() -> None:
        token = batch.target_input[:, 0]
        logits, after = model.step(token, state)
        model.step(logits.argmax(-1), after)

    return call
