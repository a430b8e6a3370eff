import pytest
import torch

from attention_book.course.exercises import check


def good_test(attention):
    x, lengths = torch.randn(2, 6, 8), torch.tensor([2, 5])
    for i, n in enumerate(lengths.tolist()):
        alone = attention(x[i : i + 1, :n], lengths[i : i + 1])[0]
        plain = torch.softmax(x[i, :n] @ x[i, :n].T / 8**0.5, -1) @ x[i, :n]
        together = attention(x, lengths)[i, :n]
        if not (torch.allclose(together, plain, atol=1e-4) and alone.shape == plain.shape):
            return False
    return True


def ones(attention):
    return bool((attention(torch.ones(3, 4, 8), torch.tensor([4, 5, 4])) == 1).all())


def full_lengths(attention):
    x = torch.randn(1, 4, 8)
    plain = torch.softmax(x[0] @ x[0].T / 8**0.5, -1) @ x[0]
    return torch.allclose(attention(x, torch.tensor([4]))[0], plain, atol=1e-4)


def padding_only(attention):
    x, lengths = torch.randn(2, 4, 8), torch.tensor([1, 2])
    changed = x.clone()
    changed[0, 1:] += 5
    changed[1, 2:] += 5
    before, after = attention(x, lengths), attention(changed, lengths)
    return torch.allclose(before[0, 0], after[0, 0]) and torch.allclose(before[1, 1], after[1, 1])


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (
            lambda attention: attention(torch.ones(1, 2, 8), torch.tensor([1])) is not None,
            "cannot-fail",
        ),
        (ones, "nothing-hidden"),
        (full_lengths, "nothing-hidden"),
        (padding_only, "padding-alone"),
        (lambda attention: attention is None, "cannot-pass"),
    ],
)
def test_tests(answer, mistake):
    assert check("mask-test", good_test)
    assert check("mask-test", answer).mistake == mistake


def looks_ahead(layer, x):
    x = x.double().requires_grad_()
    jacobian = torch.autograd.functional.jacobian(lambda x: layer(x).sum(-1), x)
    return bool(jacobian.abs().amax(-1).triu(1).max() > 1e-9)


def changed(x, place):
    return torch.cat((x[:place], x[place : place + 1] * 2 + 1, x[place + 1 :]))


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda f, x: not torch.equal(f(x), f(changed(x, len(x) - 1))), "own-place-counted"),
        (lambda f, x: not torch.equal(f(x)[1:], f(changed(x, 0))[1:]), "wrong-direction"),
        (lambda f, x: bool(f(x).isnan().any()), "always-no"),
        (
            lambda f, x: not torch.allclose(f(x)[:3], f(changed(x, 3))[:3], atol=1e-5),
            "last-word-only",
        ),
    ],
)
def test_causality(answer, mistake):
    assert check("looks-ahead", looks_ahead)
    assert check("looks-ahead", answer).mistake == mistake
