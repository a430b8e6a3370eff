"""``attention-book inspect``: a sick run is found out, a model of others is looked into."""

import json

import pytest
import torch

from attention_book.cli.errors import ExitCode
from attention_book.cli.inspect import LANGUAGE_LAWS as MEANINGS
from attention_book.cli.inspect import LAWS, best_alignment, head_reports
from attention_book.cli.reasons import has_english
from attention_book.cli.translators import learned
from attention_book.course.diagnosis import LANGUAGE_LAWS, planted
from attention_book.course.diagnosis import LAWS as ALL_LAWS
from attention_book.models import LanguageModel, Transformer, TransformerConfig
from attention_book.models.pretrained.families import decoder_config
from attention_book.models.pretrained.names import name_in_files
from attention_book.models.pretrained.stored_config import StoredConfig
from attention_book.text import ParallelData, SentencePair, Vocabulary


def test_every_law_is_explained():
    assert set(LAWS) == set(ALL_LAWS)
    assert set(MEANINGS) == set(LANGUAGE_LAWS)


def test_a_healthy_run_obeys_and_a_sick_one_is_found_out(say, beside, monkeypatch):
    healthy = json.loads(say("inspect --sentences 6 --json").out)
    assert all(healthy["check_up"].values())
    assert len(healthy["heads"]) == 2 * 3 * 2, "layers × kinds × heads"
    sick = learned("runs/tiny", None)
    monkeypatch.setattr("attention_book.cli.inspect.learned", lambda *_: sick)
    with planted(sick.model, "no-causal-mask"):
        found = say("inspect --sentences 6 --json")
        told = say("inspect --sentences 6 --lang zh").out
    assert not json.loads(found.out)["check_up"]["future is hidden"]
    assert told.count("违反") >= 1
    assert "没有标准答案" in told


def test_a_head_that_looks_at_the_place_before_is_reported_as_one(monkeypatch):
    model = Transformer(TransformerConfig(source_vocabulary=9, target_vocabulary=9)).eval()
    words = Vocabulary.build([tuple("abcde")])
    pairs = [SentencePair(tuple("abc"), tuple("de")), SentencePair(tuple("ab"), tuple("edcba"))]
    reports = head_reports(model, ParallelData(pairs, words, words))
    assert [report.number for report in reports[:4]] == [1, 2, 3, 4]
    for report in reports:
        assert 0 < report.sharpness <= 1
        assert (report.previous is None) == ("cross" in report.module)
        if report.own is not None:
            assert report.own <= report.sharpness + 1e-6
        if "decoder" in report.module and report.following is not None:
            assert report.following == 0, "nothing behind itself"


def test_the_head_that_aligns_is_found(beside, monkeypatch):
    links = frozenset({(0, 1), (1, 0)})
    pairs = [SentencePair(("a", "b"), ("c", "d"), links)] * 3
    weights = torch.full((2, 2, 3, 3), 1 / 3)
    weights[1, 0, :2, :2] = torch.tensor([[0.2, 0.8], [0.8, 0.2]])
    weights[1, 1, :2, :2] = torch.tensor([[0.9, 0.1], [0.1, 0.9]])  # so the mean is wrong
    monkeypatch.setattr("attention_book.cli.inspect.cross", lambda *_: weights.clone())
    found = best_alignment(learned("runs/tiny", None), pairs)
    assert (found.layer, found.head, found.error_rate, found.diagonal) == (2, 1, 0.0, 1.0)
    assert best_alignment(learned("runs/tiny", None), [SentencePair(("a",), ("b",))]) is None


# --- inspect --model -------------------------------------------------------------------------


@pytest.fixture
def pretrained(tmp_path):
    """A folder in the layout of Hugging Face, with a model of nine words."""
    tokenizers = pytest.importorskip("tokenizers")
    from safetensors.torch import save_file

    settings = {
        "model_type": "mistral",
        "vocab_size": 9,
        "hidden_size": 8,
        "intermediate_size": 6,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "sliding_window": 2,
        "bos_token_id": 1,
        "eos_token_id": 2,
    }
    config = decoder_config(StoredConfig(settings, place="config.json"))
    torch.manual_seed(0)
    weights = LanguageModel(config).state_dict().items()
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(settings))
    save_file(
        {name_in_files(name, config): value for name, value in weights},
        folder / "model.safetensors",
    )
    words = {
        word: number
        for number, word in enumerate(["<unk>", "<s>", "</s>", "a", "girl", "reads", "the"])
    }
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordLevel(
            {word: number for number, word in enumerate(words)}, unk_token="<unk>"
        )
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def test_a_model_of_others_is_looked_into(say, alone, pretrained):
    line = ["inspect", "--model", str(pretrained), "the girl reads"]
    found = json.loads(say([*line, "--json", "--attention", "heads.html"]).out)
    assert (found["family"], found["tokens"]) == ("mistral", ["the", "girl", "reads"])
    assert found["check_up"] == dict.fromkeys(LANGUAGE_LAWS, True)
    for layer in found["layers"]:
        # Two tokens are in the window: the second sees both, the third not the first.
        assert layer["previous"] + layer["own"] == pytest.approx(1, abs=1e-5)
        assert layer["window"] == 2
    page = (alone / "heads.html").read_text()
    assert "reads" in page
    assert "Attention heads" in page
    told = say([*line, "--lang", "zh"])
    assert told.code == 0
    assert "mistral 2 × 2 (1)" in told.out
    assert (alone / "attention.html").exists()
    one = json.loads(say(["inspect", "--model", str(pretrained), "the", "--json"]).out)
    assert one["loss"] is None


def test_a_text_that_brings_its_special_tokens_gets_none(say, alone, pretrained):
    tokenizers = pytest.importorskip("tokenizers")
    path = str(pretrained / "tokenizer.json")
    tokenizer = tokenizers.Tokenizer.from_file(path)
    tokenizer.add_special_tokens(["the"])
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="the $A", special_tokens=[("the", tokenizer.token_to_id("the"))]
    )
    tokenizer.enable_truncation(2)
    tokenizer.save(path)
    for text in ("girl reads", "the girl reads"):
        line = ["inspect", "--model", str(pretrained), text]
        assert json.loads(say([*line, "--json"]).out)["tokens"] == ["the", "girl", "reads"]
        told = say(line)
        assert ("none were added" in told.out) == text.startswith("the")
        assert told.err == ""


def damaged(folder, **changes):
    """Put other tensors into the file of the model, by what becomes of each."""
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    found = {name: value.clone() for name, value in load_file(path).items()}
    path.unlink()  # the old one is mapped into memory
    for name, change in changes.items():
        full = name.replace("__", ".")
        found[full] = change(found[full])
    save_file(found, path)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize(
    "name",
    [
        *("model.layers.1.self_attn.q_proj.weight", "model.layers.0.self_attn.v_proj.weight"),
        *("model.layers.1.mlp.up_proj.weight", "model.layers.0.input_layernorm.weight"),
        *("model.norm.weight", "lm_head.weight", "model.embed_tokens.weight"),
    ],
)
def test_weights_that_are_no_numbers_are_named(say, alone, pretrained, name, value):
    """The kind: weights of a training that has diverged, or of a damaged file."""
    damaged(pretrained, **{name.replace(".", "__"): lambda weight: torch.full_like(weight, value)})
    line = ["inspect", "--model", str(pretrained), "the girl reads"]
    english, chinese = say(line), say([*line, "--lang", "zh"])
    assert english.code == chinese.code == ExitCode.RUN, english.err
    assert f"{name}: expected finite numbers, got nan or inf" in english.err
    assert f"{name} 里有 nan 或 inf" in chinese.err
    assert not has_english(chinese.err)
    assert not (alone / "attention.html").exists()


def test_numbers_that_half_precision_cannot_hold_are_told(say, alone, pretrained):
    damaged(pretrained, lm_head__weight=lambda weight: torch.full_like(weight, 3e38))
    line = ["inspect", "--model", str(pretrained), "the girl reads"]
    assert "expected finite logits, got nan or inf from finite weights; float32 is" in say(line).err
    assert not has_english(say([*line, "--lang", "zh"]).err)


def set_to(**settings):
    def change(folder):
        path = folder / "config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **settings}))

    return change


def other_file(name):
    def change(folder):
        (folder / "model.safetensors").rename(folder / name)

    return change


def named(change):
    def rename(folder):
        from safetensors.torch import load_file, save_file

        found = load_file(folder / "model.safetensors")
        (folder / "model.safetensors").unlink()
        save_file(
            {change(name): each for name, each in found.items()}, folder / "model.safetensors"
        )

    return rename


OTHERS = {
    "another family": set_to(model_type="gpt2"),
    "quantized": set_to(quantization_config={"quant_method": "bitsandbytes", "bits": 4}),
    "a table for a number": set_to(rope_theta={"full": 1.0}),
    "a table for tokens": set_to(eos_token_id={"x": 1}),
    "a list for a kind": set_to(hidden_act=["silu", {"a": 1}]),
    "all see all": set_to(is_causal=False),
    "more layers": set_to(num_hidden_layers=3),
    "fewer layers": set_to(num_hidden_layers=1),
    "tied": lambda folder: named(lambda name: name.replace("lm_head", "head"))(folder),
    "an adapter": lambda folder: (folder / "adapter_config.json").write_text("{}"),
    "an adapter's parts": named(lambda name: name.replace("q_proj", "q_proj.base_layer")),
    "wrapped": named(lambda name: f"module.{name}"),
    "for TensorFlow": other_file("tf_model.h5"),
    "for Flax": other_file("model.msgpack"),
    "GGUF": other_file("model.gguf"),
    "GGUF alone": lambda folder: (other_file("x.gguf")(folder), (folder / "config.json").unlink()),
    "compiled": other_file("model.onnx"),
    "by other names": other_file("consolidated.safetensors"),
    "a pickle": other_file("pytorch_model.bin"),
    "no index": other_file("model-00001-of-00002.safetensors"),
    "a type of Gemma": set_to(model_type="gemma3_text", rope_scaling={"type": "linear"}),
    "a token that is named elsewhere": lambda folder: (folder / "added_tokens.json").write_text(
        '{"girl reads": 7}'
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_wrong_with_a_folder_is_told_in_chinese(say, alone, pretrained, name):
    """The kind: what to do about it as well; no Chinese sentence with an English one in it."""
    OTHERS[name](pretrained)
    line = ["inspect", "--model", str(pretrained), "the girl reads", "--lang", "zh"]
    found = say(line)
    assert found.code == ExitCode.RUN
    assert "英文原文" not in found.err
    assert not has_english(found.err)
    assert len(found.err.splitlines()) == 1


@pytest.mark.parametrize(
    "path", ["no/such", "model/model.safetensors", "x.gguf", "model/config.json"]
)
def test_a_path_that_is_no_folder_is_told_in_chinese(say, alone, pretrained, path):
    (alone / "x.gguf").write_bytes(b"GGUF")
    place = str(pretrained.parent / path) if path.startswith("model/") else path
    found = say(["inspect", "--model", place, "the girl", "--lang", "zh"])
    assert found.code == ExitCode.RUN
    assert "英文原文" not in found.err


def test_what_a_model_of_others_cannot_be_asked_is_said_in_one_line(say, alone, pretrained):
    assert say(["inspect", "the girl"]).code == ExitCode.WRONG_LINE
    assert say(["inspect", "--model", str(pretrained)]).code == ExitCode.WRONG_LINE
    both = ["inspect", "--model", str(pretrained), "the girl", "--run", "x"]
    assert say(both).code == ExitCode.WRONG_LINE
    assert say(["inspect", "--model", str(pretrained), ""]).code == ExitCode.WRONG_LINE
    nowhere = say(["inspect", "--model", "nowhere", "the girl"])
    assert nowhere.code == ExitCode.RUN
    assert "nowhere: expected a folder with a model, got none" in nowhere.err
    assert len(nowhere.err.splitlines()) == 1
    (pretrained / "tokenizer.json").unlink()
    assert say(["inspect", "--model", str(pretrained), "the girl"]).code == ExitCode.RUN
    assert not (alone / "attention.html").exists()
