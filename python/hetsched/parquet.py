"""Parquet files from anywhere: what they claim is held against what they are before polars believes it.

Polars takes memory for as many values as a file says it has. Where damage has made that a number beyond all memory the
interpreter ends, without an error that could be caught. So the sizes in the footer and before each page are read here
first; the format is Parquet's thrift definition, in thrift's compact protocol.
"""

from __future__ import annotations

import os
from typing import Any

import polars as pl

__all__ = ["DamagedParquetError", "read_parquet"]

_MARK = b"PAR1"
_DEEPEST = 40
_VARINT_BYTES = 10

# Thrift's compact types, and the fields of Parquet's structs that are looked at.
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_SCHEMA, _ROWS, _ROW_GROUPS, _SCHEMA_CHILDREN = 2, 3, 4, 5
_GROUP_COLUMNS, _GROUP_ROWS, _COLUMN_META = 1, 3, 3
_TYPE, _VALUES, _UNPACKED, _PACKED, _DATA_AT, _DICTIONARY_AT = 1, 5, 6, 7, 9, 11
_PAGE_UNPACKED, _PAGE_PACKED, _PAGE_V1, _PAGE_DICTIONARY, _PAGE_V2 = 2, 3, 5, 7, 8
_BYTES_OF_TYPE = {0: 0.125, 1: 4, 2: 8, 3: 12, 4: 4, 5: 8, 6: 16, 7: 1}

Struct = dict[int, Any]


class DamagedParquetError(ValueError):
    """A file says of itself what cannot be."""


def read_parquet(data: bytes) -> pl.DataFrame:
    """A frame of a Parquet file's rows.

    Parameters
    ----------
    data
        The file.

    Raises
    ------
    DamagedParquetError
        If it claims to hold what it cannot, or more than memory can.
    polars.exceptions.PolarsError
        If it is no Parquet file in another way.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> pl.DataFrame({"app": ["hpcg"], "node": [0]}).write_parquet(file)
    >>> read_parquet(file.getvalue()).rows()
    [('hpcg', 0)]
    """
    # What does not look like one at all is for polars to tell.
    if len(data) >= 12 and data[-4:] == _MARK:
        try:
            _check(data)
        except (LookupError, TypeError, AttributeError):
            raise DamagedParquetError("damaged inside") from None
    return pl.read_parquet(data)


def _check(data: bytes) -> None:
    end = len(data) - 8
    start = end - int.from_bytes(data[end : end + 4], "little")
    _hold(start >= 4, "a footer longer than the file")
    footer, _ = _struct(memoryview(data)[:end], start)
    _hold(all(0 <= one.get(_SCHEMA_CHILDREN, 0) <= len(footer[_SCHEMA]) for one in footer[_SCHEMA]), "a schema")
    groups = footer[_ROW_GROUPS]
    _hold(all(group[_GROUP_ROWS] >= 0 for group in groups), "fewer than no rows")
    _hold(sum(group[_GROUP_ROWS] for group in groups) == footer[_ROWS], "another number of rows than its parts")
    columns = [column[_COLUMN_META] for group in groups for column in group[_GROUP_COLUMNS]]
    _hold(all(column[_VALUES] >= 0 for column in columns), "fewer than no values")
    unpacked = sum(_BYTES_OF_TYPE[column[_TYPE]] * column[_VALUES] for column in columns)
    _hold(max(unpacked, footer[_ROWS] * 0.125) <= _memory(), "more values than memory can hold")
    body = memoryview(data)[:start]
    for column in columns:
        _check_pages(body, column)


def _check_pages(data: memoryview, column: Struct) -> None:
    """Hold every page of a column's part to the part and to the file."""
    place: int = column[_DICTIONARY_AT if _DICTIONARY_AT in column else _DATA_AT]
    end = place + column[_PACKED]
    _hold(0 <= place <= end <= len(data), "columns outside of the file")
    seen, most = 0, column[_VALUES]
    while place < end and (seen < most or not seen):
        page, place = _struct(data, place)
        place += page[_PAGE_PACKED]
        counted = [page[kind][1] for kind in (_PAGE_V1, _PAGE_V2) if kind in page] or [0]
        _hold(page[_PAGE_PACKED] >= 0 and page[_PAGE_UNPACKED] >= 0 and place <= end, "pages outside of their columns")
        _hold(min(counted) >= 0 and max(counted) <= most - seen, "pages of more values than their columns")
        in_dictionary = page.get(_PAGE_DICTIONARY, {1: 0})[1]
        _hold(0 <= in_dictionary <= page[_PAGE_UNPACKED], "a dictionary of more values than bytes")
        seen += max(counted)


def _hold(is_so: bool, otherwise: str) -> None:
    if not is_so:
        raise DamagedParquetError(f"damaged inside: it claims {otherwise}")


def _memory() -> int:
    """Bytes of memory that the machine has."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _struct(data: memoryview, place: int, depth: int = 0) -> tuple[Struct, int]:
    """A struct and where it ends: its fields by their numbers."""
    _hold(depth < _DEEPEST, "a struct in a struct without end")
    found: Struct = {}
    field = 0
    while head := data[place]:
        place += 1
        kind = head & 15
        if head >> 4:
            field += head >> 4
        else:
            field, place = _whole(data, place)
        if kind in (_TRUE, _FALSE):
            found[field] = kind == _TRUE
        else:
            found[field], place = _value(data, place, kind, depth)
    return found, place + 1


def _value(data: memoryview, place: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind == _STRUCT:
        return _struct(data, place, depth + 1)
    if kind in (_I16, _I32, _I64):
        return _whole(data, place)
    if kind == _BINARY:
        size, place = _varint(data, place)
        _hold(place + size <= len(data), "text beyond its end")
        return data[place : place + size], place + size
    if kind in (_LIST, _SET):
        return _list(data, place, depth)
    _hold(kind in (_TRUE, _FALSE, _BYTE, _DOUBLE), f"a value of the type {kind}, which there is not")
    size = 8 if kind == _DOUBLE else 1
    return data[place : place + size], place + size


def _list(data: memoryview, place: int, depth: int) -> tuple[list[Any], int]:
    _hold(depth < _DEEPEST, "a list in a list without end")
    size, kind = data[place] >> 4, data[place] & 15
    place += 1
    if size == 15:
        size, place = _varint(data, place)
    _hold(place + size <= len(data), "a list beyond its end")
    found = []
    for _ in range(size):
        value, place = _value(data, place, kind, depth + 1)
        found.append(value)
    return found, place


def _whole(data: memoryview, place: int) -> tuple[int, int]:
    number, place = _varint(data, place)
    return number >> 1 ^ -(number & 1), place


def _varint(data: memoryview, place: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[place]
        place += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, place
        shift += 7
        _hold(shift < 7 * _VARINT_BYTES, "a number without end")
