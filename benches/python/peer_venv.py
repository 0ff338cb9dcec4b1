"""Environments of their own for peers, in ``.bench/``, made when they are first asked for."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time

import measure
import traces

__all__ = ["accasim_python", "solvers_python"]

REQUIREMENT = "accasim==1.1.3"
SOLVERS = ("numpy", "scipy", "lapx", "ortools")
BUILT = "lapjv"
"""Has to be built, and may be missing where it cannot be."""

LIMIT_S = 120


def accasim_python() -> str:
    """The interpreter of an environment that has accasim.

    Raises
    ------
    RunError
        If it cannot be made in two minutes; the next call tries again.
    """
    return _python("accasim-venv", [(REQUIREMENT,)])


def solvers_python() -> str:
    """The interpreter of an environment that has other assignment solvers.

    Raises
    ------
    RunError
        If it cannot be made in two minutes; the next call tries again.
    """
    return _python("solvers-venv", [SOLVERS], [(BUILT,)])


def _python(name: str, required: list[tuple[str, ...]], wished: list[tuple[str, ...]] | None = None) -> str:
    folder = traces.FOLDER / name
    python = folder / "bin" / "python"
    done = folder / "installed"
    if not done.is_file():
        deadline = time.monotonic() + LIMIT_S
        traces.FOLDER.mkdir(exist_ok=True)
        _call([sys.executable, "-m", "venv", "--clear", str(folder)], deadline)
        install = [str(python), "-m", "pip", "install", "--quiet", "--retries", "1"]
        for requirements in required:
            _call([*install, *requirements], deadline)
        for requirements in wished or []:
            with contextlib.suppress(measure.RunError):
                _call([*install, *requirements], deadline)
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
