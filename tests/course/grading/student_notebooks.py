"""Notebooks as sixty students hand them in: eight exercises, a figure, now and then a mishap."""

import json
import os
import random

HEAD = """import math
import torch
import matplotlib.pyplot as plt
from torch.nn import functional as F
from attention_book.attention import causal_mask
from attention_book.course.exercises import check"""
FIGURE = """w = torch.randn(6, 6).masked_fill(~causal_mask(6, 6), -torch.inf).softmax(-1)
fig, ax = plt.subplots()
ax.imshow(w); ax.set_title("注意力 attention")
fig.savefig("map.png")"""
RIGHT = {
    "attention-pooling": "lambda scores, values: scores.softmax(-1) @ values",
    "softmax-backward": "lambda a, g: a * (g - (a * g).sum(-1, keepdim=True))",
    "cross-entropy": "lambda logits, targets: (logits.logsumexp(-1)"
    " - logits.gather(-1, targets[:, None])[:, 0]).mean()",
    "linear-layer": "lambda x, W, b: x @ W.T + b",
    "rms-norm": "lambda x, g: x / (x.pow(2).mean(-1, keepdim=True) + 1e-6).sqrt() * g",
    "repeat-key-heads": "lambda x, n: x.repeat_interleave(n // x.shape[1], 1)",
    "layer-norm": "lambda x, g, b: F.layer_norm(x, x.shape[-1:], g, b)",
    "post-norm": "lambda x, sublayer, norm: norm(x + sublayer(x))",
}
WRONG = {
    "attention-pooling": "lambda scores, values: scores.softmax(-2) @ values",
    "softmax-backward": "lambda a, g: a * (1 - a) * g",
    "cross-entropy": "lambda logits, targets:"
    " logits.log_softmax(-1)[range(len(targets)), targets].mean()",
    "linear-layer": "lambda x, W, b: x @ W.T",
    "rms-norm": "lambda x, g: (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True) * g",
    "repeat-key-heads": "lambda x, n: x.repeat(1, n // x.shape[1], 1, 1)",
    "layer-norm": "lambda x, g, b: (x - x.mean(0)) / x.std(0) * g + b",
    "post-norm": "lambda x, sublayer, norm: x + sublayer(norm(x))",
}
MISHAPS = {
    "loop": "def f(*a):\n    while True: pass\ncheck('attention-pooling', f)",
    "exit": "import sys; sys.exit(0)",
    "crash": "import ctypes; ctypes.string_at(0)",
    "flood": "for i in range(200000): print('waiting')",
    "fork": "import os\nos.fork()",
    "error": "1 / 0",
    "pip": "!pip install torch",
    "cheat": "import attention_book.course.exercises as e\n"
    "check('linear-layer', e.EXERCISES['linear-layer'].solution)",
    "empty": "",
}


def make(folder, count=60):
    """Write notebooks; return of each which answers are right, None where that is not known."""
    folder.mkdir(parents=True, exist_ok=True)
    expected = {}
    for number in range(count):
        draw = random.Random(number)
        cells, truth = [HEAD], {}
        for name in RIGHT:
            good = draw.random() < 0.7
            cells.append(f"answer = {(RIGHT if good else WRONG)[name]}\ncheck({name!r}, answer)")
            truth[name] = good
        cells.append(FIGURE)
        if number % 4 == 0:
            kind = list(MISHAPS)[number // 4 % len(MISHAPS)]
            cells.insert(draw.randrange(1, len(cells)), MISHAPS[kind])
            if kind == "loop":
                truth["attention-pooling"] = None
        name = f"student {number:02} 学生.ipynb"
        (folder / name).write_text(notebook(cells), encoding="utf8")
        expected[name] = truth
    return expected


def notebook(cells):
    """Return the text of a notebook with these code cells."""
    common = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    title = {"cell_type": "markdown", "metadata": {}, "source": "# 作业"}
    return json.dumps(
        {
            "nbformat": 4,
            "nbformat_minor": 5,
            "metadata": {},
            "cells": [title, *({**common, "source": cell} for cell in cells)],
        },
        ensure_ascii=False,
    )


def make_broken(folder):
    """Write files that only look like notebooks; return which can be read all the same."""
    deep = b"[" * 100_000
    files = {
        "empty.ipynb": b"",
        "broken.ipynb": b'{"cells": [',
        "latin.ipynb": '{"cells": ["é"]}'.encode("latin-1"),
        "utf16.ipynb": '{"cells": []}'.encode("utf-16"),
        "list.ipynb": b"[1, 2, 3]",
        "number.ipynb": b"7",
        "deep.ipynb": deep,
        "markdown.ipynb": b'{"cells": [{"cell_type": "markdown", "source": "# hello"}]}',
        "none.ipynb": b'{"cells": []}',
        "cells.ipynb": b'{"cells": [{"cell_type": "code", "source": 7}, 5, null]}',
        "bom.ipynb": b'\xef\xbb\xbf{"cells": [{"cell_type": "code", "source": ["print(1)"]}]}',
        "old.ipynb": b'{"worksheets": [{"cells": [{"cell_type": "code", "input": "print(1)"}]}]}',
        "=cmd|calc.ipynb": b'{"cells": [{"cell_type": "code", "source": "print(1)"}]}',
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    (folder / "link.ipynb").symlink_to("/etc/passwd")
    os.mkfifo(folder / "pipe.ipynb")
    (folder / "folder.ipynb").mkdir()
    return {"markdown.ipynb", "none.ipynb", "bom.ipynb", "old.ipynb", "=cmd|calc.ipynb"}
