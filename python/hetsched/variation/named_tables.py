"""The tables that a platform's dictionary or file names, and which power cap's rows it wants of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hetsched.checks import Faults
from hetsched.errors import ConfigError
from hetsched.variation.checks import checked_cap
from hetsched.variation.table import VariationTable

__all__ = ["TABLES", "named_table", "wanted_cap"]

TABLES = ("actual", "predicted")
"""Keys of a platform that stand for tables."""


def wanted_cap(data: Mapping[str, Any], faults: Faults) -> float | None:
    """The cap whose rows to take, if one is asked for.

    Parameters
    ----------
    data
        A platform's keys.
    faults
        Notes a cap that cannot be, or one without the file of a table.

    Examples
    --------
    >>> wanted_cap({"actual": "draws.csv", "cap_w": 280}, Faults())
    280.0
    """
    if "cap_w" in data and not any(isinstance(data.get(name), str | Path) for name in TABLES):
        faults.add("cap_w", data["cap_w"], "nothing without the file of a table as `actual` or `predicted`")
        return None
    return checked_cap(data.get("cap_w"), faults)


def named_table(given: Any, name: str, folder: Path, cap_w: float | None, faults: Faults) -> VariationTable | None:
    """The table that a key stands for.

    Parameters
    ----------
    given
        A file's path, or a table's content.
    name
        The key.
    folder
        What the path is relative to.
    cap_w
        The cap whose rows to take of a file. None: the only one there is, if any.
    faults
        Notes what is wrong with it; then None is given.
    """
    try:
        if isinstance(given, str | Path):
            return VariationTable.read(folder / given, cap_w=cap_w)
        if isinstance(given, Mapping):
            return VariationTable.from_dict(given, path=name)
    except ConfigError as error:
        own, hint = f"{folder / str(given)}.cap_w", f"; as the key `cap_w` beside `{name}`"
        faults.extend(error, lambda fault: fault.hinting(hint) if fault.place == own else fault)
        return None
    faults.add(name, given, "the path of a table's file, or a table's content")
    return None
