"""Answers to the exercises on images."""

import torch


def cut(image, size, *, step=None, end=0, order=lambda places: places):
    height, width = image.shape
    step = size if step is None else step
    rows = order(range(0, height - end, step))
    columns = order(range(0, width - end, step))
    return torch.stack([image[y : y + size, x : x + size].flatten() for y in rows for x in columns])


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


def as_if_square(image, size):
    n = image.shape[0] // size
    return image.reshape(n, size, n, size).transpose(1, 2).reshape(n * n, size**2)


def sizes_exchanged(image, size):
    height, width = image.shape
    apart = image.reshape(width // size, size, height // size, size)
    return apart.transpose(1, 2).reshape(-1, size**2)


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


def class_if_any(visible):
    mask = hide(visible)
    mask[:, 0, 0] = visible.any(dim=1)
    return mask


def first_replaced(visible):
    mask = visible.clone()
    mask[:, 0] = True
    return mask[:, None]


def written_into(visible):
    visible[:, 0] |= True
    return hide(visible)


RIGHT = {
    "patches": [
        cut,
        lambda image, size: image.unfold(0, size, size).unfold(1, size, size).reshape(-1, size**2),
        lambda image, size: torch.cat(
            [
                torch.stack([each.flatten() for each in strip.split(size, dim=1)])
                for strip in image.split(size)
            ]
        ),
    ],
    "hide-patches": [
        hide,
        lambda visible: torch.nn.functional.pad(visible, (1, 0), value=True).unsqueeze(1),
        lambda visible: torch.cat((torch.ones(len(visible), 1) > 0, visible), dim=1)[:, None],
    ],
}

WRONG = {
    "patches": [
        (lambda image, size: image.flatten().view(-1, size**2), "strips"),
        (columns_first, "column-by-column"),
        (
            lambda image, size: cut(image, size).unflatten(1, (size, size)).mT.flatten(1),
            "turned",
        ),
        (lambda image, size: cut(image.T, size), "transposed"),
        (every_other, "scattered"),
        (lambda image, size: cut(image, size).T, "pixels-first"),
        (lambda image, size: image.unfold(0, size, size).unfold(1, size, size), "left-apart"),
        (lambda image, size: cut(image, size).unflatten(1, (size, size)), "left-square"),
        (lambda image, size: cut(image, size, step=1, end=size - 1), "overlapping"),
        (lambda image, size: cut(image, size, end=size), "rejected"),
        (lambda image, size: cut(image, size)[:-1], "rejected"),
        (lambda image, size: cut(image, size, order=reversed), "rejected"),
        (lambda image, size: cut(image.flip(0), size), "rejected"),
        (as_if_square, "rejected"),
        (sizes_exchanged, "height-for-width"),
        (lambda image, size: cut(image, 2), "rejected"),
        (lambda image, size: cut(image, size).mean(dim=1, keepdim=True), "rejected"),
        (lambda image, size: list(cut(image, size)), "type"),
        (lambda image, size: cut(image, size).flatten(), "rejected"),
    ],
    "hide-patches": [
        (at_the_end, "class-token-last"),
        (without_class, "class-token-hidden"),
        (class_if_any, "class-token-hidden"),
        (lambda visible: visible.unsqueeze(1), "class-token-forgotten"),
        (first_replaced, "first-patch-lost"),
        (lambda visible: hide(~visible), "inverted"),
        (lambda visible: ~hide(visible), "inverted"),
        (lambda visible: hide(visible).transpose(1, 2), "queries-hidden"),
        (lambda visible: hide(visible).mT & hide(visible), "queries-hidden"),
        (lambda visible: hide(visible) * 1.0, "numbers"),
        (lambda visible: hide(visible).long(), "numbers"),
        (lambda visible: torch.where(hide(visible), 0.0, -torch.inf), "bias"),
        (lambda visible: hide(visible).expand(-1, visible.shape[1] + 1, -1), "for-every-query"),
        (lambda visible: hide(visible)[:, 0], "rejected"),
        (lambda visible: hide(visible)[:1].expand(len(visible), -1, -1), "one-for-all"),
        (lambda visible: torch.ones_like(hide(visible)), "rejected"),
        (lambda visible: hide(visible)[:, None], "rejected"),
        (written_into, "rejected"),
        (lambda visible: hide(visible).tolist(), "type"),
    ],
}
