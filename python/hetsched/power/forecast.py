"""Predictions in a run: what a predictor is, the tables it gives, and its forecast of the jobs' own draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.checks import did_you_mean, many, shown
from hetsched.errors import ConfigError
from hetsched.params import MAX_NODE_W
from hetsched.platform import Platform, VariationTable
from hetsched.power.evaluate import mape
from hetsched.power.predictors import Ideal
from hetsched.workload import Workload

IDEAL = "ideal"
"""The predictor that is right, by its name."""

_EXPECTED = (
    f"None, `{IDEAL}`, a VariationTable of predictions, or an object with `.table(actual)` or `.draws(jobs)`, such as "
    "hs.power.Noisy() or hs.power.History()"
)


@runtime_checkable
class Predictor(Protocol):
    """Turns the table of actual draws into one of predictions."""

    def table(self, actual: VariationTable, /) -> VariationTable:
        """The predicted table, of the same applications and nodes.

        Parameters
        ----------
        actual
            The nodes' draw.
        """


@runtime_checkable
class DrawPredictor(Protocol):
    """Gives the draw of jobs that bring a measured one, as far as it is known before they have run."""

    def draws(self, jobs: pl.DataFrame, /) -> pl.DataFrame:
        """A row a job in the same order, with ``known_w``: watts a node, null = nothing is known.

        A column ``level`` may say where each number comes from.

        Parameters
        ----------
        jobs
            `Workload.to_polars`. Nothing but the method's own care keeps it from looking into the future.
        """


AnyPredictor = Predictor | DrawPredictor | VariationTable | str
"""Predictors as `hetsched.simulate` takes them."""


def predicted_by(platform: Platform, predictor: Predictor | VariationTable | str | None) -> Platform:
    """The platform with the predictions of a predictor in place of its own."""
    if predictor is None:
        return platform
    _check_predictor(predictor)
    actual = platform.actual
    if actual is None:
        expected = "a platform with an actual table, which predictions are of: platform.with_tables(actual=...)"
        raise ConfigError([("predictor", shown(predictor_name(predictor)), expected)])
    by_cap = platform.actual_by_cap
    if by_cap is not None and isinstance(predictor, VariationTable):
        expected = "an object with `.table(actual)`, which is asked for each cap; or with_tables(predicted=...)"
        raise ConfigError([("predictor", "a single table with tables by cap", expected)])
    try:
        if by_cap is not None:
            believed = {cap_w: _table(predictor, table) for cap_w, table in by_cap.items()}
            return platform.with_tables(actual=by_cap, predicted=believed)
        return platform.with_tables(actual=actual, predicted=_table(predictor, actual))
    except ConfigError as error:
        raise error.mapped(lambda fault: fault.moved("predicted", "predictor")) from None


def predictor_name(predictor: object) -> str | None:
    """Name of a predictor in a run's record: its own words, never its place in memory."""
    if predictor is None or isinstance(predictor, str):
        return predictor
    kind = type(predictor)
    return kind.__name__ if kind.__repr__ is object.__repr__ else repr(predictor)


def _check_predictor(predictor: object) -> None:
    """Raise a `ConfigError` unless it is a predictor."""
    if isinstance(predictor, str):
        if predictor != IDEAL:
            raise ConfigError([("predictor", shown(predictor), _EXPECTED + did_you_mean(predictor, (IDEAL,)))])
    elif isinstance(predictor, type):
        found = f"the class {predictor.__name__}"
        raise ConfigError([("predictor", found, f"one of its objects: {predictor.__name__}()")])
    elif callable(getattr(predictor, "predict", None)):
        # A power model has a `table` too, which asks for more than a platform knows.
        expected = "its table for this platform: predictor=model.table(features, apps=[...])"
        raise ConfigError([("predictor", f"the model {type(predictor).__name__}", expected)])
    elif not isinstance(predictor, VariationTable | Predictor | DrawPredictor):
        raise ConfigError([("predictor", shown(predictor), _EXPECTED)])


def _table(predictor: Predictor | VariationTable | str, actual: VariationTable) -> VariationTable:
    if isinstance(predictor, str):
        return actual
    if isinstance(predictor, VariationTable):
        return predictor
    table: object = predictor.table(actual)
    if not isinstance(table, VariationTable):
        found = f"a {type(table).__name__} from {type(predictor).__name__}.table"
        raise ConfigError([("predictor", found, "a VariationTable")])
    return table


@dataclass(frozen=True)
class Forecast:
    """Jobs' own draws as known before they have run, W a node (NaN: unknown), and a report of their sources."""

    known_w: npt.NDArray[np.float64]
    report: dict[str, Any]


def believed(
    workload: Workload, platform: Platform, predictor: AnyPredictor | None
) -> tuple[Platform, Forecast | None]:
    """The platform with a predictor's tables, and its forecast of the jobs' own draws; None if it makes none.

    A predictor with both a ``table`` and ``draws`` serves by its table whatever the actual table has a row for, and by
    its draws the rest: no job is predicted twice.
    """
    if predictor is None:
        return platform, None
    _check_predictor(predictor)
    source = Ideal() if isinstance(predictor, str) else predictor
    jobs = workload.to_polars()
    measured = _measured(jobs)
    has_table = isinstance(source, VariationTable | Predictor)
    if isinstance(source, VariationTable | Predictor) and platform.actual is not None:
        platform = predicted_by(platform, source)
    elif not isinstance(source, DrawPredictor) or (len(jobs) and not measured.any()):
        _refuse(predictor, has_table=has_table)
    if not isinstance(source, DrawPredictor):
        return platform, None
    follows = measured & ~_served(jobs, platform, by_factors=False)
    own = measured & ~_served(jobs, platform, by_factors=has_table)
    return platform, _forecast(source, predictor_name(predictor), jobs, follows, own) if follows.any() else None


def _refuse(predictor: AnyPredictor, *, has_table: bool) -> None:
    table = "a platform with an actual table, which predictions are of: platform.with_tables(actual=...)"
    draws = "jobs that bring a measured draw, the column power_w"
    wanted = [
        text for text, is_taken in ((table, has_table), (draws, isinstance(predictor, str | DrawPredictor))) if is_taken
    ]
    raise ConfigError([("predictor", shown(predictor_name(predictor)), "; or ".join(wanted))])


def _measured(jobs: pl.DataFrame) -> npt.NDArray[np.bool_]:
    """Mask of jobs that bring a measured draw."""
    if "power_w" not in jobs.columns:
        return np.zeros(len(jobs), dtype=np.bool_)
    return (jobs["power_w"] > 0).fill_null(value=False).to_numpy()


def _served(jobs: pl.DataFrame, platform: Platform, *, by_factors: bool) -> npt.NDArray[np.bool_]:
    """Mask of jobs that a table has watts for or, if that counts, factors."""
    table = platform.actual if platform.predicted is None else platform.predicted
    if table is None or "app" not in jobs.columns or not (by_factors or table.power_w is not None):
        return np.zeros(len(jobs), dtype=np.bool_)
    app = jobs["app"]
    return (app.is_not_null() if "*" in table.apps else app.is_in(table.apps).fill_null(value=False)).to_numpy()


def _forecast(
    source: DrawPredictor,
    name: str | None,
    jobs: pl.DataFrame,
    follows: npt.NDArray[np.bool_],
    own: npt.NDArray[np.bool_],
) -> Forecast:
    frame = _checked(source, source.draws(jobs), jobs)
    predicted_w, power_w = frame["known_w"].fill_null(np.nan).to_numpy(), jobs["power_w"].fill_null(np.nan).to_numpy()
    # What a row of factors serves has its error there.
    known_w = np.where(follows & ~own, power_w, predicted_w)
    known = own & ~np.isnan(known_w)
    level = frame["level"] if "level" in frame.columns else pl.Series("level", [None] * len(jobs), dtype=pl.String)
    levels = level.filter(pl.Series(known)).drop_nulls().value_counts().sort("count", "level", descending=[True, False])
    report = {
        "predictor": name,
        "jobs": int(own.sum()),
        "predicted": int(known.sum()),
        "unknown": int((own & ~known).sum()),
        "levels": dict(levels.iter_rows()),
        "mape_percent": mape(power_w[known], known_w[known]) if known.any() else None,
    }
    return Forecast(known_w, report)


def _checked(source: object, frame: object, jobs: pl.DataFrame) -> pl.DataFrame:
    """A predictor's answer about the jobs, if it is valid."""
    name = type(source).__name__
    if not isinstance(frame, pl.DataFrame) or "known_w" not in frame.columns:
        found = (
            f"columns {', '.join(frame.columns)}" if isinstance(frame, pl.DataFrame) else f"a {type(frame).__name__}"
        )
        raise ConfigError([("predictor", f"{found} from {name}.draws", "a polars.DataFrame with a column known_w")])
    if len(frame) != len(jobs):
        raise ConfigError(
            [("predictor", f"{many(len(frame), 'row')} from {name}.draws", f"a row for each of {len(jobs)} jobs")]
        )
    if not frame["known_w"].dtype.is_numeric() and frame["known_w"].dtype != pl.Null:
        raise ConfigError([("predictor", f"known_w of type {frame['known_w'].dtype} from {name}.draws", "watts")])
    known_w = frame["known_w"].cast(pl.Float64)
    wrong = (~(known_w.is_nan() | known_w.is_between(0.0, MAX_NODE_W))).fill_null(value=False).arg_true()
    if len(wrong):
        found = f"{known_w[wrong[0]]:g} for job {jobs['job_id'][wrong[0]]} from {name}.draws"
        raise ConfigError([("predictor", found, "watts from 0 to 1e6, or null: nothing is known")])
    return frame.with_columns(known_w)
