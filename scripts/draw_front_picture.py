"""Draw the picture with which both READMEs begin: a translation, and the same with one word cut.

    python scripts/draw_front_picture.py

It needs a built book (`make book`): the sentence and its cuts are those of the front page, drawn
by the same code. What a page's style sheet says stands in the picture itself, since a README has
none. The picture is `pictures/cut-a-look.svg`; commit it.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "book" / "_ext"))
sys.path.append(str(ROOT / "src"))

from live.drawing import engine  # noqa: E402

from attention_book.plotting.ramp import weight_color  # noqa: E402

MODEL = "transformer-zh-en-1"
CUTS = ROOT / "book/_build/.doctrees/live_models/live/models" / f"{MODEL}.cuts.json"
PICTURE = ROOT / "pictures" / "cut-a-look.svg"
MARGIN = 28
MIXED = re.compile(r"color-mix\(in srgb, var\(--weight-(\w+)\) (\d+)%, var\(--weight-\w+\)\)")
DRAW = """
function drawnFor(text, which) {
  const { drawn } = attentionBookLive.modules["widgets/cut"].default;
  const how = { narrow: false, label: "title" };
  return drawn(JSON.parse(text), which < 0 ? null : which, how).outerHTML;
}
"""
STYLE = """
text { font-family: Georgia, "Noto Serif", serif; fill: #1f2328; }
[lang="zh-Hans"] { font-family: "Songti SC", "Noto Serif CJK SC", SimSun, serif; font-weight: 600; }
.live-cut-ribbon { fill-opacity: .82; }
.cut { fill: #57606a; text-decoration: line-through; }
.fresh { font-weight: 700; fill: #8f1d60; }
.live-cut-ghost { fill: none; stroke: #57606a; stroke-width: 1.5; stroke-dasharray: 3 5; }
.live-cut-scissors { fill: #fff; stroke: #9a4a00; stroke-width: 2; }
"""


def picture(cuts: str) -> str:
    """Return both drawings, one below the other, as one SVG."""
    found = engine("cut")
    found.eval(DRAW)
    parts, top = [], MARGIN
    for which in (-1, 0):
        drawing = MIXED.sub(plain, found.call("drawnFor", cuts, which))
        width, height = map(float, re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', drawing)[0])
        inside = re.sub(r"^<svg[^>]*>|</svg>$", "", drawing)
        parts.append(f'<g transform="translate({MARGIN} {top})">{inside}</g>')
        top += round(height) + MARGIN
    title = escaped(json.loads(cuts)["sentences"][0])
    box = f"0 0 {round(width) + 2 * MARGIN} {top}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" role="img">'
        f"<title>{title}</title><style>{STYLE}</style>"
        f'<rect width="100%" height="100%" rx="12" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


def plain(mixed: re.Match[str]) -> str:
    """Return a weight's color without a style sheet."""
    share = int(mixed[2]) / 200
    return weight_color(share if mixed[1] == "mid" else 0.5 + share)


def escaped(sentence: dict[str, list[str]]) -> str:
    """Return the sentence and its translation, as a title."""
    words = ("".join(sentence["source"][:-1]), " ".join(sentence["target"][:-1]))
    return " → ".join(words).replace("&", "&amp;").replace("<", "&lt;")


def main() -> None:
    """Write the picture."""
    if not CUTS.is_file():
        raise SystemExit(f"{CUTS.relative_to(ROOT)} is not there: run make book first")
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(picture(CUTS.read_text(encoding="utf8")), encoding="utf8")
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
