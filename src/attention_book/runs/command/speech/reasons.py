"""The reasons of errors in Chinese: what was expected, what came, and where."""

import re

# Each form that a reason takes, and the same in Chinese. What stands in for a group stays as it
# is: names, numbers, paths, and what nobody has written down here.
_FORMS = [
    (r"(?P<a>.+): cannot be read: No such file or directory", "{a} 读不了：没有这个文件"),
    (r"(?P<a>.+): cannot be read: Is a directory", "{a} 读不了：这是文件夹"),
    (r"(?P<a>.+): cannot be read: Permission denied", "{a} 读不了：没有权限"),
    (r"(?P<a>.+): cannot be read: (?P<b>.+)", "{a} 读不了：{b}"),
    (r"(?P<a>.+): cannot be downloaded from (?P<b>\S+): (?P<c>.+)", "{a} 下载不了（{b}）：{c}"),
    (
        r"(?P<a>.+): expected source TAB target, got no tab",
        "{a}：应为“原文 TAB 译文”，这一行没有制表符",
    ),
    (
        r"(?P<a>.+): expected source TAB target, got (?P<b>\d+) tabs",
        "{a}：应为“原文 TAB 译文”，这一行有 {b} 个制表符",
    ),
    (
        r"(?P<a>.+): expected UTF-8, got the byte (?P<b>\S+) at byte (?P<c>\d+)",
        "{a}：不是 UTF-8：第 {c} 个字节是 {b}",
    ),
    (
        r"(?P<a>.+): expected UTF-8, got a null byte at byte (?P<b>\d+)",
        "{a}：不是 UTF-8：第 {b} 个字节是空字节",
    ),
    (r"(?P<a>.+): expected two sentences, got an empty source", "{a}：原文是空的"),
    (r"(?P<a>.+): expected two sentences, got an empty target", "{a}：译文是空的"),
    (r"(?P<a>.+): expected a sentence, got none", "{a}：这一行是空的"),
    (
        r"(?P<a>.+): expected as many lines as in (?P<b>.+), got fewer",
        "{a}：行数比 {b} 少",
    ),
    (
        r"(?P<a>.+): expected at least one pair of sentences, got none(?P<b>.*)",
        "{a}：一对句子也没有{b}",
    ),
    (
        r"(?P<a>.+): expected the folder of a run, got one without settings\.toml",
        "{a} 不是训练结果的文件夹：里面没有 settings.toml",
    ),
    (
        r"(?P<a>.+): expected a run that nobody is training, got one that is in use",
        "{a} 正由另一个进程训练",
    ),
    (r"(?P<a>.+): expected the weights of a run, got none.*", "{a}：还没有可用的权重"),
    (r"(?P<a>.+): expected the codec of a run, got none: (?P<b>.+)", "{a}：编码文件读不了：{b}"),
    (
        r"(?P<a>.+): expected to be able to write, got: No space left on device(?P<b>.*)",
        "{a} 写不了：磁盘满了{b}",
    ),
    (r"(?P<a>.+): expected to be able to write, got: (?P<b>.+)", "{a} 写不了：{b}"),
    (
        r"(?P<a>.+): expected it installed, got none; (?P<b>pip install .+)",
        "没有安装 {a}；请运行：{b}",
    ),
    (
        r"(?P<a>.+): expected known settings, got (?P<b>'.*'); did you mean (?P<c>'.*')\?",
        "{a}：没有 {b} 这项设置；是不是想写 {c}？",
    ),
    (r"(?P<a>.+): expected known settings, got (?P<b>.+)", "{a}：没有 {b} 这项设置"),
    (
        r"(?P<a>.+): expected one of (?P<b>.+), got (?P<c>'.*'); did you mean (?P<d>'.*')\?",
        "{a}：只能是 {b} 之一，不能是 {c}；是不是想写 {d}？",
    ),
    (
        r"(?P<a>.+): expected one of (?P<b>.+), got (?P<c>.+)",
        "{a}：只能是 {b} 之一，不能是 {c}",
    ),
    (r"(?P<a>.+): expected at least (?P<b>.+), got (?P<c>.+)", "{a}：至少是 {b}，不能是 {c}"),
    (r"(?P<a>.+): expected (?P<b>\S+) or more, got (?P<c>.+)", "{a}：至少是 {b}，不能是 {c}"),
    (r"(?P<a>.+): expected a positive number, got (?P<b>.+)", "{a}：应为正数，不能是 {b}"),
    (r"(?P<a>.+): expected a probability .*, got (?P<b>.+)", "{a}：应在 0 与 1 之间，不能是 {b}"),
    (r"settings: expected TOML, got something else: (?P<b>.+)", "设置文件不是 TOML：{b}"),
    (r"(?P<a>.+): expected (?P<b>.+), got (?P<c>.+)", "{a}：应为 {b}，实际是 {c}"),
]
_KNOWN = [(re.compile(pattern, re.DOTALL), chinese) for pattern, chinese in _FORMS]


def in_chinese(reason: str) -> str:
    """Return a reason in Chinese, as far as its form is known.

    >>> in_chinese("warmup: expected 0 or more, got -1")
    'warmup：至少是 0，不能是 -1'
    """
    for pattern, chinese in _KNOWN:
        if found := pattern.fullmatch(reason):
            return chinese.format(**found.groupdict())
    return reason


__all__ = ["in_chinese"]
