"""Answers to the exercises whose answers are tests."""

import torch


def plain(x):
    return torch.softmax(x @ x.mT / 8**0.5, -1) @ x


def good_test(attention):
    x, lengths = torch.randn(2, 6, 8), torch.tensor([2, 5])
    for i, n in enumerate(lengths.tolist()):
        alone = attention(x[i : i + 1, :n], lengths[i : i + 1])[0]
        together = attention(x, lengths)[i, :n]
        if not (torch.allclose(together, plain(x[i, :n]), atol=1e-4) and alone.shape == (n, 8)):
            return False
    return True


def against_an_oracle(attention):
    x, lengths = torch.randn(3, 4, 8), torch.tensor([1, 4, 2])
    scores = x @ x.mT / 8**0.5
    scores = scores.masked_fill(torch.arange(4) >= lengths[:, None, None], -torch.inf)
    return torch.allclose(attention(x, lengths), scores.softmax(-1) @ x, atol=1e-5)


def ones(attention):
    return bool((attention(torch.ones(3, 4, 8), torch.tensor([4, 5, 4])) == 1).all())


def full_lengths(attention):
    x = torch.randn(1, 4, 8)
    return torch.allclose(attention(x, torch.tensor([4])), plain(x), atol=1e-4)


def padding_only(attention):
    x, lengths = torch.randn(2, 4, 8), torch.tensor([1, 2])
    changed = x.clone()
    changed[0, 1:] += 5
    changed[1, 2:] += 5
    before, after = attention(x, lengths), attention(changed, lengths)
    return torch.allclose(before[0, 0], after[0, 0]) and torch.allclose(before[1, 1], after[1, 1])


def shortened(lengths):
    """Compare with the sentences cut to their lengths."""

    def test(attention):
        x = torch.randn(len(lengths), 6, 8)
        output = attention(x, torch.tensor(lengths))
        return all(
            torch.allclose(output[i, :n], plain(x[i, :n]), atol=1e-5) for i, n in enumerate(lengths)
        )

    return test


def all_rows_stay(attention):
    """Compare the rows of padding, too, which look at nothing but real words and do move."""
    x, lengths = torch.randn(2, 5, 8), torch.tensor([3, 4])
    changed = x.clone()
    changed[0, 3:] += 1
    changed[1, 4:] += 1
    return torch.allclose(attention(x, lengths), attention(changed, lengths), atol=1e-5)


def last_word_moves(attention):
    x, lengths = torch.randn(2, 5, 8), torch.tensor([3, 4])
    changed = x.clone()
    changed[0, 2] += 1
    changed[1, 3] += 1
    return not torch.allclose(attention(x, lengths)[:, 0], attention(changed, lengths)[:, 0])


def far_padding_moved(attention):
    """Move the last place alone, which is not the first of padding."""
    x, lengths = torch.randn(2, 6, 8), torch.tensor([2, 4])
    changed, other = x.clone(), x.clone()
    changed[:, 5] += 1
    other[0, 1] += 1
    other[1, 3] += 1
    a, b, c = (attention(each, lengths)[:, 0] for each in (x, changed, other))
    return torch.allclose(a, b, atol=1e-5) and not torch.isclose(a, c).all(-1).any()


def asserting(attention):
    x, lengths = torch.randn(2, 6, 8), torch.tensor([2, 5])
    for i, n in enumerate([2, 5]):
        assert torch.allclose(attention(x, lengths)[i, :n], plain(x[i, :n]), atol=1e-4)
    return True


def nothing_returned(attention):
    assert good_test(attention)


def zeros_in_padding(attention):
    """Compare with zeros in place of padding: to look at zeros is not to look away."""
    x, lengths = torch.randn(2, 5, 8), torch.tensor([3, 4])
    real = (torch.arange(5) < lengths[:, None])[..., None]
    expected = plain(x * real)
    return torch.allclose((attention(x, lengths) * real), expected * real, atol=1e-5)


def looks_ahead(layer, x):
    x = x.double().requires_grad_()
    jacobian = torch.autograd.functional.jacobian(lambda x: layer(x).sum(-1), x)
    return bool(jacobian.abs().amax(-1).triu(1).max() > 1e-9)


def prefixes(layer, x, *, first=1, atol=1e-5):
    whole = layer(x)
    return any(not torch.allclose(layer(x[:t]), whole[:t], atol=atol) for t in range(first, len(x)))


def exactly(layer, x):
    return any(not torch.equal(layer(x)[:t], layer(changed(x, t))[:t]) for t in range(1, len(x)))


def changed(x, place):
    return torch.cat((x[:place], x[place : place + 1] * 2 + 1, x[place + 1 :]))


def replaced(x, start):
    return torch.cat((x[:start], torch.randn(len(x) - start, x.shape[1])))


def moved(layer, x, new, seen):
    return not torch.allclose(layer(x)[seen], layer(new)[seen], atol=1e-5)


def in_place(layer, x):
    before = layer(x)
    for t in range(1, len(x)):
        x[t] += 1
        if not torch.allclose(before[:t], layer(x)[:t], atol=1e-5):
            return True
    return False


def shuffled(layer, x):
    return moved(layer, x, x.flip(0), slice(None))


def upper_weights(layer, x):
    return bool((layer(x) @ x.T).triu(1).abs().max() > 1e-5)


def gradients_of_the_sum(layer, x):
    """Differentiate the sum of all outputs: every input has a gradient."""
    x = x.clone().requires_grad_()
    return bool(torch.autograd.grad(layer(x).sum(), x)[0][1:].abs().max() > 1e-9)


RIGHT = {
    "mask-test": [good_test, against_an_oracle, shortened([2, 5])],
    "looks-ahead": [
        looks_ahead,
        prefixes,
        lambda f, x: any(moved(f, x, changed(x, t), slice(t)) for t in range(1, len(x))),
        lambda f, x: any(moved(f, x, replaced(x, t), slice(t)) for t in range(len(x))),
    ],
}

WRONG = {
    "mask-test": [
        (
            lambda attention: attention(torch.ones(1, 2, 8), torch.tensor([1])) is not None,
            "cannot-fail",
        ),
        (
            lambda attention: (
                attention(torch.randn(2, 3, 8), torch.tensor([1, 2])).shape == (2, 3, 8)
            ),
            "cannot-fail",
        ),
        (
            lambda attention: (
                not attention(torch.randn(2, 3, 8), torch.tensor([1, 2])).isnan().any().item()
            ),
            "rejected",
        ),
        (ones, "nothing-hidden"),
        (full_lengths, "nothing-hidden"),
        (padding_only, "padding-alone"),
        (lambda attention: attention is None, "cannot-pass"),
        (shortened([3, 3]), "equal-lengths"),
        (shortened([6, 6]), "nothing-hidden"),
        (last_word_moves, "nothing-hidden"),
        (far_padding_moved, "far-padding"),
        (zeros_in_padding, "rejected"),
        (lambda attention: not good_test(attention), "reversed"),
        (nothing_returned, "raises"),
        (asserting, "raises"),
        (shortened([3]), "one-sentence"),
        (lambda attention: int(good_test(attention)), "type"),
    ],
    "looks-ahead": [
        (lambda f, x: not torch.equal(f(x), f(changed(x, len(x) - 1))), "own-place-counted"),
        (lambda f, x: not torch.equal(f(x)[1:], f(changed(x, 0))[1:]), "wrong-direction"),
        (lambda f, x: bool(f(x).isnan().any()), "always-no"),
        (lambda f, x: True, "always-yes"),
        (lambda f, x: moved(f, x, changed(x, 3), slice(3)), "last-word-only"),
        (lambda f, x: not torch.allclose(f(x[:-1]), f(x)[:-1], atol=1e-5), "last-word-only"),
        (exactly, "exactly-equal"),
        (lambda f, x: prefixes(f, x, atol=1e-2), "rejected"),
        (lambda f, x: prefixes(f, x, first=2), "rejected"),
        (lambda f, x: moved(f, x, changed(x, 1), slice(1)), "one-word-only"),
        (lambda f, x: moved(f, x, replaced(x, 1), slice(1)), "first-output-only"),
        (lambda f, x: moved(f, x, changed(x, len(x) // 2), slice(len(x) // 2)), "one-word-only"),
        (
            lambda f, x: all(moved(f, x, changed(x, t), slice(t)) for t in range(1, len(x))),
            "all-for-any",
        ),
        (
            lambda f, x: any(moved(f, x, changed(x, t), slice(t - 1, t)) for t in range(1, len(x))),
            "neighbors-only",
        ),
        (
            lambda f, x: not any(moved(f, x, changed(x, t), slice(t)) for t in range(1, len(x))),
            "reversed",
        ),
        (
            lambda f, x: any(moved(f, x, changed(x, t), slice(t + 1)) for t in range(1, len(x))),
            "own-place-counted",
        ),
        (in_place, "input"),
        (shuffled, "rejected"),
        (upper_weights, "rejected"),
        (gradients_of_the_sum, "rejected"),
    ],
}
