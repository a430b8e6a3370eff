"""How rotary positions are described in a ``config.json``: the new spelling and the old one."""

from collections.abc import Callable
from dataclasses import dataclass

from attention_book.attention import (
    DynamicNtkScaling,
    LinearScaling,
    Llama3Scaling,
    LongRopeScaling,
    RopeScaling,
    YarnScaling,
)
from attention_book.models.config import RotarySettings
from attention_book.models.pretrained.model_folder import PretrainedError
from attention_book.models.pretrained.stored_config import StoredConfig


def rotary_settings(
    config: StoredConfig, *, default_base: float = 10000.0, default_length: int = 2048
) -> RotarySettings:
    """Return how the positions of a model turn that has one kind of them.

    New: ``rope_parameters`` with ``rope_theta`` and ``rope_type``. Old: ``rope_theta`` beside
    ``rope_scaling``, in which the kind is called ``rope_type`` or ``type``.

    Args:
        config: The settings.
        default_base: The family's, where none is said.
        default_length: The family's ``max_position_embeddings``, where none is said.

    Raises:
        PretrainedError: if the kind is unknown, or a value is missing or out of range.

    >>> old = {"rope_theta": 5e5, "rope_scaling": {"type": "linear", "factor": 4.0}}
    >>> rotary_settings(StoredConfig(old, place="config.json"))
    RotarySettings(base=500000.0, scaling=LinearScaling(factor=4.0), pairing='halves')
    """
    config.must_be("partial_rotary_factor", 1.0)
    found = config.part("rope_scaling") or config.part("rope_parameters")
    base = config.number("rope_theta", default_base)
    if found is None:
        return RotarySettings(base=base, pairing="halves")
    lengths = _Lengths(
        longest=config.whole("max_position_embeddings", default_length),
        trained=config.maybe_whole("original_max_position_embeddings"),
    )
    return _described(found, lengths, default_base=base)


def rotary_by_layer_type(config: StoredConfig) -> tuple[RotarySettings, RotarySettings]:
    """Return how positions turn in global layers and in windowed ones (Gemma 3).

    New: an object for each layer type in ``rope_parameters``. Old: ``rope_theta`` and
    ``rope_scaling`` for the global layers, ``rope_local_base_freq`` for the windowed ones.

    Raises:
        PretrainedError: as :func:`rotary_settings`.

    >>> everywhere, nearby = rotary_by_layer_type(StoredConfig({}, place="config.json"))
    >>> everywhere.base, nearby.base
    (1000000.0, 10000.0)
    """
    config.must_be("partial_rotary_factor", 1.0)
    lengths = _Lengths(longest=config.whole("max_position_embeddings", 131_072))
    parameters = config.part("rope_parameters") or StoredConfig({}, place=config.place)
    if parameters.values and not parameters.values.keys() & _LAYER_TYPES.keys():
        raise parameters.refuse("full_attention", "an object for each layer type")
    settings = []
    for layer_type, (name, base) in _LAYER_TYPES.items():
        described = parameters.part(layer_type) or StoredConfig({}, place=parameters.place)
        if layer_type == "full_attention":
            described = _stretched(described, config.part("rope_scaling"))
        # The library looks for it in another place, and so never finds it.
        described.must_be("truncate", True)
        default = config.number(name, base)
        settings.append(_described(described, lengths, default_base=default))
    return settings[0], settings[1]


#: The layer types of Gemma 3, and where their base stands in the old spelling.
_LAYER_TYPES = {
    "full_attention": ("rope_theta", 1e6),
    "sliding_attention": ("rope_local_base_freq", 1e4),
}


@dataclass(frozen=True, kw_only=True)
class _Lengths:
    """The longest text that a model reads, and that before the stretching, where it is said."""

    longest: int
    trained: int | None = None

    def before(self, found: StoredConfig) -> int:
        """Return the length before the stretching; of the whole model where it is not said."""
        inside = found.maybe_whole("original_max_position_embeddings")
        return self.trained or inside or self.longest


def _stretched(described: StoredConfig, scaling: StoredConfig | None) -> StoredConfig:
    """Return the description of the global layers, with what the old spelling adds to it."""
    if scaling is None:
        return described
    if scaling.values.get("rope_type") is None and scaling.values.get("type") is not None:
        raise scaling.refuse(  # the library reads "default", whatever it is
            "rope_type", "the kind under this name", cure="rename type to rope_type"
        )
    return StoredConfig({**described.values, **scaling.values}, place=scaling.place)


def _described(found: StoredConfig, lengths: _Lengths, *, default_base: float) -> RotarySettings:
    found.must_be("partial_rotary_factor", 1.0)
    name = "type" if found.values.get("rope_type") is None else "rope_type"
    create = found.one_of(name, _KINDS, "default")
    try:
        scaling = create(found, lengths)
    except PretrainedError:
        raise
    except ValueError as error:
        raise found.refuse(name, "settings that fit together", str(error)) from error
    base = found.number("rope_theta", default_base)
    return RotarySettings(base=base, scaling=scaling, pairing="halves")


def _default(found: StoredConfig, lengths: _Lengths) -> RopeScaling | None:
    return None


def _linear(found: StoredConfig, lengths: _Lengths) -> RopeScaling | None:
    return LinearScaling(factor=found.number("factor"))


def _dynamic(found: StoredConfig, lengths: _Lengths) -> RopeScaling | None:
    return DynamicNtkScaling(factor=found.number("factor"), trained_length=lengths.longest)


def _longrope(found: StoredConfig, lengths: _Lengths) -> RopeScaling | None:
    trained = lengths.before(found)
    factor = found.number("factor", lengths.longest / trained)
    return LongRopeScaling(
        factor=max(factor, 1.0),  # below 1 it is not used
        trained_length=trained,
        short_factors=found.numbers("short_factor"),
        long_factors=found.numbers("long_factor"),
        attention_factor=found.maybe_number("attention_factor"),
    )


def _llama3(found: StoredConfig, lengths: _Lengths) -> RopeScaling | None:
    return Llama3Scaling(
        factor=found.number("factor"),
        trained_length=lengths.before(found),
        low_freq_factor=found.number("low_freq_factor"),
        high_freq_factor=found.number("high_freq_factor"),
    )


def _yarn(found: StoredConfig, lengths: _Lengths) -> RopeScaling | None:
    return YarnScaling(
        factor=found.number("factor"),
        trained_length=lengths.before(found),
        beta_fast=found.number("beta_fast", 32.0),
        beta_slow=found.number("beta_slow", 1.0),
        truncate=found.flag("truncate", True),
        attention_factor=found.maybe_number("attention_factor"),
        mscale=_maybe_factor(found, "mscale"),
        mscale_all_dim=_maybe_factor(found, "mscale_all_dim"),
    )


def _maybe_factor(found: StoredConfig, name: str) -> float | None:
    """Return a number, or None where it is null, missing or 0, all of which mean the same."""
    return None if found.values.get(name) == 0 else found.maybe_number(name)


_KINDS: dict[str, Callable[[StoredConfig, _Lengths], RopeScaling | None]] = {
    "default": _default,
    "linear": _linear,
    "llama3": _llama3,
    "yarn": _yarn,
    "dynamic": _dynamic,
    "longrope": _longrope,
}
