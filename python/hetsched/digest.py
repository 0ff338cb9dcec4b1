"""Fingerprints of tables: the same names, types and values give the same sha256, wherever they came from."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Protocol

import polars as pl


class _Hash(Protocol):
    def update(self, data: Any, /) -> None: ...


def frame_sha256(frame: pl.DataFrame) -> str:
    """Sha256 over a frame's column names, types and values, in order; chunks and paths play no part."""
    digest = hashlib.sha256()
    for series in frame.get_columns():
        digest.update(f"{series.name}\0{series.dtype}\0{len(series)}\0".encode())
        _add_values(digest, series)
    return digest.hexdigest()


def json_sha256(value: object) -> str:
    """Sha256 of a value's canonical JSON: keys sorted, no spaces, numbers in their shortest exact form."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _add_values(digest: _Hash, series: pl.Series) -> None:
    if series.null_count():
        digest.update(series.is_null().cast(pl.UInt8).to_numpy())
    dtype = series.dtype
    if isinstance(dtype, pl.List | pl.Array):
        lists = series.cast(pl.List(dtype.inner))
        digest.update(lists.list.len().fill_null(0).cast(pl.UInt32).to_numpy())
        _add_values(digest, lists.explode(empty_as_null=False, keep_nulls=False))
    elif isinstance(dtype, pl.Struct):
        for field in series.struct.fields:
            _add_values(digest, series.struct.field(field))
    elif dtype == pl.Binary:
        digest.update(series.fill_null(b"").bin.size().cast(pl.UInt32).to_numpy())
        digest.update(b"".join(series.drop_nulls().to_list()))
    elif isinstance(dtype, pl.String | pl.Categorical | pl.Enum | pl.Decimal):
        text = series.cast(pl.String).fill_null("")
        digest.update(text.str.len_bytes().cast(pl.UInt32).to_numpy())
        digest.update(text.str.join("").item().encode() if len(text) else b"")
    elif dtype != pl.Null:
        numbers = series.cast(pl.UInt8) if dtype == pl.Boolean else series.to_physical()
        digest.update(numbers.fill_null(0).rechunk().to_numpy())
