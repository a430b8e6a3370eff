"""Pretrained models against the library that wrote them: logits, cache, greedy continuations."""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from attention_book.decoding import sample
from attention_book.inspection import capture_attention
from attention_book.models import (
    LanguageConfig,
    LanguageModel,
    Pretrained,
    PretrainedError,
    load_pretrained,
)

sys.path.append(str(Path(__file__).parent))
from oracle import (
    FAMILIES,
    VOCABULARY,
    from_folder,
    greedy,
    library_model,
    logits,
    saved,
    truly_double,
)

pytest.importorskip("safetensors", minversion="0.8")
transformers = pytest.importorskip("transformers", minversion="5.0")

LENGTHS = [1, 7, 64]
Pair = tuple[Any, LanguageModel]


@pytest.fixture(scope="module", params=FAMILIES)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """The library's model and ours, which read its files."""
    theirs = library_model(request.param)
    in_parts = request.param in ("llama", "gemma3")
    folder = saved(theirs, tmp_path_factory.mktemp("model"), in_parts=in_parts)
    assert (folder / "model.safetensors.index.json").exists() == in_parts
    return theirs, load_pretrained(folder).model


def texts(length: int, batch: int = 2) -> Tensor:
    generator = torch.Generator().manual_seed(length)
    return torch.randint(3, VOCABULARY, (batch, length), generator=generator)


def same(ours: Tensor, theirs: Tensor, tolerance: float = 1e-5) -> None:
    """Compare, relative to the largest logit."""
    assert (ours - theirs).abs().max() <= tolerance * theirs.abs().max()


def from_the_cache(model: LanguageModel, tokens: Tensor) -> Tensor:
    """All but the last three tokens at once, then one by one; every step is held elsewhere."""
    begun = max(1, tokens.shape[1] - 3)
    first, state = model.read(tokens[:, :begun], model.start(len(tokens)))
    found = [first]
    for token in tokens[:, begun:].T:
        logits, state = model.step(token, state)
        found.append(logits[:, None])
    return torch.cat(found, dim=1)


@torch.no_grad()
@pytest.mark.parametrize("length", LENGTHS)
def test_logits_at_once_and_from_the_cache(pair: Pair, length: int) -> None:
    theirs, ours = pair
    tokens = texts(length)
    expected = logits(theirs, tokens)
    assert expected.abs().max() > 3  # weights that an error would show in
    same(ours(tokens), expected)
    same(from_the_cache(ours, tokens), expected)


@torch.no_grad()
def test_batches_that_are_padded_on_the_left(pair: Pair) -> None:
    theirs, ours = pair
    tokens, padding = texts(20, batch=3), torch.tensor([[0], [7], [13]])
    real = torch.arange(20) >= padding
    tokens = tokens.where(real, 0)
    expected, found = logits(theirs, tokens, real), ours(tokens, real)
    same(found[real], expected[real], 2e-5)  # the library's own two ways differ by 9e-6
    for row, start in enumerate(padding[:, 0].tolist()):
        same(found[row : row + 1, start:], logits(theirs, tokens[row : row + 1, start:]))


@torch.no_grad()
def test_greedy_continuations(pair: Pair) -> None:
    theirs, ours = pair
    tokens = texts(7)
    expected = greedy(theirs, tokens, 16)
    found, state = ours.read(tokens, ours.start(2))
    written, logits = [], found[:, -1]
    for _ in range(16):
        token = logits.argmax(dim=-1)
        written.append(token)
        logits, state = ours.step(token, state)
    assert torch.equal(torch.stack(written, dim=1), expected)


@torch.no_grad()
def test_attention_weights(pair: Pair) -> None:
    theirs, ours = pair
    tokens = texts(12)
    expected = theirs(tokens, output_attentions=True).attentions
    with capture_attention(ours) as seen:
        ours(tokens)
    for layer, weights in enumerate(expected):
        [found] = seen[f"stack.layers.{layer}.self_attention"]
        torch.testing.assert_close(found, weights, rtol=0, atol=1e-5)
    assert max(weights.std().item() for weights in expected) > 0.1  # far from uniform


@pytest.mark.parametrize("name", FAMILIES)
def test_in_double_precision(name: str, tmp_path: Path) -> None:
    theirs = library_model(name)
    ours = load_pretrained(saved(theirs, tmp_path)).model.double()
    with truly_double(theirs) as exact, torch.no_grad():
        for length in LENGTHS:
            tokens = texts(length)
            expected = logits(exact, tokens)
            assert expected.dtype == torch.float64
            same(ours(tokens), expected, 1e-10)
            same(from_the_cache(ours, tokens), expected, 1e-10)


OLD = {
    "llama": {
        "model_type": "llama",
        "torch_dtype": "float32",
        "vocab_size": VOCABULARY,
        "hidden_size": 48,
        "intermediate_size": 40,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "num_hidden_layers": 3,
        "max_position_embeddings": 256,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-5,
        "rope_theta": 500000.0,
        "rope_scaling": {
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 32,
            "rope_type": "llama3",
        },
        "tie_word_embeddings": False,
        "bos_token_id": 1,
        "eos_token_id": [2, 3],
    },
    "gemma3": {
        "model_type": "gemma3_text",
        "torch_dtype": "float32",
        "vocab_size": VOCABULARY,
        "hidden_size": 48,
        "intermediate_size": 40,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "num_hidden_layers": 4,
        "max_position_embeddings": 256,
        "hidden_activation": "gelu_pytorch_tanh",
        "query_pre_attn_scalar": 21,
        "sliding_window": 5,
        "sliding_window_pattern": 4,
        "rope_theta": 1000000.0,
        "rope_local_base_freq": 10000.0,
        "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
    },
    "mistral": {
        "model_type": "mistral",
        "vocab_size": VOCABULARY,
        "hidden_size": 48,
        "intermediate_size": 40,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "num_hidden_layers": 3,
        "max_position_embeddings": 256,
        "sliding_window": 5,
        "rope_theta": 30.0,
        "rope_scaling": {"type": "linear", "factor": 3.0},
    },
}


@torch.no_grad()
@pytest.mark.parametrize("name", OLD)
def test_configurations_in_the_old_spelling(name: str, tmp_path: Path) -> None:
    folder = saved(library_model(name), tmp_path)
    (folder / "config.json").write_text(json.dumps(OLD[name]))
    theirs = from_folder(folder, library_model(name))  # the library's own reading of the old one
    ours = load_pretrained(folder).model
    tokens = texts(64)
    expected = logits(theirs, tokens)
    same(ours(tokens), expected)
    if name != "mistral":  # the same model as in the new spelling, but for Llama's eps
        new = load_pretrained(saved(library_model(name), tmp_path / "new")).model.config
        assert ours.config.rotary == new.rotary
        assert ours.config.windows == new.windows
        assert ours.config.windowed_rotary == new.windowed_rotary


@torch.no_grad()
def test_the_part_for_text_of_a_model_that_sees_pictures(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    theirs = library_model("gemma3")
    folder = saved(theirs, tmp_path)
    stored = json.loads((folder / "config.json").read_text())
    tensors = load_file(folder / "model.safetensors")
    for prefix in ("language_model.", "model.language_model."):
        named = {
            name.replace("model.", prefix + "model." if prefix[0] == "l" else prefix, 1): value
            for name, value in tensors.items()
        }
        pictures = {"vision_tower.x": torch.ones(3), "multi_modal_projector.y": torch.ones(2)}
        save_file({**named, **pictures}, folder / "model.safetensors")
        whole = {"model_type": "gemma3", "text_config": stored, "vision_config": {}}
        (folder / "config.json").write_text(json.dumps(whole))
        tokens = texts(20)
        same(load_pretrained(folder).model(tokens), logits(theirs, tokens))


@torch.no_grad()
def test_half_precision_stays_as_it_is_in_the_file(tmp_path: Path) -> None:
    theirs = library_model("gemma3").bfloat16()
    ours = load_pretrained(saved(theirs, tmp_path)).model
    assert {weight.dtype for weight in ours.parameters()} == {torch.bfloat16}
    tokens = texts(20)
    exact = logits(library_model("gemma3"), tokens)
    mistake = (logits(theirs, tokens).float() - exact).abs().mean()
    assert (ours(tokens).float() - exact).abs().mean() < 1.5 * mistake


def test_tokens_are_shown_as_people_read_them(tmp_path: Path) -> None:
    """The kind: byte-level letters, å ľ ¨ for 在, reach a reader; a blank that tells is lost."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    names = ["<s>", "the", "Ġthe", "å", "ľ", "¨", "ľ¨", "Ġ", "Ċ"]
    known = {name: number for number, name in enumerate(names)}
    tokenizer = Tokenizer(models.BPE(known, [("ľ", "¨")]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<s>"])
    tokenizer.add_tokens(["Ġanni"])
    model = LanguageModel(LanguageConfig.today(vocabulary=20))
    found = Pretrained(model, "llama", tmp_path, tokenizer=tokenizer)
    assert found.tokens([0, 1, 2, 3, 6]) == ["<s>", "the", " the", "在(1/2)", "在(2/2)"]
    assert found.tokens([3, 7, 8, 9, 19]) == ["<E5>", " ", "\n", "Ġanni", "<19>"]
    assert found.tokens([]) == []


@torch.no_grad()
@pytest.mark.parametrize("name", ["llama", "gemma3"])  # not tied where it is not said, and tied
@pytest.mark.parametrize("said", [True, False, None])
@pytest.mark.parametrize("held", ["two", "one twice", "the embedding", "the output layer"])
def test_tied_or_not_as_the_library_reads_it(
    name: str, said: bool | None, held: str, tmp_path: Path
) -> None:
    """The kind: whether two matrices are one is said in the settings and shown by the files.

    Where the two disagree, what the files hold decides.
    """
    from safetensors.torch import save_file

    theirs = library_model(name)
    theirs.config.tie_word_embeddings = False
    folder = saved(theirs, tmp_path)
    config = json.loads((folder / "config.json").read_text())
    del config["tie_word_embeddings"]
    stated = {} if said is None else {"tie_word_embeddings": said}
    (folder / "config.json").write_text(json.dumps({**config, **stated}))
    tensors = {key: value.clone() for key, value in theirs.state_dict().items()}
    embedding, head = "model.embed_tokens.weight", "lm_head.weight"
    if held == "two":
        tensors[head] = tensors[embedding].flip(0).clone()
    elif held == "one twice":
        tensors[head] = tensors[embedding].clone()
    else:
        del tensors[head if held == "the embedding" else embedding]
    for path in folder.glob("*.safetensors*"):
        path.unlink()
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    tied = name == "gemma3" if said is None else said
    if held.startswith("the ") and not tied:  # the library draws numbers for what is missing
        with pytest.raises(PretrainedError, match=r"expected the shape .* got none"):
            load_pretrained(folder)
        return
    tokens = texts(9)
    ours = load_pretrained(folder).model
    same(ours(tokens), logits(from_folder(folder, theirs), tokens))
    assert ours.config.tied == (tied and held != "two")


@torch.no_grad()
def test_whole_and_part_of_a_model_that_sees_pictures(tmp_path: Path) -> None:
    """What the whole says of tokens counts for its part; where both say it, the part's."""
    folder = saved(library_model("gemma3"), tmp_path)
    stored = json.loads((folder / "config.json").read_text())
    for name in ("eos_token_id", "bos_token_id", "model_type", "dtype"):
        stored.pop(name, None)
    whole = {"model_type": "gemma3", "text_config": stored, "eos_token_id": [1, 90]}
    (folder / "config.json").write_text(json.dumps(whole))
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": 91}))
    found = load_pretrained(folder)
    assert (found.family, found.ends) == ("gemma3", (1, 90, 91))
    stored["eos_token_id"] = 5
    (folder / "config.json").write_text(json.dumps(whole))
    assert load_pretrained(folder).ends == (5, 91)


@torch.no_grad()
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_norms_in_single_among_half_as_the_library_reads_them(dtype: str, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    theirs = library_model("qwen3").to(getattr(torch, dtype))
    folder = saved(theirs, tmp_path)
    path = folder / "model.safetensors"
    tensors = {
        name: value.float() + 1e-4 if "norm" in name else value.bfloat16()
        for name, value in load_file(path).items()
    }
    save_file(tensors, path, metadata={"format": "pt"})
    read, ours = from_folder(folder, theirs), load_pretrained(folder).model
    assert {weight.dtype for weight in ours.parameters()} == {read.dtype}
    assert torch.equal(ours.stack.norm.weight, read.model.norm.weight)
    assert torch.equal(
        ours.stack.layers[0].self_attention.W_q.weight, read.model.layers[0].self_attn.q_proj.weight
    )


@torch.no_grad()
def test_a_sample_ends_where_the_library_ends(tmp_path: Path) -> None:
    """The second token that ends a text is named beside `config.json`, as real folders do."""
    theirs = library_model("llama")
    folder = saved(theirs, tmp_path)
    prompt = texts(7, batch=1)
    whole = greedy(theirs, prompt, 12)[0].tolist()
    for end in [*{*whole} - {0, 1, int(prompt[0, -1])}][:3]:
        generation = {"bos_token_id": 1, "eos_token_id": [2, end], "pad_token_id": 0}
        (folder / "generation_config.json").write_text(json.dumps(generation))
        expected = from_folder(folder, theirs).generate(prompt, max_new_tokens=12, do_sample=False)
        [written] = sample(load_pretrained(folder).model, prompt, max_tokens=12, top_k=1)
        assert [*written.ids, end] == expected[0, 7:].tolist()
        assert written.finished


@torch.no_grad()
def test_a_model_with_more_tokens_than_it_was_made_with(tmp_path: Path) -> None:
    theirs = library_model("qwen3")
    theirs.resize_token_embeddings(VOCABULARY + 30)
    ours = load_pretrained(saved(theirs, tmp_path)).model
    assert ours.config.vocabulary == VOCABULARY + 30
    tokens = texts(9) + 28
    same(ours(tokens), logits(theirs, tokens))


@torch.no_grad()
def test_the_layers_alone_where_the_output_layer_is_the_embedding(tmp_path: Path) -> None:
    theirs = library_model("qwen3")
    folder = saved(theirs.model, tmp_path)
    tokens = texts(9)
    same(load_pretrained(folder).model(tokens), logits(theirs, tokens))


def word_tokenizer() -> Any:
    """A tokenizer of ten words that puts `<s>` before a text."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    words = ["<pad>", "<s>", "</s>", "<unk>", "the", "girl", "reads", "a", "book", "书"]
    known = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordLevel(known, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(["<pad>", "<s>", "</s>"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 1)]
    )
    return tokenizer


# What belongs to a call, and a file remembers: each of these changes what `encode` of the library
# tokenizers returns, and none what a model should read.
REMEMBERED: dict[str, Callable[[Any], object]] = {
    "cut": lambda each: each.enable_truncation(3),
    "cut on the left": lambda each: each.enable_truncation(3, direction="left"),
    "cut with overlaps": lambda each: each.enable_truncation(4, stride=2),
    "cut, the longest first": lambda each: each.enable_truncation(3, strategy="only_first"),
    "filled up": lambda each: each.enable_padding(length=16),
    "filled up on the left": lambda each: each.enable_padding(length=16, direction="left"),
    "filled up to a multiple": lambda each: each.enable_padding(pad_to_multiple_of=5),
    "both": lambda each: (each.enable_truncation(3), each.enable_padding(length=16)),
}


@pytest.mark.parametrize("name", REMEMBERED)
def test_what_a_call_set_and_a_file_remembers_does_not_count(name: str, tmp_path: Path) -> None:
    text = "the girl reads a book the girl"
    expected = [[1, 4, 5, 6, 7, 8, 4, 5]]
    tokenizer = word_tokenizer()
    REMEMBERED[name](tokenizer)
    assert [tokenizer.encode(text).ids] != expected
    folder = saved(library_model("qwen3"), tmp_path)
    tokenizer.save(str(folder / "tokenizer.json"))
    found = load_pretrained(folder)
    assert found.encode(text).tolist() == expected
    assert (found.tokenizer.truncation, found.tokenizer.padding) == (None, None)
    before = tokenizer.to_str()
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer)
    for theirs in (tokenizer, fast):  # handed over: read as it is, and left as it was
        given = replace(found, tokenizer=theirs)
        assert given.encode(text).tolist() == expected
        assert given.encode("the girl", add_special_tokens=False).tolist() == [[4, 5]]
    assert tokenizer.to_str() == before


def test_special_tokens_twice_are_told_and_can_be_left_out(tmp_path: Path) -> None:
    """The kind: a text that was made with a template has what the tokenizer would add."""
    folder = saved(library_model("qwen3"), tmp_path)
    word_tokenizer().save(str(folder / "tokenizer.json"))
    found = load_pretrained(folder)
    with pytest.warns(UserWarning, match="has <s> already and got it once more; encode.text, add_"):
        assert found.encode("<s> the girl").tolist() == [[1, 1, 4, 5]]  # as the library does
    assert found.encode("<s> the girl", add_special_tokens=False).tolist() == [[1, 4, 5]]
    assert found.encode("the <s> girl").tolist() == [[1, 4, 1, 5]]  # the tests fail on a warning
    assert found.encode("</s> the").tolist() == [[1, 2, 4]]
    assert found.encode("").tolist() == [[1]]
    assert found.encode("", add_special_tokens=False).shape == (1, 0)


def test_special_tokens_behind_a_text_are_told_too(tmp_path: Path) -> None:
    from tokenizers import processors

    folder, tokenizer = saved(library_model("qwen3"), tmp_path), word_tokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A <pad> </s>", special_tokens=[("<s>", 1), ("<pad>", 0), ("</s>", 2)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    found = load_pretrained(folder)
    with pytest.warns(UserWarning, match="has <pad> </s> already and got it once more"):
        assert found.encode("the <pad> </s>").tolist() == [[1, 4, 0, 2, 0, 2]]
    for text in ("the </s>", "<pad> </s> the", "", "</s> <pad>"):
        found.encode(text)  # the tests fail on a warning


def test_numbers_in_any_shape_are_one_text_or_refused(tmp_path: Path, unchecked: None) -> None:
    folder = saved(library_model("qwen3"), tmp_path)
    word_tokenizer().save(str(folder / "tokenizer.json"))
    found = load_pretrained(folder)
    ids = [1, 4, 8, 2]
    row = torch.tensor(ids)
    for same_ids in (ids, tuple(ids), row, row[None], row[None, None], row.int(), row.numpy(),
                     [ids], [*row], range(1, 1), iter(ids), row.to(torch.uint8)):  # fmt: skip
        if not isinstance(same_ids, range):
            assert found.decode(same_ids) == "the book"
    assert found.decode([]) == found.decode(row[:0]) == found.decode(row[None, :0]) == ""
    assert found.decode(4) == found.decode(row[1]) == "the"
    assert found.tokens(row[None]) == ["<s>", "the", "book", "</s>"]
    for wrong, message in (
        ([ids, ids], r"expected those of one text, got the shape \(2, 4\); take the rows"),
        (row.repeat(3, 1), r"expected those of one text, got the shape \(3, 4\)"),
        ([1.0, 2.0], "expected numbers of tokens, got torch.float32"),
        (row > 1, "expected numbers of tokens, got a mask"),
        ([-1, 4], "expected numbers from 0 on, got -1"),
        ("the book", "expected numbers of tokens, got 'the book'"),
        ([[1, 2], [3]], "expected numbers of tokens, got"),
        (None, "expected numbers of tokens, got None"),
    ):
        with pytest.raises(PretrainedError, match=message):
            found.decode(wrong)
    for wrong, message in (
        (["the", "book"], "text: expected one text, got list; encode several one by one"),
        (None, "text: expected one text, got NoneType"),
        (b"the", "text: expected one text, got bytes"),
        (row, "text: expected one text, got Tensor"),
        ("\ud83d", "text: expected characters that UTF-8 can write"),
    ):
        with pytest.raises(PretrainedError, match=message):
            found.encode(wrong)
    with pytest.raises(
        PretrainedError, match="expected a Tokenizer of the library tokenizers, got"
    ):
        replace(found, tokenizer="a tokenizer").encode("the")


def test_a_tokenizer_of_another_model_is_refused(tmp_path: Path) -> None:
    folder = saved(library_model("qwen3"), tmp_path)
    tokenizer = word_tokenizer()
    tokenizer.add_tokens([f"w{number}" for number in range(200)])
    tokenizer.save(str(folder / "tokenizer.json"))
    found = load_pretrained(folder)
    assert found.encode("the w0").tolist() == [[1, 4, 10]]
    with pytest.raises(PretrainedError, match="expected a tokenizer of 97 tokens, as many as the"):
        found.encode("the w150")


#: Where a token may be named that ``tokenizer.json`` does not hold.
_TOKEN = {"content": "<extra>", "special": True}
NAMED_BESIDE: dict[str, tuple[str, dict[str, object]]] = {
    "added_tokens.json": ("added_tokens.json", {"<extra>": 9}),
    "added tokens, by number": ("tokenizer_config.json", {"added_tokens_decoder": {"9": _TOKEN}}),
    "additional": ("tokenizer_config.json", {"additional_special_tokens": ["<extra>"]}),
    "extra": ("tokenizer_config.json", {"extra_special_tokens": ["<extra>"]}),
    "extra, by name": ("tokenizer_config.json", {"extra_special_tokens": {"x_token": "<extra>"}}),
    "the pad": ("tokenizer_config.json", {"pad_token": "<extra>"}),
    "the end": ("tokenizer_config.json", {"eos_token": {"__type": "AddedToken", **_TOKEN}}),
    "in the map": ("special_tokens_map.json", {"additional_special_tokens": ["<extra>"]}),
    "the pad, in the map": ("special_tokens_map.json", {"pad_token": _TOKEN}),
}


@pytest.mark.parametrize("name", NAMED_BESIDE)
def test_a_token_that_another_file_names_is_not_cut_up(name: str, tmp_path: Path) -> None:
    """The kind: the library adds such a token, and a text with it was read as other tokens."""
    file, said = NAMED_BESIDE[name]
    folder = saved(library_model("llama"), tmp_path)
    word_tokenizer().save(str(folder / "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    old = json.loads((folder / file).read_text()) if (folder / file).exists() else {}
    (folder / file).write_text(json.dumps({**old, **said}))
    theirs, ours = transformers.AutoTokenizer.from_pretrained(folder), load_pretrained(folder)
    plain, text = "the girl", "the<extra>girl"
    assert ours.encode(plain)[0].tolist() == theirs(plain)["input_ids"]
    assert "<extra>" in theirs.tokenize(text)
    with pytest.raises(PretrainedError, match=r"expected '<extra>' in tokenizer.json, got it in"):
        ours.encode(text)
    same_numbers = replace(ours, tokenizer=theirs).encode(text)[0].tolist()
    assert same_numbers == theirs(text)["input_ids"]
    theirs.save_pretrained(folder)  # the cure
    assert load_pretrained(folder).encode(text)[0].tolist() == same_numbers


@pytest.mark.parametrize("written", ["</s>", {"content": "</s>", "lstrip": False}, None, "<none>"])
def test_the_end_that_the_tokenizer_knows(tmp_path: Path, written: object) -> None:
    folder = saved(library_model("qwen3"), tmp_path)
    stored = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**stored, "eos_token_id": 5}))
    (folder / "generation_config.json").unlink()
    word_tokenizer().save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": written}))
    known = written not in (None, "<none>")
    assert load_pretrained(folder).ends == ((5, 2) if known else (5,))


@torch.no_grad()
def test_the_tokenizer_gives_the_librarys_numbers_and_a_sample_is_text(tmp_path: Path) -> None:
    tokenizer = word_tokenizer()
    folder = saved(library_model("qwen3"), tmp_path)
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer)
    fast.save_pretrained(folder)
    found = load_pretrained(folder)
    prompt = found.encode("the girl reads 书")
    assert prompt.tolist() == [fast("the girl reads 书")["input_ids"]] == [[1, 4, 5, 6, 9]]
    assert found.tokens(prompt[0].tolist()) == ["<s>", "the", "girl", "reads", "书"]
    assert found.decode([1, 4, 8, 2]) == "the book"
    assert found.ends == (2,)
    [written] = sample(found.model, prompt, max_tokens=5, top_k=1)
    assert len(written.ids) <= 5
