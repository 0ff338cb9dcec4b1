"""Memory of a policy as bytes: what it knows that no state of the machine shows, by the names of those it is about."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from hetsched import _core

Numbers: TypeAlias = dict[str, list[int]]
"""Memory as the engine has it: whole numbers by name."""

_OF_APPS, _OF_GROUPS = {"profiled": 1}, {"used": 7}
_OF_JOBS = {"kept": 2, "demand": 4, "joined": 1}
"""Names of numbers that have an application, a group or a job in each row, and the length of their rows."""

_PLACES = {"kept": 1}
"""Place of that in a row, if it is not the first."""

_APPS, _GROUPS, _JOBS = range(3)
_KINDS = (_OF_APPS, _OF_GROUPS, _OF_JOBS)
_ABSENT = -1


class Names:
    """Names of applications, groups and jobs by the numbers that the engine has for them."""

    def __init__(self, apps: Sequence[str], groups: Sequence[str | None], jobs: Sequence[int]) -> None:
        self._names: tuple[Sequence[Any], ...] = (apps, groups, jobs)
        self._numbers = tuple({name: number for number, name in enumerate(names)} for names in self._names)

    def named(self, numbers: Numbers) -> dict[str, list[Any]]:
        """Memory with names in place of the engine's numbers."""
        return {key: self._changed(key, own, lambda kind, one: self._names[kind][one]) for key, own in numbers.items()}

    def numbered(self, memory: Mapping[str, list[Any]]) -> Numbers:
        """Memory as the engine has it; rows about what has no number yet are left out."""

        def number(kind: int, name: Any) -> int:
            return self._numbers[kind].get(name, _ABSENT)

        found = {key: self._changed(key, own, number) for key, own in memory.items()}
        return {key: own for key, own in found.items() if own}

    def unknown(self, memory: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
        """The rows about applications and groups that have no number yet: they may be heard of later."""

        def name(kind: int, one: Any) -> Any:
            return _ABSENT if kind == _JOBS or one in self._numbers[kind] else one

        own = {key: self._changed(key, rows, name) for key, rows in memory.items() if _kind(key)[0] is not None}
        return {key: rows for key, rows in own.items() if rows}

    def _changed(self, key: str, own: list[Any], change: Callable[[int, Any], Any]) -> list[Any]:
        kind, width, place = _kind(key)
        if kind is None:
            return own
        rows = [own[at : at + width] for at in range(0, len(own), width)]
        changed = [[*row[:place], change(kind, row[place]), *row[place + 1 :]] for row in rows]
        return [one for row in changed if row[place] != _ABSENT for one in row]


def _kind(key: str) -> tuple[int | None, int, int]:
    """Kind of the things in a key's rows, the rows' length, and the place in them."""
    name = key.rpartition("/")[2]
    for kind, widths in enumerate(_KINDS):
        if name in widths:
            return kind, widths[name], _PLACES.get(name, 0)
    return None, 0, 0


def bytes_of(memory: Mapping[str, list[Any]]) -> bytes:
    """Memory as bytes, with the version that wrote it."""
    return json.dumps({"version": _core.__version__, "memory": memory}, separators=(",", ":")).encode()


def memory_in(state: bytes | None) -> dict[str, list[Any]] | None:
    """The memory in bytes; None if there is none, or one that another version wrote."""
    if state is None:
        return None
    try:
        values = json.loads(state)
        memory = values["memory"] if values["version"] == _core.__version__ else None
    except (ValueError, KeyError, TypeError):
        return None
    return memory if isinstance(memory, dict) else None


def has_gap(memory: Mapping[str, object]) -> bool:
    """True if a policy knows more than could be kept."""
    return any(key.rpartition("/")[2] == "gap" for key in memory)


def without_jobs(state: bytes | None) -> bytes | None:
    """The same without what is about jobs, for a controller to which they have other numbers."""
    memory = memory_in(state)
    return None if memory is None else bytes_of({key: own for key, own in memory.items() if _kind(key)[0] != _JOBS})
