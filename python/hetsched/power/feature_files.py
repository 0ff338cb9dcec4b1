"""Files that power models are fitted on: features and groups of applications, and measured watts of devices.

All are read strictly; faults are reported by the file's line and column. A file of features has a row an
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

from hetsched.checks import Faults, did_you_mean, few, listed, many, one_line, shown
from hetsched.errors import ConfigError
from hetsched.platform import Measurements
from hetsched.power.checks import MOST_FEATURE, SHOWN, Floats, in_order_of, more
from hetsched.tables import kind_of, misfit, read_table

_LONG = ("device", "app", "power_w")


@dataclass(frozen=True, eq=False)
class Features:
    """Features of applications, values of shape (n_apps, n_features)."""

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
    """Median watts of devices, shape (n_devices, n_apps), NaN = not measured, and the runs they are of."""

    path: str
    devices: tuple[str, ...]
    power_w: Floats
    runs: int
    dropped: dict[str, int]

    @property
    def is_measured(self) -> npt.NDArray[np.bool_]:
        """Measured pairs of device and application, shape (n_devices, n_apps)."""
        return np.asarray(~np.isnan(self.power_w))


def read_features(path: str | os.PathLike[str], *, labels: str | None = None) -> Features:
    """Features of applications from a file."""
    file = read_table(path, "a file of one row an application", words=["app"])
    frame = file.frame
    if labels is not None:
        _check_label(frame, labels, os.fspath(path))
        frame = frame.drop(labels)
    try:
        return _features(os.fspath(path), frame)
    except ConfigError as error:
        raise file.located(error) from None


def _features(path: str, frame: pl.DataFrame) -> Features:
    faults = Faults()
    _note_missing(frame, ["app"], "runs", faults)
    if "app" in frame.columns and not _is_words(frame["app"]):
        faults.note("runs.app", f"values of type {frame['app'].dtype}", "text, the application's name")
    names = [name for name in frame.columns if name != "app"]
    if not names:
        faults.note("runs", "no feature", "a column of numbers next to `app`")
    if not len(frame):
        faults.note("runs", "no row", "a row an application")
    faults.check()
    _note_apps(frame["app"].cast(pl.String), faults)
    for name in names:
        _note_feature(frame[name], faults)
    faults.check()
    values = frame.select(pl.col(names).cast(pl.Float64)).to_numpy().astype(np.float64, order="C")
    return Features(path, tuple(frame["app"].cast(pl.String)), tuple(names), values)


def _is_words(column: pl.Series) -> bool:
    # Of a file without any name, all of them are missing, which is reported row by row.
    return column.dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null)


def _note_apps(apps: pl.Series, faults: Faults) -> None:
    is_nameless = apps.is_null() | (apps == "").fill_null(value=True)
    _note_rows("app", is_nameless, ["nothing"] * len(apps), "the application's name", faults)
    is_again = ~apps.is_first_distinct() & ~is_nameless
    _note_rows("app", is_again, apps.fill_null("").to_list(), "each application once", faults)


def _note_feature(values: pl.Series, faults: Faults) -> None:
    if not values.dtype.is_numeric() and values.dtype not in (pl.Boolean, pl.Null):
        row, found = misfit(values)
        faults.add(f"runs.{one_line(values.name, limit=100)}", found, "numbers", row=row)
        return
    numbers = values.cast(pl.Float64)
    is_missing = numbers.is_null() | numbers.is_nan()
    expected = "a number: models need every feature of every application"
    _note_rows(values.name, is_missing, ["nothing"] * len(values), expected, faults)
    is_large = (numbers.abs() > MOST_FEATURE).fill_null(value=False) & ~is_missing
    _note_rows(values.name, is_large, numbers.to_list(), f"a finite number, at most {MOST_FEATURE:g} in size", faults)


def _note_rows(column: str, is_wrong: pl.Series, found: Sequence[object], expected: str, faults: Faults) -> None:
    """A fault a row, of many rows only for the first."""
    rows = is_wrong.arg_true().to_list()
    for place, row in enumerate(rows[:SHOWN]):
        said = "nothing" if found[row] == "nothing" else shown(found[row])
        rest = more(place, len(rows), " rows")
        faults.note(f"runs.{one_line(column, limit=60)}", said, expected + rest, row=row)


def _note_missing(frame: pl.DataFrame, names: Sequence[str], where: str, faults: Faults) -> None:
    for name in names:
        if name not in frame.columns:
            expected = f"a column `{name}`{did_you_mean(name, frame.columns)}"
            faults.note(where, f"columns {listed(frame.columns)}", expected)


def _check_label(frame: pl.DataFrame, name: str, path: str) -> None:
    others = [column for column in frame.columns if column != "app"]
    if name not in others:
        expected = f"one of {listed(others)}{did_you_mean(name, others)}"
        raise ConfigError([(path, f"no column {shown(name)}", expected)])


def read_watts(path: str | os.PathLike[str], features: Features) -> Watts:
    """Measured watts of devices under the applications of a file of features.

    Several runs of a device under an application count as their median. Runs without a device or an application, and
    runs whose watts are missing or not above 0, are left out and counted.
    """
    name = os.fspath(path)
    file = read_table(path, "a file of one row a run", words=["app"])
    frame, is_wide = file.frame, _has_column_an_app(file.frame)
    if "device" in frame.columns and frame["device"].dtype.is_integer():
        frame = frame.with_columns(pl.col("device").cast(pl.String))
    try:
        if is_wide:
            _check_numbers(frame)
            frame = frame.cast({pl.selectors.exclude("device"): pl.Float64})
        else:
            faults = Faults()
            _note_missing(frame, _LONG, "runs", faults)
            faults.check()
    except ConfigError as error:
        raise file.located(error) from None
    runs = frame.unpivot(index="device", variable_name="app", value_name="power_w") if is_wide else frame
    try:
        _check_apps(runs["app"], features, is_wide=is_wide)
        found = _watts(name, Measurements(runs, app="app", node="device", power_w="power_w"), features)
    except ConfigError as error:
        # Rows of a file with a column an application are no lines any more.
        raise file.located(error, rows=not is_wide) from None
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
            row, found = misfit(frame[name])
            expected = "watts under an application, or a file with columns device, app, power_w"
            faults.add(f"runs.{one_line(name, limit=100)}", found, expected, row=row)
    faults.check()


def _check_apps(column: pl.Series, features: Features, *, is_wide: bool) -> None:
    apps = column.cast(pl.String, strict=False).drop_nulls().unique(maintain_order=True).to_list()
    unknown = [app for app in apps if app and app not in features.apps]
    if apps and len(unknown) == len(apps):
        expected = f"at least one of {features.path}'s: {few(features.apps)}"
        raise ConfigError([("runs", f"none of the applications, only {few(unknown)}", expected)])
    faults = Faults()
    for place, app in enumerate(unknown[:SHOWN]):
        expected = f"an application of {features.path}{did_you_mean(app, features.apps)}{more(place, len(unknown))}"
        where, row = (one_line(app, limit=60), None) if is_wide else ("app", column.cast(pl.String).index_of(app))
        faults.add(f"runs.{where}", app, expected, row=row)
    faults.check()


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
    """The runs that were left out, in a sentence; nothing if there are none."""
    if not watts.dropped:
        return ""
    reasons = listed(f"{count:,} {reason}" for reason, count in watts.dropped.items())
    return f"{watts.path}: {many(sum(watts.dropped.values()), 'run')} left out ({reasons})"


def read_groups(where: str, apps: Sequence[str], *, features: str) -> list[str]:
    """A label for each application from ``FILE`` or ``FILE/COLUMN``; `features` is the file that the names are from."""
    path, column = _parted(where)
    file = read_table(path, "a file of one row a run", words=["app"])
    faults = Faults()
    _note_missing(file.frame, ["app"], path, faults)
    faults.check()
    labels = _labels(file.frame, path, column)
    bare = [app for app in apps if app not in labels]
    if bare:
        faults.note(f"{path}, app", f"no label of {few(bare)}", f"one for every application of {features}")
    faults.check()
    return [labels[app] for app in apps]


def _parted(where: str) -> tuple[str, str | None]:
    """File and column: a slash after a file's ending does not belong to its path."""
    path, slash, column = where.rpartition("/")
    return (path, column) if slash and kind_of(path) in ("csv", "parquet") else (where, None)


def _labels(frame: pl.DataFrame, path: str, column: str | None) -> dict[str, str]:
    others = [name for name in frame.columns if name != "app"]
    if column is None and len(others) != 1:
        there = f"columns {listed(frame.columns)}"
        raise ConfigError([(path, there, f"`app` and one of labels; of several say which: {path}/COLUMN")])
    name = others[0] if column is None else column
    _check_label(frame, name, path)
    found: dict[str, str] = {}
    faults = Faults()
    for app, label in frame.select(pl.col("app", name).cast(pl.String)).drop_nulls().iter_rows():
        if found.setdefault(app, label) != label:
            place = f"{path}, {one_line(app, limit=60)}"
            faults.note(place, f"{shown(found[app])} and {shown(label)}", "one label of each application")
    faults.check()
    return found
