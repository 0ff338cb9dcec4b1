"""Where the examples of the documentation run: a fresh folder that looks like the root of the project."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of an example: ``tests`` and ``../shared`` are where they are from the root."""
    folder = tmp_path / "hetsched"
    folder.mkdir()
    (folder / "tests").symlink_to(ROOT / "tests")
    if (ROOT.parent / "shared").is_dir():
        (tmp_path / "shared").symlink_to(ROOT.parent / "shared")
    monkeypatch.chdir(folder)
    if importlib.util.find_spec("matplotlib") is not None:
        monkeypatch.setenv("MPLBACKEND", "agg")
    return folder
