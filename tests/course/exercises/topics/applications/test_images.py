import pytest
import torch

from attention_book.course.exercises import check


def cut(image, size):
    height, width = image.shape
    return torch.stack(
        [
            image[y : y + size, x : x + size].flatten()
            for y in range(0, height, size)
            for x in range(0, width, size)
        ]
    )


def columns_first(image, size):
    height, width = image.shape
    return torch.stack(
        [
            image[y : y + size, x : x + size].flatten()
            for x in range(0, width, size)
            for y in range(0, height, size)
        ]
    )


def every_other(image, size):
    rows, columns = image.shape[0] // size, image.shape[1] // size
    return torch.stack(
        [image[y::rows, x::columns].flatten() for y in range(rows) for x in range(columns)]
    )


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda image, size: image.flatten().view(-1, size**2), "strips"),
        (columns_first, "column-by-column"),
        (lambda image, size: cut(image, size).unflatten(1, (size, size)).mT.flatten(1), "turned"),
        (lambda image, size: cut(image.T, size), "transposed"),
        (every_other, "scattered"),
        (lambda image, size: cut(image, size).T, "pixels-first"),
        (lambda image, size: image.unfold(0, size, size).unfold(1, size, size), "left-apart"),
    ],
)
def test_cutting(answer, mistake):
    assert check("patches", cut)
    verdict = check("patches", answer)
    assert not verdict
    assert verdict.mistake == mistake


def hide(visible):
    mask = torch.ones(len(visible), 1, visible.shape[1] + 1, dtype=torch.bool)
    mask[:, 0, 1:] = visible
    return mask


def at_the_end(visible):
    mask = torch.ones(len(visible), 1, visible.shape[1] + 1, dtype=torch.bool)
    mask[:, 0, :-1] = visible
    return mask


def without_class(visible):
    mask = hide(visible)
    mask[:, :, 0] = False
    return mask


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (at_the_end, "class-token-last"),
        (without_class, "class-token-hidden"),
        (lambda visible: visible.unsqueeze(1), "class-token-forgotten"),
        (lambda visible: hide(~visible), "inverted"),
        (lambda visible: ~hide(visible), "inverted"),
        (lambda visible: hide(visible).transpose(1, 2), "queries-hidden"),
        (lambda visible: hide(visible).mT & hide(visible), "queries-hidden"),
        (lambda visible: hide(visible) * 1.0, "numbers"),
    ],
)
def test_hiding(answer, mistake):
    assert check("hide-patches", hide)
    verdict = check("hide-patches", answer)
    assert not verdict
    assert verdict.mistake == mistake
