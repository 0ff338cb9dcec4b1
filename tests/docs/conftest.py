"""Folder in which the examples of the documentation run: fresh, and like the root of the project."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from hetsched import experiments
from hetsched.report import canvas
from hetsched.testing import conforming

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
    monkeypatch.syspath_prepend(str(folder))
    if importlib.util.find_spec("matplotlib") is not None:
        monkeypatch.setenv("MPLBACKEND", "agg")
    return folder


@pytest.fixture
def few_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries few inputs of a part that a page shows, and few smaller ones where it has a fault."""
    monkeypatch.setattr(conforming, "_MOST_TRIES", 10)
    monkeypatch.setitem(conforming.conformance.__kwdefaults__, "examples", min(25, settings().max_examples))


@pytest.fixture
def shared_reports(quick_report: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that asks for an experiment's plain quick run gets the report that all tests share."""
    whole = experiments.reproduce

    def reproduce(name: str, **options: Any) -> Any:
        asked = {option for option, value in options.items() if value and option != "progress"}
        # The command writes a report to a folder by itself; the journal there is a test of its own.
        return quick_report(name) if "quick" in asked <= {"quick", "out"} else whole(name, **options)

    monkeypatch.setattr(experiments, "reproduce", reproduce)


@pytest.fixture
def blank_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures that a page asks for are made, not rendered: tests of each figure and of the command render them."""
    monkeypatch.setattr(canvas, "picture_bytes", lambda figure, suffix: b"")
