"""Real images: the handwritten digits of scikit-learn, 8 by 8 pixels."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from attention_book.foundations.environment import from_extra
from attention_book.foundations.seed import check_seed

#: Values of a pixel in the files: from 0, paper, to 16, ink.
_INK = 16.0


@dataclass(frozen=True)
class Digits:
    """Images of digits, and which digit each one shows.

    Attributes:
        images: How much ink there is in each pixel, from 0 (paper) to 1.
        labels: The digits, 0 to 9.

    >>> digits = Digits(torch.rand(5, 8, 8), torch.tensor([3, 1, 4, 1, 5]))
    >>> len(digits), digits.first(2).labels
    (5, tensor([3, 1]))
    """

    images: Float[Tensor, "image height width"]
    labels: Int[Tensor, " image"]

    def __post_init__(self) -> None:
        """Refuse images without a label, and labels without an image."""
        if len(self.images) != len(self.labels):
            raise ValueError(
                f"labels: expected one for each of {len(self.images)} images, "
                f"got {len(self.labels)}"
            )

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.labels)

    def first(self, count: int) -> "Digits":
        """Return the first ``count`` images.

        Raises:
            ValueError: if there are fewer.
        """
        if not 1 <= count <= len(self):
            raise ValueError(f"count: expected a number from 1 to {len(self)}, got {count}")
        return Digits(self.images[:count], self.labels[:count])

    def accuracy(self, logits: Float[Tensor, "image num_classes"]) -> float:
        """Return the fraction of images whose largest logit is the right digit.

        Raises:
            ValueError: if there is not one row of logits for each image.
        """
        if len(logits) != len(self):
            raise ValueError(
                f"logits: expected one row for each of {len(self)} images, got {len(logits)}"
            )
        return (logits.argmax(dim=-1) == self.labels).float().mean().item()


@dataclass(frozen=True)
class DigitSplits:
    """Images to learn from, to choose settings by, and to judge by once.

    Attributes:
        train: What the models learn from; its first images are a sample of every digit too.
        validation: What settings are chosen by.
        test: What is looked at once, at the end.

    >>> few = Digits(torch.rand(3, 8, 8), torch.tensor([0, 1, 2]))
    >>> len(DigitSplits(train=few, validation=few, test=few).train)
    3
    """

    train: Digits
    validation: Digits
    test: Digits


def digit_images(
    *, num_validation: int = 240, num_test: int = 360, seed: int = 0, in_order: bool = False
) -> DigitSplits:
    """Split the 1,797 digits of scikit-learn, with every digit in its share everywhere.

    They are the test set of Alpaydin and Kaynak (1998): 13 people's digits, scanned and
    reduced to 8 by 8 pixels. Nothing is downloaded, they come with scikit-learn.

    Args:
        num_validation: Number of images in ``validation``.
        num_test: Number of images in ``test``; all others are in ``train``.
        seed: Which images go where. Torch's global random numbers are left alone.
        in_order: Leave the images in the order of the file, in which each person's digits
            appear to stand together; the test set then comes last, by people of its own.

    Raises:
        ImportError: if scikit-learn is not installed.
        ValueError: if nothing is left to learn from, or a split is empty.

    >>> digits = digit_images()
    >>> len(digits.train), len(digits.validation), len(digits.test)
    (1197, 240, 360)
    >>> digits.test.labels.bincount()
    tensor([36, 37, 35, 37, 36, 36, 36, 36, 35, 36])
    """
    images, labels = _load()
    num_train = len(labels) - num_validation - num_test
    if min(num_train, num_validation, num_test) < 1:
        raise ValueError(
            f"num_validation and num_test: expected at least 1 each, and fewer than "
            f"{len(labels)} together, got {num_validation} and {num_test}"
        )
    order = torch.arange(len(labels)) if in_order else evenly_mixed(labels, seed=seed)
    sizes = [num_train, num_validation, num_test]
    return DigitSplits(*(Digits(images[part], labels[part]) for part in order.split(sizes)))


def evenly_mixed(labels: Int[Tensor, " image"], *, seed: int) -> Int[Tensor, " image"]:
    """Return a random order in which every stretch has its share of every label.

    The images of one label are shuffled and spread evenly over the whole; so any cut
    gives stratified parts.

    Args:
        labels: One for each image.
        seed: Of the shuffling, from 0 to 2**32 - 1.

    Raises:
        ValueError: if the seed is out of its range.

    >>> labels = torch.tensor([0, 0, 0, 0, 0, 0, 1, 1, 1])
    >>> labels[evenly_mixed(labels, seed=1)].view(3, 3).sum(dim=1)
    tensor([1, 1, 1])
    """
    check_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    place = torch.rand(len(labels), generator=generator)
    for label in labels.unique():
        own = labels == label
        rank = place[own].argsort().argsort()
        place[own] = (rank + torch.rand(1, generator=generator)) / own.sum()
    return place.argsort()


def shifted(
    images: Float[Tensor, "image height width"], *, generator: torch.Generator | None = None
) -> Float[Tensor, "image height width"]:
    """Move each image by at most one pixel, up or down and left or right, at random.

    What moves out is lost, what moves in is paper. To the eye the digit stays the same;
    does it to a model? In training, this makes nine images of one.

    Args:
        images: How much ink there is in each pixel.
        generator: The source of randomness, on the CPU; by default torch's global one.

    >>> image = torch.zeros(1, 4, 4)
    >>> image[0, 1, 1] = 1.0
    >>> shifted(image, generator=torch.Generator().manual_seed(3)).nonzero()
    tensor([[0, 1, 0]])
    """
    count, height, width = images.shape
    down, right = torch.randint(3, (2, count, 1), generator=generator)
    rows, columns = down + torch.arange(height), right + torch.arange(width)
    image = torch.arange(count)[:, None, None]
    return F.pad(images, (1, 1, 1, 1))[image, rows[:, :, None], columns[:, None, :]]


def _load() -> tuple[Tensor, Tensor]:
    with from_extra("data", "scikit-learn"):
        from sklearn.datasets import load_digits
    data = load_digits()
    return torch.from_numpy(data.images).float() / _INK, torch.from_numpy(data.target).long()
