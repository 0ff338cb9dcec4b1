"""`compare`: what policies make of the same jobs, as ratios to one of them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from hetsched.analysis.equal_work import different_work, with_energy_per_work
from hetsched.analysis.metrics import DEFAULT_METRICS, metrics_named
from hetsched.analysis.statistics import mean_and_half_width
from hetsched.checks import did_you_mean, listed, shown
from hetsched.errors import ConfigError, WorkWarning
from hetsched.run.result import Result

__all__ = ["attained_ratio", "compare", "runs_frame"]

_REMEDY = 'where nodes are slower than nominal, walltimes="stretch" gives jobs the time they need'
_SCHEMA: dict[str, type[pl.DataType]] = {
    "policy": pl.String,
    "metric": pl.String,
    "runs": pl.Int64,
    "mean": pl.Float64,
    "half_width_95": pl.Float64,
    "ratio": pl.Float64,
    "ratio_half_width_95": pl.Float64,
}


def runs_frame(results: Iterable[Result]) -> pl.DataFrame:
    """One row a run: ``policy``, ``seed``, then the keys of its summary.

    Parameters
    ----------
    results
        Any number; each is let go of before the next is asked for.

    Examples
    --------
    >>> import hetsched as hs
    >>> jobs = pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 90], "runtime_s": [60, 30], "node_count": [2, 1]})
    >>> workload, platform = hs.Workload.from_polars(jobs), hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300)
    >>> runs_frame(hs.simulate(workload, platform, name) for name in ("fcfs", "easy")).select("policy", "jobs").rows()
    [('fcfs', 2), ('easy', 2)]
    """
    rows = [
        {"policy": result.provenance["policy"]["name"], "seed": result.provenance["seed"], **result.summary()}
        for result in results
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def compare(
    results: Iterable[Result] | pl.DataFrame, *, baseline: str, metrics: Sequence[str] = DEFAULT_METRICS
) -> pl.DataFrame:
    """Each policy's metrics, and their ratios to a baseline's.

    Runs of one policy under several seeds are averaged, with 95 % confidence intervals by Student's t. A ratio is the
    ratio of the two means; its interval comes from both by linear propagation, the two taken as independent.

    Parameters
    ----------
    results
        Results, or a frame as `runs_frame` gives it: a row a run, with ``policy`` and the metrics as columns.
    baseline
        The policy whose ratios are 1.
    metrics
        Keys of `Result.summary`. Where ``energy_j`` is among them and the runs did different work, so is
        ``energy_per_work_j_per_node_s``, whether asked for or not.

    Returns
    -------
    polars.DataFrame
        One row a policy and metric, policies in the order in which they first come: ``policy, metric, runs, mean,
        half_width_95`` (null for a single run) ``, ratio`` (null where the baseline's mean is 0 or nothing is known)
        ``, ratio_half_width_95`` (null where neither mean has an interval).

    Raises
    ------
    ConfigError
        If there are no runs, none of them is the baseline's, or a metric is unknown.

    Warns
    -----
    WorkWarning
        If the runs did different work, for example because slower nodes made more jobs run into their walltimes.

    Examples
    --------
    >>> runs = pl.DataFrame({"policy": ["fcfs", "easy"], "mean_wait_s": [200.0, 50.0]})
    >>> compare(runs, baseline="fcfs", metrics=["mean_wait_s"]).select("policy", "mean", "ratio").rows()
    [('fcfs', 200.0, 1.0), ('easy', 50.0, 0.25)]
    """
    runs = results if isinstance(results, pl.DataFrame) else runs_frame(results)
    keys = [metric.key for metric in metrics_named(metrics)]
    _check(runs, baseline, keys)
    if text := different_work(runs, remedy=_REMEDY):
        warnings.warn(text, WorkWarning, stacklevel=2)
        keys = with_energy_per_work(keys)
    policies = runs["policy"].unique(maintain_order=True).to_list()
    means = {policy: _means(runs.filter(pl.col("policy") == policy), keys) for policy in policies}
    rows = [
        {"policy": policy, "metric": key, **means[policy][key], **_ratio(means[policy][key], means[baseline][key])}
        for policy in policies
        for key in keys
    ]
    return pl.DataFrame(rows, schema=_SCHEMA)


def attained_ratio(job_energy_j: float, *, baseline_j: float, bound_j: float) -> float | None:
    """A policy's saving as a share of what any placement could have saved at most.

    ``(baseline - own) / (baseline - bound)``: 0 saves nothing, 1 would be the bound itself, below 0 costs more. Above 1
    only if the policy's run takes longer than the window of the bound.

    Parameters
    ----------
    job_energy_j
        The policy's ``job_energy_j``.
    baseline_j
        The baseline's.
    bound_j
        ``energy_bound_j`` of the baseline's run, so that all policies are held against one window.

    Returns
    -------
    float or None
        None where the baseline leaves nothing to save.

    Examples
    --------
    >>> attained_ratio(90.0, baseline_j=100.0, bound_j=75.0)
    0.4
    """
    attainable_j = baseline_j - bound_j
    # Below this the two differ by rounding only.
    return (baseline_j - job_energy_j) / attainable_j if attainable_j > 1e-9 * baseline_j else None


def _check(runs: pl.DataFrame, baseline: str, keys: list[str]) -> None:
    known = runs["policy"].unique(maintain_order=True).to_list() if "policy" in runs.columns else []
    faults = [("metrics", shown(key), f"one of the columns {listed(runs.columns)}") for key in keys]
    faults = [fault for fault, key in zip(faults, keys, strict=True) if key not in runs.columns]
    if not known:
        faults = [("results", "none", "at least one run")]
    elif baseline not in known:
        faults.append(("baseline", shown(baseline), f"one of {listed(known)}{did_you_mean(baseline, known)}"))
    if faults:
        raise ConfigError(faults)


def _means(runs: pl.DataFrame, keys: list[str]) -> dict[str, dict[str, Any]]:
    means = {}
    for key in keys:
        values = runs[key].cast(pl.Float64).drop_nulls().to_numpy()
        mean, half_width = mean_and_half_width(values) if len(values) else (None, None)
        means[key] = {"runs": len(runs), "mean": mean, "half_width_95": half_width}
    return means


def _ratio(own: dict[str, Any], base: dict[str, Any]) -> dict[str, float | None]:
    if own is base:
        return {"ratio": 1.0 if base["mean"] else None, "ratio_half_width_95": None}
    if own["mean"] is None or not base["mean"]:
        return {"ratio": None, "ratio_half_width_95": None}
    ratio = own["mean"] / base["mean"]
    known = [(mean["half_width_95"], mean["mean"]) for mean in (own, base) if mean["half_width_95"] is not None]
    if not known:
        return {"ratio": ratio, "ratio_half_width_95": None}
    relative = math.hypot(*(half_width / mean if mean else 0.0 for half_width, mean in known))
    return {"ratio": ratio, "ratio_half_width_95": abs(ratio) * relative}
