"""A training that is killed at random moments, and in the middle of writing, ends all the same.

So is what the command writes beside trainings: exports and translations.
``python scripts/kill_training.py --kills 20`` kills more often.
"""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "kill_training.py"


def test_what_is_killed_again_and_again_ends_with_the_same_bits_and_leaves_no_half_file() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--kills", "5", "--writes", "16"],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "all ended with the same bits" in done.stdout
    assert done.stdout.count("every file stayed whole") == 2
