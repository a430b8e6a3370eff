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
    yield Probe(([], 2, 3), Bilingual("句子是空的", "the sentence is empty"))


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
        Mistake(
            "no-eos",
            lambda tokens, bos, eos: ([bos, *tokens], list(tokens)),
            Bilingual(
                "输出里没有 `<eos>`：模型学不会停下来，两个列表也不一样长。",
                "The output has no `<eos>`: the model can't learn to stop, and the two lists "
                "differ in length.",
            ),
        ),
        Mistake(
            "not-shifted",
            lambda tokens, bos, eos: (list(tokens), list(tokens)),
            Bilingual(
                "输入与输出相同：每一步都能照抄输入。输入前面加 `<bos>`，输出后面加 `<eos>`。",
                "Input and output are the same, and every step can copy: `<bos>` comes before "
                "the input, `<eos>` after the output.",
            ),
        ),
        Mistake(
            "bos-in-output",
            lambda tokens, bos, eos: ([bos, *tokens], [bos, *tokens, eos]),
            Bilingual(
                "`<bos>` 不用预测：输出从第一个词开始。",
                "`<bos>` is not to be predicted: the output begins with the first word.",
            ),
        ),
        Mistake(
            "markers-swapped",
            lambda tokens, bos, eos: ([eos, *tokens], [*tokens, bos]),
            Bilingual(
                "标记弄反了：输入以 `<bos>` 开头，输出以 `<eos>` 结尾。",
                "The markers are mixed up: the input begins with `<bos>`, the output ends with "
                "`<eos>`.",
            ),
        ),
        Mistake(
            "markers-swapped",
            lambda tokens, bos, eos: ([eos, *tokens], [*tokens, eos]),
            Bilingual(
                "标记弄反了：输入以 `<bos>` 开头，输出以 `<eos>` 结尾。",
                "The markers are mixed up: the input begins with `<bos>`, the output ends with "
                "`<eos>`.",
            ),
        ),
        Mistake(
            "markers-fixed",
            lambda tokens, bos, eos: ([2, *tokens], [*tokens, 3]),
            Bilingual(
                "`bos` 与 `eos` 是参数：不要写死它们的编号。",
                "`bos` and `eos` are arguments: do not write their numbers into the function.",
            ),
        ),
        Mistake(
            "in-pairs",
            lambda tokens, bos, eos: list(zip([bos, *tokens], [*tokens, eos], strict=True)),
            Bilingual(
                "返回的是一对一对的数：要一对列表，先输入，后输出。",
                "These are pairs of numbers: return a pair of lists, the input first.",
            ),
        ),
    ),
)

# --- pad-batch -------------------------------------------------------------------------------


def _sentences() -> Iterator[Probe]:
    yield Probe(([[5, 6, 7], [8]], 0))
    yield Probe(([[4, 3], [9, 8, 7, 6, 3], [5, 5, 3]], 1))
    yield Probe(([[4, 3], [5, 3]], 0), Bilingual("句子一样长", "the sentences are equally long"))
    yield Probe(
        ([[0, 7, 0], [0]], 0),
        Bilingual("句子里有编号与填充相同的词", "a word in a sentence has the padding's number"),
    )
    yield Probe(([[6, 5]], 2), Bilingual("只有一个句子", "there is a single sentence"))


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


def _mask_from_ids(sentences: list[Ids], padding: int) -> tuple[Tensor, Tensor]:
    ids = _padded(sentences, padding)[0]
    return ids, ids != padding


PAD_BATCH = Exercise(
    name="pad-batch",
    task=Bilingual(
        "写 `pad(sentences, padding)`：把编号的列表装进一个张量，短句后面补 padding；连"
        "同掩码一起返回，True 是真词。句子里也可以有编号等于 padding 的词。",
        "Write `pad(sentences, padding)`: put lists of ids into one tensor, with "
        "padding after the short ones; return it with a mask, True for real tokens. A "
        "sentence may hold a word whose id equals padding.",
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
        Mistake(
            "mask-from-ids",
            _mask_from_ids,
            Bilingual(
                "掩码是从编号猜出来的：句子里有编号等于 padding 的词，就把它也遮住了。按句子的"
                "长度来。",
                "The mask is guessed from the ids: a word whose id equals padding is hidden as "
                "well. Go by the lengths of the sentences.",
            ),
        ),
        Mistake(
            "zeros",
            lambda sentences, padding: (_padded(sentences, 0)[0], _padded(sentences, padding)[1]),
            Bilingual("补的总是 0：要补 `padding`。", "The padding is always 0: take `padding`."),
        ),
        Mistake(
            "time-first",
            lambda sentences, padding: (
                _padded(sentences, padding)[0].mT,
                _padded(sentences, padding)[1].mT,
            ),
            Bilingual(
                "行是句子，列是位置：结果转置了。",
                "Rows are sentences and columns are positions: the result is transposed.",
            ),
        ),
        Mistake(
            "sorted",
            lambda sentences, padding: _padded(sorted(sentences, key=len, reverse=True), padding),
            Bilingual(
                "句子的次序变了：不要排序，译文还要与它们对得上。",
                "The sentences come in another order: do not sort them, since their "
                "translations have to match.",
            ),
        ),
    ),
)

EXERCISES = (TEACHER_FORCING, PAD_BATCH)
