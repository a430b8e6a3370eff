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

from attention_book.cli.phrases import ADVICE, PHRASES, REASONS

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
    for pattern, chinese in REASONS.items():
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
        if "expected " in reason[: place.start()]:
            break  # no name any more, but what came
        if known := _whole(reason[place.end() :]):
            return f"{_named(reason[: place.start()])}：{known}"
    return None


def _named(subject: str) -> str:
    """Return what a reason is about: two names have an "and" between them."""
    return re.sub(r"(?<!\S)(\w+) and (\w+)$", r"\1 和 \2", subject)


def _advice(text: str) -> str:
    for pattern, chinese in ADVICE.items():
        if found := pattern.fullmatch(text):
            return _filled(chinese, found, _phrase)
    known = _whole(text) or _known_phrase(text)
    return known or (in_chinese(text) if "expected" in text else _quoted(text))


def _known_phrase(text: str) -> str | None:
    for pattern, chinese in PHRASES.items():
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
