"""Laws of cross-attention: what reads a memory, such as an encoder's output, for each query."""

from collections.abc import Callable
from dataclasses import dataclass
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
    where_padded,
)
from attention_book.conformance.reference import VALUE_FAULTS, attend
from attention_book.conformance.report import (
    Breach,
    DoesNotApply,
    Laws,
    check_words,
    device_of,
    law,
)
from attention_book.conformance.told_weights import what_is_told
from attention_book.foundations.bilingual import Bilingual

#: Batch, queries, places of the memory: they grow, and the two sides differ in length.
_SIZES = (1, 1, 2), (1, 2, 3), (2, 3, 3), (2, 4, 3), (3, 2, 5)


@dataclass(frozen=True)
class Cross:
    r"""A module that reads a memory, and the conventions that it follows.

    Attributes:
        call: called with queries (batch, query, feature), the memory (batch, place, feature), and
            the memory's padding mask (batch, place), or None. Of a tuple, the first is the output.
        width: features of the queries.
        memory_width: features of the memory; as many as of the queries if 0.
        mask: "attend" (True is a real place), "blocked" (True is padding), "none" (takes none).
        padding: where padding of the memory is promised to be nothing.
        positions: whether the order of the memory counts; None: not known.
        module: what is switched to eval, differentiated, and cast to half precision.
        parts: ``parts(queries, memory)`` returns q, k, v (batch, head, place, feature); with
            ``merge`` the module is compared with the formula.
        merge: ``merge(heads)`` returns the outputs.
        scale: what scores are multiplied with; :math:`1/\sqrt{d}` of a head if None.
        weights: called as ``call``, it returns the weights, (batch, head, query, place).
        half: the dtype of half precision that it is meant for; None: none.
        compiles: whether it is promised to compile as one graph.
        device: where it is examined; None: where the parameters of ``module`` are, otherwise the
            default device.
        name: of the report.

    Raises:
        ValueError: if a convention is none of the words that are known.

    >>> layer = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    >>> def call(x, memory, padding):
    ...     return layer(x, memory, memory, key_padding_mask=padding)
    >>> Cross(call, width=8, mask="blocked", module=layer).padding
    ('right', 'left')
    """

    call: Callable[[Tensor, Tensor, Tensor | None], Any]
    width: int
    memory_width: int = 0
    mask: Literal["attend", "blocked", "none"] = "attend"
    padding: tuple[Literal["right", "left", "between"], ...] = ("right", "left")
    positions: bool | None = None
    module: nn.Module | None = None
    parts: Callable[[Tensor, Tensor], tuple[Tensor, Tensor, Tensor]] | None = None
    merge: Callable[[Tensor], Tensor] | None = None
    scale: float | None = None
    weights: Callable[[Tensor, Tensor, Tensor | None], Tensor] | None = None
    half: torch.dtype | None = torch.bfloat16
    compiles: bool = False
    device: torch.device | str | None = None
    name: str = "cross-attention"

    def __post_init__(self) -> None:
        """Check the words, while the one who wrote them can still see them."""
        check_words(self)


class CrossLaws(Laws):
    """The laws of cross-attention, from simple to composite. It is left in eval.

    >>> class Mean(torch.nn.Module):
    ...     def forward(self, x, memory, real):
    ...         real = memory.new_ones(memory.shape[:2]) if real is None else real.to(memory)
    ...         mean = (memory * real[..., None]).sum(1) / real.sum(1, keepdim=True)
    ...         return x + mean[:, None]
    >>> laws = CrossLaws(Cross(Mean(), width=8, positions=False))
    >>> [law.name for law in laws.all() if law.outcome().breach]
    []
    """

    def __init__(self, cross: Cross, seed: int = 0) -> None:
        device = device_of(cross.module)
        super().__init__(seed, device if cross.device is None else torch.device(cross.device))
        self.cross = cross
        if cross.module is not None:
            cross.module.eval()
        parameters = () if cross.module is None else cross.module.parameters()
        self.dtype = next((p.dtype for p in parameters), torch.float32)

    # --- inputs and calls ------------------------------------------------------------------------

    def inputs(self, b: int, n: int, m: int) -> tuple[Tensor, Tensor]:
        """Draw queries and a memory."""
        widths = self.cross.width, self.cross.memory_width or self.cross.width
        x, memory = (self.draw(b, each, d) for each, d in zip((n, m), widths, strict=True))
        return 2 * x.to(self.dtype), 2 * memory.to(self.dtype)

    def mask(self, real: Tensor | None) -> Tensor | None:
        """Return a mask in the subject's convention."""
        if real is None or self.cross.mask == "none":
            return None
        return ~real if self.cross.mask == "blocked" else real.clone()

    def out(self, x: Tensor, memory: Tensor, real: Tensor | None = None) -> Tensor:
        """Call the subject with copies."""
        return first_of(self.cross.call(x.clone(), memory.clone(), self.mask(real)))

    def _changed(self, x: Tensor, place: int) -> Tensor:
        x = x.clone()
        x[:, place] += 1 + self.draw(*x[:, place].shape).abs()
        return x

    # --- calls in general ------------------------------------------------------------------------

    @law("eval 时两次同样的调用结果相同。")
    @torch.no_grad()
    def deterministic(self) -> Breach | None:
        """Two identical calls in eval give the same result."""
        for size in _SIZES[1:3]:
            given = self.inputs(*size)
            first, again = self.out(*given), self.out(*given)
            if not torch.equal(first, again) and not same(first, again, 1e-6):
                gap = gap_of(again, first)
                return Breach("dropout-in-eval", _told(size), gap, ("not-deterministic",))
        return None

    @law("传入的张量原样不动。")
    @torch.no_grad()
    def arguments_unchanged(self) -> Breach | None:
        """Arguments are left alone."""
        size = 2, 3, 3
        x, memory = self.inputs(*size)
        real = torch.tensor([[True] * 3, [True, True, False]], device=self.device)
        mask = self.mask(real)
        given = {"x": x, "memory": memory} | ({} if mask is None else {"mask": mask})
        before = {name: each.clone() for name, each in given.items()}
        self.cross.call(x, memory, mask)
        for name, old in before.items():
            if not torch.equal(old, given[name]):
                cause = "writes-into-mask" if name == "mask" else "writes-into-inputs"
                return Breach(cause, _told(size), Bilingual(f"{name} 变了", f"{name} changed"))
        return None

    @law("输入在内存里怎么排都行。")
    @torch.no_grad()
    def memory_order(self) -> Breach | None:
        """Inputs may lie in memory in any way."""
        for size in _SIZES[2:4]:
            x, memory = self.inputs(*size)
            got = first_of(self.cross.call(transposed(x), transposed(memory), None))
            if not same(got, right := self.out(x, memory), 1e-5):
                return Breach("memory-order-assumed", _told(size), gap_of(got, right))
        return None

    @law("同一批里的样本各算各的。")
    @torch.no_grad()
    def batch(self) -> Breach | None:
        """Examples of a batch are independent."""
        for size in _SIZES[2:]:
            x, memory = self.inputs(*size)
            whole = self.out(x, memory)
            for i in range(size[0]):
                right = self.out(x[i : i + 1], memory[i : i + 1])
                if not same(got := whole[i : i + 1], right):
                    return Breach("examples-mixed", _told(size), gap_of(got, right))
        return None

    # --- who reads what --------------------------------------------------------------------------

    @law("用它自己的参数算，输出是值的加权平均，权重是缩放点积的 softmax。")
    @torch.no_grad()
    def formula(self) -> Breach | None:
        """The output is that of scaled dot-product attention with its own weights."""
        if self.cross.parts is None or self.cross.merge is None:
            raise DoesNotApply("没有给出 q、k、v", "its q, k and v are not given")
        drawn = [self.inputs(*size) for size in _SIZES]
        for size, given in zip(_SIZES, drawn, strict=True):
            got, right = self.out(*given), self._made(*given)
            if not same(got, right):
                faults = [
                    fault
                    for fault in VALUE_FAULTS
                    if all(same(self.out(*each), self._made(*each, fault)) for each in drawn)
                ]
                cause = faults[0] if faults else self._why_not_the_memory(drawn)
                return Breach(cause, _told(size), gap_of(got, right), tuple(faults[1:3]))
        return None

    def _made(self, x: Tensor, memory: Tensor, fault: str = "") -> Tensor:
        """Return the outputs by the formula, with the subject's own parts."""
        assert self.cross.merge is not None
        return self.cross.merge(self._heads(x, memory, fault).to(self.dtype))

    def _heads(
        self,
        x: Tensor,
        memory: Tensor,
        fault: str = "",
        *,
        unit: bool = False,
        real: Tensor | None = None,
    ) -> Tensor:
        """Return what each head makes of its values; of a unit matrix, that is the weights."""
        assert self.cross.parts is not None
        q, k, v = (each.double() for each in self.cross.parts(x, memory))
        if unit:
            v = torch.eye(k.shape[-2], dtype=k.dtype, device=k.device).expand(*k.shape[:-1], -1)
        allow = None if real is None else real[:, None, None]
        return attend(q, k, v, allow, scale=self.cross.scale, fault=fault)

    def _why_not_the_memory(self, drawn: list[tuple[Tensor, Tensor]]) -> str:
        """Tell whether keys or values are made of the queries' side."""
        x, memory = drawn[2]
        if not moved(self.out(x, self._changed(memory, 0)), self.out(x, memory)):
            return "reads-itself"
        mixed = moved(self.out(self._changed(x, -1), memory)[:, 0], self.out(x, memory)[:, 0])
        return "reads-itself" if mixed else "unknown"

    @law("每个查询都读到整个记忆。")
    @torch.no_grad()
    def memory_is_read(self) -> Breach | None:
        """Every query reads the whole memory."""
        for size in _SIZES[1:]:
            x, memory = self.inputs(*size)
            before = self.out(x, memory)
            for place in (0, size[2] - 1):
                after = self.out(x, self._changed(memory, place))
                still = [i for i in range(size[1]) if not moved(after[:, i], before[:, i])]
                if still:
                    where = _told(size, f"记忆第 {place} 处换了", f"memory {place} changed")
                    found = Bilingual(f"输出 {still} 没有动", f"outputs {still} did not move")
                    all_of_them = len(still) == size[1]
                    return Breach("reads-itself" if all_of_them else "always-causal", where, found)
        return None

    @law("查询各算各的。")
    @torch.no_grad()
    def queries_apart(self) -> Breach | None:
        """Queries are independent of each other."""
        for size in _SIZES[1:]:
            x, memory = self.inputs(*size)
            got = self.out(self._changed(x, -1), memory)[:, :-1]
            if not same(got, right := self.out(x, memory)[:, :-1], 2e-5):
                where = _told(size, "最后一个查询换了", "the last query changed")
                return Breach("queries-mixed", where, gap_of(got, right), ("reads-itself",))
        return None

    @law("记忆的顺序起不起作用，与约定相符。")
    @torch.no_grad()
    def order(self) -> Breach | None:
        """The order of the memory matters, or does not, as stated."""
        if self.cross.positions is None:
            raise DoesNotApply("没有说明", "not stated")
        for size in _SIZES[1:3]:
            x, memory = self.inputs(*size)
            got, right = self.out(x, memory.flip(1)), self.out(x, memory)
            where = _told(size, "记忆倒过来", "the memory reversed")
            if self.cross.positions and same(got, right, 1e-5):
                return Breach("positions-without-effect", where, gap_of(got, right))
            if not self.cross.positions and not same(got, right, 1e-5):
                return Breach("unknown", where, gap_of(got, right))
        return None

    @law("记忆右边的填充等于没有。")
    @torch.no_grad()
    def padding_on_the_right(self) -> Breach | None:
        """Padding on the right of the memory makes no difference."""
        return self._padding("right")

    @law("记忆左边的填充等于没有。")
    @torch.no_grad()
    def padding_on_the_left(self) -> Breach | None:
        """Padding on the left of the memory makes no difference."""
        return self._padding("left")

    @law("记忆中间的填充等于没有。")
    @torch.no_grad()
    def padding_in_between(self) -> Breach | None:
        """Padding between the memory's real places makes no difference."""
        return self._padding("between")

    def _padding(self, side: str) -> Breach | None:
        if self.cross.mask == "none":
            raise DoesNotApply("不收掩码", "takes no mask")
        if side not in self.cross.padding:
            raise DoesNotApply("没有承诺", "not promised")
        for b, n, m in _SIZES:
            x, memory = self.inputs(b, n, m)
            lengths = lengths_of(b, m)
            rows, real = self._padded(memory, lengths, side)
            got = self.out(x, rows, real)
            right = torch.cat(
                [
                    self.out(x[i : i + 1], memory[i : i + 1, :length])
                    for i, length in enumerate(lengths)
                ]
            )
            if not same(got, right, 5e-4):
                cause = self._why_padding(x, rows, real, right)
                return Breach(cause, where_padded(b, lengths, side), gap_of(got, right))
        return None

    def _padded(self, memory: Tensor, lengths: list[int], side: str) -> tuple[Tensor, Tensor]:
        """Return a memory with padding of random content, and which places are real."""
        b, m = len(memory), memory.shape[1] + 2
        _, rows = self.inputs(b, 1, m)
        real = torch.zeros(b, m, dtype=torch.bool, device=self.device)
        for i, length in enumerate(lengths):
            places = torch.arange(length, device="cpu") + (m - length) * (side == "left")
            if side == "between":
                order = torch.randperm(m, generator=self.generator, device="cpu")
                places = order[:length].sort().values
            places = places.to(self.device)
            rows[i, places], real[i, places] = memory[i, :length], True
        return rows, real

    def _why_padding(self, x: Tensor, rows: Tensor, real: Tensor, right: Tensor) -> str:
        """Name the cause: does the padding's content matter, and the content of what is real?"""
        got = self.out(x, rows, real)
        content = torch.where(real[..., None], rows, rows + 1 + rows.abs())
        if same(self.out(x, content, real), got, 1e-5):
            return "length-dependent"
        if len(x) == 1:
            twice = self.out(*(each.repeat_interleave(2, 0) for each in (x, rows, real)))[:1]
            if same(twice, right, 5e-4):
                return "mask-lost-at-batch-1"
        if same(got, self.out(x, rows, ~real), 5e-4):
            return "mask-ignored"
        if same(self.out(x, rows, ~real), right, 5e-4):
            return "mask-inverted"
        alone = torch.cat(
            [self.out(*one) for one in zip(x.split(1), rows.split(1), real.split(1), strict=True)]
        )
        return "mask-of-first-example" if same(alone, right, 5e-4) else "padding-attended"

    @law("交出来的权重是它用的权重。")
    @torch.no_grad()
    def weights_told(self) -> Breach | None:
        """The weights it reports are those it uses."""
        if self.cross.weights is None:
            raise DoesNotApply("不交出权重", "reports no weights")
        if self.cross.parts is None:
            raise DoesNotApply("没有给出 q、k、v", "its q, k and v are not given")
        earlier: list[Tensor] = []
        for again, size in enumerate((_SIZES[0], *_SIZES)):
            x, memory = self.inputs(*size)
            rows, real = self._padded(memory, lengths_of(size[0], size[2]), "right")
            seen = None if self.cross.mask == "none" else real
            got = self.cross.weights(x.clone(), rows.clone(), self.mask(seen))
            right = self._heads(x, rows, unit=True, real=seen)
            if again and not same(got, right):
                cause = what_is_told(got, right, self._heads(x, rows, unit=True), earlier, same)
                return Breach(cause, _told(size), gap_of(got, right))
            earlier += [got, right]
        return None

    # --- gradients, precision, graphs ------------------------------------------------------------

    @law("梯度到得了各处，而且有限。")
    def gradients(self) -> Breach | None:
        """Gradients reach all inputs and parameters, and are finite."""
        size = 2, 3, 4
        x, memory = (each.requires_grad_() for each in self.inputs(*size))
        real = torch.tensor([[True] * 4, [True, True, True, False]], device=self.device)
        out = first_of(self.cross.call(x, memory, self.mask(real)))
        inputs, learned = {"x": x, "memory": memory}, learned_in(self.cross.module)
        where = _told(size, "有一处填充", "one place of padding")
        return breach_of_gradients(inputs, learned, out, self.draw(*out.shape), where)

    @law("半精度下类型不变，不溢出，误差只来自舍入。")
    @torch.no_grad()
    def half_precision(self) -> Breach | None:
        """Half precision keeps the dtype, overflows nowhere, and errs only by rounding."""
        dtype, module = self.cross.half, self.cross.module
        if dtype is None or module is None:
            raise DoesNotApply("没有承诺", "not promised")
        size = 2, 3, 5
        x, memory = self.inputs(*size)

        def call(kind: torch.dtype) -> Tensor:
            return first_of(self.cross.call(x.to(kind), memory.to(kind), None))

        where = _told(size, str(dtype), str(dtype))
        return breach_of_precision(module, call, (self.dtype, dtype), where)

    @law("能编译成一整张图。")
    @torch.no_grad()
    def one_graph(self) -> Breach | None:
        """Compiles as one graph."""
        if not self.cross.compiles:
            raise DoesNotApply("没有承诺", "not promised")
        size = 2, 3, 4
        given = self.inputs(*size)
        right = self.out(*given)
        return breach_of_graph(lambda x, y: self.cross.call(x, y, None), given, right, _told(size))

    @law("追踪过后什么也不留。")
    @torch.no_grad()
    def trace(self) -> Breach | None:
        """A trace leaves nothing behind."""
        size = 1, 3, 40  # longer than any before: tables have to grow
        given = self.inputs(*size)
        return breach_of_trace(lambda x, y: self.cross.call(x, y, None), given, _told(size))


def _told(size: tuple[int, int, int], zh: str = "", en: str = "") -> Bilingual:
    """Say which input it is."""
    b, n, m = size
    return Bilingual(
        f"批量 {b}，{n} 个查询，记忆长 {m}{zh and '，'}{zh}",
        f"batch {b}, {n} {'query' if n == 1 else 'queries'}, a memory of {m}{en and ', '}{en}",
    )


__all__ = ["Cross", "CrossLaws"]
