"""Packages that Anki imports: read as it reads them, an archive with a database."""

import json
import sqlite3
import zipfile
from contextlib import closing

import pytest
from pack_cards import CARDS, DECKS, MODEL, cards_of, pack

CARD = {
    "id": "masks-zero",
    "page": "masks",
    "role": "predict",
    "zh": {"front": "<p>几个？</p>", "back": r"<p>\(x\)</p>", "title": "掩码"},
    "en": {"front": "<p>How many?</p>", "back": r"<p>\(x\)</p>", "title": "Masks"},
}
OTHER = {**CARD, "id": "cues-desk", "page": "cues"}


def read(path, folder):
    """Return the tables of a package as lists of dictionaries."""
    with zipfile.ZipFile(path) as archive:
        assert set(archive.namelist()) == {"collection.anki2", "media"}
        assert json.loads(archive.read("media")) == {}
        archive.extract("collection.anki2", folder)
    with closing(sqlite3.connect(folder / "collection.anki2")) as base:
        base.row_factory = sqlite3.Row
        assert base.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        return {
            name: [dict(row) for row in base.execute(f"SELECT * FROM {name} ORDER BY rowid")]
            for name in ("col", "notes", "cards", "revlog", "graves")
        }


@pytest.mark.parametrize("language", DECKS)
def test_a_package_holds_each_question_as_a_new_card_of_its_chapters_deck(tmp_path, language):
    pack([CARD, OTHER], language, 1_800_000_000, path := tmp_path / "deck.apkg")
    found = read(path, tmp_path)
    (col,) = found["col"]
    assert col["ver"] == 11
    assert list(json.loads(col["models"])) == [str(MODEL)]
    names = {int(key): deck["name"] for key, deck in json.loads(col["decks"]).items()}
    cards = sorted(found["cards"], key=lambda card: card["due"])  # new ones come in this order
    notes = {note["id"]: note for note in found["notes"]}
    for card, ours in zip(cards, (CARD, OTHER), strict=True):
        note = notes.pop(card["nid"])
        assert note["guid"] == f"attention-book-{ours['id']}-{language}"
        assert note["mid"] == MODEL
        assert note["mod"] == 1_800_000_000
        assert note["tags"].split() == ["attention-book", ours["page"], "predict"]
        front, back = note["flds"].split("\x1f")
        assert ("几个？" in front) == (language != "en")
        assert ("How many?" in front) == (language != "zh")
        assert back.count(r"\(x\)") == (2 if language == "both" else 1)
        assert (card["type"], card["queue"], card["reps"]) == (0, 0, 0)
        assert names[card["did"]].startswith(f"{DECKS[language]}::")
    assert found["revlog"] == found["graves"] == []
    assert not notes


def test_the_same_questions_give_the_same_bytes(tmp_path):
    for name in ("first", "second"):
        pack([CARD, OTHER], "both", 1_800_000_000, tmp_path / f"{name}.apkg")
    assert (tmp_path / "first.apkg").read_bytes() == (tmp_path / "second.apkg").read_bytes()


def test_the_cards_are_those_that_the_build_wrote(tmp_path):
    (tmp_path / CARDS).parent.mkdir(parents=True)
    packed = json.dumps([CARD], ensure_ascii=False)
    (tmp_path / CARDS).write_text(f'attentionBookQuestions.arrived("cards", {packed});\n', "utf8")
    assert cards_of(tmp_path) == [CARD]
    (tmp_path / CARDS).write_text("alert(1)", "utf8")
    with pytest.raises(ValueError, match="not what the build writes"):
        cards_of(tmp_path)
