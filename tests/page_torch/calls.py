"""Calls of PyTorch's functions as Python source, drawn by a seed.

Each is a list of lines to run first (the first makes `x`), and an expression to look at. `made`
makes a tensor of the same numbers with either torch. A call that differs is a few lines that one
can run: nothing is left to shrink.
"""

import math
import random

UNARY = (
    *("exp", "log", "log2", "log10", "log1p", "expm1", "sqrt", "rsqrt", "sin", "cos", "tan"),
    *("tanh", "sigmoid", "relu", "abs", "sign", "floor", "ceil", "trunc", "round", "reciprocal"),
    *("square", "neg", "erf", "isnan", "isinf", "isfinite", "logical_not", "nan_to_num", "frac"),
    *("exp2", "atan", "sinh", "cosh"),
)
BINARY = (
    *("add", "sub", "mul", "div", "floor_divide", "remainder", "pow", "maximum", "minimum"),
    *("eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor", "fmod"),
    "atan2",
)
OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", "<=", ">", ">=")
REDUCE = ("sum", "mean", "prod", "amax", "amin", "all", "any", "std", "var", "norm")
NUMBERS = ("2", "-1", "0.5", "True", "3.0", "0", "1e-8")
NO_NUMBERS = ("None", "'a'", "[1]")
KINDS = (*["float"] * 5, "int", "bool", "double", "half", "special", "bfloat16")
#: No number whose square float32 can't hold: the page's torch adds up in double precision.
SPECIAL = (0.0, -0.0, 1.5, -2.0, math.inf, -math.inf, math.nan, 1e15, 1e-15)


def made(torch, kind, shape, seed):
    """Return a tensor of one kind with seeded numbers."""
    r = random.Random(seed)
    dtype, draw = {
        "float": (torch.float32, lambda: r.gauss(0, 1)),
        "double": (torch.float64, lambda: r.gauss(0, 1)),
        "half": (torch.float16, lambda: r.gauss(0, 1)),
        "bfloat16": (torch.bfloat16, lambda: r.gauss(0, 1)),
        "int": (torch.int64, lambda: r.randint(-4, 4)),
        "places": (torch.int64, lambda: r.randint(0, 1)),
        "bool": (torch.bool, lambda: r.random() < 0.5),
        "special": (torch.float32, lambda: r.choice(SPECIAL)),
        "positive": (torch.float32, lambda: r.random() + 0.1),
    }[kind]
    return torch.tensor([draw() for _ in range(math.prod(shape))], dtype=dtype).reshape(shape)


class Draw:
    """What a call chooses."""

    def __init__(self, seed):
        self.r = random.Random(seed)

    def pick(self, items):
        return self.r.choice(list(items))

    def integer(self, low, high):
        return self.r.randint(low, high)

    def chance(self, share):
        return self.r.random() < share

    def some(self, count, taken):
        return self.r.sample(range(count), taken)

    def shape(self, low=0, high=3, sizes=(1, 2, 3, 4)):
        return [self.pick(sizes) for _ in range(self.integer(low, high))]

    def partner(self, shape):
        """Return a shape that mostly broadcasts with this one; now and then that of one number."""
        if self.chance(0.15):
            return []
        other = [1 if self.chance(0.25) else size for size in shape]
        if self.chance(0.4):
            other = other[self.integer(0, len(other)) :]
        if other and self.chance(0.06):
            other[self.integer(0, len(other) - 1)] += 1
        return other

    def tensor(self, shape, kind=None):
        return f"made({kind or self.pick(KINDS)!r}, {tuple(shape)}, {self.integer(0, 999)})"

    def dim(self, shape):
        n = len(shape)
        if n == 0 or self.chance(0.05):
            return self.pick([-n - 1, n, 0])
        return self.integer(-n, n - 1)

    def turned(self, name, shape):
        """Return a view or a layout in which the numbers do not lie in order."""
        choice = self.integer(1, 20)
        if len(shape) >= 2 and choice <= 4:
            return f"{name}.transpose(0, -1)", [shape[-1], *shape[1:-1], shape[0]]
        if shape and choice <= 6:
            return f"{name}.flip(0)", shape
        if shape and shape[0] > 1 and choice <= 8:
            return f"{name}[1:]", [shape[0] - 1, *shape[1:]]
        if shape and choice <= 9:
            return f"{name}.expand(2, {', '.join(map(str, shape))})", [2, *shape]
        return name, shape


def index_key(d: Draw, shape: list[int]) -> str:
    parts, axis = [], 0
    while axis < len(shape):
        size = shape[axis]
        kind = d.pick(
            [
                "int",
                "slice",
                "slice",
                ":",
                "none",
                "list",
                "tensor",
                "mask",
                "ellipsis",
                "stop",
                "grid",
            ]
        )
        if kind == "stop":
            break
        if kind == "none":
            parts.append("None")
            continue
        if kind == "ellipsis" and "..." not in parts:
            parts.append("...")
            axis += d.integer(0, 1)
            continue
        if kind == "int":
            parts.append(str(d.integer(-size - (d.chance(0.1)), size - 1 + (d.chance(0.1)))))
        elif kind == "slice":
            start, stop = (d.pick(["", str(d.integer(-size - 1, size + 1))]) for _ in "ab")
            parts.append(f"{start}:{stop}" + d.pick(["", "", ":2"]))
        elif kind == "list":
            parts.append(str([d.integer(-size, size - 1) for _ in range(2)]))
        elif kind == "tensor":
            parts.append(f"torch.tensor({[d.integer(0, size - 1) for _ in range(2)]})")
        elif kind == "grid":
            parts.append(f"torch.tensor({[[d.integer(0, size - 1)] for _ in range(2)]})")
        elif kind == "mask":
            parts.append(f"torch.tensor({[d.chance(0.6) for _ in range(size)]})")
        else:
            parts.append(":")
        axis += 1
    if not parts:
        parts = ["..."]
    return ", ".join(parts)


def unary(d: Draw, shape: list[int], setup: list[str]) -> str:
    setup[0] = f"x = {d.tensor(shape)}"
    x, shape = d.turned("x", shape)
    name = d.pick(UNARY)
    return f"{x}.{name}()" if d.chance(0.5) else f"torch.{name}({x})"


def binary(d: Draw, shape: list[int], setup: list[str]) -> str:
    other = d.partner(shape)
    setup.append(f"y = {d.tensor(other) if d.chance(0.75) else d.pick(NUMBERS)}")
    name = d.pick(BINARY)
    return f"torch.{name}(x, y)" if d.chance(0.4) else f"x.{name}(y)"


def operators(d: Draw, shape: list[int], setup: list[str]) -> str:
    other = d.partner(shape)
    setup.append(f"y = {d.tensor(other) if d.chance(0.6) else d.pick((*NUMBERS, *NO_NUMBERS))}")
    sides = ("x", "y") if d.chance(0.7) else ("y", "x")
    return f"{sides[0]} {d.pick(OPERATORS)} {sides[1]}"


def logic(d: Draw, shape: list[int], setup: list[str]) -> str:
    setup[0] = f"x = {d.tensor(shape, d.pick(['bool', 'bool', 'int', 'float']))}"
    setup.append(f"y = {d.tensor(d.partner(shape), d.pick(['bool', 'bool', 'int']))}")
    return d.pick(
        ["x & y", "x | y", "x ^ y", "~x", "x & ~y", "(x != 0) & (y != 0)", "x & 1", "True & x"]
    )


def reduce_(d: Draw, shape: list[int], setup: list[str]) -> str:
    name = d.pick(REDUCE)
    x, shape = d.turned("x", shape)
    if (
        name in ("amax", "amin", "sum", "mean", "std", "var", "norm")
        and len(shape) > 1
        and d.chance(0.3)
    ):
        dims = d.some(len(shape), 2)
        return f"{x}.{name}(dim={tuple(dims)}, keepdim={d.pick([True, False])})"
    if d.chance(0.3):
        return f"{x}.{name}()"
    return f"{x}.{name}(dim={d.dim(shape)}" + d.pick([", keepdim=True", ""]) + ")"


def variance(d: Draw, shape: list[int], setup: list[str]) -> str:
    name, dim = d.pick(["var", "std"]), d.dim(shape)
    how = d.pick(["correction=0", "unbiased=False", "correction=1", "keepdim=True, correction=0"])
    return f"x.{name}(dim={dim}, {how})"


def extremes(d: Draw, shape: list[int], setup: list[str]) -> str:
    name = d.pick(
        [
            "max",
            "min",
            "argmax",
            "argmin",
            "sort",
            "argsort",
            "topk",
            "median",
            "cummax",
            "kthvalue",
        ]
    )
    setup[0] = f"x = {d.tensor(shape, d.pick(['float', 'float', 'double']))}"
    if name in ("sort", "argsort"):
        return f"x.{name}(dim={d.dim(shape)}, descending={d.pick([True, False])})"
    if name in ("topk", "kthvalue"):
        return f"x.{name}({d.integer(1, 3)}, dim={d.dim(shape)})"
    if name == "cummax":
        return f"x.cummax({d.dim(shape)})"
    if d.chance(0.4):
        return f"x.{name}()"
    return f"x.{name}(dim={d.dim(shape)}" + d.pick([", keepdim=True", ""]) + ")"


def softmaxes(d: Draw, shape: list[int], setup: list[str]) -> str:
    x, shape = d.turned("x", shape)
    name = d.pick(["softmax", "log_softmax", "logsumexp", "cumsum", "cumprod"])
    where = d.pick(["torch.", "F.", "x"]) if name.endswith("softmax") else "x"
    if where == "x":
        return f"{x}.{name}({d.pick(['', 'dim='])}{d.dim(shape)})"
    return f"{where}{name}({x}, dim={d.dim(shape)})"


def matmul(d: Draw, shape: list[int], setup: list[str]) -> str:
    batch = d.shape(0, 2, (1, 2, 3))
    n, k, m = (d.pick([1, 2, 3, 5]) for _ in range(3))
    wrong = k + (d.chance(0.08))
    kinds = ["float"] * 6 + ["double", "int", "half"]
    kind = d.pick(kinds)
    a = d.pick([[n, k], [*batch, n, k], [k], [*batch, n, k]])
    b = d.pick([[wrong, m], [*d.partner(batch), wrong, m], [wrong], [*batch, wrong, m]])
    setup[0] = f"x = {d.tensor(a, kind)}"
    setup.append(f"y = {d.tensor(b, kind if d.chance(0.95) else d.pick(kinds))}")
    return d.pick(["x @ y", "torch.matmul(x, y)", "x.matmul(y)", "x @ y"])


def products(d: Draw, shape: list[int], setup: list[str]) -> str:
    n, k, m = (d.pick([1, 2, 3, 5]) for _ in range(3))
    setup[0] = f"x = torch.randn({n}, {k})"
    setup.append(
        f"y = torch.randn({k}, {m}); u = torch.randn({n}); v = torch.randn({n});"
        f" b = torch.randn(2, {n}, {k}); c = torch.randn(2, {k}, {m})"
    )
    return d.pick(
        [
            "x.mm(y)",
            "torch.outer(u, v)",
            "u.dot(v)",
            "torch.mv(x.T, u)",
            "b.bmm(c)",
            "torch.einsum('ij,jk->ik', x, y)",
            "torch.einsum('bij,bjk->bik', b, c)",
            "torch.einsum('bij,bij->b', b, b)",
            "torch.einsum('i,j->ij', u, v)",
            "torch.einsum('...ij,...jk->...ik', b, c)",
            "torch.einsum('ij->ji', x)",
            "torch.einsum('ij->', x)",
            "torch.einsum('bik,jk->bij', b, y.T)",
            "x.trace() if x.shape[0] == x.shape[1] else x.sum()",
            "torch.addmm(torch.ones(1), x, y)",
            "torch.tensordot(b, y, 1)",
            "F.linear(x, y.T)",
            "F.linear(b, y.T, torch.ones(y.shape[1]))",
            "torch.cdist(x, x)",
            "torch.kron(x, x)",
            "F.cosine_similarity(x, x + 1)",
            "F.normalize(x, dim=-1)",
            "torch.einsum('bhqd,bhkd->bhqk', b[None], b[None])",
            "torch.einsum('ii->i', x @ x.T)",
            "torch.einsum('ii', x @ x.T)",
        ]
    )


def views(d: Draw, shape: list[int], setup: list[str]) -> str:
    x, shape = d.turned("x", shape)
    n = len(shape)
    total = 1
    for size in shape:
        total *= size
    options = [
        f"{x}.flatten()",
        f"{x}.reshape(-1)",
        f"{x}.view(-1)",
        f"{x}.unsqueeze({d.dim(shape)})",
        f"{x}.squeeze()",
        f"{x}.squeeze({d.dim(shape)})",
        f"{x}.transpose({d.dim(shape)}, {d.dim(shape)})",
        f"{x}.permute({d.some(n, n)})",
        f"{x}.movedim({d.dim(shape)}, {d.dim(shape)})",
        f"{x}.mT",
        f"{x}.unbind({d.dim(shape)})",
        f"{x}.chunk(2, {d.dim(shape)})",
        f"{x}.split(2, {d.dim(shape)})",
        f"{x}.diagonal(0, -2, -1)",
        f"{x}.flip({d.dim(shape)})",
        f"{x}.roll(1, {d.dim(shape)})",
        f"{x}.roll(2)",
        f"{x}.repeat({', '.join('2' for _ in range(max(n, 1)))})",
        f"{x}.repeat_interleave(2, dim={d.dim(shape)})",
        f"{x}.tile(2)",
        f"{x}.narrow({d.dim(shape)}, 0, 1)",
        f"{x}.select({d.dim(shape)}, 0)",
        f"{x}.tril()",
        f"{x}.triu(1)",
        f"{x}.expand(3, {', '.join(map(str, shape))})",
        f"{x}.reshape(2, -1)",
        f"{x}.view({total})",
        f"{x}.unflatten({d.dim(shape)}, (-1, 1))",
        f"{x}.unfold(0, 1, 1)",
        f"{x}.contiguous().view(1, -1)",
        f"{x}.T",
        f"{x}.flatten({d.dim(shape)})",
        f"{x}.swapaxes(0, -1)",
        f"torch.stack([{x}, {x}], dim={d.dim(shape)})",
        f"torch.cat([{x}, {x}], dim={d.dim(shape)})",
        f"torch.cat([{x}, {x}[:1]])",
        f"torch.atleast_2d({x}) if hasattr(torch, 'zz') else {x}.ravel()",
        f"{x}.stride()",
        f"{x}.is_contiguous()",
        f"torch.diag({x})",
        f"{x}.view(torch.Size([{total}]))",
        f"{x}.fliplr() if {x}.ndim > 1 else {x}",
    ]
    return d.pick(options)


def indexing(d: Draw, shape: list[int], setup: list[str]) -> str:
    x, shape = d.turned("x", shape)
    return f"{x}[{index_key(d, shape)}]"


def writing(d: Draw, shape: list[int], setup: list[str]) -> str:
    key = index_key(d, shape)
    value = d.pick(
        ["0", "1.5", "torch.tensor(2)", "7", "True", "torch.tensor([1, 2])", "x[..., :1]"]
    )
    setup.append("y = x.clone()")
    setup.append(f"y[{key}] = {value}")
    return "y"


def writing_views(d: Draw, shape: list[int], setup: list[str]) -> str:
    setup.append("y = x.clone()")
    x, _ = d.turned("y", shape)
    setup.append(f"v = {x}")
    setup.append(
        d.pick(
            [
                "v += 1",
                "v *= 2",
                "v.fill_(3)",
                "v.zero_()",
                "v[..., 0] = 5",
                "v.masked_fill_(v > 0, 0)",
                "v.add_(v)",
                "v.sub_(1)",
                "v.copy_(v * 2)",
                "v.div_(2)",
                "v.clamp_(0, 1)",
            ]
        )
    )
    return "(y, v)"


def choosing(d: Draw, shape: list[int], setup: list[str]) -> str:
    setup.append(f"m = {d.tensor(d.partner(shape), 'bool')}")
    setup.append(f"y = {d.tensor(d.partner(shape))}")
    n = max(1, len(shape))
    return d.pick(
        [
            "x.masked_fill(m, 0)",
            "x.masked_fill(~m, -math.inf)",
            "torch.where(m, x, y)",
            "torch.where(m, x, 0.0)",
            "x.where(m, 0)",
            "torch.where(m, 1, y)",
            "x.masked_fill(m, -1e9)",
            "x.nonzero()",
            "x[m.expand_as(x)]",
            "x.masked_select(m)",
            "x.clamp(0, 1)",
            "x.clamp(min=0)",
            "x.clamp(max=0.5)",
            "m.nonzero()",
            "m.sum()",
            "m.all(dim=-1, keepdim=True)",
            "x.masked_fill(m.expand_as(x), 2.5)",
            f"x.gather({d.dim(shape)}, torch.zeros({tuple([1] * n)}, dtype=torch.long))",
            f"x.scatter({d.dim(shape)}, torch.zeros({tuple([1] * n)}, dtype=torch.long), 9)",
            f"x.index_select({d.dim(shape)}, torch.tensor([0, 0]))",
            "x.float().cumsum(-1)",
            "m.long().cumsum(-1)",
            "x.isclose(y)",
            "torch.allclose(x, y)",
            "torch.equal(x, x.clone())",
            "x.unique()",
            "m.any(-1)",
            "torch.count_nonzero(x)",
            "x.masked_fill(m, x)",
        ]
    )


def creating(d: Draw, shape: list[int], setup: list[str]) -> str:
    s = tuple(shape)
    return d.pick(
        [
            f"torch.zeros({s})",
            f"torch.ones({s}, dtype=torch.long)",
            f"torch.full({s}, 2)",
            f"torch.full({s}, -math.inf)",
            "torch.arange(5)",
            "torch.arange(1, 7, 2)",
            "torch.arange(0.0, 1.0, 0.3)",
            "torch.linspace(0, 5, 9)",
            "torch.eye(3)",
            "torch.eye(2, 4)",
            "torch.zeros_like(x)",
            "torch.ones_like(x, dtype=torch.bool)",
            "torch.full_like(x, 2)",
            "torch.tensor([[1, 2], [3, 4]])",
            "torch.tensor([1, 2.5])",
            "torch.tensor(True)",
            "torch.tensor([[1], [2, 3]])",
            "torch.tensor([torch.tensor(1), torch.tensor(2.0)])",
            "torch.tensor([])",
            "torch.as_tensor([1.0])",
            f"torch.rand({s})",
            f"torch.randn({s})",
            f"torch.randn({s}, dtype=torch.float64)",
            "torch.randn(17)",
            "torch.randn(40)",
            "torch.randint(0, 10, (7,))",
            "torch.randperm(9)",
            "torch.meshgrid(torch.arange(2), torch.arange(3), indexing='ij')",
            "torch.tril(torch.ones(3, 3))",
            "torch.tril_indices(3, 3)",
            "torch.arange(3)[:, None] >= torch.arange(3)",
            "torch.empty(0, 3)",
            "torch.arange(4).reshape(2, 2).tolist()",
            "torch.tensor([1.0, math.nan]).isnan()",
            "torch.tensor(3).item()",
            "x.new_zeros(2)",
            "x.new_ones((1, 2))",
            "torch.rand(2, generator=torch.Generator().manual_seed(3))",
            "torch.normal(0.0, 1.0, (3,))",
            "torch.finfo(torch.float16).min",
            "torch.iinfo(torch.int32).max",
            "torch.zeros(2, 3).shape",
            "torch.tensor([1, None])",
            "torch.zeros(-1)",
            "torch.arange(10, dtype=torch.float16)",
            "torch.ones(3).softmax(0).sum().item()",
            "torch.tensor([0.1, 0.2]).tolist()",
            "torch.manual_seed(1).initial_seed()",
            "torch.rand_like(x.float())",
            "torch.linspace(-1, 1, 5)[1:3]",
            "torch.cartesian_prod(torch.arange(2), torch.arange(2))",
            "torch.bincount(torch.tensor([0, 1, 1]))",
        ]
    )


def layers(d: Draw, shape: list[int], setup: list[str]) -> str:
    b, v = d.pick([1, 2, 3]), d.pick([3, 4, 5])
    setup[0] = f"x = torch.randn({b}, 3, {v})"
    setup.append(
        f"t = torch.randint(0, {v}, ({b}, 3)); w = torch.randn({v});"
        f" s = torch.rand({v}) + 0.5; h = torch.randn({b}, 2, 3, 4);"
        f" k = torch.randn({b}, 2, 5, 4); m = torch.rand(3, 5) < 0.6"
    )
    red = d.pick(["mean", "sum", "none"])
    return d.pick(
        [
            f"F.cross_entropy(x.flatten(0, 1), t.flatten(), reduction='{red}')",
            f"F.cross_entropy(x.transpose(1, 2), t, reduction='{red}')",
            "F.cross_entropy(x.flatten(0, 1), t.flatten(), label_smoothing=0.1,"
            f" reduction='{red}')",
            f"F.cross_entropy(x.flatten(0, 1), t.flatten(), ignore_index=0, reduction='{red}')",
            f"F.cross_entropy(x.flatten(0, 1), t.flatten(), weight=s, reduction='{red}')",
            "F.cross_entropy(x, t)",
            f"F.nll_loss(x.flatten(0, 1).log_softmax(-1), t.flatten(), reduction='{red}')",
            f"F.layer_norm(x, ({v},), s, w)",
            "F.layer_norm(x, x.shape[-1:])",
            "F.layer_norm(x, x.shape[1:])",
            f"F.rms_norm(x, ({v},), s)",
            "F.layer_norm(x, (7,))",
            "F.silu(x)",
            "F.gelu(x)",
            "F.gelu(x, approximate='tanh')",
            "F.softplus(x)",
            "F.one_hot(t)",
            f"F.one_hot(t, {v + 1})",
            "F.one_hot(t, 1)",
            "F.pad(x, (1, 2))",
            "F.pad(x, (1, 0), value=5)",
            "F.pad(x, (0, 0, 1, 1))",
            "F.pad(x, (-1, 0))",
            "F.pad(t, (0, 1), value=9)",
            "F.embedding(t, torch.randn(5, 3))",
            "F.embedding(t + 4, torch.randn(5, 3))",
            "F.scaled_dot_product_attention(h, k, k)",
            "F.scaled_dot_product_attention(h, k, k, attn_mask=m)",
            "F.scaled_dot_product_attention(h, k, k, is_causal=True)",
            "F.scaled_dot_product_attention(h, k, k, "
            "attn_mask=torch.zeros(3, 5).masked_fill(~m, -math.inf))",
            "F.mse_loss(x, x + 1)",
            "F.mse_loss(x, x * 2, reduction='sum')",
            "F.dropout(x, 0.5, training=False)",
            "F.leaky_relu(x)",
            "F.elu(x)",
            "F.kl_div(x.log_softmax(-1), x.softmax(-1), reduction='batchmean')",
            "F.unfold(h, 2)",
            "F.unfold(h, kernel_size=2, stride=2)",
            "F.binary_cross_entropy_with_logits(x, (x > 0).float())",
            "F.logsigmoid(x)",
            "F.glu(h)",
            "F.huber_loss(x, x * 0)",
            "F.cross_entropy(x[0], t[0])",
            "F.cross_entropy(x[0, 0], t[0, 0])",
            "F.cross_entropy(x[0], x[0].softmax(-1))",
            "F.softmin(x, dim=-1)",
            "torch.linalg.vector_norm(x, dim=-1)",
            "torch.linalg.norm(x)",
            "torch.linalg.solve_triangular(torch.eye(3) + torch.ones(3, 3).tril(),"
            " torch.randn(3, 2), upper=False)",
        ]
    )


def modules(d: Draw, shape: list[int], setup: list[str]) -> str:
    setup[0] = "x = torch.randn(2, 3, 4)"
    setup.append("t = torch.randint(0, 5, (2, 3))")
    return d.pick(
        [
            "nn.Linear(4, 5)(x)",
            "nn.Linear(4, 5, bias=False)(x)",
            "nn.Linear(4, 2).weight",
            "nn.LayerNorm(4)(x)",
            "nn.RMSNorm(4)(x)",
            "nn.Embedding(5, 3)(t)",
            "nn.Embedding(5, 3, padding_idx=0)(t)",
            "nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))(x)",
            "str(nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Dropout(0.1)))",
            "[n for n, _ in nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8)).named_parameters()]",
            "list(nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8)).state_dict())",
            "nn.Dropout(0.5).eval()(x)",
            "nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])[1](x)",
            "sum(p.numel() for p in nn.Linear(4, 5).parameters())",
            "str(nn.Embedding(3, 2))",
            "nn.Identity()(x)",
            "nn.Tanh()(x)",
            "nn.Softmax(dim=-1)(x)",
            "str(nn.LayerNorm(4))",
            "nn.CrossEntropyLoss()(x.flatten(0, 1), t.flatten().clamp(max=3))",
            "nn.Parameter(torch.ones(2))",
            "nn.init.xavier_uniform_(torch.empty(3, 4))",
            "nn.init.normal_(torch.empty(3), std=0.02)",
            "nn.Linear(3, 5)(x)",
            "nn.Module()(x)",
            "nn.utils.clip_grad_norm_([torch.ones(2, requires_grad=True)], 1.0)",
            "nn.GRU(4, 5)(x)",
            "nn.GRU(4, 5, num_layers=2, bidirectional=True, batch_first=True)(x)",
            "nn.GRU(4, 5, bias=False)(x, torch.ones(1, 3, 5))",
            "nn.LSTM(4, 5)(x)",
            "nn.LSTM(4, 5, num_layers=2, batch_first=True)(x[0])",
            "nn.RNN(4, 5, nonlinearity='relu')(x)",
            "nn.GRUCell(4, 5)(x[0])",
            "nn.LSTMCell(4, 5)(x[0])",
            "str(nn.GRU(4, 5, num_layers=2, bidirectional=True))",
            "nn.MultiheadAttention(4, 2)(x, x, x)",
            "nn.MultiheadAttention(4, 2, batch_first=True, bias=False)(x, x[:, :2], x[:, 1:])",
            "nn.MultiheadAttention(4, 2)(x[0], x[1], x[1], average_attn_weights=False)",
            "nn.MultiheadAttention(4, 2, batch_first=True)"
            "(x, x, x, attn_mask=torch.ones(3, 3).triu(1).bool(), need_weights=False)",
            "nn.MultiheadAttention(4, 2, batch_first=True)"
            "(x, x, x, key_padding_mask=torch.tensor([[False, True, True], [False, False, True]]))",
            "nn.MultiheadAttention(5, 2)",
            "nn.MultiheadAttention(4, 2)(x, x, x, is_causal=True)",
            "str(nn.MultiheadAttention(4, 2))",
            "list(nn.MultiheadAttention(4, 2).state_dict())",
            "list(nn.GRU(4, 5, bidirectional=True).state_dict())",
            "nn.GRU(3, 5)(x)",
        ]
    )


def printing(d: Draw, shape: list[int], setup: list[str]) -> str:
    scale = d.pick(["", " * 1e5", " * 1e-6", " * 100", " + 1000", " / 0"])
    kind = d.pick(["float", "float", "special", "int", "bool", "double", "half"])
    setup[0] = f"x = {d.tensor(d.shape(0, 3, (1, 2, 3, 7, 12)), kind)}"
    return d.pick(
        [
            f"repr(x{scale})",
            "repr(x)",
            "repr(x.round())",
            "str(x[..., :1])",
            "repr(x.long())",
            "repr(torch.arange(1200.).reshape(30, 40))",
            "repr(x * 0)",
            "f'{x}'",
            "f'{x.float().sum():.3f}'",
            "repr(torch.zeros(0, 2))",
            "repr(torch.arange(30))",
            "repr(x.sort(-1))",
        ]
    )


def gradients(d: Draw, shape: list[int], setup: list[str]) -> str:
    setup[0] = "x = torch.randn(3, 4, requires_grad=True)"
    setup.append("w = torch.randn(4, 4, requires_grad=True)")
    setup.append(
        d.pick(
            [
                "y = (x @ w).tanh().sum()",
                "y = x.softmax(-1)[0, 1]",
                "y = (x * x).mean()",
                "y = x.log_softmax(0).diagonal().sum()",
                "z = x.clone(); z[1] = 0; y = (z * z).sum()",
                "z = torch.zeros(3, 4); z[:, 1] = x[:, 2]; y = (z ** 3).sum()",
                "y = F.layer_norm(x @ w, (4,)).square().sum() * x.sum()",
                "z = x * 2; z.add_(x); y = (z * z).sum()",
                "z = x.clone(); v = z[0]; v.mul_(3); y = (z * z).sum()",
                "y = torch.cat([x, x * 2]).std()",
                "y = torch.stack(list(x)).max(0).values.sum()",
                "y = x.max()",
                "y = x.amax(-1).sum()",
                "y = x.norm()",
                "y = (x @ w @ x.mT).trace()",
                "y = x.sort(-1).values[:, 0].sum()",
                "y = x[[0, 0, 2]].square().sum()",
                "y = x.masked_fill(x > 0, 0.0).sum()",
                "y = x.where(x > 0, x * x).sum()",
                "y = x.exp().log1p().sqrt().sum()",
                "y = x.cumsum(0).square().sum()",
                "y = F.cross_entropy(x, torch.tensor([0, 1, 2]))",
                "y = F.scaled_dot_product_attention(x @ w, x, x).square().sum()",
                "y = torch.einsum('ij,kj->ik', x, w).square().sum()",
                "y = (x.detach() * x).sum()",
                "y = (x ** 2 / (1 + x.abs())).sum()",
                "y = x.var(dim=-1).sum()",
                "y = x.prod(-1).sum()",
                "y = x.flip(0).roll(1, 1).tril().sum() + x.repeat(2, 2).square().sum()",
                "y = x.gather(1, torch.tensor([[0], [1], [3]])).square().sum()",
                "y = x.logsumexp(-1).sum()",
                "y = (x / x.sum(-1, keepdim=True)).square().sum()",
                "y = torch.where(x > 0, x, w[:3]).square().sum()",
                "y = F.gelu(x).sum() + F.silu(x).square().sum()",
                "y = x.unfold(1, 2, 1).square().sum()",
                "y = x.expand(2, 3, 4).square().sum()",
                "y = (x.half() * 2).float().square().sum()",
                "y = x.clamp(-0.5, 0.5).square().sum()",
                "y = torch.maximum(x, w[:3]).square().sum()",
                "y = x.square().sum().sqrt()",
                "y = F.normalize(x, dim=-1)[0].square().sum() * x.sum()",
                "y = torch.outer(x[0], x[1]).square().sum()",
                "y = x.atan().sum() + x.sigmoid().square().sum()",
                "y = x.scatter(1, torch.tensor([[0], [1], [2]]), 5.0).square().sum()",
            ]
        )
    )
    return d.pick(
        [
            "torch.autograd.grad(y, [x, w], allow_unused=True)",
            "torch.autograd.grad(y, x)",
            "(y.backward(), x.grad, w.grad)[1:]",
        ]
    )


def errors(d: Draw, shape: list[int], setup: list[str]) -> str:
    setup[0] = "x = torch.randn(2, 3)"
    return d.pick(
        [
            "x.foo",
            "torch.foo",
            "x.view(5)",
            "x + torch.zeros(4)",
            "x[5]",
            "x[0, 5]",
            "x['a']",
            "x[0.5]",
            "x @ x",
            "torch.cat([x, torch.zeros(2)])",
            "torch.stack([x, x[0]])",
            "x.reshape(7)",
            "float(x)",
            "bool(x)",
            "x.item()",
            "if_",
            "len(torch.tensor(1))",
            "list(torch.tensor(1))",
            "x.backward()",
            "x.requires_grad_().sum().backward(torch.ones(2))",
            "x.masked_fill(x, 0)",
            "x.masked_fill(False, 0.0)",
            "x.masked_fill(None, 0.0)",
            "x - True",
            "(x > 0) - (x > 1)",
            "-(x > 0)",
            "~x",
            "x & x",
            "x.long().mean()",
            "x.long().softmax(0)",
            "torch.exp(3)",
            "x.softmax(5)",
            "x.transpose(0, 2)",
            "x.permute(0)",
            "x.sum(5)",
            "x.gather(1, torch.tensor([[5], [1]]))",
            "x.expand(4, 3)",
            "x.narrow(0, 1, 5)",
            "torch.arange(0)",
            "torch.ones('a')",
            "x[[True, False, True]]",
            "x.squeeze(3)",
            "torch.where(x, x, x)",
            "x.half().masked_fill(x > 0, -1e9)",
            "F.one_hot(x)",
            "F.embedding(x, x)",
            "nn.Linear(5, 2)(x)",
            "x.requires_grad_().add_(1)",
            "x[:, :, 0]",
            "torch.tensor([[1, 2], [3]])",
            "x < None",
            "x == None",
            "x != None",
            "x @ 3",
            "x + [1]",
            "x + 'a'",
            "[1, 2, 3][x[0, 0]]",
            "range(x[0, 0])",
            "x.size(4)",
            "x.bmm(x)",
            "torch.dot(x, x)",
            "x.unsqueeze(4)",
            "x.chunk(0)",
            "x.repeat(2)",
            "torch.eye(2) @ torch.eye(2).long()",
            "x.T @ x.T",
            "x[torch.tensor([0.5])]",
            "torch.full((2,), 'a')",
            "x.flatten(1, 0)",
            "torch.linspace(0, 1, 3)[3]",
            "x[1:, 3]",
            "torch.softmax(x)",
            "x.max(7)",
            "torch.zeros(2)[torch.tensor(3)]",
            "x.tril(1).tril(-1)",
            "torch.zeros(3).tril()",
            "(x > 0).mean()",
            "x.detach().requires_grad_(True).numpy",
            "x.sum().backward()",
        ]
    )


def training(d: Draw, shape: list[int], setup: list[str]) -> str:
    """Some steps of an optimizer."""
    setup[0] = f"x = {d.tensor([5, 3], 'float')}; t = {d.tensor([5], 'places')}"
    optimizer = d.pick(
        [
            "SGD(m.parameters(), lr=0.1)",
            "SGD(m.parameters(), lr=0.1, momentum=0.9)",
            "SGD(m.parameters(), lr=0.1, weight_decay=0.1)",
            "Adam(m.parameters(), lr=0.01)",
            "Adam(m.parameters(), lr=0.01, betas=(0.8, 0.95), weight_decay=0.1)",
            "AdamW(m.parameters(), lr=0.01)",
        ]
    )
    layers = d.pick(
        [
            "nn.Linear(3, 2)",
            "nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.LayerNorm(4), nn.Linear(4, 2))",
            "nn.Sequential(nn.Linear(3, 4, bias=False), nn.RMSNorm(4), nn.ReLU(), nn.Linear(4, 2))",
        ]
    )
    setup.append(f"m = {layers}; o = torch.optim.{optimizer}")
    step = (
        "o.zero_grad(); F.cross_entropy(m(x), t).backward();"
        " nn.utils.clip_grad_norm_(m.parameters(), 0.5); o.step()"
    )
    setup.append("\n".join(["for _ in range(4):", f"    {step}"]))
    return "list(m.state_dict().values())"


#: What is drawn, by name.
TOPICS = {
    topic.__name__: topic
    for topic in (
        *(unary, binary, operators, logic, reduce_, variance, extremes, softmaxes, matmul),
        *(products, views, indexing, writing, writing_views, choosing, creating, layers),
        *(modules, training, printing, gradients, errors),
    )
}


def call(topic, seed):
    """Return a call of one topic: what to run first, and the expression."""
    d = Draw(seed)
    shape = d.shape()
    setup = [f"x = {d.tensor(shape)}"]
    expression = TOPICS[topic](d, shape, setup)
    return [f"torch.manual_seed({seed % 1000})", *setup], expression
