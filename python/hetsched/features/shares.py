"""Groups of jobs, for orders that share the machine between users or accounts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.errors import ResultWarning
from hetsched.policy import Policy
from hetsched.run.concerns import Concern
from hetsched.workload import Workload


def groups_of(workload: Workload, policy: Policy) -> npt.NDArray[np.uint32] | None:
    """The number of each job's group, 0 where it is unknown; None unless the policy shares the machine.

    Groups are numbered as they come, so that jobs that are added to a session leave the others their numbers.
    """
    column = _column(policy)
    if column is None:
        return None
    frame = workload.to_polars()
    if column not in frame.columns:
        return np.zeros(len(frame), dtype=np.uint32)
    names = frame.select(column).drop_nulls().unique(maintain_order=True).with_row_index("group", offset=1)
    groups = frame.select(column).join(names, on=column, how="left", maintain_order="left")["group"]
    return groups.fill_null(0).cast(pl.UInt32).to_numpy()


def concerns_of_shares(workload: Workload, policy: Policy) -> Iterator[Concern]:
    """Concern that no job names the group it belongs to."""
    column, frame = _column(policy), workload.to_polars()
    if column is None or (column in frame.columns and frame[column].null_count() < len(frame)) or frame.is_empty():
        return
    found = f"no job names its {column}, so all have one share and stand in order of submission"
    advice = "give the column, or share by something else (order.by)"
    yield Concern(ResultWarning, f"order fair-share by {column}", found, advice)


def _column(policy: Policy) -> str | None:
    """Column of the jobs by which an order of the policy shares the machine."""
    order = policy.parts["order"]
    return str(order["by"]) if order is not None and "groups" in policy.needs else None
