"""Laws of a function (q, k, v, mask): compared with plain attention, and named where it differs."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

from attention_book.conformance.kernel import Case, Kernel, arguments, close, gap_of, heads_first
from attention_book.conformance.reference import VALUE_FAULTS
from attention_book.conformance.report import (
    Breach,
    DoesNotApply,
    Laws,
    device_of,
    law,
    told,
)
from attention_book.conformance.told_weights import what_is_told
from attention_book.foundations.bilingual import Bilingual


def _heads_known(kernel: Kernel) -> int:
    """Return how many heads of queries a kernel must get; 0 for any number."""
    if kernel.sinks is not None:
        return len(kernel.sinks)
    if kernel.bias is not None and (added := kernel.bias(1, 1)).ndim > 2:
        return added.shape[-3]
    return kernel.heads


class KernelLaws(Laws):
    """The laws of a kernel.

    >>> from attention_book.conformance.reference import attend
    >>> laws = KernelLaws(Kernel(attend, halves=(), compiles=False))
    >>> [law.name for law in laws.all() if law.outcome().breach]
    []
    """

    def __init__(self, kernel: Kernel, seed: int = 0) -> None:
        device = device_of(kernel.call) if kernel.device is None else torch.device(kernel.device)
        super().__init__(seed, device)
        self.kernel = kernel
        self.has_mask, self.heads = kernel.mask != "none", _heads_known(kernel)
        self.plain, self.masked, self.empty = (
            list(cases) for cases in (self._plain(), self._masked(), self._empty())
        )
        self._fits: dict[Case, dict[str, bool]] = {}

    # --- inputs: they grow, so that the first that breaks a law is small -------------------------

    def case(
        self, b: int, h: int, n: int, m: int, d: int, about: Bilingual, allow: str = ""
    ) -> Case:
        """Draw one input, with a mask of the kind that ``allow`` names."""
        heads, groups = (1, 1) if self.kernel.layout == "bnd" else (h, self.kernel.groups)
        heads = self.heads // groups or heads
        d = self.kernel.width or d
        shapes = (b, heads * groups, n, d), (b, heads, m, d), (b, heads, m, d)
        q, k, v = (self.draw(*shape).to(self.kernel.dtype) for shape in shapes)
        with torch.device("cpu"):
            seen = self._allow(b, n, m, allow)
        seen = None if seen is None else seen.to(self.device)
        return Case(1.5 * q, 1.5 * k, v, seen, about)

    def _allow(self, b: int, n: int, m: int, kind: str) -> Tensor | None:
        axes = self.kernel.mask_axes
        if not kind or not self.has_mask:
            return None
        if kind == "padding" or axes == "bk":
            lengths = (m - 1 - torch.arange(b) % max(1, m - 1)).clamp(min=1)
            real = torch.arange(m) < lengths[:, None]
            return real[:, None, None].expand(b, 1, n, m).clone()
        if kind == "one key":
            allow = torch.ones(b, 1, n, m, dtype=torch.bool)
            allow[:, :, -1, 0] = False
        else:
            allow = torch.rand(b, 1, n, m, generator=self.generator) < 0.6
            own = (torch.arange(n) + m - n).clamp(0, m - 1)
            allow[:, :, torch.arange(n), own] = True
        if kind == "empty":
            allow[:, :, n // 2] = False
        return allow[:1].expand(b, 1, n, m).clone() if axes == "qk" else allow

    def _plain(self) -> Iterator[Case]:
        for b, n, m, d in ((1, 1, 2, 4), (1, 2, 2, 4), (1, 2, 3, 4), (2, 3, 5, 6), (2, 5, 5, 8)):
            yield self.case(
                b, 2, m if self.kernel.square else n, m, d, Bilingual("没有掩码", "no mask")
            )

    def _masked(self) -> Iterator[Case]:
        sizes = (1, 2, 2, 4), (1, 2, 3, 4), (2, 2, 3, 4), (2, 4, 4, 6), (3, 3, 3, 4), (4, 3, 5, 4)
        for b, n, m, d in sizes:
            if self.kernel.square and n != m:
                continue
            if (b, n) == (1, 2):
                about = Bilingual("掩码遮住一个键", "a mask that hides one key")
                yield self.case(b, 3, n, m, d, about, "one key")
            about = Bilingual("有掩码", "a mask")
            if b == 3:
                about = Bilingual("有掩码，头与样本一样多", "a mask, as many heads as examples")
                b = self.heads or b
            yield self.case(b, 3, n, m, d, about, "random")

    def _empty(self) -> Iterator[Case]:
        for b, n, m in ((1, 1, 2), (2, 3, 3), (2, 3, 5)):
            if n == m or not self.kernel.square:
                about = Bilingual("有个查询什么都看不见", "one query may see nothing")
                yield self.case(b, 2, n, m, 4, about, "empty")

    # --- results, and what would do the same -----------------------------------------------------

    def run(self, case: Case, dtype: torch.dtype | None = None) -> Tensor:
        """Call the kernel in its own conventions; return (batch, head, query, feature)."""
        return heads_first(self.kernel, self.kernel.call(*arguments(self.kernel, case, dtype)))

    def right(self, case: Case, fault: str = "") -> Tensor:
        """Return what the formula says, in float64; or what it says with a fault."""
        kernel = self.kernel
        assert kernel.reference is not None
        built_in: dict[str, Any] = {
            "bias": kernel.bias,
            "softcap": kernel.softcap,
            "sinks": kernel.sinks,
        }
        return kernel.reference(
            *(t.double() for t in (case.q, case.k, case.v)),
            case.allow,
            causal=kernel.causal,
            window=kernel.window,
            scale=kernel.scale,
            fault=fault,
            **{name: given for name, given in built_in.items() if given is not None},
        )

    def named(self, *groups: list[Case]) -> tuple[str, tuple[str, ...]]:
        """Name the fault that does on every input what the kernel does; and others like it.

        A fault is ruled out by an input where it gives something else than the kernel; one where it
        gives what is right, and so does the kernel, says nothing.
        """
        cases = [case for group in groups for case in group]
        for case in cases:
            if case not in self._fits:
                self._fits[case] = self._fitting(case)
        found = [self._fits[case] for case in cases]
        counts = {
            fault: sum(fits[fault] for fits in found if fault in fits)
            for fault in VALUE_FAULTS
            if all(fits.get(fault, True) for fits in found)
        }
        names = sorted((name for name in counts if counts[name]), key=lambda name: -counts[name])
        return (names[0], tuple(names[1:3])) if names else ("unknown", ())

    def _fitting(self, case: Case) -> dict[str, bool]:
        """Return for each fault that this input tells apart from others whether it fits."""
        try:
            got = self.run(case)
        except Exception:
            return {}  # some shapes may be refused; the others still tell
        right, fits = self.right(case), {}
        is_right = close(got, right)
        for fault in VALUE_FAULTS:
            try:
                wrong = self.right(case, fault)
            except RuntimeError:  # an axis that does not fit
                continue
            if not close(wrong, right):
                # What a row gets that sees nothing, by mistake, is another matter.
                nothing = (wrong == 0).all(-1, keepdim=True)
                alike = got
                if got.shape == wrong.shape:
                    alike = torch.where(nothing, wrong.to(got.dtype), got)
                fits[fault] = close(alike, wrong, 1e-3)
            elif not is_right:
                fits[fault] = False
        return fits

    def asked(self) -> list[list[Case]]:
        """Return the inputs without a mask, and with one if the kernel takes any."""
        return [self.plain, self.masked] if self.has_mask else [self.plain]

    def _cause(self, otherwise: str, *groups: list[Case]) -> str:
        """Return the cause by what the kernel does, or the one that the law itself suggests."""
        name = self.named(*groups)[0] if self.kernel.reference is not None else "unknown"
        return otherwise if name == "unknown" else name

    def _equal(self, cases: list[Case]) -> Breach | None:
        for case in cases:
            right = self.right(case)
            try:
                got = self.run(case)
            except Exception as error:
                cause, others = self.named(*self.asked())
                cause = "raises" if cause == "unknown" else cause
                return Breach(cause, case.where(), told(error), others)
            if not close(got, right):
                cause, others = self.named(*self.asked())
                if cause == "unknown" and self.kernel.groups > 1:
                    cause = "grouped-heads-order"
                return Breach(cause, case.where(), gap_of(got, right), others)
        return None

    def _needs_the_formula(self) -> None:
        if self.kernel.reference is None:
            raise DoesNotApply("不是评分的 softmax", "not a softmax of scores")

    def _needs_a_mask(self) -> None:
        if not self.has_mask:
            raise DoesNotApply("不收掩码", "takes no mask")

    def _needs_free_places(self) -> None:
        places = self.kernel.places or self.kernel.bias is not None
        if self.kernel.causal or self.kernel.window or places:
            raise DoesNotApply("位置起作用", "places count")

    # --- laws ------------------------------------------------------------------------------------

    @law("输出是值的加权平均，权重是缩放点积沿键的 softmax。")
    def formula(self) -> Breach | None:
        """The output is the softmax of scaled scores over the keys, times the values."""
        self._needs_the_formula()
        return self._equal(self.plain)

    @law("权重之和为 1。")
    def weights_sum(self) -> Breach | None:
        """Weights sum to 1."""
        if not self.kernel.normalized or self.kernel.sinks is not None:
            raise DoesNotApply("权重之和可以不是 1", "they need not")
        for case in self.plain:
            ones = replace(case, v=torch.ones_like(case.v))
            got = self.run(ones)
            if not close(got, torch.ones_like(got)):
                total = f"{got.flatten()[0]:.4g}"
                found = Bilingual(f"加起来是 {total}", f"they sum to {total}")
                return Breach(self._cause("unknown", self.plain), ones.where(), found)
        return None

    @law("掩码遮住该遮的，不多也不少。")
    def mask(self) -> Breach | None:
        """The mask hides what it should, and nothing else."""
        self._needs_a_mask()
        self._needs_the_formula()
        return self._equal(self.masked)

    @law("交出来的权重就是公式的权重。")
    def weights_told(self) -> Breach | None:
        """The weights it reports are those of the formula."""
        if self.kernel.weights is None:
            raise DoesNotApply("不交出权重", "reports no weights")
        self._weights(self.plain[0])  # what is left over from a call is told by the next
        earlier = [self._right_weights(self.plain[0])]
        for case in self.plain[1:] + self.masked * self.has_mask:
            got, right = self._weights(case), self._right_weights(case)
            if not close(got, right):
                without = self._right_weights(replace(case, allow=None), "no-causal-mask")
                cause = what_is_told(got, right, without, earlier, close)
                if cause == "weights-not-used":
                    cause = self._fault_of_weights(case, got)
                return Breach(cause, case.where(), gap_of(got, right))
            earlier += [got, right]
        return None

    def _weights(self, case: Case) -> Tensor:
        """Return the weights that the kernel tells, (batch, head, query, key) if they are right."""
        given = arguments(self.kernel, case)
        if callable(self.kernel.weights):
            weights: Tensor = self.kernel.weights(*given)
        else:
            out = self.kernel.call(*given)
            if not isinstance(out, tuple) or len(out) < 2:
                kind = type(out).__name__
                raise TypeError(f"call: expected a tuple (output, weights), got {kind}")
            weights = out[1]
        return weights[:, None] if self.kernel.layout == "bnd" else weights

    def _right_weights(self, case: Case, fault: str = "") -> Tensor:
        """Return what the formula averages with: what it makes of values that are a unit matrix."""
        if self.kernel.reference is None:
            raise DoesNotApply("不是评分的 softmax", "not a softmax of scores")
        (b, h, m), like = case.k.shape[:3], case.v
        unit = torch.eye(m, dtype=like.dtype, device=like.device).expand(b, h, m, m)
        return self.right(replace(case, v=unit), fault)

    def _fault_of_weights(self, case: Case, got: Tensor) -> str:
        """Name the fault that makes such weights, though the output may be right."""
        fits = (
            fault
            for fault in VALUE_FAULTS
            if not fault.startswith("heads") and close(got, self._right_weights(case, fault))
        )
        return next(fits, "weights-not-used")

    @law("什么都看不见的一行，结果与约定相符。")
    def empty_row(self) -> Breach | None:
        """A row that may see nothing gets what was promised."""
        self._needs_a_mask()
        if self.kernel.empty_row == "any" or self.kernel.mask_axes == "bk":
            raise DoesNotApply("没有承诺", "not promised")
        for case in self.empty:
            row, got = case.q.shape[-2] // 2, self.run(case)
            if (
                self.kernel.reference is None
            ):  # of such a kernel the row itself is known, and no other
                got = got[:, :, row]
                right = torch.full_like(got, 0 if self.kernel.empty_row == "zeros" else math.nan)
                if not close(got, right):
                    cause = "nan-for-empty-rows" if got.isnan().any() else "average-for-empty-rows"
                    return Breach(cause, case.where(), gap_of(got, right))
                continue
            right = self.right(case)
            if self.kernel.empty_row == "nan":
                right = self.right(case, "nan-for-empty-rows")
            if close(got, right):
                continue
            if got[:, :, row].isnan().any():
                cause = "nan-for-empty-rows"
            elif close(got, self.right(case, "average-for-empty-rows")):
                cause = "average-for-empty-rows"
            else:
                cause = self.named(self.masked, self.empty)[0]
            return Breach(cause, case.where(), gap_of(got, right))
        return None

    @law("遮住的键等于没有。")
    def hidden_keys(self) -> Breach | None:
        """Hidden keys make no difference."""
        self._needs_a_mask()
        self._needs_free_places()
        for b, n, m in ((1, 1, 2), (2, 2, 3), (3, 2, 4)):
            case = self.case(b, 2, n, m, 4, Bilingual("只遮填充", "padding alone"), "padding")
            assert case.allow is not None
            heads, d = case.k.shape[1], case.k.shape[-1]
            more = Case(
                case.q,
                torch.cat((case.k, 30 * self.draw(b, heads, 2, d).to(case.k.dtype)), 2),
                torch.cat((case.v, 30 * self.draw(b, heads, 2, d).to(case.v.dtype)), 2),
                torch.cat((case.allow, case.allow.new_zeros(b, 1, n, 2)), -1),
                Bilingual("再加两个遮住的键", "two more keys, hidden"),
            )
            got, right = self.run(more), self.run(case)
            if not close(got, right, 1e-3):
                otherwise = "unknown" if self.kernel.reference is not None else "padding-attended"
                return Breach(self._cause(otherwise, self.masked), more.where(), gap_of(got, right))
        return None

    @law("谁也看不见的键和值里可以是任何数。")
    def hidden_numbers(self) -> Breach | None:
        """A key that nobody may see may hold anything, even NaN."""
        self._needs_a_mask()
        if self.kernel.hidden == "finite":
            raise DoesNotApply("没有承诺", "not promised")
        for number in (math.nan, math.inf, -math.inf, torch.finfo(torch.float32).max):
            about = Bilingual(
                f"遮住的键和值是 {number:.3g}", f"hidden keys and values are {number:.3g}"
            )
            case = self.case(2, 2, 5, 5, 4, about, "padding")
            assert case.allow is not None
            hidden = ~case.allow[:, :, :1].mT
            results = []
            for fill in (number, 0.0):
                k, v = (t.masked_fill(hidden, fill) for t in (case.k, case.v))
                filled = replace(
                    case, q=case.q.clone().requires_grad_(self.kernel.trains), k=k, v=v
                )
                out = self.run(filled)
                grads = torch.autograd.grad(out.sum(), filled.q) if self.kernel.trains else ()
                results.append((out, *grads))
            for got, right in zip(*results, strict=True):
                if not close(got, right, 1e-6):
                    return Breach("hidden-numbers-matter", case.where(), gap_of(got, right))
        return None

    @law("键的先后没有关系。")
    def order_of_keys(self) -> Breach | None:
        """Keys may come in any order."""
        self._needs_free_places()
        for case in self.plain[2:]:
            num_keys = case.k.shape[-2]
            turn = torch.randperm(num_keys, generator=self.generator, device="cpu").to(self.device)
            got = self.run(replace(case, k=case.k[:, :, turn], v=case.v[:, :, turn]))
            if not close(got, right := self.run(case)):
                return Breach(self._cause("unknown", self.plain), case.where(), gap_of(got, right))
        return None

    @law("同一批里的样本各算各的。")
    def batch(self) -> Breach | None:
        """Examples of a batch are independent."""
        for case in self.plain + self.masked * self.has_mask:
            if len(case.q) == 1:
                continue
            whole = self.run(case)
            for i in range(len(case.q)):
                q, k, v = (t[i : i + 1] for t in (case.q, case.k, case.v))
                allow = None if case.allow is None else case.allow[i : i + 1]
                one = replace(case, q=q, k=k, v=v, allow=allow)
                if not close(got := self.run(one), right := whole[i : i + 1]):
                    cause = self._cause("examples-mixed", *self.asked())
                    return Breach(cause, case.where(), gap_of(got, right))
        return None

    @law("评分极端时也成立。")
    def extreme_scores(self) -> Breach | None:
        """Extreme scores do not change any of this."""
        case = self.plain[-1]
        about = Bilingual("评分成千", "scores in the thousands")
        strong = replace(case, q=40 * case.q, k=40 * case.k, about=about)
        got = self.run(strong)
        if self.kernel.reference is None:
            if not got.isfinite().all():
                found = gap_of(got, torch.zeros_like(got))
                return Breach("exponential-overflow", strong.where(), found)
            return self._very_negative(case) if self.kernel.normalized else None
        right = self.right(strong)
        if close(got, right, 5e-3):
            return None
        cause = self._cause("unknown", self.plain)
        cause = cause if got.isfinite().all() else "exponential-overflow"
        return Breach(cause, strong.where(), gap_of(got, right))

    def _very_negative(self, case: Case) -> Breach | None:
        """Ask for a mean of ones where a feature map such as exp or elu + 1 is next to 0."""
        low = replace(
            case,
            q=torch.full_like(case.q, -60.0),
            k=torch.full_like(case.k, -60.0),
            v=torch.ones_like(case.v),
            about=Bilingual("查询和键全是 −60", "all queries and keys -60"),
        )
        got = self.run(low)
        right = torch.ones_like(got)
        if close(got, right, 1e-2):
            return None
        return Breach("kernel-underflow", low.where(), gap_of(got, right))

    @law("半精度下类型不变，不溢出，误差只来自舍入。")
    def half_precision(self) -> Breach | None:
        """Half precision keeps the dtype, overflows nowhere, and errs only by rounding."""
        self._needs_the_formula()
        if not self.kernel.halves:
            raise DoesNotApply("没有承诺", "not promised")
        for dtype in self.kernel.halves:
            if breach := self._in_half_precision(dtype):
                where = Bilingual(f"{dtype}；{breach.where.zh}", f"{dtype}; {breach.where.en}")
                return replace(breach, where=where)
        return None

    def _in_half_precision(self, dtype: torch.dtype) -> Breach | None:
        # A running sum of ones in float16 ends at 2048.
        n, m = (256, 256) if self.kernel.square else (2, 4096)
        eps = torch.finfo(dtype).eps
        long = self.case(1, 2, n, m, 16, Bilingual("许多键", "many keys"))
        even = Bilingual("许多键，权重几乎相等", "many keys, nearly even weights")
        flat = replace(long, q=long.q * 0.05, v=1 + long.v / 2, about=even)
        over = Bilingual("缩放之前的评分超过 65504", "scores over 65504 before scaling")
        wide = self.case(1, 2, 3, 3, 64, over)
        wide = replace(wide, q=torch.full_like(wide.q, 45.0), k=torch.full_like(wide.k, 45.0))
        hidden = self.masked[:4] + (self.empty[:2] if self.kernel.empty_row == "zeros" else [])
        for drawn in [self.plain[-1], *hidden * self.has_mask, long, flat, wide]:
            q, k, v = (t.to(dtype).to(t.dtype) for t in (drawn.q, drawn.k, drawn.v))
            case = replace(drawn, q=q, k=k, v=v)
            try:
                got = self.run(case, dtype)
            except RuntimeError as error:
                fill = "overflow" in str(error) or "convert" in str(error)
                return Breach("fill-does-not-fit" if fill else "raises", case.where(), told(error))
            right = self.right(case)
            if got.dtype != dtype:
                found = Bilingual(f"结果是 {got.dtype}", f"the result is {got.dtype}")
                return Breach("other-dtype", case.where(), found)
            if not got.isfinite().all():
                cause = "fill-does-not-fit" if case.allow is not None else "scores-overflow"
                if self.run(case).isnan().any():  # so it is in any precision
                    empty = "nan-for-empty-rows", "exponential-overflow"
                    cause = self._cause(empty[case.allow is None], *self.asked())
                return Breach(cause, case.where(), gap_of(got, right))
            off = (got.double() - right).abs().max() / right.abs().max().clamp(min=0.05)
            bound = (12 if drawn in (long, flat) else 40) * eps
            if off > bound:
                cause = self._cause("coarse-sums", *self.asked())
                numbers = f"{off / eps:.0f} eps", f"{bound / eps:.0f}"
                found = Bilingual(
                    f"误差 {numbers[0]}，最多 {numbers[1]}",
                    f"error {numbers[0]}, at most {numbers[1]}",
                )
                return Breach(cause, case.where(), found)
        return None

    def _a_few(self) -> list[Case]:
        """Return inputs of each kind: without a mask, with one, with an empty row."""
        with_mask = self.masked[2:4] + self.empty[1:2]
        return self.plain[2:4] + with_mask * self.has_mask

    @law("传入的张量原样不动。")
    def arguments_unchanged(self) -> Breach | None:
        """Arguments are left alone."""
        for case in self._a_few():
            given = arguments(self.kernel, case)
            before = [None if each is None else each.clone() for each in given]
            self.kernel.call(*given)
            for name, old, new in zip(("q", "k", "v", "mask"), before, given, strict=False):
                if old is not None and not torch.equal(old, new):
                    cause = "writes-into-mask" if name == "mask" else "writes-into-inputs"
                    found = Bilingual(f"{name} 变了", f"{name} changed")
                    return Breach(cause, case.where(), found)
        return None

    @law("梯度就是公式的梯度，而且有限。")
    def gradients(self) -> Breach | None:
        """Gradients are those of the formula, and finite."""
        if not self.kernel.trains:
            raise DoesNotApply("只用于推断", "for inference only")
        for case in self._a_few():
            if case in self.empty and self.kernel.empty_row != "zeros":
                continue
            if breach := self._gradients(case):
                return breach
        return None

    def _gradients(self, case: Case) -> Breach | None:
        q, k, v = leaves = [t.clone().requires_grad_() for t in (case.q, case.k, case.v)]
        out = self.run(replace(case, q=q, k=k, v=v))
        if not out.requires_grad:
            found = Bilingual("结果不要求梯度", "the result requires no gradient")
            return Breach("gradient-cut", case.where(), found)
        upstream, kept = self.draw(*out.shape), torch.ones_like(out, dtype=torch.bool)
        if case in self.empty:
            kept[:, :, case.q.shape[-2] // 2] = False
        got = torch.autograd.grad((out * upstream)[kept].sum(), leaves, allow_unused=True)
        wanted = got
        if self.kernel.reference is not None:
            q, k, v = twins = [t.double().requires_grad_() for t in (case.q, case.k, case.v)]
            right = self.right(replace(case, q=q, k=k, v=v))
            wanted = torch.autograd.grad((right * upstream.double())[kept].sum(), twins)
        for name, mine, right in zip("qkv", got, wanted, strict=True):
            if mine is None:
                found = Bilingual(f"{name} 没有梯度", f"{name} gets no gradient")
                return Breach("gradient-cut", case.where(), found)
            if not mine.isfinite().all():
                found = Bilingual(
                    f"{name} 的梯度是 NaN 或无穷", f"the gradient of {name} is NaN or infinite"
                )
                return Breach("nan-gradients", case.where(), found)
            if not close(mine, right, 1e-3):
                gap, cause = gap_of(mine, right), self._cause("gradient-cut", *self.asked())
                found = Bilingual(f"{name} 的梯度：{gap.zh}", f"gradient of {name}: {gap.en}")
                return Breach(cause, case.where(), found)
        return None

    @law("两次同样的调用结果相同。")
    def deterministic(self) -> Breach | None:
        """Two identical calls give the same result."""
        for case in self.plain[2:]:
            with torch.no_grad():
                first, again = self.run(case), self.run(case)
            if not torch.equal(first, again) and not close(first, again, 1e-6):
                gap = gap_of(first, again)
                return Breach("dropout-in-eval", case.where(), gap, ("not-deterministic",))
        return None

    @law("输入在内存里怎么排都行。")
    def memory_order(self) -> Breach | None:
        """Inputs may lie in memory in any way."""
        for case in self.plain[3:] + self.masked[3:5] * self.has_mask:
            given = arguments(self.kernel, case)
            right = heads_first(self.kernel, self.kernel.call(*given))
            strange = [None if t is None else transposed(t) for t in arguments(self.kernel, case)]
            got = heads_first(self.kernel, self.kernel.call(*strange))
            if not close(got, right, 1e-5):
                return Breach("memory-order-assumed", case.where(), gap_of(got, right))
        return None

    @law("能编译成一整张图。")
    def one_graph(self) -> Breach | None:
        """Compiles as one graph."""
        if not self.kernel.compiles:
            raise DoesNotApply("没有承诺", "not promised")
        case = (self.masked if self.has_mask else self.plain)[3]
        right = self.run(case)
        torch._dynamo.reset()
        compiled = torch.compile(
            lambda *given: self.kernel.call(*given), fullgraph=True, backend="eager"
        )
        try:
            got = heads_first(self.kernel, compiled(*arguments(self.kernel, case)))
        except Exception as error:
            return Breach("breaks-the-graph", case.where(), told(error))
        if close(got, right):
            return None
        return Breach("breaks-the-graph", case.where(), gap_of(got, right))

    @law("追踪过后什么也不留。")
    def trace(self) -> Breach | None:
        """A trace leaves nothing behind."""
        # Longer than any before: tables have to grow.
        long = bool(self.kernel.halves) and self.kernel.reference is not None
        m = (301 if self.kernel.square else 4500) if long else 24
        n = m if self.kernel.square else 3
        case = self.case(1, 2, n, m, 8, Bilingual("没有掩码", "no mask"))
        try:
            with FakeTensorMode(allow_non_fake_inputs=True) as mode:
                given = arguments(self.kernel, case)
                self.kernel.call(*(None if t is None else mode.from_tensor(t) for t in given))
        except Exception:
            raise DoesNotApply("不能用假张量追踪", "can't be traced with fake tensors") from None
        try:
            got = self.run(case)
            spoiled = isinstance(got, FakeTensor)
            if self.kernel.reference is not None and not close(got, self.right(case), 1e-3):
                ordinary = self.plain[-2]
                spoiled |= close(self.run(ordinary), self.right(ordinary))
        except Exception:
            spoiled = True
        if not spoiled:
            return None
        found = Bilingual(
            "之后一次平常的调用失败，或者得到假张量",
            "an ordinary call afterwards fails or gives a fake tensor",
        )
        return Breach("keeps-tensors-of-a-trace", case.where(), found)


def transposed(tensor: Tensor) -> Tensor:
    """Return the same numbers, neighbours in memory along the first axis instead of the last.

    >>> transposed(torch.zeros(2, 3)).stride()
    (1, 2)
    """
    order = tuple(reversed(range(tensor.ndim)))
    return tensor.permute(order).contiguous().permute(order)


__all__ = ["KernelLaws", "transposed"]
