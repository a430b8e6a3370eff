"""The sixteen steps: what each asks, and the laws that it has to keep."""

import tomllib
from collections.abc import Mapping

from attention_book.course.own_file.core import Law, Step
from attention_book.course.own_file.laws import functions, modules, running
from attention_book.course.own_file.source import beside
from attention_book.foundations.bilingual import Bilingual

LAWS: Mapping[int, tuple[Law, ...]] = {
    1: (
        Law(
            "formula",
            Bilingual(
                "`attention_pooling` 应当以 softmax(评分) 为权重，对值求平均",
                "`attention_pooling` should be the average of the values under softmax(scores)",
            ),
            functions.pool_formula,
            error_hint="no-matrix-product",
        ),
        Law(
            "shift",
            Bilingual(
                "每个评分都加 2000，权重不该变", "2000 more for every score changes no weight"
            ),
            functions.pool_shift,
            hint="overflow",
        ),
        Law(
            "nothing",
            Bilingual(
                "评分全一样，就是普通的平均", "where all scores are alike, it is the plain mean"
            ),
            functions.pool_nothing,
        ),
    ),
    2: (
        Law(
            "formula",
            Bilingual(
                "`gaussian_scores` 应当是 −((q − k)w)²/2",
                "`gaussian_scores` should be −((q − k)w)²/2",
            ),
            functions.gaussian_formula,
            error_hint="no-pairs",
        ),
        Law(
            "regression",
            Bilingual(
                "`kernel_regression` 应当以 softmax(评分) 为权重，对 ys 求平均",
                "`kernel_regression` should be the average of ys under softmax(scores)",
            ),
            functions.regression,
        ),
    ),
    3: (
        Law(
            "attention_weights",
            Bilingual(
                "`attention_weights` 应当只在看得见的键里分",
                "`attention_weights` should share among the keys that may be seen",
            ),
            functions.weights_formula,
        ),
        Law(
            "attention_pooling",
            Bilingual(
                "`attention_pooling` 应当用上 `mask`", "`attention_pooling` should use `mask`"
            ),
            functions.pool_masked,
        ),
        Law(
            "future_mask",
            Bilingual(
                "`future_mask(n, m)`：每个位置看得见自己和以前",
                "`future_mask(n, m)`: each place sees itself and what came before",
            ),
            functions.causal_formula,
        ),
        Law(
            "padding_mask",
            Bilingual(
                "`padding_mask` 在不是填充的地方是 True",
                "`padding_mask` is True where there is no padding",
            ),
            functions.real_formula,
        ),
        Law(
            "gradient",
            Bilingual("有空行时，梯度仍是有限的数", "with an empty row the gradient stays finite"),
            functions.gradient_of_empty,
            hint="gradient-nan",
        ),
    ),
    4: (
        Law(
            "scaled_dot_product",
            Bilingual(
                "`scaled_dot_product` 应当是 qkᵀ/√d", "`scaled_dot_product` should be qkᵀ/√d"
            ),
            functions.dot_formula,
        ),
        Law(
            "qkv_attention",
            Bilingual(
                "`qkv_attention` 应当跟 torch 的 `scaled_dot_product_attention` 一样",
                "`qkv_attention` should equal torch's `scaled_dot_product_attention`",
            ),
            functions.attend_formula,
        ),
    ),
    5: (
        Law(
            "formula",
            Bilingual(
                "三个梯度应当跟自动求导一样", "the three gradients should be those of autograd"
            ),
            functions.backward_formula,
        ),
    ),
    6: (
        Law(
            "teacher_forcing",
            Bilingual(
                "读的和写的错开一个词", "what is read and what is written are one word apart"
            ),
            functions.shifted_formula,
        ),
        Law(
            "token_loss",
            Bilingual(
                "`token_loss` 应当是真词的平均 −log p",
                "`token_loss` should be the mean −log p of the real words",
            ),
            functions.loss_formula,
        ),
    ),
    7: (
        Law(
            "formula",
            Bilingual(
                "`Look` 应当是 softmax(w_v tanh(W_q s + W_k h)) 对 h 的平均",
                "`Look` should average h under softmax(w_v tanh(W_q s + W_k h))",
            ),
            modules.look_formula,
            error_hint="look-no-pairs",
        ),
        Law(
            "batch",
            Bilingual("批里别的句子不影响这一句", "other sentences of the batch change nothing"),
            modules.look_of_other,
            hint="batch-mixed",
        ),
    ),
    8: (
        Law(
            "formula",
            Bilingual(
                "`AttentionLayer` 应当是 qkv_attention(W_q x, W_k y, W_v y)",
                "`AttentionLayer` should be qkv_attention(W_q x, W_k y, W_v y)",
            ),
            modules.attention_formula,
        ),
        Law(
            "order",
            Bilingual(
                "打乱词的次序，结果也照样打乱，别的不变",
                "shuffled words give the same results, shuffled",
            ),
            modules.attention_moves,
            hint="order-seen",
        ),
    ),
    9: (
        Law(
            "split_into_heads",
            Bilingual(
                "`split_into_heads` 和 `concat_heads` 应当按词分、按词合",
                "`split_into_heads` and `concat_heads` should keep words together",
            ),
            modules.heads_formula,
        ),
        Law(
            "heads",
            Bilingual(
                "每个头各看各的，再过 `W_o`", "each head attends by itself, then comes `W_o`"
            ),
            modules.multi_head,
        ),
        Law(
            "torch",
            Bilingual(
                "权重一样时，跟 `nn.MultiheadAttention` 一样",
                "with the same weights it equals `nn.MultiheadAttention`",
            ),
            modules.multi_head_torch,
        ),
    ),
    10: (
        Law(
            "formula",
            Bilingual(
                "`positional_encoding` 应当是正弦余弦表",
                "`positional_encoding` should be the table of sines and cosines",
            ),
            modules.positions_formula,
        ),
        Law(
            "turn",
            Bilingual(
                "相邻两行的点积处处一样", "neighbouring rows have the same dot product everywhere"
            ),
            modules.positions_turn,
        ),
    ),
    11: (
        Law(
            "formula",
            Bilingual("每一步应当是 x + f(norm(x))", "every move should be x + f(norm(x))"),
            modules.layer_formula,
        ),
        Law(
            "bend",
            Bilingual("前馈网络中间有个弯", "the feed-forward network bends"),
            modules.layer_bends,
            hint="no-bend",
        ),
        Law(
            "width",
            Bilingual("前馈网络中间宽 d_ff", "the feed-forward network is d_ff wide inside"),
            modules.layer_width,
            hint="wrong-d-ff",
        ),
    ),
    12: (
        Law(
            "layers",
            Bilingual(
                "该有 depth 层，各有各的参数",
                "there are depth layers, each with its own parameters",
            ),
            modules.stack_layers,
        ),
        Law(
            "formula",
            Bilingual(
                "嵌入乘 √d，加位置，过各层，归一化", "embedding times √d, positions, layers, norm"
            ),
            modules.stack_formula,
        ),
    ),
    13: (
        Law(
            "formula",
            Bilingual(
                "编码器、解码器、读出应当这样相接",
                "encoder, decoder and readout should be joined like this",
            ),
            modules.transformer_formula,
        ),
        Law(
            "laws",
            Bilingual("Transformer 的不变量", "what every Transformer keeps to"),
            modules.transformer_laws,
        ),
    ),
    14: (
        Law(
            "lr_share",
            Bilingual("`lr_share` 直线升，直线降", "`lr_share` goes straight up and straight down"),
            running.rate_formula,
        ),
        Law(
            "train_model",
            Bilingual(
                "四步训练的损失应当是这些", "four steps of training should have these losses"
            ),
            running.training_formula,
        ),
        Law(
            "greedy_decode",
            Bilingual(
                "`greedy_decode` 每次接上最可能的词",
                "`greedy_decode` appends the likeliest word each time",
            ),
            running.translating,
        ),
    ),
    15: (
        Law(
            "formula",
            Bilingual("`Writer` 是一摞因果的层和读出", "`Writer` is a causal stack and a readout"),
            running.writer_formula,
        ),
        Law(
            "sample_next",
            Bilingual("`sample_next` 按概率抽", "`sample_next` draws by probability"),
            running.sampling,
        ),
        Law(
            "continue_text",
            Bilingual("`continue_text` 接着写", "`continue_text` goes on writing"),
            running.writing,
        ),
    ),
    16: (
        Law(
            "steps",
            Bilingual(
                "一个词一个词地读，跟一次读完一样",
                "read word by word, the predictions are those of the whole",
            ),
            running.cache_formula,
            error_hint="cache-lost",
        ),
        Law(
            "pieces",
            Bilingual(
                "一段一段地读，跟一次读完一样",
                "read in pieces, the predictions are those of the whole",
            ),
            running.cache_pieces,
            error_hint="past-counts-calls",
        ),
        Law(
            "branches",
            Bilingual("从同一份缓存往两边写，互不影响", "two texts may go on from one cache"),
            running.cache_branches,
            hint="cache-shared",
            error_hint="cache-shared",
        ),
        Law(
            "spares",
            Bilingual("每步只读新词", "each step reads the new word only"),
            running.cache_spares,
        ),
        Law(
            "start",
            Bilingual(
                "`positional_encoding` 从 start 数起；`decode` 带缓存也一样",
                "`positional_encoding` counts from start; `decode` is the same with a cache",
            ),
            running.cache_translates,
            error_hint="cross-cached",
        ),
    ),
}


def _steps() -> tuple[Step, ...]:
    return tuple(
        Step(
            number=number,
            chapter=row["chapter"],
            title=Bilingual(**row["title"]),
            task=Bilingual(
                row["task"]["zh"].replace("\n", ""), " ".join(row["task"]["en"].split())
            ),
            names=row["names"],
            laws=LAWS[number],
        )
        for number, row in enumerate(tomllib.loads(beside("steps.toml"))["step"], start=1)
    )


#: All steps, the first one first.
STEPS = _steps()
