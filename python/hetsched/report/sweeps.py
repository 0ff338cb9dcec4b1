"""The page of a sweep: a frame as `hetsched.sweep` gives it, as one HTML file."""

from __future__ import annotations

import os
from collections.abc import Sequence

import polars as pl

from hetsched.report.page.sweeps import page_of_sweep
from hetsched.reported import check_path, require_page

__all__ = ["write_page"]


def write_page(
    runs: pl.DataFrame,
    path: str | os.PathLike[str],
    *,
    baseline: str | None = None,
    metrics: Sequence[str] | None = None,
    title: str = "",
) -> str:
    """Write the frame of `hetsched.sweep` as one HTML page, which opens from disk without a network; gives its name.

    Parameters
    ----------
    runs
        As `hetsched.sweep` gives it, or ``sweep.parquet`` read: ``workload, platform, policy, seed`` and summaries.
    path
        A file's name, ending in ``.html``.
    baseline
        The policy that the others are held against. None: the first.
    metrics
        Keys of the summary. None: energy and waits.
    title
        Above the page; empty: made of the numbers of what was run.

    Raises
    ------
    ConfigError
        If `path` names no HTML file, the frame is no sweep's, there is no such policy or metric, or plotly or jinja2 is
        not installed.
    OutputError
        If it cannot be written.

    Examples
    --------
    >>> import hetsched as hs
    >>> jobs = pl.DataFrame({"job_id": [1, 2, 3, 4], "submit_s": [0, 60, 70, 400], "runtime_s": [90, 60, 20, 9],
    ...                      "walltime_s": [90, 60, 20, 9], "node_count": [2, 3, 1, 1]})
    >>> machines = {f"{n} nodes": hs.Platform.homogeneous(nodes=n, idle_w=100, tdp_w=300) for n in (3, 6)}
    >>> runs = hs.sweep(hs.Workload.from_polars(jobs), machines, ["fcfs", "easy"], workers=1)
    >>> write_page(runs, "sweep.html", title="Three nodes or six")
    'sweep.html'
    """
    check_path(path)
    require_page()
    return page_of_sweep(runs, baseline=baseline, metrics=metrics, title=title).write(path)


def __dir__() -> list[str]:
    return sorted(__all__)
