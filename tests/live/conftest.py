"""Folders for shims, and a disk that is soon full."""

import subprocess
import sys
from pathlib import Path

import pytest

# Other modules are found by name, however pytest imports the tests themselves.
sys.path.insert(0, str(Path(__file__).parent))

from live_hosts import JOBS, Shim


@pytest.fixture
def shim(tmp_path):
    """A folder for a shim."""
    return Shim(tmp_path)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 256 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    try:
        made = subprocess.run(words, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount")
    if made.returncode:
        pytest.skip(f"no file system can be mounted here: {made.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture
def jobs(tmp_path):
    """A file of jobs."""
    path = tmp_path / "jobs.toml"
    path.write_text(JOBS.replace("{folder}", str(tmp_path)))
    return path
