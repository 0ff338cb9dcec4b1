"""The machine and the jobs of AOBA's experiments, and what is measured in every run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from hetsched.analysis import node_states
from hetsched.experiments.experiment import Parameter, assumed, printed
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
SETTINGS = {
    "A": f"{PRESET}:sleep=none",
    "AOBA": PRESET,
    "B": f"{PRESET}:min_idle_s=3600",
    "C": f"{PRESET}:min_idle_s=10800",
    "D": f"{PRESET}:off_limit_per_day=200",
    "E": f"{PRESET}:estimated_off_s=1800",
    "F": f"{PRESET}:estimated_off_s=7200",
}
"""Table 3 of the paper; A does not switch nodes off."""

MWH = 3.6e9

PARAMETERS: tuple[Parameter, ...] = (
    printed("nodes", 72, "8 vector engines each, 62 of them in queues"),
    printed("idle_w", 600, "measured"),
    printed("busy_w", 2100, "measured, of a job that vectorizes well; an engine's share where several jobs use a node"),
    printed("boot_s", 60, "measured; plans allow 1200"),
    printed("shutdown_s", 120, "measured; plans allow 600"),
    assumed("off_w", 0, "power supply off"),
    assumed("boot_w", 600, "and while shutting down: as idle"),
    assumed("queue_nodes", "sxf and sxl on 0-3, others on 4-61", "counts as in section 6.3"),
    printed("settings", dict(SETTINGS), "table 3"),
    assumed(
        "jobs_drawn", "hetsched.workload.aoba", "shares of queues, sizes, run lengths, hours, walltimes: its docstring"
    ),
    assumed("urgent", "none", "the study has none"),
)
"""Common to all: what the paper prints of the machine, and what it does not."""


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
    """Energy of nodes in queues and of the others, boots, what sleeping attained, and waits by queue."""
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
    """Share of what sleeping could save of nodes in queues between this run's jobs, and did.

    Each gap between jobs costs at best what idling or what sleeping through it does; the run's end may find nodes off.
    """
    (own,) = machine().classes
    idle_w, boot_w, stop_w, off_w, boot_s, stop_s = (
        float(own.per_node(name)[0]) for name in ("idle_w", "boot_w", "shutdown_w", "off_w", "boot_s", "shutdown_s")
    )
    states = node_states(result).filter(pl.col("node") < USED)
    gap = pl.struct("node", pl.col("state") == "busy").rle_id()
    gaps = states.with_columns(gap=gap).filter(pl.col("state") != "busy")
    length = gaps.group_by("gap", maintain_order=True).agg(
        seconds=pl.col("end_s").max() - pl.col("start_s").min(), end_s=pl.col("end_s").max()
    )
    seconds, is_last = length["seconds"].to_numpy(), (length["end_s"] == states["end_s"].max()).to_numpy()
    through_j = np.where(
        is_last,
        stop_w * np.minimum(seconds, stop_s) + off_w * np.maximum(0.0, seconds - stop_s),
        np.where(
            seconds >= stop_s + boot_s,
            stop_w * stop_s + boot_w * boot_s + off_w * (seconds - stop_s - boot_s),
            np.inf,
        ),
    )
    # Booting and shutting down draw what idle nodes do.
    assert idle_w == boot_w == stop_w
    on_s = gaps.filter(pl.col("state") != "off").select((pl.col("end_s") - pl.col("start_s")).sum()).item()
    idle_j, least_j = idle_w * seconds.sum(), np.minimum(idle_w * seconds, through_j).sum()
    drawn_j = idle_w * on_s + own.off_w * (seconds.sum() - on_s)
    return float(100.0 * (idle_j - drawn_j) / (idle_j - least_j))
