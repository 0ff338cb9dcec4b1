"""Shares of placement and timing of an experiment's runs, and the waits next to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from hetsched.analysis import mean_and_half_width

WAITS = ("mean_turnaround_s", "mean_wait_s", "max_wait_s", "large_mean_wait_s", "large_max_wait_s")
"""Columns that stand next to every share."""

SHARES = ("attained_percent", "saved_percent", "placement_percent", "timing_percent")

_BOUND = "energy_bound_starts_j"
_CASES = ("preset", "workload")
"""Columns of a run whose baseline may be in another setting: the same jobs at the settings' default."""

SCHEMA = {
    "scenario": pl.String,
    "policy": pl.String,
    **{name: pl.Float64 for share in SHARES for name in (share, f"{share}_half")},
    **dict.fromkeys(WAITS, pl.Float64),
}


def shares_of(frame: pl.DataFrame, baseline: str) -> pl.DataFrame:
    """Shares of an experiment's runs with a bound given their starts, against those of a baseline.

    ``attained_percent`` is the run's saving over blind placement as a share of the most that its own starts leave room
    for; ``saved_percent`` its job energy below the baseline's, which is ``placement_percent`` plus ``timing_percent``
    (`hetsched.analysis.placement_and_timing`), in percent of the baseline's. Each is a mean over repetitions, and with
    ``_half`` half the width of its 95 % interval; null where jobs were left out of a bound. Workloads of a scenario are
    averaged before. Waits in seconds, the longest of each run, averaged alike.
    """
    if _BOUND not in frame.columns:
        return pl.DataFrame(schema=SCHEMA)
    bounded = frame.filter(pl.col(_BOUND).is_not_null()).with_columns(
        own_j=pl.col("job_energy_j") - pl.col("bound_left_out_energy_j"),
        is_whole=(pl.col("bound_left_out_jobs") == 0) & (pl.col("running") == 0) & (pl.col("pending") == 0),
        where=_scenario(frame),
    )
    runs = _against(bounded, baseline).with_columns(
        attained_percent=100.0 * pl.col("placement_attained_ratio"),
        saved_percent=_percent(pl.col("base_j") - pl.col("own_j")),
        placement_percent=_percent((pl.col("base_j") - pl.col("base_bound_j")) - (pl.col("own_j") - pl.col(_BOUND))),
        timing_percent=_percent(pl.col("base_bound_j") - pl.col(_BOUND)),
    )
    each = runs.group_by("where", "policy", "repetition", maintain_order=True).agg(
        *(pl.when(pl.col(one).null_count() == 0).then(pl.col(one).mean()) for one in SHARES),
        *(pl.col(one).mean() for one in WAITS),
    )
    return pl.DataFrame(list(_rows(each)), schema=SCHEMA, orient="row")


def _scenario(frame: pl.DataFrame) -> pl.Expr:
    """The scenario without the workload that it names."""
    scenario = pl.col("scenario")
    if "mix" not in frame.columns:
        return scenario
    # Its text has a colon and a dash at most: none that a pattern reads as more than itself.
    return scenario.str.replace(", [0-9]+:[0-9]+-[a-z]+", "")


def _percent(saved_j: pl.Expr) -> pl.Expr:
    is_same_work = pl.col("is_whole") & pl.col("base_is_whole")
    return pl.when(is_same_work & (pl.col("base_j") > 0)).then(100.0 * saved_j / pl.col("base_j"))


def _against(bounded: pl.DataFrame, baseline: str) -> pl.DataFrame:
    """The runs with what the baseline drew in their scenario or, where it did not run in it, at their jobs."""
    columns = {"base_j": "own_j", "base_bound_j": _BOUND, "base_is_whole": "is_whole"}
    of_base = bounded.filter(policy=baseline)
    found = bounded
    keys: list[Sequence[str]] = [("repetition", "scenario")]
    if set(_CASES) <= set(bounded.columns):
        keys.append(("repetition", *_CASES))
    for place, key in enumerate(keys):
        base = of_base.group_by(*key).agg(pl.col(own).first().alias(f"{name}_{place}") for name, own in columns.items())
        found = found.join(base, on=list(key), how="left", maintain_order="left")
    return found.with_columns(
        pl.coalesce(f"{name}_{place}" for place in range(len(keys))).alias(name) for name in columns
    )


def _rows(each: pl.DataFrame) -> Iterator[list[str | float | None]]:
    for (where, policy), own in each.group_by("where", "policy", maintain_order=True):
        shares = [number for one in SHARES for number in _estimate(own[one])]
        yield [str(where), str(policy), *shares, *(_mean(own[one]) for one in WAITS)]


def _estimate(values: pl.Series) -> tuple[float | None, float | None]:
    """Mean and half the width of its interval; None where a repetition has no value."""
    if values.null_count():
        return None, None
    mean, half = mean_and_half_width(values.cast(pl.Float64).to_numpy())
    return mean, half


def _mean(values: pl.Series) -> float | None:
    known = values.drop_nulls().cast(pl.Float64).to_numpy()
    return float(np.mean(known)) if len(known) else None
