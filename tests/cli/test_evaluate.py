"""``attention-book evaluate``: the numbers are those of the scores, of whatever was translated."""

import json
from pathlib import Path

import pytest
from sacrebleu.metrics.bleu import BLEU

from attention_book.cli.errors import ExitCode
from attention_book.metrics import corpus_bleu
from attention_book.runs import load_run, read_lines


def found(say, line, **environment):
    said = say(f"evaluate {line} --json --resamples 100", **environment)
    assert said.code == 0, said.err
    return json.loads(said.out)


@pytest.fixture
def held_out(beside):
    """The first eight test sentences, their references, and the run's translations."""
    run = load_run("runs/tiny")
    lines = [line for _, line in zip(range(8), read_lines(run.settings.data, "test"), strict=False)]
    return run, [source for source, _ in lines], [target for _, target in lines]


def test_a_runs_own_test_sentences_are_scored(say, held_out):
    run, sources, references = held_out
    made = say(["translate", *sources]).out.splitlines()
    score = found(say, "--limit 8")
    assert score["num_sentences"] == 8
    assert score["bleu"]["value"] == BLEU().corpus_score(made, [references]).score
    tokens = [[run.codec.target_tokens(text) for text in side] for side in (made, references)]
    assert score["tokenized_bleu"]["value"] == pytest.approx(corpus_bleu(*tokens))
    assert sum(each["count"] for each in score["by_length"]) == 8


def test_files_are_scored_without_a_model(say, held_out, tmp_path):
    _, sources, references = held_out
    names, references = {}, [f"{text} {text} {text}" for text in references]
    for name, lines in (("mine", references[::-1]), ("theirs", references), ("from", sources)):
        names[name] = tmp_path / name
        names[name].write_text("\n".join(lines) + "\n", encoding="utf-8")
    line = f"--translations {names['mine']} --references {names['theirs']} --target fr"
    score = found(say, line)
    assert score["bleu"]["value"] == BLEU().corpus_score(references[::-1], [references]).score
    assert (score["tokenized_bleu"], score["by_length"]) == (None, [])
    assert found(say, f"{line} --sources {names['from']}")["by_length"]
    assert "tok:zh" in found(say, line.replace("fr", "zh"))["bleu"]["signature"]
    compared = found(say, f"{line} --compare {names['theirs']}")["compared"]
    assert compared["difference"] == compared["second"]["value"] - score["bleu"]["value"] > 0


def test_a_test_file_of_ones_own_gives_what_the_held_out_part_gives(say, held_out, tmp_path):
    _, sources, references = held_out
    pairs = zip(sources, references, strict=True)
    (tmp_path / "t.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in pairs), encoding="utf-8")
    own, given = found(say, f"--test {tmp_path}/t.tsv"), found(say, "--limit 8")
    assert own["bleu"] == given["bleu"]


def test_a_run_beside_itself_cannot_be_told_apart(say, beside):
    said = say("evaluate --limit 8 --resamples 100 --compare runs/tiny")
    assert "+0.0 BLEU, p = 1.000: the two cannot be told apart" in said.out
    chinese = say("evaluate --limit 8 --resamples 100 --compare runs/tiny --lang zh")
    assert "分不出高下" in chinese.out


@pytest.fixture(scope="module")
def into_chinese(say, tmp_path_factory):
    """A run whose languages have codes of three letters; its training ends with a score."""
    folder = tmp_path_factory.mktemp("chinese") / "run"
    small = " ".join(
        f"--set model.config.{name}" for name in ("d_model=8", "num_heads=2", "d_ff=8")
    )
    languages = "--corpus phrasebook --source eng --target cmn"
    said = say(f"train {languages} --folder {folder} --steps 2 {small}")
    assert said.code == 0, said.err
    return folder


def test_a_run_with_codes_of_three_letters_is_scored_as_its_language(say, into_chinese, tmp_path):
    """The kind: code and tokenizer met as strings, so the signature said 13a of Chinese."""
    assert load_run(into_chinese).settings.data.target == "cmn"  # as it was typed
    run = f"--run {into_chinese} --limit 8"
    assert "|tok:zh|" in found(say, run)["bleu"]["signature"]
    lines = [line for _, line in zip(range(8), read_lines(
        load_run(into_chinese).settings.data, "test"), strict=False)]  # fmt: skip
    perfect = tmp_path / "perfect.txt"
    perfect.write_text("".join(f"{target}\n" for _, target in lines), encoding="utf-8")
    compared = found(say, f"{run} --compare {perfect}")["compared"]
    assert compared["second"]["value"] == pytest.approx(100)


def test_models_of_other_languages_are_not_compared(say, beside, into_chinese, tmp_path):
    """The kind: two numbers with a p-value that are about different texts.

    Another target, another source, a file's language that --target names or, unsaid, is English.
    """
    said = say(f"evaluate --limit 4 --resamples 0 --compare {into_chinese}")
    assert (said.code, said.out) == (ExitCode.WRONG_LINE, "")
    assert (
        "--compare: expected a model for en → fr, which is scored here, got eng → cmn" in said.err
    )
    said = say(f"evaluate --limit 4 --resamples 0 --compare {into_chinese} --lang zh-CN")
    assert "翻译的是 eng → cmn，这里打分的是 en → fr，不能比" in said.err
    said = say(f"evaluate --run {into_chinese} --limit 4 --resamples 0 --compare runs/tiny")
    assert "expected a model for eng → cmn, which is scored here, got en → fr" in said.err

    for name in ("sources", "mine"):
        (tmp_path / name).write_text("go .\n" * 4)
    files = f"--translations {tmp_path}/mine --references {tmp_path}/mine"
    line = f"evaluate {files} --sources {tmp_path}/sources --resamples 0 --compare runs/tiny"
    said = say(line)
    assert said.code == ExitCode.WRONG_LINE
    assert "for … → en, which is scored here" in said.err
    assert "--target names" in said.err
    for code in ("fr", "fra", "FR_ca.UTF-8"):  # the advice, followed
        assert say(f"{line} --target {code}").code == 0
    assert say(f"{line} --target de").code == ExitCode.WRONG_LINE


def test_the_translations_are_kept_on_request(say, held_out, tmp_path):
    _, sources, _ = held_out
    assert say(f"evaluate --limit 8 --save {tmp_path}/out.txt").code == 0
    assert Path(tmp_path, "out.txt").read_text() == say(["translate", *sources]).out


def test_a_report_names_the_signatures(say, beside):
    said = say("evaluate --limit 8 --resamples 100").out
    assert said.count("nrefs:1|bs:100|") == 3
    assert "test · 8 sentences" in said


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("--translations a", ExitCode.WRONG_LINE),
        ("--translations a --references b", ExitCode.DATA),
        ("--translations a --references b --run runs/tiny", ExitCode.WRONG_LINE),
        ("--limit 2 --compare nowhere.txt", ExitCode.DATA),
        ("--test nowhere.tsv", ExitCode.DATA),
        ("--limit 2 --save no/such/place.txt", ExitCode.WRONG_LINE),
        ("--split other", ExitCode.WRONG_LINE),
        ("--run nowhere", ExitCode.RUN),
    ],
)
def test_what_cannot_be_scored_is_told(say, beside, line, code):
    said = say(f"evaluate --resamples 0 {line}")
    assert said.code == code, said
    *notes, last = said.err.splitlines()
    assert last.startswith("attention-book")
    assert all("unknown to the model" in line for line in notes)


def test_too_few_translations_are_told(say, beside, tmp_path):
    (tmp_path / "few.txt").write_text("un\n")
    for line in (f"--limit 3 --compare {tmp_path}/few.txt", f"--compare {tmp_path}/few.txt"):
        said = say(f"evaluate {line} --resamples 0")
        assert said.code == ExitCode.DATA, said
