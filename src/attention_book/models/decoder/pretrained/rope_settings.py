"""How rotary positions are described in a ``config.json``: the new spelling and the old one."""

from collections.abc import Callable

from attention_book.attention import LinearScaling, Llama3Scaling, RopeScaling, YarnScaling
from attention_book.models.decoder.config import RotarySettings
from attention_book.models.decoder.pretrained.model_folder import PretrainedError
from attention_book.models.decoder.pretrained.stored_config import StoredConfig


def rotary_settings(config: StoredConfig, *, default_base: float = 10000.0) -> RotarySettings:
    """Return how the positions of a model turn that has one kind of them.

    New: ``rope_parameters`` with ``rope_theta`` and ``rope_type``. Old: ``rope_theta`` beside
    ``rope_scaling``, in which the kind is called ``rope_type`` or ``type``.

    Raises:
        PretrainedError: if the kind is unknown, or a value is missing or out of range.

    >>> old = {"rope_theta": 5e5, "rope_scaling": {"type": "linear", "factor": 4.0}}
    >>> rotary_settings(StoredConfig(old, place="config.json"))
    RotarySettings(base=500000.0, scaling=LinearScaling(factor=4.0), pairing='halves')
    """
    found = config.part("rope_scaling") or config.part("rope_parameters")
    base = config.number("rope_theta", default_base)
    if found is None:
        return RotarySettings(base=base, pairing="halves")
    return _described(found, config, default_base=base)


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
    everywhere = config.number("rope_theta", 1e6)
    nearby = config.number("rope_local_base_freq", 1e4)
    scaling, parameters = config.part("rope_scaling"), config.part("rope_parameters")
    if parameters is None:
        if scaling is None:
            whole = RotarySettings(base=everywhere, pairing="halves")
        else:
            whole = _described(scaling, config, default_base=everywhere)
        return whole, RotarySettings(base=nearby, pairing="halves")
    settings = []
    for name, base in (("full_attention", everywhere), ("sliding_attention", nearby)):
        found = parameters.part(name)
        if found is None:
            raise parameters.refuse(name, "an object")
        settings.append(_described(found, config, default_base=base))
    return settings[0], settings[1]


def _described(found: StoredConfig, config: StoredConfig, *, default_base: float) -> RotarySettings:
    found.must_be("partial_rotary_factor", 1.0)
    name = "type" if found.values.get("rope_type") is None else "rope_type"
    create = found.one_of(name, _KINDS, "default")
    try:
        scaling = create(found, config)
    except PretrainedError:
        raise
    except ValueError as error:
        raise found.refuse(name, "settings that fit together", str(error)) from error
    base = found.number("rope_theta", default_base)
    return RotarySettings(base=base, scaling=scaling, pairing="halves")


def _default(found: StoredConfig, config: StoredConfig) -> RopeScaling | None:
    return None


def _linear(found: StoredConfig, config: StoredConfig) -> RopeScaling | None:
    return LinearScaling(factor=found.number("factor"))


def _llama3(found: StoredConfig, config: StoredConfig) -> RopeScaling | None:
    return Llama3Scaling(
        factor=found.number("factor"),
        trained_length=_trained_length(found, config),
        low_freq_factor=found.number("low_freq_factor"),
        high_freq_factor=found.number("high_freq_factor"),
    )


def _yarn(found: StoredConfig, config: StoredConfig) -> RopeScaling | None:
    return YarnScaling(
        factor=found.number("factor"),
        trained_length=_trained_length(found, config),
        beta_fast=found.number("beta_fast", 32.0),
        beta_slow=found.number("beta_slow", 1.0),
        truncate=found.flag("truncate", True),
        attention_factor=found.maybe_number("attention_factor"),
        mscale=found.maybe_number("mscale"),
        mscale_all_dim=found.maybe_number("mscale_all_dim"),
    )


def _trained_length(found: StoredConfig, config: StoredConfig) -> int:
    """Return the length before the stretching; of the whole model where it is not said."""
    name = "original_max_position_embeddings"
    if (outside := config.maybe_whole(name)) is not None:
        return outside
    if (length := found.maybe_whole(name)) is not None:
        return length
    return config.whole("max_position_embeddings", 2048)


_KINDS: dict[str, Callable[[StoredConfig, StoredConfig], RopeScaling | None]] = {
    "default": _default,
    "linear": _linear,
    "llama3": _llama3,
    "yarn": _yarn,
}
