"""The Vision Transformer (ViT, Dosovitskiy et al. 2021): attention over patches."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attention_book.foundations.checks import check_sizes
from attention_book.foundations.shapes import Features
from attention_book.models.config import LayerConfig, PositionKind
from attention_book.models.layers import LayerStack
from attention_book.models.parts import NormOrder
from attention_book.models.resetting import ResettableModel
from attention_book.models.vision.patches import grid_sinusoids, patches

ImageBatch = Float[Tensor, "image height width"]
ClassLogits = Float[Tensor, "image num_classes"]
#: True = this patch may be seen.
VisiblePatches = Bool[Tensor, "image patch"]


@dataclass(frozen=True, kw_only=True)
class VisionTransformerConfig(LayerConfig):
    """Settings of a :class:`~attention_book.models.VisionTransformer`.

    Attributes:
        image_size: Height and width of the images, in pixels.
        patch_size: Height and width of a patch; must divide ``image_size``.
        num_classes: Number of answers.
        norm: The norm of every stack; here "pre" unless told otherwise.
        positions: The positions of every stack; here "learned" unless told otherwise. The class
            token is at position 0, the patches follow row by row; ``max_positions`` plays no part.
        grid: Whether the patches also get the sinusoids of their row and of their column,
            :func:`~attention_book.models.grid_sinusoids`.

    The others are those of every stack, :class:`~attention_book.models.LayerConfig`.

    Raises:
        ValueError: if a size is below 1, the patches don't fill the image, or what a
            ``LayerConfig`` refuses.

    >>> VisionTransformerConfig(image_size=8, patch_size=2).num_patches
    16
    """

    image_size: int = 8
    patch_size: int = 2
    num_classes: int = 10
    norm: NormOrder = "pre"
    positions: PositionKind = "learned"
    grid: bool = False

    def __post_init__(self) -> None:
        """Refuse what no model can be built from."""
        super().__post_init__()
        sizes = ("image_size", "patch_size", "num_classes")
        check_sizes(**{name: getattr(self, name) for name in sizes})
        if self.image_size % self.patch_size:
            raise ValueError(
                f"patch_size: expected a divisor of image_size={self.image_size}, "
                f"got {self.patch_size}"
            )

    @property
    def num_patches(self) -> int:
        """Number of patches of an image."""
        return (self.image_size // self.patch_size) ** 2


class VisionTransformer(ResettableModel):
    """Cut an image into patches, read them like words, and answer from one more token.

    .. math::

        z_0 = [c;\\; x_1 E + b;\\; \\dots;\\; x_n E + b] + P, \\qquad
        y = W\\, \\operatorname{layers}(z_0)_0

    Dosovitskiy et al. (2021), equations 1 to 4. The class token :math:`c` is learned, the
    same for every image; all that it knows of the image it gets by attention.

    Args:
        config: The settings.

    >>> model = VisionTransformer(VisionTransformerConfig())
    >>> model(torch.rand(3, 8, 8)).shape
    torch.Size([3, 10])
    """

    grid: Tensor

    def __init__(self, config: VisionTransformerConfig) -> None:
        """Create the embedding of patches, the class token, the layers and the classifier."""
        super().__init__()
        self.config = config
        self.embedding = nn.Linear(config.patch_size**2, config.d_model)
        self.class_token = nn.Parameter(torch.randn(config.d_model) * 0.5**0.5)
        self.encoder = LayerStack(replace(config, max_positions=1 + config.num_patches))
        self.classifier = nn.Linear(config.d_model, config.num_classes)
        if config.grid:
            side = config.image_size // config.patch_size
            self.register_buffer("grid", grid_sinusoids(side, side, config.d_model))

    def tokens(self, images: ImageBatch) -> Features:
        """Return the class token and one vector for each patch, without positions 0, 1, …

        Raises:
            ValueError: if the images have other axes or another size.
        """
        size = self.config.image_size
        if images.ndim != 3 or images.shape[1:] != (size, size):
            raise ValueError(
                f"images: expected the axes (image, height, width) with {size} by {size} pixels, "
                f"got the shape {tuple(images.shape)}"
            )
        embedded: Tensor = self.embedding(patches(images, self.config.patch_size))
        if self.config.grid:
            embedded = embedded + self.grid
        return torch.cat([self.class_token.expand(len(images), 1, -1), embedded], dim=1)

    def forward(self, images: ImageBatch, visible: VisiblePatches | None = None) -> ClassLogits:
        """Return a score for each class.

        Args:
            images: The images.
            visible: Patches that are False are seen by no token, as if they had been cut
                out of the image; None shows all.
        """
        mask = None if visible is None else visible_tokens(visible)
        logits: Tensor = self.classifier(self.encoder(self.tokens(images), mask)[:, 0])
        return logits


def visible_tokens(visible: VisiblePatches) -> Bool[Tensor, "image 1 token"]:
    """Return the mask that hides patches from every token; the class token stays visible.

    Args:
        visible: True = this patch may be seen.

    >>> visible_tokens(torch.tensor([[True, False, True]]))
    tensor([[[ True,  True, False,  True]]])
    """
    return nn.functional.pad(visible, (1, 0), value=True)[:, None, :]
