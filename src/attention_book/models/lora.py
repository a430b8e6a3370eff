"""Low-rank adaptation (LoRA): fine-tune a frozen model by small changes of its linear maps."""

from collections.abc import Collection, Iterator, Mapping, Set
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_book.foundations.checks import check_positive, check_sizes
from attention_book.models.tied import TiedModel


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
    change kept apart. Code that reads the matrix gets :math:`W + \\frac{\\alpha}{r} BA` from
    ``weight``, and :meth:`merged` makes an ordinary linear map of it.

    Args:
        base: The linear map to change; its parameters are frozen.
        rank: :math:`r`.
        alpha: :math:`\\alpha`; as large as ``rank`` when None, which makes the factor 1.

    Raises:
        TypeError: if ``base`` is no ``nn.Linear``.
        ValueError: if ``rank`` is below 1 or above the rank of any change, or ``alpha`` is not
            positive.

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

    def __init__(self, base: nn.Linear, *, rank: int, alpha: float | int | None = None) -> None:
        """Freeze the map, and create its change."""
        if not isinstance(base, nn.Linear):
            raise TypeError(f"base: expected an nn.Linear, got {type(base).__name__}")
        super(nn.Linear, self).__init__()  # no matrix of its own
        self.in_features, self.out_features = base.in_features, base.out_features
        _check_rank(rank, min(base.in_features, base.out_features))
        self.rank, self.alpha = rank, float(rank if alpha is None else alpha)
        check_positive("alpha", self.alpha)
        self.base = base.requires_grad_(False)
        like = base.weight
        self.A = nn.Parameter(like.new_empty(rank, base.in_features))
        self.B = nn.Parameter(like.new_zeros(base.out_features, rank))
        nn.init.normal_(self.A, std=base.in_features**-0.5)

    def forward(self, input: Float[Tensor, "*batch d_in"]) -> Float[Tensor, "*batch d_out"]:
        """Return the old map's output plus the change."""
        low = input @ self.A.mT
        output: Tensor = self.base(input) + self.scale * low @ self.B.mT
        return output

    @property
    def scale(self) -> float:
        """The factor of the change, :math:`\\alpha / r`."""
        return self.alpha / self.rank

    @property
    def weight(self) -> Float[Tensor, "d_out d_in"]:  # type: ignore[override]
        """The matrix with its change, :math:`W + \\frac{\\alpha}{r} BA`."""
        return self.base.weight + self.scale * self.B @ self.A

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
        return f"rank={self.rank}, alpha={self.alpha:g}"

    def check_state(self, state: Mapping[str, Tensor], prefix: str = "") -> None:
        """Check that saved numbers mean here what they meant where they were saved.

        Args:
            state: What ``state_dict`` returned: with A and B it holds :math:`\\alpha`.
            prefix: What the names of this module's own begin with.

        Raises:
            ValueError: if :math:`\\alpha` is another.
        """
        saved = state.get(f"{prefix}alpha")
        if saved is not None and saved.item() != self.alpha:
            raise ValueError(
                f"{prefix}alpha: expected {self.alpha}, as this model was given by add_lora, "
                f"got {saved.item()}; give this model the saved one's changes"
            )

    def _save_to_state_dict(
        self, destination: dict[str, Any], prefix: str, keep_vars: bool
    ) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        # A tensor that no cast of the model reaches.
        destination[f"{prefix}alpha"] = torch.tensor(self.alpha, dtype=torch.float64)

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
        if f"{prefix}alpha" not in state_dict:
            missing_keys.append(f"{prefix}alpha")
        super()._load_from_state_dict(
            state_dict,
            prefix,
            local_metadata,
            strict,
            missing_keys,
            unexpected_keys,
            error_msgs,
        )
        if f"{prefix}alpha" in unexpected_keys:
            unexpected_keys.remove(f"{prefix}alpha")


class _Place(NamedTuple):
    """Where a linear map stands in a model."""

    owner: nn.Module
    name: str
    path: str


def add_lora(
    model: nn.Module, targets: Collection[str], *, rank: int, alpha: float | int | None = None
) -> list[str]:
    """Freeze a model, and let the linear maps with these names change, each by a :class:`LoRA`.

    The model is changed in place, and computes the same as before until it is trained.

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
        LoRA(_like(place), rank=rank, alpha=alpha)
    model.requires_grad_(False)
    for owner, name, _ in places:
        base = getattr(owner, name)
        setattr(owner, name, LoRA(base, rank=rank, alpha=alpha).train(base.training))
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
    ``base``, the signs of 64 numbers of its matrix, in whatever precision.

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
    """Return every place of a linear map with this name."""
    places = [
        _Place(owner, target, _joined(path, target))
        for path, owner in model.named_modules()
        if not isinstance(owner, LoRA)
        and isinstance(dict(owner.named_children()).get(target), nn.Linear)
    ]
    if not places:
        raise ValueError(f"targets: expected names of the model's linear maps, got {target!r}")
    return places


def _like(place: _Place) -> nn.Linear:
    """Return a map of the same sizes that takes no memory."""
    base = getattr(place.owner, place.name)
    return nn.Linear(base.in_features, base.out_features, device="meta")


def _changes(model: nn.Module) -> Iterator[tuple[str, LoRA]]:
    """Go through all changes, with the paths of what they change; of two of one map the outer
    has its path, and each below it one ``.base`` more."""
    for path, owner in model.named_modules():
        if isinstance(owner, LoRA):
            continue
        for name, child in owner.named_children():
            place = _joined(path, name)
            while isinstance(child, LoRA):
                yield place, child
                child, place = child.base, f"{place}.base"


def _signs(change: LoRA) -> int:
    """Return the signs of 64 numbers of the matrix that is changed: another one has others."""
    base: nn.Linear = change
    while isinstance(base, LoRA):
        base = base.base
    numbers = base.weight.detach().flatten()
    places = torch.linspace(0, len(numbers) - 1, 64, dtype=torch.float64).long()
    return sum(1 << place for place, sign in enumerate((numbers[places] > 0).tolist()) if sign)


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


def _check_rank(rank: int, largest: int) -> None:
    check_sizes(rank=rank)
    if rank > largest:
        raise ValueError(f"rank: expected at most {largest}, the rank of any change, got {rank}")
