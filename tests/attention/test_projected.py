"""Keys that are projected once score as they would have if projected for every query."""

import pytest
import torch

from attention_book.attention import (
    AdditiveScore,
    BilinearScore,
    ConcatLinearScore,
    DotScore,
    KeyProjectingScore,
    OverProjectedKeys,
    ScaledDotScore,
)

MAKERS = {
    "dot": (DotScore, 7, 7),
    "scaled dot": (ScaledDotScore, 7, 7),
    "bilinear": (lambda: BilinearScore(d_q=7, d_k=5), 7, 5),
    "additive": (lambda: AdditiveScore(d_q=7, d_k=5, d_hidden=11), 7, 5),
}


@pytest.fixture(params=MAKERS.values(), ids=MAKERS.keys())
def case(request):
    make, d_q, d_k = request.param
    torch.manual_seed(3)
    queries, keys = torch.randn(2, 3, d_q).double(), torch.randn(2, 13, d_k).double()
    return make().double(), queries, keys


def test_a_projected_key_scores_as_the_key_does(case) -> None:
    score, queries, keys = case
    assert isinstance(score, KeyProjectingScore)
    over = OverProjectedKeys(score)
    torch.testing.assert_close(over(queries, over.project_keys(keys)), score(queries, keys))


def test_one_query_at_a_time_scores_as_all_at_once(case) -> None:
    score, queries, keys = case
    projected = score.project_keys(keys)
    one_by_one = [score.compare(query, projected) for query in queries.split(1, dim=1)]
    torch.testing.assert_close(torch.cat(one_by_one, dim=1), score(queries, keys))


def test_the_parameters_are_shared() -> None:
    score = AdditiveScore(d_q=7, d_k=5, d_hidden=11)
    assert list(map(id, OverProjectedKeys(score).parameters())) == list(map(id, score.parameters()))


@pytest.mark.usefixtures("unchecked")
def test_a_score_that_cannot_project_is_refused() -> None:
    with pytest.raises(TypeError, match="score: expected a score with project_keys and compare"):
        OverProjectedKeys(ConcatLinearScore(d_q=7, d_k=5))
