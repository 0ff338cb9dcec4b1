"""Names of nodes next to their numbers, in the frames of a run on a platform that has names."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl


def with_node_names(jobs: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """The engine's records of jobs with a column ``node_names``."""
    # Numbers into the list of names, not texts: a job of 4,000 nodes has 4,000 of them.
    return jobs.with_columns(node_names=pl.col("nodes").list.eval(pl.element().cat.to(pl.Enum(names))))


def with_node_name(rows: pl.DataFrame, names: Sequence[str] | None) -> pl.DataFrame:
    """Rows that have a ``node`` each with a column ``node_name``, if nodes have names."""
    if names is None:
        return rows
    named = pl.col("node").cast(pl.UInt32).cat.to(pl.Enum(names)).cast(pl.String)
    return rows.with_columns(node_name=named)
