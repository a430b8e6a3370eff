"""Texts that several exercises share: hints for one fault, and what is special about an input."""

# --- hints: why an answer is wrong

NOT_SCALED = ("评分还没有除以 √d_k。", "The scores have not been divided by √d_k.")
SOFTMAX_TWICE = ("softmax 做了两次。", "The softmax was taken twice.")
LIKENESS_REVERSED = (
    "符号反了：越相似，评分越高。",
    "The sign is reversed: the more alike, the higher the score.",
)
DIVIDED_BY_D = ("除以的是 √d_k，不是 d_k。", "Divide by √d_k, not by d_k.")
OVER_OTHER_AXIS = (
    "softmax 用错了轴：要沿键，也就是最后一个轴。",
    "The softmax runs over the wrong axis: it goes over the keys, the last axis.",
)
WEIGHT_REVERSED = (
    "符号反了：评分越高，权重越大。",
    "The sign is reversed: a higher score means a larger weight.",
)
SET_TO_ZERO = (
    "把评分乘以 0 并没有遮住它：`exp(0)` 是 1，不是 0。",
    "A score times 0 is not hidden: `exp(0)` is 1, not 0.",
)
MASKED_LATE = (
    "先做 softmax 再遮，每行之和就小于 1：分母里还有看不见的键。",
    "Masking after the softmax leaves rows that sum to less than 1: the hidden keys are still in"
    " the denominator.",
)
NO_SOFTMAX = ("没有 softmax：评分还不是权重。", "There is no softmax: scores are no weights yet.")
EXPONENTIALS_OVERFLOW = (
    "评分大时指数溢出成无穷：先减去一行的最大值，或者交给 `softmax`。",
    "For large scores the exponential overflows to infinity: subtract the row's maximum first, or"
    " leave it to `softmax`.",
)
SIGN_ALONE = ("每个数都对，只是符号反了。", "Right but for the sign, which is reversed.")
LOSS_NEGATIVE = ("少了负号：损失不小于 0。", "The minus sign is missing: a loss is at least 0.")
ROUNDED = ("不要四舍五入。", "Do not round.")
NO_MASK = ("没有掩码：每个词都看见了未来。", "No mask: every word sees the future.")
FUTURE_MASKED_LATE = (
    "softmax 之后才遮，分母里还有未来：掩码要放在 softmax 之前。",
    "Masked after the softmax, the future is still in the denominator: mask before.",
)
UPSIDE_DOWN = (
    "掩码上下颠倒，每个词只看得见自己和未来：要 `tril`，不要 `triu`。",
    "The mask is upside down, and a word sees itself and the future: take `tril`, not `triu`.",
)
ONE_TOO_FAR = (
    "多数了一个：第一个词就在位置 offset。",
    "One too many: the first word stands at the position offset itself.",
)
MASK_INVERTED = ("掩码反了：True 表示可以看。", "The mask is inverted: True means “may attend”.")
ROUND_THE_END = (
    "`roll` 把最后一个词转到了开头：位置 0 前面没有词。",
    "`roll` brings the last word round to the start: nothing stands before place 0.",
)

# --- inputs: what is special about them

LARGE_SCORES = ("评分很大", "the scores are large")
AS_MANY = ("查询与键一样多", "there are as many queries as keys")
ONE_HEAD = ("只有一个头", "there is a single head")
FAR_APART = ("评分相差很大", "scores are far apart")
ONE_WORD = ("只有一个词", "there is a single word")
ONE_POSITION = ("只有一个位置", "there is a single position")
PADDED = ("有填充", "there is padding")
UNLIKELY_WORD = ("正确的词几乎不可能", "the right word is next to impossible")
ONE_KEY = ("只有一个键", "there is a single key")
WORD_3_ALONE = ("只来了第 3 个词", "word 3 comes alone")
ONE_PAIR = ("只有一对特征", "there is a single pair")
