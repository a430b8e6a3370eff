"""Exercises on the data of translation: shifted targets, and padded batches."""

from collections.abc import Iterator

import torch
from torch import Tensor

from attention_book.course.exercises.exercise import Exercise, Mistake, Probe
from attention_book.foundations.bilingual import Bilingual

Ids = list[int]

# --- teacher-forcing -------------------------------------------------------------------------


def _targets() -> Iterator[Probe]:
    yield Probe(([7, 5, 9], 2, 3))
    yield Probe(([4, 4], 2, 3))
    yield Probe(([8], 0, 1), Bilingual("句子只有一个词", "the sentence has one word"))


def _prepended(tokens: Ids, bos: int, eos: int) -> tuple[Ids, Ids]:
    output = [*tokens, eos]
    tokens.insert(0, bos)
    return tokens, output


TEACHER_FORCING = Exercise(
    name="teacher-forcing",
    task=Bilingual(
        "写 `shift(tokens, bos, eos)`：返回一对列表，教师强制时解码器的输入和它要预测的输出。",
        "Write `shift(tokens, bos, eos)`: return a pair of lists, the decoder's input under"
        " teacher forcing and the output it has to predict.",
    ),
    solution=lambda tokens, bos, eos: ([bos, *tokens], [*tokens, eos]),
    probes=_targets,
    mistakes=(
        Mistake(
            "no-bos",
            lambda tokens, bos, eos: (tokens, [*tokens[1:], eos]),
            Bilingual(
                "没有 `<bos>`：第一个词从来没有被预测过，翻译时解码器不知从何开始。",
                "No `<bos>`: the first word is never predicted, and in translation the decoder has"
                " nothing to start from.",
            ),
        ),
        Mistake(
            "no-eos",
            lambda tokens, bos, eos: ([bos, *tokens[:-1]], tokens),
            Bilingual(
                "输出里没有 `<eos>`：模型学不会停下来。",
                "The output has no `<eos>`: the model can't learn to stop.",
            ),
        ),
        Mistake(
            "not-shifted",
            lambda tokens, bos, eos: ([bos, *tokens, eos], [bos, *tokens, eos]),
            Bilingual(
                "输入与输出没有错开：每一步都能照抄输入，损失很低，却什么也没学到。",
                "Input and output are not shifted: every step can copy its input; the loss is low"
                " and nothing is learned.",
            ),
        ),
        Mistake(
            "eos-in-input",
            lambda tokens, bos, eos: ([bos, *tokens, eos], [*tokens, eos]),
            Bilingual(
                "输入多了一个 `<eos>`：句子结束之后没有什么要预测，两个列表应当一样长。",
                "The input has an `<eos>` too many: after the end there is nothing to predict, and"
                " both lists are equally long.",
            ),
        ),
        Mistake(
            "swapped",
            lambda tokens, bos, eos: ([*tokens, eos], [bos, *tokens]),
            Bilingual(
                "输入与输出颠倒了：解码器看着答案，去预测上一个词。",
                "Input and output are swapped: the decoder sees the answer and predicts the word"
                " before it.",
            ),
        ),
        Mistake(
            "in-place",
            _prepended,
            Bilingual(
                "`insert`、`append` 改写了语料里的句子："
                "下一轮它就有两个 `<bos>` 了。造一个新的列表。",
                "`insert` and `append` change the sentence in the corpus: in the next epoch it has"
                " two `<bos>`. Make a new list.",
            ),
        ),
    ),
)

# --- pad-batch -------------------------------------------------------------------------------


def _sentences() -> Iterator[Probe]:
    yield Probe(([[5, 6, 7], [8]], 0))
    yield Probe(([[4, 3], [9, 8, 7, 6, 3], [5, 5, 3]], 1))
    yield Probe(([[4, 3], [5, 3]], 0), Bilingual("句子一样长", "the sentences are equally long"))


def _padded(sentences: list[Ids], padding: int) -> tuple[Tensor, Tensor]:
    width = max(map(len, sentences))
    ids = torch.tensor([row + [padding] * (width - len(row)) for row in sentences])
    lengths = torch.tensor([len(row) for row in sentences])
    return ids, torch.arange(width) < lengths[:, None]


def _cut(sentences: list[Ids], padding: int) -> tuple[Tensor, Tensor]:
    width = min(map(len, sentences))
    ids = torch.tensor([row[:width] for row in sentences])
    return ids, torch.ones_like(ids, dtype=torch.bool)


def _padded_before(sentences: list[Ids], padding: int) -> tuple[Tensor, Tensor]:
    ids, mask = _padded([row[::-1] for row in sentences], padding)
    return ids.flip(-1), mask.flip(-1)


def _shared_row(sentences: list[Ids], padding: int) -> tuple[Tensor, Tensor]:
    rows = [[padding] * max(map(len, sentences))] * len(sentences)
    for row, sentence in zip(rows, sentences, strict=True):
        row[: len(sentence)] = sentence
    return torch.tensor(rows), _padded(sentences, padding)[1]


def _appended(sentences: list[Ids], padding: int) -> tuple[Tensor, Tensor]:
    result = _padded(sentences, padding)
    for row in sentences:
        row += [padding] * (result[0].shape[1] - len(row))
    return result


PAD_BATCH = Exercise(
    name="pad-batch",
    task=Bilingual(
        "写 `pad(sentences, padding)`：把编号的列表装进一个张量，"
        "短句后面补 padding；连同掩码一起返回，True 是真词。",
        "Write `pad(sentences, padding)`: put lists of ids into one tensor, with padding after"
        " the short ones; return it with a mask, True for real tokens.",
    ),
    solution=_padded,
    probes=_sentences,
    mistakes=(
        Mistake(
            "cut",
            _cut,
            Bilingual(
                "把长句截短了：应当向最长的句子看齐。",
                "Long sentences are cut: go by the longest one.",
            ),
        ),
        Mistake(
            "padded-before",
            _padded_before,
            Bilingual(
                "填充补在了前面：每个词的位置都变了，因果掩码和位置编码都会弄错。",
                "The padding stands before the words: it moves every position, and causal masks and"
                " positional encodings go wrong.",
            ),
        ),
        Mistake(
            "mask-inverted",
            lambda sentences, padding: (
                _padded(sentences, padding)[0],
                ~_padded(sentences, padding)[1],
            ),
            Bilingual("掩码反了：True 是真词。", "The mask is inverted: True marks real tokens."),
        ),
        Mistake(
            "shared-row",
            _shared_row,
            Bilingual(
                "`[row] * n` 是同一行的 n 个名字，改一行就改了所有行。",
                "`[row] * n` is one row under n names: change one and all of them change.",
            ),
        ),
        Mistake(
            "in-place",
            _appended,
            Bilingual(
                "交进来的句子自己变长了：`+=` 和 `append` 就地改写列表，语料被填充污染。",
                "The sentences themselves grew: `+=` and `append` change a list in place, and the"
                " corpus is polluted with padding.",
            ),
        ),
    ),
)

EXERCISES = (TEACHER_FORCING, PAD_BATCH)
