"""Parts that tests of the bridge share: a Slurm moved by hand, and commands that they write themselves."""

import os
import sys
from pathlib import Path

import pytest

# Other modules of this folder are found by name, however pytest imports the tests themselves.
sys.path.insert(0, str(Path(__file__).parent))

from slurm_stand_in import StandIn


@pytest.fixture
def slurm():
    return StandIn()


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """Writes stand-ins of Slurm's commands, the first in PATH; those that are not written are absent."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def write(name, script):
        path = folder / name
        path.write_text(f"#!{sys.executable} -I\nimport sys, os, time, signal, subprocess\n{script}\n")
        path.chmod(0o755)

    write("true", "")
    assert os.access(folder / "true", os.X_OK)
    return write
