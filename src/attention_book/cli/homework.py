"""``attention-book course assign`` and ``grade``: homework, given and graded."""

import os
import secrets
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import click

from attention_book.cli.errors import ExitCode, Failure
from attention_book.cli.files import write_result
from attention_book.cli.reasons import in_chinese
from attention_book.cli.terminal import note, said, tell, visible
from attention_book.cli.ui import BilingualCommand, Number, Whole, argument, option
from attention_book.course.exercises import EXERCISES
from attention_book.course.grading.assign import assignment, written
from attention_book.course.grading.chapters import CHAPTERS
from attention_book.course.grading.folder import Plan, graded, private_exercises
from attention_book.course.grading.grader import Clock, Report, unconfined
from attention_book.course.grading.jail import Settings, ways
from attention_book.course.grading.notebooks import notebooks_in
from attention_book.course.grading.scores import names_in, page, points, table
from attention_book.course.grading.view import make_view, warm_fonts
from attention_book.foundations.bilingual import Bilingual, chosen_language
from attention_book.foundations.files import write_whole

#: What each way keeps a notebook from, and what it doesn't.
STOPS = {
    "bwrap": Bilingual(
        "bwrap：每个笔记本在自己的命名空间里运行，看不见别的进程、别的文件和网络。"
        "挡不住内核的漏洞。",
        "bwrap: each notebook runs in namespaces of its own, without other processes, other files"
        " or a network. It is no help against bugs in the kernel.",
    ),
    "fork": Bilingual(
        "fork：每个笔记本由一个进程分出，Landlock 和 seccomp 限制它的文件、网络和新进程。"
        "仍看得见文件名；要更严，就装上 Bubblewrap。",
        "fork: each notebook is a fork of one process; Landlock and seccomp limit its files, its"
        " network and new processes. It can still see file names; Bubblewrap is stricter.",
    ),
    "fresh": Bilingual(
        "fresh：每个笔记本一个新进程，Linux 上由 Landlock 和 seccomp 限制。",
        "fresh: a new process for each notebook, limited by Landlock and seccomp on Linux.",
    ),
}
_BARE = Bilingual(
    "这个系统上没有什么能拦住笔记本读写你的文件、上网。信得过写的人，就加上 --trust-the-notebooks；"
    "否则请在容器里批改（仓库里有 Dockerfile）。",
    "nothing on this system keeps a notebook from your files and the network. If you trust those"
    " who wrote them, add --trust-the-notebooks; if not, grade in a container (see Dockerfile).",
)


@click.command(
    cls=BilingualCommand,
    text=Bilingual(
        """把练习写成作业：题目、空的函数、公开的检查，没有答案。

        写章名（如 masks）就是那一章的全部练习，一章一个笔记本；也可以写练习的名字，它们合成一个。
        """,
        """Make homework from exercises: tasks, empty functions, public checks, no solutions.

        The name of a chapter (masks, say) takes all of its exercises, one notebook per chapter;
        exercises that you name one by one go into one notebook together.
        """,
    ),
    examples=(
        (
            "attention-book course assign masks scoring --out homework",
            Bilingual("两章，两个笔记本", "two chapters, two notebooks"),
        ),
        (
            "attention-book course assign masked-softmax rotary --out homework --lang zh",
            Bilingual("两道题，中文", "two exercises, in Chinese"),
        ),
    ),
)
@argument(
    "names",
    nargs=-1,
    help=Bilingual("章或练习的名字", "chapters, or exercises"),
    metavar=Bilingual("章|练习 …", "CHAPTER|EXERCISE ..."),
)
@option(
    "--out",
    required=True,
    help=Bilingual("写到这个文件夹。", "Write to this folder."),
    metavar=Bilingual("文件夹", "FOLDER"),
)
@option(
    "--nbgrader",
    is_flag=True,
    help=Bilingual(
        "按 nbgrader 的格式标好单元格，一题一分。",
        "Mark the cells as nbgrader wants them, one point for each exercise.",
    ),
)
@option(
    "--overwrite",
    is_flag=True,
    help=Bilingual("已有的作业也覆盖。", "Replace homework that is there already."),
)
def assign(names: tuple[str, ...], out: str, nbgrader: bool, overwrite: bool) -> None:
    """Write notebooks with exercises to do."""
    language = chosen_language() or "en"
    for file, title, exercises in _homework(names, language):
        path = Path(out) / f"{file}.ipynb"
        name = visible(str(path))
        if path.exists() and not overwrite:
            raise Failure(
                ExitCode.WRONG_LINE,
                f"{name}：已经有了，没有动它；要覆盖就加上 --overwrite。",
                f"{name}: it is there already and was left alone; --overwrite replaces it",
            )
        notebook = assignment(exercises, title, language, nbgrader=nbgrader)
        _write(path, written(notebook))
        tell(
            Bilingual(
                f"{name}：{len(exercises)} 道题",
                f"{name}: {len(exercises)} tasks",
            )
        )


def _homework(names: tuple[str, ...], language: str) -> Iterable[tuple[str, str, tuple[str, ...]]]:
    """Return of each notebook the file's name, the title and the exercises."""
    unknown = [name for name in names if name not in CHAPTERS and name not in EXERCISES]
    if unknown or not names:
        known = ", ".join(CHAPTERS)
        what = ", ".join(map(visible, unknown))
        raise Failure(
            ExitCode.WRONG_LINE,
            f"没有这样的章或练习：{what}；有练习的章：{known}" if names else f"请写出章名：{known}",
            f"names: expected chapters or exercises, got {what or 'none'}; chapters: {known}",
        )
    single = tuple(name for name in names if name not in CHAPTERS)
    found = [
        (name, CHAPTERS[name].title.text(language), CHAPTERS[name].exercises)
        for name in dict.fromkeys(names)
        if name in CHAPTERS
    ]
    return [*found, ("homework", said("作业", "Homework"), single)] if single else found


@click.command(
    cls=BilingualCommand,
    text=Bilingual(
        """批改一个文件夹里的笔记本：每个都在受限的进程里从头运行，check 留在外面判分。

        学生的函数拿到输入、交出输出，别的碰不到：看不到答案，改不了别人的分。
        中途停下也不丢：判完的都记着，再运行同一行就接着批。
        """,
        """Grade the notebooks of a folder: each runs from top to bottom in a confined process.

        What it hands to check is run there and judged outside: a student's function gets inputs
        and returns outputs, and reaches nothing else, neither solutions nor other students' marks.
        Verdicts are kept: stopped, it goes on where it was when you run the same line again.
        """,
    ),
    examples=(
        (
            "attention-book course grade handed-in --out scores.csv --feedback pages",
            Bilingual("一张表，每人一页", "a table, and a page for each student"),
        ),
    ),
)
@argument(
    "folder",
    help=Bilingual("交上来的笔记本", "the notebooks that were handed in"),
    metavar=Bilingual("文件夹", "FOLDER"),
)
@option(
    "--out",
    required=True,
    help=Bilingual(
        "分数写进这个 CSV；旁边的文件夹里每个笔记本一份 JSON。",
        "Write the scores to this CSV; a folder beside it gets a JSON for each notebook.",
    ),
    metavar=Bilingual("文件", "FILE"),
)
@option(
    "--feedback",
    help=Bilingual("每个学生的一页（HTML）写到这里。", "Write each student's page (HTML) here."),
    metavar=Bilingual("文件夹", "FOLDER"),
)
@option(
    "--exercise",
    "exercises",
    multiple=True,
    help=Bilingual(
        "算分的练习，可加权重，如 rotary=2；默认交上来的都算。",
        "An exercise that counts, weighted if you like: rotary=2. By default all handed in do.",
    ),
    metavar=Bilingual("练习[=权重]", "NAME[=WEIGHT]"),
)
@option(
    "--private",
    default="",
    help=Bilingual(
        "你自己的检查：一个 Python 文件，其中 EXERCISES 列出练习；与书里同名的，两样都要过。",
        "Checks of your own: a Python file whose EXERCISES lists exercises. If the book has one of"
        " the same name, an answer has to pass both.",
    ),
    metavar=Bilingual("文件", "FILE"),
)
@option(
    "--data",
    default="",
    help=Bilingual(
        "笔记本可以读的数据，在笔记本里是文件夹 data。",
        "Data that the notebooks may read, under the name data.",
    ),
    metavar=Bilingual("文件夹", "FOLDER"),
)
@option(
    "--way",
    type=click.Choice(["bwrap", "fork", "fresh"]),
    help=Bilingual(
        "怎样隔开；默认用最严的。", "How to confine the notebooks; by default the strictest way."
    ),
)
@option(
    "--draws",
    type=Whole(min=0, max=100),
    default=2,
    show_default=True,
    help=Bilingual("输入另抽几遍。", "How many times to draw the inputs anew."),
)
@option(
    "--seed",
    "seeds",
    multiple=True,
    type=Whole(min=0, max=2**32 - 1),
    help=Bilingual(
        "用这个种子另抽（复查时用）。", "Draw with this seed, to look into a complaint."
    ),
    metavar=Bilingual("整数", "NUMBER"),
)
@option(
    "--jobs",
    type=Whole(min=1, max=256),
    help=Bilingual("同时批几个。", "How many to grade at a time."),
)
@option(
    "--time-limit",
    type=Number(min=1, max=86_400),
    default=300.0,
    show_default=True,
    help=Bilingual("一个笔记本最多用几秒。", "Give up on a notebook after so many seconds."),
    metavar=Bilingual("秒", "SECONDS"),
)
@option(
    "--without-book",
    is_flag=True,
    help=Bilingual(
        "考试：笔记本里除了 check 没有这个包。", "For an exam: of the package there is only check."
    ),
)
@option(
    "--trust-the-notebooks",
    is_flag=True,
    help=Bilingual("没有隔离也照批。", "Grade even where nothing confines them."),
)
def grade(
    folder: str,
    out: str,
    feedback: str | None,
    exercises: tuple[str, ...],
    private: str,
    data: str,
    way: str | None,
    draws: int,
    seeds: tuple[int, ...],
    jobs: int | None,
    time_limit: float,
    without_book: bool,
    trust_the_notebooks: bool,
) -> None:
    """Grade a folder."""
    _check_places(folder, private, data)
    names, weights = _weighted(exercises, private)
    offered = ways()
    chosen = way or offered[0]
    if chosen not in offered:
        raise Failure(
            ExitCode.MACHINE,
            f"--way：这台机器上没有 {chosen}，有 {'、'.join(offered)}。",
            f"--way: expected one of {', '.join(offered)} on this machine, got {chosen}",
        )
    if sys.platform != "linux" and not trust_the_notebooks:
        raise Failure(ExitCode.MACHINE, _BARE.zh, _BARE.en)
    note(STOPS[chosen] if sys.platform == "linux" else _BARE)
    drawn = seeds or tuple(secrets.randbelow(2**31) for _ in range(draws))
    reports = _graded(
        Path(folder),
        Path(out),
        chosen,
        (0, *drawn),
        private=private,
        data=data,
        book=not without_book,
        clock=Clock(notebook=time_limit),
        jobs=jobs or os.cpu_count() or 1,
        trusted=trust_the_notebooks,
    )
    names = names_in(reports, names)
    language = chosen_language() or "en"
    # With a mark in front, by which spreadsheets know UTF-8.
    write_result(out, "\ufeff" + table(reports, names, language, weights))
    if feedback is not None:
        for report in reports:
            place = Path(feedback) / Path(report.notebook).with_suffix(".html")
            _write(place, page(report, names, language, weights).encode("utf8", "replace"))
    right = sum(points(report, names, weights) for report in reports)
    tell(
        Bilingual(
            f"{visible(out)}：{len(reports)} 个笔记本，共 {right:g} 分",
            f"{visible(out)}: {len(reports)} notebooks, {right:g} points in all",
        )
    )


def _write(path: Path, content: bytes) -> None:
    """Write a file whole, and its folder where needed."""
    try:
        write_whole(path, content)
    except OSError as error:
        reason = f"{visible(str(path))}: cannot be written: {error.strerror}"
        raise Failure(ExitCode.MACHINE, in_chinese(reason), reason) from error


def _graded(
    folder: Path,
    out: Path,
    way: str,
    seeds: tuple[int, ...],
    *,
    private: str,
    data: str,
    book: bool,
    clock: Clock,
    jobs: int,
    trusted: bool,
) -> list[Report]:
    """Grade all notebooks, with a line for each."""
    reports = []
    with tempfile.TemporaryDirectory(prefix="grading-") as made:
        os.chmod(made, 0o755)  # a child in Bubblewrap is another user
        settings = Settings(
            make_view(Path(made) / "view", book=book),
            way,
            language=chosen_language() or "en",
            fonts=warm_fonts(Path(made) / "fonts"),
            data=str(Path(data).resolve()) if data else "",
        )
        if not trusted and (missing := unconfined(settings)):
            what = "; ".join(f"{layer}: {why}" for layer, why in missing.items())
            raise Failure(ExitCode.MACHINE, f"{_BARE.zh}（{what}）", f"{_BARE.en} ({what})")
        plan = Plan(settings, clock, seeds, private)
        for done, total, report in graded(folder, plan, results_of(out), workers=jobs):
            passed, handed = sum(r.passed for r in report.last().values()), len(report.last())
            note(
                Bilingual(
                    f"[{done}/{total}] {visible(report.notebook)}：{handed} 题，对 {passed}",
                    f"[{done}/{total}] {visible(report.notebook)}: {passed} of {handed} right",
                )
            )
            reports.append(report)
    return reports


def results_of(out: Path) -> Path:
    """Return the folder beside a table in which what is decided is kept.

    >>> results_of(Path("scores.csv")).name
    'scores.csv.results'
    """
    return out.with_name(out.name + ".results")


def _check_places(folder: str, private: str, data: str) -> None:
    for name, path, there in (
        ("FOLDER", folder, Path(folder).is_dir()),
        ("--data", data, not data or Path(data).is_dir()),
        ("--private", private, not private or Path(private).is_file()),
    ):
        if not there:
            raise Failure(
                ExitCode.DATA,
                f"{name}：没有 {visible(str(path))}。",
                f"{name}: expected something there, got nothing at {visible(str(path))}",
            )
    if next(notebooks_in(Path(folder)), None) is None:
        raise Failure(
            ExitCode.DATA,
            f"{visible(folder)}：里面没有笔记本（.ipynb）。",
            f"{visible(folder)}: expected notebooks (.ipynb), got none",
        )


def _weighted(asked: tuple[str, ...], private: str) -> tuple[list[str], dict[str, float]]:
    """Return the exercises that count, and how much."""
    try:
        own = {exercise.name for exercise in private_exercises(private)}
    except Exception as error:  # somebody's Python may raise anything
        reason = f"--private: {visible(private)}: cannot be read: {type(error).__name__}: {error}"
        raise Failure(ExitCode.DATA, in_chinese(reason), reason) from error
    names, weights = [], {}
    for each in asked:
        name, _, weight = each.partition("=")
        try:
            weights[name] = float(weight or 1)
        except ValueError:
            weights[name] = -1.0
        if (name not in EXERCISES and name not in own) or not 0 <= weights[name] < 1e6:
            raise Failure(
                ExitCode.WRONG_LINE,
                f"--exercise：要写练习的名字，或名字=权重，写的是 {visible(each)}。",
                f"--exercise: expected the name of an exercise, or NAME=WEIGHT, "
                f"got {visible(each)}",
            )
        names.append(name)
    return names, weights
