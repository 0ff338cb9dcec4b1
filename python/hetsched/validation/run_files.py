"""Files of a run for the next command: the log, the machine and the policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.toml import toml
from hetsched.variation.table import VariationTable
from hetsched.workload import Workload
from hetsched.workload.writers.tables import parquet

PLATFORM, POLICY, TRACE, EVENTS = "platform.toml", "policy.toml", "trace.parquet", "events.csv"

Comments = Mapping[str, Sequence[str]]
"""Lines by the place that they stand above; see `hetsched.toml`."""


def run_files(
    workload: Workload, platform: Platform, policy: Policy, comments: Mapping[str, Comments] | None = None
) -> dict[str, bytes]:
    """Contents of ``platform.toml, policy.toml, trace.parquet`` by name; `comments` are those of a file by its name."""
    said = comments or {}
    return {
        PLATFORM: toml(_content(platform), said.get(PLATFORM)).encode(),
        POLICY: toml({"policy": policy.to_dict()}, said.get(POLICY)).encode(),
        TRACE: b"".join(parquet(workload)),
    }


def _content(platform: Platform) -> dict[str, Any]:
    """The platform as plain values; tables by paths that hold in any folder."""

    def table(one: VariationTable) -> Any:
        return one.to_dict() if one.path is None else str(Path(one.path).resolve())

    return platform._as_dict(table)
