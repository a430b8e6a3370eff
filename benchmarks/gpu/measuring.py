"""What every part needs: results written at once, clocks, ceilings of the card, tiny sizes.

A part is a function of a :class:`Results`. Each measurement has a key; it is written to
``$OUT/<part>.json`` as soon as it is there, and is not measured again by a second call.
"""

import argparse
import gc
import json
import math
import os
import platform
import statistics
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "src")]
warnings.filterwarnings("ignore")

#: The process ends with this code when the card no longer answers (an illegal access, say);
#: it is then started once more, and the measurement that did it is left out.
CARD_IS_GONE = 3


def out() -> Path:
    """Return the folder of the results: ``$OUT``, or ``out`` beside this file."""
    return Path(os.environ.get("OUT") or HERE / "out")


class Results:
    """The measurements of one part, on the disk at any time."""

    def __init__(self, name: str, *, tiny: bool, limit: float) -> None:
        self.name, self.tiny = name, tiny
        self.deadline = time.monotonic() + limit
        self.device = torch.device("cpu" if tiny or not torch.cuda.is_available() else "cuda")
        self.path = out() / f"{name}.json"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.data = self._before()
        self.data.update(part=name, tiny=tiny, finished=False, machine=machine(self.device))
        self.data.setdefault("results", {})
        self.data.setdefault("killed_in", [])
        if key := self.data.pop("running", None):
            self.data["killed_in"].append(key)
        self.data["no_time_for"] = []
        self.save()

    def _before(self) -> dict[str, Any]:
        """Return what an earlier call left in the folder."""
        try:
            found: dict[str, Any] = json.loads(self.path.read_text())
        except (OSError, ValueError):
            return {}
        return found if found.get("tiny") == self.tiny else {}

    def save(self) -> None:
        """Write all that is known, in one move."""
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(self.data, indent=1, default=str))
        new.replace(self.path)

    @property
    def seconds_left(self) -> float:
        """How long this part may still take."""
        return self.deadline - time.monotonic()

    def measure(self, key: str, function: Callable[[], Any], *, needs: float = 3.0) -> Any:
        """Measure once, and keep the result or the error; leave it out where time is short."""
        results = self.data["results"]
        if key in results and "error" not in results[key]:
            return results[key]
        if self.data["killed_in"].count(key) >= 1 and key in results:
            return results[key]
        if self.data["killed_in"].count(key) >= 1:
            results[key] = {"error": "the process ended here before; not tried again"}
            self.save()
            return results[key]
        if not self.tiny and self.seconds_left < needs:
            self.data["no_time_for"].append(key)
            self.save()
            return None
        self.data["running"] = key
        self.save()
        start = time.monotonic()
        try:
            value = function()
            value = value if isinstance(value, dict) else {"value": value}
        except torch.OutOfMemoryError as error:
            value = {"error": "out of memory: " + str(error).splitlines()[0][:120]}
        except Exception as error:
            value = {"error": _short(error)}
        value["took_s"] = round(time.monotonic() - start, 3)
        results[key] = value
        self.data.pop("running")
        self.save()
        print(f"{self.name} {key}: {json.dumps(value, default=str)[:260]}", flush=True)
        if self.device.type == "cuda":
            try:
                torch.cuda.synchronize()
                if torch.cuda.memory_reserved() > 2**30:
                    gc.collect()
                    torch.cuda.empty_cache()
            except Exception as error:
                value["error"] = value.get("error", "") + " | the card is gone: " + _short(error)
                self.data["killed_in"].append(key)
                self.save()
                os._exit(CARD_IS_GONE)
        return value

    def finish(self) -> None:
        """Say that nothing is left to do, unless time was short."""
        self.data["finished"] = not self.data["no_time_for"]
        self.save()
        wrong = [key for key, value in self.data["results"].items() if "error" in value]
        print(
            f"{self.name}: {len(self.data['results'])} measured, {len(wrong)} with an error, "
            f"no time for {len(self.data['no_time_for'])}",
            flush=True,
        )


def _short(error: BaseException) -> str:
    """Return an error and where it was raised, without the folders of this machine."""
    frames = traceback.extract_tb(error.__traceback__)[-4:]
    places = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames]
    return f"{type(error).__name__}: {str(error)[:400]} @ {' > '.join(places)}"


def run(name: str, body: Callable[[Results], None]) -> None:
    """Run a part from the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--limit", type=float, default=120.0, help="seconds")
    parser.add_argument("--dry-run", action="store_true", help="tiny sizes, on the CPU")
    asked = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    if asked.dry_run:
        torch.set_num_threads(1)
        CLOCK.update(tiny=True)
    torch.manual_seed(0)
    results = Results(name, tiny=asked.dry_run, limit=asked.limit)
    if results.device.type == "cpu" and not asked.dry_run:
        sys.exit("no GPU that torch can use; --dry-run tries the parts without one")
    body(results)
    results.finish()


def machine(device: torch.device) -> dict[str, Any]:
    """Return what the numbers were measured on."""
    found: dict[str, Any] = {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cores": os.cpu_count(),
    }
    for name in ("transformers", "x-transformers", "triton", "sacrebleu"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not there"
    if device.type == "cuda":
        card = torch.cuda.get_device_properties(device)
        found |= {
            "card": card.name,
            "memory_gib": round(card.total_memory / 2**30, 1),
            "multiprocessors": card.multi_processor_count,
            "capability": f"{card.major}.{card.minor}",
            "cuda": torch.version.cuda,
            "cudnn": torch.backends.cudnn.version(),
        }
    return found


#: In a dry run a clock is read once or twice: what is tried is the program, not the machine.
CLOCK: dict[str, bool] = {"tiny": False}

# --- clocks ------------------------------------------------------------------------------------


def wait(device: torch.device) -> None:
    """Wait until the card has done what it was asked."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def timed(
    function: Callable[[], Any],
    device: torch.device,
    *,
    repeats: int = 20,
    warm: int = 3,
    at_least_s: float = 2e-4,
    most_s: float = 4.0,
) -> dict[str, Any]:
    """Return median and quartiles of the seconds that a call takes.

    On a card: events around so many calls that a sample takes ``at_least_s``, one wait for all
    samples in the end. At least 20 samples, unless they would take longer than ``most_s``;
    then as many as fit, at least 5 (``samples`` tells).
    """
    if CLOCK["tiny"]:
        warm, repeats, at_least_s, most_s = 0, 2, 0.0, 0.0
    for _ in range(warm):
        function()
    wait(device)
    start = time.perf_counter()
    function()
    wait(device)
    once = max(time.perf_counter() - start, 1e-7)
    inner = max(1, min(200, math.ceil(at_least_s / once)))
    fits = int(most_s / (once * inner))
    repeats = 2 if CLOCK["tiny"] else max(5, min(repeats, fits))
    if device.type == "cuda":
        events = [
            (torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True))
            for _ in range(repeats)
        ]
        for before, after in events:
            before.record()
            for _ in range(inner):
                function()
            after.record()
        wait(device)
        seconds = [before.elapsed_time(after) / 1e3 / inner for before, after in events]
    else:
        seconds = []
        for _ in range(repeats):
            start = time.perf_counter()
            for _ in range(inner):
                function()
            seconds.append((time.perf_counter() - start) / inner)
    return spread(seconds) | {"calls_in_a_sample": inner}


def timed_on_host(
    function: Callable[[], Any], device: torch.device, *, repeats: int = 5, warm: int = 1
) -> dict[str, Any]:
    """The same by the host's clock, waiting for the card each time: for loops that wait anyway."""
    if CLOCK["tiny"]:
        warm, repeats = 0, 1
    seconds = []
    for number in range(warm + repeats):
        wait(device)
        start = time.perf_counter()
        function()
        wait(device)
        if number >= warm:
            seconds.append(time.perf_counter() - start)
    return spread(seconds)


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Return median and quartiles."""
    if len(values) > 1:
        low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    else:
        low = middle = high = values[0]
    return {
        "median_s": middle,
        "quartile_1_s": low,
        "quartile_3_s": high,
        "least_s": min(values),
        "samples": len(values),
    }


def ceilings(results: Results) -> dict[str, float]:
    """Measure what the card can do: large matrix products, and a large copy (read + written)."""
    device, tiny = results.device, results.tiny
    found: dict[str, float] = {}

    def product(dtype: torch.dtype, size: int, tf32: bool = False) -> dict[str, Any]:
        torch.backends.cuda.matmul.allow_tf32 = tf32
        a, b = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
        clock = timed(lambda: a @ b, device, most_s=1.5)
        torch.backends.cuda.matmul.allow_tf32 = False
        return clock | {"flops": 2 * size**3 / clock["median_s"]}

    def copy() -> dict[str, Any]:
        numbers = 2**16 if tiny else 2**30
        a = torch.randn(numbers, device=device).to(torch.bfloat16)
        b = torch.empty_like(a)
        clock = timed(lambda: b.copy_(a), device, most_s=1.5)
        return clock | {"bytes_per_s": 2 * a.nbytes / clock["median_s"]}

    size = 64 if tiny else 8192
    for key, function in {
        "ceiling bf16": lambda: product(torch.bfloat16, size),
        "ceiling fp32": lambda: product(torch.float32, size if tiny else 4096),
        "ceiling tf32": lambda: product(torch.float32, size, tf32=True),
        "ceiling copy": copy,
    }.items():
        value = results.measure(key, function)
        if value and "error" not in value:
            found[key.removeprefix("ceiling ")] = value.get("flops") or value["bytes_per_s"]
    return found


def compiled(function: Callable[..., Any], *, tiny: bool, **settings: Any) -> Callable[..., Any]:
    """Compile. A dry run leaves it as it is, or only traces it where DRY_COMPILE is set."""
    if tiny and not os.environ.get("DRY_COMPILE"):
        return function
    torch._dynamo.reset()
    if tiny:
        settings = {"backend": "eager"} | {
            name: value for name, value in settings.items() if name in ("fullgraph", "dynamic")
        }
    return torch.compile(function, **settings)


def relative_error(got: torch.Tensor, expected: torch.Tensor) -> float:
    """Return |got - expected| / |expected|; NaN and a wrong shape never pass."""
    if got.shape != expected.shape:
        return math.inf
    a, b = got.detach().cpu().double(), expected.detach().cpu().double()
    size = b.norm().item()
    error = (a - b).norm().item()
    if not math.isfinite(error):
        return math.inf
    return error / size if size else error
