"""Pack the questions of the built site as decks for Anki: Chinese, English, both on one card.

    python scripts/pack_cards.py [--site FOLDER] [--to FOLDER]

Anki on a telephone reads packages and no text files. A package is an archive of an SQLite
database in the form that every version of Anki reads (schema 11), written here with the standard
library: genanki, which does it too, has not been released since 2023. The same commit gives the
same bytes; whoever imports a newer package gets what has changed, and keeps when each card is due.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

BUILD = Path(__file__).resolve().parents[1] / "book" / "_build"
CARDS = Path("_static") / "questions" / "cards.js"
NAME = "attention_book-{language}.apkg"
#: The deck of each language, as in `anki.mjs`.
DECKS = {
    "zh": "注意力之书",
    "en": "The Attention Book",
    "both": "注意力之书 · The Attention Book",
}
TONGUES = {"zh": ("zh",), "en": ("en",), "both": ("zh", "en")}
STYLE = """\
.card { font: 18px/1.6 system-ui, sans-serif; max-width: 40em; margin: auto; }
pre { font-size: 14px; white-space: pre-wrap; }
"""
MODEL = 1763917001  # what tells our cards from others: it stays for ever
BORN = 1763917000
EARLIEST = (1980, 1, 1, 0, 0, 0)
SCHEMA = """
CREATE TABLE col (id integer primary key, crt integer not null, mod integer not null,
  scm integer not null, ver integer not null, dty integer not null, usn integer not null,
  ls integer not null, conf text not null, models text not null, decks text not null,
  dconf text not null, tags text not null);
CREATE TABLE notes (id integer primary key, guid text not null, mid integer not null,
  mod integer not null, usn integer not null, tags text not null, flds text not null,
  sfld integer not null, csum integer not null, flags integer not null, data text not null);
CREATE TABLE cards (id integer primary key, nid integer not null, did integer not null,
  ord integer not null, mod integer not null, usn integer not null, type integer not null,
  queue integer not null, due integer not null, ivl integer not null, factor integer not null,
  reps integer not null, lapses integer not null, left integer not null, odue integer not null,
  odid integer not null, flags integer not null, data text not null);
CREATE TABLE revlog (id integer primary key, cid integer not null, usn integer not null,
  ease integer not null, ivl integer not null, lastIvl integer not null, factor integer not null,
  time integer not null, type integer not null);
CREATE TABLE graves (usn integer not null, oid integer not null, type integer not null);
CREATE INDEX ix_notes_usn on notes (usn);
CREATE INDEX ix_cards_usn on cards (usn);
CREATE INDEX ix_revlog_usn on revlog (usn);
CREATE INDEX ix_cards_nid on cards (nid);
CREATE INDEX ix_cards_sched on cards (did, queue, due);
CREATE INDEX ix_revlog_cid on revlog (cid);
CREATE INDEX ix_notes_csum on notes (csum);
"""


def cards_of(site: Path) -> list[dict[str, Any]]:
    """Return the cards that the build has written."""
    text = (site / CARDS).read_text(encoding="utf8")
    found = re.fullmatch(r'attentionBookQuestions\.arrived\("cards", (.*)\);\n', text, re.S)
    if found is None:
        raise ValueError(f"{site / CARDS}: not what the build writes")
    cards: list[dict[str, Any]] = json.loads(found[1])
    return cards


def changed() -> int:
    """Return when the book was changed last: Anki takes a card in anew only if it is newer."""
    asked = ["git", "-C", str(BUILD.parent), "log", "-1", "--format=%ct"]
    try:
        return int(subprocess.run(asked, capture_output=True, text=True, check=True).stdout)
    except (OSError, ValueError, subprocess.CalledProcessError):  # an archive of the sources
        return int(time.time())


def number_of(name: str) -> int:
    """Return a number for a name, the same for ever: ids of Anki are times in milliseconds."""
    digest = hashlib.sha256(name.encode("utf8")).digest()
    return BORN * 1000 + int.from_bytes(digest[:5], "big")


def deck(name: str) -> dict[str, Any]:
    today = {f"{kind}Today": [0, 0] for kind in ("new", "rev", "lrn", "time")}
    return {
        "id": 1 if name == "Default" else number_of(name), "name": name, "desc": "", "conf": 1,
        "dyn": 0, "mod": BORN, "usn": 0, "collapsed": False, "browserCollapsed": False,
        "extendNew": 0, "extendRev": 0, **today,
    }  # fmt: skip


def note_type() -> dict[str, Any]:
    """Return how a card looks: its front, and its front with its back below."""
    fields = [
        {"name": name, "ord": place, "font": "Arial", "size": 20, "sticky": False, "rtl": False,
         "media": []}
        for place, name in enumerate(("Front", "Back"))
    ]  # fmt: skip
    template = {
        "name": "Card 1", "ord": 0, "qfmt": "{{Front}}", "bqfmt": "", "bafmt": "", "did": None,
        "afmt": '{{FrontSide}}<hr id="answer">{{Back}}',
    }  # fmt: skip
    return {
        "id": MODEL, "name": "Attention Book", "type": 0, "mod": BORN, "usn": 0, "sortf": 0,
        "did": None, "tmpls": [template], "flds": fields, "css": STYLE, "tags": [], "vers": [],
        "latexPre": "", "latexPost": "", "req": [[0, "any", [0]]],
    }  # fmt: skip


def side(card: dict[str, Any], language: str, name: str, between: str = "<hr>") -> str:
    return between.join(card[tongue][name] for tongue in TONGUES[language])


def database(cards: list[dict[str, Any]], language: str, now: int, path: Path) -> None:
    """Write a collection of these cards, changed at a time."""
    names = [f"{DECKS[language]}::{side(card, language, 'title', ' · ')}" for card in cards]
    decks = [deck(name) for name in dict.fromkeys(["Default", DECKS[language], *names])]
    options = {
        "id": 1, "name": "Default", "mod": 0, "usn": 0, "maxTaken": 60, "autoplay": True,
        "timer": 0, "replayq": True, "dyn": False,
        "new": {"delays": [1, 10], "ints": [1, 4, 0], "initialFactor": 2500, "perDay": 20,
                "order": 1, "bury": False},
        "rev": {"perDay": 200, "ease4": 1.3, "ivlFct": 1, "maxIvl": 36500, "bury": False,
                "hardFactor": 1.2},
        "lapse": {"delays": [10], "mult": 0, "minInt": 1, "leechFails": 8, "leechAction": 1},
    }  # fmt: skip
    settings = {"nextPos": len(cards) + 1, "curDeck": 1, "activeDecks": [1], "sortType": "noteFld"}
    with closing(sqlite3.connect(path)) as base, base:
        base.executescript(SCHEMA)
        texts = [json.dumps(each, ensure_ascii=False) for each in (
            settings, {str(MODEL): note_type()}, {str(each["id"]): each for each in decks},
            {"1": options}, {},
        )]  # fmt: skip
        head = (1, BORN, now * 1000, BORN * 1000, 11, 0, 0, 0)
        base.execute(f"INSERT INTO col VALUES ({', '.join('?' * 13)})", (*head, *texts))
        for place, (card, name) in enumerate(zip(cards, names, strict=True), start=1):
            guid = f"attention-book-{card['id']}-{language}"
            front, back = (side(card, language, each) for each in ("front", "back"))
            plain = re.sub("<[^>]*>", "", front)
            checksum = int(hashlib.sha1(plain.encode("utf8")).hexdigest()[:8], 16)
            number = number_of(guid)
            tags = f" attention-book {card['page']} {card['role']} "
            base.execute(
                f"INSERT INTO notes VALUES ({', '.join('?' * 11)})",
                (number, guid, MODEL, now, -1, tags, f"{front}\x1f{back}", plain, checksum, 0, ""),
            )
            base.execute(
                f"INSERT INTO cards VALUES ({', '.join('?' * 18)})",
                (number, number, number_of(name), 0, now, -1, 0, 0, place, *[0] * 8, ""),
            )


def pack(cards: list[dict[str, Any]], language: str, now: int, target: Path) -> None:
    """Write one package; it replaces an older one only when it is complete."""
    unfinished = target.with_suffix(".unfinished")
    with tempfile.TemporaryDirectory() as folder:
        database(cards, language, now, path := Path(folder, "collection.anki2"))
        with zipfile.ZipFile(unfinished, "w") as archive:
            for name, content in ((path.name, path.read_bytes()), ("media", b"{}")):
                entry = zipfile.ZipInfo(name, EARLIEST)
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, content)
    unfinished.replace(target)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--site", type=Path, default=BUILD / "html", metavar="FOLDER")
    parser.add_argument("--to", type=Path, default=BUILD, metavar="FOLDER")
    options = parser.parse_args()
    if not (options.site / CARDS).is_file():
        sys.exit(f"no questions of a built site at {options.site}: run make book first")
    cards = cards_of(options.site)
    for language in DECKS:
        target = options.to / NAME.format(language=language)
        pack(cards, language, changed(), target)
        print(f"{target} ({len(cards)} cards, {target.stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    main()
