"""The reasons of errors in Chinese: what was expected, what came, and where.

A reason reads "where: expected this, got that; what to do". Its parts are put into Chinese one by
one, so that a phrase stands here once, whatever it is said of. What is no phrase but a name, a
number or a path stays as it is. What nobody has written down here, as what a library says, is
quoted and named as English.
"""

import errno
import os
import re
from collections.abc import Callable
from functools import cache

_PATTERNS = dict[re.Pattern[str], str]


def _compiled(forms: list[tuple[str, str]]) -> _PATTERNS:
    return {re.compile(pattern, re.DOTALL): chinese for pattern, chinese in forms}


#: What a whole reason may be. A group that is named with a capital letter is itself a reason.
_REASONS = _compiled(
    [
        (r"(?P<a>.+?): cannot be read: (?P<B>.+)", "{a} 读不了：{B}"),
        (r"(?P<a>.+?): cannot be written: (?P<B>.+)", "{a} 写不了：{B}"),
        (r"(?P<a>.+?): cannot be used: (?P<B>.+)", "{a} 用不了：{B}"),
        (
            r"(?P<a>.+?): cannot be downloaded from (?P<b>\S+): (?P<C>.+?)\. Without network, get "
            r"the file by other means and put it at (?P<d>.+), or at (?P<e>.+) and set (?P<f>.+)",
            "{a} 下载不了（{b}）：{C}。没有网络时，请用别的办法取得文件，放到 {d}；"
            "或放到 {e}，再设 {f}",
        ),
        (
            r"(?P<a>.+?): expected in the folder that (?P<b>\S+) names, (?P<c>.+), where it is "
            r"not; get it from (?P<d>.+)",
            "{a}：应在 {b} 指的文件夹 {c} 里，那里没有；可以从 {d} 取得",
        ),
        (
            r"(?P<a>.+?): expected the checksum (?P<b>\S+), got another from (?P<c>\S+); nothing "
            r"was kept, try again",
            "{a}：校验和应为 {b}，从 {c} 得到的不符；什么都没留下，请再试一次",
        ),
        (r"(?P<a>.+?): expected as many lines in both files", "{a}：两个文件的行数不同"),
        (
            r"(?P<a>.+?): expected as many lines as in (?P<b>.+), (?P<c>\d+), got (?P<d>\d+)",
            "{a}：应与 {b} 一样有 {c} 行，实际有 {d} 行",
        ),
        (
            r"(?P<a>.+?): expected UTF-8, got the byte (?P<b>\S+) at byte (?P<c>\d+)",
            "{a}：不是 UTF-8：第 {c} 个字节是 {b}",
        ),
        (
            r"(?P<a>.+?): expected UTF-8, got a null byte at byte (?P<b>\d+)",
            "{a}：不是 UTF-8：第 {b} 个字节是空字节",
        ),
        (
            r"(?P<a>.+?): expected at least one pair of sentences, got none \((?P<b>\d+) lines "
            r"skipped; (?P<C>.+)\)",
            "{a}：一对句子也没有（略过了 {b} 行；{C}）",
        ),
        (
            r"expected at least one pair of sentences, got none \((?P<b>\d+) too long, "
            r"(?P<c>\d+) empty\)",
            "一对句子也没有（{b} 对太长，{c} 对是空的）",
        ),
        (
            r"(?P<a>.+?): expected to be able to write, got: (?P<B>.+); (?P<c>\S+) is still there",
            "{a} 写不了：{B}；{c} 还在",
        ),
        (r"(?P<a>.+?): expected to be able to write, got: (?P<B>.+)", "{a} 写不了：{B}"),
        (
            r"(?P<a>.+?): expected it installed, got none; (?P<b>pip install .+)",
            "没有安装 {a}；请运行：{b}",
        ),
        (r"(?P<a>.+?): expected no link in the folder of a run, got one", "{a}：不能是链接"),
        (
            r"(?P<a>.+?): expected a run that nobody is training, got one that is in use",
            "{a} 正由另一个进程训练",
        ),
        (
            r"(?P<a>.+?): expected the run that is there, got other settings: (?P<B>.+)",
            "{a} 里是另一次训练，设置不同：{B}",
        ),
        (
            r"processes: expected all (?P<a>\d+) to answer, got none from one of them, which has "
            r"died or hangs \((?P<B>.+)\)",
            "{a} 个进程里有一个没有回应，已经退出或卡住了（{B}）",
        ),
        (
            r"(?P<a>.+?): expected known settings, got (?P<b>'.*'); did you mean (?P<c>'.*')\?",
            "{a}：没有 {b} 这项设置；是不是想写 {c}？",
        ),
        (r"(?P<a>.+?): expected known settings, got (?P<b>.+)", "{a}：没有 {b} 这项设置"),
        (
            r"(?P<a>.+?): expected one of (?P<b>.+), got (?P<c>'.*'); did you mean (?P<d>'.*')\?",
            "{a}：只能是 {b} 之一，不能是 {c}；是不是想写 {d}？",
        ),
        (
            r"model: expected a finite logit for some word, got none; has the training diverged\?",
            "模型给不出有限的分数；训练是不是发散了？",
        ),
        (
            r"(?P<a>\w+) has no attention, so there are no weights",
            "{a} 没有注意力，也就没有权重",
        ),
        (r"(?P<a>.+?): expected no setting (?P<b>.+), got one", "{a}：没有 {b} 这项设置"),
        (r"(?P<a>.+?): expected the setting (?P<b>.+), got none", "{a}：缺少设置 {b}"),
        (
            r"(?P<a>.+?): expected no (?P<b>[<>\w]+), got one \((?P<c>.+)\)",
            "{a}：不能有 {b}（{c}）",
        ),
        (r"(?P<a>\S+): (?P<b>.+) there, (?P<c>.+) given", "{a}：那里是 {B}，这里是 {C}"),
        (
            r"the connection broke after (?P<a>\d+) of (?P<b>\d+) bytes",
            "连接断了：{b} 字节只收到 {a}",
        ),
        (r"(?P<A>.+) \((?P<b>\d+) attempts\)", "{A}（试了 {b} 次）"),
        (r"(?P<A>.+) \(at line (?P<b>\d+), column (?P<c>\d+)\)", "第 {b} 行第 {c} 列写错了（{A}）"),
        (r"(?P<a>.+) \(at end of document\)", "文件没写完"),
        (r"seed=(?P<a>\S+) is outside (?P<b>.+)", "seed 应在 {b} 之内，不能是 {a}"),
        (r"embedded null (byte|character)", "名字里有空字节"),
        (r"Not a gzipped file.*", "不是 gzip 文件"),
        (r"Compressed file ended before the end-of-stream marker was reached", "压缩文件不完整"),
        (r"Error (?P<a>-?\d+) while decompressing data.*", "压缩文件已损坏"),
        (r"CRC check failed.*", "压缩文件已损坏"),
        (r"Error while deserializing header.*", "文件头已损坏"),
        (r"'(?P<a>\w+)'", "缺少 {a}"),
    ]
)

#: What is expected, and what is got. A group that is named with a capital letter is such a phrase.
_PHRASES = _compiled(
    [
        # numbers
        (r"(?P<a>\S+) or more", "至少 {a}"),
        (r"a number of (?P<a>\S+) or more", "至少为 {a} 的数"),
        (r"at least (?P<a>[-\d.]+)", "至少 {a}"),
        (r"at most (?P<a>\S+)", "至多 {a}"),
        (r"a whole number", "整数"),
        (r"a whole number of (?P<a>\S+) or more", "至少为 {a} 的整数"),
        (r"a whole number from (?P<a>\S+) to (?P<b>\S+)", "从 {a} 到 {b} 的整数"),
        (r"a positive number", "正数"),
        (r"a number above (?P<a>\S+)", "大于 {a} 的数"),
        (r"a finite number", "有限的数"),
        (r"a probability between 0 and 1", "0 与 1 之间的概率"),
        (r"a number from (?P<a>\S+) to (?P<b>.+)", "从 {a} 到 {b} 的数"),
        (r"a share below a half", "小于一半的份额"),
        (r"two numbers from 0 to below 1", "两个数，从 0 到不足 1"),
        (r"positive shares of sum 1", "和为 1 的正的份额"),
        (r"an even number.*", "偶数"),
        (r"4 or more, for two pairs", "至少 4，才有两对"),
        (r"0 or more, and a rank below world", "至少 0，且 rank 小于 world"),
        (r"(?P<a>\S+) or more with '(?P<b>\S+)'", "用 {b} 时至少 {a}"),
        (r"0 with a constant schedule", "学习率不变时为 0"),
        (r"at most keep=(?P<a>\S+)", "不超过 keep={a}"),
        (r"at most (?P<a>\w+=\S+)", "不超过 {a}"),
        (r"at most (?P<a>\d+) epochs", "至多 {a} 轮"),
        (r"different numbers from 0 on", "从 0 起、各不相同的数"),
        (r"numbers from (?P<a>\S+) to (?P<b>\S+)", "从 {a} 到 {b} 的数"),
        (r"some from (?P<a>\S+) to (?P<b>\S+)", "从 {a} 到 {b} 的数"),
        (
            r"(?P<a>.+?) to (?P<b>\S+); do model and vocabulary belong together\?",
            "{a} 到 {b}；模型和词表是一套吗？",
        ),
        (r"token numbers from (?P<a>\S+) to (?P<b>\S+)", "从 {a} 到 {b} 的词元编号"),
        (r"some below (?P<a>\S+)", "小于 {a} 的数"),
        (r"numbers below (?P<a>\S+)", "小于 {a} 的数"),
        (r"(?P<a>\S+) places that rise to (?P<b>\S+)", "{a} 个递增到 {b} 的位置"),
        (r"(?P<a>\S+) bytes", "{a} 个字节"),
        (r"(?P<a>\d+) tokens", "{a} 个词元"),
        (r"at most (?P<a>\d+) tokens", "至多 {a} 个词元"),
        (r"(?P<a>\d+) in the source", "原文里有 {a}"),
        (r"(?P<a>\d+) in the target", "译文里有 {a}"),
        (r"(?P<a>\d+) in the (?P<b>\d+)", "{b} 里有 {a}"),
        (r"the byte (?P<a>\S+) at byte (?P<b>\d+)", "第 {b} 个字节 {a}"),
        (r"a null byte at byte (?P<a>\d+)", "第 {a} 个字节是空字节"),
        (r"a line of at most (?P<a>\d+) bytes", "至多 {a} 个字节的一行"),
        (r"one or more of two numbers or more a side", "至少一对，每边至少两个数"),
        (r"a multiple of (?P<a>\S+) with (?P<b>\S+)", "{b} 时为 {a} 的倍数"),
        (
            r"more than the (?P<a>\S+) distances that have a bucket of their own",
            "大于各有一桶的 {a} 个距离",
        ),
        (r"a divisor of (?P<a>.+)", "{a} 的约数"),
        (r"(?P<a>\S+) >= (?P<b>\S+) > 0", "{a} >= {b} > 0"),
        (r"high > low > 0", "high > low > 0"),
        (r"(?P<a>\S+) or more, for its logarithm", "至少 {a}，才有对数"),
        (r"numbers above 0", "大于 0 的数"),
        (r"numbers from 0 on", "从 0 起的数"),
        (r"one for each of (?P<a>\d+) pairs", "{a} 对，各一个"),
        # one of several
        (r"one of the two", "两个里的一个"),
        (r"one of (?P<a>.+)", "{a} 之一"),
        (r"(?P<a>\S+) or (?P<b>\S+)", "{a} 或 {b}"),
        (r"(?P<a>\S+), (?P<b>\S+) or (?P<c>\S+)", "{a}、{b} 或 {c}"),
        (r"(?P<a>\w+=\S+) for (?P<b>\w+=\S+)", "{b} 时的 {a}"),
        (r"(?P<a>\S+) and (?P<b>\S+)", "{a} 和 {b}"),
        (r"(?P<a>'.*?') and (?P<b>'.*?')", "{a} 和 {b}"),
        (r"(?P<a>.+) for (?P<b>[\w-]+)", "{A}（{b}）"),
        (r"the one in quotation marks", "引号里的那个"),
        (r"two of (?P<a>.+)", "{a} 里的两个"),
        (r"another language than the source", "与原文不同的语言"),
        (r"small letters, digits and hyphens", "小写字母、数字和连字符"),
        (r"(?P<a>\S+) if sharded", "分片时为 {a}"),
        (r"float32 or bfloat16 if sharded", "分片时为 float32 或 bfloat16"),
        (r"torch\.bfloat16, torch\.float16 or None", "torch.bfloat16、torch.float16 或 None"),
        (r"post or pre", "post 或 pre"),
        (r"with subwords only", "只用于子词"),
        (r"it with words", "用在了词上"),
        (r"with subwords that both languages share", "两种语言共用子词时才有"),
        (r"it with (?P<a>text\.unit=.+)", "{a}"),
        (r"with the phrasebook only", "只用于 phrasebook"),
        (r"(?P<a>.+) and (?P<b>.+) with the grammar", "用于 grammar 的 {a} 和 {b}"),
        (
            r"False with the phrasebook, which has no such data",
            "phrasebook 没有验证数据，应为 False",
        ),
        (r"one matrix is to be shared.*", "共用一个矩阵"),
        (r"vocabularies of one size", "一样大的词表"),
        (r"(?P<a>\S+) = d_model / num_heads = (?P<b>.+)", "{a} = d_model / num_heads = {b}"),
        # settings and types
        (r"int or nothing", "整数或不写"),
        (r"str or nothing", "文字或不写"),
        (r"float or nothing", "数或不写"),
        (r"bool or nothing", "true、false 或不写"),
        (r"a list of (?P<A>.+)", "列表，每项是{A}"),
        (r"int", "整数"),
        (r"float", "数"),
        (r"bool", "true 或 false"),
        (r"str", "文字"),
        (r"a word", "一个词"),
        (r"a table", "一个表"),
        (r"a table of settings", "一个设置表"),
        (r"TOML", "TOML"),
        (r"tables that are too deep", "嵌套太深的表"),
        (r"true or false", "true 或 false"),
        (r"a corpus by name or files of your own", "有名字的语料，或自己的文件"),
        (r"None and (?P<a>.+)", "{a}"),
        (r"one file or two", "一个或两个文件"),
        (r"some that fit together", "互相配得上的设置"),
        (r"settings that fit together", "互相配得上的设置"),
        (r"its settings", "它的设置"),
        # lines and sentences
        (r"source TAB target", "“原文 TAB 译文”"),
        (r"no tab", "没有制表符"),
        (r"(?P<a>\d+) tabs", "{a} 个制表符"),
        (r"two sentences", "两个句子"),
        (r"an empty source", "原文是空的"),
        (r"an empty (?P<a>\d+)", "空的 {a}"),
        (r"an empty target", "译文是空的"),
        (r"a sentence", "一个句子"),
        (r"one sentence", "一个句子"),
        (r"English TAB French TAB Chinese", "“英 TAB 法 TAB 中”"),
        (r"(?P<a>\d+) columns", "{a} 列"),
        (r"at least one pair of sentences", "至少一对句子"),
        (r"words seen (?P<a>\S+) times or more", "至少出现 {a} 次的词"),
        (r"at least one token", "至少一个词元"),
        (
            r"at least one token in each, and an end at the least",
            "每句至少一个词元，至少要有结束符",
        ),
        (r"<bos> = (?P<a>\S+) as the first token", "第一个词元是 <bos>（{a}）"),
        (r"at least one real token", "至少一个真正的词元"),
        (r"at least one that is not empty", "至少一个不空的"),
        (r"at least one", "至少一个"),
        (r"room for at least one phrase", "放得下至少一句"),
        (r"enough sources for (?P<a>\d+) parts", "够分成 {a} 份的原文"),
        (r"(?P<a>\d+): a part is empty", "{a} 句，有一份是空的"),
        (r"sentences of the corpus", "语料里的句子"),
        (
            r"links between (?P<a>\d+) source and (?P<b>\d+) target tokens",
            "{a} 个原文词元和 {b} 个译文词元之间的连线",
        ),
        (
            r"one for each of (?P<a>\d+) (references|sentences|tokens|inputs|layers|sources|texts)",
            "{a} 个，各一个",
        ),
        (r"one number, or one for each of (?P<a>\d+) sentences", "一个数，或 {a} 句各一个"),
        (r"every token once", "每个词元一次"),
        (r"(?P<a>.+) more than once", "{a} 不止一次"),
        (r"(?P<a>.+) among them", "其中有 {a}"),
        (r"one with (?P<a>\S+)", "有 {a} 的"),
        (r"(?P<a>\S+) without", "没有的 {a}"),
        (r"no (?P<a><?\w+>?)", "没有 {a}"),
        (
            r"at most num_places=(?P<a>\S+) tokens, <eos> included, as attention='location' was "
            r"built for",
            "连 <eos> 至多 num_places={a} 个词元，attention='location' 只建了这么多",
        ),
        (r"embeddings as long as the encoder's states", "与编码器状态一样长的嵌入"),
        (r"keys of size (?P<a>\S+)", "大小为 {a} 的键"),
        (r"(?P<a>\S+) from a bidirectional encoder", "双向编码器的 {a}"),
        (r"the positions (?P<a>\S+) to (?P<b>\S+)", "位置 {a} 到 {b}"),
        # files, folders, checkpoints
        (r"(?P<a>\d+) lines", "{a} 行"),
        (r"a file", "文件"),
        (r"no file", "不是文件"),
        (r"a file in its folder", "它的文件夹里的文件"),
        (r"a link to one outside", "指向外面的链接"),
        (r"names of files in it", "里面的文件名"),
        (r"an object", "一个对象"),
        (r"JSON", "JSON"),
        (r"a weight_map", "weight_map"),
        (r"files of safetensors", "safetensors 文件"),
        (r"whole weights", "完整的权重"),
        (r"weights in (?P<a>\S+)", "{a} 里的权重"),
        (r"a folder with a model", "放着模型的文件夹"),
        (r"its path", "它的路径"),
        (r"a tokenizer\.json", "tokenizer.json"),
        (r"a tokenizer", "分词器"),
        (r"it there", "在那里"),
        (r"one", "一个"),
        (r"two", "两个"),
        (r"tensors of one type", "同一类型的张量"),
        (r"a Tokenizer of the library tokenizers", "tokenizers 库的 Tokenizer"),
        (r"a tokenizer that neither cuts nor pads", "既不截断也不填充的分词器"),
        (r"one that does", "会截断或填充的"),
        (r"a mask", "掩码"),
        (r"those of one text", "一段文字的编号"),
        (r"one text", "一段文字"),
        (r"characters that UTF-8 can write", "UTF-8 写得出的字符"),
        (
            r"a tokenizer of (?P<a>\d+) tokens, as many as the model's",
            "{a} 个词元的分词器，与模型的一样多",
        ),
        (r"the token (?P<a>\S+)", "词元 {a}"),
        (r"a whole model", "完整的模型"),
        (r"an adapter", "适配器"),
        (r"an adapter beside a model", "放在模型旁边的适配器"),
        (r"none, and (?P<a>.+)", "没有；{a}"),
        (r"(?P<a>.+) without an index \((?P<b>.+)\)", "{a}，缺索引 {b}"),
        (r"the kind under this name", "这个名字下的种类"),
        (r"an object for each layer type", "每类层各一个对象"),
        (r"floating point numbers of 16, 32 or 64 bits", "16、32 或 64 位的浮点数"),
        (r"the weights of (?P<a>\d+) layers", "{a} 层的权重"),
        (r"the weights of every layer", "每一层的权重"),
        (r"numbers of tokens", "词元编号"),
        (r"the folder of a run", "训练结果的文件夹"),
        (r"a folder without settings\.toml", "没有 settings.toml 的文件夹"),
        (r"no folder", "没有这个文件夹"),
        (r"a folder without a run", "没有训练结果的文件夹"),
        (r"one to resume", "有一次可以接着训练的"),
        (r"the weights of a run", "训练出来的权重"),
        (r"the codec of a run", "训练结果的编码文件"),
        (r"a codec in JSON", "JSON 的编码文件"),
        (r"numbers of this codec, (?P<a>.+)", "这份编码的数，{a}"),
        (r"a vocabulary in JSON", "JSON 的词表"),
        (r"subwords in JSON", "JSON 的子词"),
        (r"one if shared, otherwise two", "共用时一个，否则两个"),
        (r"every byte, and numbers from 0 on", "每个字节，以及从 0 起的编号"),
        (r"pieces that are joined from pieces", "由别的子词拼成的子词"),
        (r"a prepared corpus or nothing", "准备好的语料，或什么都没有"),
        (r"a corpus prepared as (?P<a>.+)", "按 {a} 准备的语料"),
        (r"a header in JSON", "JSON 的文件头"),
        (r"a token", "一个词元"),
        (r"tokens", "词元"),
        (r"a checkpoint", "检查点"),
        (r"a checkpoint to go on from", "可以接着训练的检查点"),
        (r"the checkpoint of a run", "训练的检查点"),
        (r"the checkpoint of a training", "训练的检查点"),
        (r"the checkpoint of step (?P<a>\d+)", "第 {a} 步的检查点"),
        (r"step (?P<a>\d+)", "第 {a} 步的"),
        (r"a model as in (?P<a>.+)", "与 {a} 一样的模型"),
        (r"a model with no settings", "没有设置的模型"),
        (r"a model with (?P<a>.+)", "设置为 {a} 的模型"),
        (r"one with no settings", "没有设置的"),
        (r"one with (?P<a>\{.+)", "设置为 {a} 的"),
        (r"a place in this training", "这次训练里的位置"),
        (r"the state of this optimizer", "这个优化器的状态"),
        (r"the state of an optimizer", "优化器的状态"),
        (r"groups of (?P<a>.+) parameters", "各有 {a} 个参数的组"),
        (r"the shape of (?P<a>\w+), (?P<b>.+)", "{a} 的形状 {b}"),
        (r"the shape (?P<a>.+) of (?P<b>\w+)", "{b} 的形状 {a}"),
        (
            r"the shapes (?P<a>.+) and (?P<b>.+) for (?P<c>\d+) drafted words",
            "{c} 个草稿词的形状 {a} 和 {b}",
        ),
        (r"the shapes (?P<a>.+)", "形状 {a}"),
        (r"the shape (?P<a>.+)", "形状 {a}"),
        (r"the target's (?P<a>.+)", "大模型的 {a}"),
        (r"(?P<a>.+) for each of (?P<b>\d+) layers", "{b} 层各一个 {A}"),
        (r"no such tensor", "没有这个张量"),
        (r"(?P<a>.+), a pickle, which could run code", "{a}，这是 pickle，可能会运行代码"),
        (r"none in row (?P<a>\d+)", "第 {a} 行没有"),
        (r"the axes (?P<a>\(.+?\))( with .+)?", "轴 {a}"),
        (r"the values that were written", "写下的值"),
        (r"the tensors that were written", "写下的张量"),
        (r"reports and extra", "记录和附加内容"),
        (r"(?P<a>\w+)'s", "{a} 的"),
        (r"the model's (?P<a>.+)", "模型的 {a}"),
        # the machine and the training
        (r"(?P<a>\S+ GB) for weights, gradients and moments", "{a} 放权重、梯度和优化器的状态"),
        (r"enough", "够用"),
        (r"too little", "太少"),
        (r'a GPU for "cuda"', '"cuda" 要有 GPU'),
        (r"a GPU for each process", "每个进程一个 GPU"),
        (r'Apple\'s GPU for "mps"', '"mps" 要有苹果的 GPU'),
        (r"none that torch can use", "torch 没有可用的"),
        (r"a single number", "一个数"),
        (r"one with a gradient", "有梯度的"),
        (r"a constant (?P<a>.+)", "常数（{A}）"),
        (r"one that depends on the optimizer's parameters", "与优化器的参数有关的"),
        (r"one that reaches none of them (?P<a>.+)", "与它们都无关的（{A}）"),
        (r"(?P<a>\S+) at step (?P<b>\d+)", "{a}（第 {b} 步）"),
        (r"(?P<a>\S+) (?P<b>in batch .+|in step .+|in epoch .+)", "{a}（{b}）"),
        (r"parameters of the model", "模型的参数"),
        (r"none of them", "都不是"),
        # what came
        (r"none", "没有"),
        (r"none yet", "还没有"),
        (r"nothing", "没有"),
        (r"fewer", "少了"),
        (r"others", "别的"),
        (r"another", "别的"),
        (r"something else", "别的东西"),
        (r"both", "两个都给了"),
        (r"more", "更多"),
    ]
)
#: What may be said behind what came: what to do about it.
_ADVICE = _compiled(
    [
        (r"subwords know them all", "子词什么语言都行"),
        (r"use (?P<a>'.+')", "请用 {a}"),
        (
            r"try a lower learning rate, a longer warm-up or a smaller clip, and look for inf or "
            r"nan in the data",
            "试试更小的学习率、更长的预热或更小的 clip，并看看数据里有没有 inf 或 nan",
        ),
        (
            r"it holds the weights of a wrapped model \((?P<a>.+)\)",
            "其中是包装过的模型的权重（{a}）",
        ),
        (r"did you mean (?P<a>'.*')\?", "是不是想写 {a}？"),
        (r"train first, without --resume", "先去掉 --resume 训练"),
        (r"call its (?P<a>\S+) and (?P<b>\S+)", "先调用它的 {a} 和 {b}"),
        (r"take the rows one by one", "请一行一行地给"),
        (r"encode several one by one: they differ in length", "几段请逐段编码：长度不同"),
        (r"one of the two is of another model", "其中一个是别的模型的"),
        (r"there is one in (?P<a>.+)", "{a} 里有一个"),
        (
            r"where you trust it, the library transformers reads it, and its save_pretrained "
            r"writes safetensors",
            "信得过的话，transformers 库能读，再用它的 save_pretrained 写成 safetensors",
        ),
    ]
)
_EXPECTED = re.compile(
    r"(?:(?P<subject>.+?): )?expected (?P<wanted>.+?)(?:, got (?P<got>.+))?", re.DOTALL
)
_SYSTEM = {
    errno.ENOENT: "没有这个文件或文件夹",
    errno.EISDIR: "这是文件夹",
    errno.ENOTDIR: "路径里有一段不是文件夹",
    errno.EACCES: "没有权限",
    errno.EPERM: "不允许",
    errno.ENOSPC: "磁盘满了",
    errno.EDQUOT: "磁盘配额用完了",
    errno.EROFS: "只读的文件系统",
    errno.ENAMETOOLONG: "名字太长",
    errno.EINVAL: "参数不对",
    errno.EEXIST: "已经有了",
    errno.EMFILE: "打开的文件太多",
    errno.ENFILE: "打开的文件太多",
    errno.EIO: "读写出错",
    errno.EBUSY: "正在使用",
    errno.ELOOP: "链接绕成了圈",
    errno.EFBIG: "文件太大",
    errno.ENXIO: "没有这个设备",
    errno.ENODEV: "没有这个设备",
    errno.ESPIPE: "不能在里面移动位置",
    errno.ENOTEMPTY: "文件夹不空",
    errno.EXDEV: "在另一个文件系统上",
    errno.ETXTBSY: "正在使用",
    errno.ENOMEM: "内存不够",
    errno.ETIMEDOUT: "等得太久",
    errno.ECONNREFUSED: "连接被拒绝",
    errno.ECONNRESET: "连接断了",
    errno.ENETUNREACH: "没有网络",
    errno.EHOSTUNREACH: "连不上主机",
}


@cache
def _of_the_system() -> dict[str, str]:
    """Return what the operating system says, in Chinese; with or without its number before it."""
    return {os.strerror(number): chinese for number, chinese in _SYSTEM.items()}


# Words of English that are no names, and that no sentence does without.
_ENGLISH = re.compile(
    r"(?<![\w./'\"=<{\[|-])"
    r"(?:an?|the|of|to|none|nothing|got|expected|with|without|each|another|others?|least|most|than|"
    r"is|are|was|not|that|which|its|on|by|at|from|for|cannot|there|one|two|and|or|if|no)"
    r"(?![\w./'\"=<>}\]|：-])"
)
_TWO_WORDS = re.compile(r"(?<![\w./'\"=-])[a-z]{2,} [a-z]{2,}(?![\w./'\"=：-])")
_QUOTED = re.compile(r"英文原文：“.*”|“[^”]*”|\"[^\"]*\"|'[^']*'|\{.*\}|pip install .*", re.DOTALL)


def has_english(text: str) -> bool:
    """Whether there is an English sentence in a text, beside names, code and what is quoted.

    >>> has_english("a.tsv:3：应为 source TAB target"), has_english("应为 a divisor of d_model")
    (False, True)
    """
    bare = _QUOTED.sub("", text)
    return bool(_ENGLISH.search(bare) or _TWO_WORDS.search(bare))


def in_chinese(reason: str) -> str:
    """Return a reason in Chinese; what nobody has written down here is quoted.

    >>> in_chinese("warmup: expected 0 or more, got -1")
    'warmup：应为至少 0，得到的是 -1'
    >>> in_chinese("d_model: expected a divisor of 12, got 5; try a lower learning rate")
    'd_model：应为 12 的约数，得到的是 5（英文原文：“try a lower learning rate”）'
    """
    known = _whole(reason) or _under_a_name(reason) or _by_parts(reason)
    return known or _phrase(reason)


def _whole(reason: str) -> str | None:
    if reason in _of_the_system():
        return _of_the_system()[reason]
    differences = reason.split("; ")
    if len(differences) > 1 and all(" there, " in each for each in differences):
        return "；".join(map(in_chinese, differences))
    for pattern, chinese in _REASONS.items():
        if found := pattern.fullmatch(reason):
            return _filled(chinese, found, in_chinese)
    return None


def _by_parts(reason: str) -> str | None:
    """Return "where: expected this, got that; do so" part by part."""
    found = _EXPECTED.fullmatch(reason)
    if found is None:
        return None
    subject, wanted, got = found["subject"], found["wanted"], found["got"]
    start = f"{_named(subject)}：" if subject else ""
    text = f"{start}应为{_spaced(_phrase(wanted))}"
    if got is None:
        return text
    whole = _known_phrase(got)
    if whole is not None:
        return f"{text}，得到的是{_spaced(whole)}"
    # A reason within the reason, advice, or a remark.
    for sign in (": ", "; ", " ("):
        first, _, rest = got.partition(sign)
        if rest and (_known_phrase(first) is not None or not has_english(first)):
            inner = rest.removesuffix(")") if sign == " (" else rest
            told = _advice(inner) if sign != ": " else in_chinese(inner)
            return f"{text}，得到的是{_spaced(_phrase(first))}（{told}）"
    return f"{text}，得到的是{_spaced(_phrase(got))}"


def _under_a_name(reason: str) -> str | None:
    """Return "file: reason" where the reason is one of those that are known as a whole."""
    for place in re.finditer(": ", reason):
        if known := _whole(reason[place.end() :]):
            return f"{_named(reason[: place.start()])}：{known}"
    return None


def _named(subject: str) -> str:
    """Return what a reason is about: two names have an "and" between them."""
    return re.sub(r"(?<!\S)(\w+) and (\w+)$", r"\1 和 \2", subject)


def _advice(text: str) -> str:
    for pattern, chinese in _ADVICE.items():
        if found := pattern.fullmatch(text):
            return _filled(chinese, found, _phrase)
    known = _whole(text) or _known_phrase(text)
    return known or (in_chinese(text) if "expected" in text else _quoted(text))


def _known_phrase(text: str) -> str | None:
    for pattern, chinese in _PHRASES.items():
        if found := pattern.fullmatch(text):
            filled = _filled(chinese, found, _phrase)
            if not has_english(filled):
                return filled
    return None


def _phrase(text: str) -> str:
    """Return what is expected or got in Chinese: a phrase, or what is none as it is."""
    known = _known_phrase(text)
    return known if known is not None else _quoted(text)


def _quoted(text: str) -> str:
    return f"英文原文：“{text}”" if has_english(text) else text


def _filled(chinese: str, found: re.Match[str], inner: Callable[[str], str]) -> str:
    """Put the groups into a text; those that are named with a capital letter are told as well."""
    groups = {name: text or "" for name, text in found.groupdict().items()}
    groups = {name: inner(text) if name.isupper() else text for name, text in groups.items()}
    groups |= {name.upper(): inner(text) for name, text in groups.items() if name.islower()}
    return chinese.format(**groups)


def _spaced(text: str) -> str:
    """Put a blank before what is no Chinese."""
    return text if not text or ord(text[0]) > 0x2E7F or text[0] in "“（" else f" {text}"
