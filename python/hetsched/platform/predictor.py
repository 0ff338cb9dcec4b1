"""Source of a run's predictions: the platform's own tables, a table, or an object that makes one.

Any object with a method ``table`` that turns the actual table into one of predictions is a predictor, such as
`hetsched.power.Ideal` and `hetsched.power.Noisy`; so is any object with a method ``draws`` that gives each job's draw
as far as it is known before the job has run, such as `hetsched.power.History`.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import polars as pl

from hetsched.checks import did_you_mean, shown
from hetsched.errors import ConfigError
from hetsched.platform.platform import Platform
from hetsched.variation.table import VariationTable

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
    check_predictor(predictor)
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


def check_predictor(predictor: object) -> None:
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
