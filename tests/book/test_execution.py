import ast
import os
import re
import signal
import subprocess
import sys
import time
from functools import partial
from importlib import import_module
from pathlib import Path

import nbformat
import pytest
from evidence.execution.forked_kernels import PRELOADED, PREPARED, SUPPORTED
from evidence.execution.notebook_runner import Run, execute_all, kernel_environment
from tiny import HEADER, cell
from warm import JUPYTER_BOOK

KEYED = ["evidence.execution", "evidence.strict_build"]


def notebook_run(folder, *sources):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(s) for s in sources])
    return Run("page", notebook, folder, timeout=20)


def execute_runs(folder, runs):
    environment = kernel_environment(folder / "scratch", folder / "src")
    execute_all(runs, environment, jobs=1, done=lambda run: None)


def run_cells(tmp_path, *sources):
    """Execute one notebook with these cells."""
    run = notebook_run(tmp_path, *sources)
    execute_runs(tmp_path, [run])
    return run


FAILURES = [
    ("# why\nraise ValueError('no')", r"ValueError: no"),
    ("y = 2\nassert x == y", r"AssertionError"),
    ("import json\njson.loads('')", r"JSONDecodeError: .*"),
    ("import sys; print('careful', file=sys.stderr)", "wrote to stderr: careful"),
    ("import warnings; warnings.warn('old')", "wrote to stderr: .*UserWarning: old"),
    ("class A:\n    def _repr_html_(self): 1/0\nA()", "ZeroDivisionError: division by zero"),
    ("import os; os._exit(1)", "DeadKernelError"),
]


@pytest.fixture(scope="module", params=["new", "forked"])
def failed(request, tmp_path_factory):
    """What happened in a notebook for each failure, with new kernels and with forked ones."""
    folder = tmp_path_factory.mktemp("failed")
    runs = [notebook_run(folder, "x = 1", source) for source, _ in FAILURES]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "evidence.execution.notebook_runner.FEWEST_TO_FORK",
            1 if request.param == "forked" else 99,
        )
        execute_runs(folder, runs)
    return runs


@pytest.mark.parametrize("number", range(len(FAILURES)))
def test_each_way_to_go_wrong_is_found_and_located(failed, number):
    source, error = FAILURES[number]
    (problem,) = failed[number].problems
    assert problem.cell == 2
    assert problem.code in source
    assert not problem.code.startswith("#")
    assert problem.line == (2 if "\n" in source and "class" not in source else problem.line)
    assert re.search(error, problem.error, re.S)


@pytest.mark.skipif(not SUPPORTED, reason="kernels are forked on Linux only")
def test_a_forked_kernel_sees_nothing_of_the_others_and_none_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr("evidence.execution.notebook_runner.FEWEST_TO_FORK", 1)
    look = (
        "import os, random, torch\n"
        "[os.getpid(), os.getcwd(), os.environ.get('LEFT_BEHIND'),"
        " str(torch.get_default_dtype()), random.random(), torch.rand(()).item(),"
        " os.getsid(0), os.getpgrp()]"
    )
    leave = (
        "os.environ['LEFT_BEHIND'] = 'something'; os.chdir('/')\n"
        "torch.set_default_dtype(torch.float64); torch.manual_seed(1)"
    )
    draw = "import matplotlib.pyplot as plt\nplt.plot([1, 2]);"
    runs = [
        notebook_run(tmp_path, look, leave, draw),
        notebook_run(tmp_path, look, "import pytest"),
    ]
    execute_runs(tmp_path, runs)
    assert not runs[0].problems
    assert "image/png" in runs[0].notebook.cells[2].outputs[0].data
    assert "No module named 'pytest'" in runs[1].problems[0].error
    first, second = (
        ast.literal_eval(run.notebook.cells[0].outputs[0].data["text/plain"]) for run in runs
    )
    assert first[1:4] == second[1:4] == [str(tmp_path), None, "torch.float32"]
    assert first[4] != second[4], "Python's own random numbers are not those of the other kernel"
    assert first[5] == second[5], "torch's are, as in a new process"
    assert first[0] != second[0]
    for kernel in (first, second):
        assert kernel[6] == os.getsid(0), "Linux shares the cores by session: `nice` counts inside"
        assert kernel[7] == kernel[0], "Ctrl-C, which goes to a group, is for the build alone"
    deadline = time.monotonic() + 10
    while any(Path(f"/proc/{look[0]}").exists() for look in (first, second)):
        assert time.monotonic() < deadline, "a kernel is still running"
        time.sleep(0.1)


def test_what_is_there_before_the_fork_exists():
    """Whatever is missing is left to the chapters, so a name that is no more would only be slow."""
    for name in PRELOADED:
        import_module(name)
    for name, function in PREPARED:
        assert callable(getattr(import_module(name), function))


def test_a_cell_that_takes_too_long_is_named(tmp_path):
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell("import time; time.sleep(60)")]
    )
    run = Run("page", notebook, tmp_path, timeout=1)
    environment = kernel_environment(tmp_path / "scratch", tmp_path)
    execute_all([run], environment, jobs=1, done=lambda run: None)
    assert run.problems[0].cell == 1
    assert "Timeout" in run.problems[0].error


def test_results_do_not_depend_on_the_readers_machine(tmp_path, monkeypatch):
    (tmp_path / "my-settings").write_text("lines.linewidth: 42\n", encoding="utf8")
    monkeypatch.setenv("MATPLOTLIBRC", str(tmp_path / "my-settings"))
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    run = run_cells(
        tmp_path,
        "import os, matplotlib\n"
        "print(matplotlib.rcParams['lines.linewidth'], os.environ['OMP_NUM_THREADS'],"
        " hash('a'), os.environ['ATTENTION_BOOK_BUILD'], os.environ['ATTENTION_BOOK_STRICT'])",
    )
    assert not run.problems
    expected = subprocess.run(
        [sys.executable, "-c", "print(hash('a'))"],
        env={**os.environ, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    assert run.notebook.cells[0].outputs[0].text == f"1.5 1 {expected} 1 1\n"


def stamp(name):
    """Return a cell that leaves a trace of its execution."""
    return cell(f"from pathlib import Path\nPath('{name}.log').open('a').write('x');")


def test_only_what_changed_is_executed(tiny_book):
    book = tiny_book(
        KEYED,
        intro="# T\n\nProse.\n",
        a=HEADER + "# A\n\n" + stamp("a") + cell("import tiny\nprint('answer', tiny.ANSWER)"),
        b=HEADER + "# B\n\n" + stamp("b") + cell("print(6 * 7 + 0)"),
    )

    def executions():
        return [len((book.book / f"{n}.log").read_text(encoding="utf8")) for n in "ab"]

    log = book.build()
    assert executions() == [1, 1]
    assert "executing 2 chapters" in log
    assert re.search(r"\[1/2\] [ab] \d+\.\d s, 1 left \(running: [ab]\)", log)
    assert re.search(r"\[2/2\] [ab] \d+\.\d s, 0 left", log)
    assert "answer 42" in book.page("a"), "the package beside the book is the one that runs"

    assert "executing" not in book.build()
    assert executions() == [1, 1]

    a = (book.book / "a.md").read_text(encoding="utf8")
    book.write(a=a.replace("# A", "# A new title"))
    book.build()
    assert executions() == [1, 1], "prose executes nothing"
    assert "A new title" in book.page("a")
    assert "answer 42" in book.page("a")

    b = (book.book / "b.md").read_text(encoding="utf8")
    book.write(b=b.replace("7 + 0", "7 + 1"))
    book.build()
    assert executions() == [1, 2], "a code edit executes its own chapter"
    assert "43" in book.page("b")

    package = book.repo / "src/tiny/__init__.py"
    package.write_text('"""In new words."""\nANSWER = 42  # still\n', encoding="utf8")
    book.build()
    assert executions() == [1, 2], "docstrings and comments execute nothing"

    package.write_text("ANSWER = 43\n", encoding="utf8")
    book.build()
    assert executions() == [2, 2], "code executes the chapters that import it, and no other"
    assert "answer 43" in book.page("a")

    package.write_text("ANSWER = 42\n", encoding="utf8")
    book.build()
    assert executions() == [2, 2], "results of an earlier state are still there"
    assert "answer 42" in book.page("a")


def test_contents_count_and_not_the_clock(tiny_book):
    book = tiny_book(KEYED, intro="# T\n\nold text\n", other="# O\n\n```{include} part.txt\n```\n")
    part = book.book / "part.txt"
    part.write_text("old part\n", encoding="utf8")
    book.build()
    for path in (book.book / "intro.md", part):
        path.write_text(path.read_text(encoding="utf8").replace("old", "new"), encoding="utf8")
        os.utime(path, (0, 0))
    book.build()
    assert "new text" in book.page("intro")
    assert "new part" in book.page("other")


def test_numbers_follow_when_pages_come_and_go(tiny_book):
    """Sphinx's sums over all pages are skipped only where no page has changed."""
    figure = "\n:::{figure-md} fig-%s\n![](x.png)\n\nCaption\n:::\n"
    refer = "{numref}`fig-b`\n"
    book = tiny_book(
        KEYED,
        settings={"suppress_warnings": ["image.not_readable"]},
        intro="# T\n\n" + refer,
        a="# A\n" + figure % "a",
        b="# B\n" + figure % "b",
    )
    book.build()
    assert "Fig. 2" in book.page("intro")
    book.build()
    toc = book.book / "_toc.yml"
    toc.write_text(toc.read_text(encoding="utf8").replace("- file: a\n", ""), encoding="utf8")
    book.build()
    assert "Fig. 1" in book.page("intro")
    (book.html / "intro.html").unlink()
    book.build()
    assert "Fig. 1" in book.page("intro"), "also a page that is only written again"


BROKEN = 'raise RuntimeError("broken")'


def test_failures_are_all_listed_and_the_good_chapters_kept(tiny_book):
    book = tiny_book(
        KEYED,
        intro="# T\n",
        bad=HEADER + "# B\n\n" + cell("x = 1") + cell("\n" + BROKEN, tags="[hide-input]"),
        good=HEADER + "# G\n\n" + cell("print('fine')"),
        worse=HEADER + "# W\n\n" + cell("1 / 0"),
    )
    log = book.build(fails=True)
    line = (book.book / "bad.md").read_text(encoding="utf8").split("\n").index(BROKEN) + 1
    assert f"book/bad.md:{line}: cell 2 ('{BROKEN}'): RuntimeError: broken" in log
    assert "cell 1 ('1 / 0'): ZeroDivisionError: division by zero" in log
    again = book.build(fails=True)
    assert "executing 2 chapters" in again, "the good chapter is not executed again"
    assert "RuntimeError: broken" in again
    book.write(bad=HEADER + "# B\n", worse=HEADER + "# W\n\n" + cell("1 / 1"))
    assert "executing 1 chapter" in book.build()


#: Seconds that a busy machine may need to start a kernel or to end one.
PATIENCE = 120


def wait_until(holds):
    """Look every tenth of a second; the last answer, once it is true or patience is over."""
    for _ in range(PATIENCE * 10):
        if holds():
            return True
        time.sleep(0.1)
    return False


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def interrupt(command, pid_file, **options):
    """Press Ctrl-C once a kernel has written its number; see that it ends with the build."""
    with subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        # A shell's background jobs ignore Ctrl-C, and so would what they start.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        **options,
    ) as build:
        try:
            assert wait_until(lambda: pid_file.exists() and pid_file.read_text(encoding="utf8"))
            build.send_signal(signal.SIGINT)
            _, said = build.communicate(timeout=PATIENCE)
        finally:
            build.kill()
    assert build.returncode != 0
    others = set(re.findall(r"^(\w+(?:Error|Exception))\b", said, re.M))
    assert not others, f"the interruption made something else fail:\n{said}"
    pid = int(pid_file.read_text(encoding="utf8"))
    assert wait_until(lambda: not is_alive(pid)), "the kernel outlived the build"


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_an_interrupted_build_leaves_no_kernel_and_can_go_on(tiny_book):
    book = tiny_book(
        KEYED,
        intro=HEADER
        + "# T\n\n"
        + cell(
            "from pathlib import Path\nimport os, time\n"
            "Path('pid').write_text(str(os.getpid()))\nif not Path('go').exists(): time.sleep(600)"
        ),
    )
    interrupt([*JUPYTER_BOOK, "build", "book/"], book.book / "pid", cwd=book.repo)
    (book.book / "go").touch()
    book.build()


#: Begins to execute a cell that sleeps, and does other things, as Sphinx reads other pages.
MEANWHILE = """
import sys, time
from pathlib import Path
import nbformat
sys.path[:0] = {path!r}
from evidence.execution.notebook_runner import Execution, Run, kernel_environment
folder = Path({folder!r})
cell = "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(600)"
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)])
environment = kernel_environment(folder / "scratch", folder)
Execution([Run("page", notebook, folder)], environment, jobs=1, done=lambda run: None)
time.sleep(600)
"""


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_an_interruption_while_something_else_is_done_leaves_no_kernel(tmp_path):
    code = MEANWHILE.format(path=sys.path, folder=str(tmp_path))
    interrupt([sys.executable, "-c", code], tmp_path / "pid")


def test_old_results_are_pruned(tmp_path):
    from evidence.execution.code_closure import Package
    from evidence.execution.kept_outputs import KEPT_NOTEBOOKS, KEPT_SETS, Outputs

    (tmp_path / "src").mkdir()
    package = Package(tmp_path / "src")
    kept = tmp_path / "kept"
    for age in range(KEPT_SETS + 3):
        for name in (f"old{age}", f"trained-old{age}"):
            (kept / name).mkdir(parents=True)
            os.utime(kept / name, (1000 - age, 1000 - age))
    (kept / "new").mkdir()
    for age in range(KEPT_NOTEBOOKS + 3):
        path = kept / "new" / f"{age}.ipynb"
        path.touch()
        os.utime(path, (10**9 - age, 10**9 - age))
    trained = Outputs(kept, "new", package).trained
    assert {p.name for p in kept.iterdir()} == {
        "new",
        *(f"old{a}" for a in range(KEPT_SETS - 1)),
        trained.name,
        *(f"trained-old{a}" for a in range(KEPT_SETS - 1)),
    }
    assert len(list((kept / "new").iterdir())) == KEPT_NOTEBOOKS
    assert not (kept / "new" / f"{KEPT_NOTEBOOKS}.ipynb").exists(), "the oldest go"


def test_a_result_is_kept_without_parsing_code(tmp_path, monkeypatch):
    """In Python 3.11 the kernels' thread and the reading one must not parse at once."""
    from evidence.execution.code_closure import Package
    from evidence.execution.kept_outputs import Outputs
    from evidence.execution.keyed_execution import Progress

    (tmp_path / "src").mkdir()
    outputs = Outputs(tmp_path / "kept", "new", Package(tmp_path / "src"))
    run = notebook_run(tmp_path, "1 + 1")
    done = Progress([run], 1, outputs)
    with monkeypatch.context() as inside:
        inside.setattr(ast, "parse", None)
        done(run)
    assert outputs.load(run.notebook) == run.notebook
