"""Runs as a table of ratios to those of one policy, with confidence intervals, and whether they did the same work."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.analysis.repetitions import Pairs, by_columns, check_alike, groups, independent, paired
from hetsched.checks import did_you_mean, listed, many, shown
from hetsched.errors import ConfigError, WorkWarning
from hetsched.files import json_sha256
from hetsched.run.concerns import percent
from hetsched.run.metrics import DEFAULT_METRICS, metrics_named
from hetsched.run.result import Result


def student_t_quantile(degrees: int) -> float:
    """The 0.975 quantile of Student's t: half the width of a 95 % confidence interval, in standard errors.

    Parameters
    ----------
    degrees
        Degrees of freedom, at least 1.

    Raises
    ------
    ValueError
        If there are none.

    Examples
    --------
    >>> round(student_t_quantile(4), 6)
    2.776445
    """
    from scipy.special import stdtrit  # noqa: PLC0415 -- slow to load, and only intervals need it

    if degrees < 1:
        raise ValueError(f"{degrees} degrees of freedom")
    return float(stdtrit(degrees, 0.975))


def mean_and_half_width(values: npt.ArrayLike) -> tuple[float, float | None]:
    """A mean, and how far its 95 % confidence interval reaches to either side.

    Parameters
    ----------
    values
        One a run; at least one. Runs count as independent.

    Returns
    -------
    tuple of float and (float or None)
        None where a single run leaves nothing to judge by.

    Examples
    --------
    >>> mean_and_half_width([10.0, 12.0, 14.0])
    (12.0, 4.968...)
    """
    sample = np.asarray(values, dtype=np.float64)
    if len(sample) < 2:
        return float(sample.mean()), None
    error = float(sample.std(ddof=1)) / math.sqrt(len(sample))
    return float(sample.mean()), student_t_quantile(len(sample) - 1) * error


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
    return pl.DataFrame([_row(result) for result in results], infer_schema_length=None)


def _row(result: Result) -> dict[str, Any]:
    return {"policy": result.provenance["policy"]["name"], "seed": result.provenance["seed"], **result.summary()}


def _placed(results: Iterable[Result]) -> pl.DataFrame:
    """`runs_frame` with workload and platform; draws of one generator are one workload under several seeds."""
    rows = [{**_row(result), **_place(result.provenance)} for result in results]
    return pl.DataFrame(rows, infer_schema_length=None)


def _place(provenance: Mapping[str, Any]) -> dict[str, str]:
    trace, report = provenance["trace"], provenance["report"]
    drawn = {name: value for name, value in report.get("parameters", {}).items() if name != "seed"}
    kind = json_sha256([report["generator"], drawn, trace["history"][1:]]) if "generator" in report else trace["sha256"]
    nodes = many(provenance["platform"]["nodes"], "node")
    return {
        "workload": f"{trace['name']} {kind[:12]}",
        "platform": f"{nodes} {provenance['platform']['sha256'][:12]}",
        "seed": f"{report.get('seed')} {provenance['seed']}",
    }


def ratios_to_baseline(
    results: Iterable[Result] | pl.DataFrame,
    *,
    baseline: str,
    metrics: Sequence[str] = DEFAULT_METRICS,
    by: str | Sequence[str] = (),
) -> pl.DataFrame:
    """Each policy's metrics, and their ratios to a baseline's.

    Runs of one policy under several seeds, or on workloads that repeat one another, are averaged, with 95 % confidence
    intervals by Student's t. A ratio is the ratio of the two means. Its interval comes by linear propagation from the
    differences between runs of one workload, platform and seed where both policies have the same of these, and else
    from both means, taken as independent.

    Workloads whose offered loads or numbers of jobs differ by more than a tenth are no repetitions, and are refused:
    their mean says nothing. Draws of one generator, a workload a seed, are taken whatever their loads. Where several
    workloads were each run under the same seeds, a repetition is a workload, and its value the mean over its seeds.

    Parameters
    ----------
    results
        Results, or a frame as `runs_frame` or `hetsched.sweep` gives it: a row a run, with ``policy``, where there are
        several ``workload``, ``platform`` and ``seed``, and the metrics as columns.
    baseline
        The policy whose ratios are 1.
    metrics
        Keys of `Result.summary`. Where ``energy_j`` is among them and the runs did different work, so is
        ``energy_per_work_j_per_node_s``, whether asked for or not.
    by
        Columns, such as ``"workload"``: runs that differ in them are compared apart, and the columns stand before those
        of the table.

    Returns
    -------
    polars.DataFrame
        One row a policy and metric, policies in the order in which they first come: ``policy, metric, runs, mean,
        half_width_95`` (null for a single run) ``, ratio`` (null where the baseline's mean is 0 or nothing is known)
        ``, ratio_half_width_95`` (null where neither mean has an interval).

    Raises
    ------
    ConfigError
        If there are no runs, none of them is the baseline's, or a metric is unknown; if runs of one policy are on
        workloads or platforms of different load.

    Warns
    -----
    WorkWarning
        If the runs did different work, for example because slower nodes made more jobs run into their walltimes.

    Examples
    --------
    >>> runs = pl.DataFrame({"policy": ["fcfs", "easy"], "mean_wait_s": [200.0, 50.0]})
    >>> ratios_to_baseline(runs, baseline="fcfs", metrics=["mean_wait_s"]).select("policy", "mean", "ratio").rows()
    [('fcfs', 200.0, 1.0), ('easy', 50.0, 0.25)]
    """
    runs, metrics = results if isinstance(results, pl.DataFrame) else _placed(results), list(metrics)
    if not by:
        return table_of(runs, baseline, metrics, stacklevel=3)
    names = by_columns(by, runs)
    tables = [
        table_of(own, baseline, metrics, stacklevel=3).select(
            *(pl.lit(value, runs.schema[name]).alias(name) for name, value in zip(names, values, strict=True)),
            pl.all(),
        )
        for values, own in groups(runs, names)
    ]
    return pl.concat(tables) if tables else table_of(runs, baseline, metrics)


def table_of(runs: pl.DataFrame, baseline: str, metrics: Sequence[str], *, stacklevel: int = 4) -> pl.DataFrame:
    """`ratios_to_baseline` of a frame of runs; warns the caller that many frames up."""
    keys = [metric.key for metric in metrics_named(metrics)]
    _check(runs, baseline, keys)
    check_alike(runs)
    if text := different_work(runs, remedy=_REMEDY):
        warnings.warn(text, WorkWarning, stacklevel=stacklevel)
        keys = with_energy_per_work(keys)
    policies = runs["policy"].unique(maintain_order=True).to_list()
    counts: dict[str, int] = dict(runs["policy"].value_counts().rows())
    rows_of, units = independent(runs)
    own = {policy: rows_of.filter(pl.col("policy") == policy) for policy in policies}
    means = {policy: _means(own[policy], keys, counts[policy]) for policy in policies}
    rows = [
        {
            "policy": policy,
            "metric": key,
            **means[policy][key],
            **_ratio(means[policy][key], means[baseline][key], paired(own[policy], own[baseline], units, key)),
        }
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


def _means(runs: pl.DataFrame, keys: list[str], count: int) -> dict[str, dict[str, Any]]:
    means = {}
    for key in keys:
        values = runs[key].cast(pl.Float64).drop_nulls().to_numpy()
        mean, half_width = mean_and_half_width(values) if len(values) else (None, None)
        means[key] = {"runs": count, "mean": mean, "half_width_95": half_width}
    return means


def _ratio(own: dict[str, Any], base: dict[str, Any], pairs: Pairs | None) -> dict[str, float | None]:
    if own is base:
        return {"ratio": 1.0 if base["mean"] else None, "ratio_half_width_95": None}
    if own["mean"] is None or not base["mean"]:
        return {"ratio": None, "ratio_half_width_95": None}
    ratio = own["mean"] / base["mean"]
    if pairs is not None:
        residual = (pairs[0] - ratio * pairs[1]) / abs(base["mean"])
        error = float(residual.std(ddof=1)) / math.sqrt(len(residual))
        return {"ratio": ratio, "ratio_half_width_95": student_t_quantile(len(residual) - 1) * error}
    known = [(mean["half_width_95"], mean["mean"]) for mean in (own, base) if mean["half_width_95"] is not None]
    if not known:
        return {"ratio": ratio, "ratio_half_width_95": None}
    relative = math.hypot(*(half_width / mean if mean else 0.0 for half_width, mean in known))
    return {"ratio": ratio, "ratio_half_width_95": abs(ratio) * relative}


PER_WORK = "energy_per_work_j_per_node_s"

_CAUSES = {"killed": "jobs killed before their work was done", "rejected": "jobs rejected"}
"""Causes of work that is not done."""

_ROUNDING = 1e-7
_NEEDED = ("policy", "energy_j", PER_WORK, "timeout", "failed")


def different_work(runs: pl.DataFrame, *, remedy: str | None = None) -> str | None:
    """A sentence or two on policies that did more work than others; None where all did the same, or it is not known."""
    if not set(_NEEDED) <= set(runs.columns):
        return None
    done = _done_node_s(runs)
    if done is None:
        return None
    least, most = done.row(0, named=True), done.row(-1, named=True)
    if most["done"] - least["done"] <= _ROUNDING * most["done"]:
        return None
    why = [f"{said}: {least[cause]:,g}" for cause, said in _CAUSES.items() if least[cause] > most[cause]]
    causes = f" ({'; '.join(why)})" if why else ""
    help_ = f"; {remedy}" if remedy is not None and least["killed"] > most["killed"] else ""
    return (
        f"the runs did different work: {least['policy']} did {percent(1 - least['done'] / most['done'])} less than "
        f"{most['policy']}{causes}. Energy is lower by as much work as was not done: compare energy per work{help_}."
    )


def _done_node_s(runs: pl.DataFrame) -> pl.DataFrame | None:
    """Each policy's completed nominal node-seconds and its jobs by cause, the least work first; None if not known."""
    energy_j, per_work = pl.col("energy_j"), pl.col(PER_WORK)
    done = pl.when(per_work.is_null()).then(0.0).when(per_work > 0).then(energy_j / per_work)
    rejected = pl.col("rejected") if "rejected" in runs.columns else pl.lit(0)
    own = runs.with_columns(done=done, killed=pl.col("timeout") + pl.col("failed"), rejected=rejected)
    if own["done"].null_count():
        return None
    means = own.group_by("policy", maintain_order=True).agg(pl.col("done", *_CAUSES).mean())
    return means.sort("done", maintain_order=True)


def with_energy_per_work(metrics: Sequence[str]) -> list[str]:
    """Metrics for runs that did different work: next to the energy, what a node-second of work took."""
    if "energy_j" not in metrics or PER_WORK in metrics:
        return list(metrics)
    place = metrics.index("energy_j") + 1
    return [*metrics[:place], PER_WORK, *metrics[place:]]
