"""Files that power models are fitted on: features of applications, and measured watts of devices.

Both are read strictly; what is wrong is told by the file's line and column. A file of features has a row an
application: its name in a column ``app``, and a number in every other column. A file of watts has a row a run,
``device, app, power_w``, or a row a device: ``device`` and a column an application.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.checks import Faults, did_you_mean, listed, one_line, shown
from hetsched.errors import ConfigError
from hetsched.platform import Measurements
from hetsched.power.checks import Floats, in_order_of
from hetsched.text import few, many
from hetsched.variation.frame import misfit
from hetsched.variation.measured_file import RunsFile

_MOST = 1e100
"""Of a feature, in size; as the models ask for."""
_MOST_SHOWN = 10
_LONG = ("device", "app", "power_w")


@dataclass(frozen=True, eq=False)
class Features:
    """What is known of applications.

    Parameters
    ----------
    path
        The file.
    apps
        Names of the applications, in the order of the file.
    names
        Names of the features.
    values
        Shape (n_apps, n_features).
    """

    path: str
    apps: tuple[str, ...]
    names: tuple[str, ...]
    values: Floats

    def in_order_of(self, names: Sequence[str]) -> Features:
        """The same with the features that a model was fitted with, in its order; ConfigError if these are others."""
        return replace(self, names=tuple(names), values=self.values[:, in_order_of(names, self.names, self.path)])

    @property
    def frame(self) -> pl.DataFrame:
        """The values under their names."""
        return pl.DataFrame(self.values, schema=list(self.names))


@dataclass(frozen=True, eq=False)
class Watts:
    """What was measured, as models take it.

    Parameters
    ----------
    path
        The file.
    devices
        Their names in natural order (``gpu2`` before ``gpu10``); numbers are names, too.
    power_w
        Median over runs, shape (n_devices, n_apps), NaN = not measured; applications as in the features.
    runs
        How many runs the medians are of.
    dropped
        How many were left out, by reason.
    """

    path: str
    devices: tuple[str, ...]
    power_w: Floats
    runs: int
    dropped: dict[str, int]

    @property
    def is_measured(self) -> npt.NDArray[np.bool_]:
        """Which pairs of device and application were measured, shape (n_devices, n_apps)."""
        return np.asarray(~np.isnan(self.power_w))


def read_features(path: str | os.PathLike[str], *, labels: str | None = None) -> Features:
    r"""Features of applications from a file.

    Parameters
    ----------
    path
        ``.csv`` (also ``.csv.gz``, ``.csv.zst``) or ``.parquet``: a column ``app``, every application once, and a
        column of finite numbers for every feature.
    labels
        A column that is no feature: what else is known of the applications.

    Raises
    ------
    ConfigError
        With every fault: no such file or column, an application twice or without a name, a feature that is missing or
        no number. Names the line and the column.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "counters.csv").write_text("app,ipc,dram_gb_per_s\nhpl,2.1,90\nstream,0.4,310\n")
    ...     features = read_features(Path(folder, "counters.csv"))
    >>> features.apps, features.names, features.values.tolist()
    (('hpl', 'stream'), ('ipc', 'dram_gb_per_s'), [[2.1, 90.0], [0.4, 310.0]])
    """
    file = _opened(path, "a file of one row an application")
    frame = file.frame
    if labels is not None:
        if labels not in frame.columns or labels == "app":
            others = [name for name in frame.columns if name != "app"]
            expected = f"one of {listed(others)}{did_you_mean(labels, others)}"
            raise ConfigError([(os.fspath(path), f"no column {shown(labels)}", expected)])
        frame = frame.drop(labels)
    try:
        return _features(os.fspath(path), frame)
    except ConfigError as error:
        raise file.located(error) from None


def _opened(path: str | os.PathLike[str], what: str) -> RunsFile:
    """The file, or what keeps it from being `what`."""
    try:
        return RunsFile(path, words="app")
    except ConfigError as error:
        faults = [
            (where, found, what if expected.startswith("a file of") else expected)
            for where, found, expected in error.faults
        ]
        raise ConfigError(faults) from None


def _features(path: str, frame: pl.DataFrame) -> Features:
    faults = Faults()
    if "app" not in frame.columns:
        expected = f"a column `app`{did_you_mean('app', frame.columns)}"
        faults.found.append(("runs", f"columns {listed(frame.columns)}", expected))
    elif not _is_words(frame["app"]):
        faults.found.append(("runs.app", f"values of type {frame['app'].dtype}", "text, the application's name"))
    names = [name for name in frame.columns if name != "app"]
    if not names:
        faults.found.append(("runs", "no feature", "a column of numbers beside `app`"))
    if not len(frame):
        faults.found.append(("runs", "no row", "a row an application"))
    faults.check()
    _note_apps(frame["app"].cast(pl.String), faults)
    for name in names:
        _note_feature(frame[name], faults)
    faults.check()
    values = frame.select(pl.col(names).cast(pl.Float64)).to_numpy().astype(np.float64, order="C")
    return Features(path, tuple(frame["app"].cast(pl.String)), tuple(names), values)


def _is_words(column: pl.Series) -> bool:
    # Of a file without any name, all of them are missing, which is told row by row.
    return column.dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null)


def _note_apps(apps: pl.Series, faults: Faults) -> None:
    is_nameless = apps.is_null() | (apps == "").fill_null(value=True)
    _note_rows("app", is_nameless, ["nothing"] * len(apps), "the application's name", faults)
    is_again = ~apps.is_first_distinct() & ~is_nameless
    _note_rows("app", is_again, apps.fill_null("").to_list(), "each application once", faults)


def _note_feature(values: pl.Series, faults: Faults) -> None:
    if not values.dtype.is_numeric() and values.dtype not in (pl.Boolean, pl.Null):
        where, found = misfit(values)
        faults.found.append((f"runs.{one_line(where, limit=100)}", shown(found), "numbers"))
        return
    numbers = values.cast(pl.Float64)
    is_missing = numbers.is_null() | numbers.is_nan()
    expected = "a number: models need every feature of every application"
    _note_rows(values.name, is_missing, ["nothing"] * len(values), expected, faults)
    is_large = (numbers.abs() > _MOST).fill_null(value=False) & ~is_missing
    _note_rows(values.name, is_large, numbers.to_list(), f"a finite number, at most {_MOST:g} in size", faults)


def _note_rows(column: str, is_wrong: pl.Series, found: Sequence[object], expected: str, faults: Faults) -> None:
    """A fault a row, of many rows only for the first."""
    rows = is_wrong.arg_true().to_list()
    for place, row in enumerate(rows[:_MOST_SHOWN]):
        more = f" (and {len(rows) - _MOST_SHOWN:,} more rows)" if place == _MOST_SHOWN - 1 < len(rows) - 1 else ""
        said = found[row] if found[row] == "nothing" else shown(found[row])
        faults.found.append((f"runs.{one_line(column, limit=60)}, row {row}", str(said), expected + more))


def read_watts(path: str | os.PathLike[str], features: Features) -> Watts:
    r"""Measured watts of devices under the applications of a file of features.

    Several runs of a device under an application count as their median. Runs without a device or an application, and
    runs whose watts are missing or not above 0, are left out and counted.

    Parameters
    ----------
    path
        ``.csv`` (also ``.csv.gz``, ``.csv.zst``) or ``.parquet``. One row a run, with columns ``device``, ``app`` and
        ``power_w``; or one row a device, with ``device`` and a column of watts for every application, empty where it
        was not measured.
    features
        What is known of the applications. Those that were not measured get a column of NaN.

    Raises
    ------
    ConfigError
        With every fault: no such file or column, no numbers, an application that the features do not hold, a device
        without a run that says anything. Names the line and the column where there is one.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> features = Features("counters.csv", ("hpl", "stream"), ("ipc",), np.array([[2.1], [0.4]]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "watts.csv").write_text("device,app,power_w\ng1,hpl,250\ng1,hpl,254\ng2,stream,170\n")
    ...     watts = read_watts(Path(folder, "watts.csv"), features)
    >>> watts.devices, watts.power_w.tolist(), watts.runs
    (('g1', 'g2'), [[252.0, nan], [nan, 170.0]], 3)
    """
    name = os.fspath(path)
    file = _opened(path, "a file of one row a run")
    frame, is_wide = file.frame, _has_column_an_app(file.frame)
    if "device" in frame.columns and frame["device"].dtype.is_integer():
        frame = frame.with_columns(pl.col("device").cast(pl.String))
    try:
        if is_wide:
            _check_numbers(frame)
            frame = frame.cast({pl.selectors.exclude("device"): pl.Float64})
        else:
            _check_columns(frame)
    except ConfigError as error:
        raise file.located(error) from None
    runs = frame.unpivot(index="device", variable_name="app", value_name="power_w") if is_wide else frame
    try:
        _check_apps(runs["app"], features, is_wide=is_wide)
        found = _watts(name, Measurements(runs, app="app", node="device", power_w="power_w"), features)
    except ConfigError as error:
        # Rows of a file with a column an application are no lines any more.
        raise (_without_rows(error, name) if is_wide else file.located(error)) from None
    if is_wide:
        # An empty field is no run.
        found.dropped.pop("power_w missing", None)
    return found


def _has_column_an_app(frame: pl.DataFrame) -> bool:
    return "device" in frame.columns and len(frame.columns) > 1 and not {"app", "power_w"} & set(frame.columns)


def _check_numbers(frame: pl.DataFrame) -> None:
    faults = Faults()
    for name in frame.columns:
        dtype = frame[name].dtype
        if name != "device" and not dtype.is_numeric() and dtype != pl.Null:
            where, found = misfit(frame[name])
            expected = "watts under an application, or a file with columns device, app, power_w"
            faults.found.append((f"runs.{one_line(where, limit=100)}", shown(found), expected))
    faults.check()


def _check_columns(frame: pl.DataFrame) -> None:
    faults = Faults()
    for name in _LONG:
        if name not in frame.columns:
            expected = f"a column `{name}`{did_you_mean(name, frame.columns)}"
            faults.found.append(("runs", f"columns {listed(frame.columns)}", expected))
    faults.check()


def _check_apps(column: pl.Series, features: Features, *, is_wide: bool) -> None:
    apps = column.cast(pl.String, strict=False).drop_nulls().unique(maintain_order=True).to_list()
    unknown = [app for app in apps if app and app not in features.apps]
    if apps and len(unknown) == len(apps):
        expected = f"at least one of {features.path}'s: {few(features.apps)}"
        raise ConfigError([("runs", f"none of the applications, only {few(unknown)}", expected)])
    faults = Faults()
    for place, app in enumerate(unknown[:_MOST_SHOWN]):
        more = f" (and {len(unknown) - _MOST_SHOWN:,} more)" if place == _MOST_SHOWN - 1 < len(unknown) - 1 else ""
        expected = f"an application of {features.path}{did_you_mean(app, features.apps)}{more}"
        where = one_line(app, limit=60) if is_wide else f"app, row {column.cast(pl.String).index_of(app)}"
        faults.found.append((f"runs.{where}", shown(app), expected))
    faults.check()


def _without_rows(error: ConfigError, path: str) -> ConfigError:
    """The same faults by the file's name and column, without rows, which are not the file's."""
    faults = []
    for where, found, expected in error.faults:
        of_runs, _, column = where.partition(", row ")[0].partition(".")
        is_here = of_runs == "runs"
        faults.append((f"{path}, {column}" if is_here and column else path if is_here else where, found, expected))
    return ConfigError(faults)


def _watts(path: str, measured: Measurements, features: Features) -> Watts:
    power_w = np.full((len(measured.nodes), len(features.apps)), np.nan)
    cells = measured.cells.select("app", "node", "power_w").drop_nulls()
    app = cells["app"].cast(pl.Enum(features.apps)).to_physical().to_numpy().astype(np.intp)
    power_w[cells["node"].to_numpy(), app] = cells["power_w"].to_numpy()
    devices = tuple(map(str, measured.nodes))
    bare = np.flatnonzero(np.isnan(power_w).all(axis=1)).tolist()
    if bare:
        expected = "at least one run with watts above 0 for every device"
        raise ConfigError([(path, f"no usable run of {few([devices[one] for one in bare])}", expected)])
    runs = int(measured.cells["runs"].sum())
    return Watts(path, devices, power_w, runs, measured.dropped)


def left_out(watts: Watts) -> str:
    """The runs that were left out, in a sentence; nothing if there are none.

    Examples
    --------
    >>> left_out(Watts("watts.csv", ("0",), np.array([[200.0]]), 1, {"power_w not above 0": 2}))
    'watts.csv: 2 runs left out (2 power_w not above 0)'
    """
    if not watts.dropped:
        return ""
    reasons = listed(f"{count:,} {reason}" for reason, count in watts.dropped.items())
    return f"{watts.path}: {many(sum(watts.dropped.values()), 'run')} left out ({reasons})"
