"""Users, accounts and queues of the jobs, which objects in a policy's roles may read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.features.feature import Setting


def engine(run: Setting) -> Mapping[str, Any]:
    """Codes and names of the labels there are."""
    frame = run.workload.to_polars()
    columns = {"users": "user", "accounts": "account", "queues": "queue"}
    return {name: _codes(frame[column]) for name, column in columns.items() if column in frame.columns}


def _codes(column: pl.Series) -> tuple[npt.NDArray[np.int64], list[str]]:
    """Labels as codes, -1 where there is none, and their names."""
    names = column.drop_nulls().unique().sort()
    codes = column.cast(pl.Enum(names)).to_physical().cast(pl.Int64).fill_null(-1)
    return codes.to_numpy(), names.to_list()
