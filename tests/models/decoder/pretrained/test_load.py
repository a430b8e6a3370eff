"""Pretrained models against the library that wrote them: logits, cache, greedy continuations."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from attention_book.decoding import sample
from attention_book.inspection import capture_attention
from attention_book.models import DecoderLanguageModel, load_pretrained

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
Pair = tuple[Any, DecoderLanguageModel]


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


def from_the_cache(model: DecoderLanguageModel, tokens: Tensor) -> Tensor:
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
        [found] = seen[f"blocks.{layer}.attention"]
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


@torch.no_grad()
def test_the_tokenizer_gives_the_librarys_numbers_and_a_sample_is_text(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    words = ["<pad>", "<s>", "</s>", "<unk>", "the", "girl", "reads", "a", "book", "书"]
    known = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordLevel(known, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(["<pad>", "<s>", "</s>"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 1)]
    )
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
