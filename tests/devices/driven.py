"""Every public function and class, on a device that is none: what fails there, and what waits.

Run as a script in a process of its own it writes one JSON: for each driver its error, or None, and
where it waited. ``python driven.py FILE [part of a name]``
"""

import json
import sys
import tempfile
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import torch
from torch import Tensor, nn

import attention_book
import attention_book.attention as A
import attention_book.decoding as D
import attention_book.inspection as I
import attention_book.metrics as E
import attention_book.models as M
import attention_book.text as X
import attention_book.training as T
from attention_book.text.corpora import phrasebook

Driver = Callable[[], Any]
DRIVERS: dict[str, Driver] = {}
WHERE = "pretended"
SMALL: dict[str, Any] = {"d_model": 16, "num_heads": 2, "d_ff": 16, "num_layers": 2}
POSITIONS = ("sinusoidal", "learned", "relative", "buckets", "rotary", "alibi", "none")


def drive(driver: Driver) -> Driver:
    """Add a driver under its function's name."""
    DRIVERS[driver.__name__] = driver
    return driver


def there(make: Callable[[], Any]) -> Any:
    """Make something with the device as the default."""
    with torch.device(WHERE):
        return make()


def floats(*shape: int, grad: bool = True) -> Tensor:
    return torch.rand(*shape, device=WHERE).requires_grad_(grad)


def longs(rows: Any) -> Tensor:
    return torch.tensor(rows, device=WHERE)


def back(output: Tensor) -> None:
    output.float().sum().backward()


def some(lengths: Any = (2, 3), size: int = 5) -> Tensor:
    return A.mask_from_lengths(longs(lengths), size)


# --- attention -----------------------------------------------------------------------------------


@drive
def masks() -> None:
    A.causal_mask(3, 5, offset=2, device=WHERE)
    A.window_mask(4, 5, radius=1, device=WHERE)
    A.leave_one_out_mask(3, device=WHERE)
    mask = some((2, 3), 4)
    A.mask_from_query_lengths(longs([[1, 2]]), 4)
    A.mask_from_key_padding(mask[:, 0])
    A.mask_from_attention_mask(mask.long()[:, 0])
    A.mask_from_ignore(~mask)
    A.mask_from_additive(A.additive_from_mask(mask))
    A.ignore_from_mask(mask)
    A.check_mask(mask, 1, 4, batch=(2,), device=mask.device)
    A.block_mask(8, block_size=2, device=WHERE)
    A.dilated_mask(8, radius=2, dilation=2, device=WHERE)
    A.global_mask(8, positions=[0, 3], device=WHERE)
    A.strided_mask(8, stride=3, device=WHERE)
    A.random_mask(8, num_keys=3, generator=torch.Generator().manual_seed(0), device=WHERE)
    A.density(A.causal_mask(4, device=WHERE), among=A.causal_mask(4, device=WHERE))
    A.reach(A.window_mask(6, radius=1, device=WHERE), 2)


@drive
def scores() -> None:
    sizes = {"d_q": 4, "d_k": 4}
    kinds = [
        *(A.DotScore, A.ScaledDotScore, A.GaussianScore, A.CosineScore),
        *(lambda: A.BilinearScore(**sizes), lambda: A.ConcatLinearScore(**sizes)),
        *(
            lambda: A.AdditiveScore(**sizes, d_hidden=3),
            lambda: A.ConcatTanhSumScore(**sizes, d_hidden=3),
        ),
    ]
    for kind in kinds:
        score = there(kind)
        attention = A.Attention(score, dropout=0.1)
        back(attention(floats(2, 3, 4), floats(2, 5, 4), floats(2, 5, 6), some((0, 3))))
        if isinstance(score, A.KeyProjectingScore):
            keys = floats(2, 5, 4)
            A.OverProjectedKeys(score)(floats(2, 1, 4), score.project_keys(keys))


@drive
def dot_products() -> None:
    q, k, v = floats(2, 3, 4), floats(2, 5, 4), floats(2, 5, 6)
    for mask, bias in product((None, some(), A.causal_mask(3, 5, offset=2, device=WHERE)), (0, 1)):
        added = floats(2, 3, 5) if bias else None
        back(A.dot_product_attention(q, k, v, mask, bias=added, dropout=0.1))
        A.dot_product_weights(q, k, mask, bias=added)
    back(A.dot_product_attention(q, q, q, is_causal=True))
    A.DotProductAttention(dropout=0.1)(q, k, v)
    A.attend(q, k, v, A.Visibility(mask=some()), A.Places(3, 5))
    A.attention_weights(q, k, A.Visibility(causal=True), A.Places(3, 5))
    back(A.masked_softmax(floats(2, 3, 4), some((0, 3), 4)))
    A.merge_heads(A.split_heads(q, 2))


@drive
def hard() -> None:
    q, k, v = floats(2, 3, 4), floats(2, 5, 4), floats(2, 5, 6)
    for choice in ("argmax", "sample"):
        attention = A.HardAttention(A.DotScore(), choice=choice, straight_through=True)
        back(attention(q, k, v, some((0, 3))))
    drawn: A.Sample = A.HardAttention(A.DotScore()).sample(q, k, v)
    back(A.reinforce_surrogate(drawn.log_prob, drawn.output.sum(-1), baseline=0.5))
    A.RunningMean().update(floats(3, grad=False))


@drive
def local() -> None:
    q, v = floats(2, 5, 4), floats(2, 5, 6)
    back(A.LocalAttention(A.DotScore(), radius=1, causal=True)(q, q, v, some()))
    predictive = there(
        lambda: A.PredictiveLocalAttention(A.DotScore(), d_q=4, d_hidden=3, radius=2)
    )
    back(predictive(q, q, v, some()))
    by_place = there(lambda: A.LocationAttention(d_q=2, d_k=3, num_keys=5, d_v=4, d_out=6))
    back(by_place(floats(1, 2), floats(1, 3), floats(5, 4)))


@drive
def kernels() -> None:
    q, k, v = floats(4), floats(5), floats(5)
    for name in A.KERNELS:
        A.kernel_weights(q, k, kernel=name, bandwidth=0.7)
        A.nadaraya_watson(q, k, v, kernel=name)
    A.nadaraya_watson(q, k, v, bandwidth=longs(0.7))
    A.average_pooling(q, k, v)
    A.KernelRegression(bandwidth=0.5)(q, k, v)
    A.leave_one_out_error(k, v)
    for parameter in ("inverse_width", "log_bandwidth"):
        back(there(lambda p=parameter: A.LearnableKernelRegression(parameter=p))(q, k, v))


SCHEMES: dict[str, Callable[[], A.Positions]] = {
    "none": A.NoPositions,
    "rotary": lambda: A.RotaryPositions(d_k=4),
    "rotary halves": lambda: A.RotaryPositions(d_k=4, pairing="halves"),
    "alibi": lambda: A.AlibiPositions(num_heads=2),
    "relative": lambda: A.RelativePositions(d_k=4, max_distance=3),
    "buckets": lambda: A.T5Buckets(num_heads=2, bidirectional=False),
}
HEADS: dict[str, dict[str, Any]] = {
    "plain": {},
    "grouped": {"num_kv_heads": 1},
    "window": {"window": 3, "num_first": 1},
    "sinks": {"sinks": True},
}


def _heads(scheme: Callable[[], A.Positions], settings: dict[str, Any]) -> None:
    attention = there(
        lambda: A.MultiHeadAttention(
            d_model=8, num_heads=2, dropout=0.1, positions=scheme(), **settings
        )
    )
    x = floats(2, 5, 8)
    back(attention(x, x, x, some()))
    back(attention(x, x, is_causal=True))
    attention.combine(attention.weights(x, x), x)
    attention.eval()
    with torch.no_grad():
        cache: A.KVCache = attention.new_cache()
        for piece in x.split([3, 1, 1], dim=1):
            attention(piece, cache=cache)
        cache.select(longs([1, 0, 0]))
        cache.back_to(cache.position - 1)


for (_scheme, _made), (_kind, _settings) in product(SCHEMES.items(), HEADS.items()):
    DRIVERS[f"heads {_scheme} {_kind}"] = lambda a=_made, b=_settings: _heads(a, b)


@drive
def schemes() -> None:
    x = floats(2, 5, 8)
    back(there(lambda: A.SinusoidalPositions(d_model=8))(x, offset=3))
    back(there(lambda: A.LearnedPositions(d_model=8, max_positions=9))(x, offset=3))
    there(lambda: A.sinusoids(4, 6))
    there(lambda: A.alibi_slopes(6))
    A.relative_bucket(torch.arange(-5, 5, device=WHERE))
    there(lambda: A.rotary_frequencies(8))
    scalings: list[A.RopeScaling] = [
        A.RopeScaling(),
        A.LinearScaling(factor=2.0),
        A.NtkScaling(factor=2.0),
        A.DynamicNtkScaling(factor=2.0, trained_length=3),
        A.YarnScaling(factor=2.0, trained_length=32),
        A.Llama3Scaling(factor=2.0, trained_length=32),
        A.LongRopeScaling(trained_length=3, short_factors=(1.0,) * 4, long_factors=(2.0,) * 4),
    ]
    for scaling in scalings:
        turned = there(lambda s=scaling: A.RotaryPositions(d_k=8, scaling=s))
        back(turned.rotate(floats(1, 2, 5, 8)))


@drive
def other_heads() -> None:
    x = floats(2, 5, 8)
    back(there(lambda: A.SelfAttention(d_model=8))(x))
    latent = there(
        lambda: A.LatentAttention(d_model=8, num_heads=2, kv_rank=4, d_k=4, d_rope=2, q_rank=4)
    )
    back(latent(x, x, is_causal=True))
    look: A.Look = latent.look(x, x)
    latent.weights_of(look)
    with torch.no_grad():
        cache = latent.new_cache()
        for piece in x.split([4, 1], dim=1):
            latent(piece, cache=cache)
    A.pooled_heads(there(lambda: A.MultiHeadAttention(d_model=8, num_heads=4)), 2)
    cross = there(lambda: A.MultiHeadAttention(d_model=8, num_heads=2, d_key=6, d_value=4))
    kv: A.KV = cross.project(floats(2, 5, 6), floats(2, 5, 4))
    back(cross(floats(2, 3, 8), kv, mask=some()))
    seen = A.Visibility(causal=True, window=3, num_first=1)
    seen.dense(A.Places(5, 5), device=WHERE)


@drive
def recorded() -> None:
    model, tokens = language(), targets()
    with torch.no_grad():
        _, state = model.read(tokens[:, :3], model.start(2, max_tokens=6))
        fixed: A.FixedKVCache = state.layers[0]
        fixed.fork().on_device(longs(3))
        step = D.RecordedStep(model, state)
        for token in tokens.T[:3]:
            step(token)


@drive
def paged() -> None:
    pool = A.BlockPool(40, block_size=4, num_heads=2, d_k=3, device=WHERE)
    cache = A.PagedCache(pool, 2)
    cache.extend(floats(2, 2, 5, 3), floats(2, 2, 5, 3), num_new=(5, 3))
    cache.extend(floats(2, 2, 1, 3), floats(2, 2, 1, 3))
    cache.mask  # noqa: B018
    cache.select(longs([1, 1, 0])).extend(floats(3, 2, 1, 3), floats(3, 2, 1, 3))


@drive
def quantized() -> None:
    rotary: A.RotaryPositions = there(lambda: A.RotaryPositions(d_k=4))
    cache = A.QuantizedKVCache(bits=2, group_size=4, turned_by=rotary)
    for size in (5, 4):
        cache.extend(floats(2, 2, size, 4), floats(2, 2, size, 4))
    cache.back_to(6).select(longs([1, 1, 0])).extend(floats(3, 2, 1, 4), floats(3, 2, 1, 4))
    rounded: A.Quantized = A.quantize(floats(8, 4), bits=2, per="channel")
    rounded.restored  # noqa: B018


@drive
def efficient() -> None:
    q = floats(2, 7, 4)
    tiles = {"query_tile": 3, "key_tile": 2}
    back(A.tiled_attention(q, q, q, **tiles))
    back(A.tiled_attention(q, q, q, some((2, 3), 7), **tiles))
    parts = [A.PartialAttention.of(floats(2, 3, 4), floats(2, 4, 5)) for _ in "ab"]
    back(parts[0].merge(parts[1]).output)
    back(A.linear_attention(q, q, q, some((2, 3), 7)))
    back(A.linear_attention(q, q, q, is_causal=True, chunk=3))
    A.linear_attention_weights(q, q, A.causal_mask(7, device=WHERE))
    A.LinearState.empty(q, q).add(q, q).read(A.elu_features(q))
    k, decay, strength = A.unit_length(q), -floats(2, 7), floats(2, 7)
    for how in ({}, {"log_decay": decay}, {"log_decay": decay, "strength": strength}):
        output, _ = A.fixed_state_attention(k, k, k, some((2, 3), 7), chunk=3, **how)
        output.sum().backward(retain_graph=True)
        A.fixed_state_weights(k, k, **how)
    A.FixedState.empty(q, q).write(q, q).read(q)
    plan: A.BlockPlan = A.plan_blocks(
        A.window_mask(12, radius=2, causal=True, device=WHERE), block_size=4
    )
    back(A.block_sparse_attention(*[floats(2, 12, 4)] * 3, plan))
    x, past = floats(2, 12, 4), A.causal_mask(12, device=WHERE)
    indexer = there(lambda: A.LightningIndexer(d_model=4, num_heads=2, d_k=4))
    scores = indexer(x, indexer.project(x))
    back(A.indexer_loss(scores, A.dot_product_weights(x, x, past), past))
    back(A.dot_product_attention(x, x, x, A.select_keys(scores, 3, past)))
    A.route_blocks(x, x, block_size=4, num_blocks=2)


# --- models ---------------------------------------------------------------------------------------


def translator(kind: str = "sinusoidal", **settings: Any) -> M.Transformer:
    sizes = {"source_vocabulary": 10, "target_vocabulary": 12}
    config = M.TransformerConfig(positions=kind, **sizes | SMALL | settings)  # type: ignore[arg-type]
    made: M.Transformer = there(lambda: M.Transformer(config))
    return made


def language(kind: str = "rotary", **settings: Any) -> M.LanguageModel:
    config = M.LanguageConfig.today(positions=kind, **{"vocabulary": 12} | SMALL | settings)
    made: M.LanguageModel = there(lambda: M.LanguageModel(config))
    return made


def sources() -> Tensor:
    return longs([[4, 5, 3, 0], [4, 6, 7, 3]])


def targets() -> Tensor:
    return longs([[2, 7, 8, 5], [2, 5, 6, 9]])


def _translating(kind: str, **settings: Any) -> None:
    model, source, target = translator(kind, **settings), sources(), targets()
    back(T.loss_per_token(model(source, source > 0, target), target, target > 0))
    model.weights(source, source > 0, target)
    model.eval()
    with torch.no_grad():
        state: M.TransformerState = model.start(model.encode(source, source > 0))
        for token in target.T:
            _, state = model.step(token, state)
        state.reorder(longs([1, 0])).select(longs([1, 0, 0]))


def _writing(kind: str, **settings: Any) -> None:
    model, tokens = language(kind, **settings), targets()
    back(T.next_token_loss(model, tokens, tokens > 0))
    documents = (tokens.cumsum(1) > 9).long()
    back(T.packed_loss(model, X.PackedBatch(tokens, tokens, documents, tokens > 2)))
    model(tokens, tokens > 2)
    model.eval()
    with torch.no_grad():
        _, state = model.read(tokens, model.start(2), real=tokens > 2)
        state = model.start(2)
        for token in tokens.T:
            _, state = model.step(token, state)
        state.select(longs([1, 0]))


for _positions in POSITIONS:
    for _order in ("post", "pre"):
        DRIVERS[f"Transformer {_positions} {_order}"] = lambda a=_positions, b=_order: _translating(
            a, norm=b, inner_dropout=0.1
        )
    DRIVERS[f"LanguageModel {_positions}"] = lambda a=_positions: _writing(a)
    DRIVERS[f"LanguageModel {_positions} window"] = lambda a=_positions: _writing(
        a, windows=(2, None), num_kv_heads=1, qk_norm=True
    )


@drive
def parts() -> None:
    config = M.LayerConfig(d_model=24)
    x = floats(2, 7, 24)
    back(there(lambda: M.Layer(config, A.NoPositions()))(x))
    back(there(lambda: M.LayerStack(config))(x))
    norm = there(lambda: M.AddNorm(d_model=24, kind="rms"))
    back(norm(x, there(lambda: M.FeedForward(d_model=24, d_ff=8, kind="swiglu"))))
    back(there(lambda: M.RMSNorm(d_model=24))(x))
    mixture = there(lambda: M.MixtureOfExperts(d_model=24, d_ff=8, num_experts=4, num_chosen=2))
    routing: M.Routing = mixture.route(x)
    back(mixture(x).sum() + routing.balance_loss())
    mixture.rebalance(routing.load())


def _mixed(num_experts: int) -> None:
    sizes: dict[str, Any] = {"d_model": 16, "d_ff": 8, "num_chosen": 3}
    mixture = there(lambda: M.MixtureOfExperts(num_experts=num_experts, **sizes))
    back(mixture(floats(2, 5, 16)))
    mixture.rebalance(mixture.route(floats(2, 5, 16)).load())


for _size in (4, 9):
    DRIVERS[f"mixture {_size}"] = lambda a=_size: _mixed(a)


@drive
def hidden_words() -> None:
    words = X.Vocabulary.build([tuple("abcdefgh"), (X.MASK,)])
    model, tokens = language("learned", causal=False), targets()
    hidden = X.mask_tokens(tokens, words, generator=torch.Generator().manual_seed(1))
    back(T.hidden_token_loss(model, X.MaskedTokens(tokens, tokens > 6), tokens, tokens > 0))
    assert hidden.tokens.device.type == WHERE


def _recurrent(attention: str) -> None:
    sizes = {"source_vocabulary": 10, "target_vocabulary": 12}
    model: M.Seq2Seq = there(
        lambda: M.Seq2Seq(M.Seq2SeqConfig(attention=attention, **sizes))  # type: ignore[arg-type]
    )
    source, target = sources(), targets()
    back(T.loss_per_token(model(source, source > 0, target), target, target > 0))
    model.eval()
    with torch.no_grad():
        state = model.start(model.encode(source, source > 0))
        for token in target.T:
            _, state = model.step(token, state)
        state.select(longs([1, 0]))


for _attention in ("none", "bahdanau", "luong-dot", "luong-general", "luong-concat", "location"):
    DRIVERS[f"Seq2Seq {_attention}"] = lambda a=_attention: _recurrent(a)


@drive
def ngrams() -> None:
    model = M.NgramModel.count([[4, 5, 6]], order=3, vocabulary=7)
    assert model(longs([[2, 4]])).device.type == WHERE
    D.sample(model, longs([[2, 4]]), max_tokens=3)
    draft = language(vocabulary=7)
    D.speculative_sample(draft, model, longs([[2, 4]]), num_drafts=2, max_tokens=4)


@drive
def forecasting() -> None:
    past = floats(60, grad=False).cumsum(0)
    model = there(lambda: M.Forecaster.scaled_to(past, M.ForecasterConfig(context=9)))
    list(T.train_forecaster(model, past, steps=2, batch_size=2))
    model.forecast(past, 3)
    method = T.WarmForecaster(M.ForecasterConfig(context=9), steps=2, more_steps=1, seed=1)
    there(lambda: method(past))
    for go_on in (
        M.persistence(past),
        M.seasonal_naive(past, period=4),
        M.differenced(M.persistence)(past),
    ):
        go_on(past, 3)
    fitted: M.Autoregression = M.fit_autoregression(past, max_lags=2)
    assert fitted(past, 3).device.type == WHERE
    found: E.Backtest = E.backtest(M.persistence, past, origins=[20, 25], horizon=3)
    E.naive_error(past)
    for name in dir(found):
        getattr(found, name)


@drive
def vision() -> None:
    config = M.VisionTransformerConfig(num_classes=3, image_size=8, patch_size=4, **SMALL)
    model = there(lambda: M.VisionTransformer(config))
    images = floats(2, 8, 8, grad=False)
    back(model(images))
    M.from_patches(M.patches(images, 4), width=8)
    M.visible_tokens(longs([[1, 0, 1, 1]]) > 0)
    there(lambda: M.grid_sinusoids(2, 3, 8))


@drive
def classifying() -> None:
    model = there(lambda: nn.Linear(2, 3))
    labels = longs([0, 1, 2, 1, 0])
    list(T.fit_classifier(model, floats(5, 2, grad=False), labels, steps=2, warmup=1, noise=0.1))


@drive
def adapting() -> None:
    model, tokens = language(), targets()
    plain = model.state_dict()
    M.add_lora(model, ["W_q", "W_o"], rank=2)
    back(model(tokens))
    apart = M.LanguageModel(model.config)
    apart.load_state_dict({name: weight.cpu() for name, weight in plain.items()})
    M.add_lora(apart, ["W_q", "W_o"], rank=2)
    M.load_lora(model, M.lora_state(apart))
    M.merge_lora(model)
    model(tokens)


@drive
def torchs_modules() -> None:
    def theirs() -> nn.Module:
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    ours = M.from_torch(there(theirs))
    ours(floats(1, 5, 8))
    M.to_torch(ours)


# --- training, decoding ---------------------------------------------------------------------------


def corpus(num_pairs: int = 24) -> tuple[Any, X.Vocabulary, X.Vocabulary, X.ParallelData]:
    pairs = phrasebook("en", "fr")[:num_pairs]
    english = X.Vocabulary.build(pair.source for pair in pairs)
    french = X.Vocabulary.build(pair.target for pair in pairs)
    return pairs, english, french, X.ParallelData(pairs, english, french)


def learner(english: X.Vocabulary, french: X.Vocabulary) -> M.Transformer:
    return translator(source_vocabulary=len(english), target_vocabulary=len(french))


def _fit(num_pairs: int, **how: Any) -> None:
    _, english, french, data = corpus(num_pairs)
    model = learner(english, french)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = T.inverse_square_root_schedule(warmup=4)
    list(T.fit(model, data, optimizer, epochs=1, batch_size=8, schedule=schedule, **how))


WAYS: dict[str, dict[str, Any]] = {
    "plain": {},
    "smoothed": {"label_smoothing": 0.1},
    "unclipped": {"clip": None},
    "accumulated": {"accumulate": 3},
}
for _way, _how in WAYS.items():
    for _size in (24, 56):
        DRIVERS[f"fit {_way} {_size // 8}"] = lambda a=_size, b=_how: _fit(a, **b)


@drive
def fit_under_the_default_device() -> None:
    _, english, french, data = corpus()
    model = learner(english, french)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    there(lambda: list(T.fit(model, data, optimizer, epochs=1, batch_size=8, validation=data)))


@drive
def checkpoints() -> None:
    _, english, french, data = corpus()
    with tempfile.TemporaryDirectory() as folder:
        for epochs in (1, 2):
            model = learner(english, french)
            optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
            path = Path(folder, "c.safetensors")
            list(T.fit(model, data, optimizer, epochs=epochs, batch_size=8, checkpoint=path))
        T.load_checkpoint(path, model=model, optimizer=optimizer)


def _evaluated(num_pairs: int) -> None:
    _, english, french, data = corpus(num_pairs)
    T.evaluate_loss(learner(english, french), data, batch_size=8)


for _size in (24, 56):
    DRIVERS[f"evaluate_loss {_size // 8}"] = lambda a=_size: _evaluated(a)


@drive
def wrong_numbers() -> None:
    _, _, french, data = corpus()
    model = translator(source_vocabulary=5, target_vocabulary=len(french))
    _refused(lambda: T.batch_loss(model, next(data.batches(24))), "source: expected token numbers")
    with attention_book.foundations.strict():
        _refused(
            lambda: language()(longs([[2, 12]])), "tokens: expected token numbers from 0 to 11"
        )


def _refused(call: Callable[[], Any], reason: str) -> None:
    try:
        call()
    except ValueError as error:
        if reason in str(error):
            return
        raise
    raise AssertionError(f"expected an error: {reason}")


@drive
def stepping() -> None:
    model = there(lambda: nn.Linear(3, 1))
    optimizer = torch.optim.AdamW(model.parameters())
    losses = (
        lambda: model(floats(4, 3)).square().mean(),
        lambda: T.BatchLoss(model(floats(4, 3)).square().mean(), longs(4)),
    )
    for loss in losses:
        list(T.descend(loss, optimizer, steps=2, clip=1.0, accumulate=2))
    T.token_losses(floats(2, 3, 5), longs([[0] * 3] * 2), longs([[1] * 3] * 2) > 0)
    T.xavier_(translator())
    T.perplexity(language(), targets(), targets() > 0)


@drive
def masked_diffusion() -> None:
    model, tokens = language(causal=False), targets()
    words, rates = tokens > 2, floats(len(tokens)).sigmoid()
    hidden = T.hide_words(tokens, words, rates, mask=11)
    back(T.diffusion_loss(model, hidden, tokens, tokens > 0, words=words, rates=rates))
    for order in ("surest", "random", "left"):
        D.unmask(model.eval(), hidden.tokens, tokens > 0, mask=11, rounds=2, order=order)


class Endless(nn.Module):
    """A language model that never ends a text, so that steps can be counted."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model, self.config = model, model.config

    def start(self, batch_size: int) -> Any:
        return self.model.start(batch_size)

    def step(self, token: Tensor, state: Any) -> Any:
        logits, state = self.model.step(token, state)
        return logits.masked_fill(torch.arange(12, device=WHERE) == X.EOS, -50.0), state


class EndlessTranslator(Endless):
    def encode(self, source: Tensor, mask: Tensor) -> Any:
        return self.model.encode(source, mask)

    def start(self, memory: Any) -> Any:
        return self.model.start(memory)


def _searched(search: str, steps: int) -> None:
    source = sources()
    if search == "greedy":
        D.greedy_search(EndlessTranslator(translator()), source, source > 0, max_tokens=steps)
    elif search == "beam":
        D.beam_search(
            EndlessTranslator(translator()), source, source > 0, width=3, max_tokens=steps
        )
    elif search == "sample":
        D.sample(Endless(language()), targets(), max_tokens=steps, top_k=5, top_p=0.9)
    else:
        target, draft = Endless(language()), Endless(language())
        D.speculative_sample(target, draft, targets()[:1], num_drafts=2, max_tokens=steps)


for _search, _steps in product(("greedy", "beam", "sample", "speculative"), (4, 12)):
    DRIVERS[f"{_search} {_steps}"] = lambda a=_search, b=_steps: _searched(a, b)


@drive
def searches() -> None:
    model, source = translator(), sources()
    for limit in (9, longs([4, 5]), torch.tensor([4, 5])):
        D.greedy_search(model, source, source > 0, max_tokens=limit)
        D.beam_search(model, source, source > 0, width=3, num_best=2, max_tokens=limit)
    one = source[:1]
    steps: list[D.BeamStep] = D.beam_trace(model, one, one > 0, width=3, max_tokens=4)
    assert len(steps) <= 4
    logits = floats(2, 6)
    D.with_temperature(D.keep_top_k(D.keep_top_p(logits, 0.5), 2), 0.5)
    D.keep_min_p(logits, 0.5)
    D.next_distribution(logits, top_k=3, top_p=0.8, min_p=0.1)
    prompt = targets()
    begun = torch.ones_like(prompt, dtype=torch.bool)
    D.beam_search(D.Continuation(language()), prompt, begun, width=3, max_tokens=4)
    p, q = (floats(6, grad=False).softmax(-1) for _ in "ab")
    D.acceptance_probabilities(p, q)
    D.acceptance_rate(p, q)
    D.residual_distribution(p, q)
    D.verify_drafts(torch.stack([p, p]), q[None], [3])


@drive
def translating() -> None:
    pairs, english, french, _ = corpus()
    model = learner(english, french)
    texts = [pair.source for pair in pairs[:5]]
    for width in (1, 3):
        D.translate(model, texts, english, french, width=width)
    D.attention_of(model, pairs[0].source, pairs[0].target, english, french)


# --- inspection, metrics --------------------------------------------------------------------------


@drive
def looking() -> None:
    model, source, target = translator(), sources(), targets()
    with I.capture_attention(model):
        model(source, source > 0, target)
    heads: list[I.Head] = I.attention_heads(model)
    with I.pruned(model, heads[:1]):
        model(source, source > 0, target)
    layer = model.encoder.layers[0]
    with I.captured(layer) as seen:
        model(source, source > 0, target)
    with I.patched(layer, seen[0], source > 4):
        model(source, source > 0, target)
    with I.patched_paths(layer.self_attention_norm, seen[0], I.PATHS):
        model(source, source > 0, target)
    I.head_importance(model, lambda: float(model(source, source > 0, target).sum()))
    weights, pairs = floats(1, 2, 4, 4), torch.ones(1, 4, 4, dtype=torch.bool, device=WHERE)
    I.weight_on(weights, I.after_earlier(longs([[4, 5, 4, 6]])), pairs)
    I.weight_on(weights, I.places_back(4, 1), pairs)
    I.places_back(4, 1, device=WHERE)
    with I.cut_looks(model, I.chosen_looks([(None, 0)], num_target=4, num_source=4)):
        model.weights(source, source > 0, target)
    I.offset_profile(weights, pairs)


@drive
def intervening() -> None:
    attention, x = there(lambda: A.MultiHeadAttention(d_model=8, num_heads=2)), floats(2, 5, 8)
    changes = (I.even, I.only_heaviest, I.shuffled, I.without_heaviest, I.without_random)
    for change in (*changes, I.without_heads([0]), I.without_pairs(I.places_back(5, 1))):
        with I.changed_attention(attention, change):
            attention(x, x)
    with I.forced_attention(attention, attention.weights(x, x).detach()):
        attention(x, x)
    weights = floats(1, 2, 5, 5, grad=False)
    for change in (I.shuffled, I.without_random):
        change(weights, weights > -1, generator=torch.Generator().manual_seed(1))


@drive
def depending() -> None:
    pairs, english, french, data = corpus()
    sizes = {"source_vocabulary": len(english), "target_vocabulary": len(french)}
    model = there(lambda: M.Seq2Seq(M.Seq2SeqConfig(**sizes)))
    batch = next(data.batches(4))  # on the CPU: it follows the model
    I.gradient_times_input(model, batch)
    I.influence(model, batch)
    I.hiding_effects(model, batch)
    I.replacement_effects(model, batch, batch.source.roll(1, 0).flatten()[None])
    I.target_log_probs(model, batch)
    I.teacher_forced_weights(model, pairs[:4], english, french)
    pair = X.SentencePair(("go", "."), ("va", "!"), frozenset({(0, 0), (1, 1)}))
    words = X.Vocabulary.build([("go", ".", "va", "!")])
    gold = next(X.ParallelData([pair], words, words).batches(1)).to(WHERE)
    assert I.gold_weights(gold, [pair]).device.type == WHERE
    I.rank_correlation(floats(9), floats(9))


@drive
def measuring() -> None:
    layer, x = there(lambda: A.SelfAttention(d_model=8)), floats(1, 5, 8, grad=False)
    I.information_flow(layer, x[0])
    I.path_length(layer, x[0])
    I.jacobian_norms(layer, x[0])
    I.operations(layer, x)
    I.sequential_steps(layer, x)
    I.peak_bytes(layer, x)


@drive
def aligning() -> None:
    weights = floats(3, 4, grad=False).softmax(-1)
    E.hard_alignment(weights)
    E.hard_alignment(weights, threshold=0.2, ends_with_eos=True)
    E.weight_on_gold(weights, {(0, 0), (1, 1)})
    E.offsets(weights, {(0, 0), (1, 1)})


@drive
def drawing() -> None:
    from attention_book.plotting import curves, heatmap

    heatmap(floats(3, 4, grad=False))
    curves(torch.arange(3, device=WHERE), {"a": floats(3, grad=False)})


@drive
def viewers() -> None:
    from attention_book.live import BeamViewer, HeadViewer

    weights = floats(2, 2, 4, 4, grad=False).softmax(-1)
    HeadViewer(weights, tokens=["she", "reads", "a", "book"])
    pairs, english, french, _ = corpus()
    BeamViewer(learner(english, french), pairs[0].source, english, french, max_tokens=5)


@drive
def exporting() -> None:
    from attention_book.live import export

    model = translator()
    for _, weight, _ in export.stored(export.rounded(model)):
        export.half_bytes(weight)


@drive
def checking_up() -> None:
    from attention_book.course.diagnosis import check_up, check_up_language

    check_up(translator())
    check_up_language(language())


def _run(driver: Driver) -> dict[str, Any]:
    from pretended import pretending

    torch.manual_seed(0)
    with pretending() as log:
        try:
            driver()
            error = None
        except Exception as problem:
            error = f"{type(problem).__name__}: {str(problem)[:300]}"
            import traceback

            trace = traceback.extract_tb(problem.__traceback__)
            places = [f"{t.filename}:{t.lineno}" for t in trace if "pretended.py" not in t.filename]
            error += f" @ {places[-1] if places else ''}"
        return {"error": error, "waits": dict(log.waits), "doubles": dict(log.doubles)}


def main() -> None:
    from pretended import Pretended

    from attention_book.attention.positions import scheme

    warnings.simplefilter("ignore")
    # A table on the device is kept like any other.
    ordinary = scheme.is_ordinary
    scheme.is_ordinary = lambda t: isinstance(t, Pretended) or ordinary(t)
    part = sys.argv[2] if len(sys.argv) > 2 else ""
    found = {name: _run(driver) for name, driver in DRIVERS.items() if part in name}
    Path(sys.argv[1]).write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
