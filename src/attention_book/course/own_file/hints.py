"""A hint for every slip, by its name: where to look, not what to write."""

from collections.abc import Mapping

from attention_book.foundations.bilingual import Bilingual

HINTS: Mapping[str, Bilingual] = {
    # step 1
    "softmax-over-queries": Bilingual(
        "softmax 走错了轴：每个查询的一行加起来才是 1，键在最后一个轴。",
        "Softmax runs along the wrong axis: each query's row sums to 1, and the keys are on the"
        " last axis.",
    ),
    "axis-by-number": Bilingual(
        "一张表时对，成批就错：轴写死成了 1。最后一个轴是 -1。",
        "Right for one table, wrong for a batch: the axis is fixed as 1. The last one is -1.",
    ),
    "axis-zero": Bilingual(
        "轴写死成了 0，成批时那是批量的轴。最后一个轴是 -1。",
        "The axis is fixed as 0, which in a batch is the batch. The last one is -1.",
    ),
    "no-softmax": Bilingual(
        "评分还不是权重：先过 softmax。", "Scores are not weights yet: softmax comes first."
    ),
    "shares": Bilingual(
        "权重不是评分所占的份额：先取指数。",
        "Weights are not shares of the scores: take exponentials first.",
    ),
    "not-normalized": Bilingual(
        "取了指数，还没有除以它们的和。",
        "The exponentials are there, but nothing divides them by their sum.",
    ),
    "returns-weights": Bilingual(
        "返回的是权重，还没有对值求平均。",
        "These are the weights; the average of the values is still to come.",
    ),
    "scaled-twice": Bilingual(
        "评分的缩放不归 `attention_pooling` 管。",
        "Scaling the scores is not the job of `attention_pooling`.",
    ),
    "no-matrix-product": Bilingual(
        "按行加权平均是矩阵乘法：权重 (n, m) 在左，v (m, d) 在右，写成 `@`；`*` 是逐个相乘。",
        "The weighted average of the rows is a matrix product, written `@`, with the weights (n, m)"
        " on the left and v (m, d) on the right; `*` multiplies number by number.",
    ),
    "overflow": Bilingual(
        "大的评分取指数溢出了：用 `.softmax(-1)`，它先减去最大值。",
        "Large scores overflow in exp: `.softmax(-1)` subtracts the largest first.",
    ),
    # step 2
    "no-minus": Bilingual(
        "符号反了：越近，分应当越高。", "The sign is wrong: the nearer, the higher the score."
    ),
    "no-pairs": Bilingual(
        "每个 q 要跟每个 k 相减：给 q 加一个轴，`q[:, None] - k`，得一张 (n, m) 的表。",
        "Every q meets every k: with one more axis, `q[:, None] - k` is a table (n, m).",
    ),
    "no-half": Bilingual("指数里少了 1/2。", "The half in the exponent is missing."),
    "w-not-squared": Bilingual(
        "先乘 w，再平方：w 在平方里面。", "First times w, then squared: w is inside the square."
    ),
    "divided-by-w": Bilingual(
        "w 是乘上去的：w 越大，看得越窄。", "Multiply by w: the larger w, the narrower the look."
    ),
    "no-w": Bilingual("w 没有用上。", "w is not used."),
    "not-squared": Bilingual(
        "距离要平方，不是取绝对值。", "The distance is squared, not made absolute."
    ),
    "kernel-for-score": Bilingual(
        "这里要的是评分，不是核：取指数的事，`attention_pooling` 里的 softmax 会做。",
        "The score is wanted, not the kernel: the softmax in `attention_pooling` takes the"
        " exponential.",
    ),
    "transposed": Bilingual(
        "转置了：行是查询，列是键。", "It is transposed: queries are the rows, keys the columns."
    ),
    "column": Bilingual(
        "多了一个长度为 1 的轴：x 有几个，答案就有几个。",
        "There is an axis of size 1 too many: one answer for each x.",
    ),
    # step 3
    "mask-inverted": Bilingual(
        "掩码读反了：True 是“看得见”。",
        "The mask is read the other way round: True means “may see”.",
    ),
    "mask-inverted-nan": Bilingual(
        "掩码读反了：True 是“看得见”，要填掉的是 `~mask`。",
        "The mask is read the other way round: True means “may see”, so `~mask` is what to fill.",
    ),
    "mask-ignored": Bilingual("`mask` 没有用上。", "`mask` is not used."),
    "zeros-before": Bilingual(
        "评分 0 不是看不见：exp(0) 是 1。看不见是评分 −∞。",
        "A score of 0 is not hidden, for exp(0) is 1. To hide is to score −∞.",
    ),
    "zeros-after": Bilingual(
        "softmax 之后才抹去，剩下的加起来不到 1：在 softmax 之前动手。",
        "Wiped out after the softmax, so the rest no longer sums to 1: act before the softmax.",
    ),
    "nan-row": Bilingual(
        "什么都看不见的一行成了 NaN：0/0。这样的一行应当全是 0。",
        "A row that sees nothing becomes NaN, 0/0. Such a row should be all 0.",
    ),
    "average-row": Bilingual(
        "−1e9 挡得住，可是一行全挡住时，大家又平分了。这样的一行应当全是 0。",
        "−1e9 hides, but where a whole row is hidden all share alike. Such a row should be all 0.",
    ),
    "pooling-without-mask": Bilingual(
        "`attention_pooling` 没有把 `mask` 交给 `attention_weights`。",
        "`attention_pooling` does not hand `mask` on to `attention_weights`.",
    ),
    "without-itself": Bilingual(
        "每个位置也看得见自己：对角线是 True。", "Each place sees itself: the diagonal is True."
    ),
    "sees-future": Bilingual(
        "留下的是上三角：看见的成了后面的位置。",
        "That is the upper triangle: it shows the later places.",
    ),
    "sees-future-only": Bilingual(
        "这里 True 是“挡住”；本书的 True 是“看得见”。",
        "Here True means hidden; in this book True means “may see”.",
    ),
    "top-left": Bilingual(
        "n 比 m 少时，这 n 个是最后的 n 个：三角要向右移 m − n 格。",
        "With n < m, the n are the last ones: the triangle moves right by m − n.",
    ),
    "sees-one-ahead": Bilingual(
        "多看了一个：对角线右边那格应当是 False。",
        "One too many: right of the diagonal stands False.",
    ),
    "mask-not-boolean": Bilingual(
        "数都对，类型不对：掩码是布尔的，`dtype=torch.bool`。",
        "The numbers are right, the type is not: a mask is boolean, `dtype=torch.bool`.",
    ),
    "padding-mask-without-axis": Bilingual(
        "形状应当是 (B, 1, m)：中间的 1 对每个查询都一样。",
        "The shape is (B, 1, m): the 1 stands for every query.",
    ),
    "padding-mask-axis-behind": Bilingual(
        "长度 1 的轴是查询的，放在键的前面。",
        "The axis of size 1 is that of the queries, before the keys.",
    ),
    "gradient-nan": Bilingual(
        "空行的梯度是 NaN：先 `masked_fill`，再 softmax，最后再 `masked_fill`。",
        "The gradient of an empty row is NaN: `masked_fill`, softmax, and `masked_fill` again.",
    ),
    # step 4
    "no-scale": Bilingual("没有除以 √d。", "Nothing divides by √d."),
    "scale-without-root": Bilingual("除以了 d，没有开方。", "It divides by d, without the root."),
    "scale-multiplied": Bilingual("应当除以 √d，不是乘。", "Divide by √d, don't multiply."),
    "scale-by-keys": Bilingual(
        "d 是键的宽度，不是键的个数：`q.shape[-1]`。",
        "d is the width of a key, not the number of keys: `q.shape[-1]`.",
    ),
    "scale-by-queries": Bilingual(
        "d 是宽度，不是查询的个数：`q.shape[-1]`。",
        "d is the width, not the number of queries: `q.shape[-1]`.",
    ),
    "attend-without-mask": Bilingual(
        "`mask` 没有交给 `attention_pooling`。", "`mask` is not handed on to `attention_pooling`."
    ),
    "scale-twice": Bilingual(
        "√d 除了两次：`scaled_dot_product` 里已经除过一次。",
        "This divides by √d twice: `scaled_dot_product` has done it already.",
    ),
    # step 5
    "no-own-share": Bilingual(
        "少了减去的那一项：一个权重涨了，别的要让，Σα(v·g) 就是 o·g。",
        "The subtracted term is missing: where one weight grows the others give way; Σα(v·g) is"
        " o·g.",
    ),
    "no-softmax-slope": Bilingual(
        "梯度还没有穿过 softmax：每个评分的梯度里有它的权重 α。",
        "The gradient has not gone through the softmax: each score's has its weight α as a factor.",
    ),
    "backward-without-scale": Bilingual(
        "`scaled_dot_product` 除以 √d，梯度也要除一次。",
        "`scaled_dot_product` divides by √d, so the gradient is divided by it as well.",
    ),
    "backward-without-mask": Bilingual(
        "往回走时，掩码也要给 `attention_weights`。",
        "On the way back `attention_weights` needs the mask as well.",
    ),
    "sum-over-queries": Bilingual(
        "减去的和走错了轴：一行里的键加起来，`sum(-1, keepdim=True)`。",
        "The subtracted sum runs along the wrong axis: over the keys of a row,"
        " `sum(-1, keepdim=True)`.",
    ),
    "gradients-in-other-order": Bilingual("次序是 dq、dk、dv。", "The order is dq, dk, dv."),
    "plus-for-minus": Bilingual("是 v − o：减号写成了加号。", "It is v − o: minus, not plus."),
    "d-v-not-transposed": Bilingual(
        "dv 收集每个查询送来的：权重要转置。",
        "dv gathers what every query sends: the weights are transposed.",
    ),
    "d-k-not-transposed": Bilingual(
        "dk 收集每个查询送来的：评分的梯度要转置。",
        "dk gathers what every query sends: the scores' gradient is transposed.",
    ),
    # step 6
    "not-shifted": Bilingual(
        "读到的和要写的错开一个词：这样它只要照抄。",
        "What is read and what is written are one word apart: like this it need only copy.",
    ),
    "shifted-the-other-way": Bilingual(
        "反了：先读 <bos>，写第一个词。",
        "The other way round: it reads <bos> and writes the first word.",
    ),
    "shifted-sentences": Bilingual(
        "切的是句子那个轴，词在第二个轴：`target[:, :-1]`。",
        "That cuts the axis of sentences; words are on the second: `target[:, :-1]`.",
    ),
    "loss-counts-padding": Bilingual(
        "填充也算进去了：只算 `target != PAD` 的位置。",
        "Padding is counted, too: only places with `target != PAD` count.",
    ),
    "divided-by-padding": Bilingual(
        "分子里没有填充，分母里还有：除以真词的个数。",
        "Padding is gone from the sum but not from the count: divide by the real words.",
    ),
    "mean-of-means": Bilingual(
        "先按句平均再平均，短句的词就重了：真词放在一起平均一次。",
        "A mean of sentence means gives words of short sentences more weight: one mean over all"
        " real words.",
    ),
    "loss-summed": Bilingual(
        "是和，不是平均：除以真词的个数。", "That is the sum; divide by the number of real words."
    ),
    "divided-by-sentences": Bilingual(
        "除以了句数；应当除以真词的个数。", "Divided by the sentences; divide by the real words."
    ),
    "loss-without-minus": Bilingual(
        "少了负号：损失是 −log p。", "The minus is missing: the loss is −log p."
    ),
    "no-log": Bilingual(
        "取的是概率，不是它的对数。", "That is the probability, not its logarithm."
    ),
    "softmax-twice": Bilingual(
        "softmax 做了两次：`cross_entropy` 要的是没有过 softmax 的分数。",
        "Softmax was taken twice: `cross_entropy` wants raw logits.",
    ),
    # step 7
    "look-without-mask": Bilingual(
        "`mask` 没有交给 `attention_pooling`：连填充也看了。",
        "`mask` is not handed on to `attention_pooling`, so padding gets weight.",
    ),
    "look-no-pairs": Bilingual(
        "一个 s 要跟 m 个 h 相加：给 `W_q(s)` 加一个轴，(B, 1, d)。",
        "One s is added to m h's: give `W_q(s)` one more axis, (B, 1, d).",
    ),
    "no-tanh": Bilingual(
        "少了 tanh：没有它，查询对哪个键都加一样的分，等于没问。",
        "The tanh is missing: without it the query adds the same to every key, and asks nothing.",
    ),
    "tanh-of-each": Bilingual(
        "先相加，再 tanh：分开做，查询又不起作用了。",
        "Add first, then tanh: taken apart, the query again has no say.",
    ),
    "look-scaled": Bilingual("加性评分不除以 √d。", "Additive scores are not divided by √d."),
    "look-keeps-axis": Bilingual(
        "一个查询看一眼，返回 (B, d_h)：去掉长度 1 的轴。",
        "One query, one look, (B, d_h): drop the axis of size 1.",
    ),
    "look-relu": Bilingual("Bahdanau 用的是 tanh。", "Bahdanau's is a tanh."),
    "look-over-batch": Bilingual(
        "softmax 走了批量的轴：每一句的键加起来是 1。",
        "The softmax runs along the batch: each sentence's keys sum to 1.",
    ),
    "batch-mixed": Bilingual(
        "一句的结果变了，因为批里有别的句子。",
        "A sentence's result changes because others are in the batch.",
    ),
    # steps 8, 9
    "attention-without-mask": Bilingual(
        "`mask` 没有交给 `qkv_attention`。", "`mask` is not handed on to `qkv_attention`."
    ),
    "y-ignored": Bilingual(
        "给了 y，键和值就要从 y 来。", "With y given, keys and values come from y."
    ),
    "queries-from-y": Bilingual("反了：x 问，y 答。", "The other way round: x asks, y answers."),
    "keys-as-values": Bilingual(
        "值有自己的投影 `W_v`。", "Values have a projection of their own, `W_v`."
    ),
    "values-not-projected": Bilingual("值没有经过 `W_v`。", "The values do not go through `W_v`."),
    "order-seen": Bilingual(
        "自注意力不该知道次序：打乱词，结果也只是跟着打乱。",
        "Self-attention knows no order: shuffled words give shuffled results.",
    ),
    "split-by-view": Bilingual(
        "直接改形状，会把不同词的数切进同一个头：先分开最后一个轴，再换轴。",
        "To reshape at once cuts numbers of different words into one head: split the last axis,"
        " then swap axes.",
    ),
    "split-interleaved": Bilingual(
        "每个头要相邻的一段，不是每隔几个取一个。",
        "A head takes neighboring numbers, not every other one.",
    ),
    "split-without-transpose": Bilingual(
        "头的轴要在词的轴前面：换一次轴。",
        "The axis of heads comes before that of words: swap them.",
    ),
    "merge-by-view": Bilingual("合起来之前先把轴换回去。", "Swap the axes back before you merge."),
    "merge-heads-mixed": Bilingual(
        "每个词的各头依次排开，而不是交错。",
        "A word's heads stand one after another, not interleaved.",
    ),
    "mask-per-head": Bilingual(
        "一句一张的掩码被当成一头一张：`mask` 在头的位置要多一个轴。",
        "The mask of each sentence was taken for one of each head: `mask` needs an axis where the"
        " heads are.",
    ),
    "no-output-map": Bilingual("合起来之后还有 `W_o`。", "After merging comes `W_o`."),
    "scale-of-all": Bilingual(
        "每个头除以自己宽度的根号，不是整个 d 的。",
        "Each head divides by the root of its own width, not of all of d.",
    ),
    "one-head-only": Bilingual(
        "`heads` 没有起作用：还是一个头。", "`heads` has no effect: it is still one head."
    ),
    # step 10
    "sines-then-cosines": Bilingual(
        "正弦余弦要交错排：sin cos sin cos，而不是先全是 sin。",
        "Sines and cosines alternate: sin cos sin cos, not all sines first.",
    ),
    "cosine-first": Bilingual("每一对里正弦在前。", "In each pair the sine comes first."),
    "frequency-too-slow": Bilingual(
        "指数算了两遍 2：第 c 栏用 c/d，c 已经是 0, 2, 4, …。",
        "The 2 is counted twice: column c uses c/d, and c is 0, 2, 4, … already.",
    ),
    "frequency-halved": Bilingual(
        "指数少了 2：第 j 对用 2j/d。", "The 2 is missing in the exponent: pair j uses 2j/d."
    ),
    "angle-multiplied": Bilingual(
        "应当除以 10000 的幂：越往后转得越慢。",
        "Divide by the power of 10000: later pairs turn more slowly.",
    ),
    "counts-from-one": Bilingual("位置从 0 数起。", "Places count from 0."),
    "positions-transposed": Bilingual(
        "转置了：一行一个位置。", "It is transposed: a row for each place."
    ),
    # step 11
    "post-norm": Bilingual(
        "归一化放到了后面；本书这一层是先归一化（pre-norm）。",
        "The norm stands behind; this layer has it before (pre-norm).",
    ),
    "no-plus-attention": Bilingual(
        "注意力这里少了“x +”。", "The `x +` at the attention is missing."
    ),
    "no-plus-cross": Bilingual(
        "看原文这里少了“x +”。", "The `x +` at the look into the source is missing."
    ),
    "no-plus-feed-forward": Bilingual(
        "前馈这里少了“x +”。", "The `x +` at the feed-forward network is missing."
    ),
    "layer-without-mask": Bilingual(
        "`mask` 没有交给自注意力。", "`mask` is not handed on to the self-attention."
    ),
    "memory-mask-lost": Bilingual(
        "`memory_mask` 没有交到看原文的注意力那里：它在看填充。",
        "`memory_mask` does not reach the attention to the source: it looks at padding.",
    ),
    "cross-forgotten": Bilingual(
        "给了 `memory` 却没有看它。", "`memory` was given but not looked at."
    ),
    "no-norm": Bilingual("`norm_1`、`norm_3` 没有用上。", "`norm_1` and `norm_3` are not used."),
    "norm-once-missing": Bilingual(
        "前馈之前少了 `norm_3`。", "`norm_3` before the feed-forward network is missing."
    ),
    "no-bend": Bilingual(
        "前馈两层之间少了 ReLU：没有它，两层等于一层。",
        "A ReLU between the two maps is missing: without it two are one.",
    ),
    "wrong-d-ff": Bilingual("前馈是 d → d_ff → d。", "The feed-forward network goes d → d_ff → d."),
    # step 12
    "embedding-not-scaled": Bilingual(
        "嵌入没有乘 √d：位置的声音会盖过词。",
        "The embedding is not multiplied by √d: places drown out the words.",
    ),
    "no-positions": Bilingual("位置没有加上。", "The positions are not added."),
    "positions-scaled": Bilingual(
        "√d 只乘嵌入，不乘位置。", "√d multiplies the embedding, not the positions."
    ),
    "first-layer-only": Bilingual(
        "只过了一层：循环里要接着用 x。", "Only one layer was passed: the loop has to go on with x."
    ),
    "no-last-norm": Bilingual("最后还有一次 `norm`。", "A last `norm` is missing."),
    "norm-in-loop": Bilingual(
        "最后的 `norm` 只做一次，在循环之后。", "The last `norm` comes once, after the loop."
    ),
    "stack-without-mask": Bilingual(
        "`mask` 没有交给各层。", "`mask` is not handed on to the layers."
    ),
    "stack-without-memory": Bilingual(
        "`memory` 没有交给各层。", "`memory` is not handed on to the layers."
    ),
    "stack-without-memory-mask": Bilingual(
        "`memory_mask` 没有交给各层。", "`memory_mask` is not handed on to the layers."
    ),
    "layers-shared": Bilingual(
        "每层是同一个对象：`[Layer(...)] * depth` 只造了一层。",
        "All layers are one object: `[Layer(...)] * depth` makes one.",
    ),
    "layers-in-list": Bilingual(
        "层放在普通列表里，torch 看不见它们的参数：用 `nn.ModuleList`。",
        "In a plain list torch does not find the layers' parameters: use `nn.ModuleList`.",
    ),
    "embedding-too-large": Bilingual(
        "嵌入的初值太大：标准差 d**-0.5，乘上 √d 才是 1。",
        "The embedding starts too large: standard deviation d**-0.5, which √d makes 1.",
    ),
    # step 13
    "no-causal-mask": Bilingual(
        "没有因果掩码：它看得见要写的词。",
        "There is no causal mask: it sees the word that it is to write.",
    ),
    "encoder-sees-padding": Bilingual(
        "编码器没有拿到 `padding_mask(source)`，在看填充。",
        "The encoder does not get `padding_mask(source)` and looks at padding.",
    ),
    "padding-seen-everywhere": Bilingual(
        "`padding_mask(source)` 两处都没有用上。",
        "`padding_mask(source)` is missing in both places.",
    ),
    "encoder-causal": Bilingual(
        "编码器不用因果掩码：源句已经全在那里。",
        "The encoder needs no causal mask: the source is all there.",
    ),
    "no-readout": Bilingual(
        "还没有过 `readout`：要的是每个词的分数。",
        "`readout` is missing: a score for every word is wanted.",
    ),
    "decoder-ignores-source": Bilingual(
        "解码器没有看原文。", "The decoder does not look at the source."
    ),
    # step 14
    "rate-never-falls": Bilingual(
        "预热以后还要直线降下来。", "After the warm-up it comes down in a straight line."
    ),
    "rate-ends-at-zero": Bilingual(
        "最后一步成了 0，白走一步：用 steps + 1 − step。",
        "The last step is 0 and moves nothing: use steps + 1 − step.",
    ),
    "rate-jumps": Bilingual(
        "预热结束时断了一截：分母是 steps + 1 − warmup。",
        "It breaks off where the warm-up ends: the denominator is steps + 1 − warmup.",
    ),
    "rate-jumps-half": Bilingual(
        "预热结束时断了一截：分子、分母都从 steps + 1 数起。",
        "It breaks off where the warm-up ends: count both from steps + 1.",
    ),
    "rate-starts-at-zero": Bilingual(
        "第一步成了 0：步数从 1 数起。", "The first step is 0: steps count from 1."
    ),
    "gradients-pile-up": Bilingual(
        "梯度没有清零，一步步积了起来：`zero_grad`。",
        "Gradients are not cleared and pile up: `zero_grad`.",
    ),
    "no-clipping": Bilingual("梯度没有裁剪。", "The gradient is not clipped."),
    "constant-rate": Bilingual(
        "学习率没有变：每一步都要设。", "The rate never changes: set it at each step."
    ),
    "step-before-backward": Bilingual(
        "先 `backward`，再 `step`。", "First `backward`, then `step`."
    ),
    "rate-late": Bilingual(
        "步数从 1 数起：`enumerate(batches, 1)`。", "Steps count from 1: `enumerate(batches, 1)`."
    ),
    "never-steps": Bilingual(
        "参数没有动过：`adam.step()` 呢？", "The parameters never move: where is `adam.step()`?"
    ),
    "writes-after-end": Bilingual(
        "写了 <eos> 的句子还在写：之后填 PAD。",
        "A sentence that has ended goes on: fill with PAD after <eos>.",
    ),
    "without-bos": Bilingual("返回的译文以 <bos> 开头。", "What is returned begins with <bos>."),
    "first-place-read": Bilingual(
        "要看最后一个位置的预测：`[:, -1]`。", "Read the prediction at the last place: `[:, -1]`."
    ),
    "one-word-too-many": Bilingual("`most` 连 <bos> 也算在内。", "`most` counts <bos>, too."),
    # step 15
    "sorted-ids": Bilingual(
        "抽到的是排序后的名次，不是词：用 `gather` 换回词的号码。",
        "What is drawn is a rank, not a word: `gather` its number.",
    ),
    "temperature-multiplied": Bilingual(
        "温度是除数：越高越平。", "Divide by the temperature: the higher, the flatter."
    ),
    "temperature-ignored": Bilingual("温度没有用上。", "The temperature is not used."),
    "top-p-ignored": Bilingual("`top_p` 没有用上。", "`top_p` is not used."),
    "top-p-too-small": Bilingual(
        "跨过 top_p 的那个词也要留下：看它之前的和。",
        "The word that crosses top_p stays: look at the sum before it.",
    ),
    "always-greedy": Bilingual(
        "每次都取最大，没有抽。", "It always takes the likeliest; nothing is drawn."
    ),
    "sample-without-axis": Bilingual(
        "形状应当是 (B, 1)，好接在后面。", "The shape is (B, 1), ready to be appended."
    ),
    "write-without-prompt": Bilingual(
        "返回的要连开头一起。", "What is returned includes the beginning."
    ),
    "write-last-word-only": Bilingual(
        "每步只给了最后一个词，前文没有了。",
        "Each step gets the last word only; the text before is lost.",
    ),
    "write-prompt-only": Bilingual(
        "每步都从原来的开头预测：新词要接上去。",
        "Each step predicts from the same beginning: append the new word.",
    ),
    # step 16
    "positions-restart": Bilingual(
        "每一步的位置都从 0 数起：新词的位置是已读的词数。",
        "At each step places start at 0 again: a new word's place is how many were read.",
    ),
    "cache-lost": Bilingual(
        "前文的键和值没有接上：新词只看见自己。",
        "Earlier keys and values are not joined on: a new word sees only itself.",
    ),
    "cache-and-place-lost": Bilingual(
        "缓存没有起作用：每个词都像是第一个词。",
        "The cache has no effect: every word is read like a first one.",
    ),
    "cache-shared": Bilingual(
        "旧的缓存被改动了：拼接会造新的，别原地写。",
        "The old cache was changed: concatenate into new tensors, write nothing in place.",
    ),
    "write-reads-all": Bilingual(
        "`continue_text` 还在每步重读全文：有了缓存，只读新词。",
        "`continue_text` still reads everything at each step: with a cache, the new word is"
        " enough.",
    ),
    "write-forgets-prompt": Bilingual(
        "第一步要读整个开头，以后每步一个词。",
        "The first step reads the whole beginning, then one word at a time.",
    ),
    "start-ignored": Bilingual("`start` 没有用上。", "`start` is not used."),
    "normalized-over-all": Bilingual(
        "加起来是 1 的应当是每一行，不是整张表：只在最后一个轴上求和。",
        "Each row sums to 1, not the whole table: sum over the last axis only.",
    ),
    "log-for-weights": Bilingual(
        "取了对数：权重是 softmax 本身。",
        "These are logarithms; the weights are the softmax itself.",
    ),
    "queries-and-keys-swapped": Bilingual(
        "x 是查询，xs 是键：`gaussian_scores` 里查询在前。",
        "x are the queries and xs the keys: in `gaussian_scores` queries come first.",
    ),
    "padding-mask-hides-eos": Bilingual(
        "只有 PAD 是填充；<eos> 是真词，看得见。",
        "Only PAD is padding; <eos> is a real word and may be seen.",
    ),
    "loss-without-eos": Bilingual(
        "<eos> 也要学会写：不算的只有 PAD。",
        "<eos> has to be learnt, too: only PAD does not count.",
    ),
    "look-keys-as-values": Bilingual(
        "取平均的是 h 本身，不是 `W_k(h)`：它只用来评分。",
        "What is averaged is h itself; `W_k(h)` is for the scores only.",
    ),
    "maps-swapped": Bilingual(
        "`W_q` 给查询，`W_k` 给键：两个用反了。",
        "`W_q` makes queries and `W_k` keys: the two are swapped.",
    ),
    "mask-axis-misplaced": Bilingual(
        "头的轴从后面数是第三个：`unsqueeze(-3)`。从前面数，(n, m) 的掩码和 (B, n, m)"
        " 的就放不到同一处。",
        "The axis of heads is the third from the end: `unsqueeze(-3)`. Counted from the front,"
        " masks (n, m) and (B, n, m) would differ.",
    ),
    "norms-swapped": Bilingual(
        "自注意力前面的是 `norm_1`；`norm_3` 归前馈网络。",
        "Before the self-attention stands `norm_1`; `norm_3` belongs to the feed-forward network.",
    ),
    "cross-asks-itself": Bilingual(
        "`cross` 要看的是 `memory`：把它作为 y 交过去，掩码用 `memory_mask`。",
        "`cross` looks at `memory`: hand it over as y, with `memory_mask`.",
    ),
    "embedding-scaled-by-d": Bilingual(
        "嵌入乘的是 √d，不是 d。",
        "The embedding is multiplied by √d, not by d.",
    ),
    "softmax-in-model": Bilingual(
        "模型返回的是 logits：softmax 归 `token_loss` 和 `sample_next`。",
        "The model returns logits: `token_loss` and `sample_next` take the softmax.",
    ),
    "adam-made-anew": Bilingual(
        "Adam 在循环里重造，它记着的动量每步都丢了：只造一次。",
        "Adam is made anew in the loop and forgets its averages each time: make it once.",
    ),
    "losses-are-tensors": Bilingual(
        "记下的是张量，连着整张计算图：用 `.item()` 取出数来。",
        "These are tensors, each with its graph: take the number out, `.item()`.",
    ),
    "stops-too-early": Bilingual(
        "有一句写完就停了；要等所有句子都写完：`.all()`。",
        "It stops when one sentence has ended; wait for all of them: `.all()`.",
    ),
    "top-p-by-probability": Bilingual(
        "跟 top_p 比的不是一个词的概率，是排在它前面的概率之和。",
        "What is compared with top_p is not a word’s probability, but the sum of those before it.",
    ),
    "cross-cached": Bilingual(
        "看原文的注意力不用缓存：原文的键和值每步都一样，别接上去。",
        "The attention to the source takes no cache: its keys and values are the same at each"
        " step; don’t append them.",
    ),
    "past-counts-calls": Bilingual(
        "数的是读过的词，不是读了几次：一次可以读好几个词。",
        "Count the words that were read, not the calls: one call may read several.",
    ),
}
