"""The parts of a chapter have classes in the page, whatever stands around them."""

from typing import Any

from lxml import html

OPENING = """::::{opening}
:::{zh}
**需要**

- 加法

**学完之后，你能**

- 求和

**时间**

- 5 分钟
:::
:::{en}
**You need**

- addition

**Afterwards you can**

- sum

**Time**

- 5 minutes
:::
::::
"""
PAIR = ":::{{zh}}\n{0}。\n:::\n:::{{en}}\n{1}.\n:::\n\n"
PAGE = (
    "# {zh}`章` {en}`Chapter`\n\n"
    + OPENING
    + PAIR.format("场景", "Scene")
    + "A line of both.\n\n## {zh}`甲` {en}`First` {core}`5`\n\n"
    + PAIR.format("正文", "Body")
    + "## {zh}`练习` {en}`Exercises`\n\n"
    + PAIR.format("算", "Sum")
    + "## {zh}`带走一句话` {en}`One line to keep`\n\n"
    + PAIR.format("记住", "Keep this")
    + "## {zh}`延伸阅读` {en}`Further reading`\n\n"
    + PAIR.format("书", "Books")
    + "## {zh}`更多的练习` {en}`More Exercises`\n\n"
    + PAIR.format("不算", "Not these")
)


def words_of(tree: Any, name: str) -> list[str]:
    found = tree.xpath(f"//*[contains(concat(' ', @class, ' '), ' {name} ')]")
    return [" ".join(each.text_content().split()) for each in found]


def test_parts_are_named_and_nothing_else(project: Any) -> None:
    project.write(index=PAGE)
    project.build()
    tree = html.fromstring(project.page("index"))
    assert words_of(tree, "part-hook") == ["场景。 Scene."]
    (keep,) = words_of(tree, "part-keep")
    assert "Keep this." in keep
    assert "Books" not in keep
    (exercises,) = words_of(tree, "part-exercises")
    assert "Sum." in exercises
    assert "Not these" not in exercises
    (reading,) = words_of(tree, "part-reading")
    assert "Books." in reading
