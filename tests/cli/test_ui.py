"""How the command speaks: both languages, pages that fit, nothing raw; nobody's file is taken."""

import ast
import re
import unicodedata
from pathlib import Path

import click
import pytest
from babel.messages.mofile import read_mo
from babel.messages.pofile import read_po
from hypothesis import example, given
from hypothesis import strategies as st

from attention_book.cli import ui
from attention_book.cli.errors import MEANINGS, ExitCode, Failure
from attention_book.cli.program import program
from attention_book.cli.reasons import in_chinese
from attention_book.cli.terminal import columns, language_asked_for, visible, wrapped
from attention_book.cli.ui import (
    BilingualArgument,
    BilingualCommand,
    BilingualOption,
    speaking,
    spread,
)
from attention_book.foundations.bilingual import Bilingual, chosen_language

COMMANDS = [program, *program.commands.values()]
HAN = re.compile("[\u4e00-\u9fff]")
CATALOG = Path(ui.__file__).parent / "locale/zh/LC_MESSAGES"


# --- the language ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        *("--lang zh train -h", "train --lang zh -h", "train -h --lang=zh", "train -h --lang ZH"),
        *("train -h --lang zho", "train -h --lang zh-Hant-TW", "train -h --lang=cmn_Hans"),
    ],
)
def test_the_language_may_be_chosen_anywhere_on_the_line(say, line):
    assert say(line).out == say("train -h", ATTENTION_BOOK_LANG="zh_CN.UTF-8").out
    assert "训练一个翻译模型" in say(line).out
    assert not HAN.search(say("train --help").out)


def test_what_stands_behind_two_dashes_is_no_option():
    assert language_asked_for(["translate", "--", "--lang", "zh"], {}) == (
        "en",
        ["translate", "--", "--lang", "zh"],
    )


@pytest.mark.parametrize("line", ["--lang", "--lang fr", "train --lang="])
def test_another_language_is_refused(say, line):
    assert say(line).code == ExitCode.WRONG_LINE


def test_a_variable_meant_for_others_is_left_alone(say):
    assert say("--version", ATTENTION_BOOK_LANG="de").code == 0


def test_the_language_lasts_as_long_as_the_call(say):
    say("--lang zh")
    assert chosen_language() is None
    assert say("train --stepz 3").err.startswith("attention-book: No such option")


# --- the help --------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_page_of_help_is_in_one_language_and_fits(say, command, language):
    name = [] if command is program else [command.name]
    page = say([*name, "--help", "--lang", language]).out
    assert max(map(columns, page.splitlines())) <= 86, "the examples may be a little longer"
    own = ("attention-book", "torchrun")
    prose = [line for line in page.splitlines() if not line.strip().startswith(own)]
    assert max(map(columns, prose)) <= 80
    for line in prose:
        if language == "en":
            assert not HAN.search(line), line
        else:
            assert not re.search(r"[A-Za-z]{2,}( [A-Za-z]{2,}){2}", line), f"English: {line}"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_everything_has_a_text_in_both_languages(command):
    assert isinstance(command, BilingualCommand)
    texts = [command.text, *(meaning for _, meaning in command.examples)]
    for parameter in command.params:
        assert isinstance(parameter, BilingualOption | BilingualArgument), parameter.name
        texts.append(parameter.texts)
    for text in [*texts, *MEANINGS.values()]:
        assert isinstance(text, Bilingual), text
        assert HAN.search(text.zh), text
        assert not HAN.search(text.en), text
        assert not re.search(r"[\u4e00-\u9fff][,;:?!]", text.zh), f"half-width marks: {text.zh}"


def every_command(group):
    for command in group.commands.values():
        yield command
        yield from every_command(command) if hasattr(command, "commands") else ()


def test_examples_are_lines_that_the_command_takes():
    for command in every_command(program):
        for line, _ in command.examples:
            assert line.startswith(("attention-book", "torchrun")), line
            takes = command
            for word in line.split()[1:]:
                takes = getattr(takes, "commands", {}).get(word, takes)
            known = {name for each in takes.params for name in each.opts}
            for word in line.split():
                if word.startswith("--") and not line.startswith("torchrun"):
                    assert word in known, f"{word} in {line}"


def test_exit_codes_stand_in_the_help(say):
    page = say("--help").out
    assert [int(n) for n in re.findall(r"(?m)^  (\d+) ", page)] == [int(code) for code in ExitCode]


def test_alone_it_says_in_five_lines_what_to_type_first(say):
    found = say("")
    assert found.code == 0
    assert len(found.out.splitlines()) == 5
    assert "attention-book train\n" in found.out


# --- click's own words -----------------------------------------------------------------------

# What no user of this command can meet: calls of click that it does not make.
UNREACHABLE = re.compile(
    "Deprecat|deprecated|Windows|Boolean option|Could not determine|No options defined|"
    "Arguments take|Name '|iterable|DateTime|format|UUID|does not exist|is a |is not "
    r"(readable|writable|executable)|file|directory|path|Show |%\(prog|Choice\(|start character"
)


def texts_of_click():
    """Every text that click's parser, errors, types and help ask gettext for."""
    for name in ("core", "exceptions", "formatting", "parser", "types"):
        source = Path(click.__path__[0], f"{name}.py").read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)):
            asked = getattr(getattr(node, "func", None), "id", "")
            if isinstance(node, ast.Call) and asked in ("_", "ngettext"):
                for argument in node.args[: 1 if asked == "_" else 2]:
                    if isinstance(argument, ast.Constant):
                        yield argument.value


def catalog():
    """Every text of click that stands in the catalog, with the same in Chinese."""
    with (CATALOG / "messages.po").open("rb") as file:
        for message in read_po(file):
            if message.id:
                several = isinstance(message.id, tuple)
                pairs = (
                    zip(message.id, message.string, strict=True)
                    if several
                    else [(message.id, message.string)]
                )
                yield from pairs


def test_what_gettext_reads_is_what_is_written():
    with (CATALOG / "messages.po").open("rb") as text, (CATALOG / "messages.mo").open("rb") as data:
        written, read = read_po(text), read_mo(data)
    assert len(read) == len(written) > 30, "pybabel compile -d src/attention_book/cli/locale"
    said = [
        sorted((list(each.id), list(each.string)) for each in texts if each.id)
        for texts in (written, read)
    ]
    assert said[0] == said[1]


def test_all_that_click_can_say_here_is_known_in_chinese():
    found = {text for text in texts_of_click() if not UNREACHABLE.search(text)}
    assert len(found) > 20, "click asks gettext in another way now"
    assert not found - {text for text, _ in catalog()}


def test_a_translation_asks_for_the_same_values():
    fields = re.compile(r"{(\w+)(?:![rs])?}")
    for english, chinese in catalog():
        assert set(fields.findall(chinese)) <= set(fields.findall(english)), english
        assert HAN.search(chinese)


def test_click_speaks_chinese_within_the_block_only():
    with speaking("zh"), pytest.raises(click.UsageError, match="没有 '--nope' 这个选项"):
        program.commands["train"].make_context("train", ["--nope"])
    with pytest.raises(click.UsageError, match="No such option"):
        program.commands["train"].make_context("train", ["--nope"])


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("train --steps", "选项 '--steps' 后面缺一个值"),
        ("train --steps 0", "0 超出了范围"),
        ("train --steps x", "'x' 不是整数"),
        ("translate --length-penalty nan a", "不是有限的数"),
        ("evaluate --split tset", "只能是"),
        ("nope", "没有 'nope' 这个命令"),
        ("export a b", "多了几个参数"),
        ("train --resume=yes", "后面不带值"),
    ],
)
def test_errors_on_the_line_are_one_line_of_chinese(say, line, expected):
    found = say(f"{line} --lang zh")
    assert found.code == ExitCode.WRONG_LINE
    assert expected in found.err
    assert len(found.err.splitlines()) == 1
    assert "--help" in found.err


# --- pages and terminals ---------------------------------------------------------------------

SENTENCES = st.text(st.sampled_from("ab ，。（）注意力 -\n"), max_size=80)


@given(SENTENCES, st.integers(8, 40))
def test_wrapping_loses_nothing_and_keeps_to_the_width(text, width):
    lines = wrapped(text, width)
    assert "".join("".join(lines).split()) == "".join(text.split())
    for line in lines:
        assert columns(line) <= width or not re.search(r"\s", line)
        assert line == line.rstrip()
        assert line


def test_a_chinese_mark_neither_begins_nor_is_left_at_the_end_of_a_line():
    lines = wrapped("注意力（attention）是什么？是加权平均。", 10)
    assert all(line[0] not in "，。）？" and line[-1] != "（" for line in lines), lines


@given(st.text(max_size=50))
@example("\x1b]0;title\x07\x9b2J\u202egnp.exe\u2028")
def test_nothing_that_could_steer_a_terminal_gets_through(text):
    shown = visible(text)
    for letter in shown:
        assert letter == "\t" or unicodedata.category(letter) not in ("Cc", "Zl", "Zp", "Cs")
        assert letter not in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    assert visible(shown) == shown


@given(st.lists(st.sampled_from(["--train", "a", "b", "--steps", "9", "--", "--train=c"])))
def test_two_values_behind_an_option_become_two_options(words):
    found = spread(words, ["--train"])
    for name in ("a", "b", "9", "--steps"):
        assert found.count(name) == words.count(name)
    assert spread(found, ["--train"])[: len(found)] == found or "--train" in found


def test_a_reason_that_nobody_translated_is_quoted():
    assert in_chinese("something else happened") == "英文原文：“something else happened”"
    assert in_chinese("a.tsv:3: expected source TAB target, got no tab").startswith("a.tsv:3：")


@given(st.text(max_size=60))
def test_no_reason_breaks_the_translation(text):
    assert isinstance(in_chinese(f"{text}: expected {text}, got {text}"), str)


PAIRS = ["--validation", "--test"]
VALUED = {"--validation", "--test", "--source", "--target", "--lang"}


def read(line: str) -> tuple[list[str], dict[str, list[str]]]:
    """The operands and the values of each option, as the parser will see them."""
    words = spread(line.split(), PAIRS, valued=VALUED, operands=True)
    operands, values = [], {}
    while words:
        word = words.pop(0)
        if word in VALUED:
            values.setdefault(word, []).append(words.pop(0))
        elif word.startswith("--") and "=" in word:
            name, _, value = word.partition("=")
            values.setdefault(name, []).append(value)
        elif word not in ("--", "--check"):
            operands.append(word)
    return operands, values


@pytest.mark.parametrize(
    ("line", "operands", "test"),
    [
        ("--test t.tsv mine.tsv", ["mine.tsv"], ["t.tsv"]),
        ("mine.tsv --test t.tsv", ["mine.tsv"], ["t.tsv"]),
        ("--source it --target en --test t.tsv mine.tsv", ["mine.tsv"], ["t.tsv"]),
        ("--test t.tsv mine.tsv --source it", ["mine.tsv"], ["t.tsv"]),
        ("mine.tsv --test t.it t.en", ["mine.tsv"], ["t.it", "t.en"]),
        ("m.it m.en --test t.it t.en --check", ["m.it", "m.en"], ["t.it", "t.en"]),
        ("--test t.it t.en m.it m.en", ["m.it", "m.en"], ["t.it", "t.en"]),
        ("--test t.it --test t.en mine.tsv", ["mine.tsv"], ["t.it", "t.en"]),
        ("--test=t.tsv mine.tsv", ["mine.tsv"], ["t.tsv"]),
        ("--test t.tsv -- mine.tsv", ["mine.tsv"], ["t.tsv"]),
        ("--test - mine.tsv", ["mine.tsv"], ["-"]),
        ("- --test t.tsv", ["-"], ["t.tsv"]),
    ],
)
def test_a_file_is_taken_for_what_it_can_be_alone(line, operands, test):
    found, values = read(line)
    assert (found, values["--test"]) == (operands, test)


def test_two_options_share_a_line():
    found, values = read("--validation v.tsv --test t.tsv mine.tsv")
    assert found == ["mine.tsv"]
    assert values == {"--validation": ["v.tsv"], "--test": ["t.tsv"]}


@pytest.mark.parametrize("line", ["--test a b c", "--test a --source it --validation b c d"])
def test_a_line_that_can_be_read_in_two_ways_is_refused_and_both_are_written(line):
    with pytest.raises(Failure) as caught:
        read(line)
    assert caught.value.code == ExitCode.WRONG_LINE
    advice = caught.value.text.en.partition("and then ")[2].split(" or ")
    for way in advice:  # what it says to type is understood
        taken = way.split()[1:]
        rest = [word for word in ("a", "b", "c", "d") if word in line and word not in taken]
        assert read(" ".join([*rest[-2:], way]))[1][way.split()[0]] == taken


def test_the_command_looks_at_the_file_that_is_meant(say, alone):
    (alone / "mine.tsv").write_text("io vedo\tI see\nio corro\tI run\n", encoding="utf-8")
    (alone / "t.tsv").write_text("io dormo\tI sleep\n", encoding="utf-8")
    languages = "--source it --target en"
    before = say(f"data {languages} --test t.tsv mine.tsv")
    behind = say(f"data mine.tsv {languages} --test t.tsv")
    assert (before.code, behind.code) == (0, 0), before.err
    assert before.out == behind.out
    assert before.out.startswith("mine.tsv  [it → en]")
    assert "(t.tsv)" in before.out
    nothing = say("data --test t.tsv")
    assert nothing.code == ExitCode.WRONG_LINE
    assert "expected a corpus or files to look at" in nothing.err
