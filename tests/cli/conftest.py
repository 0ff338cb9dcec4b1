"""Calls of the command from tests, and a log small enough to work out by hand."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import hetsched as hs
from hetsched.cli import main

# Other modules of this folder are found by name, however pytest imports the tests themselves.
sys.path.insert(0, str(Path(__file__).parent))

from power_files import COUNTERS, WATTS

# Sixteen nodes. Job 1: 4 nodes at 0 for 60 s. Job 2: 8 nodes at 1000 for 600 s. Job 3: 8 nodes at 1020 for 300 s,
# next to job 2. Job 4: 20 nodes, more than there are. Job 5: 10 nodes at 1030, waits for job 2 until 1600, killed after
# 200 s, 4 s before its end: too little of the log's work for a word.
LOG = """\
; Computer: by hand
; MaxProcs: 16
1 0 -1 60 4 -1 -1 4 120 -1 1 3 1 7 1 -1 -1 -1
2 1000 -1 600 8 -1 -1 8 900 -1 1 3 1 7 1 -1 -1 -1
3 1020 -1 300 8 -1 -1 8 400 -1 1 4 1 8 1 -1 -1 -1
4 1025 -1 10 20 -1 -1 20 120 -1 1 4 1 8 1 -1 -1 -1
5 1030 -1 204 10 -1 -1 10 200 -1 0 4 1 8 1 -1 -1 -1
"""


@dataclass(frozen=True)
class Said:
    """Output of a command, spaces at the ends of lines left out, and its exit code."""

    code: int
    out: str
    err: str


def tidy(text):
    """Without what differs from run to run or from place to place."""
    lines = (line.rstrip() for line in re.sub(r"in \d+\.\d\d s", "in 0.00 s", text).splitlines())
    return "\n".join(lines).strip("\n")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working directory, with the log `small.swf` in it; a terminal of 80 columns would look the same."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("FORCE_COLOR", "NO_COLOR", "TERM", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "small.swf").write_text(LOG)
    # Policies are imported from files in it: the next test has none of theirs.
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def hetsched(folder, capfd):
    """Runs the command in this process."""

    def run(*arguments):
        capfd.readouterr()
        code = main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return Said(code, tidy(out), tidy(err))

    return run


@pytest.fixture
def measured(folder):
    """The folder, with the counters and the watts that power models are fitted on."""
    (folder / "counters.csv").write_text(COUNTERS)
    (folder / "watts.csv").write_text(WATTS)
    return folder


@pytest.fixture
def process(folder):
    """Starts the command as a process of its own, with a shell's redirection if wanted; other keywords go to Popen."""
    started = []

    def start(*arguments, redirection="", first_path=None, **options):
        paths = [str(path) for path in (first_path, Path(hs.__file__).parents[1]) if path is not None]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        words = [sys.executable, "-m", "hetsched", *map(str, arguments)]
        if redirection:
            words = ["sh", "-c", f'exec "$@" {redirection}', "sh", *words]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
        started.append(
            subprocess.Popen(
                words,
                env=environment,
                encoding="utf-8",
                **{**pipes, **options},
            )
        )
        return started[-1]

    yield start
    for one in started:
        one.kill()
        one.communicate()
