"""Whether runs that are compared did the same work: energy that undone work did not draw is not saved."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from hetsched.run.lost_work import percent

__all__ = ["PER_WORK", "different_work", "with_energy_per_work"]

PER_WORK = "energy_per_work_j_per_node_s"

_CAUSES = {"killed": "jobs killed before their work was done", "rejected": "jobs rejected"}
"""Why work is not done."""

_ROUNDING = 1e-7
_NEEDED = ("policy", "energy_j", PER_WORK, "timeout", "failed")


def different_work(runs: pl.DataFrame, *, remedy: str | None = None) -> str | None:
    """A sentence or two on policies that did more work than others; None where all did the same, or it is not known.

    Parameters
    ----------
    runs
        As `runs_frame` gives it; of several runs of a policy the mean counts.
    remedy
        The option that gives jobs the time they need on slower nodes, and where it does so.

    Examples
    --------
    >>> runs = pl.DataFrame({"policy": ["fcfs", "easy"], "energy_j": [300.0, 180.0], "timeout": [0, 3],
    ...                      "failed": [0, 0], "energy_per_work_j_per_node_s": [3.0, 3.6]})
    >>> print(different_work(runs))
    the runs did different work: easy did 50 % less than fcfs (jobs killed before their work was done: 3). Energy is \
lower by as much work as was not done: compare energy per work.
    """
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
    """Metrics for runs that did different work: beside the energy, what a node-second of work took.

    Parameters
    ----------
    metrics
        Keys of `hetsched.analysis.METRICS`.

    Examples
    --------
    >>> with_energy_per_work(["energy_j", "mean_wait_s"])
    ['energy_j', 'energy_per_work_j_per_node_s', 'mean_wait_s']
    """
    if "energy_j" not in metrics or PER_WORK in metrics:
        return list(metrics)
    place = metrics.index("energy_j") + 1
    return [*metrics[:place], PER_WORK, *metrics[place:]]
