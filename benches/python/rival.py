"""The C++ program of ``benches/rival``: built when it is first needed, and run on a trace in a process of its own."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import measure
import traces

__all__ = ["built", "run"]

SOURCE = Path(__file__).resolve().parents[1] / "rival" / "rival.cpp"
FLAGS = ("-std=c++17", "-O2")


def built(folder: Path = traces.FOLDER) -> Path:
    """The program, compiled if it is older than its source.

    Raises
    ------
    measure.RunError
        If there is no compiler, or it does not compile.
    """
    program = folder / "rival"
    if program.is_file() and program.stat().st_mtime > SOURCE.stat().st_mtime:
        return program
    compiler = shutil.which(os.environ.get("CXX", "g++"))
    if compiler is None:
        raise measure.RunError("no C++ compiler: expected g++ on the PATH, or another in CXX")
    folder.mkdir(exist_ok=True)
    done = subprocess.run([compiler, *FLAGS, "-o", program, SOURCE], capture_output=True, check=False, text=True)
    if done.returncode != 0:
        raise measure.RunError(f"{compiler} does not compile {SOURCE.name}: {done.stderr.strip()}")
    return program


def run(
    program: Path, log: Path, nodes: int, policy: str, watts: tuple[float, float], limit_s: float
) -> dict[str, Any]:
    """CPU s of the program, its peak memory, and the sha256 of starts, node ids and node energies.

    Parameters
    ----------
    program
        What `built` gives.
    log
        Plain SWF, sorted by submit.
    nodes
        Number of nodes.
    policy
        `fcfs` or `easy`.
    watts
        Idle and busy draw of a node, W.
    limit_s
        When to give up, s of real time.

    Raises
    ------
    measure.RunError
        If there is no answer.
    """
    with TemporaryDirectory() as folder:
        out = Path(folder) / "schedule"
        command = [program, log, str(nodes), policy, *map(str, watts), out]
        try:
            done = subprocess.run(command, capture_output=True, check=False, text=True, timeout=limit_s)
        except subprocess.TimeoutExpired:
            raise measure.RunError(f"no answer in {limit_s:g} s") from None
        if done.returncode != 0:
            raise measure.RunError(done.stderr.strip() or f"exit {done.returncode}")
        numbers = json.loads(done.stdout)
        digest = hashlib.sha256(out.read_bytes()).hexdigest()
    return {**numbers, "cpu_s": numbers["read_s"] + numbers["run_s"], "digest": digest}
