"""The one list of faults: by name, what usually breaks a law of attention."""

from collections.abc import Mapping
from types import MappingProxyType

from attention_book.foundations.bilingual import Bilingual

#: Name of each usual cause, to what to look at.
CAUSES: Mapping[str, Bilingual] = MappingProxyType(
    {
        "softmax-over-queries": Bilingual(
            "softmax 做在了查询轴上：每个查询的权重应当沿最后一轴（键）加起来等于 1",
            "the softmax runs over the queries: the weights of one query sum to 1 over the keys, "
            "the last axis",
        ),
        "no-scale": Bilingual(
            "评分没有除以每个头的宽度的平方根",
            "the scores are not divided by the root of the head's width",
        ),
        "scale-of-d-model": Bilingual(
            "除的是整个模型宽度的平方根，该除的是一个头的",
            "the scores are divided by the root of the model's width, not of one head's",
        ),
        "scale-without-root": Bilingual(
            "除的是宽度本身，没有开方；或者缩放了两次：自己除一次，函数里又除一次",
            "the scores are divided by the width itself, not by its root; or the scale is applied "
            "twice, by hand and by a function that does it too",
        ),
        "scaled-twice": Bilingual(
            "缩放了两次：自己乘一次，函数里又乘一次",
            "the scale is applied twice: by hand, and again by a function that does it",
        ),
        "mask-inverted": Bilingual(
            "掩码读反了：True 在有的库里是“遮住”，在有的库里是“可以看”",
            "the mask is read the other way round: True means blocked in some libraries, attend in "
            "others",
        ),
        "mask-ignored": Bilingual("掩码完全不起作用", "the mask has no effect at all"),
        "mask-lost-at-batch-1": Bilingual(
            "批量为 1 时掩码不起作用：被 squeeze 或对形状的判断弄丢了",
            "with a batch of one the mask has no effect: a squeeze or a test of shapes took it "
            "away",
        ),
        "mask-after-softmax": Bilingual(
            "softmax 之后才遮：遮住的键仍留在分母里",
            "the mask is applied after the softmax: hidden keys stay in the denominator",
        ),
        "scores-times-mask": Bilingual(
            "评分乘了掩码：评分为 0 不等于遮住，exp(0) 是 1",
            "the scores are multiplied by the mask: a score of 0 hides nothing, for exp(0) is 1",
        ),
        "mask-added-as-number": Bilingual(
            "布尔掩码当作 0 和 1 加到了评分上，该加的是 0 和 −inf",
            "a boolean mask is added to the scores as 0 and 1, instead of 0 and -inf",
        ),
        "mask-transposed": Bilingual(
            "掩码的查询轴和键轴对调了", "the mask has its query and key axes exchanged"
        ),
        "mask-on-queries": Bilingual(
            "填充掩码放到了查询（行）上，该放到键（列）上",
            "the padding mask is applied to the queries (rows), not to the keys (columns)",
        ),
        "mask-per-head": Bilingual(
            "头数碰巧等于样本数时，第 i 个样本的掩码给了第 i 个头",
            "with as many heads as examples, the mask of example i is used for head i",
        ),
        "mask-of-first-example": Bilingual(
            "所有样本都用了第一个样本的掩码", "the mask of the first example is used for all"
        ),
        "bias-scaled": Bilingual(
            "偏置（或相加的掩码）也跟着评分一起缩放了",
            "a bias or an additive mask is scaled along with the scores",
        ),
        "bias-ignored": Bilingual("偏置不起作用", "the bias has no effect"),
        "bias-reversed": Bilingual(
            "偏置的符号反了：该压低的反而抬高了（ALiBi 的斜率要减，不是加）",
            "the bias has the wrong sign: what it should push down it lifts (ALiBi subtracts its "
            "slopes)",
        ),
        "bias-from-the-start": Bilingual(
            "查询比键少时，偏置从第一个位置算起：有缓存时第 i 个查询站在 "
            "num_keys − num_queries + i",
            "with fewer queries than keys the bias counts from the first place: with a cache, "
            "query i stands at num_keys - num_queries + i",
        ),
        "bias-of-other-heads": Bilingual(
            "各头的偏置（斜率、桶）配错了头", "each head gets the bias of another head"
        ),
        "softcap-ignored": Bilingual("评分没有封顶", "the scores are not capped"),
        "softcap-before-scale": Bilingual(
            "先封顶，后缩放：该先缩放", "the scores are capped before they are scaled"
        ),
        "softcap-after-mask": Bilingual(
            "先遮后封顶：tanh(−inf) 是 −1，遮住的键又有了权重",
            "the cap comes after the mask: tanh(-inf) is -1, and hidden keys get weight again",
        ),
        "sinks-ignored": Bilingual("学来的汇（sink）不起作用", "the learned sinks have no effect"),
        "sinks-scaled": Bilingual(
            "学来的汇（sink）也跟着评分一起缩放了",
            "the learned sinks are scaled along with the scores",
        ),
        "sinks-as-zero": Bilingual(
            "汇（sink）固定为 0（分母加 1），没有用学来的数",
            "the sinks are fixed at 0 (1 is added to the denominator) instead of learned",
        ),
        "weights-averaged": Bilingual(
            "交出来的权重是各头的平均（torch 的 average_attn_weights）",
            "the reported weights are the mean over heads (torch's average_attn_weights)",
        ),
        "weights-before-softmax": Bilingual(
            "交出来的是评分，还没有做 softmax",
            "the reported weights are the scores before the softmax",
        ),
        "weights-before-mask": Bilingual(
            "交出来的权重是没有遮之前的", "the reported weights are those before the mask"
        ),
        "weights-transposed": Bilingual(
            "交出来的权重查询轴和键轴对调了",
            "the reported weights have their query and key axes exchanged",
        ),
        "weights-of-another-call": Bilingual(
            "交出来的权重是上一次调用留下的",
            "the reported weights are left over from an earlier call",
        ),
        "weights-not-used": Bilingual(
            "交出来的权重不是算输出时用的：按它们平均，得不到输出",
            "the output was not made with the reported weights: averaging by them does not give it",
        ),
        "reads-itself": Bilingual(
            "键或值取自查询那一边，没有取自记忆",
            "the keys or the values are made from the queries' side, not from the memory",
        ),
        "queries-mixed": Bilingual(
            "查询互相影响：softmax 或归一化沿查询轴做了",
            "the queries influence each other: a softmax or a norm runs over them",
        ),
        "residual-lost": Bilingual(
            "残差断了：子层输出为 0 时，输入到不了输出",
            "the residual path is cut: where the sublayers output 0, the input is lost",
        ),
        "mask-ignored-when-causal": Bilingual(
            "内置因果性时，另给的掩码被忽略",
            "where causality is built in, the mask given is ignored",
        ),
        "causality-ignored-with-mask": Bilingual(
            "另给掩码时，因果性被忽略", "where a mask is given, causality is ignored"
        ),
        "causal-from-the-start": Bilingual(
            "因果掩码对齐到了左上角：有缓存时，第 i 个查询站在 num_keys − num_queries + i",
            "the causal mask is aligned at the top left: with a cache, query i stands at "
            "num_keys - num_queries + i",
        ),
        "no-causal-mask": Bilingual(
            "看得见后面的位置：没有因果掩码，或者有沿时间轴的归一化、汇聚",
            "later places are visible: no causal mask, or a norm or pooling over time",
        ),
        "sees-one-ahead": Bilingual(
            "每个查询多看了一个键：下一个位置的", "each query sees one key too many: the next one"
        ),
        "without-itself": Bilingual(
            "查询看不见自己的位置：写了 <，该写 <=",
            "a query does not see its own place: < where it should be <=",
        ),
        "window-too-long": Bilingual("窗口里多了一个键", "the window holds one key too many"),
        "window-too-short": Bilingual("窗口里少了一个键", "the window holds one key too few"),
        "always-causal": Bilingual(
            "因果性关不掉，或者默认开着", "causality can't be switched off, or is on by default"
        ),
        "nan-for-empty-rows": Bilingual(
            "什么都看不见的一行是 0/0：NaN", "a row that may see nothing is 0/0: NaN"
        ),
        "average-for-empty-rows": Bilingual(
            "用有限的数（−1e9、finfo.min）来遮：什么都看不见的一行得到所有值的平均",
            "a finite fill (-1e9, finfo.min): a row that may see nothing averages all values",
        ),
        "fill-does-not-fit": Bilingual(
            "用来遮的数（−1e9）超出 float16 的范围：变成 −inf 再变成 NaN，或者报错",
            "the fill (-1e9) does not fit into float16: -inf and then NaN, or an error",
        ),
        "scores-overflow": Bilingual(
            "评分先在半精度里算出来再缩放：超过 65504 就是 inf",
            "the scores are computed in half precision before they are scaled: over 65504 they "
            "are inf",
        ),
        "exponential-overflow": Bilingual(
            "取指数之前没有减去这一行的最大值", "the row's maximum is not subtracted before exp"
        ),
        "kernel-underflow": Bilingual(
            "特征映射下溢成 0：得到 0/0 或 0", "a feature map underflows to 0, which gives 0/0 or 0"
        ),
        "coarse-sums": Bilingual(
            "该用 float32 求和的地方用了半精度：误差太大，不能只用舍入解释",
            "sums in half precision where float32 is needed: more error than rounding explains",
        ),
        "other-dtype": Bilingual(
            "结果的类型与输入不同", "the result does not have the dtype of the inputs"
        ),
        "grouped-heads-order": Bilingual(
            "键和值的头，重复的顺序不对：该用 repeat_interleave，不是 repeat",
            "the keys' heads are repeated in the wrong order: repeat_interleave, not repeat",
        ),
        "heads-split-wrong": Bilingual(
            "只用 view 切头，没有转置：位置和头混在一起",
            "heads are split by a view without the transpose: places and heads get mixed",
        ),
        "heads-merged-wrong": Bilingual(
            "只用 view 合并各头，没有先转置回来",
            "heads are merged by a view without transposing back first",
        ),
        "rotary-halves-for-pairs": Bilingual(
            "旋转位置配错了对：前后两半相配，还是相邻的相配",
            "rotary positions rotate the wrong pairs for these weights: halves instead of "
            "neighbors, or the other way round",
        ),
        "rotary-on-values": Bilingual("值也跟着旋转了", "the values are rotated too"),
        "rotary-on-queries-only": Bilingual(
            "只旋转了查询，没有旋转键", "the queries are rotated and the keys are not"
        ),
        "writes-into-inputs": Bilingual(
            "就地运算改写了传入的张量", "an in-place operation overwrites an argument"
        ),
        "writes-into-mask": Bilingual(
            "就地运算改写了掩码", "an in-place operation overwrites the mask"
        ),
        "memory-order-assumed": Bilingual(
            "把输入的内存当作连续的来读（as_strided、裸指针、记下的形状）",
            "the inputs' memory is read as if it were contiguous (as_strided, a raw "
            "pointer, a remembered shape)",
        ),
        "examples-mixed": Bilingual(
            "同一批里的样本互相影响", "examples of a batch influence each other"
        ),
        "dropout-in-eval": Bilingual(
            "eval 时仍在用暂退法：F.dropout 和 scaled_dot_product_attention 不认 .eval()",
            "dropout goes on in eval: F.dropout and scaled_dot_product_attention know nothing of "
            ".eval()",
        ),
        "not-deterministic": Bilingual(
            "两次同样的调用结果不同", "two identical calls give different results"
        ),
        "gradient-cut": Bilingual(
            "有的输入没有梯度，或者梯度不对：detach、no_grad、.data",
            "an input gets no gradient, or a wrong one: detach, no_grad, .data",
        ),
        "nan-gradients": Bilingual(
            "前向里遮掉的 NaN 在反向里传到了输入",
            "a NaN that the forward pass hides reaches the inputs in the backward pass",
        ),
        "hidden-numbers-matter": Bilingual(
            "遮住的数仍参加运算：0 乘以 NaN 或 inf 还是 NaN",
            "hidden numbers still take part: 0 times NaN or inf is NaN",
        ),
        "breaks-the-graph": Bilingual(
            "编译不成一整张图：.item()、按数值分支、打印",
            "can't be compiled as one graph: .item(), a branch on values, a print",
        ),
        "keeps-tensors-of-a-trace": Bilingual(
            "追踪计算图时建的表或缓存留了下来，又给了平常的调用",
            "a table or cache made while tracing a graph is kept and handed to ordinary calls",
        ),
        "padding-attended": Bilingual("填充得到了权重", "padding gets weight"),
        "length-dependent": Bilingual(
            "结果取决于填充后的长度：沿时间轴做了归一化或汇聚",
            "results depend on the padded length itself: there is a norm or pooling over time",
        ),
        "positions-from-padding": Bilingual(
            "位置从第一格数起，没有从第一个真词元数起",
            "positions are counted from the first place instead of the first real token",
        ),
        "positions-without-effect": Bilingual(
            "顺序不起作用：位置没有用上", "order has no effect: the positions are not used"
        ),
        "positions-of-steps": Bilingual(
            "带缓存的一步所站的位置与整段文字里的不同（偏移）",
            "cached steps stand at other positions than in the whole text (a wrong offset)",
        ),
        "cache-lost": Bilingual("带缓存的一步看不见过去", "a cached step does not see the past"),
        "cache-shared": Bilingual(
            "缓存就地改写：同一状态的两种续写互相干扰",
            "the cache is written in place: two continuations of one state disturb each other",
        ),
        "cache-window": Bilingual(
            "窗口满了之后带缓存的一步就不同：多丢或少丢了一个键",
            "cached steps differ once the window is full: one key too many or too few is dropped",
        ),
        "steps-count-padding": Bilingual(
            "读过右边有填充的开头之后，后面的步排在填充之后，或者看见了填充",
            "after a right-padded start, later steps are placed behind the padding, or see it",
        ),
        "beams-mixed": Bilingual(
            "缓存里的行不是所选的行", "the rows of the cache are not the selected ones"
        ),
        "raises": Bilingual("调用时报错", "the call raises"),
        "unknown": Bilingual("不像任何一个常见的原因", "no usual cause fits"),
    }
)

__all__ = ["CAUSES"]
