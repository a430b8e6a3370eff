"""What holds for every live figure: it teaches untouched, and its state can stand in an address."""

import json
import re

import pytest
from py_mini_racer import MiniRacer

from attention_book.live import bundle

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
