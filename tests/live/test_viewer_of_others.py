"""What other libraries hand the viewer of heads: `generate`, padding, whole outputs, tokens.

The kind: attention whose axes mean something else from step to step (first a square, then single
queries; beams change places; a cache is longer than what was read), and tokens in whatever
form. The oracle is the model itself, when it reads the finished sentence alone and at once.
"""

import copy
import math
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from attention_book.live import HeadViewer
from attention_book.live.viewer.weights import packed

transformers = pytest.importorskip("transformers")

SIZES = {"vocab_size": 40, "attn_implementation": "eager", "pad_token_id": 0}
WRITING = {"output_attentions": True, "return_dict_in_generate": True, "max_new_tokens": 5}
BEAMS = {"num_beams": 4, "do_sample": True, "temperature": 3.0}


@pytest.fixture(scope="module")
def decoder() -> Any:
    return decoder_only("LlamaConfig")


def decoder_only(config: str, **options: Any) -> Any:
    torch.manual_seed(0)
    shape = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1, "eos_token_id": None}
    made = getattr(transformers, config)(**SIZES, **shape, **heads, **options)
    return spread(transformers.AutoModelForCausalLM.from_config(made, attn_implementation="eager"))


@pytest.fixture(scope="module")
def encoder_decoder() -> Any:
    torch.manual_seed(0)
    shape = {"d_model": 16, "max_position_embeddings": 64, "forced_eos_token_id": None}
    for side in ("encoder", "decoder"):
        shape |= {f"{side}_layers": 2, f"{side}_attention_heads": 2, f"{side}_ffn_dim": 32}
    return spread(
        transformers.BartForConditionalGeneration(transformers.BartConfig(**SIZES, **shape))
    )


def spread(model: Any) -> Any:
    """Attention that is far from even, so that another row is another one."""
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(4)
    return model.eval()


def ids(*shape: int) -> torch.Tensor:
    return torch.randint(4, 40, shape, generator=torch.Generator().manual_seed(3))


def words(count: int) -> list[str]:
    return [f"w{place}" for place in range(count)]


@torch.no_grad()
def at_once(model: Any, sequence: torch.Tensor) -> torch.Tensor:
    """The weights of a sentence that is read whole."""
    seen = model(sequence[None], output_attentions=True).attentions
    return torch.stack([layer[0] for layer in seen])


def same(viewer: HeadViewer, key: str, expected: torch.Tensor) -> None:
    torch.testing.assert_close(viewer.kinds[key].weights, expected, atol=2e-5, rtol=0)


# --- generate --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_new_tokens": 1},
        {"use_cache": False},
        {"cache_implementation": "static"},
        {"cache_implementation": "static", "max_new_tokens": 1},
        {"prompt_lookup_num_tokens": 2},  # several new tokens are read at once
        {"num_return_sequences": 3, "do_sample": True},
        {**BEAMS},
        {**BEAMS, "num_return_sequences": 2},
    ],
    ids=str,
)
def test_a_decoder_writes(decoder: Any, options: dict[str, Any]) -> None:
    torch.manual_seed(5)
    output = decoder.generate(ids(1, 5), **{**WRITING, **options})
    for place, sequence in enumerate(output.sequences):
        read = sequence[:-1]
        viewer = HeadViewer(output, tokens=words(len(sequence)), batch=place)
        same(viewer, "attention", at_once(decoder, read))
        assert viewer.kinds["attention"].keys == tuple(words(len(read))), "the last is never read"
        indices = output.get("beam_indices")
        given = {"attentions": output.attentions, "beam_indices": indices, "batch": place}
        same(HeadViewer(**given, tokens=words(len(read))), "attention", at_once(decoder, read))


@pytest.mark.parametrize("options", [{}, {**BEAMS}], ids=str)
@pytest.mark.parametrize("config", ["LlamaConfig", "MistralConfig"])
def test_padding_before_a_prompt_whose_cache_has_room(config: str, options: dict[str, Any]) -> None:
    """The kind: the row of padding is spread over all keys, those that are not there yet too."""
    model, prompts = decoder_only(config), ids(3, 5)
    real = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1], [0, 1, 1, 1, 1]])
    output = model.generate(
        prompts, attention_mask=real, cache_implementation="static", **{**WRITING, **options}
    )
    for place, sequence in enumerate(output.sequences):
        tokens = words(len(sequence))
        viewer = HeadViewer(output, tokens=tokens, attention_mask=real, batch=place)
        first = 5 - int(real[place].sum())
        same(viewer, "attention", at_once(model, sequence[first:-1]))
        assert viewer.kinds["attention"].keys == tuple(tokens[first:-1])


@pytest.mark.parametrize("cache", [None, "static"])
@pytest.mark.parametrize("config", ["MistralConfig", "Qwen3Config"])
@pytest.mark.parametrize("prompt", [2, 6])
def test_a_window_moves_on(config: str, cache: str | None, prompt: int) -> None:
    options = {"use_sliding_window": True} if config == "Qwen3Config" else {}
    layers = {"layer_types": ["sliding_attention", "full_attention"]} if options else {}
    model = decoder_only(config, sliding_window=4, **options, **layers)
    output = model.generate(ids(1, prompt), cache_implementation=cache, **WRITING)
    read = output.sequences[0, :-1]
    viewer = HeadViewer(output, tokens=words(len(read)))
    same(viewer, "attention", at_once(model, read))


@torch.no_grad()
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"num_return_sequences": 2, "do_sample": True},
        BEAMS,
        {**BEAMS, "num_return_sequences": 3},
    ],
    ids=str,
)
@pytest.mark.parametrize("batch", [1, 3])
def test_an_encoder_and_a_decoder_write(
    encoder_decoder: Any, options: dict[str, Any], batch: int
) -> None:
    source = ids(batch, 7)
    torch.manual_seed(2)
    output = encoder_decoder.generate(source, **{**WRITING, **options})
    each = len(output.sequences) // batch
    for place, sequence in enumerate(output.sequences):
        indices = output.get("beam_indices")  # -1 behind the end of what was written
        count = WRITING["max_new_tokens"] if indices is None else int((indices[place] >= 0).sum())
        target = sequence[:count][None]
        own = source[place // each][None]
        expected = encoder_decoder(own, decoder_input_ids=target, output_attentions=True)
        viewer = HeadViewer(output, source=words(7), target=words(len(sequence)), batch=place)
        for key in ("encoder", "decoder", "cross"):
            layers = torch.stack([layer[0] for layer in expected[f"{key}_attentions"]])
            same(viewer, key, layers)


def test_a_beam_that_ends_early(encoder_decoder: Any) -> None:
    torch.manual_seed(2)
    output = encoder_decoder.generate(ids(1, 7), **WRITING, **BEAMS)
    output.beam_indices[0, 3:] = -1
    viewer = HeadViewer(output, source=words(7), target=words(output.sequences.shape[1]))
    assert viewer.kinds["decoder"].weights.shape[2:] == (3, 3)
    assert viewer.kinds["cross"].queries == ("w0", "w1", "w2")


def test_rows_that_may_be_beams_are_not_guessed(encoder_decoder: Any, decoder: Any) -> None:
    torch.manual_seed(2)
    output = encoder_decoder.generate(ids(1, 7), **WRITING, **BEAMS)
    with pytest.raises(ValueError, match=r"got 4 rows in each step: .*beam_indices=output.beam_"):
        HeadViewer(decoder_attentions=output.decoder_attentions, target=words(5))
    indices = {"beam_indices": output.beam_indices}
    HeadViewer(decoder_attentions=output.decoder_attentions, **indices, target=words(5))
    given = {name: output[name] for name in ("encoder_attentions", "cross_attentions")}
    with pytest.raises(ValueError, match=r"got 4 rows in each step: .*the whole output"):
        HeadViewer(**given, source=words(7), target=words(5), batch=0)
    with pytest.raises(ValueError, match="batch below 1, got 1"):
        HeadViewer(output, source=words(7), target=words(5), batch=1)
    greedy = decoder.generate(ids(2, 5), **WRITING)
    with pytest.raises(ValueError, match=r"got 2 rows in each step: .*batch=0"):
        HeadViewer(attentions=greedy.attentions, tokens=words(9))
    same(
        HeadViewer(attentions=greedy.attentions, tokens=words(9), batch=1),
        "attention",
        at_once(decoder, greedy.sequences[1, :-1]),
    )
    left = ((torch.ones(3, 1, 1, 1),), (torch.full((2, 1, 1, 2), 0.5),))  # a sentence has ended
    with pytest.raises(ValueError, match="the same sentences in each step, got 3, 2 of them"):
        HeadViewer(attentions=left, tokens=words(2), batch=0)
    with pytest.raises(ValueError, match="expected beam_indices of these 5 steps of 1 rows"):
        HeadViewer(
            attentions=decoder.generate(ids(1, 5), **WRITING).attentions,
            beam_indices=[[0, 3, 0, 0, 0]],
            tokens=words(9),
        )


# --- other families --------------------------------------------------------------------------


@torch.no_grad()
def test_gpt_2_writes_on_from_padding_on_the_left() -> None:
    torch.manual_seed(0)
    shape = {"n_positions": 32, "n_embd": 16, "n_layer": 2, "n_head": 2}
    model = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(**SIZES, **shape, bos_token_id=2, eos_token_id=None)
    )
    model, batch = spread(model), ids(2, 6)
    batch[1, :2] = 0
    masks = {"attention_mask": (batch != 0).long()}
    for options in ({}, {**BEAMS, "num_return_sequences": 2}):
        output = model.generate(batch, **masks, **{**WRITING, **options})
        each = len(output.sequences) // 2
        for place, sequence in enumerate(output.sequences):
            before = 2 * (place // each)
            masked = {"attention_mask": masks["attention_mask"][place // each]}
            viewer = HeadViewer(output, tokens=words(11), batch=place, **masked)
            same(viewer, "attention", at_once(model, sequence[before:-1]))


def family(name: str) -> Any:
    """A small encoder with its decoder, whose source holds padding."""
    sizes = {"d_model": 16, "decoder_start_token_id": 0}
    if name == "T5":
        shape = {"d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2, "eos_token_id": None}
        config, kind = transformers.T5Config, transformers.T5ForConditionalGeneration
    else:
        shape = {"max_position_embeddings": 32, "eos_token_id": 1, "forced_eos_token_id": None}
        for side in ("encoder", "decoder"):
            shape |= {f"{side}_layers": 2, f"{side}_attention_heads": 2, f"{side}_ffn_dim": 32}
        config, kind = transformers.MarianConfig, transformers.MarianMTModel
    torch.manual_seed(0)
    return spread(kind(config(**SIZES, **sizes, **shape)))


@torch.no_grad()
@pytest.mark.parametrize("name", ["T5", "Marian"])
@pytest.mark.parametrize("options", [{}, {**BEAMS, "num_return_sequences": 2}], ids=str)
def test_other_families_translate(name: str, options: dict[str, Any]) -> None:
    model, source = family(name), ids(2, 7)
    source[1, 5:] = 0
    mask = (source != 0).long()
    torch.manual_seed(2)
    output = model.generate(source, attention_mask=mask, **{**WRITING, **options})
    each = len(output.sequences) // 2
    for place, sequence in enumerate(output.sequences):
        own, length = place // each, 7 - 2 * (place // each)
        viewer = HeadViewer(
            output, source=words(7), target=words(len(sequence)), batch=place,
            attention_mask=mask[own],
        )  # fmt: skip
        indices = output.get("beam_indices")  # -1 behind the end of what was written
        count = WRITING["max_new_tokens"] if indices is None else int((indices[place] >= 0).sum())
        expected = model(
            source[own, None, :length], decoder_input_ids=sequence[None, :count],
            output_attentions=True,
        )  # fmt: skip
        for key in ("encoder", "decoder", "cross"):
            same(viewer, key, torch.stack([layer[0] for layer in expected[f"{key}_attentions"]]))


# --- padding, outputs, implementations --------------------------------------------------------


@torch.no_grad()
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_is_left_out(decoder: Any, side: str) -> None:
    text, pads = ids(1, 4)[0], torch.zeros(3, dtype=torch.long)
    whole = torch.cat([pads, text] if side == "left" else [text, pads])
    mask = (whole != 0).long()
    positions = (mask.cumsum(0) - 1).clamp(min=0)
    batch, masks = torch.stack([ids(1, 7)[0], whole]), torch.stack([torch.ones(7).long(), mask])
    output = decoder(
        batch,
        attention_mask=masks,
        position_ids=torch.stack([torch.arange(7), positions]),
        output_attentions=True,
    )
    real = [word for word, is_real in zip(words(7), mask, strict=True) if is_real]
    for tokens in (words(7), real):
        for given in (masks, masks[1], mask.bool(), mask.tolist(), mask.numpy()):
            viewer = HeadViewer(output, tokens=tokens, batch=1, attention_mask=given)
            assert viewer.kinds["attention"].queries == tuple(real)
            same(viewer, "attention", at_once(decoder, text))


def test_padding_before_a_prompt_that_is_continued(decoder: Any) -> None:
    text = ids(1, 4)[0]
    batch = torch.stack([ids(1, 6)[0], torch.cat([torch.zeros(2, dtype=torch.long), text])])
    masks = (batch != 0).long()
    output = decoder.generate(batch, attention_mask=masks, **WRITING)
    viewer = HeadViewer(output, tokens=words(11), batch=1, attention_mask=masks)
    same(viewer, "attention", at_once(decoder, output.sequences[1, 2:-1]))
    assert viewer.kinds["attention"].keys == tuple(words(10)[2:])


def test_padding_of_source_and_target(encoder_decoder: Any) -> None:
    source = ids(1, 7)
    source[0, 5:] = 0
    masks = {"attention_mask": (source != 0).long()}
    output = encoder_decoder.generate(source, **masks, **WRITING)
    target = [1, 1, 1, 0, 0]
    viewer = HeadViewer(
        output, source=words(7), target=words(6), **masks, decoder_attention_mask=target
    )
    shapes = {key: kind.weights.shape[2:] for key, kind in viewer.kinds.items()}
    assert shapes == {"encoder": (5, 5), "decoder": (3, 3), "cross": (3, 5)}
    whole = HeadViewer(output, source=words(7), target=words(6)).kinds["cross"].weights
    same(viewer, "cross", whole[:, :, :3, :5])


@pytest.mark.parametrize("mask", [[0.5] * 5, [0] * 5, [[[1] * 5]], [1] * 6, [2] * 5])
def test_a_mask_of_something_else(mask: Any) -> None:
    with pytest.raises(ValueError, match="attention_mask: expected"):
        HeadViewer(torch.eye(5)[None, None], tokens=words(5), attention_mask=mask)


@torch.no_grad()
def test_the_output_of_a_forward_call(decoder: Any, encoder_decoder: Any) -> None:
    x = ids(1, 5)
    output = decoder(x, output_attentions=True)
    for given in (output, dict(output), SimpleNamespace(attentions=output.attentions)):
        same(HeadViewer(given, tokens=words(5)), "attention", at_once(decoder, x[0]))
    plain = decoder(x, output_attentions=True, return_dict=False)
    with pytest.raises(ValueError, match="return_dict=False; give its attentions alone"):
        HeadViewer(plain, tokens=words(5))
    output = encoder_decoder(ids(2, 7), decoder_input_ids=ids(2, 3), output_attentions=True)
    assert [*HeadViewer(output, source=words(7), target=words(3)).kinds] == [
        "encoder",
        "decoder",
        "cross",
    ]


@torch.no_grad()
def test_an_encoder_whose_output_has_room_for_more(decoder: Any) -> None:
    """BERT returns ``cross_attentions=()`` beside its attentions; and padding in a batch."""
    shape = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2}
    model = spread(
        transformers.BertModel(transformers.BertConfig(**SIZES, **shape, num_attention_heads=2))
    )
    batch = ids(2, 6)
    mask = torch.tensor([[1] * 6, [1] * 4 + [0] * 2])
    output = model(batch, attention_mask=mask, output_attentions=True)
    viewer = HeadViewer(output, tokens=words(6), batch=1, attention_mask=mask)
    assert [*viewer.kinds] == ["attention"]
    same(viewer, "attention", at_once(model, batch[1, :4]))
    with pytest.raises(ValueError, match="expected what a model returns, got the model"):
        HeadViewer(model, tokens=words(6))


@torch.no_grad()
def test_no_attention_is_explained(decoder: Any) -> None:
    other = transformers.LlamaForCausalLM(copy.deepcopy(decoder.config))
    other.set_attn_implementation("sdpa")
    x = ids(1, 5)
    for output in (
        other(x, output_attentions=True),
        decoder(x),
        other.generate(x, **WRITING),
        SimpleNamespace(attentions=((None, None), (None, None))),
        SimpleNamespace(attentions=None),
        SimpleNamespace(encoder_attentions=None, cross_attentions=()),
    ):
        with pytest.raises(ValueError, match='attn_implementation="eager"'):
            HeadViewer(output, tokens=words(5))
        if getattr(output, "attentions", None) is not None:
            with pytest.raises(ValueError, match='attn_implementation="eager"'):
                HeadViewer(attentions=output.attentions, tokens=words(5))
    some = (torch.eye(2)[None, None], None)
    with pytest.raises(ValueError, match=r"got None at \[1\]; leave those out"):
        HeadViewer(attentions=some, tokens=words(2))


@torch.no_grad()
def test_a_text_that_goes_on_from_a_cache(decoder: Any) -> None:
    text = ids(1, 9)
    cache = decoder(text[:, :4]).past_key_values
    output = decoder(text[:, 4:], past_key_values=cache, output_attentions=True)
    viewer = HeadViewer(output, tokens=words(9))
    same(viewer, "attention", at_once(decoder, text[0])[:, :, 4:])
    assert viewer.kinds["attention"].queries == tuple(words(9)[4:])
    cache = decoder(text[:, :4]).past_key_values
    more = decoder.generate(text, past_key_values=cache, **WRITING)
    viewer = HeadViewer(more, tokens=words(14))
    same(viewer, "attention", at_once(decoder, more.sequences[0, :-1])[:, :, 4:])
    assert viewer.kinds["attention"].queries == tuple(words(13)[4:])
    others = torch.full((1, 1, 2, 5), 0.2)  # two queries of something else
    with pytest.raises(ValueError, match="a token for each query, 2, got 5"):
        HeadViewer(others, tokens=words(5))


def test_a_helper_writes_ahead(decoder: Any) -> None:
    """What a helper guesses in the first call gets rows of the prompt by the library: refused."""
    output = decoder.generate(ids(1, 5), assistant_model=decoder, **WRITING)
    with pytest.raises(ValueError, match=r"got those of others at \[6.*model\(output.sequences"):
        HeadViewer(output, tokens=words(output.sequences.shape[1]))
    with torch.no_grad():
        advised = decoder(output.sequences, output_attentions=True)
    HeadViewer(advised, tokens=words(output.sequences.shape[1]))


def test_numbers_of_tokens_are_no_weights(decoder: Any) -> None:
    with pytest.raises(ValueError, match="return_dict_in_generate=True"):
        HeadViewer(decoder.generate(ids(1, 5), max_new_tokens=2), tokens=words(7))


def test_a_text_that_was_taken_back_is_refused() -> None:
    """Which rows count after a rejected guess, the calls alone do not tell."""
    calls = [torch.ones(1, 1, rows, keys) / keys for rows, keys in ((5, 5), (3, 8), (3, 9))]
    with pytest.raises(ValueError, match=r"got 3 calls with \[5, 3, 3\] queries and \[5, 8, 9\]"):
        HeadViewer(attentions=[(call,) for call in calls], tokens=words(9))


# --- tokens ----------------------------------------------------------------------------------

EYE = torch.eye(3)[None, None]


def tokenizer() -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    names = ["<s>", "the", "Ġthe", "å", "ľ¨", "Ġ", "ľ", "¨"]
    numbers = {name: number for number, name in enumerate(names)}
    made = Tokenizer(models.BPE(numbers, [("ľ", "¨")]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    return made


@pytest.mark.parametrize(
    "tokens",
    [
        ("a", "b", "c"),
        np.array(["a", "b", "c"]),
        np.array(["a", "b", "c"], dtype=object),
        [np.str_("a"), "b", "c"],
        {"a": 1, "b": 2, "c": 3},
        iter("abc"),
        [["a", "b", "c"]],
        SimpleNamespace(tokens=["a", "b", "c"]),
        {"input_ids": [["a", "b", "c"]]},
        [b"a", b"b", b"c"],
    ],
    ids=lambda given: type(given).__name__,
)
def test_tokens_in_any_sequence(tokens: Any) -> None:
    assert HeadViewer(EYE, tokens=tokens).kinds["attention"].keys == ("a", "b", "c")


@pytest.mark.parametrize(
    "numbers",
    [
        [2, 3, 4],
        (2, 3, 4),
        torch.tensor([2, 3, 4]),
        torch.tensor([[2, 3, 4]]),
        np.array([2, 3, 4]),
        [torch.tensor(2), torch.tensor(3), torch.tensor(4)],
        [np.int64(2), 3, 4],
    ],
    ids=str,
)
def test_numbers_need_their_tokenizer(numbers: Any) -> None:
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer())
    for each in (tokenizer(), fast):
        viewer = HeadViewer(EYE, tokens=numbers, tokenizer=each)
        assert viewer.kinds["attention"].keys == (" the", "在(1/2)", "在(2/2)")
    with pytest.raises(ValueError, match="tokens: expected strings, got 2; give tokenizer="):
        HeadViewer(EYE, tokens=numbers)


def test_what_tokenizers_return() -> None:
    made = tokenizer()
    found = made.encode("在在")
    weights = torch.eye(len(found.tokens))[None, None]
    assert HeadViewer(weights, tokens=found).kinds["attention"].keys[:2] == ("在(1/2)", "在(2/2)")
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=made)
    both = fast(["the", "在在"])
    viewer = HeadViewer(weights, tokens=both, batch=1)
    assert viewer.kinds["attention"].keys[:2] == ("在(1/2)", "在(2/2)")


def test_of_generate_the_tokenizer_is_enough(decoder: Any) -> None:
    torch.manual_seed(5)
    output = decoder.generate(ids(1, 5), **WRITING, **BEAMS)
    viewer = HeadViewer(output, tokenizer=tokenizer())
    names = viewer.kinds["attention"].keys
    assert len(names) == output.sequences.shape[1] - 1
    assert names[0] == f"<{output.sequences[0, 0]}>", "this tokenizer does not know it"


def test_blanks_bytes_and_halves_in_the_page(tmp_path: Any) -> None:
    tokens = ["the", "Ġcat", "Ġthe", "å", "ľ¨", "Ċ"]
    viewer = HeadViewer(torch.eye(6)[None, None], tokens=tokens)
    assert viewer.kinds["attention"].keys == ("the", " cat", " the", "在(1/2)", "在(2/2)", "\n")
    halved = HeadViewer(EYE, tokens=["a\ud800", "\udfff", "b"])
    page = halved.save(tmp_path / "heads.html", title="\ud800").read_text(encoding="utf8")
    assert "a\ufffd" in page
    kept = HeadViewer(EYE, tokens=["Ġanni", "u", "jien"], spelling="text")
    assert kept.kinds["attention"].keys[0] == "Ġanni"


@pytest.mark.parametrize("tokens", [5, [5], [None] * 3, [["a"], ["b"]], [True] * 3, [{}] * 3])
def test_what_is_no_tokens(tokens: Any) -> None:
    with pytest.raises(ValueError, match=r"tokens: expected|expected a token for each"):
        HeadViewer(EYE, tokens=tokens)


@pytest.mark.parametrize("tokens", [{"a", "b", "c"}, frozenset("abc")])
def test_tokens_have_an_order(tokens: Any) -> None:
    with pytest.raises(ValueError, match="tokens: expected a list of tokens, in their order, got"):
        HeadViewer(EYE, tokens=tokens)


@pytest.mark.usefixtures("unchecked")
def test_numbers_of_layers_heads_and_sentences_are_lists_and_whole() -> None:
    for name in ("layers", "heads"):
        with pytest.raises(ValueError, match=f"{name}: expected a list of numbers from 1 to"):
            HeadViewer(EYE, tokens=words(3), **{name: 1})
    with pytest.raises(ValueError, match=r"batch: expected a whole number, got 1\.0"):
        HeadViewer(EYE, tokens=words(3), batch=1.0)


# --- what is no weights ------------------------------------------------------------------------


def rows(*values: list[float]) -> torch.Tensor:
    return torch.tensor([[values]])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (
            rows([1.25, 0], [0.5, 0.5]),
            r"to 1.25; a model in train mode .*model.eval\(\).*query 1\)",
        ),
        (rows([0.6, 0.6], [0.5, 0.5]), r"first that of layer 1, head 1, query 1: 1.2; .*eval\(\)"),
        (rows([0.2, 0.2], [0.9, 0.9]), r"got 1 that do not, .* query 2: 1.8; .*softmax over the k"),
        (rows([1, 0.6], [0, 0.4]), r"its columns do: .*give weights.mT"),
        (rows([-3, 0], [1, 0]), r"from -3 to 1; scores become weights by softmax .*query 1\)"),
        (
            rows([1, 0], [math.nan] * 2),
            r"may see nothing becomes NaN .*attention_mask= .*query 2\)",
        ),
        (rows([1, 0], [math.inf, 0]), r"to inf; .*scores"),
    ],
)
def test_rows_that_are_no_weights_are_named(weights: torch.Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        HeadViewer(weights, tokens=["a", "b"])


def test_advice_for_wrong_rows_works() -> None:
    swapped = rows([1.0, 0.6], [0.0, 0.4])
    HeadViewer(swapped.mT, tokens=["a", "b"])
    hidden = rows([1.0, 0.0], [math.nan] * 2)
    HeadViewer(hidden, tokens=["a", "b"], attention_mask=[1, 0])
    HeadViewer(rows([0.5, 0.2], [0.0, 0.0]), tokens=["a", "b"])  # less than one, or nothing


@torch.no_grad()
def test_a_model_that_still_trains_is_told_so(encoder_decoder: Any) -> None:
    encoder_decoder.model.encoder.config.attention_dropout = 0.2
    layer = encoder_decoder.model.encoder.layers[0].self_attn
    before, layer.dropout = layer.dropout, 0.2
    encoder_decoder.train()
    try:
        output = encoder_decoder(ids(1, 7), output_attentions=True)
    finally:
        encoder_decoder.eval()
        layer.dropout = before
    with pytest.raises(ValueError, match=r"call model.eval\(\)"):
        HeadViewer(encoder_attentions=output.encoder_attentions, source=words(7))


# --- size ------------------------------------------------------------------------------------


def test_a_page_that_no_browser_opens_is_refused_before_it_is_made() -> None:
    many = torch.eye(512).expand(32, 32, 512, 512)  # takes no memory; as numbers it would be 1 GB
    with pytest.raises(ValueError, match=r"at most 64 MB, got one of up to 295 MB") as error:
        HeadViewer(many, tokens=words(512))
    assert re.search(r"attention: 32 layers × 32 heads × 512 × 512", str(error.value))
    assert "layers=[1, 2] or heads=[1, 2]" in str(error.value)
    viewer = HeadViewer(many, tokens=words(512), layers=[1, 2], heads=[1, 2])
    assert viewer.kinds["attention"].weights.shape == (2, 2, 512, 512)
    few = torch.eye(3).expand(2, 2, 3, 3)
    with pytest.raises(ValueError, match="limit: expected a page of at most 1e-05 MB"):
        HeadViewer(few, tokens=words(3), limit=1e-5)
    HeadViewer(few, tokens=words(3), limit=None)


def test_a_page_is_not_larger_than_it_was_said_to_be() -> None:
    weights = torch.randn(64, 64, generator=torch.Generator().manual_seed(1)).softmax(dim=-1)
    assert len(packed(weights)) < 1.1 * weights.numel()
    assert len(packed(torch.eye(64))) < 0.6 * weights.numel()


def test_some_layers_and_heads_keep_their_numbers() -> None:
    weights = torch.rand(5, 7, 3, 3).softmax(dim=-1)
    viewer = HeadViewer(weights, tokens=words(3), layers=[2, 5], heads=range(3, 6))
    kind = viewer.kinds["attention"]
    assert (kind.layers, kind.heads) == ((2, 5), (3, 4, 5))
    torch.testing.assert_close(kind.weights, weights[[1, 4]][:, 2:5])
    assert viewer.at(layer=5, head=4).state["layer"] == 5
    assert viewer.state["layer"] in (2, 5)
    with pytest.raises(ValueError, match="layer: expected one of 2, 5, got 3"):
        viewer.at(layer=3)
    with pytest.raises(
        ValueError, match="attention: layers: expected different numbers from 1 to 5"
    ):
        HeadViewer(weights, tokens=words(3), layers=[0])
    with pytest.raises(ValueError, match="heads: expected different numbers from 1 to 7, got 1, 1"):
        HeadViewer(weights, tokens=words(3), heads=[1, 1])


@pytest.mark.usefixtures("unchecked")
def test_a_direction_is_one_of_two() -> None:
    with pytest.raises(ValueError, match=r"direction: expected one of .*'rtl'.* got 'right'"):
        HeadViewer(EYE, tokens=words(3), direction="right")  # type: ignore[arg-type]
