"""The READMEs' lines for the command line are typed as they stand, on a smaller model."""

import re
import shlex
from pathlib import Path

import pytest

from attention_book.runs import DataSettings, ModelSettings, RunSettings, TrainingSettings

ROOT = Path(__file__).resolve().parents[3]
SMALL = RunSettings(
    data=DataSettings(corpus="phrasebook"),
    model=ModelSettings(config={"d_model": 8, "num_heads": 2, "d_ff": 8}),
    training=TrainingSettings(epochs=None, steps=2),
)


def lines(name: str) -> list[str]:
    """The lines of the README's blocks that call the command."""
    text = (ROOT / name).read_text(encoding="utf-8")
    blocks = re.findall(r"(?s)```bash\n(.*?)```", text)
    return [
        line for block in blocks for line in block.splitlines() if line.startswith("attention-")
    ]


@pytest.mark.parametrize("name", ["README.md", "README.zh.md"])
def test_the_first_lines_to_type_work_as_they_stand(say, alone, monkeypatch, name):
    monkeypatch.setattr(RunSettings, "from_recipe", classmethod(lambda cls, recipe: SMALL))
    commands = [shlex.split(line, comments=True)[1:] for line in lines(name)]
    assert [words[0] for words in commands] == ["train", "translate", "evaluate"]
    for words in commands:
        found = say(words)
        assert found.code == 0, found.err
        assert found.out.strip()
    assert Path("runs/transformer-en-fr-1/settings.toml").is_file()
