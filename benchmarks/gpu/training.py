"""Part (b): a step of training: tokens a second, share of the card's peak, memory.

Two models, each the package's beside another of the same sizes: a decoder of 124 million numbers
(Hugging Face's Llama and GPT-2, x-transformers), and the base Transformer of 2017 (torch's
nn.Transformer).
bfloat16 by autocast, AdamW (fused). A step's operations are taken as 6 N T, and 12 L d n T for
the scores (half of it where causal): recomputation and the optimizer do not count.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from measuring import Results, ceilings, compiled, run, timed
from torch import Tensor, nn
from torch.nn import functional as F

from attention_book.models import (
    LanguageConfig,
    LanguageModel,
    RotarySettings,
    Transformer,
    TransformerConfig,
)
from attention_book.text import BOS, PAD
from attention_book.training import descend, loss_per_token, next_token_loss

VOCABULARY = 50304
LARGE = {"d_model": 768, "num_layers": 12, "num_heads": 12, "d_ff": 2048}
BASE = {"d_model": 512, "num_layers": 6, "num_heads": 8, "d_ff": 2048}
TINY = {"d_model": 32, "num_layers": 2, "num_heads": 4, "d_ff": 64}


def main(results: Results) -> None:
    """Measure eager ones first: each takes seconds; what is compiled takes half a minute."""
    top = ceilings(results)
    decoders = {
        "decoder, package": own_decoder,
        "decoder, Llama of Hugging Face": their_llama,
        "decoder, GPT-2 of Hugging Face": their_gpt2,
        "decoder, x-transformers": their_x_transformer,
    }
    translators = {
        "translator, package": own_translator,
        "translator, nn.Transformer": their_translator,
    }
    for name, make in {**decoders, **translators}.items():
        results.measure(name, lambda make=make: step(results, make, top), needs=8)
    results.measure("decoder, package, its own trainer", lambda: own_trainer(results, top), needs=8)
    for name in (
        "decoder, package",
        "decoder, Llama of Hugging Face",
        "translator, package",
        "translator, nn.Transformer",
    ):
        make = {**decoders, **translators}[name]
        results.measure(
            f"{name}, compiled",
            lambda make=make: step(results, make, top, compile_it=True),
            needs=45,
        )


class Work:
    """A model, its loss, and how many tokens and operations a step has."""

    def __init__(
        self, model: nn.Module, loss: Callable[[nn.Module], Tensor], tokens: int, scores: float
    ) -> None:
        self.model, self.loss, self.tokens, self.scores = model, loss, tokens, scores
        self.num_weights = sum({id(p): p.numel() for p in model.parameters()}.values())

    @property
    def operations(self) -> float:
        """How many operations a step has."""
        return 6.0 * self.num_weights * self.tokens + self.scores


def sizes(results: Results, given: dict[str, int]) -> dict[str, int]:
    """Return the sizes, or tiny ones."""
    return TINY if results.tiny else given


def _texts(results: Results) -> tuple[Tensor, int]:
    batch, length = (2, 16) if results.tiny else (16, 1024)
    vocabulary = 96 if results.tiny else VOCABULARY
    torch.manual_seed(0)
    return torch.randint(4, vocabulary, (batch, length + 1), device=results.device), vocabulary


def _scores(size: dict[str, int], tokens: int, length: int) -> float:
    return 12.0 * size["num_layers"] * size["d_model"] * length * tokens / 2


def decoder(vocabulary: int, size: dict[str, int]) -> nn.Module:
    """Return the package's decoder, in Llama's build, its output layer tied."""
    rotary = RotarySettings(pairing="halves")
    config = LanguageConfig.today(
        vocabulary=vocabulary, rotary=rotary, tied=True, embedding_scale=1.0, **size
    )
    return LanguageModel(config)


def translator(vocabulary: int, size: dict[str, int], *, dropout: float) -> nn.Module:
    """Return the package's Transformer, whose three matrices of words are one."""
    sizes: dict[str, Any] = {"source_vocabulary": vocabulary, "target_vocabulary": vocabulary}
    return Transformer(TransformerConfig(**sizes, shared=True, bias=True, dropout=dropout, **size))


def _translator_loss(
    model: nn.Module, source: Tensor, mask: Tensor, target: Tensor, real: Tensor
) -> Tensor:
    logits = model(source, mask, target[:, :-1])
    return loss_per_token(logits, target[:, 1:], real[:, 1:], label_smoothing=0.1)


def own_decoder(results: Results) -> Work:
    """The package's decoder, in Llama's build."""
    tokens, vocabulary = _texts(results)
    size = sizes(results, LARGE)
    model = decoder(vocabulary, size).to(results.device)
    real = torch.ones_like(tokens, dtype=torch.bool)
    count = tokens[:, 1:].numel()
    return Work(
        model,
        lambda m: next_token_loss(m, tokens, real),
        count,
        _scores(size, count, tokens.shape[1] - 1),
    )


def _plain_loss(logits: Tensor, tokens: Tensor) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


def their_llama(results: Results) -> Work:
    """Hugging Face's Llama of the same sizes."""
    import transformers

    tokens, vocabulary = _texts(results)
    size = sizes(results, LARGE)
    config = transformers.LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=size["d_model"],
        intermediate_size=size["d_ff"],
        num_hidden_layers=size["num_layers"],
        num_attention_heads=size["num_heads"],
        max_position_embeddings=2048,
        tie_word_embeddings=True,
        attn_implementation="sdpa",
        use_cache=False,
    )
    model = transformers.LlamaForCausalLM(config).to(results.device)
    return _work_of_hugging_face(model, tokens, size)


def their_gpt2(results: Results) -> Work:
    """Hugging Face's GPT-2 of about as many numbers."""
    import transformers

    tokens, vocabulary = _texts(results)
    size = sizes(results, LARGE)
    config = transformers.GPT2Config(
        vocab_size=vocabulary,
        n_positions=2048,
        n_embd=size["d_model"],
        n_layer=size["num_layers"],
        n_head=size["num_heads"],
        attn_implementation="sdpa",
        use_cache=False,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
    )
    model = transformers.GPT2LMHeadModel(config).to(results.device)
    return _work_of_hugging_face(model, tokens, size)


def _work_of_hugging_face(model: Any, tokens: Tensor, size: Any) -> Work:
    count = tokens[:, 1:].numel()
    return Work(
        model,
        lambda m: _plain_loss(m(input_ids=tokens[:, :-1]).logits, tokens),
        count,
        _scores(size, count, tokens.shape[1] - 1),
    )


def their_x_transformer(results: Results) -> Work:
    """The decoder of x-transformers, with rotary positions, RMSNorm and SwiGLU."""
    import x_transformers

    tokens, vocabulary = _texts(results)
    size = sizes(results, LARGE)
    layers = x_transformers.Decoder(
        dim=size["d_model"],
        depth=size["num_layers"],
        heads=size["num_heads"],
        attn_dim_head=size["d_model"] // size["num_heads"],
        ff_mult=size["d_ff"] / size["d_model"],
        ff_glu=True,
        ff_swish=True,
        use_rmsnorm=True,
        rotary_pos_emb=True,
        attn_flash=True,
    )
    model = x_transformers.TransformerWrapper(
        num_tokens=vocabulary,
        max_seq_len=2048,
        attn_layers=layers,
        tie_embedding=True,
        use_abs_pos_emb=False,
    ).to(results.device)
    count = tokens[:, 1:].numel()
    return Work(
        model,
        lambda m: _plain_loss(m(tokens[:, :-1]), tokens),
        count,
        _scores(size, count, tokens.shape[1] - 1),
    )


def _pairs(results: Results) -> tuple[Tensor, Tensor, Tensor, Tensor, int]:
    batch, length = (2, 8) if results.tiny else (128, 64)
    vocabulary = 96 if results.tiny else 32768
    torch.manual_seed(0)
    device = results.device
    source = torch.randint(4, vocabulary, (batch, length), device=device)
    target = torch.randint(4, vocabulary, (batch, length + 1), device=device)
    target[:, 0] = BOS
    # Real batches are padded: every sentence has between half and all of the length.
    lengths = torch.randint(length // 2, length + 1, (2, batch, 1), device=device)
    lengths[:, 0] = length
    mask = torch.arange(length, device=device) < lengths[0]
    real = torch.arange(length + 1, device=device) <= lengths[1]
    source, target = source.masked_fill(~mask, PAD), target.masked_fill(~real, PAD)
    return source, mask, target, real, vocabulary


def own_translator(results: Results) -> Work:
    """The package's encoder-decoder."""
    source, mask, target, real, vocabulary = _pairs(results)
    size = sizes(results, BASE)
    model = translator(vocabulary, size, dropout=0.1).to(results.device)
    count = source.numel() + target[:, 1:].numel()
    return Work(
        model,
        lambda m: _translator_loss(m, source, mask, target, real),
        count // 2,  # each weight sees one of the two sides
        3 * _scores(size, count // 2, source.shape[1]),
    )


class TheirTranslator(nn.Module):
    """torch's nn.Transformer with embeddings, sinusoids and a tied output layer."""

    def __init__(self, vocabulary: int, size: dict[str, int]) -> None:
        super().__init__()
        width = size["d_model"]
        self.words = nn.Embedding(vocabulary, width)
        nn.init.normal_(self.words.weight, std=width**-0.5)
        self.body = nn.Transformer(
            width,
            size["num_heads"],
            size["num_layers"],
            size["num_layers"],
            size["d_ff"],
            dropout=0.1,
            batch_first=True,
        )
        place = torch.arange(512)[:, None] * 10000 ** (-torch.arange(0, width, 2) / width)
        table = torch.stack((place.sin(), place.cos()), dim=-1).flatten(1)
        self.register_buffer("places", table, persistent=False)
        self.dropout = nn.Dropout(0.1)

    def _embedded(self, tokens: Tensor) -> Tensor:
        x = self.words(tokens) * math.sqrt(self.words.embedding_dim)
        return self.dropout(x + self.places[: tokens.shape[1]])

    def forward(self, source: Tensor, mask: Tensor, target: Tensor) -> Tensor:
        n = target.shape[1]
        future = torch.ones(n, n, dtype=torch.bool, device=target.device).triu(1)
        found = self.body(
            self._embedded(source),
            self._embedded(target),
            tgt_mask=future,
            src_key_padding_mask=~mask,
            memory_key_padding_mask=~mask,
            tgt_is_causal=True,
        )
        return F.linear(found, self.words.weight)


def their_translator(results: Results) -> Work:
    """torch's, of the same sizes."""
    source, mask, target, real, vocabulary = _pairs(results)
    size = sizes(results, BASE)
    model = TheirTranslator(vocabulary, size).to(results.device)
    count = source.numel() + target[:, 1:].numel()

    def loss(m: nn.Module) -> Tensor:
        logits = m(source, mask, target[:, :-1])
        gold = target[:, 1:].masked_fill(~real[:, 1:], -100)
        return F.cross_entropy(logits.flatten(0, 1), gold.flatten(), label_smoothing=0.1)

    return Work(model, loss, count // 2, 3 * _scores(size, count // 2, source.shape[1]))


def step(
    results: Results,
    make: Callable[[Results], Work],
    top: dict[str, float],
    *,
    compile_it: bool = False,
) -> dict[str, Any]:
    """Return time and rates of a whole step: loss, gradients, AdamW."""
    device = results.device
    work = make(results)
    work.model.train()
    model = compiled(work.model, tiny=results.tiny) if compile_it else work.model
    optimizer = torch.optim.AdamW(work.model.parameters(), lr=1e-4, fused=not results.tiny)
    losses: list[Tensor] = []

    def one() -> None:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device.type, dtype=torch.bfloat16):
            loss = work.loss(model)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())

    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    clock = timed(one, device, repeats=20, warm=3, most_s=6.0)
    found = rates(clock, work, top)
    found["first_loss"], found["last_loss"] = losses[0].item(), losses[-1].item()
    if device.type == "cuda":
        found["peak_gib"] = round(torch.cuda.max_memory_allocated() / 2**30, 2)
    return found


def own_trainer(results: Results, top: dict[str, float]) -> dict[str, Any]:
    """The same step by the package's own stepper, which clips, checks and reads the loss back."""
    work = own_decoder(results)
    work.model.train()
    optimizer = torch.optim.AdamW(work.model.parameters(), lr=1e-4, fused=not results.tiny)
    reports = descend(
        lambda: work.loss(work.model),
        optimizer,
        steps=1000,
        clip=1.0,
        autocast=None if results.tiny else torch.bfloat16,
    )
    clock = timed(lambda: next(reports), results.device, repeats=20, warm=3, most_s=6.0)
    return rates(clock, work, top)


def rates(clock: dict[str, Any], work: Work, top: dict[str, float]) -> dict[str, Any]:
    """Return what a step's time means."""
    seconds = clock["median_s"]
    found = clock | {
        "num_weights": work.num_weights,
        "tokens_per_s": work.tokens / seconds,
        "tflops": work.operations / seconds / 1e12,
    }
    if "bf16" in top:
        found["share_of_matmul"] = work.operations / seconds / top["bf16"]
    return found


if __name__ == "__main__":
    run("training", main)
