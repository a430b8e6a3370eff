"""``attention-book examine``: does an attention of anybody's obey the laws?"""

import json

import click

from attention_book.cli.errors import ExitCode, Failure
from attention_book.cli.terminal import tell, visible
from attention_book.cli.ui import BilingualCommand, Whole, argument, option
from attention_book.conformance import Report, Subject, laws
from attention_book.conformance import examine as held_to
from attention_book.conformance.naming import AddressError, subjects_at
from attention_book.foundations.bilingual import Bilingual, chosen_language


@click.command(
    cls=BilingualCommand,
    text=Bilingual(
        """逐条检验一个注意力：你自己写的，或别的库里的。

        名字写成 module:name（或 file.py:name），后面用几个词说清约定：mask=blocked（True 是遮住）、
        causal（内置因果性）、width=16（输入是 16 个特征）、vocabulary=1000（输入是词元编号）。
        函数按 (q, k, v, mask) 调用；层和模型按 (x, mask) 调用；交叉注意力再写一个词 cross。
        哪条性质不成立、在多小的输入上、常见的原因是什么，都会说出来。
        """,
        """Test an attention law by law: your own, or one from any library.

        Give its name as module:name (or file.py:name), followed by its conventions in a few words:
        mask=blocked (True is hidden), causal (causality is built in), width=16 (inputs are 16
        features), vocabulary=1000 (inputs are token ids). A function is called with
        (q, k, v, mask), a layer or a model with (x, mask); cross-attention needs the word cross.
        You learn which laws are broken, on how small an input, and what usually breaks them.
        """,
    ),
    examples=(
        (
            "attention-book examine my_attention.py:attend",
            Bilingual("检验一个函数", "a function (q, k, v, mask)"),
        ),
        (
            "attention-book examine my_package.model:Block width=64 causal mask=blocked",
            Bilingual("检验一层：64 个特征，因果", "a causal layer of 64 features"),
        ),
        (
            "attention-book examine my_package.model:tiny vocabulary=100 causal --json",
            Bilingual("检验语言模型，输出 JSON", "a language model, as JSON"),
        ),
    ),
)
@argument(
    "name",
    metavar=Bilingual("模块:名字", "MODULE:NAME"),
    help=Bilingual("检验什么", "what is examined"),
)
@argument(
    "conventions",
    nargs=-1,
    metavar=Bilingual("[约定]…", "[CONVENTION]..."),
    help=Bilingual("它的约定", "its conventions"),
)
@option(
    "--law",
    "only",
    multiple=True,
    metavar=Bilingual("性质", "LAW"),
    help=Bilingual(
        "只检验这一条性质，可以写多次；名字见 --json。",
        "Test only this law; may be given several times. --json shows the names.",
    ),
)
@option(
    "--seed",
    type=Whole(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help=Bilingual("抽输入用的种子。", "The seed with which the inputs are drawn."),
)
@option("--json", "as_data", is_flag=True, help=Bilingual("输出 JSON。", "Write JSON."))
def examine(
    name: str, conventions: tuple[str, ...], only: tuple[str, ...], seed: int, as_data: bool
) -> None:
    """Hold what a name stands for to the laws, and tell."""
    try:
        subjects = subjects_at(" ".join((name, *conventions)))
    except AddressError as error:
        raise Failure(ExitCode.WRONG_LINE, error.text.zh, error.text.en) from error
    reports = [_report(subject, only, seed) for subject in subjects]
    if as_data:
        holds = all(bool(report) for report in reports)
        whole = {"holds": holds, "reports": [report.data() for report in reports]}
        tell(json.dumps(whole, ensure_ascii=False))
    else:
        texts = (report.text(chosen_language() or "en") for report in reports)
        tell("\n\n".join("\n".join(map(visible, text.splitlines())) for text in texts))
    broken = [report for report in reports if not report]
    if broken:
        names = ", ".join(visible(report.subject) for report in broken)
        raise Failure(ExitCode.OWN_FILE, f"{names}：有性质不成立", f"{names}: laws are broken")


def _report(subject: Subject, only: tuple[str, ...], seed: int) -> Report:
    """Test the laws that are asked for, all if none is named."""
    names = [law.name for law in laws(subject, seed=seed)]
    for each in only:
        if each not in names:
            known = ", ".join(names)
            raise Failure(
                ExitCode.WRONG_LINE,
                f"--law：没有叫 {visible(each)} 的性质；有：{known}",
                f"--law: expected one of {known}, got {visible(each)}",
            )
    return held_to(subject, only=only or None, seed=seed)
