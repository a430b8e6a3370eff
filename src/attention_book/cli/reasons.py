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

# What may stand in a place of a form: anything, as little as may be, or one word of some kind.
_PLACES = {None: ".+", "l": ".+?", "s": r"\S+", "d": r"\d+", "w": r"\w+"}


def _compiled(forms: list[tuple[str, str]]) -> _PATTERNS:
    """Return what to look for: a form has places, "at least {a:d}"; behind "/" it is a regex.

    What has none comes first, so that "no folder" is not told by the form for "no" and a name.
    """
    whole_first = sorted(forms, key=lambda each: "{" in each[0] or each[0].startswith("/"))
    return {_pattern(form): chinese for form, chinese in whole_first}


def _pattern(form: str) -> re.Pattern[str]:
    places = re.compile(r"\\\{(\w)(?::(\w))?\\\}")
    found = places.sub(lambda at: f"(?P<{at[1]}>{_PLACES[at[2]]})", re.escape(form))
    return re.compile(form[1:] if form.startswith("/") else found, re.DOTALL)


#: What a whole reason may be. A group that is named with a capital letter is itself a reason.
_REASONS = _compiled(
    [
        ("{a:l}: cannot be read: {B}", "{a} 读不了：{B}"),
        ("{a:l}: cannot be written: {B}", "{a} 写不了：{B}"),
        ("{a:l}: cannot be used: {B}", "{a} 用不了：{B}"),
        (
            "{a:l}: cannot be downloaded from {b:s}: {C:l}. Without network, get the file by "
            "other means and put it at {d}, or at {e} and set {f}",
            "{a} 下载不了（{b}）：{C}。没有网络时，请用别的办法取得文件，放到 {d}；"
            "或放到 {e}，再设 {f}",
        ),
        (
            "{a:l}: expected in the folder that {b:s} names, {c}, where it is not; get it from {d}",
            "{a}：应在 {b} 指的文件夹 {c} 里，那里没有；可以从 {d} 取得",
        ),
        (
            "{a:l}: expected the checksum {b:s}, got another from {c:s}; nothing was kept, try "
            "again",
            "{a}：校验和应为 {b}，从 {c} 得到的不符；什么都没留下，请再试一次",
        ),
        ("{a:l}: expected as many lines in both files", "{a}：两个文件的行数不同"),
        (
            "{a:l}: expected as many lines as in {b}, {c:d}, got {d:d}",
            "{a}：应与 {b} 一样有 {c} 行，实际有 {d} 行",
        ),
        (
            "{a:l}: expected UTF-8, got the byte {b:s} at byte {c:d}",
            "{a}：不是 UTF-8：第 {c} 个字节是 {b}",
        ),
        (
            "{a:l}: expected UTF-8, got a null byte at byte {b:d}",
            "{a}：不是 UTF-8：第 {b} 个字节是空字节",
        ),
        (
            "{a:l}: expected at least one pair of sentences, got none ({b:d} lines skipped; {C})",
            "{a}：一对句子也没有（略过了 {b} 行；{C}）",
        ),
        (
            "expected at least one pair of sentences, got none ({b:d} too long, {c:d} empty)",
            "一对句子也没有（{b} 对太长，{c} 对是空的）",
        ),
        (
            "{a:l}: expected to be able to write, got: {B}; {c:s} is still there",
            "{a} 写不了：{B}；{c} 还在",
        ),
        ("{a:l}: expected to be able to write, got: {B}", "{a} 写不了：{B}"),
        (
            "/(?P<a>.+?): expected it installed, got none; (?P<b>pip install .+)",
            "没有安装 {a}；请运行：{b}",
        ),
        ("{a:l}: expected no link in the folder of a run, got one", "{a}：不能是链接"),
        (
            "{a:l}: expected a run that nobody is training, got one that is in use",
            "{a} 正由另一个进程训练",
        ),
        (
            "{a:l}: expected the run that is there, got other settings: {B}",
            "{a} 里是另一次训练，设置不同：{B}",
        ),
        (
            "processes: expected all {a:d} to answer, got none from one of them, which has "
            "died or hangs ({B})",
            "{a} 个进程里有一个没有回应，已经退出或卡住了（{B}）",
        ),
        (
            r"/(?P<a>.+?): expected known settings, got (?P<b>'.*'); did you mean (?P<c>'.*')\?",
            "{a}：没有 {b} 这项设置；是不是想写 {c}？",
        ),
        ("{a:l}: expected known settings, got {b}", "{a}：没有 {b} 这项设置"),
        (
            r"/(?P<a>.+?): expected one of (?P<b>.+), got (?P<c>'.*'); did you mean "
            r"(?P<d>'.*')\?",
            "{a}：只能是 {b} 之一，不能是 {c}；是不是想写 {d}？",
        ),
        (
            "model: expected a finite logit for some word, got none; has the training diverged?",
            "模型给不出有限的分数；训练是不是发散了？",
        ),
        ("{a:w} has no attention, so there are no weights", "{a} 没有注意力，也就没有权重"),
        ("{a:l}: expected no setting {b}, got one", "{a}：没有 {b} 这项设置"),
        ("{a:l}: expected the setting {b}, got none", "{a}：缺少设置 {b}"),
        (
            r"/(?P<a>.+?): expected no (?P<b>[<>\w]+), got one \((?P<c>.+)\)",
            "{a}：不能有 {b}（{c}）",
        ),
        ("{a:s}: {b} there, {c} given", "{a}：那里是 {B}，这里是 {C}"),
        ("the connection broke after {a:d} of {b:d} bytes", "连接断了：{b} 字节只收到 {a}"),
        ("{A} ({b:d} attempts)", "{A}（试了 {b} 次）"),
        ("{A} (at line {b:d}, column {c:d})", "第 {b} 行第 {c} 列写错了（{A}）"),
        ("{a} (at end of document)", "文件没写完"),
        ("seed={a:s} is outside {b}", "seed 应在 {b} 之内，不能是 {a}"),
        ("/embedded null (byte|character)", "名字里有空字节"),
        ("/Not a gzipped file.*", "不是 gzip 文件"),
        ("Compressed file ended before the end-of-stream marker was reached", "压缩文件不完整"),
        (r"/Error (?P<a>-?\d+) while decompressing data.*", "压缩文件已损坏"),
        ("/CRC check failed.*", "压缩文件已损坏"),
        ("/Error while deserializing header.*", "文件头已损坏"),
        ("'{a:w}'", "缺少 {a}"),
    ]
)

#: What is expected, and what is got. A group that is named with a capital letter is such a phrase.
_PHRASES = _compiled(
    [
        # numbers
        ("{a:s} or more", "至少 {a}"),
        ("a number of {a:s} or more", "至少为 {a} 的数"),
        (r"/at least (?P<a>[-\d.]+)", "至少 {a}"),
        ("at most {a:s}", "至多 {a}"),
        ("a whole number", "整数"),
        ("a whole number of {a:s} or more", "至少为 {a} 的整数"),
        ("a whole number from {a:s} to {b:s}", "从 {a} 到 {b} 的整数"),
        ("a positive number", "正数"),
        ("a number above {a:s}", "大于 {a} 的数"),
        ("a finite number", "有限的数"),
        ("a probability between 0 and 1", "0 与 1 之间的概率"),
        ("a number from {a:s} to {b}", "从 {a} 到 {b} 的数"),
        ("a share below a half", "小于一半的份额"),
        ("two numbers from 0 to below 1", "两个数，从 0 到不足 1"),
        ("positive shares of sum 1", "和为 1 的正的份额"),
        ("/an even number.*", "偶数"),
        ("4 or more, for two pairs", "至少 4，才有两对"),
        ("0 or more, and a rank below world", "至少 0，且 rank 小于 world"),
        ("{a:s} or more with '{b:s}'", "用 {b} 时至少 {a}"),
        ("0 with a constant schedule", "学习率不变时为 0"),
        ("at most keep={a:s}", "不超过 keep={a}"),
        (r"/at most (?P<a>\w+=\S+)", "不超过 {a}"),
        ("at most {a:d} epochs", "至多 {a} 轮"),
        ("different numbers from 0 on", "从 0 起、各不相同的数"),
        ("numbers from {a:s} to {b:s}", "从 {a} 到 {b} 的数"),
        ("some from {a:s} to {b:s}", "从 {a} 到 {b} 的数"),
        (
            "{a:l} to {b:s}; do model and vocabulary belong together?",
            "{a} 到 {b}；模型和词表是一套吗？",
        ),
        ("token numbers from {a:s} to {b:s}", "从 {a} 到 {b} 的词元编号"),
        ("some below {a:s}", "小于 {a} 的数"),
        ("numbers below {a:s}", "小于 {a} 的数"),
        ("{a:s} places that rise to {b:s}", "{a} 个递增到 {b} 的位置"),
        ("{a:s} bytes", "{a} 个字节"),
        ("{a:d} tokens", "{a} 个词元"),
        ("at most {a:d} tokens", "至多 {a} 个词元"),
        ("{a:d} in the source", "原文里有 {a}"),
        ("{a:d} in the target", "译文里有 {a}"),
        ("{a:d} in the {b:d}", "{b} 里有 {a}"),
        ("the byte {a:s} at byte {b:d}", "第 {b} 个字节 {a}"),
        ("a null byte at byte {a:d}", "第 {a} 个字节是空字节"),
        ("a line of at most {a:d} bytes", "至多 {a} 个字节的一行"),
        ("one or more of two numbers or more a side", "至少一对，每边至少两个数"),
        ("a multiple of {a:s} with {b:s}", "{b} 时为 {a} 的倍数"),
        (
            "more than the {a:s} distances that have a bucket of their own",
            "大于各有一桶的 {a} 个距离",
        ),
        ("a divisor of {a}", "{a} 的约数"),
        ("{a:s} >= {b:s} > 0", "{a} >= {b} > 0"),
        ("high > low > 0", "high > low > 0"),
        ("{a:s} or more, for its logarithm", "至少 {a}，才有对数"),
        ("numbers above 0", "大于 0 的数"),
        ("numbers from 0 on", "从 0 起的数"),
        ("one for each of {a:d} pairs", "{a} 对，各一个"),
        # one of several
        ("one of the two", "两个里的一个"),
        ("one of {a}", "{a} 之一"),
        (
            "one for all lengths where the length lies on the device",
            "对所有长度都一样的（长度放在设备上时）",
        ),
        ("what start(…, max_tokens=…) returned", "start(…, max_tokens=…) 返回的状态"),
        ("{a:s} or {b:s}", "{a} 或 {b}"),
        ("{a:s}, {b:s} or {c:s}", "{a}、{b} 或 {c}"),
        (r"/(?P<a>\w+=\S+) for (?P<b>\w+=\S+)", "{b} 时的 {a}"),
        ("{a:s} and {b:s}", "{a} 和 {b}"),
        ("/(?P<a>'.*?') and (?P<b>'.*?')", "{a} 和 {b}"),
        (r"/(?P<a>.+) for (?P<b>[\w-]+)", "{A}（{b}）"),
        ("the one in quotation marks", "引号里的那个"),
        ("two of {a}", "{a} 里的两个"),
        ("another language than the source", "与原文不同的语言"),
        ("small letters, digits and hyphens", "小写字母、数字和连字符"),
        ("{a:s} if sharded", "分片时为 {a}"),
        ("float32 or bfloat16 if sharded", "分片时为 float32 或 bfloat16"),
        ("torch.bfloat16, torch.float16 or None", "torch.bfloat16、torch.float16 或 None"),
        ("post or pre", "post 或 pre"),
        ("with subwords only", "只用于子词"),
        ("it with words", "用在了词上"),
        ("with subwords that both languages share", "两种语言共用子词时才有"),
        (r"/it with (?P<a>text\.unit=.+)", "{a}"),
        ("with the phrasebook only", "只用于 phrasebook"),
        ("{a} and {b} with the grammar", "用于 grammar 的 {a} 和 {b}"),
        (
            "False with the phrasebook, which has no such data",
            "phrasebook 没有验证数据，应为 False",
        ),
        ("/one matrix is to be shared.*", "共用一个矩阵"),
        ("vocabularies of one size", "一样大的词表"),
        ("{a:s} = d_model / num_heads = {b}", "{a} = d_model / num_heads = {b}"),
        # settings and types
        ("int or nothing", "整数或不写"),
        ("str or nothing", "文字或不写"),
        ("float or nothing", "数或不写"),
        ("bool or nothing", "true、false 或不写"),
        ("a list of {A}", "列表，每项是{A}"),
        ("int", "整数"),
        ("float", "数"),
        ("bool", "true 或 false"),
        ("str", "文字"),
        ("a word", "一个词"),
        ("a table", "一个表"),
        ("a table of settings", "一个设置表"),
        ("TOML", "TOML"),
        ("tables that are too deep", "嵌套太深的表"),
        ("true or false", "true 或 false"),
        ("a corpus by name or files of your own", "有名字的语料，或自己的文件"),
        ("None and {a}", "{a}"),
        ("one file or two", "一个或两个文件"),
        ("some that fit together", "互相配得上的设置"),
        ("settings that fit together", "互相配得上的设置"),
        ("its settings", "它的设置"),
        # lines and sentences
        ("source TAB target", "“原文 TAB 译文”"),
        ("no tab", "没有制表符"),
        ("{a:d} tabs", "{a} 个制表符"),
        ("two sentences", "两个句子"),
        ("an empty source", "原文是空的"),
        ("an empty {a:d}", "空的 {a}"),
        ("an empty target", "译文是空的"),
        ("a sentence", "一个句子"),
        ("one sentence", "一个句子"),
        ("English TAB French TAB Chinese", "“英 TAB 法 TAB 中”"),
        ("{a:d} columns", "{a} 列"),
        ("at least one pair of sentences", "至少一对句子"),
        ("at least one document", "至少一段文本"),
        ("at least one document with a token", "至少一段有词元的文本"),
        ("{a:d} documents or more", "至少 {a} 段文本"),
        ("at most {a:d}, as many as this text has", "至多 {a}，这份文本只有这么多"),
        ("paragraphs of at most {a:d} characters", "每段至多 {a} 个字符"),
        ("a longer one", "更长的"),
        ("characters seen {a:d} times or more", "出现至少 {a} 次的字符"),
        ("numbers of this codec, {a}", "与编码方式相符的编号，{a}"),
        ("a translator", "翻译模型"),
        ("a language model", "语言模型"),
        ("that of two languages", "两种语言的"),
        ("that of a language model", "语言模型的"),
        ("a text", "文本"),
        ("pieces in JSON", "JSON 格式的词元表"),
        ("prepared documents", "准备好的文本"),
        ("from 1 to {a}", "从 1 到 {a}"),
        ("prompts of one length", "一样长的开头"),
        ("words seen {a:s} times or more", "至少出现 {a} 次的词"),
        ("at least one token", "至少一个词元"),
        ("at least one token in each, and an end at the least", "每句至少一个词元，至少要有结束符"),
        ("<bos> = {a:s} as the first token", "第一个词元是 <bos>（{a}）"),
        ("at least one real token", "至少一个真正的词元"),
        ("at least one that is not empty", "至少一个不空的"),
        ("at least one", "至少一个"),
        ("room for at least one phrase", "放得下至少一句"),
        ("enough sources for {a:d} parts", "够分成 {a} 份的原文"),
        ("{a:d}: a part is empty", "{a} 句，有一份是空的"),
        ("sentences of the corpus", "语料里的句子"),
        (
            "links between {a:d} source and {b:d} target tokens",
            "{a} 个原文词元和 {b} 个译文词元之间的连线",
        ),
        (
            r"/one for each of (?P<a>\d+) "
            r"(references|sentences|tokens|inputs|layers|sources|texts)",
            "{a} 个，各一个",
        ),
        ("one number, or one for each of {a:d} sentences", "一个数，或 {a} 句各一个"),
        ("every token once", "每个词元一次"),
        ("{a} more than once", "{a} 不止一次"),
        ("{a} among them", "其中有 {a}"),
        ("one with {a:s}", "有 {a} 的"),
        ("{a:s} without", "没有的 {a}"),
        (r"/no (?P<a><?\w+>?)", "没有 {a}"),
        (
            "at most num_places={a:s} tokens, <eos> included, as attention='location' was "
            "built for",
            "连 <eos> 至多 num_places={a} 个词元，attention='location' 只建了这么多",
        ),
        ("embeddings as long as the encoder's states", "与编码器状态一样长的嵌入"),
        ("keys of size {a:s}", "大小为 {a} 的键"),
        ("{a:s} from a bidirectional encoder", "双向编码器的 {a}"),
        ("the positions {a:s} to {b:s}", "位置 {a} 到 {b}"),
        # files, folders, checkpoints
        ("{a:d} lines", "{a} 行"),
        ("a file", "文件"),
        ("no file", "不是文件"),
        ("a file in its folder", "它的文件夹里的文件"),
        ("a link to one outside", "指向外面的链接"),
        ("names of files in it", "里面的文件名"),
        ("an object", "一个对象"),
        ("JSON", "JSON"),
        ("a weight_map", "weight_map"),
        ("files of safetensors", "safetensors 文件"),
        ("whole weights", "完整的权重"),
        ("weights in {a:s}", "{a} 里的权重"),
        ("a folder with a model", "放着模型的文件夹"),
        ("its path", "它的路径"),
        ("a tokenizer.json", "tokenizer.json"),
        ("a tokenizer", "分词器"),
        ("it there", "在那里"),
        ("one", "一个"),
        ("two", "两个"),
        ("tensors of one type", "同一类型的张量"),
        ("a Tokenizer of the library tokenizers", "tokenizers 库的 Tokenizer"),
        ("a tokenizer that neither cuts nor pads", "既不截断也不填充的分词器"),
        ("one that does", "会截断或填充的"),
        ("a mask", "掩码"),
        ("those of one text", "一段文字的编号"),
        ("one text", "一段文字"),
        ("characters that UTF-8 can write", "UTF-8 写得出的字符"),
        (
            "a tokenizer of {a:d} tokens, as many as the model's",
            "{a} 个词元的分词器，与模型的一样多",
        ),
        ("the token {a:s}", "词元 {a}"),
        ("a whole model", "完整的模型"),
        ("true where layers have windows", "true（有的层有窗口）"),
        ("weights that are not quantized", "没有量化的权重"),
        ("/(?P<a>'.+') in tokenizer.json", "tokenizer.json 里有 {a}"),
        ("it in another file alone", "只在别的文件里"),
        ("one of its files", "它的一个文件"),
        ("/(none, and )?(?P<a>.+), GGUF, for other programs", "{a}，这是给别的程序的 GGUF"),
        (
            "/(none, and )?(?P<a>.+), weights as their authors named them",
            "{a}，其中的权重用的是作者自己的名字",
        ),
        ("/(none, and )?(?P<a>.+), weights for (?P<b>TensorFlow|Flax)", "{a}，这是给 {b} 的权重"),
        ("/(none, and )?(?P<a>.+), a compiled model", "{a}，这是编译过的模型"),
        ("an adapter", "适配器"),
        ("an adapter beside a model", "放在模型旁边的适配器"),
        ("none, and {a}", "没有；{a}"),
        ("{a} without an index ({b})", "{a}，缺索引 {b}"),
        ("the kind under this name", "这个名字下的种类"),
        ("an object for each layer type", "每类层各一个对象"),
        ("floating point numbers of 16, 32 or 64 bits", "16、32 或 64 位的浮点数"),
        ("the weights of {a:d} layers", "{a} 层的权重"),
        ("the weights of every layer", "每一层的权重"),
        ("numbers of tokens", "词元编号"),
        ("the folder of a run", "训练结果的文件夹"),
        ("a folder without settings.toml", "没有 settings.toml 的文件夹"),
        ("no folder", "没有这个文件夹"),
        ("a folder without a run", "没有训练结果的文件夹"),
        ("one to resume", "有一次可以接着训练的"),
        ("the weights of a run", "训练出来的权重"),
        ("the codec of a run", "训练结果的编码文件"),
        ("a codec in JSON", "JSON 的编码文件"),
        ("numbers of this codec, {a}", "这份编码的数，{a}"),
        ("a vocabulary in JSON", "JSON 的词表"),
        ("subwords in JSON", "JSON 的子词"),
        ("one if shared, otherwise two", "共用时一个，否则两个"),
        ("every byte, and numbers from 0 on", "每个字节，以及从 0 起的编号"),
        ("pieces that are joined from pieces", "由别的子词拼成的子词"),
        ("a prepared corpus or nothing", "准备好的语料，或什么都没有"),
        ("a corpus prepared as {a}", "按 {a} 准备的语料"),
        ("a header in JSON", "JSON 的文件头"),
        ("a token", "一个词元"),
        ("tokens", "词元"),
        ("a checkpoint", "检查点"),
        ("a checkpoint to go on from", "可以接着训练的检查点"),
        ("the checkpoint of a run", "训练的检查点"),
        ("the checkpoint of a training", "训练的检查点"),
        ("the checkpoint of step {a:d}", "第 {a} 步的检查点"),
        ("step {a:d}", "第 {a} 步的"),
        ("a model as in {a}", "与 {a} 一样的模型"),
        ("a model with no settings", "没有设置的模型"),
        ("a model with {a}", "设置为 {a} 的模型"),
        ("one with no settings", "没有设置的"),
        (r"/one with (?P<a>\{.+)", "设置为 {a} 的"),
        ("a place in this training", "这次训练里的位置"),
        ("the state of this optimizer", "这个优化器的状态"),
        ("the state of an optimizer", "优化器的状态"),
        ("groups of {a} parameters", "各有 {a} 个参数的组"),
        ("the shape of {a:w}, {b}", "{a} 的形状 {b}"),
        ("the shape {a} of {b:w}", "{b} 的形状 {a}"),
        ("the shapes {a} and {b} for {c:d} drafted words", "{c} 个草稿词的形状 {a} 和 {b}"),
        ("the shapes {a}", "形状 {a}"),
        ("the shape {a}", "形状 {a}"),
        ("an output of the shape {a}", "形状是 {a} 的输出"),
        ("the target's {a}", "大模型的 {a}"),
        ("{a} for each of {b:d} layers", "{b} 层各一个 {A}"),
        ("no such tensor", "没有这个张量"),
        ("{a}, a pickle, which could run code", "{a}，这是 pickle，可能会运行代码"),
        ("none in row {a:d}", "第 {a} 行没有"),
        ("some in row {a:d}", "第 {a} 行有"),
        (
            "no padding beyond {a:d} tokens, for it would count as text, by whose length "
            "positions turn",
            "超过 {a} 个词元就没有填充：位置按文字的长度转动，填充会算成文字",
        ),
        (r"/the axes (?P<a>\(.+?\))( with .+)?", "轴 {a}"),
        ("the values that were written", "写下的值"),
        ("the tensors that were written", "写下的张量"),
        ("reports and extra", "记录和附加内容"),
        ("{a:w}'s", "{a} 的"),
        ("the model's {a}", "模型的 {a}"),
        # the machine and the training
        (r"/(?P<a>\S+ GB) for weights, gradients and moments", "{a} 放权重、梯度和优化器的状态"),
        ("enough", "够用"),
        ("too little", "太少"),
        ('a GPU for "cuda"', '"cuda" 要有 GPU'),
        ("a GPU for each process", "每个进程一个 GPU"),
        ('Apple\'s GPU for "mps"', '"mps" 要有苹果的 GPU'),
        ("none that torch can use", "torch 没有可用的"),
        ("a single number", "一个数"),
        ("one with a gradient", "有梯度的"),
        ("a constant {a}", "常数（{A}）"),
        ("one that depends on the optimizer's parameters", "与优化器的参数有关的"),
        ("one that reaches none of them {a}", "与它们都无关的（{A}）"),
        ("{a:s} at step {b:d}", "{a}（第 {b} 步）"),
        (r"/(?P<a>\S+) (?P<b>in batch .+|in step .+|in epoch .+)", "{a}（{b}）"),
        ("parameters of the model", "模型的参数"),
        ("none of them", "都不是"),
        # what came
        ("none", "没有"),
        ("none yet", "还没有"),
        ("nothing", "没有"),
        ("fewer", "少了"),
        ("others", "别的"),
        ("another", "别的"),
        ("something else", "别的东西"),
        ("both", "两个都给了"),
        ("more", "更多"),
    ]
)
#: What may be said behind what came: what to do about it.
_ADVICE = _compiled(
    [
        ("subwords know them all", "子词什么语言都行"),
        (
            "a document is a line or, where blank lines part a file, a paragraph",
            "一行是一段；文件里有空行时，空行之间是一段",
        ),
        ("/use (?P<a>'.+')", "请用 {a}"),
        (
            "try a lower learning rate, a longer warm-up or a smaller clip, and look for inf "
            "or nan in the data",
            "试试更小的学习率、更长的预热或更小的 clip，并看看数据里有没有 inf 或 nan",
        ),
        ("it holds the weights of a wrapped model ({a})", "其中是包装过的模型的权重（{a}）"),
        (r"/did you mean (?P<a>'.*')\?", "是不是想写 {a}？"),
        ("train first, without --resume", "先去掉 --resume 训练"),
        ("call its {a:s} and {b:s}", "先调用它的 {a} 和 {b}"),
        ("take the rows one by one", "请一行一行地给"),
        ("encode several one by one: they differ in length", "几段请逐段编码：长度不同"),
        ("one of the two is of another model", "其中一个是别的模型的"),
        ("there is one in {a}", "{a} 里有一个"),
        ("name the folder", "请给它所在的文件夹"),
        ("name the folder that it is in", "请给它所在的文件夹"),
        (
            "merge the adapter into {a} (merge_and_unload) and save that",
            "先把适配器并进模型（merge_and_unload），存下并好的模型",
        ),
        (
            "save the model itself, without what it was wrapped in",
            "请存模型本身，去掉外面包的一层",
        ),
        (
            "if the output layer of this model is its embedding, config.json should say {a}",
            "如果这个模型的输出层就是它的嵌入，config.json 里应写 {a}",
        ),
        (
            "config.json says {a:d} layers, the files hold {b:d}",
            "config.json 说有 {a} 层，文件里有 {b} 层",
        ),
        (
            "of a model of another family HeadViewer shows the attention: let the library "
            "transformers compute it, with {a:s} and {b:s}",
            "别的系列的模型，注意力可以用 HeadViewer 看：让 transformers 库来算，设 {a} 和 {b}",
        ),
        (
            "save what model.dequantize() of the library transformers returns",
            "用 transformers 库的 model.dequantize()，存下它返回的模型",
        ),
        (
            "AutoTokenizer of the library transformers reads both, and its save_pretrained "
            "writes one",
            "transformers 库的 AutoTokenizer 两个都读，再用它的 save_pretrained 写成一个",
        ),
        (
            "read texts of one length together, or give the scaling a length",
            "请把一样长的文字放在一起读，或给缩放定下长度",
        ),
        ("rename type to rope_type", "把 type 改名为 rope_type"),
        (
            "nothing is downloaded here: if it is a name on a hub, {a:s} returns its folder",
            "这里什么都不下载；如果这是网上的名字，{a} 会返回它的文件夹",
        ),
        ("get the safetensors", "请取得 safetensors"),
        ("get the safetensors that it was made from", "请取得它的来源 safetensors"),
        ("get those in the layout of Hugging Face", "请取得 Hugging Face 格式的"),
        (
            "GGUF, for other programs; get the safetensors that it was made from",
            "给别的程序的 GGUF；请取得它的来源 safetensors",
        ),
        (
            "where you trust it, the library transformers reads it, and its save_pretrained "
            "writes safetensors",
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
        if sign == ": " and first.startswith(("{", "[")):
            continue  # what came is a table or a list, of which this is a part
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
