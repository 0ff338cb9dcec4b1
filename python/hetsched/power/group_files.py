"""Groups of applications from a file: which of them are of one kind, and left out together."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from hetsched.checks import Faults, did_you_mean, listed, one_line, shown
from hetsched.errors import ConfigError
from hetsched.text import few
from hetsched.variation.measured_file import RunsFile


def read_groups(where: str, apps: Sequence[str], *, features: str) -> list[str]:
    r"""A label for each application.

    Parameters
    ----------
    where
        ``FILE`` with a column ``app`` and one of labels, or ``FILE/COLUMN`` where it has several; as `read_features`
        takes files.
    apps
        Names of the applications.
    features
        What to call the file that they are from.

    Raises
    ------
    ConfigError
        If there is no such file or column, or an application has no label, or two.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "kinds.csv")
    ...     _ = path.write_text("app,kind,suite\nfft,spectral,a\nhpl,dense,a\n")
    ...     read_groups(f"{path}/kind", ["hpl", "fft"], features="counters.csv")
    ['dense', 'spectral']
    """
    path, column = _parted(where)
    file = RunsFile(path, words="app")
    if "app" not in file.frame.columns:
        expected = f"a column `app`{did_you_mean('app', file.frame.columns)}"
        raise ConfigError([(path, f"columns {listed(file.frame.columns)}", expected)])
    labels = _labels(file.frame, path, column)
    faults = Faults()
    bare = [app for app in apps if app not in labels]
    if bare:
        faults.found.append((f"{path}, app", f"no label of {few(bare)}", f"one for every application of {features}"))
    faults.check()
    return [labels[app] for app in apps]


def _parted(where: str) -> tuple[str, str | None]:
    """File and column: a slash behind a file's ending is none of its path."""
    path, slash, column = where.rpartition("/")
    return (path, column) if slash and path.endswith((".csv", ".csv.gz", ".csv.zst", ".parquet")) else (where, None)


def _labels(frame: pl.DataFrame, path: str, column: str | None) -> dict[str, str]:
    others = [name for name in frame.columns if name != "app"]
    if column is None and len(others) != 1:
        there = f"columns {listed(frame.columns)}"
        raise ConfigError([(path, there, f"`app` and one of labels; of several say which: {path}/COLUMN")])
    name = others[0] if column is None else column
    if name not in others:
        expected = f"one of {listed(others)}{did_you_mean(name, others)}"
        raise ConfigError([(path, f"no column {shown(name)}", expected)])
    found: dict[str, str] = {}
    faults = Faults()
    for app, label in frame.select(pl.col("app", name).cast(pl.String)).drop_nulls().iter_rows():
        if found.setdefault(app, label) != label:
            place = f"{path}, {one_line(app, limit=60)}"
            faults.found.append((place, f"{shown(found[app])} and {shown(label)}", "one label of each application"))
    faults.check()
    return found
