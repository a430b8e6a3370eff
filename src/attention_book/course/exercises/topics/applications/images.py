"""Exercises on images: cutting one into patches, and hiding some of them."""

from collections.abc import Iterator

import torch
from torch import Tensor

from attention_book.course.exercises.exercise import Exercise, Mistake, Probe
from attention_book.foundations.bilingual import Bilingual
from attention_book.models import patches, visible_tokens


def _images() -> Iterator[Probe]:
    yield Probe((torch.arange(16.0).view(4, 4), 2))
    yield Probe((torch.randn(4, 6), 2), Bilingual("图像的宽大于高", "the image is wider than high"))
    yield Probe((torch.randn(9, 3), 3), Bilingual("只有一列小块", "there is one column of patches"))
    yield Probe((torch.randn(6, 9), 3), Bilingual("小块的边长是 3", "a patch is 3 pixels wide"))
    yield Probe((torch.randn(2, 3), 1), Bilingual("小块只有一个像素", "a patch is one pixel"))
    yield Probe((torch.randn(3, 3), 3), Bilingual("整张图是一块", "the whole image is one patch"))


def _squares(image: Tensor, size: int) -> Tensor:
    """Return (row of patches, row in the patch, column of patches, column in the patch)."""
    height, width = image.shape
    return image.reshape(height // size, size, width // size, size)


def _strips(image: Tensor, size: int) -> Tensor:
    return image.reshape(-1, size * size)


def _column_by_column(image: Tensor, size: int) -> Tensor:
    return _squares(image, size).permute(2, 0, 1, 3).reshape(-1, size * size)


def _turned(image: Tensor, size: int) -> Tensor:
    return _squares(image, size).permute(0, 2, 3, 1).reshape(-1, size * size)


def _turned_image(image: Tensor, size: int) -> Tensor:
    return _squares(image, size).permute(2, 0, 3, 1).reshape(-1, size * size)


def _scattered(image: Tensor, size: int) -> Tensor:
    height, width = image.shape
    squares = image.reshape(size, height // size, size, width // size)
    return squares.permute(1, 3, 0, 2).reshape(-1, size * size)


def _pixels_first(image: Tensor, size: int) -> Tensor:
    return patches(image, size).mT


def _left_apart(image: Tensor, size: int) -> Tensor:
    return _squares(image, size).transpose(1, 2)


def _left_square(image: Tensor, size: int) -> Tensor:
    return patches(image, size).reshape(-1, size, size)


def _overlapping(image: Tensor, size: int) -> Tensor:
    return image.unfold(0, size, 1).unfold(1, size, 1).reshape(-1, size * size)


def _sizes_exchanged(image: Tensor, size: int) -> Tensor:
    height, width = image.shape
    apart = image.reshape(width // size, size, height // size, size)
    return apart.transpose(1, 2).reshape(-1, size * size)


PATCHES = Exercise(
    name="patches",
    task=Bilingual(
        "写 `patches(image, size)`：把图像（高，宽）切成边长 size 的小块，每块排成一行；"
        "块与块、块里的像素，都按阅读的顺序。",
        "Write `patches(image, size)`: cut an image (height, width) into squares of size by size"
        " pixels, one row for each; squares, and the pixels in them, in reading order.",
    ),
    solution=lambda image, size: patches(image, size),
    probes=_images,
    mistakes=(
        Mistake(
            "strips",
            _strips,
            Bilingual(
                "每一行是横着的一条，不是方块：`reshape` 不换次序，合并之前先交换两个轴。",
                "Each row is a stretch of one line, not a square: `reshape` keeps the order, so"
                " swap two axes before you merge them.",
            ),
        ),
        Mistake(
            "column-by-column",
            _column_by_column,
            Bilingual(
                "小块是一列一列数的：先从左到右，再从上到下。",
                "The squares are counted column by column: go from left to right first, then down.",
            ),
        ),
        Mistake(
            "turned",
            _turned,
            Bilingual(
                "每块里的像素转置了：块内也先从左到右，再从上到下。",
                "The pixels of each square are transposed: inside, too, go from left to right"
                " first, then down.",
            ),
        ),
        Mistake(
            "transposed",
            _turned_image,
            Bilingual(
                "行与列全交换了：切的是转置过的图像。",
                "Rows and columns are swapped throughout: this cuts the transposed image.",
            ),
        ),
        Mistake(
            "scattered",
            _scattered,
            Bilingual(
                "一块里的像素在图像中并不相邻：拆轴时块的编号在前，块内的编号在后。",
                "The pixels of a square are no neighbors in the image: in splitting an axis, the"
                " number of the square comes first, the place within it second.",
            ),
        ),
        Mistake(
            "pixels-first",
            _pixels_first,
            Bilingual(
                "轴的次序反了：每一行是一块，每一列是块内的一个像素。",
                "The axes are the wrong way round: a row is a square, a column a pixel of it.",
            ),
        ),
        Mistake(
            "left-apart",
            _left_apart,
            Bilingual(
                "方块已经切好，还差最后一步：结果只有两个轴（块，像素）。",
                "The squares are right; one step is missing: the result has two axes, (patch,"
                " pixel).",
            ),
        ),
        Mistake(
            "left-square",
            _left_square,
            Bilingual(
                "每块还是方的：块内的两个轴要合成一个（块，像素）。",
                "Each patch is still a square: merge its two axes into one, (patch, pixel).",
            ),
        ),
        Mistake(
            "overlapping",
            _overlapping,
            Bilingual(
                "小块重叠了：每次移动的是 size 个像素，不是 1 个。",
                "The patches overlap: move on by size pixels, not by one.",
            ),
        ),
        Mistake(
            "height-for-width",
            _sizes_exchanged,
            Bilingual(
                "高与宽弄反了：`image.shape` 先是高。",
                "Height and width are mixed up: the height comes first in `image.shape`.",
            ),
        ),
    ),
)


def _visible() -> Iterator[Probe]:
    yield Probe((torch.tensor([[True, False, True, True]]),))
    yield Probe((torch.tensor([[False, True, True], [True, True, False]]),))
    nothing = torch.tensor([[True, True, True], [False, False, False]])
    yield Probe(
        (nothing,), Bilingual("有一张图的小块全被藏起", "every patch of an image is hidden")
    )
    one = torch.tensor([[True], [False]])
    yield Probe((one,), Bilingual("每张图只有一块", "an image is one patch"))
    square = torch.tensor([[True, False], [False, True], [True, True]])
    yield Probe((square,), Bilingual("图像数等于词元数", "as many images as tokens"))


def _padded(visible: Tensor, *, before: bool, value: bool) -> Tensor:
    extra = torch.full((len(visible), 1), value)
    return torch.cat([extra, visible] if before else [visible, extra], dim=1)


def _last(visible: Tensor) -> Tensor:
    return _padded(visible, before=False, value=True)[:, None, :]


def _hidden_class(visible: Tensor) -> Tensor:
    return _padded(visible, before=True, value=False)[:, None, :]


def _no_class(visible: Tensor) -> Tensor:
    return visible[:, None, :]


def _inverted(visible: Tensor) -> Tensor:
    return ~visible_tokens(visible)


def _half_inverted(visible: Tensor) -> Tensor:
    return _padded(~visible, before=True, value=True)[:, None, :]


def _blind_queries(visible: Tensor) -> Tensor:
    return visible_tokens(visible).mT


def _both(visible: Tensor) -> Tensor:
    return visible_tokens(visible) & visible_tokens(visible).mT


def _numbers(visible: Tensor) -> Tensor:
    return visible_tokens(visible).float()


def _class_if_any(visible: Tensor) -> Tensor:
    return torch.cat([visible.any(dim=1, keepdim=True), visible], dim=1)[:, None, :]


def _first_lost(visible: Tensor) -> Tensor:
    mask = visible.clone()
    mask[:, 0] = True
    return mask[:, None, :]


def _bias(visible: Tensor) -> Tensor:
    return torch.where(visible_tokens(visible), 0.0, -torch.inf)


def _for_every_query(visible: Tensor) -> Tensor:
    return visible_tokens(visible).expand(-1, visible.shape[1] + 1, -1)


def _one_for_all(visible: Tensor) -> Tensor:
    return visible_tokens(visible)[:1].expand(len(visible), -1, -1)


_NUMBERS = Bilingual(
    "0 和 1 会被当成偏置加到评分上：掩码是布尔张量。",
    "Zeros and ones would be added to the scores as a bias: a mask is boolean.",
)
_CLASS_HIDDEN = Bilingual(
    "类别词元被藏了起来；小块全被藏起的那张图，就什么都看不见了。",
    "The class token is hidden; in an image whose patches are all hidden, there is nothing left to"
    " see.",
)
_INVERTED = Bilingual(
    "掩码反了：`visible` 和掩码都以 True 表示看得见。",
    "The mask is inverted: in `visible` and in the mask alike, True means that it may be seen.",
)
_QUERIES = Bilingual(
    "藏的是查询：最后一个轴才是键。谁都看不见被藏的小块，被藏的小块自己看什么却不要紧。",
    "This hides queries: keys are the last axis. Nobody may see a hidden patch; what the hidden"
    " patch itself looks at does not matter.",
)

HIDE_PATCHES = Exercise(
    name="hide-patches",
    task=Bilingual(
        "写 `hide(visible)`：`visible`（图像，块）中 True 表示这一块看得见；"
        "返回掩码（图像，1，词元），词元 0 是类别词元，总是看得见。",
        "Write `hide(visible)`: in `visible` (image, patch), True means that the patch may be"
        " seen; return the mask (image, 1, token), where token 0 is the class token and always"
        " visible.",
    ),
    solution=visible_tokens,
    probes=_visible,
    mistakes=(
        Mistake(
            "class-token-last",
            _last,
            Bilingual(
                "类别词元排在最前面，你把它补在了最后：于是每一块都错开一位。",
                "The class token comes first, and you append it last: every patch is off by one.",
            ),
        ),
        Mistake("class-token-hidden", _hidden_class, _CLASS_HIDDEN),
        Mistake("class-token-hidden", _class_if_any, _CLASS_HIDDEN),
        Mistake(
            "class-token-forgotten",
            _no_class,
            Bilingual(
                "序列比小块多一个词元：忘了类别词元。",
                "The sequence has one token more than there are patches: the class token.",
            ),
        ),
        Mistake("inverted", _inverted, _INVERTED),
        Mistake("inverted", _half_inverted, _INVERTED),
        Mistake("queries-hidden", _blind_queries, _QUERIES),
        Mistake("queries-hidden", _both, _QUERIES),
        Mistake("numbers", _numbers, _NUMBERS),
        Mistake("numbers", lambda visible: visible_tokens(visible).long(), _NUMBERS),
        Mistake(
            "bias",
            _bias,
            Bilingual(
                "这是加到评分上的偏置：这里要的是布尔掩码，True 表示看得见。",
                "That is a bias to add to the scores; what is asked for is a boolean mask, True for"
                " visible.",
            ),
        ),
        Mistake(
            "first-patch-lost",
            _first_lost,
            Bilingual(
                "第一块被类别词元顶替了：词元比小块多一个，要补在前面。",
                "The class token has taken the first patch's place: there is one token more than"
                " there are patches, and it is put before them.",
            ),
        ),
        Mistake(
            "for-every-query",
            _for_every_query,
            Bilingual(
                "不必为每个查询复制一份：查询的轴长 1，会自动广播。",
                "No copy for each query is needed: their axis has size 1 and is broadcast.",
            ),
        ),
        Mistake(
            "one-for-all",
            _one_for_all,
            Bilingual(
                "所有图像都用了第一张的：每张有自己的掩码。",
                "All images got the first one's mask: each has its own.",
            ),
        ),
    ),
)

EXERCISES = (PATCHES, HIDE_PATCHES)
