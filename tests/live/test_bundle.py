"""Scripts are bundled whole and run as they stand; every live figure teaches untouched."""

import json
import re
from pathlib import Path

import pytest
from py_mini_racer import MiniRacer

from attention_book.live import bundle

# --- bundles -----------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "page").mkdir()
    monkeypatch.setattr(bundle, "MODULES", tmp_path)
    return tmp_path


def test_modules_stand_after_what_they_import_and_once(folder: Path) -> None:
    (folder / "a.mjs").write_text("export const one = 1;\n")
    (folder / "page/b.mjs").write_text(
        'import { one as first } from "../a.mjs";\nexport const two = first + 1;\n'
    )
    (folder / "c.mjs").write_text(
        'import { two } from "./page/b.mjs";\nimport { one } from "./a.mjs";\n'
        "const secret = 40;\nexport function sum() { return one + two + secret; }\n"
        "export default { sum };\n"
    )
    assert bundle.ordered(["c"]) == ["a", "page/b", "c"]
    text = bundle.script(["c"])
    assert text.count('define("a"') == 1
    engine = MiniRacer()
    engine.eval(text)
    assert engine.eval("attentionBookLive.modules.c.sum()") == 43
    assert engine.eval("attentionBookLive.modules.c.default.sum()") == 43
    assert engine.eval("typeof secret") == "undefined", "a module's own names are nobody else's"
    engine.close()


def test_what_another_script_defines_is_left_out(folder: Path) -> None:
    (folder / "a.mjs").write_text("export const one = 1;\n")
    (folder / "b.mjs").write_text('import { one } from "./a.mjs";\nexport const two = one + 1;\n')
    text = bundle.script(["b"], without=["a"])
    assert 'define("b"' in text
    assert 'define("a"' not in text


def test_a_circle_is_named(folder: Path) -> None:
    (folder / "a.mjs").write_text('import { two } from "./b.mjs";\nexport const one = 1;\n')
    (folder / "b.mjs").write_text('import { one } from "./a.mjs";\nexport const two = 2;\n')
    with pytest.raises(ValueError, match="a → b → a"):
        bundle.script(["a"])


def test_a_name_that_is_not_exported_is_named(folder: Path) -> None:
    (folder / "a.mjs").write_text("export const one = 1, two = 2;\n")
    (folder / "b.mjs").write_text('import { two } from "./a.mjs";\nexport const three = two + 1;\n')
    with pytest.raises(ValueError, match="b imports two"):
        bundle.script(["b"])


def test_every_module_of_ours_can_be_packed() -> None:
    names = [
        p.relative_to(bundle.MODULES).with_suffix("").as_posix()
        for p in bundle.MODULES.rglob("*.mjs")
    ]
    assert {"page/page", "figures/steps"} <= set(names)
    for name in names:
        text = bundle.script([name])
        assert "\nimport " not in text
        assert "\nexport " not in text


def test_who_starts_the_engine_brings_it_along() -> None:
    """A page loads the engine when it is asked for; a notebook has the one module alone."""
    assert "page/engine" in bundle.ordered(["widgets/translator"])
    assert 'define("engine/serve"' in bundle.esm("translator")
    assert 'define("engine/serve"' not in bundle.widget("translator")
    assert 'define("engine/serve"' not in bundle.esm("heads")


@pytest.mark.parametrize("name", [*bundle.figures(), *bundle.widgets()])
def test_all_are_mounted_in_one_way(name: str) -> None:
    found = bundle.figure(name) if name in bundle.figures() else bundle.widget(name)
    call = f'attentionBookLive.modules["page/page"].register("{name}", '
    assert found.splitlines()[-1].startswith(call)


# --- figures -----------------------------------------------------------------------------------


FIGURES = bundle.figures()


@pytest.mark.parametrize("name", FIGURES)
def test_it_draws_its_start_and_says_so_in_both_languages(name: str, draw) -> None:
    html = draw(name)
    assert html.count("<svg") == 1
    assert 'role="img"' in html
    readout = html.split('class="live-readout"')[1]
    zh = re.search(r'class="bl bl-zh"[^>]*>([^<]+)<', readout)
    en = re.search(r'class="bl bl-en"[^>]*>([^<]+)<', readout)
    assert zh
    assert re.search(r"[\u4e00-\u9fff]", zh[1])
    assert en
    assert not re.search(r"[\u4e00-\u9fff]", en[1])
    for wrong in ("NaN", "undefined", "[object"):
        assert wrong not in html


@pytest.mark.parametrize("name", FIGURES)
def test_every_control_names_a_value_of_the_start(name: str, engine: MiniRacer) -> None:
    figure = f'figureNamed("{name}")'
    begin = json.loads(engine.eval(f"JSON.stringify({figure}.begin)"))
    keys = json.loads(
        engine.eval(f"JSON.stringify({figure}.controls.map((each) => each.key ?? null))")
    )
    assert {key for key in keys if key is not None} <= set(begin)
    address = json.loads(engine.eval(f"JSON.stringify(Object.keys({figure}.address))"))
    assert set(address) <= set(begin)


@pytest.mark.parametrize("name", FIGURES)
def test_the_start_survives_the_address_and_nonsense_does_not(name: str, engine: MiniRacer) -> None:
    figure = f'figureNamed("{name}")'
    lost = f"""JSON.stringify(Object.entries({figure}.address).filter(([key, parse]) =>
        parse(String({figure}.begin[key])) !== {figure}.begin[key]).map(([key]) => key))"""
    assert json.loads(engine.eval(lost)) == []
    nonsense = ["<b>", "constructor", "__proto__", "NaN", "Infinity", "1e9", "-1e9", "", "01x"]
    taken = f"""JSON.stringify(Object.entries({figure}.address).filter(([, parse]) =>
        {json.dumps(nonsense)}.some((text) => parse(text) !== undefined)).map(([key]) => key))"""
    assert json.loads(engine.eval(taken)) == []
