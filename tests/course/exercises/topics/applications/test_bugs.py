import pytest
import torch
from torch.nn import functional as F

from attention_book.course.exercises import check


def attend(queries, keys, values, ignore):
    return F.scaled_dot_product_attention(queries, keys, values, attn_mask=ignore != 1)


@pytest.mark.parametrize(
    ("mask", "mistake"),
    [
        (lambda ignore: ignore > 0, "mask-inverted"),
        (lambda ignore: torch.where(ignore > 0, 0.0, -torch.inf), "mask-inverted"),
        (lambda ignore: ignore.float(), "added-as-a-number"),
        (lambda ignore: 1.0 - ignore, "added-as-a-number"),
        (lambda ignore: None, "not-masked"),
    ],
)
def test_masks_of_the_other_kind(mask, mistake):
    def answer(queries, keys, values, ignore):
        return F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask(ignore))

    assert check("ignore-mask", attend)
    verdict = check("ignore-mask", answer)
    assert (verdict.law, verdict.mistake) == ("hidden-is-nothing", mistake)


def look(query, keys, values):
    return torch.softmax(query @ keys.T / 2, dim=1) @ values


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda q, k, v: v.sum(0, keepdim=True) / len(v), "uniform"),
        (lambda q, k, v: look(2 * q, k, v), "not-scaled"),
        (lambda q, k, v: look(q, k, k), "keys-averaged"),
    ],
)
def test_content(answer, mistake):
    assert check("content-attention", look)
    assert check("content-attention", answer).mistake == mistake


def test_attention_by_place_breaks_the_law_of_order():
    to_places = torch.randn(4, 6)
    verdict = check("content-attention", lambda q, k, v: torch.softmax(q @ to_places, 1) @ v)
    assert verdict.law == "order-is-free"
    assert "place" in verdict.hint.en


def test_a_fixed_number_of_keys_is_found():
    def fixed(query, keys, values):
        return look(query, keys.view(6, 4), values)

    assert check("content-attention", fixed).law == "any-number-of-keys"
