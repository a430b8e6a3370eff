"""Laws of what reads a sequence: a layer (features to features) or a model (ids to logits)."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import torch
from torch import Tensor, nn

from attention_book.conformance.kernel_laws import transposed
from attention_book.conformance.modules import (
    breach_of_gradients,
    breach_of_graph,
    breach_of_precision,
    breach_of_trace,
    first_of,
    gap_of,
    learned_in,
    lengths_of,
    moved,
    same,
    size_told,
    where_padded,
)
from attention_book.conformance.reference import VALUE_FAULTS, attend, rotated
from attention_book.conformance.report import (
    Breach,
    DoesNotApply,
    Laws,
    check_words,
    device_of,
    law,
)
from attention_book.conformance.told_weights import what_is_told, why_implausible
from attention_book.foundations.bilingual import Bilingual

_ROTARY_FAULTS = "rotary-halves-for-pairs", "rotary-on-values", "rotary-on-queries-only"


@dataclass(frozen=True)
class Sequence:
    r"""A layer or a model, and the conventions that it follows.

    Attributes:
        call: called with inputs (batch, place) or (batch, place, feature) and a padding mask
            (batch, place), or None. What it returns may be a tuple, of which the first counts, or
            an object with ``logits`` or ``last_hidden_state``.
        width: features of the inputs; 0 for ids.
        vocabulary: how many ids there are; 0 for features.
        mask: "attend" (True is a real place), "blocked" (True is padding), "none" (takes none).
        causal: whether a place sees no later one.
        positions: whether order counts; None: not known.
        padding: where padding is promised to be nothing: "right", "left", "between" (a row's real
            places may stand anywhere).
        window: how many places, its own included, one sees at most.
        mixes: whether places see each other at all.
        module: what is switched to eval, differentiated, and cast to half precision.
        start: ``start(batch)`` gives the state in which nothing has been read.
        step: ``step(inputs, state)`` reads one or more places and returns outputs (batch, place,
            ...) and the next state.
        chunks: whether a step may read several places at once.
        prefill: ``prefill(inputs, mask)`` reads a batch with padding and returns a state.
        select: ``select(state, rows)`` chooses rows of a state, as beam search does.
        parts: ``parts(inputs)`` returns q, k, v (batch, head, place, feature) before rotary
            positions; with ``merge`` the layer is compared with the formula.
        merge: ``merge(heads)`` returns the outputs.
        rotary: the pairs that rotary positions turn, "halves" or "neighbours"; None: no positions.
        scale: what scores are multiplied with; :math:`1/\sqrt{d}` of a head if None.
        bias: given how many places there are, what is added to the scores.
        weights: ``weights(inputs, mask)`` returns the weights that it tells, (batch, head, query,
            key), or a list of such, a layer each.
        silent: called as it is, but with its sublayers silent, so that they return zeros: what is
            left is the residual path.
        half: the dtype of half precision that it is meant for; None: none.
        compiles: whether it is promised to compile as one graph.
        device: where it is examined; None: where the parameters of ``module`` are, otherwise the
            default device.
        name: of the report.

    Raises:
        ValueError: if a convention is none of the words that are known, or neither ``width`` nor
            ``vocabulary`` is given.

    >>> Sequence(torch.nn.Identity(), width=8, mask="none", mixes=False).causal
    False
    """

    call: Callable[[Tensor, Tensor | None], Any]
    width: int = 0
    vocabulary: int = 0
    mask: Literal["attend", "blocked", "none"] = "attend"
    causal: bool = False
    positions: bool | None = None
    padding: tuple[Literal["right", "left", "between"], ...] = ("right",)
    window: int | None = None
    mixes: bool = True
    module: nn.Module | None = None
    start: Callable[[int], Any] | None = None
    step: Callable[[Tensor, Any], tuple[Any, Any]] | None = None
    chunks: bool = True
    prefill: Callable[[Tensor, Tensor], Any] | None = None
    select: Callable[[Any, Tensor], Any] | None = None
    parts: Callable[[Tensor], tuple[Tensor, Tensor, Tensor]] | None = None
    merge: Callable[[Tensor], Tensor] | None = None
    rotary: Literal["halves", "neighbours"] | None = None
    scale: float | None = None
    bias: Callable[[int], Tensor] | None = None
    weights: Callable[[Tensor, Tensor | None], Any] | None = None
    silent: Callable[[Tensor], Any] | None = None
    half: torch.dtype | None = torch.bfloat16
    compiles: bool = False
    device: torch.device | str | None = None
    name: str = "sequence"

    def __post_init__(self) -> None:
        """Check the words, while the one who wrote them can still see them."""
        check_words(self)
        if not self.width and not self.vocabulary:
            raise ValueError("width, vocabulary: expected one of them, got neither")


class SequenceLaws(Laws):
    """The laws of a layer or a model, from simple to composite. It is left in eval.

    >>> norm = torch.nn.LayerNorm(8)
    >>> alone = Sequence(lambda x, real: norm(x), width=8, mask="none", mixes=False, module=norm)
    >>> [law.name for law in SequenceLaws(alone).all() if law.outcome().breach]
    []
    """

    def __init__(self, sequence: Sequence, seed: int = 0) -> None:
        device = device_of(sequence.module)
        super().__init__(seed, device if sequence.device is None else torch.device(sequence.device))
        self.sequence = sequence
        longest = 7 if sequence.window is None else max(7, sequence.window + 3)
        self.sizes = ((1, 2), (1, 3), (2, 4), (3, 3), (2, longest))
        if sequence.module is not None:
            sequence.module.train()
            sequence.module.eval()
        parameters = () if sequence.module is None else sequence.module.parameters()
        self.dtype = next((p.dtype for p in parameters), torch.float32)

    # --- inputs and calls ------------------------------------------------------------------------

    def inputs(self, batch: int, length: int) -> Tensor:
        """Draw ids or features."""
        if size := self.sequence.vocabulary:
            return self._integers(0, size, (batch, length))
        return self.draw(batch, length, self.sequence.width).to(self.dtype)

    def other(self, x: Tensor) -> Tensor:
        """Return inputs that are others everywhere."""
        if size := self.sequence.vocabulary:
            return (x + self._integers(1, size, x.shape)) % size
        shift = torch.rand(x.shape, generator=self.generator, device="cpu")
        return x + 1 + shift.to(self.device)

    def _integers(self, low: int, high: int, shape: tuple[int, ...]) -> Tensor:
        drawn = torch.randint(low, high, shape, generator=self.generator, device="cpu")
        return drawn.to(self.device)

    def _real(self, rows: list[list[bool]]) -> Tensor:
        return torch.tensor(rows, device=self.device)

    def changed(self, x: Tensor, place: int) -> Tensor:
        """Return inputs that are others at one place."""
        x = x.clone()
        x[:, place] = self.other(x[:, place])
        return x

    def mask(self, real: Tensor | None) -> Tensor | None:
        """Return a mask in the subject's convention."""
        if real is None or self.sequence.mask == "none":
            return None
        return ~real if self.sequence.mask == "blocked" else real.clone()

    def out(self, x: Tensor, real: Tensor | None = None) -> Tensor:
        """Call the subject with copies."""
        return first_of(self.sequence.call(x.clone(), self.mask(real)))

    def stepped(self, x: Tensor, sizes: list[int], state: Any = None) -> tuple[Tensor, Any]:
        """Read in chunks of these sizes, from a state or from the start."""
        start, step = self.sequence.start, self.sequence.step
        if start is None or step is None:
            raise DoesNotApply("没有带缓存的步", "no cached step")
        state, outputs = start(len(x)) if state is None else state, []
        for chunk in x.split(sizes, 1):
            out, state = step(chunk, state)
            outputs.append(first_of(out))
        return torch.cat(outputs, 1), state

    def padded(self, x: Tensor, lengths: list[int], more: int, side: str) -> tuple[Tensor, Tensor]:
        """Return inputs with padding of random content, and which places are real."""
        b, n = len(x), x.shape[1] + more
        rows, real = self.inputs(b, n), self._real([[False] * n] * b)
        for i, length in enumerate(lengths):
            places = torch.arange(length, device="cpu") + (n - length) * (side == "left")
            if side == "between":
                order = torch.randperm(n, generator=self.generator, device="cpu")
                places = order[:length].sort().values
            places = places.to(self.device)
            rows[i, places], real[i, places] = x[i, :length], True
        return rows, real

    def alone(self, x: Tensor, lengths: list[int]) -> Tensor:
        """Return the outputs of each example alone, without padding, one after another."""
        outputs = [
            self.out(x[i : i + 1, :length], self._real([[True] * length]))[0]
            for i, length in enumerate(lengths)
        ]
        return torch.cat(outputs)

    # --- calls in general ------------------------------------------------------------------------

    @law("eval 时两次同样的调用结果相同。")
    @torch.no_grad()
    def deterministic(self) -> Breach | None:
        """Two identical calls in eval give the same result."""
        for b, n in self.sizes[1:3]:
            x = self.inputs(b, n)
            first, again = self.out(x), self.out(x)
            if not torch.equal(first, again) and not same(first, again, 1e-6):
                gap = gap_of(again, first)
                return Breach("dropout-in-eval", size_told(b, n), gap, ("not-deterministic",))
        return None

    @law("传入的张量原样不动。")
    @torch.no_grad()
    def arguments_unchanged(self) -> Breach | None:
        """Arguments are left alone."""
        x, real = self.inputs(2, 3), self._real([[True] * 3, [True, True, False]])
        mask, given = self.mask(real), x.clone()
        kept = None if mask is None else mask.clone()
        self.sequence.call(given, mask)
        if not torch.equal(given, x):
            found = Bilingual("输入变了", "the inputs changed")
            return Breach("writes-into-inputs", size_told(2, 3), found)
        if mask is not None and kept is not None and not torch.equal(mask, kept):
            found = Bilingual("掩码变了", "the mask changed")
            return Breach("writes-into-mask", size_told(2, 3), found)
        return None

    @law("输入在内存里怎么排都行。")
    @torch.no_grad()
    def memory_order(self) -> Breach | None:
        """Inputs may lie in memory in any way."""
        for b, n in self.sizes[2:4]:
            x = self.inputs(b, n)
            right, got = self.out(x), first_of(self.sequence.call(transposed(x), None))
            if not same(got, right, 1e-5):
                return Breach("memory-order-assumed", size_told(b, n), gap_of(got, right))
        return None

    @law("同一批里的样本各算各的。")
    @torch.no_grad()
    def batch(self) -> Breach | None:
        """Examples of a batch are independent."""
        for b, n in self.sizes[2:4]:
            x = self.inputs(b, n)
            whole = self.out(x)
            for i in range(b):
                if not same(whole[i : i + 1], right := self.out(x[i : i + 1])):
                    return Breach(
                        "examples-mixed", size_told(b, n), gap_of(whole[i : i + 1], right)
                    )
        return None

    # --- who sees whom ---------------------------------------------------------------------------

    @law("用它自己的参数算，输出是值的加权平均，权重是缩放点积的 softmax。")
    @torch.no_grad()
    def formula(self) -> Breach | None:
        """The output is that of scaled dot-product attention with its own weights."""
        if self.sequence.parts is None or self.sequence.merge is None:
            raise DoesNotApply("没有给出 q、k、v", "its q, k and v are not given")
        drawn = [(3 if self.sequence.width else 1) * self.inputs(b, n) for b, n in self.sizes]
        for (b, n), x in zip(self.sizes, drawn, strict=True):
            got, right = self.out(x), self._made(x)
            if not same(got, right):
                faults = [
                    fault
                    for fault in (*_ROTARY_FAULTS, *VALUE_FAULTS)
                    if all(same(self.out(y), self._made(y, fault)) for y in drawn)
                ]
                cause = faults[0] if faults else "unknown"
                return Breach(cause, size_told(b, n), gap_of(got, right), tuple(faults[1:3]))
        return None

    def _made(self, x: Tensor, fault: str = "") -> Tensor:
        """Return the outputs by the formula, with the subject's own parts."""
        assert self.sequence.merge is not None
        return self.sequence.merge(self._heads(x, fault).to(self.dtype))

    def _heads(
        self, x: Tensor, fault: str = "", *, unit: bool = False, real: Tensor | None = None
    ) -> Tensor:
        """Return what each head makes of its values; of a unit matrix, that is the weights."""
        s = self.sequence
        assert s.parts is not None
        q, k, v = (t.double() for t in s.parts(x))
        if s.rotary is not None:
            pairs = s.rotary
            if fault == "rotary-halves-for-pairs":
                pairs = "neighbours" if pairs == "halves" else "halves"
            q = rotated(q, pairs=pairs)
            k = k if fault == "rotary-on-queries-only" else rotated(k, pairs=pairs)
            v = rotated(v, pairs=pairs) if fault == "rotary-on-values" else v
        if unit:
            v = torch.eye(k.shape[-2], dtype=k.dtype, device=k.device).expand(*k.shape[:-1], -1)
        bias = None if s.bias is None else s.bias(x.shape[1]).double()
        allow = None if real is None else real[:, None, None]
        return attend(
            q, k, v, allow, causal=s.causal, window=s.window, scale=s.scale, bias=bias, fault=fault
        )

    @law("交出来的权重是它用的权重：每行之和为 1，看不见的是 0。")
    @torch.no_grad()
    def weights_told(self) -> Breach | None:
        """The weights it reports are those it uses: rows sum to 1, hidden places get 0."""
        s = self.sequence
        if s.weights is None:
            raise DoesNotApply("不交出权重", "reports no weights")
        earlier: list[Tensor] = []
        for again, (b, n) in enumerate((self.sizes[0], *self.sizes)):
            x, lengths = self.inputs(b, n), lengths_of(b, n)
            real = self._real([[place < length for place in range(n)] for length in lengths])
            seen = None if s.mask == "none" else real
            rows = torch.ones_like(real) if seen is None else real
            told = s.weights(x.clone(), self.mask(seen))
            layers = list(told) if isinstance(told, list | tuple) else [told]
            for got in layers if again else []:
                wrong = self._why_weights(x, rows, got, earlier)
                if wrong is not None:
                    return Breach(wrong[0], size_told(b, n), wrong[1])
            earlier += layers
            if s.parts is not None:
                earlier.append(self._heads(x, unit=True, real=rows))
        return None

    def _why_weights(
        self, x: Tensor, real: Tensor, got: Tensor, earlier: list[Tensor]
    ) -> tuple[str, Bilingual] | None:
        """Say what is wrong with the weights of one layer, and what was found."""
        if self.sequence.parts is None:
            tells_something = got[..., -1, :].std() > 1e-3  # even weights are the same every time
            if tells_something and any(same(got, each) for each in earlier):
                return "weights-of-another-call", Bilingual(
                    "与上一次的相同", "those of an earlier call"
                )
            return why_implausible(got, real, causal=self.sequence.causal)
        words = real[:, None, :, None]
        right = self._heads(x, unit=True, real=real)
        without = self._heads(x, "no-causal-mask", unit=True)
        if got.shape == right.shape:  # what padding looks at is nobody's business
            right, without, got = (t.masked_fill(~words, 0) for t in (right, without, got))
        if same(got, right):
            return None
        return what_is_told(got, right, without, earlier, same), gap_of(got, right)

    @law("后面的位置看不见。")
    @torch.no_grad()
    def future_is_hidden(self) -> Breach | None:
        """The future is hidden."""
        if not self.sequence.causal:
            raise DoesNotApply("不是因果的", "is not causal")
        for b, n in self.sizes:
            x = self.inputs(b, n)
            before = self.out(x)
            for j in range(n - 1, 0, -1):
                after = self.out(self.changed(x, j))
                leaks = [i for i in range(j) if not same(after[:, i], before[:, i], 2e-5)]
                if leaks:
                    y = self.inputs(b, 12)  # one place too far, a few layers deep, is not that far
                    far = moved(self.out(self.changed(y, 11))[:, 0], self.out(y)[:, 0])
                    where = size_told(b, n, f"第 {j} 个输入换了", f"input {j} changed")
                    found = Bilingual(f"输出 {leaks} 动了", f"outputs {leaks} moved")
                    if far:
                        return Breach("no-causal-mask", where, found, ("length-dependent",))
                    return Breach("sees-one-ahead", where, found)
        return None

    @law("后面的位置也读得到。")
    @torch.no_grad()
    def future_is_read(self) -> Breach | None:
        """Later places are read, too."""
        if self.sequence.causal or not self.sequence.mixes or self.sequence.window is not None:
            raise DoesNotApply("看不到那么远", "does not look that far")
        x = self.inputs(1, 3)
        if moved(self.out(self.changed(x, 2))[:, 0], self.out(x)[:, 0]):
            return None
        found = Bilingual("第一个输出没有动", "the first output did not move")
        return Breach(
            "always-causal", size_told(1, 3, "最后一个输入换了", "the last input changed"), found
        )

    @law("前面的位置读得到。")
    @torch.no_grad()
    def past_is_read(self) -> Breach | None:
        """Earlier places are read."""
        if not self.sequence.mixes:
            raise DoesNotApply("位置互不相见", "places do not see each other")
        n = min(3, self.sequence.window or 3)
        x = self.inputs(1, n)
        if moved(self.out(self.changed(x, 0))[:, -1], self.out(x)[:, -1]):
            return None
        found = Bilingual("最后一个输出没有动", "the last output did not move")
        return Breach(
            "cache-lost", size_told(1, n, "第一个输入换了", "the first input changed"), found
        )

    @law("顺序起不起作用，与约定相符。")
    @torch.no_grad()
    def order(self) -> Breach | None:
        """Order matters, or does not, as stated."""
        causal, counts = self.sequence.causal, self.sequence.positions
        if counts is None:
            raise DoesNotApply("没有说明", "not stated")
        if causal and not counts:
            raise DoesNotApply("因果掩码本身就分先后", "a causal mask tells places apart")
        for b, n in ((1, 3), (2, 4)):
            x = self.inputs(b, n)
            x[:, 1] = self.other(x[:, 0])
            turn = torch.tensor([1, 0, *range(2, n)], device=self.device)
            before, after = self.out(x), self.out(x[:, turn])
            # Behind a causal mask, the last place sees the same set of places.
            pair = (after[:, -1], before[:, -1]) if causal else (after, before[:, turn])
            free = same(*pair, 1e-5)
            where = size_told(b, n, "对调两个输入", "two inputs exchanged")
            if counts and free:
                found = Bilingual("输出也只是对调", "the outputs only change places, too")
                return Breach("positions-without-effect", where, found)
            if not counts and not free:
                return Breach("unknown", where, gap_of(*pair))
        return None

    # --- padding ---------------------------------------------------------------------------------

    @law("右边的填充等于没有。")
    @torch.no_grad()
    def padding_on_the_right(self) -> Breach | None:
        """Padding on the right makes no difference."""
        return self._padding("right")

    @law("左边的填充等于没有。")
    @torch.no_grad()
    def padding_on_the_left(self) -> Breach | None:
        """Padding on the left makes no difference."""
        return self._padding("left")

    @law("真词元之间的填充等于没有。")
    @torch.no_grad()
    def padding_in_between(self) -> Breach | None:
        """Padding between the real places makes no difference."""
        return self._padding("between")

    def _padding(self, side: str) -> Breach | None:
        if self.sequence.mask == "none":
            raise DoesNotApply("不收掩码", "takes no mask")
        if side not in self.sequence.padding:
            raise DoesNotApply("没有承诺", "not promised")
        for b, n in self.sizes:
            x, lengths = self.inputs(b, n), lengths_of(b, n)
            rows, real = self.padded(x, lengths, 2, side)
            got, right = self.out(rows, real)[real], self.alone(x, lengths)
            if not same(got, right, 5e-4):
                cause = self._why_padding(rows, real, right, side)
                where = where_padded(b, lengths, side)
                return Breach(cause, where, gap_of(got, right))
        return None

    def _why_padding(self, rows: Tensor, real: Tensor, right: Tensor, side: str) -> str:
        """Name the cause: does the padding's content matter, to whom, and from which places?"""
        fill = real if rows.ndim == 2 else real[..., None]
        content = torch.where(fill, rows, self.other(rows))
        got = self.out(rows, real)
        if same(self.out(content, real)[real], got[real], 1e-5):
            return "length-dependent" if side == "right" else "positions-from-padding"
        if len(rows) == 1:
            twice = self.out(rows.repeat_interleave(2, 0), real.repeat_interleave(2, 0))[:1]
            if same(twice[real], right, 5e-4):
                return "mask-lost-at-batch-1"
        else:
            pairs = zip(rows.split(1), real.split(1), strict=True)
            alone = torch.cat([self.out(row, mask)[mask] for row, mask in pairs])
            first = int(real[0].sum())
            of_first = same(got[real][:first], right[:first], 5e-4)
            if same(alone, right, 5e-4) and of_first:
                return "mask-of-first-example"
        reals, pads = real[0].nonzero()[:, 0].tolist(), (~real[0]).nonzero()[:, 0].tolist()
        if len(reals) > 1 and not self.sequence.causal:
            other = self.out(self.changed(rows, reals[0]), real)
            if not moved(other[0, reals[1]], got[0, reals[1]]):
                return "mask-inverted"
        if not self.sequence.causal:
            other = self.out(self.changed(rows, reals[0]), real)
            if not moved(other[0, pads[0]], got[0, pads[0]]):
                return "mask-on-queries"
        each = [self.out(self.changed(rows, place), real)[0, reals[-1]] for place in pads]
        if all(moved(out, got[0, reals[-1]]) for out in each):
            return "mask-ignored"
        return "padding-attended"

    @law("子层输出为 0 时，输入仍到达输出。")
    @torch.no_grad()
    def residual(self) -> Breach | None:
        """Where its sublayers output 0, its input still reaches the output."""
        if self.sequence.silent is None:
            raise DoesNotApply(
                "没有给出子层输出为 0 的调用", "no call with sublayers that output 0"
            )
        x = self.inputs(1, 2)
        before, after = (first_of(self.sequence.silent(y)) for y in (x, self.changed(x, 0)))
        if moved(after[:, 0], before[:, 0]):
            return None
        where = size_told(1, 2, "第一个输入换了", "the first input changed")
        found = Bilingual("输出没有动", "the outputs did not move")
        return Breach("residual-lost", where, found)

    # --- cached steps ----------------------------------------------------------------------------

    @law("带着缓存一步步读，和一次读完整段文字结果相同。")
    @torch.no_grad()
    def steps(self) -> Breach | None:
        """Cached steps give what the whole text gives."""
        for b, n in self.sizes:
            x = self.inputs(b, n)
            (got, _), full = self.stepped(x, [1] * n), self.out(x)
            if not same(got, full):
                first = next(t for t in range(n) if not same(got[:, t], full[:, t]))
                where = size_told(b, n, "一次一个", "one at a time")
                gap = gap_of(got, full)
                found = Bilingual(f"从第 {first} 处起：{gap.zh}", f"from place {first}: {gap.en}")
                return Breach(self._why_steps(b, first), where, found)
        with torch.enable_grad():  # where a cache may not be written in place
            x = self.inputs(2, 4)
            (got, _), full = self.stepped(x, [1] * 4), self.out(x)
        if same(got, full):
            return None
        return Breach(
            "cache-shared", size_told(2, 4, "要求梯度", "with gradients"), gap_of(got, full)
        )

    def _why_steps(self, batch: int, first: int) -> str:
        def reads(place: int) -> bool:
            """Tell whether the last of four steps sees a place."""
            y = self.inputs(batch, 4)
            outputs = (self.stepped(x, [1] * 4)[0][:, -1] for x in (self.changed(y, place), y))
            return moved(*outputs)

        if self.sequence.window is not None and first >= self.sequence.window - 1:
            return "cache-window"
        if first and not reads(2):
            return "causal-from-the-start" if reads(0) else "cache-lost"
        return "positions-of-steps"

    @law("带缓存的一步可以读好几处。")
    @torch.no_grad()
    def steps_of_several(self) -> Breach | None:
        """A cached step may read several places."""
        if self.sequence.step is None or not self.sequence.chunks:
            raise DoesNotApply("没有一次读几处的步", "no cached step of several places")
        for b, n in self.sizes[1:]:
            for sizes in ([n - 1, 1], [1, n - 1], [2] * (n // 2) + [1] * (n % 2)):
                x = self.inputs(b, n)
                (got, _), full = self.stepped(x, sizes), self.out(x)
                if same(got, full):
                    continue
                cause = "positions-of-steps"
                if same(self.stepped(x, [1] * n)[0], full):
                    start = same(got[:, : sizes[0]], full[:, : sizes[0]])
                    cause = "causal-from-the-start" if start else "no-causal-mask"
                where = size_told(b, n, f"每步 {sizes} 处", f"in steps of {sizes}")
                return Breach(cause, where, gap_of(got, full))
        return None

    @law("一个状态可以有两种续写。")
    @torch.no_grad()
    def branches(self) -> Breach | None:
        """A state can be continued in two ways."""
        x = self.inputs(2, 4)
        other = self.changed(self.changed(x, 2), 3)
        _, state = self.stepped(x[:, :2], [1, 1])
        right = self.out(x)[:, 2:]
        one, after = self.stepped(x[:, 2:3], [1], state)
        self.stepped(other[:, 2:], [1, 1], state)
        again, _ = self.stepped(x[:, 2:3], [1], state)
        last, _ = self.stepped(x[:, 3:], [1], after)
        spoiled = same(one, right[:, :1]) and not same(last, right[:, 1:])
        if not same(again, one, 1e-5) or spoiled:
            where = size_told(2, 4, "读过 2 处之后分两路", "two ways after 2 places")
            return Breach("cache-shared", where, gap_of(again, one))
        return None

    @law("可以选状态里的行。")
    @torch.no_grad()
    def selected_rows(self) -> Breach | None:
        """Rows of a state can be selected."""
        if self.sequence.select is None:
            raise DoesNotApply("不能选行", "rows can't be selected")
        x, rows = self.inputs(3, 4), torch.tensor([2, 0, 0], device=self.device)
        _, state = self.stepped(x[:, :3], [1, 1, 1])
        got, _ = self.stepped(x[rows, 3:], [1], self.sequence.select(state, rows))
        right = self.out(x[rows])[:, 3:]
        if same(got, right) or not same(self.stepped(x, [1] * 4)[0], self.out(x)):
            return None
        where = size_told(3, 4, "读过 3 处之后选第 2、0、0 行", "rows 2, 0, 0 after 3 places")
        return Breach("beams-mixed", where, gap_of(got, right))

    @law("开头有填充，后面的步照样接得上。")
    @torch.no_grad()
    def after_padding(self) -> Breach | None:
        """Cached steps can follow a padded start."""
        if self.sequence.prefill is None:
            raise DoesNotApply("不读有填充的开头", "takes no padded start")
        for side, (b, n) in product(self.sequence.padding, self.sizes[1:4]):
            x, lengths = self.inputs(b, n), lengths_of(b, n)
            rows, real = self.padded(x, lengths, 2, side)
            mask, following = self.mask(real), self.inputs(b, 3)
            assert mask is not None
            got, state = self.stepped(following[:, :2], [1, 1], self.sequence.prefill(rows, mask))
            turn = torch.arange(b, device=self.device)
            if self.sequence.select is not None:  # as beams do in the middle of a text
                turn = turn.flip(0)
                state = self.sequence.select(state, turn)
            last, _ = self.stepped(following[turn, 2:], [1], state)
            got = torch.cat((got, last[turn]), 1)
            whole = [
                torch.cat((x[i : i + 1, :length], following[i : i + 1]), 1)
                for i, length in enumerate(lengths)
            ]
            right = torch.cat([self.out(each)[:, -3:] for each in whole])
            if not same(got, right, 5e-4):
                where = where_padded(b, lengths, side)
                return Breach("steps-count-padding", where, gap_of(got, right))
        return None

    # --- gradients, precision, graphs ------------------------------------------------------------

    @law("梯度到得了各处，而且有限。")
    def gradients(self) -> Breach | None:
        """Gradients reach all inputs and parameters, and are finite."""
        x = self.inputs(2, 3)
        real = self._real([[True] * 3, [True, True, False]])
        inputs = {"inputs": x.requires_grad_()} if self.sequence.width else {}
        learned = learned_in(self.sequence.module)
        if not inputs and not learned:
            raise DoesNotApply("没有给出模块", "no module given")
        out = first_of(self.sequence.call(x, self.mask(real)))
        kept = out if self.sequence.mask == "none" else out[real]
        where = size_told(2, 3, "有一处填充", "one place of padding")
        return breach_of_gradients(inputs, learned, kept, self.draw(*kept.shape), where)

    @law("梯度就是输出的变化率。")
    def slopes(self) -> Breach | None:
        """Gradients say how fast the outputs change."""
        if not self.sequence.width:
            raise DoesNotApply("词元编号没有梯度", "ids have no gradient")
        x = self.inputs(1, 3).requires_grad_()
        out = first_of(self.sequence.call(x, None))
        if not out.requires_grad:
            found = Bilingual("输出不要求梯度", "the outputs require no gradient")
            return Breach("gradient-cut", size_told(1, 3), found)
        upstream, direction = self.draw(*out.shape), self.draw(*x.shape)
        (grad,) = torch.autograd.grad((out * upstream).sum(), x)
        ends = []
        with torch.no_grad():
            for step in (1e-2, -1e-2):
                there = first_of(self.sequence.call(x + step * direction, None))
                ends.append((there * upstream).sum().item())
        slope, claimed = (ends[0] - ends[1]) / 2e-2, (grad * direction).sum().item()
        if abs(slope - claimed) <= 0.03 * max(1.0, abs(slope)):
            return None
        found = Bilingual(
            f"沿一条线变化率是 {slope:.4g}，梯度说是 {claimed:.4g}",
            f"along a line the outputs change by {slope:.4g}, the gradient says {claimed:.4g}",
        )
        return Breach("gradient-cut", size_told(1, 3), found)

    @law("半精度下类型不变，不溢出，误差只来自舍入。")
    @torch.no_grad()
    def half_precision(self) -> Breach | None:
        """Half precision keeps the dtype, overflows nowhere, and errs only by rounding."""
        dtype, module = self.sequence.half, self.sequence.module
        if dtype is None or module is None:
            raise DoesNotApply("没有承诺", "not promised")
        x = self.inputs(2, 5)

        def call(kind: torch.dtype) -> Tensor:
            return first_of(self.sequence.call(x.to(kind) if self.sequence.width else x, None))

        where = size_told(2, 5, str(dtype), str(dtype))
        return breach_of_precision(module, call, (self.dtype, dtype), where)

    @law("能编译成一整张图。")
    @torch.no_grad()
    def one_graph(self) -> Breach | None:
        """Compiles as one graph."""
        if not self.sequence.compiles:
            raise DoesNotApply("没有承诺", "not promised")
        x = self.inputs(2, 4)
        where = size_told(2, 4)
        return breach_of_graph(lambda y: self.sequence.call(y, None), [x], self.out(x), where)

    @law("追踪过后什么也不留。")
    @torch.no_grad()
    def trace(self) -> Breach | None:
        """A trace leaves nothing behind."""
        x = self.inputs(1, 40)  # longer than any before: tables have to grow
        where = size_told(1, 40)
        return breach_of_trace(lambda y: self.sequence.call(y, None), [x], where)


__all__ = ["Sequence", "SequenceLaws"]
