"""Low-rank adaptation (LoRA): fine-tune a frozen model by small changes of its linear maps."""

from collections.abc import Collection, Iterator, Mapping, Set
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from attention_book.foundations.checks import check_positive, check_sizes
from attention_book.models.tied import TiedModel

_PARTS = {"W_q": 0, "W_k": 1, "W_v": 2}


class LoRA(nn.Linear):
    """Add a trainable low-rank change to a frozen linear map: low-rank adaptation (LoRA).

    .. math::
        h = W x + b + \\frac{\\alpha}{r} B A x, \\qquad
        A \\in \\mathbb{R}^{r \\times d_\\text{in}}, \\;
        B \\in \\mathbb{R}^{d_\\text{out} \\times r}

    Hu et al. (2021), section 4.1, equation 3. A begins random and B at zero, so that the
    changed map begins as the old one, bit for bit; training reaches
    :math:`r (d_\\text{in} + d_\\text{out})` numbers.

    It is an ``nn.Linear`` and stands where one stood. A call computes the equation, with the
    change kept apart; ``weight`` is :math:`W + \\frac{\\alpha}{r} BA`, for who reads the
    matrix, and :meth:`merged` makes an ordinary linear map of it.

    Args:
        base: The linear map to change; its parameters are frozen.
        rank: :math:`r`.
        alpha: :math:`\\alpha`; as large as ``rank`` when None, which makes the factor 1.
        rows: Which outputs change, for the queries' rows of a fused ``W_qkv``; all when None.

    Raises:
        TypeError: if ``base`` is no ``nn.Linear``.
        ValueError: if ``rank`` is below 1 or above what the changed rows can use, ``alpha``
            is not positive, or ``rows`` are not some of the rows, one after the other.

    >>> base = nn.Linear(6, 4)
    >>> lora, x = LoRA(base, rank=2), torch.rand(3, 6)
    >>> torch.equal(lora(x), base(x))
    True
    >>> sum(p.numel() for p in lora.parameters() if p.requires_grad)  # 2 * (6 + 4)
    20
    >>> _ = nn.init.normal_(lora.B)
    >>> torch.allclose(lora.merged()(x), lora(x), atol=1e-5)
    True
    """

    def __init__(
        self,
        base: nn.Linear,
        *,
        rank: int,
        alpha: float | int | None = None,
        rows: slice | None = None,
    ) -> None:
        """Freeze the map, and create its change."""
        if not isinstance(base, nn.Linear):
            raise TypeError(f"base: expected an nn.Linear, got {type(base).__name__}")
        super(nn.Linear, self).__init__()  # no matrix of its own
        self.in_features, self.out_features = base.in_features, base.out_features
        self.rows = _checked_rows(rows, base.out_features)
        num_rows = self.rows.stop - self.rows.start
        _check_rank(rank, min(base.in_features, num_rows))
        self.rank, self.alpha = rank, float(rank if alpha is None else alpha)
        check_positive("alpha", self.alpha)
        self.base = base.requires_grad_(False)
        like = base.weight
        self.A = nn.Parameter(like.new_empty(rank, base.in_features))
        self.B = nn.Parameter(like.new_zeros(num_rows, rank))
        nn.init.normal_(self.A, std=base.in_features**-0.5)

    def forward(self, input: Float[Tensor, "*batch d_in"]) -> Float[Tensor, "*batch d_out"]:
        """Return the old map's output plus the change."""
        low = input @ self.A.mT
        output: Tensor = self.base(input) + self.scale * low @ self._all_rows(self.B).mT
        return output

    @property
    def scale(self) -> float:
        """The factor of the change, :math:`\\alpha / r`."""
        return self.alpha / self.rank

    @property
    def weight(self) -> Float[Tensor, "d_out d_in"]:  # type: ignore[override]
        """The matrix with its change, :math:`W + \\frac{\\alpha}{r} BA`."""
        return self.base.weight + self.scale * self._all_rows(self.B) @ self.A

    @property
    def bias(self) -> Tensor | None:  # type: ignore[override]
        """The bias of the old map, which has not changed."""
        return self.base.bias

    def merged(self) -> nn.Linear:
        """Return an ordinary linear map that does the same, frozen as the old one was.

        It has a matrix of its own: where an embedding shares the old one, it keeps it.
        """
        has_bias = self.bias is not None
        like = self.base.weight
        merged = nn.Linear(
            self.in_features, self.out_features, has_bias, device=like.device, dtype=like.dtype
        )
        with torch.no_grad():
            merged.weight.copy_(self.weight)
            if self.bias is not None:
                merged.bias.copy_(self.bias)
        return merged.requires_grad_(False)

    def extra_repr(self) -> str:
        """Show the settings where the module is printed."""
        every = self.rows == slice(0, self.out_features)
        rows = "" if every else f", rows={self.rows.start}:{self.rows.stop}"
        return f"rank={self.rank}, alpha={self.alpha:g}{rows}"

    def check_state(self, state: Mapping[str, Tensor], prefix: str = "") -> None:
        """Check that saved numbers mean here what they meant where they were saved.

        Args:
            state: What ``state_dict`` returned: with A and B it holds :math:`\\alpha` and which
                rows change.
            prefix: What the names of this module's own begin with.

        Raises:
            ValueError: if :math:`\\alpha` or the rows are others.
        """
        for name, own in self._meaning().items():
            saved = state.get(prefix + name)
            if saved is not None and saved.tolist() != own.tolist():
                raise ValueError(
                    f"{prefix}{name}: expected {own.tolist()}, as this model was given by "
                    f"add_lora, got {saved.tolist()}; give this model the saved one's changes"
                )

    def _meaning(self) -> dict[str, Tensor]:
        """Return what decides what A and B mean, as tensors that no cast reaches."""
        return {
            "alpha": torch.tensor(self.alpha, dtype=torch.float64),
            "rows": torch.tensor([self.rows.start, self.rows.stop]),
        }

    def _save_to_state_dict(
        self, destination: dict[str, Any], prefix: str, keep_vars: bool
    ) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination |= {prefix + name: value for name, value in self._meaning().items()}

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        try:
            self.check_state(state_dict, prefix)
        except ValueError as error:
            error_msgs.append(str(error))
        names = [prefix + name for name in self._meaning()]
        missing_keys += [name for name in names if name not in state_dict]
        super()._load_from_state_dict(
            state_dict,
            prefix,
            local_metadata,
            strict,
            missing_keys,
            unexpected_keys,
            error_msgs,
        )
        for name in names:
            if name in unexpected_keys:
                unexpected_keys.remove(name)

    def _all_rows(self, some: Tensor) -> Tensor:
        """Put zeros where the rows do not change."""
        return F.pad(some, (0, 0, self.rows.start, self.out_features - self.rows.stop))


class _Place(NamedTuple):
    """Where a linear map stands in a model, and which of its rows are meant."""

    owner: nn.Module
    name: str
    path: str
    rows: slice | None


def add_lora(
    model: nn.Module, targets: Collection[str], *, rank: int, alpha: float | int | None = None
) -> list[str]:
    """Freeze a model, and let the linear maps with these names change, each by a :class:`LoRA`.

    The model is changed in place, and computes the same as before until it is trained. "W_q",
    "W_k" and "W_v" are found in a fused ``W_qkv`` too: there they are some of its rows, and
    stand in the order of the rows, whatever the order of the names.

    Args:
        model: Any module; all its parameters are frozen.
        targets: Names of linear maps, as their modules call them: the paper takes "W_q" and
            "W_v".
        rank: Rank of every change.
        alpha: Each change is multiplied by ``alpha / rank``; by 1 when None.

    Returns:
        The paths of the changed maps.

    Raises:
        TypeError: if ``targets`` is a single text.
        ValueError: if there is no target, the model has none of that name, or ``rank`` or
            ``alpha`` do not fit; the model is then as it was.

    >>> from attention_book.attention import MultiHeadAttention
    >>> attention = MultiHeadAttention(d_model=8, num_heads=2)
    >>> add_lora(attention, ["W_q", "W_v"], rank=2)
    ['W_q', 'W_v']
    >>> sum(p.numel() for p in attention.parameters() if p.requires_grad)  # 2 * 2 * (8 + 8)
    64
    """
    if isinstance(targets, str):
        raise TypeError(f"targets: expected a list of names, got the text {targets!r}")
    names = sorted(targets) if isinstance(targets, Set) else targets  # the same draws each time
    places = [place for name in names for place in _found(model, name)]
    if not places:
        raise ValueError("targets: expected at least one name, got none")
    for place in places:  # refuse before anything has changed
        LoRA(_like(place), rank=rank, alpha=alpha, rows=place.rows)
    model.requires_grad_(False)
    for place in places:
        owner, name = place.owner, place.name
        while _stands_behind(getattr(owner, name), place.rows):
            owner, name = getattr(owner, name), "base"
        base = getattr(owner, name)
        setattr(owner, name, LoRA(base, rank=rank, alpha=alpha, rows=place.rows))
        getattr(owner, name).train(base.training)
    for _, change in _changes(model):
        change.A.requires_grad_(True)
        change.B.requires_grad_(True)
    return [place.path for place in places]


def merge_lora(model: nn.Module) -> list[str]:
    """Replace every :class:`LoRA` of a model by an ordinary linear map that does the same.

    What was frozen stays frozen; call ``requires_grad_()`` to train the whole model again. A
    tied output layer that has changed is an embedding no more, and the model's config says so:
    see :meth:`~attention_book.models.TiedModel.untie`.

    Returns:
        The paths of the merged maps; none if there was no change to merge.

    >>> from attention_book.attention import MultiHeadAttention
    >>> attention = MultiHeadAttention(d_model=8, num_heads=2)
    >>> _ = add_lora(attention, ["W_o"], rank=2)
    >>> merge_lora(attention), attention.W_o
    (['W_o'], Linear(in_features=8, out_features=8, bias=False))
    """
    owners = [(path, module) for path, module in model.named_modules()]
    merged = []
    for path, owner in owners:
        if isinstance(owner, LoRA):
            continue  # what it is built on is merged with it
        for name, child in owner.named_children():
            if isinstance(child, LoRA):
                setattr(owner, name, child.merged().train(child.training))
                merged.append(_joined(path, name))
    for _, each in owners:
        if isinstance(each, TiedModel) and not each.is_tied():
            each.untie()
    return merged


def lora_state(model: nn.Module) -> dict[str, Tensor]:
    """Return a copy of the changes alone, by their paths: all that fine-tuning has to keep.

    The numbers mean nothing without the matrix that they change and :math:`\\alpha`. So these are
    in it too, in the names of tensors without a number: for each map its ``alpha`` and, as
    ``base``, the signs of 64 numbers of its matrix, in whatever precision. A change of some rows
    of a fused matrix is named by these rows, as :func:`add_lora` names it.

    >>> from attention_book.attention import MultiHeadAttention
    >>> attention = MultiHeadAttention(d_model=8, num_heads=2)
    >>> _ = add_lora(attention, ["W_q", "W_o"], rank=2, alpha=16)
    >>> for path, part in lora_state(attention).items():
    ...     print(path.partition("base=")[0], tuple(part.shape))
    W_q.alpha=16.0 (0,)
    W_q. (0,)
    W_q.A (2, 8)
    W_q.B (8, 2)
    W_o.alpha=16.0 (0,)
    W_o. (0,)
    W_o.A (2, 8)
    W_o.B (8, 2)
    """
    state: dict[str, Tensor] = {}
    for path, change in _changes(model):
        told = (f"{path}.alpha={change.alpha}", f"{path}.base={_signs(change):016x}")
        state |= {name: change.A.new_empty(0) for name in told}
        state |= {f"{path}.A": change.A.detach().clone(), f"{path}.B": change.B.detach().clone()}
    return state


def load_lora(model: nn.Module, state: Mapping[str, Tensor]) -> None:
    """Put saved changes into a model that has the same ones.

    Raises:
        ValueError: if a part is missing, unknown or of another shape, if its
            :math:`\\alpha` is another, or if it changes another matrix; nothing is loaded then.

    >>> from copy import deepcopy
    >>> from attention_book.attention import MultiHeadAttention
    >>> first = MultiHeadAttention(d_model=8, num_heads=2)
    >>> second = deepcopy(first)
    >>> for attention in (first, second):
    ...     _ = add_lora(attention, ["W_o"], rank=2)
    >>> load_lora(second, lora_state(first))
    >>> torch.equal(first.W_o.A, second.W_o.A)
    True
    """
    parts = {
        f"{path}.{letter}": part
        for path, change in _changes(model)
        for letter, part in (("A", change.A), ("B", change.B))
    }
    told = {name.partition("=")[0]: name.partition("=")[2] for name in state if "=" in name}
    saved = {name: part for name, part in state.items() if "=" not in name}
    if parts.keys() != saved.keys():
        different = ", ".join(sorted(parts.keys() ^ saved.keys()))
        raise ValueError(
            f"state: expected the parts of this model's changes, got {different} "
            "in one of the two alone"
        )
    for path, part in parts.items():
        if saved[path].shape != part.shape:
            raise ValueError(
                f"{path}: expected the shape {tuple(part.shape)}, got {tuple(saved[path].shape)}"
            )
    for path, change in _changes(model):
        _check_meaning(path, change, told)
    with torch.no_grad():
        for path, part in parts.items():
            part.copy_(saved[path])


def _found(model: nn.Module, target: str) -> list[_Place]:
    """Return every place of a linear map with this name, or of its rows in a fused one."""
    places = []
    for path, owner in model.named_modules():
        children = {} if isinstance(owner, LoRA) else dict(owner.named_children())
        fused = children.get("W_qkv") if target in _PARTS else None
        if isinstance(children.get(target), nn.Linear):
            places.append(_Place(owner, target, _joined(path, target), None))
        elif isinstance(fused, nn.Linear):
            rows = _rows_of(target, fused, children.get("W_o"))
            places.append(_Place(owner, "W_qkv", _joined(path, target), rows))
    if not places:
        raise ValueError(f"targets: expected names of the model's linear maps, got {target!r}")
    return places


def _rows_of(target: str, fused: nn.Linear, output: nn.Module | None) -> slice:
    """Return the rows of the queries, the keys or the values in a fused matrix."""
    if not isinstance(output, nn.Linear):
        raise TypeError(f"W_o: expected an nn.Linear, got {type(output).__name__}")
    d_queries = output.in_features  # the heads' outputs are as many as their queries
    d_kv = (fused.out_features - d_queries) // 2
    ends = [0, d_queries, d_queries + d_kv, d_queries + 2 * d_kv]
    which = _PARTS[target]
    return slice(ends[which], ends[which + 1])


def _like(place: _Place) -> nn.Linear:
    """Return a map of the same sizes that takes no memory."""
    base = getattr(place.owner, place.name)
    return nn.Linear(base.in_features, base.out_features, device="meta")


def _stands_behind(module: nn.Module, rows: slice | None) -> bool:
    """Whether a change of these rows goes below this one: the first rows are innermost."""
    return isinstance(module, LoRA) and rows is not None and module.rows.start > rows.start


def _changes(model: nn.Module) -> Iterator[tuple[str, LoRA]]:
    """Go through all changes, with the paths of what they change; of two of one map the outer
    has its path, and each below it one ``.base`` more."""
    for path, owner in model.named_modules():
        if isinstance(owner, LoRA):
            continue
        for name, child in owner.named_children():
            seen: list[str] = []
            while isinstance(child, LoRA):
                seen.append(_joined(path, _name_of(name, child, owner)))
                yield seen[-1] + ".base" * (seen.count(seen[-1]) - 1), child
                child = child.base


def _name_of(name: str, change: LoRA, owner: nn.Module) -> str:
    """Return what is changed: a map, or those of its rows that are a map of the paper's."""
    if change.rows == slice(0, change.out_features):
        return name
    if name == "W_qkv":
        for part in _PARTS:
            if change.rows == _rows_of(part, change, owner.get_submodule("W_o")):
                return part
    return f"{name}[{change.rows.start}:{change.rows.stop}]"


def _signs(change: LoRA) -> int:
    """Return the signs of 64 numbers of the matrix that is changed: another one has others."""
    base: nn.Linear = change
    while isinstance(base, LoRA):
        base = base.base
    rows = base.weight.detach()[change.rows].flatten()
    places = torch.linspace(0, len(rows) - 1, 64, dtype=torch.float64).long()
    return sum(1 << place for place, sign in enumerate((rows[places] > 0).tolist()) if sign)


def _check_meaning(path: str, change: LoRA, told: Mapping[str, str]) -> None:
    for name in ("alpha", "base"):
        if f"{path}.{name}" not in told:
            raise ValueError(
                f"{path}.{name}: expected it beside A and B, as lora_state returns it, got none"
            )
    try:
        alpha, signs = float(told[f"{path}.alpha"]), int(told[f"{path}.base"], 16)
    except ValueError as error:
        raise ValueError(f"{path}: expected what lora_state returned, got {error}") from error
    if alpha != change.alpha:
        raise ValueError(
            f"{path}: expected a change with alpha={change.alpha:g}, as this model's has, got one "
            f"with alpha={alpha:g}; call add_lora with alpha={alpha:g}"
        )
    if (signs ^ _signs(change)).bit_count() > 16:  # rounding moves no sign, training a few
        raise ValueError(
            f"{path}: expected a change of this model's matrix, got one of another matrix; "
            "load it into a copy of the model that it was trained on"
        )


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _checked_rows(rows: slice | None, out_features: int) -> slice:
    if rows is None:
        return slice(0, out_features)
    start, stop, step = rows.indices(out_features)
    if step != 1 or start >= stop or rows not in (slice(start, stop), slice(start, stop, 1)):
        raise ValueError(f"rows: expected some of {out_features} rows, start:stop, got {rows}")
    return slice(start, stop)


def _check_rank(rank: int, largest: int) -> None:
    check_sizes(rank=rank)
    if rank > largest:
        raise ValueError(f"rank: expected at most {largest}, the rank of any change, got {rank}")
