"""Run the notebooks under docs/ and keep what their cells give, as a forge and the site show it.

python tools/run_notebooks.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

DOCS = Path(__file__).resolve().parents[1] / "docs"
_KEPT = ("text/plain", "text/html", "image/png")


def run(notebook: Path, folder: Path) -> Any:
    """The notebook with what its cells give when they run in `folder`, in a kernel of this Python."""
    found: Any = nbformat.read(notebook, as_version=4)  # type: ignore[no-untyped-call]
    NotebookClient(found, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    for number, cell in enumerate(found.cells):
        cell["metadata"], cell["id"] = {}, f"cell-{number}"
        for output in cell.get("outputs", ()):
            output["data"] = {kind: value for kind, value in output.get("data", {}).items() if kind in _KEPT}
    found["metadata"] = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return found


def main() -> int:
    """Run all of them."""
    for notebook in sorted(DOCS.rglob("*.ipynb")):
        nbformat.write(run(notebook, notebook.parent), notebook)  # type: ignore[no-untyped-call]
        print(notebook.relative_to(DOCS.parent))
    return 0


if __name__ == "__main__":
    sys.exit(main())
