"""An environment of its own for accasim, in ``.bench/``, made when it is first asked for."""

from __future__ import annotations

import subprocess
import sys
import time

import measure
import traces

__all__ = ["accasim_python"]

REQUIREMENT = "accasim==1.1.3"
LIMIT_S = 120


def accasim_python() -> str:
    """The interpreter of an environment that has accasim.

    Raises
    ------
    RunError
        If it cannot be made in two minutes; the next call tries again.
    """
    folder = traces.FOLDER / "accasim-venv"
    python = folder / "bin" / "python"
    done = folder / "installed"
    if not done.is_file():
        deadline = time.monotonic() + LIMIT_S
        traces.FOLDER.mkdir(exist_ok=True)
        _call([sys.executable, "-m", "venv", "--clear", str(folder)], deadline)
        _call([str(python), "-m", "pip", "install", "--quiet", "--retries", "1", REQUIREMENT], deadline)
        done.touch()
    return str(python)


def _call(command: list[str], deadline: float) -> None:
    left_s = max(1.0, deadline - time.monotonic())
    try:
        done = subprocess.run(command, capture_output=True, check=False, text=True, timeout=left_s)
    except subprocess.TimeoutExpired:
        raise measure.RunError(f"not installed in {LIMIT_S} s") from None
    if done.returncode != 0:
        complaint = done.stderr.strip().splitlines() or [f"exit {done.returncode}"]
        raise measure.RunError(f"not installed: {complaint[-1]}")
