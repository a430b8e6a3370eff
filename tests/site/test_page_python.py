"""Every exercise that its page asks to check can be written there."""

import re
from pathlib import Path

from parsed import tree

CHECK = re.compile(r'\bcheck\("([\w-]+)"')


def test_every_exercise_with_a_check_has_an_editor(site: Path) -> None:
    asked, boxes = set(), set()
    for page in sorted(site.glob("*.html")):
        for exercise in tree(page).xpath("//div[contains(@class, 'exercise')]"):
            listed = " ".join(each.text_content() for each in exercise.xpath(".//pre"))
            checks = CHECK.findall(listed) or CHECK.findall(exercise.text_content())
            asked |= {(page.name, name) for name in checks[:1]}
            names = exercise.xpath(".//div[@class='page-python']/@data-name")
            boxes |= {(page.name, name) for name in names}
    assert len(boxes) > 50
    assert boxes == asked
