"""Each score is its formula, pair by pair, and behaves as the chapter says."""

import math

import pytest
import torch

from attention_book.attention import (
    AdditiveScore,
    BilinearScore,
    ConcatLinearScore,
    ConcatTanhSumScore,
    CosineScore,
    DotScore,
    GaussianScore,
    ScaledDotScore,
    Score,
)


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def times(matrix, vector):
    return [dot(row, vector) for row in matrix.tolist()]


def bilinear(s, q, k):
    return dot(times(s.W.T, q), k)


def additive(s, q, k):
    added = zip(times(s.W_q.weight, q), times(s.W_k.weight, k), strict=True)
    return dot(s.w_v.weight[0].tolist(), [math.tanh(a + b) for a, b in added])


def concat_linear(s, q, k):
    return dot(s.w.weight[0].tolist(), q + k) + s.w.bias.item()


def concat_tanh_sum(s, q, k):
    layer = zip(times(s.W.weight, q + k), s.W.bias.tolist(), strict=True)
    return sum(math.tanh(a + b) for a, b in layer)


def gaussian(s, q, k):
    return -(math.dist(q, k) ** 2) / (2 * s.bandwidth**2)


def cosine(s, q, k):
    return dot(q, k) / (math.hypot(*q) * math.hypot(*k)) / s.temperature


# name: (how to make it, its formula for one query and one key, d_q, d_k)
CASES = {
    "dot": (DotScore, lambda s, q, k: dot(q, k), 7, 7),
    "scaled dot": (ScaledDotScore, lambda s, q, k: dot(q, k) / math.sqrt(7), 7, 7),
    "bilinear": (lambda: BilinearScore(d_q=7, d_k=5), bilinear, 7, 5),
    "additive": (lambda: AdditiveScore(d_q=7, d_k=5, d_hidden=11), additive, 7, 5),
    "concat linear": (lambda: ConcatLinearScore(d_q=7, d_k=5), concat_linear, 7, 5),
    "concat tanh sum": (
        lambda: ConcatTanhSumScore(d_q=7, d_k=5, d_hidden=11), concat_tanh_sum, 7, 5,
    ),
    "gaussian": (lambda: GaussianScore(bandwidth=0.6), gaussian, 7, 7),
    "cosine": (lambda: CosineScore(temperature=0.3), cosine, 7, 7),
}  # fmt: skip


@pytest.fixture(params=CASES)
def case(request):
    make, formula, d_q, d_k = CASES[request.param]
    return make().double(), formula, d_q, d_k


def draw(case, *batch, dtype=torch.float64):
    _, _, d_q, d_k = case
    return torch.randn(*batch, 3, d_q, dtype=dtype), torch.randn(*batch, 13, d_k, dtype=dtype)


@pytest.mark.parametrize("batch", [(), (2,), (2, 1, 3)])
def test_equals_a_loop_over_the_formula(case, batch):
    score, formula, _, _ = case
    queries, keys = draw(case, *batch)
    scores = score(queries, keys)
    assert scores.shape == (*batch, 3, 13)
    rows = zip(scores.reshape(-1, 3, 13), queries.reshape(-1, 3, queries.shape[-1]),
               keys.reshape(-1, 13, keys.shape[-1]), strict=True)  # fmt: skip
    for table, of_queries, of_keys in rows:
        for i, q in enumerate(of_queries.tolist()):
            for j, k in enumerate(of_keys.tolist()):
                assert table[i, j].item() == pytest.approx(formula(score, q, k), abs=1e-12)


def test_gradcheck(case):
    score = case[0]
    queries, keys = (tensor.requires_grad_() for tensor in draw(case, 2))
    assert torch.autograd.gradcheck(score, (queries, keys))
    for parameter in score.parameters():
        assert torch.autograd.gradcheck(lambda _, q=queries, k=keys: score(q, k), (parameter,))


def test_inputs_are_left_alone_and_the_type_is_kept(case, dtype):
    score = case[0].to(dtype)
    queries, keys = draw(case, 2, dtype=dtype)
    kept = queries.clone(), keys.clone()
    scores = score(queries, keys)
    assert scores.dtype == dtype
    assert scores.isfinite().all()
    assert torch.equal(queries, kept[0])
    assert torch.equal(keys, kept[1])


def test_every_score_follows_the_protocol(case):
    assert isinstance(case[0], Score)


def test_the_gaussian_is_exact_far_from_the_origin():
    far = 2**12 + torch.rand(2, 8, 2)  # float32, where neighbors are 2**-11 apart
    queries, keys = far
    exact = GaussianScore()(queries.double(), keys.double())
    torch.testing.assert_close(GaussianScore()(queries, keys).double(), exact, rtol=1e-6, atol=0)


def test_scaling_comes_before_the_product_can_overflow():
    queries = keys = torch.full((1, 512), 12.0, dtype=torch.float16)
    assert DotScore()(queries, keys).isinf().all()
    torch.testing.assert_close(
        ScaledDotScore()(queries, keys).item(), 144 * math.sqrt(512), rtol=2e-3, atol=0
    )


def test_the_bias_of_the_additive_score_lies_within_the_tanh():
    score = AdditiveScore(d_q=7, d_k=5, d_hidden=11, bias=True).double()
    assert set(dict(score.named_parameters())) == {
        "W_q.weight", "W_k.weight", "W_k.bias", "w_v.weight",
    }  # fmt: skip
    queries, keys = torch.randn(3, 7).double(), torch.randn(13, 5).double()
    hidden = queries[:, None] @ score.W_q.weight.T + keys @ score.W_k.weight.T + score.W_k.bias
    torch.testing.assert_close(score(queries, keys), hidden.tanh() @ score.w_v.weight[0])
    plain = AdditiveScore(d_q=7, d_k=5, d_hidden=11)  # none unless asked
    assert [name for name, _ in plain.named_parameters() if "bias" in name] == []
    assert torch.all(plain(torch.zeros(3, 7), torch.zeros(4, 5)) == 0)


def test_short_vectors_have_directions_too(dtype):
    queries = torch.tensor([[3.0, 4.0]]).double()
    keys = torch.tensor([[2.0, 0.0], [0.0, 9.0]]).double()
    short = 50 * torch.finfo(dtype).smallest_normal ** 0.5
    scores = CosineScore()((short * queries).to(dtype), (short * keys).to(dtype))
    expected = torch.tensor([[0.6, 0.8]], dtype=dtype)
    torch.testing.assert_close(scores, expected, atol=8 * torch.finfo(dtype).eps, rtol=0)


def test_a_vector_of_zeros_has_no_direction(dtype):
    queries = torch.zeros(1, 7, dtype=dtype, requires_grad=True)
    scores = CosineScore()(queries, torch.randn(5, 7).to(dtype))
    assert torch.all(scores == 0)
    scores.sum().backward()
    assert torch.all(queries.grad.isfinite())


@pytest.mark.usefixtures("unchecked")
def test_shapes_that_do_not_fit_are_named(case):
    score, _, d_q, d_k = case
    good_queries, good_keys = draw(case, 2)
    for queries, keys, message in [
        (torch.tensor(1.0), good_keys, r"queries and keys: expected the axes .* \(\) and"),
        (torch.rand(d_q), good_keys, rf"\({d_q},\) and \(2, 13, {d_k}\)"),
        (good_queries, good_keys[0], rf"\(2, 3, {d_q}\) and \(13, {d_k}\)"),
        (good_queries, good_keys[:, :0], r"at least one key"),
        (good_queries, torch.rand(2, 13, d_k + 1), rf"\(2, 13, {d_k + 1}\)"),
        (torch.rand(2, 3, d_q + 1), good_keys, rf"\(2, 3, {d_q + 1}\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            score(queries.double(), keys.double())


@pytest.mark.parametrize("width", [0.0, -1.0, math.nan])
def test_widths_and_temperatures_are_positive(width):
    with pytest.raises(ValueError, match="bandwidth: expected a positive number, got"):
        GaussianScore(bandwidth=width)
    with pytest.raises(ValueError, match="temperature: expected a positive number, got"):
        CosineScore(temperature=width)


def test_sizes_are_at_least_1():
    for make, sizes in [
        (BilinearScore, {"d_q": 7, "d_k": 0}),
        (AdditiveScore, {"d_q": -2, "d_k": 5, "d_hidden": 3}),
        (AdditiveScore, {"d_q": 7, "d_k": 5, "d_hidden": 0}),
        (ConcatLinearScore, {"d_q": 0, "d_k": 5}),
        (ConcatTanhSumScore, {"d_q": 7, "d_k": 5, "d_hidden": -2}),
    ]:
        name, bad = min(sizes.items(), key=lambda each: each[1])
        with pytest.raises(ValueError, match=f"{name}: expected at least 1, got {bad}"):
            make(**sizes)
