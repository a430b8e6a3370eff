"""``attention-book inspect``, ``export`` and ``data``: what is said is what is there."""

import gzip
import hashlib
import json
import random
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from attention_book.cli.data import Side, cut, described, state_of
from attention_book.cli.errors import ExitCode
from attention_book.cli.export import as_trained, missing_for_a_page, safe_name
from attention_book.cli.inspect import LANGUAGE_LAWS as MEANINGS
from attention_book.cli.inspect import LAWS, best_alignment, head_reports
from attention_book.cli.reasons import has_english, in_chinese
from attention_book.cli.translators import Learned, learned
from attention_book.course.diagnosis import LANGUAGE_LAWS, planted
from attention_book.course.diagnosis import LAWS as ALL_LAWS
from attention_book.models import LanguageModel, Transformer, TransformerConfig
from attention_book.models.pretrained.families import decoder_config
from attention_book.models.pretrained.names import name_in_files
from attention_book.models.pretrained.stored_config import StoredConfig
from attention_book.runs import TextCodec, TextSettings, load_run
from attention_book.runs.corpus import Skipped, read_lines
from attention_book.runs.settings import CORPORA, DataSettings, RunSettings
from attention_book.text import ParallelData, SentencePair, Vocabulary
from attention_book.text.corpora import CorpusFile, corpus_files

# --- inspect ---------------------------------------------------------------------------------


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


# --- export ----------------------------------------------------------------------------------


def test_a_run_with_words_is_written_as_the_page_reads_it(say, beside, tmp_path):
    found = say(f"export --folder {tmp_path}")
    assert found.code == 0, found.err
    binary = (tmp_path / "tiny.bin").read_bytes()
    size = int.from_bytes(binary[4:8], "little")
    assert binary[:4] == b"ATTN"
    assert hashlib.sha256(binary[40:]).digest() == binary[8:40]
    header = json.loads(binary[40 : 40 + size])
    run = load_run("runs/tiny")
    assert header["source_vocabulary"] == list(run.codec.source_vocabulary.tokens)
    assert header["config"] == run.model.config.to_dict()
    weights = sum(weight.numel() for weight in run.model.state_dict().values())
    assert len(binary) == 40 + size + 2 * weights
    assert {path.name for path in tmp_path.iterdir()} == {"tiny.bin", "tiny.js", "tiny.example.js"}


def spelled(piece):
    """The bytes of a subword, which may be a part of a character."""
    inside = piece.strip("<>").replace(" ", "")
    is_bytes = piece.startswith("<") and re.fullmatch("([0-9A-F]{2})+", inside)
    return bytes.fromhex(inside) if is_bytes else piece.encode()


def test_a_run_with_subwords_is_written_with_what_joins_them(say, beside, tmp_path, monkeypatch):
    run = load_run("runs/tiny")
    lines = list(read_lines(run.settings.data, "train"))[:200]
    text = TextSettings(unit="subwords", num_pieces=300, shared=True)
    codec = TextCodec.learn(lines, text, ("en", "fr"))
    words = len(codec.source_vocabulary)
    config = TransformerConfig(
        source_vocabulary=words, target_vocabulary=words, shared=True,
        d_model=8, d_ff=8, num_heads=2, num_layers=1,
    )  # fmt: skip
    found = Learned(name="x", model=Transformer(config).eval(), codec=codec, settings=run.settings)
    monkeypatch.setattr("attention_book.cli.export.learned", lambda *_: found)
    said = say(f"export --folder {tmp_path}")
    assert said.code == 0, said.err
    binary = (tmp_path / "x.bin").read_bytes()
    size = int.from_bytes(binary[4:8], "little")
    header = json.loads(binary[40 : 40 + size])
    tokens, merges = header["source_vocabulary"], header["subwords"]["merges"]
    pairs = zip(merges[::2], merges[1::2], strict=True)
    joined = [spelled(tokens[a]) + spelled(tokens[b]) for a, b in pairs]
    assert joined == [spelled(each) for each in tokens[4 + 256 :]] != []
    assert header["origin"] is None, "the book's own grammar"
    parameters = sum(weight.numel() for weight in found.model.parameters())
    assert len(binary) == 40 + size + 2 * parameters, "the shared matrix stands there once"
    example = (tmp_path / "x.example.js").read_text(encoding="utf8")
    assert '"subwords":true' in example


def test_what_the_page_lacks_is_named(say, beside, monkeypatch):
    run = load_run("runs/tiny")
    text = TextSettings(unit="subwords", num_pieces=260, moses=True)
    pieces = TextCodec.learn([("a b", "c d")] * 9, text, ("en", "fr"))
    rotary = Transformer(
        TransformerConfig(source_vocabulary=9, target_vocabulary=9, positions="rotary")
    )
    found = Learned(name="x", model=rotary, codec=pieces, settings=run.settings)
    assert [each.en for each in missing_for_a_page(found)] == [
        "splitting by the rules of Moses",
        "the positions rotary",
    ]
    monkeypatch.setattr("attention_book.cli.export.learned", lambda *_: found)
    said = say("export --lang zh")
    assert said.code == ExitCode.RUN
    assert "Moses 的切分；位置编码 rotary" in said.err


@pytest.mark.parametrize("name", ['a"b);alert(1', "../../etc", "", "..", "大"])
def test_no_name_leaves_the_folder_or_ends_a_string(name):
    assert safe_name(name).replace("-", "a").isalnum()
    assert safe_name(name).isascii()


def test_a_page_knows_languages_by_their_short_codes(beside, monkeypatch):
    """The kind: a code met as a string, here by the page, which compares it with zh and fr."""
    monkeypatch.setattr("attention_book.cli.export._parts", lambda _: {})
    run = load_run("runs/tiny")

    def found(source, target):
        data = DataSettings(corpus="phrasebook", source=source, target=target)
        settings = replace(run.settings, data=data)
        return Learned(name="x", model=run.model, codec=run.codec, settings=settings)

    for (source, target), short in {
        ("eng", "cmn"): ("en", "zh"),
        ("yue-Hant", "FR_ca"): ("zh", "fr"),
        ("it", "en"): ("it", "en"),
    }.items():
        recipe = as_trained(found(source, target)).recipe
        assert (recipe.source, recipe.target) == short
    lines, text = [("L'eau.", "Go.")], TextSettings()
    grammar = TextCodec.learn(lines, text, ("fra", "eng"), word_rule="grammar")
    [lacks] = missing_for_a_page(replace(found("fra", "eng"), codec=grammar))
    assert "French elisions" in lacks.en


# --- data ------------------------------------------------------------------------------------


def test_every_corpus_is_listed(say, alone):
    found = say("data")
    assert [line.split()[0] for line in found.out.splitlines() if line[:1].strip()] == list(CORPORA)


def test_a_file_is_counted(say, alone):
    lines = ["Go.\tVa !", "Go.\tVas !", "no tab", "I run.\tJe cours.", "a\tb\tc", "\tx"]
    Path("p.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    Path("t.tsv").write_text("Go.\tVa.\nYou swim.\tTu nages.\n", encoding="utf-8")
    data = DataSettings(
        corpus=None, train=("p.tsv",), validation=("t.tsv",), test=("t.tsv",), on_problem="skip"
    )
    skipped = Skipped()
    parts = described(data, skipped)
    train, test = parts["train"], parts["test"]
    assert (train.num_pairs, train.twice, skipped.count) == (3, 1, 3)
    assert train.source.words == {"go": 2, ".": 3, "i": 1, "run": 1}
    assert train.source.num_tokens == 7
    assert (train.source.length_at(0.5), train.source.length_at(1.0)) == (2, 3)
    assert test.seen_in(train) == 1
    assert test.source.share_unknown(train.source.words) == 2 / 5
    said = say("data p.tsv --validation t.tsv --test t.tsv")
    assert said.code == 0, said.err
    for expected in (
        "3 pairs of sentences",
        "unknown words 40.0%",
        "1 sources stand in the training",
    ):
        assert expected in said.out
    for line, reason in ((3, "no tab"), (5, "2 tabs"), (6, "empty source")):
        assert f"p.tsv:{line}: " in said.out
        assert reason in said.out


def test_words_are_those_of_the_language_whatever_its_code(say, alone):
    """The kind: a code that nobody knew made one word of each sentence that has no blanks."""
    assert cut("我用 Go 写。", "cmn") == cut("我用 Go 写。", "zh_TW") == (*"我用", "go", *"写。")
    for text, code in (
        ("東京へ行く", "jpn"),
        ("กินข้าว", "tha"),
        ("我读书", "qaa"),
        ("ငါစား", "mya"),
    ):
        assert cut(text, code) == tuple(text)
    assert cut("Vai a Roma, 3.5 km.", "it") == ("vai", "a", "roma,", "3.5", "km.")
    Path("p.tsv").write_text("go on\t我们继续读书。\n" * 2, encoding="utf-8")
    Path("t.tsv").write_text("go on\t我们读书。\n", encoding="utf-8")
    for code in ("cmn", "ZH", "zh_Hans", "zh", "yue"):
        said = say(f"data p.tsv --source eng --target {code} --test t.tsv")
        assert said.code == 0, said.err
        assert said.out.count("unknown words 0.0%") == 2, said.out
        assert f"[eng → {code}]" in said.out


def test_two_parallel_packed_files_and_the_same_in_one(say, alone):
    pairs = [(f"word {n}", f"mot {n}") for n in range(60)]
    Path("one.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in pairs))
    for name, side in (("a.gz", 0), ("b.gz", 1)):
        Path(name).write_bytes(gzip.compress("".join(f"{p[side]}\n" for p in pairs).encode()))
    one, two = (say(f"data {names}").out.partition("\n")[2] for names in ("one.tsv", "a.gz b.gz"))
    assert one == two
    assert "none of its sources stands in the training" in one


def test_a_length_is_one_that_enough_sentences_do_not_exceed():
    draw = random.Random(0)
    lengths = [draw.randint(1, 20) for _ in range(101)]
    side = Side(lengths=Counter(lengths))
    for share in (0.1, 0.5, 0.95, 1.0):
        found = side.length_at(share)
        assert sum(length <= found for length in lengths) >= share * 101
        assert sum(length < found for length in lengths) < share * 101


def test_checksums_are_compared(say, alone, monkeypatch):
    monkeypatch.setenv("ATTENTION_BOOK_DATA", str(alone))
    missing = say("data multi30k-en-de --check")
    assert missing.code == ExitCode.DATA
    assert missing.out.count("missing") == 6
    content = b"right"
    file = CorpusFile("x", "", f"sha256:{hashlib.sha256(content).hexdigest()}", alone / "x")
    assert state_of(file) == "missing"
    file.path.write_bytes(b"wrong")
    assert state_of(file) == "damaged"
    file.path.write_bytes(content)
    assert state_of(file) == "whole"
    assert {each.path.parent for each in corpus_files("multi30k-en-fr")} == {alone / "multi30k"}


def test_what_cannot_be_fetched_is_told(say, alone):
    for line in ("data --fetch", "data grammar --check", "data pairs.tsv --fetch"):
        assert say(line).code == ExitCode.WRONG_LINE
    assert RunSettings().data.corpus in CORPORA


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


def test_what_came_is_not_cut_where_it_has_a_colon():
    told = in_chinese("config.json: x: expected a number above 0, got {'a': 1}")
    assert told == "config.json: x：应为大于 0 的数，得到的是 {'a': 1}"


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
