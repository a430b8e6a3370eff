import re

import pytest
from docutils import nodes
from docutils.utils import new_document
from website.katex import Katex, KatexError, KeepPunctuation, hold, is_short
from website.katex.mathml import MATH, faults, repaired


@pytest.fixture(scope="module")
def katex():
    return Katex({r"\R": r"\mathbb{R}"})


@pytest.mark.parametrize("display", [False, True])
def test_formula_becomes_html_and_mathml(katex, display):
    html = katex.render(r"\mathrm{softmax}(\frac{QK^\top}{\sqrt{d_k}})V", display=display)
    assert ('class="katex-display"' in html) == display
    assert "<math" in html
    assert 'aria-hidden="true"' in html


def test_macros_of_the_settings_are_known(katex):
    assert "mathbb" in katex.render(r"\R", display=False)


@pytest.mark.parametrize(
    ("tex", "says"),
    [
        (r"\nosuchcommand{x}", r"\nosuchcommand"),
        (r"\frac{1}{", "end of input"),
        (r"x^", "Expected"),
    ],
)
def test_unparsable_formula_names_the_trouble(katex, tex, says):
    with pytest.raises(KatexError, match=re.escape(says)):
        katex.render(tex, display=False)


def test_kept_renderings_need_no_engine(tmp_path):
    first = Katex({}, tmp_path / "katex.json")
    html = first.render("x^2", display=False)
    first.save()
    second = Katex({}, tmp_path / "katex.json")
    assert second.render("x^2", display=False) == html
    assert "engine" not in vars(second)
    # Other macros may mean another rendering, so nothing is reused.
    third = Katex({r"\x": "y"}, tmp_path / "katex.json")
    third.render("x^2", display=False)
    assert "engine" in vars(third)


PAGE = r"""# Maths

Inline $a_1$, and {eq}`eq-named`.

$$
b = \begin{aligned} 1 \\ 2 \end{aligned}
$$ (eq-named)

$$ c $$

```{math}
e &= 1 \\ f &= 2
```

\begin{align*}
d &= 1
\end{align*}
"""


def test_a_formula_keeps_the_chinese_punctuation_after_it():
    short, long = nodes.math("", "x_1"), nodes.math("", "x" * 25)
    paragraph = nodes.paragraph("", "", short, nodes.Text("，再"), long, nodes.Text("。完"))
    document = new_document("page")
    document += paragraph
    KeepPunctuation(document).run()
    (kept,) = (each for each in document.findall(nodes.inline) if "unbroken" in each["classes"])
    assert kept.astext() == "x_1，"
    assert paragraph.astext() == "x_1，再" + "x" * 25 + "完"
    assert long["closing"] == "。", "a long one takes it into its last box"


def test_punctuation_goes_into_the_last_box_of_a_long_formula(katex):
    html = hold(katex.render("a+b=c", display=False), "。")
    assert html.count('<span class="katex-base">') == 3
    assert html.endswith('c</span><span class="closing">。</span></span></span></span>')
    assert hold("<code>broken</code>", "。") == "<code>broken</code>。"


def test_signs_are_counted_and_not_the_letters_of_commands():
    assert is_short(nodes.math("", r"\mathbf x^\top\mathbf W_Q\mathbf W_K^\top\mathbf x_i"))
    assert not is_short(nodes.math("", "(1+16+40+300+0)/5=71.4"))


def test_a_short_formula_keeps_the_bracket_that_opens_before_it():
    first, second = nodes.math("", "x_1"), nodes.math("", "x_2")
    paragraph = nodes.paragraph("", "", nodes.Text("设（"), first, nodes.Text("（"), second)
    paragraph += nodes.Text("））。")
    document = new_document("page")
    document += paragraph
    KeepPunctuation(document).run()
    kept = [each for each in document.findall(nodes.inline) if "unbroken" in each["classes"]]
    assert [each.astext() for each in kept] == ["（x_1", "（x_2）"]
    assert paragraph.astext() == "设（x_1（x_2））。", "nothing is lost, nothing comes twice"


def test_of_equal_texts_the_one_after_the_formula_is_kept_with_it():
    first, second = nodes.strong("", "a"), nodes.math("x_1", "x_1")
    paragraph = nodes.paragraph("", "", first, nodes.Text("."), nodes.strong("", "b"), second)
    paragraph += nodes.Text(".")
    document = new_document("page")
    document += paragraph
    KeepPunctuation(document).run()
    assert paragraph.astext() == "a.bx_1.", "the first full stop stays where it is"


def test_every_kind_of_formula_in_a_page(tiny_book):
    book = tiny_book(["website.katex", "evidence.strict_build"], intro=PAGE, plain="# No maths\n")
    book.build()
    page = book.page("intro")
    assert len(re.findall('<span class="katex">', page)) == 5
    assert len(re.findall('class="math-scroll" tabindex="0"', page)) == 4
    assert re.search(r'<span class="eqno">\(1\)<a class="headerlink"', page)
    assert 'href="#equation-eq-named">(1)</a>' in page
    assert "MathJax" not in page
    assert "katex.min.css" in page
    assert (book.html / "_static/katex/fonts/KaTeX_Main-Regular.woff2").is_file()
    assert "katex" not in book.page("plain"), "a page without maths loads no maths"


def test_bad_formula_fails_the_build_and_is_named(tiny_book):
    book = tiny_book(["website.katex", "evidence.strict_build"], intro="# T\n\nText\n$\\nosuch$.\n")
    log = book.build(fails=True)
    assert re.search(r"book/intro\.md:\d+: KaTeX: Undefined control sequence: \\nosuch", log)


def test_numbered_environment_without_a_name_is_refused(tiny_book):
    text = "# T\n\n\\begin{align}\nx &= 1\n\\end{align}\n"
    log = tiny_book(["website.katex", "evidence.strict_build"], intro=text).build(fails=True)
    assert "starred form" in log


# ---- what screen readers get -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("math", "fault"),
    [
        ("<mi><munder><mi>Q</mi><mn>1</mn></munder></mi>", "mi holds elements"),
        ("<msub><mi>a</mi><mi>b</mi><mo>c</mo></msub>", "msub has 3 children"),
        ('<mtable columnspacing=""></mtable>', "columnspacing of mtable is empty"),
    ],
)
def test_unsound_mathml_is_named_and_repaired(math, fault):
    math = f"<math>{math}</math>"
    assert faults(math) == [fault]
    assert faults(repaired(math)) == []
    assert re.sub("<[^>]*>", "", repaired(math)) == re.sub("<[^>]*>", "", math)


@pytest.mark.parametrize(
    "tex", [r"\underset{(m)}{Q}", r"a_{\cos}", r"\begin{array}{l}x\end{array}"]
)
def test_what_katex_writes_is_sound(tex):
    assert "<math" in Katex({}).render(tex, display=False)
    assert faults(MATH.search(Katex({}).render(tex, display=False))[0]) == []
