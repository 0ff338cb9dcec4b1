"""An experiment's report as files: the table, the object that ``--json`` gives, the raw frame, and the figure."""

from __future__ import annotations

import io
import json
from importlib.util import find_spec
from pathlib import Path

import polars as pl

from hetsched.experiments.experiment import Report
from hetsched.files import write_whole

__all__ = ["can_draw", "write_report"]


def can_draw() -> bool:
    """Whether the figure can be made: matplotlib is an extra."""
    return find_spec("matplotlib") is not None


def write_report(report: Report, folder: str) -> list[str]:
    """Write ``table.csv``, ``rows.json``, ``parameters.csv``, ``runs.parquet`` and, with matplotlib, ``figure.png``.

    Where there are several figures, ``figure-NAME.png`` each.

    Parameters
    ----------
    report
        What to write.
    folder
        Where; made if it is not there.

    Returns
    -------
    list of str
        The files' names, with the folder's.

    Raises
    ------
    OutputError
        If one cannot be written; each is there whole or not at all.
    """
    contents = {
        "table.csv": report.table().write_csv().encode(),
        "rows.json": (json.dumps(report.to_dict(), indent=2, allow_nan=False, ensure_ascii=False) + "\n").encode(),
        "parameters.csv": _parameters(report).write_csv().encode(),
        "runs.parquet": _parquet(report.runs),
    }
    if can_draw():
        contents.update(_pictures(report))
    paths = {Path(folder) / name: content for name, content in contents.items()}
    for path, content in paths.items():
        write_whole(path, content)
    return [str(path) for path in paths]


def _parameters(report: Report) -> pl.DataFrame:
    rows = [
        {"parameter": one.name, "value": json.dumps(one.value, ensure_ascii=False), "note": one.note}
        for one in report.parameters
    ]
    return pl.DataFrame(rows)


def _parquet(frame: pl.DataFrame) -> bytes:
    content = io.BytesIO()
    frame.write_parquet(content)
    return content.getvalue()


def _pictures(report: Report) -> dict[str, bytes]:
    from hetsched.report.canvas import picture_bytes  # noqa: PLC0415 -- only with matplotlib

    frames = {"figure.png": report.savings}
    if "figure" in report.savings.columns:
        figures = report.savings.group_by("figure", maintain_order=True)
        frames = {f"figure-{name}.png": own for (name,), own in figures}
    return {name: picture_bytes(report.draw(own, title=report.name), ".png") for name, own in frames.items()}
