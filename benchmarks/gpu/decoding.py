"""Part (c): writing token by token: milliseconds a token, beside what the card's memory allows.

A step must read every weight once, so a token cannot come sooner than bytes of the weights (and of
the cache) over the bandwidth of a copy: ``share_of_copy`` says how close a loop comes.
"""

from typing import Any

import torch
from measuring import Results, ceilings, run, spread, timed, timed_on_host
from torch import Tensor, nn
from training import decoder, translator

from attention_book.decoding import RecordedStep, beam_search, greedy_search, sample
from attention_book.text import BOS

LARGE = {"d_model": 768, "num_layers": 12, "num_heads": 12, "d_ff": 2048}
BASE = {"d_model": 512, "num_layers": 6, "num_heads": 8, "d_ff": 2048}
TINY = {"d_model": 32, "num_layers": 2, "num_heads": 4, "d_ff": 64}


def main(results: Results) -> None:
    """Measure the package's loops, a graph of one step, and Hugging Face's generate."""
    top = ceilings(results)
    job = Job(results, top)
    for batch in job.batches:
        results.measure(f"package, prompt at once, batch {batch}", lambda b=batch: job.prompt(b))
        results.measure(f"package, step, batch {batch}", lambda b=batch: job.own_steps(b), needs=6)
        results.measure(
            f"package, sample, batch {batch}", lambda b=batch: job.own_sample(b), needs=6
        )
        results.measure(
            f"Hugging Face, growing cache, batch {batch}",
            lambda b=batch: job.theirs(b, None),
            needs=8,
        )
    for batch in job.batches:
        results.measure(
            f"package, fixed cache, step replayed, batch {batch}",
            lambda b=batch: job.recorded(b),
            needs=6,
        )
    for width in (1, 5):
        results.measure(
            f"package, translation, width {width}", lambda w=width: job.translation(w), needs=8
        )
    for batch in job.batches:
        results.measure(
            f"Hugging Face, static cache, batch {batch}",
            lambda b=batch: job.theirs(b, "static"),
            needs=40,
        )


class Job:
    """Models of part 3's sizes in bfloat16, prompts, and loops."""

    def __init__(self, results: Results, top: dict[str, float]) -> None:
        self.results, self.top, self.device = results, top, results.device
        tiny = results.tiny
        self.size = TINY if tiny else LARGE
        self.base = TINY if tiny else BASE
        self.vocabulary = 96 if tiny else 50304
        self.num_prompt, self.num_new = (6, 5) if tiny else (128, 128)
        self.batches = (1, 2) if tiny else (1, 64)
        self.dtype = torch.float32 if tiny else torch.bfloat16
        self._kept: dict[str, nn.Module] = {}

    def own(self) -> nn.Module:
        """The package's decoder."""
        if "own" not in self._kept:
            torch.manual_seed(0)
            model = decoder(self.vocabulary, self.size)
            self._kept["own"] = model.to(self.device, self.dtype).eval()
        return self._kept["own"]

    def llama(self) -> nn.Module:
        """Hugging Face's Llama of the same sizes."""
        if "llama" not in self._kept:
            import transformers

            torch.manual_seed(0)
            config = transformers.LlamaConfig(
                vocab_size=self.vocabulary,
                hidden_size=self.size["d_model"],
                intermediate_size=self.size["d_ff"],
                num_hidden_layers=self.size["num_layers"],
                num_attention_heads=self.size["num_heads"],
                max_position_embeddings=2048,
                tie_word_embeddings=True,
                attn_implementation="sdpa",
                bos_token_id=2,
                eos_token_id=None,
                pad_token_id=0,
            )
            model = transformers.LlamaForCausalLM(config)
            self._kept["llama"] = model.to(self.device, self.dtype).eval()
        return self._kept["llama"]

    def texts(self, batch: int) -> Tensor:
        """Draw prompts."""
        shape = (batch, self.num_prompt)
        prompt = torch.randint(4, self.vocabulary, shape, device=self.device)
        prompt[:, 0] = BOS
        return prompt

    def rates(
        self, clock: dict[str, Any], model: nn.Module, batch: int, tokens: float
    ) -> dict[str, Any]:
        """Return what a loop's time means; ``tokens`` were written for each text."""
        seconds = clock["median_s"] / tokens
        weights = sum({id(p): p.nbytes for p in model.parameters()}.values())
        found = clock | {"ms_a_step": seconds * 1e3, "tokens_per_s": batch / seconds}
        found["least_ms_a_step"] = None
        if "copy" in self.top:
            found["least_ms_a_step"] = weights / self.top["copy"] * 1e3
            found["share_of_copy"] = weights / self.top["copy"] / seconds
        return found

    @torch.no_grad()
    def prompt(self, batch: int) -> dict[str, Any]:
        """Read a prompt in one call."""
        model, prompt = self.own(), self.texts(batch)
        clock = timed(lambda: model.read(prompt, model.start(batch)), self.device)
        return clock | {"tokens_per_s": batch * self.num_prompt / clock["median_s"]}

    @torch.no_grad()
    def own_steps(self, batch: int) -> dict[str, Any]:
        """Step from a prompt, always the most probable token; nothing is read back."""
        model, prompt = self.own(), self.texts(batch)
        _, begun = model.read(prompt, model.start(batch))

        def loop() -> None:
            token, state = prompt[:, -1], begun
            for _ in range(self.num_new):
                logits, state = model.step(token, state)
                token = logits.argmax(dim=-1)

        return self.rates(timed_on_host(loop, self.device), model, batch, self.num_new)

    def own_sample(self, batch: int) -> dict[str, Any]:
        """Write with the package's sampler, from a prompt of one token: it reads them singly."""
        model, prompt = self.own(), self.texts(batch)[:, :1]
        written: list[int] = []

        def loop() -> None:
            written.append(
                sum(
                    each.num_tokens
                    for each in sample(model, prompt, max_tokens=self.num_new, top_k=1)
                )
            )

        clock = timed_on_host(loop, self.device, repeats=3)
        return self.rates(clock, model, batch, written[-1] / batch) | {"written": written[-1]}

    @torch.no_grad()
    def theirs(self, batch: int, cache: str | None) -> dict[str, Any]:
        """Write with Hugging Face's generate."""
        model, prompt = self.llama(), self.texts(batch)
        settings: dict[str, Any] = {} if cache is None else {"cache_implementation": cache}
        if self.results.tiny and cache:
            settings["disable_compile"] = True

        def loop() -> None:
            model.generate(
                prompt,
                attention_mask=torch.ones_like(prompt),
                max_new_tokens=self.num_new,
                min_new_tokens=self.num_new,
                do_sample=False,
                **settings,
            )

        clock = timed_on_host(loop, self.device, repeats=3, warm=1 if cache is None else 2)
        return self.rates(clock, model, batch, self.num_new) | {"reads_the_prompt": True}

    @torch.no_grad()
    def recorded(self, batch: int) -> dict[str, Any]:
        """Write with a step that is recorded once, in a cache of fixed size, and replayed."""
        model, prompt = self.own(), self.texts(batch)
        most = self.num_prompt + self.num_new
        guess, state = model.read(prompt, model.start(batch, max_tokens=most))
        first = guess[:, -1].argmax(dim=-1)
        _, growing = model.read(prompt, model.start(batch))
        expected, growing = model.step(first, growing)
        step = RecordedStep(model, state)
        difference = (step(first).float() - expected.float()).abs().max().item()
        seconds: list[float] = []

        def loop() -> None:
            _, begun = model.read(prompt, model.start(batch, max_tokens=most))
            again = RecordedStep(model, begun)
            token = first

            def write() -> None:
                nonlocal token
                for _ in range(self.num_new):
                    token = again(token).argmax(dim=-1)

            seconds.append(timed_on_host(write, self.device, repeats=1, warm=0)["median_s"])

        for _ in range(2 if self.results.tiny else 5):
            loop()
        return self.rates(spread(seconds), model, batch, self.num_new) | {"difference": difference}

    def translation(self, width: int) -> dict[str, Any]:
        """Search with the package's encoder-decoder: 64 sources of 32 tokens."""
        batch, length = (2, 6) if self.results.tiny else (64, 32)
        vocabulary = 96 if self.results.tiny else 32768
        torch.manual_seed(0)
        model = translator(vocabulary, self.base, dropout=0.0)
        model = model.to(self.device, self.dtype).eval()
        source = torch.randint(4, vocabulary, (batch, length), device=self.device)
        written: list[int] = []
        most = 6 if self.results.tiny else 48

        def loop() -> None:
            mask = torch.ones_like(source, dtype=torch.bool)
            if width == 1:
                found = greedy_search(model, source, mask, max_tokens=most)
            else:
                beams = beam_search(model, source, mask, width=width, max_tokens=most)
                found = [best for best, *_ in beams]
            written.append(sum(each.num_tokens for each in found))

        clock = timed_on_host(loop, self.device, repeats=3)
        return clock | {
            "written": written[-1],
            "tokens_per_s": written[-1] / clock["median_s"],
            "sentences_per_s": batch / clock["median_s"],
            "most_tokens": most,
        }


if __name__ == "__main__":
    run("decoding", main)
