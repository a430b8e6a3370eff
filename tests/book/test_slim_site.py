"""Bundled styles: what a page loads does not depend on which pages were written with it."""

from types import SimpleNamespace

from slim_site import bundle


def test_a_bundle_is_named_by_its_styles_alone(tmp_path) -> None:
    """In an edited book the pages come in another order, or only one of them comes."""
    plain, maths = ("theme.css",), ("theme.css", "katex.css")
    first = SimpleNamespace(outdir=tmp_path)
    both = [bundle(first, plain), bundle(first, maths)]
    second = SimpleNamespace(outdir=tmp_path)
    assert bundle(second, maths) == both[1]
    assert bundle(second, plain) == both[0]
    assert both[0].name != both[1].name


def test_a_changed_style_changes_the_digest(tmp_path) -> None:
    style = tmp_path / "_static" / "book.css"
    style.parent.mkdir()
    style.write_text("a{x:y}")
    before = bundle(SimpleNamespace(outdir=tmp_path), ("book.css",))
    style.write_text("a{x:z}")
    after = bundle(SimpleNamespace(outdir=tmp_path), ("book.css",))
    assert before.name == after.name
    assert before.digest != after.digest
