"""Words that a model does not know are named on standard error, and never in the result."""

import json

import pytest

from attention_book.runs import TextCodec, TextSettings, load_run

UNKNOWN = "the zyzzyva greets the quokka and the zyzzyva ."


@pytest.fixture(scope="session")
def run(tiny_run):
    return load_run(tiny_run / "runs/tiny")


def names(said):
    """The words that the lines of standard error name, by the line that they are about."""
    found = {}
    for line in said.err.splitlines():
        place, _, rest = line.rpartition("unknown to the model: ")
        found[place] = rest.split(", ")
    return found


def test_each_unknown_word_is_named_once_in_order(say, beside, run):
    words = run.codec.source_tokens(UNKNOWN)
    expected = list(dict.fromkeys(w for w in words if w not in run.codec.source_vocabulary))
    assert expected[-1] == "quokka" or "quokka" in expected
    found = say(["translate", UNKNOWN])
    assert found.code == 0
    assert names(found) == {"": expected}
    assert found.out.count("\n") == 1
    assert "zyzzyva" not in found.out


@pytest.mark.parametrize("batch", ["1", "2", "64"])
def test_each_line_has_its_own_line_and_its_number(say, beside, batch):
    lines = ["wait !", "", "wait zyzzyva !", "wait !", "quokka quokka !"]
    found = say(["translate", "--batch", batch], "\n".join(lines))
    assert names(found) == {"line 3: ": ["zyzzyva"], "line 5: ": ["quokka"]}
    assert say(["translate", "--batch", batch, *lines]).err == found.err
    assert found.out.count("\n") == 5


def test_what_is_known_needs_no_word(say, beside, run):
    known = " ".join(run.codec.source_vocabulary.tokens[4:12])
    assert say(["translate", known]).err == ""


def test_it_is_said_in_both_languages(say, beside):
    assert say(["translate", "--lang", "zh", "zyzzyva !"]).err == "模型不认识的词：zyzzyva\n"
    found = say(["translate", "--lang", "zh", "wait !", "zyzzyva !"])
    assert found.err == "第 2 行：模型不认识的词：zyzzyva\n"


def test_a_word_that_is_spelled_as_a_special_token_is_unknown(say, beside):
    assert names(say(["translate", "wait <pad> !"])) == {"": ["<pad>"]}


def test_many_words_and_long_ones_are_cut_short_and_none_steers_a_terminal(say, beside):
    text = " ".join([*(f"zyzzyva{n}" for n in range(20)), "wait"])
    found = say(["translate", text])
    assert found.err.endswith("zyzzyva7 and 12 more\n")
    assert say(["translate", "--lang", "zh", text]).err.endswith("zyzzyva7 等 20 个\n")
    found = say(["translate", "q\x1b[2J" + "q" * 5000])
    assert len(found.err) < 100
    assert "\x1b" not in found.err


def test_subwords_know_every_word():
    lines = [("Go on.", "Va !")] * 9
    codec = TextCodec.learn(lines, TextSettings(unit="subwords", num_pieces=300), ("en", "fr"))
    assert codec.unknown_words(UNKNOWN) == ()


def test_an_evaluation_says_how_many_sentences_have_some(say, beside, tmp_path):
    file = tmp_path / "test.tsv"
    file.write_text("Wait!\tAttends !\nWait, quokka!\tAttends !\nThe quokka, zyzzyva!\tLe !\n")
    found = say(["evaluate", "--test", str(file), "--resamples", "0", "--json"])
    assert found.code == 0, found.err
    json.loads(found.out)
    [line] = found.err.splitlines()
    assert line.startswith("runs/tiny: 2 of 3 sentences have words unknown to the model: quokka, ")
    found = say(["evaluate", "--test", str(file), "--resamples", "0", "--lang", "zh"])
    assert "3 句原文里，2 句有模型不认识的词：quokka、" in found.err
