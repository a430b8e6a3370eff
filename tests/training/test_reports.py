"""A report survives JSON."""

import json

from attention_book.training import EpochReport


def test_a_report_comes_back_from_json_bit_by_bit() -> None:
    report = EpochReport(
        epoch=3, loss_per_token=0.1 + 0.2, num_tokens=77, gradient_norm=1 / 3, seconds=0.7,
        validation_loss=2 / 3,
    )  # fmt: skip
    assert EpochReport(**json.loads(json.dumps(report.to_dict()))) == report
    assert report.tokens_per_second == 77 / 0.7
