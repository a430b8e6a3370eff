from lxml import etree
from tiny import HEADER, cell

EXTENSIONS = [
    "bilingual",
    "evidence.execution",
    "evidence.strict_build",
    "website.launch_notebooks",
]


def menu(book, page, name):
    links = etree.HTML(book.page(page)).xpath(f'//div[contains(@class,"dropdown-{name}")]//a')
    return [(link.get("href"), link.get("class").split()) for link in links]


def test_buttons_lead_to_notebooks_that_exist(tiny_book):
    book = tiny_book(
        EXTENSIONS,
        intro="# T\n",
        both=HEADER + "# B\n\n" + cell("0"),
        none=HEADER + "# N\n\n" + cell("0"),
    )
    config = book.book / "_config.yml"
    config.write_text(
        config.read_text(encoding="utf8")
        + "launch_buttons: {colab_url: 'https://colab.example', binderhub_url: 'https://b.example'}\n",
        encoding="utf8",
    )
    for language in ("zh", "en"):
        (book.repo / "notebooks" / language).mkdir(parents=True)
        (book.repo / "notebooks" / language / "both.ipynb").write_text("{}", encoding="utf8")
    book.build()
    slug = "github/example/tiny/blob/main"
    hrefs = [href for href, _ in menu(book, "both", "launch-buttons")]
    assert hrefs == [
        f"https://colab.example/{slug}/notebooks/zh/both.ipynb",
        "https://b.example/v2/gh/example/tiny/main?urlpath=lab/tree/notebooks/zh/both.ipynb",
        f"https://colab.example/{slug}/notebooks/en/both.ipynb",
        "https://b.example/v2/gh/example/tiny/main?urlpath=lab/tree/notebooks/en/both.ipynb",
    ]
    for href, classes in menu(book, "both", "launch-buttons"):
        language = "zh" if "/zh/" in href else "en"
        assert f"bl-{language}" in classes, "the language toggle hides the other one"
    downloads = [href for href, _ in menu(book, "both", "download-buttons")]
    assert downloads[:2] == ["_notebooks/zh/both.ipynb", "_notebooks/en/both.ipynb"]
    assert all((book.html / href).is_file() for href in downloads[:2])
    for page in ("none", "intro"):
        assert not menu(book, page, "launch-buttons")
    assert not list((book.html / "_sources").glob("*.ipynb")), "no notebook in raw MyST"

    (book.repo / "notebooks/zh/none.ipynb").write_text("{}", encoding="utf8")
    (book.repo / "notebooks/en/both.ipynb").write_text('{"new": 1}', encoding="utf8")
    book.build()
    assert len(menu(book, "none", "launch-buttons")) == 2, "a new notebook gets its buttons"
    assert "new" in (book.html / "_notebooks/en/both.ipynb").read_text(encoding="utf8")

    (book.repo / "notebooks/en/both.ipynb").unlink()
    book.build()
    assert len(menu(book, "both", "launch-buttons")) == 2, "a removed notebook loses its buttons"
    assert not (book.html / "_notebooks/en/both.ipynb").exists()
