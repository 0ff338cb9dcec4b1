"""``tools/side_by_side.py``, which `make test` runs its longest steps with."""

import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "side_by_side.py"


def side_by_side(*commands):
    done = subprocess.run([sys.executable, TOOL, *commands], capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, done.stdout


def test_all_that_is_written_is_shown_and_never_mixed(tmp_path):
    file = tmp_path / "c_is_written"
    first = f"echo a; while [ ! -e {file} ]; do sleep 0.01; done; echo b >&2"
    second = f"echo c; touch {file}"
    code, said = side_by_side(first, second)
    assert code == 0
    assert said.splitlines() == ["", f"== {first}", "", f"== {second}", "c", "", f"== {first}: exit 0", "a", "b"]


def test_the_first_failure_ends_the_rest():
    for commands in (("echo why; exit 3", "sleep 600"), ("sleep 600", "echo why; exit 3")):
        code, said = side_by_side(*commands)
        assert code == 3
        assert "why" in said.splitlines()
