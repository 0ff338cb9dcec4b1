"""Values of Slurm's files: whole numbers, host lists, times and limits, each noted at its line if it does not read."""

from __future__ import annotations

import re

from hetsched.checks import Faults
from hetsched.hostlists import HostListError, expanded
from hetsched.slurm_files.records import Record, Value

UNLIMITED = {"UNLIMITED", "INFINITE", "PARTITION_LIMIT", "NOT_SET", "NONE", "N/A", "-1"}
"""Words for no limit, in capitals."""

_LARGEST = 2**31 - 1

_TIMES = (
    (r"([0-9]+)", (60,)),
    (r"([0-9]+):([0-9]+)", (60, 1)),
    (r"([0-9]+):([0-9]+):([0-9]+)", (3600, 60, 1)),
    (r"([0-9]+)-([0-9]+)", (86400, 3600)),
    (r"([0-9]+)-([0-9]+):([0-9]+)", (86400, 3600, 60)),
    (r"([0-9]+)-([0-9]+):([0-9]+):([0-9]+)", (86400, 3600, 60, 1)),
)

A_TIME = "minutes, or a time such as 1-12:00:00"


def host_names(value: Value, faults: Faults) -> list[str]:
    """A host list's names; none if it does not read, which is noted."""
    try:
        return expanded(re.sub(r"\s+", ",", (value.text or "").strip()))
    except HostListError as error:
        faults.note(value.place, error.found, error.expected)
        return []


def whole(record: Record, key: str, faults: Faults, *, high: int = _LARGEST) -> int | None:
    """A whole number; None if there is none, or if it is no number, which is noted."""
    value = record.value(key)
    if value is None or value.text is None:
        return None
    if not (value.text.isascii() and value.text.isdecimal() and len(value.text) < 20 and int(value.text) <= high):
        faults.add(value.place, value.text, f"a whole number up to {high}")
        return None
    return int(value.text)


def whole_or(record: Record, key: str, faults: Faults, *, absent: int) -> int:
    """The same, `absent` where there is none."""
    number = whole(record, key, faults)
    return absent if number is None else number


def seconds_of(text: str) -> int | None:
    """A time in Slurm's grammar, minutes where it is one number; None if it is no time."""
    for pattern, weights in _TIMES:
        found = re.fullmatch(pattern, text, re.ASCII) if len(text) <= 30 else None
        if found is not None:
            return sum(int(part) * weight for part, weight in zip(found.groups(), weights, strict=True))
    return None


def limit_s(value: Value | None, faults: Faults) -> float | None:
    """A limit in seconds; None: no limit."""
    if value is None or value.text is None or value.text.upper() in UNLIMITED:
        return None
    if (seconds := seconds_of(value.text)) is not None:
        return float(seconds) or None
    faults.add(value.place, value.text, f"{A_TIME}, or UNLIMITED")
    return None
