"""A small convolutional network (CNN), for comparison."""

from jaxtyping import Float
from torch import Tensor, nn

from attention_book.foundations.checks import check_sizes


class SmallCNN(nn.Module):
    """Three convolutions of 3 by 3 pixels, halving the image twice, then a linear map.

    Locality is built in: a pixel's new features depend on its neighbors alone, and in
    the same way everywhere. After LeCun et al. (1998), with rectifiers and maxima.

    Args:
        channels: Features of a pixel after the first convolution; twice as many later.
        image_size: Height and width of the images, in pixels; a multiple of 4.
        num_classes: Number of answers.

    Raises:
        ValueError: if a size is below 1, or ``image_size`` can't be halved twice.

    >>> import torch
    >>> SmallCNN(channels=4)(torch.rand(3, 8, 8)).shape
    torch.Size([3, 10])
    """

    def __init__(self, *, channels: int, image_size: int = 8, num_classes: int = 10) -> None:
        """Create the layers."""
        super().__init__()
        check_sizes(channels=channels, image_size=image_size, num_classes=num_classes)
        if image_size % 4:
            raise ValueError(f"image_size: expected a multiple of 4, got {image_size}")
        few, many = channels, 2 * channels
        self.layers = nn.Sequential(
            nn.Conv2d(1, few, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.Conv2d(few, many, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(many, many, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Linear(many * (image_size // 4) ** 2, num_classes)

    def forward(
        self, images: Float[Tensor, "image height width"]
    ) -> Float[Tensor, "image num_classes"]:
        """Return a score for each class."""
        logits: Tensor = self.classifier(self.layers(images[:, None]).flatten(1))
        return logits
