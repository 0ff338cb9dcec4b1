"""Answers that can be written as an HTML page."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib import import_module
from typing import Protocol


class Written(Protocol):
    """A page, before it is a file."""

    def write(self, path: str | os.PathLike[str]) -> str:
        """Write it; gives its name."""


class Reported(ABC):
    """An answer with a page: a class with `_page` has `report`."""

    @abstractmethod
    def _page(self, *, title: str = "", assumed: Sequence[str] = (), command: str = "") -> Written:
        """The page: `assumed` goes into its box of assumptions, `command` made the answer on the command line."""

    def report(self, path: str | os.PathLike[str], *, title: str = "") -> str:
        """Write all of it as one HTML page, which opens from disk without a network; gives its name.

        The answer in two sentences and three numbers, what was assumed, tables, charts, settings, versions and hashes:
        what ``--report`` writes on the command line. Needs plotly and jinja2, of the extra ``report``.

        Parameters
        ----------
        path
            A file's name, ending in ``.html``.
        title
            Above the page; empty: made of what it is about.

        Raises
        ------
        ConfigError
            If `path` names no HTML file, or plotly or jinja2 is not installed.
        OutputError
            If it cannot be written.

        Examples
        --------
        >>> import hetsched as hs
        >>> import polars as pl
        >>> jobs = {"job_id": [1, 2, 3], "submit_s": [0, 10, 900], "runtime_s": [60, 60, 30], "node_count": [2, 3, 1]}
        >>> log, machine = hs.Workload.from_polars(pl.DataFrame(jobs)), hs.Platform.homogeneous(3, 100, 300)
        >>> hs.compare(log, machine, ["fcfs", "easy"]).report("comparison.html", title="Backfilling on our machine")
        'comparison.html'
        """
        # By name: pages are made of answers, so that no module of an answer may know them.
        document = import_module("hetsched.report.page.document")
        document.check_path(path)
        document.require_page()
        return self._page(title=title).write(path)
