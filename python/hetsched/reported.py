"""Answers that can be written as an HTML page, and what must be there before one is made."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Protocol

from hetsched.checks import Faults
from hetsched.errors import ConfigError

SUFFIXES = (".html", ".htm")
"""Endings of a page's name."""


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
        check_path(path)
        require_page()
        return self._page(title=title).write(path)


def page_by_name(
    module: str, answer: Reported, *, title: str = "", assumed: Sequence[str] = (), command: str = ""
) -> Written:
    """The page of an answer by the name of a module in `hetsched.report.page`, for answers that it is made of."""
    page: Written = import_module(f"hetsched.report.page.{module}").page_of(
        answer, title=title, assumed=assumed, command=command
    )
    return page


def check_path(path: str | os.PathLike[str], parameter: str = "path") -> None:
    """Refuse a path whose name is not one of an HTML file."""
    faults = Faults()
    if not isinstance(path, (str, os.PathLike)) or Path(path).suffix.lower() not in SUFFIXES:
        faults.add(parameter, path, "a path of a file, ending in .html")
    faults.check()


def require_page(parameter: str = "report") -> None:
    """Check, before long runs, that what pages are made with is there; otherwise a `ConfigError` names `parameter`."""
    try:
        import jinja2  # noqa: PLC0415 -- extras, and slow to import
        import plotly  # noqa: PLC0415
    except ImportError as error:
        install = "both: pip install 'hetsched[report]'"
        raise ConfigError([(parameter, f"an installation without {error.name}", install)]) from None
    del jinja2, plotly
