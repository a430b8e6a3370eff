"""Runs cells as a page does, with the page's torch: reads them as JSON, prints what they show."""

import html
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
for folder in ("tests/page_torch", "book/_ext/page_python/inside"):
    sys.path.append(str(ROOT / folder))

import as_torch  # noqa: E402


def main() -> None:
    as_torch.import_page_torch()
    import run_answer
    import torch

    run_answer.warm_up()
    told = []
    for number, (code, page) in enumerate(json.load(sys.stdin)):
        torch.manual_seed(number)  # whatever is drawn without a seed must not show
        printed: list[str] = []
        found = run_answer.run(code, page["names"], printed.append, page["first"])
        value = html.unescape(re.sub("</?pre[^>]*>", "", found["html"]))
        error = found["error"] and f"{found['error']['kind']}: {found['error']['message']}"
        told.append(["".join(printed), value, error, found["missing"]])
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    main()
