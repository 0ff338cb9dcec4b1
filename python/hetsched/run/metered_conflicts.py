"""Who stands in whose way: jobs that a schedule puts on nodes which others hold at that time."""

from __future__ import annotations

from typing import Any

import polars as pl

from hetsched.platform import Platform
from hetsched.run.metered_rules import Fault
from hetsched.run.metered_starts import instant

__all__ = ["conflicts"]

_MOST_JOBS = 10
_MOST_RIVALS = 5


def conflicts(told: pl.DataFrame, late: list[int], platform: Platform) -> list[Fault]:
    """A fault for each job, of the first ten, that cannot start as it was told to.

    Parameters
    ----------
    told
        One row a job of the schedule: ``row, job_id``, ``start, end`` (whole microseconds, as it was told), ``nodes``,
        ``need`` (slots on each of them).
    late
        Rows of jobs that found no room when they were to start. Those of them that are late only because another is
        have no fault of their own.
    platform
        The machine.
    """
    per_node = 1 if platform.exclusive else int(platform.slots.min())
    jobs = told.filter(pl.col("row").is_in(late)).sort("start", "row")
    served = told.explode("nodes").filter(pl.col("start") < pl.col("end"))
    found = [_conflict(job, served, per_node) for job in jobs.head(_MOST_JOBS).iter_rows(named=True)]
    return [fault for fault in found if fault is not None]


def _conflict(job: dict[str, Any], served: pl.DataFrame, per_node: int) -> Fault | None:
    """The first node on which a job finds others when it is to start, and too little beside them."""
    at, need = job["start"], job["need"]
    here = served.filter(
        (pl.col("start") <= at) & (pl.col("end") > at) & (pl.col("row") != job["row"]),
        pl.col("nodes").is_in(list(job["nodes"])),
    )
    used = (
        here.group_by("nodes").agg(pl.col("need").sum()).filter(pl.col("need") > per_node - pl.lit(need)).sort("nodes")
    )
    if not len(used):
        return None
    node, taken = used.row(0)
    rivals = here.filter(pl.col("nodes") == node).sort("start", "row")
    names = ", ".join(
        f"job {rival} from {instant(start)} to {instant(end)}"
        for rival, start, end in rivals.head(_MOST_RIVALS).select("job_id", "start", "end").iter_rows()
    )
    more = f" and {len(rivals) - _MOST_RIVALS} more" if len(rivals) > _MOST_RIVALS else ""
    wanted = "a free node" if per_node == 1 else f"{need} free slots there, of which {taken} of {per_node} are taken"
    return (
        f"starts, job {job['job_id']} at {instant(at)}, nodes",
        f"node {node}",
        f"{wanted}: it serves {names}{more}",
    )
