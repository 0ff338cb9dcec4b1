"""The machine of a bridge: a platform whose nodes are known by Slurm's names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import polars as pl

from hetsched.checks import Faults, shown
from hetsched.platform import Platform
from hetsched.slurm_bridge.applications import Applications
from hetsched.slurm_bridge.picture import Entry, Phase
from hetsched.slurm_bridge.standing import SeenJob

_NODE = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.-]*")
FOREVER_S = 365 * 86_400.0
"""Walltime of jobs without a limit."""


@dataclass(frozen=True)
class BridgeMachine:
    """A platform with the names of its nodes; jobs get whole nodes.

    Raises
    ------
    ConfigError
        If nodes have no names or are shared, or the platform has queues: a bridge steers one partition.
    """

    platform: Platform
    unlimited_s: float = FOREVER_S
    applications: Applications = field(default_factory=Applications)

    def __post_init__(self) -> None:
        faults = Faults("platform")
        if self.platform.node_names is None:
            faults.note("node_names", "none", "Slurm's names; `hetsched slurm platform` writes such a file")
        elif odd := [name for name in self.platform.node_names if not _NODE.fullmatch(name)]:
            faults.note("node_names", shown(odd[0]), "names of letters, digits, `_`, `.` and `-`, as Slurm's are")
        if not self.platform.exclusive:
            faults.note("exclusive", "false", "true: a job gets whole nodes, as OverSubscribe=EXCLUSIVE has it")
        if self.platform.queues is not None:
            faults.note("queue", f"{len(self.platform.queues)}", "none: a bridge steers one partition")
        faults.check()

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the nodes, in order."""
        return self.platform.node_names or ()

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """Nodes by name."""
        return {name: number for number, name in enumerate(self.names)}

    def row(self, job: SeenJob, entry: Entry, now_s: float, app: str | None = None) -> dict[str, object]:
        """A job as a row of a workload."""
        left_s = self.unlimited_s if entry.limit_s is None else entry.limit_s
        if entry.phase is Phase.RUNNING and job.start_s is not None and entry.limit_s is not None:
            # To the controller it begins now, with what is left of its limit.
            left_s -= max(0.0, now_s - job.start_s)
        return {
            "job_id": entry.number,
            "submit_s": float(job.key.submit_s),
            "walltime_s": max(left_s, 1.0),
            "node_count": entry.node_count,
            "user": str(job.key.uid),
            "app": app or self.applications.default(),
        }

    def frame(self, rows: list[dict[str, object]]) -> pl.DataFrame:
        """Rows as the frame of jobs to be added."""
        types = {"job_id": pl.Int64, "submit_s": pl.Float64, "walltime_s": pl.Float64, "node_count": pl.Int64}
        frame = pl.DataFrame(rows, schema={**types, "user": pl.String, "app": pl.String})
        # Without a table there are no applications.
        return frame if self.applications.names else frame.drop("app")
