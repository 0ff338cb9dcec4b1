"""Notebooks under docs/: their cells run, in order, and give what the file shows."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "docs").rglob("*.ipynb"))


def tool() -> Any:
    """The script that runs notebooks."""
    for needed in ("nbclient", "ipykernel"):
        pytest.importorskip(needed, reason=f"notebooks are run with {needed}")
    spec = importlib.util.spec_from_file_location("run_notebooks", ROOT / "tools" / "run_notebooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def shown(notebook: Any) -> list[tuple[str, list[dict[str, str]]]]:
    """The code cells, each with what it gives."""
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return [(cell["source"], [dict(output.get("data") or output) for output in cell["outputs"]]) for cell in code]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_gives_what_it_shows(path: Path, workplace: Path) -> None:
    runner = tool()
    nbformat = pytest.importorskip("nbformat")
    again = shown(runner.run(path, workplace))
    assert again == shown(nbformat.read(path, as_version=4)), "python tools/run_notebooks.py runs them"


def test_the_how_to_shows_every_kind_of_thing() -> None:
    nbformat = pytest.importorskip("nbformat", reason="notebooks are read with nbformat")
    cells = shown(nbformat.read(ROOT / "docs" / "how-to" / "notebook.ipynb", as_version=4))
    names = {source.splitlines()[-1] for source, given in cells if any("text/html" in one for one in given)}
    assert names >= {"workload", "platform", "policy", "result", "comparison"}
    assert not any("name" in one for _, given in cells for one in given), "nothing goes to standard output or error"
