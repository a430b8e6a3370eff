"""Tied weights (Press and Wolf 2017): one matrix in several places of a model, and kept one."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from attention_book.models.resetting import ResettableModel


class TiedModel(ResettableModel):
    """A model whose output layer may be an embedding: what its config says of that is true.

    Whatever gives one of the places a matrix of its own (a merged change, a copied layer, an
    assignment) leaves a config that says ``tied``, and a file of it would be read as another
    model. So saving and loading compare the matrices, and refuse two where the config says one.

    >>> from attention_book.models import LanguageConfig, LanguageModel
    >>> model = LanguageModel(LanguageConfig(vocabulary=10, tied=True))
    >>> model.readout.weight = nn.Parameter(2 * model.stack.embedding.weight.detach())
    >>> model.state_dict()
    Traceback (most recent call last):
    ValueError: readout.weight: expected the matrix of stack.embedding, for the model's config \
ties them, got another; call untie() to have the config say so, or tie() to take the embedding's
    >>> model.untie()
    >>> model.config.tied, len(model.state_dict()) > 0
    (False, True)
    """

    config: Any
    #: The settings that tie.
    ties: tuple[str, ...] = ("tied",)
    #: Whether an output layer that is not tied has a bias.
    untied_bias: bool = True

    def __init__(self) -> None:
        """Have what loading takes apart be tied again."""
        super().__init__()
        self.register_load_state_dict_post_hook(_tie_again)

    def tied_places(self) -> tuple[str, ...]:
        """Return where the one matrix stands by the config, the output layer last; or nothing.

        Each model says its own.
        """
        raise NotImplementedError

    def says(self, setting: str) -> bool:
        """Whether the config has such a setting, and it is on."""
        return bool(getattr(self.config, setting, False))

    def is_tied(self) -> bool:
        """Whether all places of the config have one matrix, the same object."""
        return len({id(weight) for _, weight in self._matrices()}) <= 1

    def tie(self) -> None:
        """Give all places of the config the matrix of the first.

        Needed where something made new parameters of each, as a conversion by hand may.
        """
        matrices = self._matrices()
        for path, _ in matrices[1:]:
            self.get_submodule(path).weight = matrices[0][1]

    def untie(self) -> None:
        """Give each place a matrix of its own, equal to what it has, and have the config say so.

        An output layer gets the bias that one of its own has in such a model, all zeros.
        """
        matrices = self._matrices()
        if not self.tied_places():
            return
        for path, weight in matrices[1:]:
            module = self.get_submodule(path)
            if weight is matrices[0][1]:
                copy = nn.Parameter(weight.detach().clone(), requires_grad=weight.requires_grad)
                module.weight = copy
            if self.untied_bias and isinstance(module, nn.Linear) and module.bias is None:
                zeros = weight.new_zeros(len(weight)).detach()
                module.bias = nn.Parameter(zeros, requires_grad=weight.requires_grad)
        self.config = replace(self.config, **dict.fromkeys(self.ties, False))

    def check_state(self, state: Mapping[str, Tensor], prefix: str = "") -> None:
        """Check that a state has one matrix where this model has one.

        Args:
            state: What ``state_dict`` returned.
            prefix: What the names of this model's own begin with.

        Raises:
            ValueError: if it has two.
        """
        names = [f"{path}.weight" for path, _ in self._matrices()]
        given = [name for name in names if prefix + name in state]
        for name in given[1:]:
            if not _same(state[prefix + given[0]], state[prefix + name]):
                raise ValueError(
                    f"{prefix}{name}: expected the matrix of {given[0].removesuffix('.weight')}, "
                    "for this model's config ties them, got another; call untie() on the model "
                    "that was saved and save it again, and its config will say so"
                )

    def _matrices(self) -> list[tuple[str, nn.Parameter]]:
        """Return the matrices that should be one, with the paths of the modules that own them."""
        found = []
        for place in self.tied_places():
            module, path = self.get_submodule(place), place
            while isinstance(base := getattr(module, "base", None), nn.Linear):  # under a change
                module, path = base, f"{path}.base"
            weight = module._parameters.get("weight")
            if weight is not None:  # parametrized or pruned, it has other names in a state
                found.append((path, weight))
        return found

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "TiedModel":
        """Keep one matrix one where new parameters are made, as by ``to_empty``."""
        tied = self.is_tied()
        super()._apply(fn, recurse)
        if tied:
            self.tie()
        return self

    def _save_to_state_dict(
        self, destination: dict[str, Any], prefix: str, keep_vars: bool
    ) -> None:
        matrices = self._matrices()
        for path, weight in matrices[1:]:
            if weight is not matrices[0][1] and not _same(weight, matrices[0][1]):
                raise ValueError(
                    f"{prefix}{path}.weight: expected the matrix of {matrices[0][0]}, for the "
                    "model's config ties them, got another; call untie() to have the config say "
                    "so, or tie() to take the embedding's"
                )
        super()._save_to_state_dict(destination, prefix, keep_vars)

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
        super()._load_from_state_dict(
            state_dict,
            prefix,
            local_metadata,
            strict,
            missing_keys,
            unexpected_keys,
            error_msgs,
        )


def _tie_again(model: TiedModel, _incompatible: Any) -> None:
    """Make one of equal matrices that ``load_state_dict(assign=True)`` put into each place."""
    model.tie()


def _same(first: Tensor, second: Tensor) -> bool:
    """Whether two matrices have the same numbers; so have two without any, and NaN is NaN."""
    if first is second or first.is_meta or second.is_meta:
        return True
    if first.shape != second.shape or first.dtype != second.dtype:
        return False
    second = second.to(first.device)
    return bool(((first == second) | (first.isnan() & second.isnan())).all())


__all__ = ["TiedModel"]
