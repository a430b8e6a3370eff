"""The digits: all of them, each once, every digit in its share, and shifted without a seam."""

import builtins

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_book.course.datasets import Digits, digit_images, shifted
from attention_book.course.datasets.digits import evenly_mixed


@pytest.fixture(scope="module")
def splits():
    return digit_images(seed=5)


def rows(digits):
    return {
        (*image.flatten().tolist(), label.item())
        for image, label in zip(*parts(digits), strict=True)
    }


def parts(digits):
    return digits.images, digits.labels


def test_every_image_is_in_one_split_and_in_one_only(splits):
    from sklearn.datasets import load_digits

    data = load_digits()
    images, labels = torch.from_numpy(data.images).float() / 16, torch.from_numpy(data.target)
    given_rows = rows(Digits(images, labels))
    kept = [rows(part) for part in (splits.train, splits.validation, splits.test)]
    assert sum(map(len, kept)) == len(set.union(*kept)) == len(given_rows) == 1797
    assert set.union(*kept) == given_rows


def test_the_pixels_go_from_paper_to_ink(splits):
    assert splits.train.images.dtype == torch.float32
    assert splits.train.images.min() == 0
    assert splits.train.images.max() == 1
    # A zero is empty in the middle, and a one is not.
    middle = splits.train.images[:, 3:5, 3:5].mean(dim=(1, 2))
    assert middle[splits.train.labels == 0].mean() < 0.25
    assert middle[splits.train.labels == 1].mean() > 0.6


def test_every_split_and_every_beginning_has_each_digit_in_its_share(splits):
    for part in (splits.train, splits.validation, splits.test, splits.train.first(100)):
        count = part.labels.bincount(minlength=10)
        assert (count - len(part) / 10).abs().max() <= 0.03 * len(part) / 10 + 2


def test_the_seed_decides_and_nothing_else(splits):
    torch.manual_seed(3)
    before = torch.get_rng_state()
    again, other = digit_images(seed=5), digit_images(seed=6)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(again.test.images, splits.test.images)
    assert not torch.equal(other.test.labels, splits.test.labels)


def test_in_order_the_splits_follow_the_file():
    from sklearn.datasets import load_digits

    target = torch.from_numpy(load_digits().target)
    ordered = digit_images(num_validation=7, num_test=11, in_order=True)
    assert torch.equal(ordered.train.labels, target[:-18])
    assert torch.equal(ordered.validation.labels, target[-18:-11])
    assert torch.equal(ordered.test.labels, target[-11:])


@given(counts=st.lists(st.integers(1, 40), min_size=1, max_size=4), seed=st.integers(0, 9))
def test_an_even_mixture_is_an_order_with_fair_beginnings(counts, seed):
    labels = torch.arange(len(counts)).repeat_interleave(torch.tensor(counts))
    order = evenly_mixed(labels, seed=seed)
    assert torch.equal(order.sort().values, torch.arange(len(labels)))
    share = torch.tensor(counts) / len(labels)
    for end in range(1, len(labels) + 1):
        found = labels[order[:end]].bincount(minlength=len(counts))
        # Each label is within one image of its share of the stretch it has seen.
        assert (found - share * end).abs().max() <= len(counts)


def test_an_even_mixture_shuffles():
    labels = torch.zeros(50, dtype=torch.long)
    assert not torch.equal(evenly_mixed(labels, seed=0), evenly_mixed(labels, seed=1))
    assert not torch.equal(evenly_mixed(labels, seed=0), torch.arange(50))


def test_a_shift_is_one_of_nine_and_all_nine_come():
    torch.manual_seed(0)
    image = torch.rand(5, 7) + 0.1
    padded = torch.zeros(7, 9)
    padded[1:-1, 1:-1] = image
    nine = [padded[y : y + 5, x : x + 7] for y in range(3) for x in range(3)]
    found = [
        next(i for i, one in enumerate(nine) if torch.equal(one, moved))
        for moved in shifted(image.expand(300, 5, 7))
    ]
    assert set(found) == set(range(9))
    assert min(found.count(i) for i in range(9)) > 15


def test_no_ink_comes_in_at_the_other_side():
    images = torch.zeros(200, 5, 7)
    images[:, 0, 0] = 1.0
    assert (shifted(images)[:, 2:, :].sum() + shifted(images)[:, :, 2:].sum()) == 0


def test_a_generator_leaves_the_global_numbers_alone_and_repeats():
    images = torch.rand(20, 8, 8)
    before = torch.get_rng_state()
    one, two = (shifted(images, generator=torch.Generator().manual_seed(4)) for _ in range(2))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(one, two)


def test_accuracy_counts_the_largest_logits():
    digits = Digits(torch.zeros(4, 8, 8), torch.tensor([2, 0, 1, 1]))
    logits = torch.eye(3)[[2, 0, 1, 2]]
    assert digits.accuracy(logits) == 0.75


@pytest.mark.usefixtures("unchecked")
def test_mistakes_are_named(splits):
    with pytest.raises(ValueError, match="labels: expected one for each of 3 images, got 2"):
        Digits(torch.zeros(3, 8, 8), torch.tensor([1, 2]))
    for count in (0, 1198):
        with pytest.raises(ValueError, match=f"from 1 to 1197, got {count}"):
            splits.train.first(count)
    for sizes in ({"num_test": 0}, {"num_validation": 0}, {"num_test": 1797}):
        with pytest.raises(ValueError, match="at least 1 each, and fewer than 1797 together"):
            digit_images(**sizes)


def test_without_scikit_learn_one_error_says_what_to_install(monkeypatch):
    def refuse(name, *args, **kwargs):
        if name.startswith("sklearn"):
            raise ImportError(name)
        return really(name, *args, **kwargs)

    really = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r'scikit-learn: .* "attention-book\[data\] @ git'):
        digit_images()


def test_accuracy_wants_logits_for_every_image(splits):
    with pytest.raises(ValueError, match="logits: expected one row for each of 360 images, got 1"):
        splits.test.accuracy(torch.rand(1, 10))
