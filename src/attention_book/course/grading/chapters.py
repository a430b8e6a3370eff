"""The exercises by chapter, for whoever makes homework of them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from attention_book.foundations.bilingual import Bilingual


class Chapter(NamedTuple):
    """A chapter with exercises.

    Attributes:
        title: What it is called.
        exercises: Their names, in the order of the book.
    """

    title: Bilingual
    exercises: tuple[str, ...]


#: The chapters with exercises, by the name of their page, in the order of the book.
CHAPTERS: Mapping[str, Chapter] = MappingProxyType(
    {
        "what-you-need": Chapter(
            Bilingual(
                "你需要什么",
                "What you need",
            ),
            (
                "broadcast",
                "linear-layer",
                "embedding",
                "recurrent-steps",
                "cross-entropy",
                "gradient-step",
            ),
        ),
        "attention-cues": Chapter(
            Bilingual(
                "查询、键与值：你在找什么",
                "Queries, keys and values: what are you looking for?",
            ),
            ("attention-pooling",),
        ),
        "nadaraya-watson": Chapter(
            Bilingual(
                "核回归：听多远",
                "Kernel regression: how far to listen",
            ),
            (
                "nadaraya-watson",
                "leave-one-out",
            ),
        ),
        "masks": Chapter(
            Bilingual(
                "掩码：谁可以看谁",
                "Masks: who may look at whom",
            ),
            (
                "masked-softmax",
                "causal-with-cache",
            ),
        ),
        "scoring": Chapter(
            Bilingual(
                "评分函数：怎样才算相似",
                "Scoring functions: what counts as similar",
            ),
            (
                "scaled-dot-product",
                "additive-score",
            ),
        ),
        "gradients": Chapter(
            Bilingual(
                "梯度如何穿过注意力",
                "Gradients through attention",
            ),
            ("softmax-backward",),
        ),
        "parallel-text": Chapter(
            Bilingual(
                "平行语料",
                "Parallel text",
            ),
            (
                "teacher-forcing",
                "pad-batch",
            ),
        ),
        "seq2seq": Chapter(
            Bilingual(
                "没有注意力的编码器–解码器",
                "The encoder–decoder without attention",
            ),
            (
                "masked-loss",
                "clip-gradients",
            ),
        ),
        "bahdanau": Chapter(
            Bilingual(
                "Bahdanau 注意力：摊开书",
                "Bahdanau attention: the book is open",
            ),
            ("bahdanau-look",),
        ),
        "decoding-bleu": Chapter(
            Bilingual(
                "解码与 BLEU",
                "Decoding and BLEU",
            ),
            (
                "beam-step",
                "bleu",
            ),
        ),
        "trust": Chapter(
            Bilingual(
                "权重可信吗？",
                "Can we trust the weights?",
            ),
            ("alignment-error-rate",),
        ),
        "self-attention": Chapter(
            Bilingual(
                "自注意力：让词互相问",
                "Self-attention: the words query each other",
            ),
            ("causal-self-attention",),
        ),
        "multi-head": Chapter(
            Bilingual(
                "多头注意力：两个名字，两个平均数",
                "Multi-head attention: two names, two averages",
            ),
            (
                "split-heads",
                "merge-heads",
            ),
        ),
        "positional-encoding": Chapter(
            Bilingual(
                "位置编码：谁追谁",
                "Positional encoding: who chases whom",
            ),
            (
                "sinusoids",
                "place-words",
                "rotary",
                "rotary-attention",
                "alibi-bias",
            ),
        ),
        "transformer-layers": Chapter(
            Bilingual(
                "一层里的另外三样：前馈网络、残差、归一化",
                "Inside a layer: feed-forward, residual, norm",
            ),
            (
                "layer-norm",
                "post-norm",
            ),
        ),
        "transformer": Chapter(
            Bilingual(
                "Transformer：一整个模型",
                "The Transformer: one whole model",
            ),
            ("causal-in-both-modes",),
        ),
        "training-transformer": Chapter(
            Bilingual(
                "训练一位译者",
                "Training a translator",
            ),
            (
                "warm-up",
                "smoothed-loss",
            ),
        ),
        "language-models": Chapter(
            Bilingual(
                "语言模型：只留解码器",
                "Language models: the decoder alone",
            ),
            (
                "top-p",
                "prefix-mask",
            ),
        ),
        "inference": Chapter(
            Bilingual(
                "推理：每写一个词，什么是新的",
                "Inference: what is new at each word",
            ),
            ("cached-step",),
        ),
        "looking-inside": Chapter(
            Bilingual(
                "走进模型内部：哪些头真有用",
                "Looking inside: which heads matter?",
            ),
            ("previous-weight",),
        ),
        "induction-heads": Chapter(
            Bilingual(
                "归纳头：照着上文抄",
                "Induction heads",
            ),
            (
                "induction-score",
                "induction-by-hand",
                "logit-lens",
                "recovered-share",
            ),
        ),
        "failures": Chapter(
            Bilingual(
                "故障陈列馆",
                "A gallery of failures",
            ),
            ("looks-ahead",),
        ),
        "cost-of-a-word": Chapter(
            Bilingual(
                "写一个词的代价：为什么解码慢",
                "What a word costs: why is decoding slow?",
            ),
            (
                "repeat-key-heads",
                "step-bytes",
                "round-channels",
                "draw-the-rest",
            ),
        ),
        "efficient-attention": Chapter(
            Bilingual(
                "高效的注意力：平方非要不可吗",
                "Efficient attention: does it have to be square?",
            ),
            (
                "moved-rows",
                "merge-softmax",
            ),
        ),
        "serving": Chapter(
            Bilingual(
                "一台机器，许多读者：谁等谁",
                "Serving: one machine, many readers",
            ),
            (
                "continuous-steps",
                "step-plan",
            ),
        ),
        "long-context": Chapter(
            Bilingual(
                "长上下文：训练时没见过的距离",
                "Long context: distances never seen in training",
            ),
            (
                "kept-positions",
                "sink-softmax",
                "ntk-frequencies",
            ),
        ),
        "sparse-attention": Chapter(
            Bilingual(
                "稀疏注意力",
                "Sparse attention",
            ),
            (
                "select-keys",
                "route-blocks",
                "layers-needed",
            ),
        ),
        "fixed-state": Chapter(
            Bilingual(
                "大小固定的状态：一个总和能代替缓存吗",
                "A state of fixed size: can a sum replace the cache?",
            ),
            (
                "delta-step",
                "chunked-sum",
                "parity-states",
                "stack-memory",
            ),
        ),
        "modern-decoder": Chapter(
            Bilingual(
                "今天的解码器层",
                "The decoder block of today",
            ),
            (
                "rms-norm",
                "swiglu",
                "expert-gates",
                "cache-bytes",
                "lora-merged",
            ),
        ),
        "scaling-up": Chapter(
            Bilingual(
                "走向真实语料",
                "Scaling up to real text",
            ),
            (
                "padding-share",
                "mean-of-checkpoints",
            ),
        ),
        "soft-hard-local": Chapter(
            Bilingual(
                "软、硬与局部",
                "Soft, hard and local attention",
            ),
            (
                "local-gaussian",
                "reinforce",
            ),
        ),
        "forecasting": Chapter(
            Bilingual(
                "预测一个时间序列",
                "Forecasting a time series",
            ),
            (
                "mase",
                "scaled-by-the-past",
            ),
        ),
        "images": Chapter(
            Bilingual(
                "图像",
                "Images",
            ),
            (
                "patches",
                "hide-patches",
            ),
        ),
        "find-the-bug": Chapter(
            Bilingual(
                "找错",
                "Find the bug",
            ),
            (
                "final-states",
                "dead-parameters",
                "mask-test",
                "ignore-mask",
                "content-attention",
            ),
        ),
    }
)
