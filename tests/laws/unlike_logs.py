"""Random logs of jobs that ask for one kind of node or another, and what they draw there: for laws of power."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl

APPS = ["calm", "hungry"]
BACKFILLS: list[Any] = ["none", "first-fit", "reservations", {"name": "reservations", "depth": "unbounded"}]
# With a first run of each application, and with a limit on how long jobs wait.
VAHRMS: list[Any] = [
    {"name": "vahrm", "first_run": True, "profiling_ratio": 1.5},
    {"name": "vahrm", "starvation_limit_s": 20},
]
DRAWS_W = st.sampled_from([150.0, 213.0, 300.5, 377.25])


def draws_w(nodes: int) -> st.SearchStrategy[list[list[float]]]:
    """Draw of each application on each node."""
    return st.lists(st.lists(DRAWS_W, min_size=nodes, max_size=nodes), min_size=len(APPS), max_size=len(APPS))


@st.composite
def logs(draw: st.DrawFn, constraints: tuple[str | None, ...], slots: int = 1) -> pl.DataFrame:
    """Up to 15 jobs, each of up to `slots` slots of its nodes and of one of the `constraints`."""
    rows = draw(st.integers(1, 15))

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=rows, max_size=rows))

    return pl.DataFrame(
        {
            "job_id": range(rows),
            "submit_s": np.cumsum(column(st.sampled_from([0.0, 0.0, 1.0, 7.0]))),
            "runtime_s": column(st.integers(0, 40).map(float)),
            "walltime_s": column(st.integers(1, 60).map(float)),
            "node_count": column(st.integers(1, 4)),
            "slots": column(st.integers(1, slots)),
            "app": column(st.sampled_from(APPS)),
            "constraint": pl.Series(column(st.sampled_from(constraints)), dtype=pl.String),
        }
    )
