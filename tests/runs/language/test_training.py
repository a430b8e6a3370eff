"""A language model's run: killed and resumed it ends with the same bits; it is loaded as it was."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from attention_book.models.evaluating import moved
from attention_book.runs import RunError, load_run, resume, start
from attention_book.runs.building import build_model, build_optimizer
from attention_book.runs.language.codec import PieceCodec
from attention_book.runs.language.settings import (
    DecoderSettings,
    DocumentSettings,
    LanguageSettings,
    PieceSettings,
    settings_from_toml,
    usual_training,
)
from attention_book.runs.loading import load_language_model
from attention_book.text import PackedBatch
from attention_book.training import packed_loss


@pytest.fixture
def settings(tmp_path: Path) -> LanguageSettings:
    path = tmp_path / "text.txt"
    lines = [f"{chr(97 + n % 7) * (1 + n % 5)} is number {n * n % 83}\n" for n in range(150)]
    path.write_text("".join(lines))
    sizes = {"d_model": 16, "num_heads": 2, "d_ff": 16, "num_layers": 1, "dropout": 0.2}
    return LanguageSettings(
        data=DocumentSettings(corpus=None, train=(str(path),), held_out=0.1),
        model=DecoderSettings(config=sizes, context=24),
        training=usual_training(
            steps=6, batch_tokens=96, checkpoint_every=2, validate_every=2, device="cpu", warmup=2
        ),
    )


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return dict(load_language_model(folder, "last").model.state_dict())


def test_interrupted_and_resumed_is_uninterrupted(
    settings: LanguageSettings, tmp_path: Path
) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    one = [report.loss for report in start(settings, whole)]
    other = []
    for report in start(settings, parts):
        other.append(report.loss)
        if report.step == 3:  # between two checkpoints: step 3 is taken again
            break
    other = other[:2] + [report.loss for report in resume(parts)]
    assert one == other
    assert all(torch.equal(value, weights(parts)[name]) for name, value in weights(whole).items())


def test_a_run_is_loaded_as_it_was_and_by_its_kind_alone(
    settings: LanguageSettings, tmp_path: Path
) -> None:
    reports = list(start(settings, tmp_path / "run"))
    found = load_language_model(tmp_path / "run")
    assert found.settings == settings
    assert found.extra["validation_loss"] == min(
        report.validation_loss for report in reports if report.validation_loss is not None
    )
    with pytest.raises(RunError, match="expected a translator, got a language model"):
        load_run(tmp_path / "run")


def test_the_loss_falls(settings: LanguageSettings, tmp_path: Path) -> None:
    longer = replace(settings, training=replace(settings.training, steps=60))
    reports = list(start(longer, tmp_path / "run"))
    assert reports[-1].loss < 0.8 * reports[0].loss


def test_settings_survive_their_file(settings: LanguageSettings) -> None:
    assert settings_from_toml(settings.to_toml()) == settings
    for training in ("epochs = 3", "batch_size = 4"):
        found = settings_from_toml(f"task = 'language'\n[training]\n{training}")
        assert LanguageSettings.from_toml(found.to_toml()) == found
    with pytest.raises(ValueError, match="did you mean 'context'"):
        settings_from_toml("task = 'language'\n[model]\ncontxt = 3")
    with pytest.raises(ValueError, match="known settings, got 'vocabulary'"):
        DecoderSettings(config={"vocabulary": 3})


def test_weights_start_small_and_gains_do_not_decay() -> None:
    codec = PieceCodec.learn(["abc"] * 30, PieceSettings())
    torch.manual_seed(0)
    model = build_model(DecoderSettings(config={"d_model": 64, "num_layers": 8}), codec)
    attention = model.stack.layers[0].self_attention
    assert 0.018 < attention.W_q.weight.std() < 0.022
    assert 0.004 < attention.W_o.weight.std() < 0.006
    decays = {
        id(weight): group["weight_decay"]
        for group in build_optimizer(model, usual_training()).param_groups
        for weight in group["params"]
    }
    assert {decays[id(weight)] for weight in model.parameters() if weight.ndim < 2} == {0.0}
    assert {decays[id(weight)] for weight in model.parameters() if weight.ndim > 1} == {0.1}


def test_a_packed_batch_goes_where_the_model_is(settings: LanguageSettings) -> None:
    row = torch.tensor([[2, 5]])
    batch = PackedBatch(row, row, torch.ones_like(row), row > 0)
    codec = PieceCodec.learn(["abc"] * 30, PieceSettings())
    model = build_model(settings.model, codec)
    assert packed_loss(model, batch).isfinite()
    assert moved(batch, model.to("meta")).tokens.is_meta
    wrong = torch.tensor([[2, 9999]])
    unknown = PackedBatch(wrong, wrong, torch.ones_like(wrong), wrong > 0)
    with pytest.raises(ValueError, match="tokens"):
        moved(unknown, model)
