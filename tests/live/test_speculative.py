"""Speculative sampling in the browser: what is accepted, drawn and written is the package's."""

import pytest
import torch

from attention_book.decoding import acceptance_rate, expected_words, residual_distribution

DRAFTS = ("other", "near", "same", "far")


@pytest.mark.parametrize("draft", DRAFTS)
@pytest.mark.parametrize("guesses", [1, 4, 8])
def test_the_numbers_are_the_packages(draft, guesses, compute) -> None:
    found = compute("speculative", draft=draft, guesses=guesses)
    p, q = (torch.tensor(found[name], dtype=torch.float64) for name in "pq")
    alpha = acceptance_rate(p, q).item()
    assert found["alpha"] == pytest.approx(alpha)
    assert found["rest"] == pytest.approx(residual_distribution(p, q).tolist(), abs=1e-6)
    assert found["written"] == pytest.approx(found["p"])
    assert found["words"] == pytest.approx(expected_words(alpha, guesses))
    assert len(found["reached"]) == guesses + 1


@pytest.mark.parametrize("draft", DRAFTS)
def test_drawn_from_the_target_it_is_another_distribution(draft, compute) -> None:
    found = compute("speculative", draft=draft, again="target")
    wrong = [
        min(a, b) + (1 - found["alpha"]) * a for a, b in zip(*map(found.get, "pq"), strict=True)
    ]
    assert found["written"] == pytest.approx(wrong)
    assert (found["written"] == pytest.approx(found["p"])) == (draft == "same")


def test_the_chapters_numbers(compute) -> None:
    found = compute("speculative", again="target")
    assert found["written"] == pytest.approx([0.35, 0.39, 0.26])
    assert found["words"] == pytest.approx(2.7731)
