"""Folders of any kind: one clear error each, nothing executed, nothing loaded by half."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attention_book.models import (
    DecoderLanguageModel,
    PretrainedError,
    load_pretrained,
)
from attention_book.models.decoder.pretrained.families import decoder_config
from attention_book.models.decoder.pretrained.names import name_in_files
from attention_book.models.decoder.pretrained.stored_config import StoredConfig

safetensors = pytest.importorskip("safetensors.torch")

CONFIG: dict[str, Any] = {
    "model_type": "qwen3",
    "vocab_size": 11,
    "hidden_size": 12,
    "intermediate_size": 10,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 4,
    "eos_token_id": 3,
}
Q = "model.layers.1.self_attn.q_proj.weight"


def tensors() -> dict[str, torch.Tensor]:
    """The tensors of a small model, by their names in files."""
    config = decoder_config(StoredConfig(CONFIG, place="config.json"))
    model = DecoderLanguageModel(config)
    named = model.state_dict().items()
    return {name_in_files(name, config): value.clone() for name, value in named}


@pytest.fixture(scope="module")
def whole() -> dict[str, torch.Tensor]:
    return tensors()


@pytest.fixture
def folder(tmp_path: Path, whole: dict[str, torch.Tensor]) -> Path:
    """A folder in two parts with an index."""
    made = tmp_path / "model"
    made.mkdir()
    (made / "config.json").write_text(json.dumps(CONFIG))
    names = sorted(whole)
    halves = {"model-1.safetensors": names[::2], "model-2.safetensors": names[1::2]}
    for file, part in halves.items():
        safetensors.save_file({name: whole[name] for name in part}, made / file)
    places = {name: file for file, part in halves.items() for name in part}
    index = {"metadata": {}, "weight_map": places}
    (made / "model.safetensors.index.json").write_text(json.dumps(index))
    return made


def change_tensors(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    """Write one file with other tensors, and no index."""
    found = tensors()
    change(found)
    (folder / "model.safetensors.index.json").unlink()
    safetensors.save_file(found, folder / "model.safetensors")


def change_json(folder: Path, name: str, **changes: object) -> None:
    path = folder / name
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def refused(folder: Path) -> str:
    with pytest.raises(PretrainedError) as error:
        load_pretrained(folder)
    message = str(error.value)
    assert "\n" not in message
    return message.replace(str(folder), "FOLDER")


def test_a_whole_folder_is_read(folder: Path, whole: dict[str, torch.Tensor]) -> None:
    found = load_pretrained(folder)
    assert torch.equal(found.model.blocks[1].attention.W_q.weight, whole[Q])
    assert (found.family, found.tokenizer, found.ends) == ("qwen3", None, (3,))
    assert (found.model.config.bos, found.model.config.pad) == (11, 12)  # outside the vocabulary
    assert not found.model.training
    with pytest.raises(PretrainedError, match=r"expected a tokenizer.json, got none"):
        found.encode("hello")


def test_the_weights_are_windows_on_the_file(folder: Path) -> None:
    change_tensors(folder, lambda found: None)
    path = folder / "model.safetensors"
    content = path.read_bytes()
    model = load_pretrained(folder).model
    if Path("/proc/self/maps").exists():
        maps = Path("/proc/self/maps").read_text().splitlines()
        ranges = [line.split()[0].split("-") for line in maps if line.endswith(str(path))]
        for weight in model.parameters():  # each lies in the memory that is the file
            assert any(int(a, 16) <= weight.data_ptr() < int(b, 16) for a, b in ranges)
    with torch.no_grad():  # a window of its own: nobody else sees what is written there
        model.norm.weight.add_(1)
    assert path.read_bytes() == content


@pytest.mark.parametrize("tied", [False, True])
def test_a_tied_matrix_is_one(folder: Path, tied: bool) -> None:
    change_json(folder, "config.json", tie_word_embeddings=tied)
    model = load_pretrained(folder).model  # the file holds both; where tied the second is not read
    assert (model.readout.weight is model.embedding.weight) == tied


def test_old_files_hold_tables_that_are_not_needed(folder: Path) -> None:
    change_tensors(
        folder,
        lambda found: found.update({"model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(2)}),
    )
    assert load_pretrained(folder).model.config.num_layers == 2


def cut_short(folder: Path) -> None:
    path = folder / "model-2.safetensors"
    path.write_bytes(path.read_bytes()[:-40])


def other_bytes(folder: Path) -> None:
    (folder / "model-2.safetensors").write_bytes(b"\xff" * 100)


def link_outside(folder: Path) -> None:
    outside = folder.parent / "outside.safetensors"
    (folder / "model-2.safetensors").rename(outside)
    (folder / "model-2.safetensors").symlink_to(outside)


def link_nowhere(folder: Path) -> None:
    (folder / "model-2.safetensors").unlink()
    (folder / "model-2.safetensors").symlink_to("model-2.safetensors")


def a_pipe(folder: Path) -> None:
    (folder / "config.json").unlink()
    os.mkfifo(folder / "config.json")


def a_pickle(folder: Path) -> None:
    for path in folder.glob("model*"):
        path.unlink()
    torch.save({"x": 1}, folder / "pytorch_model.bin")


def index_leads_out(folder: Path) -> None:
    change_json(folder, "model.safetensors.index.json", weight_map={Q: "../x.safetensors"})


def index_lies(folder: Path) -> None:
    path = folder / "model.safetensors.index.json"
    places = json.loads(path.read_text())["weight_map"]
    assert places[Q] == "model-1.safetensors"
    change_json(folder, path.name, weight_map={**places, Q: "model-2.safetensors"})


def index_of_pickles(folder: Path) -> None:
    change_json(folder, "model.safetensors.index.json", weight_map={Q: "x.bin"})


def part_missing(folder: Path) -> None:
    (folder / "model-2.safetensors").unlink()


def no_config(folder: Path) -> None:
    (folder / "config.json").unlink()


def config_of_noise(folder: Path) -> None:
    (folder / "config.json").write_bytes(b"\x80{")


def config_too_deep(folder: Path) -> None:
    (folder / "config.json").write_text("[" * 100_000)


def with_code(folder: Path) -> None:
    (folder / "modeling_x.py").write_text("raise SystemExit('executed')")
    change_json(
        folder,
        "config.json",
        model_type="mine",
        auto_map={"AutoModelForCausalLM": "modeling_x.Model"},
    )


def set_in_config(**changes: object) -> Callable[[Path], None]:
    return lambda folder: change_json(folder, "config.json", **changes)


def with_tensors(change: Callable[[dict[str, torch.Tensor]], object]) -> Callable[[Path], None]:
    return lambda folder: change_tensors(folder, change)


HOSTILE: dict[str, tuple[Callable[[Path], None], str]] = {
    "cut short": (cut_short, "FOLDER/model-2.safetensors: expected whole weights, got"),
    "other bytes": (other_bytes, "FOLDER/model-2.safetensors: expected whole weights, got"),
    "part missing": (part_missing, "FOLDER/model-2.safetensors: expected a file, got none"),
    "link outside": (
        link_outside,
        "FOLDER/model-2.safetensors: expected a file in its folder, got a link to one outside",
    ),
    "link in a circle": (link_nowhere, "FOLDER/model-2.safetensors: expected a file, got none"),
    "a pipe": (a_pipe, "FOLDER/config.json: expected a file, got something else"),
    "a pickle": (
        a_pickle,
        "FOLDER: expected weights in model.safetensors, got pytorch_model.bin, a pickle",
    ),
    "index leads out": (index_leads_out, "FOLDER: expected names of files in it, got '../x.safet"),
    "index lies": (index_lies, f"FOLDER/model-2.safetensors: {Q}: expected it there, got none"),
    "index of pickles": (index_of_pickles, "expected files of safetensors, got 'x.bin'"),
    "no config": (no_config, "FOLDER/config.json: expected a file, got none"),
    "config of noise": (config_of_noise, "FOLDER/config.json: expected JSON, got"),
    "config too deep": (config_too_deep, "FOLDER/config.json: expected JSON, got"),
    "code": (with_code, "model_type: expected one of llama, mistral, qwen3, gemma3_text, got"),
    "family unknown": (set_in_config(model_type="gpt2"), "model_type: expected one of llama"),
    "family a list": (set_in_config(model_type=["llama"]), "model_type: expected one of llama"),
    "wrong shape": (
        with_tensors(lambda found: found.update({Q: torch.zeros(12, 8)})),
        f"FOLDER: {Q}: expected the shape (8, 12), got the shape (12, 8)",
    ),
    "tensor missing": (
        with_tensors(lambda found: found.pop(Q)),
        f"FOLDER: {Q}: expected the shape (8, 12), got none",
    ),
    "tensor too many": (
        with_tensors(lambda found: found.update({"model.extra": torch.zeros(2)})),
        "FOLDER: model.extra: expected no such tensor, got the shape (2,)",
    ),
    "whole numbers": (
        with_tensors(lambda found: found.update({Q: found[Q].to(torch.int8)})),
        f"{Q}: expected floating point numbers of 16, 32 or 64 bits, got torch.int8",
    ),
    "two types": (
        with_tensors(lambda found: found.update({Q: found[Q].half()})),
        "FOLDER: expected tensors of one type, got torch.float16 and torch.float32",
    ),
    "quantized": (
        set_in_config(quantization_config={"bits": 4}),
        "quantization_config: expected None, got {'bits': 4}",
    ),
    "a billion layers": (
        set_in_config(num_hidden_layers=10**9),
        "num_hidden_layers: expected a whole number from 1 to 10000, got 1000000000",
    ),
    "layers without weights": (
        set_in_config(num_hidden_layers=9999),
        "FOLDER: expected the weights of 9999 layers, got fewer",
    ),
    "more layers": (
        set_in_config(num_hidden_layers=3),
        "model.layers.2.input_layernorm.weight: expected the shape (12,), got none",
    ),
    "half a layer": (
        set_in_config(num_hidden_layers=1.5),
        "num_hidden_layers: expected a whole number from 1 to 10000, got 1.5",
    ),
    "no heads": (
        set_in_config(num_attention_heads=0),
        "num_attention_heads: expected a whole number",
    ),
    "heads that do not divide": (
        set_in_config(num_attention_heads=3, num_key_value_heads=2),
        "settings: expected some that fit together, got 'num_kv_heads: expected a divisor",
    ),
    "odd heads": (set_in_config(head_dim=5), "d_k: expected an even number"),
    "another gate": (set_in_config(hidden_act="relu"), "hidden_act: expected one of silu, swish"),
    "unknown positions": (
        set_in_config(rope_scaling={"rope_type": "longrope"}),
        "rope_scaling: rope_type: expected one of default, linear, llama3, yarn, got 'longrope'",
    ),
    "positions without a factor": (
        set_in_config(rope_scaling={"type": "linear"}),
        "rope_scaling: factor: expected a number above 0, got none",
    ),
    "positions that shrink": (
        set_in_config(rope_scaling={"type": "linear", "factor": 0.5}),
        "expected settings that fit together, got 'factor: expected a number of 1 or more",
    ),
    "half of the features": (
        set_in_config(rope_parameters={"rope_theta": 1e4, "partial_rotary_factor": 0.5}),
        "partial_rotary_factor: expected 1.0, got 0.5",
    ),
    "base not a number": (set_in_config(rope_theta="1e4"), "rope_theta: expected a number above 0"),
    "windows without a size": (
        set_in_config(layer_types=["sliding_attention", "full_attention"]),
        "sliding_window: expected a whole number",
    ),
    "layer types of anything": (
        set_in_config(layer_types=[{}, []]),
        "layer_types: expected full_attention or sliding_attention for each of 2 layers",
    ),
    "layer types for others": (
        set_in_config(layer_types=["full_attention"]),
        "layer_types: expected full_attention or sliding_attention for each of 2 layers",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_one_clear_error_each(folder: Path, name: str) -> None:
    change, message = HOSTILE[name]
    change(folder)
    assert message in refused(folder)


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    assert refused(tmp_path / "nothing") == "FOLDER: expected a folder with a model, got none"
    (tmp_path / "file").write_text("x")
    assert "expected a folder with a model" in refused(tmp_path / "file")


def test_a_damaged_tokenizer(folder: Path) -> None:
    pytest.importorskip("tokenizers")
    (folder / "tokenizer.json").write_text('{"version": "1.0"}')
    assert "FOLDER/tokenizer.json: expected a tokenizer, got" in refused(folder)


def test_the_cache_of_downloads_links_to_its_blobs_and_nowhere_else(folder: Path) -> None:
    blobs, snapshot = folder.parent / "blobs", folder.parent / "snapshots" / "abc"
    blobs.mkdir()
    snapshot.mkdir(parents=True)
    for path in folder.iterdir():
        path.rename(blobs / f"of-{path.name}")
        (snapshot / path.name).symlink_to(f"../../blobs/of-{path.name}")
    assert load_pretrained(snapshot).model.config.num_layers == 2
    (blobs / "of-config.json").rename(folder.parent / "elsewhere")
    (blobs / "of-config.json").symlink_to("../elsewhere")
    assert "config.json: expected a file in its folder, got a link" in refused(snapshot)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 2**40) | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=4,
)
NAMES = st.sampled_from(
    [
        *CONFIG,
        "rope_scaling",
        "rope_parameters",
        "rope_theta",
        "layer_types",
        "sliding_window",
        "use_sliding_window",
        "sliding_window_pattern",
        "text_config",
        "tie_word_embeddings",
        "bos_token_id",
        "query_pre_attn_scalar",
        "quantization_config",
    ]
)


@settings(
    max_examples=settings().max_examples * 2,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    family=st.sampled_from(["llama", "mistral", "qwen3", "gemma3_text", "gemma3"]),
    changes=st.dictionaries(NAMES, VALUES, max_size=3),
)
def test_whatever_a_config_holds_is_settings_or_an_error(
    family: str, changes: dict[str, Any], unchecked: None
) -> None:
    stored = StoredConfig({**CONFIG, "model_type": family, **changes}, place="config.json")
    try:
        found = decoder_config(stored)
    except PretrainedError:
        return
    assert found.num_layers <= 10_000
