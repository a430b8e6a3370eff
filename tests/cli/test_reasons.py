"""No English sentence in a Chinese session: every message that can reach the command, walked.

What can reach it is found in the code itself: each ``raise`` of the modules that the command
works with, with the texts that it puts together. A message that is added without its Chinese fails
here, with the line it stands in.
"""

import ast
import itertools
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import attention_book
from attention_book.cli.errors import ExitCode
from attention_book.cli.phrases import ADVICE, PHRASES, REASONS
from attention_book.cli.reasons import has_english, in_chinese

PACKAGE = Path(attention_book.__file__).parent
# What the command works with: whatever is raised there may be told to who typed the line.
REACHED = (
    *("cli", "runs", "text", "training/checkpoint.py", "training/loop.py", "training/schedule.py"),
    *(
        "decoding/beam.py",
        "decoding/prediction.py",
        "decoding/translate.py",
        "models/sources.py",
        "models/parts.py",
        "attention/positions/learned.py",
    ),
    *("attention/positions/rotary.py", "attention/positions/rope_scaling.py"),
    *("models/pretrained", "models/config.py", "models/recurrent"),
    "models/transformer.py",
    *("course/recipes", "foundations/environment.py", "foundations/stored_settings.py"),
)
RAISED = {
    *("ValueError", "CorpusError", "CheckpointError", "RunError", "MachineError", "OSError"),
    *("PretrainedError", "ImportError", "refuse", "complain", "Problem"),
}


def modules() -> list[Path]:
    found = []
    for name in REACHED:
        place = PACKAGE / name
        assert place.exists(), f"{name}: not there any more"
        found += [place] if place.is_file() else sorted(place.rglob("*.py"))
    return found


def texts(node: ast.expr, known: dict[str, list[ast.expr]], depth: int = 0) -> list[str]:
    """What an expression may be as text; a value that nobody knows is a number."""
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.JoinedStr(values=parts):
            ways = [texts(part, known, depth) for part in parts]
            return ["".join(way) for way in itertools.islice(itertools.product(*ways), 32)]
        case ast.FormattedValue(value=inner, conversion=kind):
            found = texts(inner, known, depth)
            return [repr(text) if kind == ord("r") else text for text in found]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            pairs = itertools.product(texts(left, known, depth), texts(right, known, depth))
            return [a + b for a, b in pairs]
        case ast.IfExp(body=body, orelse=other):
            return [*texts(body, known, depth), *texts(other, known, depth)]
        case ast.Name(id=name) if name in known and depth < 3:
            found = [text for each in known[name] for text in texts(each, known, depth + 1)]
            return list(dict.fromkeys(found))[:8] or ["7"]
    return ["7"]


def assigned(function: ast.AST) -> dict[str, list[ast.expr]]:
    """What the names of a function are, where they are texts."""
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            if isinstance(node.value, ast.Constant | ast.JoinedStr | ast.IfExp | ast.BinOp):
                found.setdefault(node.targets[0].id, []).append(node.value)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            before = found.get(node.target.id, [])
            found[node.target.id] = before + [
                ast.BinOp(left=each, op=ast.Add(), right=node.value) for each in before
            ]
    return found


def reasons() -> Iterator[tuple[str, str]]:
    """Every place that raises, and what it may say."""
    for path in modules():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)] or [tree]
        for function in functions:
            known = assigned(function)
            for node in ast.walk(function):
                if not isinstance(node, ast.Call):
                    continue
                name = node.func.attr if isinstance(node.func, ast.Attribute) else None
                name = name or getattr(node.func, "id", "")
                if name not in RAISED or not node.args:
                    continue
                place = f"{path.relative_to(PACKAGE)}:{node.lineno}"
                if name == "refuse" and len(node.args) >= 2:  # (name, wanted, got)
                    for wanted in texts(node.args[1], known):
                        yield place, f"config.json: x: expected {wanted}, got 7"
                    continue
                argument = node.args[1 if name == "Problem" and len(node.args) > 1 else 0]
                for text in texts(argument, known):
                    if not text.strip("7':. "):
                        continue  # what another place has said
                    yield place, text


ALL = sorted(set(reasons()))


def test_the_walk_finds_what_is_raised() -> None:
    said = {text for _, text in ALL}
    assert len(ALL) > 200
    assert "7: expected source TAB target, got no tab" not in said, "it is a Problem"
    assert "expected source TAB target, got no tab" in said
    assert "training: expected 7, got 7" not in said
    assert any("expected the folder of a run, got no folder" in text for text in said)


def test_every_reason_is_known_in_chinese() -> None:
    """The kind: each message there is; and behind the name of a file, as they are told."""
    english = []
    for place, text in ALL:
        for reason in (text, f"runs/a/settings.toml: {text}"):
            told = in_chinese(reason)
            if has_english(told) or "英文原文" in told or told == reason:
                english.append(f"{place}: {reason}\n    {told}")
                break
    assert not english, "\n".join(english)


def test_a_text_that_is_known_whole_is_not_told_by_a_form_with_places() -> None:
    """The kind: a name in a form is left as it is; "no folder" was told as 没有 folder."""
    for told in (REASONS, PHRASES, ADVICE):
        for pattern, chinese in told.items():
            text = re.sub(r"\\(.)", r"\1", pattern.pattern)
            if not pattern.groups and pattern.fullmatch(text):
                first = next(said for form, said in told.items() if form.fullmatch(text))
                assert first == chinese, text
    expected = "nowhere：应为训练结果的文件夹，得到的是没有这个文件夹"
    assert in_chinese("nowhere: expected the folder of a run, got no folder") == expected


def test_what_the_command_itself_says_is_in_two_languages() -> None:
    """Each Failure, Bilingual and said of the command: no English in the Chinese, no raw reason."""
    wrong = []
    for path in sorted([*(PACKAGE / "cli").rglob("*.py"), *(PACKAGE / "runs").rglob("*.py")]):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = getattr(getattr(node, "func", None), "id", "")
            if not isinstance(node, ast.Call) or name not in ("Failure", "Bilingual", "said"):
                continue
            chinese = node.args[1 if name == "Failure" else 0]
            told = [
                part
                for each in ast.walk(chinese)
                if isinstance(each, ast.Call) and getattr(each.func, "id", "") == "in_chinese"
                for part in ast.walk(each)
            ]
            raw = {
                ast.unparse(each.value)
                for each in ast.walk(chinese)
                if isinstance(each, ast.FormattedValue) and each not in told
            } & {"reason", "error", "str(error)", "visible(reason)", "visible(str(error))"}
            said = " ".join(texts(chinese, {}))
            if raw or has_english(re.sub(r"attention-book \S+.*", "", said)):
                wrong.append(f"{path.relative_to(PACKAGE)}:{node.lineno}: {raw or said}")
    assert not wrong, "\n".join(wrong)


SESSION = [
    *("translate hello --run nowhere", "translate --file nowhere.txt", "translate --file ."),
    *("translate hi --attention no/such/x.html", "translate hi --length-penalty -1"),
    *("translate a b --attention x.html", "translate --recipe nope hi", "translate - -"),
    *("evaluate --translations a --references b", "evaluate --test nowhere.tsv", "evaluate x1"),
    *("inspect --model nowhere hi", "inspect hi", "export --folder settings.toml", "nope"),
    *(
        "data nowhere.tsv",
        "data --test x1",
        "data --test x1 x2 x3",
        "data empty.tsv",
        "data --fetch",
    ),
    *("data grammar --source de --target en", "data dirty.tsv --source it --target en"),
    *("train --folder runs/tiny --steps 9", "train --folder runs/tiny --corpus grammar"),
    *("train --set model.config.num_heads=5", "train --set model.config.d_model=2.5"),
    *("train --set model.kind=gpt", "train --set training.warmup=many", "train --set a.b=1"),
    *("train --set training.betas=[1,2]", "train --set training.average=9", "train --set x"),
    *("train --set training.device=tpu", "train --device cuda --folder new", "train --seed -1"),
    *("train --settings nowhere.toml", "train --settings broken.toml", "train --settings odd.toml"),
    *("train --train dirty.tsv --source it --target en --folder new", "train --recipe a"),
    *("train --train empty.tsv --source it --target en --folder new", "train --train x1"),
    *("train --train nowhere.tsv --source it --target en --folder new", "train --steps 0"),
    *("train --train latin.tsv --source it --target en --folder new", "train --resume --again"),
    *("train --train one.it two.en --source it --target en --folder new", "train --train -"),
    *("train --corpus multi30k-en-de --source it --target en --folder new", "train --bpe 1"),
    *("train --train dirty.tsv --source it --target xx --set text.unit=words --folder new",),
    *("train --resume --folder nowhere", "train --folder empty.tsv"),
    *("train --set model.config.shared=true", "train --set text.moses=true", "train --steps x"),
    *("train --set training.sharded=true --set training.precision=float16",),
    *("train --set model.config.positions=rotary --set model.config.d_model=4",),
    *("train --set training.label_smoothing=2", "train --set data.held_out=2"),
    "train --set model.config.positions=wave",
]


def test_nothing_that_is_typed_wrong_is_answered_in_english(say, beside, tmp_path, monkeypatch):
    """The kind: every way to be refused, in the language that was asked for."""
    shutil.copytree("runs", tmp_path / "runs")
    monkeypatch.chdir(tmp_path)
    files = {
        "dirty.tsv": "no tab\n\tx\na\tb\tc\nio\t\n", "empty.tsv": "", "broken.toml": "[a\nb",
        "odd.toml": "[training]\nstepz = 1\n", "one.it": "a\nb\n", "two.en": "a\n",
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "latin.tsv").write_bytes("déjà\tvu\n".encode("latin-1"))
    english = []
    for line in SESSION:
        found = say([*line.split(), "--lang", "zh"] if "--lang" not in line else line, "")
        assert found.code in set(ExitCode) - {ExitCode.UNEXPECTED}, (line, found)
        out = [] if line.startswith("translate") else found.out.splitlines()  # a model's words
        for said in (*found.err.splitlines(), *out):
            bare = re.sub(r"attention-book (data|train|\w+ --help)[^；]*|iconv [^；]*", "", said)
            if has_english(re.sub(r"英文原文：“[^”]*”", "", bare)):
                english.append(f"{line}\n    {said}")
            if "英文原文" in said and "toml" not in line:
                english.append(f"{line}\n    {said}")
    assert not english, "\n".join(english)


def test_where_it_is_written_stays_when_the_reason_is_known_whole() -> None:
    said = "settings: expected TOML, got something else: Invalid value (at end of document)"
    assert in_chinese(said) == "settings：应为 TOML，得到的是别的东西（文件没写完）"


def test_what_nobody_knows_is_quoted_and_named_as_english() -> None:
    for text in ("something else happened", "x: expected a thing that is not known, got one of it"):
        assert "英文原文：“" in in_chinese(text)
        assert not has_english(in_chinese(text))


@pytest.mark.parametrize(
    "text",
    ["应为 none", "the end", "x：it is not", "只能是 the two 之一", "读不了：No such file or"],
)
def test_an_english_sentence_is_noticed(text) -> None:
    assert has_english(text)


@pytest.mark.parametrize(
    "text",
    [
        "runs/a/of/the/b.toml 读不了", "--set 要写成 training.warmup=100", "“not so”",
        "d_model = 32",
        'pip install "a[b] @ git"', "'the one'", "num_layers=2", "<eos>", "float32 或 bfloat16",
    ],
)  # fmt: skip
def test_names_and_code_are_none(text) -> None:
    assert not has_english(text)


@given(st.text(max_size=60))
def test_no_reason_breaks_the_translation(text) -> None:
    assert isinstance(in_chinese(f"{text}: expected {text}, got {text}"), str)


def test_what_came_is_not_cut_where_it_has_a_colon() -> None:
    told = in_chinese("config.json: x: expected a number above 0, got {'a': 1}")
    assert told == "config.json: x：应为大于 0 的数，得到的是 {'a': 1}"
