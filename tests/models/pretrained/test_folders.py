"""Folders of any kind: one clear error each, nothing executed, nothing loaded by half."""

import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attention_book.models import (
    LanguageModel,
    PretrainedError,
    load_pretrained,
)
from attention_book.models.pretrained.families import decoder_config
from attention_book.models.pretrained.names import name_in_files
from attention_book.models.pretrained.stored_config import StoredConfig

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
    model = LanguageModel(config)
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
    assert torch.equal(found.model.stack.layers[1].self_attention.W_q.weight, whole[Q])
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
        model.stack.norm.weight.add_(1)
    assert path.read_bytes() == content


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("equal", [False, True])
def test_a_tied_matrix_is_one_unless_the_files_hold_two(
    folder: Path, tied: bool, equal: bool
) -> None:
    change_json(folder, "config.json", tie_word_embeddings=tied)
    embedding, head = "model.embed_tokens.weight", "lm_head.weight"
    change_tensors(folder, lambda found: equal and found.update({head: found[embedding].clone()}))
    model = load_pretrained(folder).model
    assert (model.readout.weight is model.stack.embedding.weight) == (tied and equal)
    assert model.config.tied == (tied and equal)


@pytest.mark.parametrize("held", ["embedding", "head", "both"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_tied_matrix_is_one_whatever_it_holds(folder: Path, held: str, value: float) -> None:
    """The kind: NaN is not NaN, and a matrix that is damaged seemed to be two."""
    change_json(folder, "config.json", tie_word_embeddings=True)
    embedding, head = "model.embed_tokens.weight", "lm_head.weight"

    def damage(found: dict[str, torch.Tensor]) -> None:
        found[embedding][3, 1] = value
        found[head] = found[embedding].clone()
        for name in {"embedding": [head], "head": [embedding], "both": []}[held]:
            del found[name]

    change_tensors(folder, damage)
    model = load_pretrained(folder).model
    assert model.config.tied
    assert model.readout.weight is model.stack.embedding.weight
    assert int(model.readout.weight.isfinite().logical_not().sum()) == 1


def test_old_files_hold_tables_that_are_not_needed(folder: Path) -> None:
    change_tensors(
        folder,
        lambda found: found.update({"model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(2)}),
    )
    assert load_pretrained(folder).model.config.num_layers == 2


def other_form(name: str) -> Callable[[Path], None]:
    """A model that is there, but otherwise than is read: these weights under another name."""

    def change(folder: Path) -> None:
        for path in folder.glob("model*"):
            path.unlink()
        safetensors.save_file(tensors(), folder / name)

    return change


def original(folder: Path) -> None:
    other_form("consolidated.safetensors")(folder)
    (folder / "config.json").rename(folder / "params.json")


def adapter(folder: Path) -> None:
    other_form("adapter_model.safetensors")(folder)
    (folder / "config.json").rename(folder / "adapter_config.json")


def adapter_beside_a_model(folder: Path) -> None:
    (folder / "adapter_config.json").write_text("{}")


def snapshot(folder: Path) -> None:
    inner = folder / "snapshots" / "abc"
    inner.mkdir(parents=True)
    (folder / "config.json").rename(inner / "config.json")
    for path in folder.glob("model*"):
        path.rename(inner / path.name)


def emptied(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()


def named(change: Callable[[str], str]) -> Callable[[dict[str, torch.Tensor]], None]:
    """All tensors get other names."""

    def rename(found: dict[str, torch.Tensor]) -> None:
        for name in list(found):
            found[change(name)] = found.pop(name)

    return rename


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


# What people hand over instead of a model in this layout, each named with what to do about it.
OTHER_FORMS: dict[str, tuple[Callable[[Path], None], str]] = {
    "GGUF": (other_form("model.Q4_K_M.gguf"), "got model.Q4_K_M.gguf, GGUF, for other programs"),
    "original of Mistral": (
        original,
        "config.json: expected a file, got none, and consolidated.saf",
    ),
    "original weights": (
        other_form("consolidated.safetensors"),
        "got consolidated.safetensors, weights as their authors named them; get those in the",
    ),
    "an adapter": (adapter, "FOLDER: expected a whole model, got an adapter; merge the adapter"),
    "an adapter beside a model": (
        adapter_beside_a_model,
        "FOLDER: expected a whole model, got an adapter beside a model; merge the adapter",
    ),
    "a folder too high": (
        snapshot,
        "FOLDER/config.json: expected a file, got none; there is one in FOLDER/snapshots/abc",
    ),
    "empty": (emptied, "FOLDER/config.json: expected a file, got none"),
    "parts without an index": (
        other_form("model-00001-of-00002.safetensors"),
        "got model-00001-of-00002.safetensors without an index (model.safetensors.index.json)",
    ),
    "TensorFlow": (
        other_form("tf_model.h5"),
        "got tf_model.h5, weights for TensorFlow; get the sa",
    ),
    "with an adapter's parts": (
        lambda folder: change_tensors(
            folder, named(lambda name: name.replace("q_proj", "q_proj.base_layer"))
        ),
        "got the shape (8, 12); merge the adapter into the model (merge_and_unload) and save that",
    ),
    "compiled": (
        lambda folder: change_tensors(folder, named(lambda name: f"_orig_mod.{name}")),
        "expected no such tensor, got the shape (11, 12); save the model itself, without what it",
    ),
    "in parallel": (
        lambda folder: change_tensors(folder, named(lambda name: f"module.{name}")),
        "expected no such tensor, got the shape (11, 12); save the model itself, without what it",
    ),
    "no output layer": (
        lambda folder: change_tensors(folder, lambda found: found.pop("lm_head.weight")),
        "got none; if the output layer of this model is its embedding, config.json should say",
    ),
}


@pytest.mark.parametrize("name", OTHER_FORMS)
def test_another_form_of_a_model_is_named_with_its_cure(folder: Path, name: str) -> None:
    change, message = OTHER_FORMS[name]
    change(folder)
    assert message in refused(folder)


def test_the_cure_of_a_missing_output_layer_works(folder: Path) -> None:
    change_tensors(folder, lambda found: found.pop("lm_head.weight"))
    change_json(folder, "config.json", tie_word_embeddings=True)
    assert load_pretrained(folder).model.config.tied


def test_names_that_are_no_folder(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert load_pretrained("~/model").path == folder
    (tmp_path / "x.gguf").write_bytes(b"GGUF")
    change_tensors(folder, lambda found: None)
    for name, message in {
        "Qwen/Qwen3-0.6B": "nothing is downloaded here: if it is a name on a hub, huggingface_hub."
        'snapshot_download("Qwen/Qwen3-0.6B") returns its folder',
        "x.gguf": "got a file (GGUF, for other programs; get the safetensors that it was",
        "model/model.safetensors": "got one of its files; name the folder",
        "model/config.json": "got a file (name the folder that it is in)",
        "~nobody-of-this-name/x": "expected a folder with a model, got none",
        "\0": "expected a folder with a model, got none",
    }.items():
        with pytest.raises(PretrainedError) as error:
            load_pretrained(name)
        assert message in str(error.value)


# Two numbers that end a text stand in different files: real folders of Qwen and Llama name the
# second in generation_config.json alone. The last line: what the vocabulary does not hold.
ENDS = {
    "a list": ([3, 4], None, (3, 4)),
    "beside it": (3, {"eos_token_id": [3, 5]}, (3, 5)),
    "another one": (3, {"eos_token_id": 5}, (3, 5)),
    "there alone": (None, {"eos_token_id": [5, 4]}, (5, 4)),
    "null": (3, {"eos_token_id": None}, (3,)),
    "nowhere": (None, {}, ()),
    "outside": ([3, 900], {"eos_token_id": [-1, 11]}, (3,)),
}


@pytest.mark.parametrize("name", ENDS)
def test_all_that_ends_a_text_is_known(folder: Path, name: str) -> None:
    eos, generation, expected = ENDS[name]
    change_json(folder, "config.json", eos_token_id=eos)
    if generation is not None:
        (folder / "generation_config.json").write_text(json.dumps(generation))
    found = load_pretrained(folder)
    assert found.ends == found.model.config.ends == expected
    assert found.model.config.eos == (expected[0] if expected else 11)


@pytest.mark.parametrize(
    ("family", "expected"),
    [
        ("llama", (2, 1, 12)),
        ("mistral", (2, 1, 12)),
        ("qwen2", (11, 12, 13)),
        ("qwen3", (11, 12, 13)),
        ("gemma3_text", (1, 2, 0)),
    ],
)
def test_what_is_said_nowhere_is_as_in_the_family(family: str, expected: tuple[int, ...]) -> None:
    silent = {**CONFIG, "model_type": family}
    del silent["eos_token_id"]
    found = decoder_config(StoredConfig(silent, place="config.json"))
    known = tuple(each for each in expected if each < 11)
    assert (found.eos, found.bos) == expected[:2]
    assert found.pad == expected[2] or found.pad >= 11
    assert found.ends == known[:1]
    none = dict.fromkeys(["eos_token_id", "bos_token_id", "pad_token_id"])
    found = decoder_config(StoredConfig({**silent, **none}, place="config.json"))
    assert min(found.eos, found.bos, found.pad) >= 11
    assert found.ends == ()


@pytest.mark.parametrize("path", [None, b"model", 7, "", ["model"]])
def test_a_path_that_is_none(path: object, unchecked: None) -> None:
    with pytest.raises(PretrainedError, match="folder: expected its path, got"):
        load_pretrained(path)


def test_what_is_said_of_the_ends_must_be_numbers(folder: Path) -> None:
    (folder / "generation_config.json").write_text('{"eos_token_id": "</s>"}')
    assert "generation_config.json: eos_token_id: expected numbers of tokens" in refused(folder)


# Several types in one file: all become the one that is named, or else that of the first tensor.
@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"dtype": "bfloat16"}, torch.bfloat16),
        ({"torch_dtype": "float16"}, torch.float16),
        ({"dtype": "float32", "torch_dtype": "float16"}, torch.float32),
        ({}, torch.bfloat16),
    ],
)
def test_several_types_become_one(
    folder: Path, said: dict[str, str], expected: torch.dtype
) -> None:
    def norms_in_single(found: dict[str, torch.Tensor]) -> None:
        for name, value in found.items():
            found[name] = value if "norm" in name else value.bfloat16()

    change_tensors(folder, norms_in_single)
    change_json(folder, "config.json", **said)
    model = load_pretrained(folder).model
    assert {weight.dtype for weight in model.parameters()} == {expected}
    assert model(torch.tensor([[1, 2, 3]])).isfinite().all()


def test_one_type_stays_that_of_the_file(folder: Path) -> None:
    change_tensors(folder, named(lambda name: name))
    change_json(folder, "config.json", dtype="bfloat16")
    assert load_pretrained(folder).model.stack.norm.weight.dtype == torch.float32


def test_of_several_types_one_must_be_named_that_weights_have(folder: Path) -> None:
    change_tensors(folder, lambda found: found.update({Q: found[Q].half()}))
    change_json(folder, "config.json", dtype="int8")
    assert "dtype: expected one of float64, float32, float16, bfloat16, got 'int8'" in refused(
        folder
    )


def test_a_whole_file_comes_before_an_index(folder: Path) -> None:
    index = (folder / "model.safetensors.index.json").read_bytes()
    change_tensors(folder, lambda found: None)
    (folder / "model.safetensors.index.json").write_bytes(index)  # of a model that was there before
    expected = safetensors.load_file(folder / "model.safetensors")
    assert torch.equal(
        load_pretrained(folder).model.stack.norm.weight, expected["model.norm.weight"]
    )


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
    "code": (with_code, "model_type: expected one of llama, mistral, qwen2, qwen3, gemma3_text,"),
    "family unknown": (set_in_config(model_type="gpt2"), "model_type: expected one of llama"),
    "family of the masked": (set_in_config(model_type="bert"), "HeadViewer shows the attention"),
    "family that translates": (
        set_in_config(model_type="marian"),
        "HeadViewer shows the attention",
    ),
    "family of encoders": (set_in_config(model_type="t5"), 'attn_implementation="eager"'),
    "family missing": (set_in_config(model_type=None), "qwen3, gemma3_text, got none; of a model"),
    "bidirectional": (
        set_in_config(model_type="gemma3_text", use_bidirectional_attention=True),
        "use_bidirectional_attention: expected False, got True",
    ),
    "factors that are too few": (
        set_in_config(
            rope_scaling={"type": "longrope", "short_factor": [1.0], "long_factor": [1, 2]}
        ),
        "short_factors: expected one for each of 2 pairs, got 1",
    ),
    "factors that are none": (
        set_in_config(rope_scaling={"type": "longrope", "short_factor": 2, "long_factor": [1, 2]}),
        "rope_scaling: short_factor: expected a list of numbers above 0, got 2",
    ),
    "half of the features, said outside": (
        set_in_config(partial_rotary_factor=0.5, rope_scaling={"type": "linear", "factor": 2}),
        "partial_rotary_factor: expected 1.0, got 0.5",
    ),
    "one description for two kinds of layers": (
        set_in_config(model_type="gemma3_text", rope_parameters={"rope_type": "default"}),
        "rope_parameters: full_attention: expected an object for each layer type",
    ),
    "Gemma's type in the old spelling": (
        set_in_config(model_type="gemma3_text", rope_scaling={"type": "linear", "factor": 8.0}),
        "rope_type: expected the kind under this name, got none; rename type to rope_type",
    ),
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
    "quantized": (
        set_in_config(quantization_config={"bits": 4}),
        "quantization_config: expected weights that are not quantized, got {'bits': 4}; save what",
    ),
    "windows that are turned off": (
        set_in_config(
            layer_types=["sliding_attention", "full_attention"],
            sliding_window=4,
            use_sliding_window=False,
        ),
        "use_sliding_window: expected true where layers have windows, got False",
    ),
    "all see all": (set_in_config(is_causal=False), "is_causal: expected true, got False"),
    "all see all, by null": (set_in_config(is_causal=None), "is_causal: expected true, got none"),
    "all see all, by a number": (set_in_config(is_causal=0), "is_causal: expected true, got 0"),
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
        "model.layers.2.input_layernorm.weight: expected the shape (12,), got none; config.json "
        "says 3 layers, the files hold 2",
    ),
    "fewer layers": (
        set_in_config(num_hidden_layers=1),
        "expected no such tensor, got the shape (12,); config.json says 1 layers, the files hold 2",
    ),
    "no size of the feed-forward network": (
        set_in_config(intermediate_size=None),
        "FOLDER/config.json: intermediate_size: expected a whole number from 1 to 2147483648,",
    ),
    "an end in letters": (
        set_in_config(eos_token_id="</s>"),
        "FOLDER/config.json: eos_token_id: expected numbers of tokens, got '</s>'",
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
        set_in_config(rope_scaling={"rope_type": "proportional"}),
        "rope_scaling: rope_type: expected one of default, linear, llama3, yarn, dynamic, "
        "longrope, got 'proportional'",
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
        "eos_token_id",
        "max_position_embeddings",
        "hidden_act",
        "query_pre_attn_scalar",
        "quantization_config",
    ]
)


@settings(
    max_examples=settings().max_examples * 2,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    family=st.sampled_from(["llama", "mistral", "qwen2", "qwen3", "gemma3_text", "gemma3"]),
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
