"""The settings that a command line asks for: a recipe, a file or own text, and what it changes."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attention_book.cli.errors import ExitCode, Failure, wrong_settings
from attention_book.cli.files import STANDARD_INPUT, text_of
from attention_book.cli.language import refuse_of_translators
from attention_book.cli.terminal import said, visible
from attention_book.cli.translators import RUNS, check_recipe
from attention_book.course.recipes import RECIPES
from attention_book.runs.language.settings import (
    EMBEDDED,
    AnySettings,
    DocumentSettings,
    LanguageSettings,
    settings_from_toml,
)
from attention_book.runs.settings import EITHER, TEXT_RECIPES, RunSettings, known_names
from attention_book.text.corpora import DOWNLOADED

DEFAULT_RECIPE = "transformer-en-fr-1"
FILES = ("train", "validation", "test")

#: For text of one's own: subwords, so that any language will do, and a model between the
#: book's small one and that of the paper.
OWN_TEXT: Mapping[str, Mapping[str, Any]] = {
    "text": {"unit": "subwords", "num_pieces": 8000},
    "model": {
        "kind": "transformer",
        "config": {
            "d_model": 128,
            "num_heads": 4,
            "d_ff": 512,
            "num_layers": 3,
            "dropout": 0.1,
            "norm": "pre",
        },
    },
    "training": {
        "epochs": 10,
        "steps": None,
        "batch_tokens": 2048,
        "batch_size": None,
        "learning_rate": 0.001,
        "schedule": "inverse-square-root",
        "warmup": 400,
        "label_smoothing": 0.1,
    },
}


def settings_asked_for(chosen: Mapping[str, Any]) -> AnySettings:
    """Return the settings that the options of a line ask for."""
    if sum(chosen[name] is not None for name in ("recipe", "settings")) > 1:
        raise Failure(
            ExitCode.WRONG_LINE,
            "--recipe 和 --settings 只能用一个。",
            "--recipe, --settings: expected one of the two, got both",
        )
    given = None if chosen["settings"] is None else settings_in(chosen["settings"])
    kind: type[AnySettings] = LanguageSettings if _of_language(chosen, given) else RunSettings
    if kind is LanguageSettings:
        refuse_of_translators(chosen)
        parts = (given or LanguageSettings()).to_dict()
        changes = _of_language_options(chosen)
    else:
        parts = _begin(chosen) if given is None else given.to_dict()
        changes = _of_options(chosen)
    for assignment in chosen["set"]:
        _change(changes, *_assignment(assignment))
    if kind is LanguageSettings:
        _slow_down(changes, given)
    with wrong_settings():
        for part, values in changes.items():
            known_names("--set", [part], parts)
            _update(parts[part], values)
        return kind.from_dict(parts)


def _of_language(chosen: Mapping[str, Any], given: AnySettings | None) -> bool:
    """Whether a line asks for a language model: by its task, its text, or its settings."""
    if given is not None:
        task = given.TASK or "translation"
        if chosen["task"] not in (None, task):
            raise Failure(
                ExitCode.WRONG_LINE,
                f"--task：设置文件里的是 {task}。",
                f"--task: expected {task}, as the settings say, got {chosen['task']}",
            )
        return isinstance(given, LanguageSettings)
    implied = chosen["text"] or chosen["corpus"] in EMBEDDED
    if implied and chosen["task"] == "translation":
        name = "--text" if chosen["text"] else "--corpus"
        raise Failure(
            ExitCode.WRONG_LINE,
            f"{name}：这是训练语言模型用的文本，要配 --task language。",
            f"{name}: expected a text for --task language, got it with --task translation",
        )
    return bool(implied) or chosen["task"] == LanguageSettings.TASK


def _of_language_options(chosen: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what the options change in a language model's settings."""
    files = {"train": chosen["text"], "validation": chosen["validation"], "test": chosen["test"]}
    data: dict[str, Any] = {name: list(paths) for name, paths in files.items() if paths}
    for name, paths in data.items():
        _refuse_standard_input("text" if name == "train" else name, paths)
    if chosen["text"] and chosen["corpus"]:
        raise Failure(
            ExitCode.WRONG_LINE,
            "--text 和 --corpus 只能用一个。",
            "--text, --corpus: expected one of the two, got both",
        )
    if chosen["text"]:
        data["corpus"] = None
    elif chosen["corpus"] is not None:
        data["corpus"] = chosen["corpus"]
    elif chosen["settings"] is None:
        data["corpus"] = said("tang-poems", "austen")
    if chosen["source"] is not None:
        data["language"] = chosen["source"]
    elif chosen["corpus"] in DOWNLOADED:
        data["language"] = DOWNLOADED[chosen["corpus"]][0]
    text: dict[str, Any] = {}
    if chosen["bpe"] is not None:
        text = {"unit": "subwords", "num_pieces": chosen["bpe"]}
    return {"data": data, "text": text, "model": {}, "training": _training(chosen)}


def _slow_down(changes: dict[str, dict[str, Any]], given: AnySettings | None) -> None:
    """Let a model that is wider than usual learn more slowly, if nobody says how fast."""
    config = changes["model"].get("config")
    width = config.get("d_model") if isinstance(config, Mapping) else None
    told = given is not None or "learning_rate" in changes["training"]
    if not told and isinstance(width, int) and width > _USUAL_WIDTH:
        usual = LanguageSettings().training.learning_rate
        changes["training"]["learning_rate"] = usual * _USUAL_WIDTH / width


# Where the usual learning rate was tried.
_USUAL_WIDTH = 128


def _training(chosen: Mapping[str, Any]) -> dict[str, Any]:
    names = ("epochs", "steps", "device", "seed")
    return {name: chosen[name] for name in names if chosen.get(name) is not None}


def _refuse_standard_input(name: str, paths: Sequence[str]) -> None:
    if STANDARD_INPUT in paths:
        raise Failure(
            ExitCode.WRONG_LINE,
            f"--{name}：训练要把语料读好几遍，标准输入（-）只能读一遍；请先写进文件。",
            f"--{name}: expected a file, for a training reads its text several times, got "
            "standard input (-), which can be read once; write it to a file first",
        )


def _begin(chosen: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the settings of a translator before any option changes them."""
    if chosen["recipe"] is not None:
        check_recipe(chosen["recipe"], known=(*RECIPES, *TEXT_RECIPES))
        return RunSettings.from_recipe(chosen["recipe"]).to_dict()
    real = chosen["train"] or chosen["corpus"] in DOWNLOADED
    if not real:
        return RunSettings.from_recipe(DEFAULT_RECIPE).to_dict()
    parts = RunSettings().to_dict()
    for part, values in OWN_TEXT.items():
        parts[part] |= values
    return parts


def settings_in(path: str) -> AnySettings:
    """Return the settings that a TOML file says."""
    try:
        text = text_of(path)
    except Failure as failure:
        zh, en = f"--settings：{failure.text.zh}", f"--settings: {failure.text.en}"
        raise Failure(ExitCode.WRONG_LINE, zh, en) from failure
    with wrong_settings():
        return settings_from_toml(text)


def _of_options(chosen: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what the options change, by the parts of the settings."""
    data: dict[str, Any] = {name: list(chosen[name]) for name in FILES if chosen[name]}
    for name, paths in data.items():
        _refuse_standard_input(name, paths)
    if chosen["train"]:
        data["corpus"] = None
        if not (chosen["source"] and chosen["target"]):
            raise Failure(
                ExitCode.WRONG_LINE,
                "--train：请说明是什么语言，例如 --source it --target en。",
                "--train: expected the languages too, such as --source it --target en",
            )
    elif chosen["corpus"] is not None:
        data["corpus"] = chosen["corpus"]
        languages = DOWNLOADED.get(chosen["corpus"], ())  # the others speak any two of three
        data |= dict(zip(("source", "target"), languages, strict=False))
    data |= {name: chosen[name] for name in ("source", "target") if chosen[name] is not None}
    text: dict[str, Any] = {}
    if chosen["bpe"] is not None:
        text |= {"unit": "subwords", "num_pieces": chosen["bpe"]}
    if chosen["separate"]:
        text["shared"] = False
    return {"data": data, "text": text, "training": _training(chosen)}


def _assignment(text: str) -> tuple[list[str], Any]:
    """Return the names and the value of "training.warmup=100"."""
    name, sign, value = text.partition("=")
    names = [each.strip() for each in name.split(".")]
    if not sign or len(names) < 2 or not all(names):
        shown = visible(text)
        raise Failure(
            ExitCode.WRONG_LINE,
            f"--set：要写成 training.warmup=100 这样，不能写 {shown!r}。",
            f"--set: expected such as training.warmup=100, got {shown!r}",
        )
    return names, _value(value.strip())


def _value(text: str) -> Any:
    """Return what a value means in TOML; what means nothing there is a word."""
    try:
        found = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return found["value"] if set(found) == {"value"} else text


def _change(changes: dict[str, dict[str, Any]], names: list[str], value: Any) -> None:
    """Write a value where its names lead."""
    place: dict[str, Any] = changes
    for name in names[:-1]:
        inner = place.setdefault(name, {})
        if not isinstance(inner, dict):
            raise Failure(
                ExitCode.WRONG_LINE,
                f"--set：{visible('.'.join(names))} 不是设置。",
                f"--set: expected a setting, got {visible('.'.join(names))!r}",
            )
        place = inner
    place[names[-1]] = value


def _update(values: dict[str, Any], changes: Mapping[str, Any]) -> None:
    """Change values; of two that exclude each other the one that is said counts."""
    for pair in EITHER:
        for one, other in (pair, pair[::-1]):
            if changes.get(one) is not None and other in values and other not in changes:
                values[other] = None
    for name, value in changes.items():
        if isinstance(value, Mapping) and isinstance(values.get(name), dict):
            _update(values[name], value)
        else:
            values[name] = value


def folder_asked_for(chosen: Mapping[str, Any], settings: AnySettings) -> Path:
    """Return the folder of the run: the one that is named, or one below ``runs``."""
    if chosen["folder"] is not None:
        return Path(chosen["folder"])
    data = settings.data
    stem = data.corpus or Path(data.train[0]).name.partition(".")[0]
    if isinstance(data, DocumentSettings):
        name = stem
    elif chosen["train"] or chosen["corpus"]:
        name = f"{stem}-{data.source}-{data.target}"
    elif chosen["settings"] is not None:
        name = Path(chosen["settings"]).stem
    else:
        name = chosen["recipe"] or DEFAULT_RECIPE
    safe = re.sub(r"[^\w.-]+", "-", name).strip(".-")[:100]
    return RUNS / (safe or "run")
