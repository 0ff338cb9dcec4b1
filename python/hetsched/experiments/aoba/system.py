"""AOBA: its nodes, queues and settings of sleep, and the measures of every run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import polars as pl

from hetsched.analysis import gaps
from hetsched.experiments.experiment import Parameters
from hetsched.features.bound import gap_metrics
from hetsched.platform import Platform
from hetsched.run.result import Result

SOURCE = "Ohmura et al., Building a Digital Twin of Job Scheduling and Power Management on an HPC System"
UNDISCLOSED = "its log is not public, the jobs here are drawn"

SINGLE = ("sxf", "sxl")
"""Queues of the four nodes that can be lent."""

PARALLEL = ("sxmix_s", "sx_s", "sx_m", "sx_l")
QUEUES = (*SINGLE, *PARALLEL)
USED = 62
"""Nodes in queues; those above serve specific users, whose jobs are not drawn."""

PRESET = "nqsv"
MWH = 3.6e9

P = Parameters()
"""Parameters of all of AOBA's experiments: what the paper prints of the machine, and what it does not."""

P.printed("nodes", 72, f"8 vector engines each, {USED} of them in queues")
P.printed("idle_w", 600, "measured")
P.printed("busy_w", 2100, "measured, of a job that vectorizes well; an engine's share where several jobs use a node")
P.printed("boot_s", 60, "measured; plans allow 1200")
P.printed("shutdown_s", 120, "measured; plans allow 600")
P.assumed("off_w", 0, "power supply off")
P.assumed("boot_w", 600, "and while shutting down: as idle")
P.assumed("queue_nodes", "sxf and sxl on 0-3, others on 4-61", "counts as in section 6.3")
SETTINGS = P.printed(
    "settings",
    {
        "A": f"{PRESET}:sleep=none",
        "AOBA": PRESET,
        "B": f"{PRESET}:min_idle_s=3600",
        "C": f"{PRESET}:min_idle_s=10800",
        "D": f"{PRESET}:off_limit_per_day=200",
        "E": f"{PRESET}:estimated_off_s=1800",
        "F": f"{PRESET}:estimated_off_s=7200",
    },
    "table 3",
)
"""Table 3 of the paper; A does not switch nodes off."""

P.assumed(
    "jobs_drawn", "hetsched.workload.aoba", "shares of queues, sizes, run lengths, hours, walltimes: its docstring"
)
P.assumed("urgent", "none", "the study has none")


@cache
def machine() -> Platform:
    """AOBA as it comes with hetsched, without the queue of urgent jobs."""
    return with_nodes({})


def with_nodes(nodes: Mapping[str, str]) -> Platform:
    """AOBA with queues on other nodes."""
    own = Platform.shipped("aoba")
    assert own.queues is not None
    named = [queue for queue in own.queues if queue.name in QUEUES]
    moved = [replace(queue, nodes=nodes[queue.name]) if queue.name in nodes else queue for queue in named]
    return Platform(own.classes, exclusive=own.exclusive, queues=moved)


def measured(result: Result) -> dict[str, Any]:
    """Energy of nodes in queues and of the others, boots, the attained share of sleep's saving, and waits by queue."""
    nodes = result.nodes
    used = nodes.filter(pl.col("node") < USED)
    used_j, all_j = (float(own["energy_j"].to_numpy().sum()) for own in (used, nodes))
    waits = dict(result.jobs.group_by("queue").agg(pl.col("wait_s").mean()).rows())
    days = result.summary()["makespan_s"] / 86_400.0
    return {
        "used_energy_j": used_j,
        "spare_energy_j": all_j - used_j,
        "boots_a_day": float(used["boots"].sum()) / days,
        "attained_percent": attained_percent(result),
        **{f"wait_{queue}": waits.get(queue) for queue in QUEUES},
    }


def attained_percent(result: Result) -> float:
    """Share of the saving that sleep could attain between this run's jobs, of nodes in queues, percent."""
    ratio = gap_metrics(gaps(result, machine()).filter(pl.col("node") < USED))["sleep_attained_ratio"]
    assert ratio is not None
    return 100.0 * ratio
