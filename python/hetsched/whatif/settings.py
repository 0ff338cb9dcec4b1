"""Settings: every combination of the values that were asked for, made of today's machine, policy and options."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any

import polars as pl

from hetsched.checks import Faults, shown
from hetsched.errors import ConfigError, Fault
from hetsched.many.axes import unique_name
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.run.options import RunOptions
from hetsched.whatif.keys import OPTIONS, PLATFORM, POLICY, Key, allowed, found_key, keys_of
from hetsched.whatif.policies import Draft
from hetsched.whatif.policies import text_of as part_text
from hetsched.whatif.slurm_lines import fitted

PLACE = "settings"
_MOST_ROWS = 100_000

_Choice = tuple[int, ...]


@dataclass(frozen=True)
class Setting:
    """A row: values by key, as they were given, and what they make of today's."""

    row: int
    given: Mapping[str, Any]
    platform: Platform
    policy: Policy
    options: RunOptions

    @property
    def title(self) -> str:
        """Keys and values in words."""
        return ", ".join(f"{name}={text_of(value)}" for name, value in self.given.items()) or "today"


@dataclass(frozen=True)
class Axis:
    """The values of one key: as it was called, as they were given, and in their plain form."""

    name: str
    key: Key
    given: Sequence[Any]
    values: Sequence[Any]

    def column(self, rows: Sequence[Setting]) -> pl.Series:
        """The values of rows, null where it is not set: numbers where all are."""
        own = [row.given.get(self.name) for row in rows]
        is_number = all(isinstance(value, int | float) and not isinstance(value, bool) for value in self.given)
        if is_number:
            is_whole = all(isinstance(value, int) for value in self.given)
            return pl.Series(self.name, own, dtype=pl.Int64 if is_whole else pl.Float64, strict=False)
        texts = [None if not row.given else text_of(value) for row, value in zip(rows, own, strict=True)]
        return pl.Series(self.name, texts, dtype=pl.String)


def text_of(value: Any) -> str:
    """A value as a table shows it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def axes_of(settings: object, platform: Platform, faults: Faults) -> list[Axis]:
    """The keys and their values; notes unknown keys and invalid values."""
    if not isinstance(settings, Mapping) or not settings:
        found = "none" if isinstance(settings, Mapping) else type(settings).__name__
        faults.note(PLACE, found, "lists of values by key, such as {'nodes': ['+10%']}")
        return []
    platforms = [platform, *_platforms(settings.get("platform"))]
    keys = {name: key for one in platforms for name, key in keys_of(one).items()}
    axes: dict[str, Axis] = {}
    for name, values in settings.items():
        place = f"{PLACE}.{name}"
        key = found_key(str(name), keys)
        if key is None:
            faults.note(PLACE, shown(str(name)), allowed(str(name), keys))
        elif key.name in axes:
            faults.note(place, f"{shown(axes[key.name].name)} as well", "each key once")
        else:
            axes[key.name] = _axis(str(name), key, values, faults)
    if not faults.found and (rows := prod(len(axis.values) for axis in axes.values())) > _MOST_ROWS:
        faults.note(PLACE, f"{rows:,} combinations", f"at most {_MOST_ROWS:,}")
    return list(axes.values())


def _platforms(given: Any) -> list[Platform]:
    """Platforms among the values of a key, whose classes and queues are keys, too."""
    values = given.values() if isinstance(given, Mapping) else given
    return [value for value in values if isinstance(value, Platform)] if isinstance(values, Iterable) else []


def _axis(name: str, key: Key, values: Any, faults: Faults) -> Axis:
    """One key's values; each in its plain form."""
    place = f"{PLACE}.{name}"
    if isinstance(values, str) or not isinstance(values, Mapping | Sequence) or not len(values):
        faults.note(place, "none" if values in ([], (), {}) else shown(values), "a list of values")
        return Axis(name, key, [], [])
    given, plain = list[Any](), list[Any]()
    for value in values.values() if isinstance(values, Mapping) else values:
        own, settled = Faults(), None
        try:
            settled = key.read(value, own)
        except ConfigError as error:
            own.extend(error)
        faults.extend(own, lambda fault: _at(fault, place))
        plain.append(settled)
        is_number = isinstance(settled, int | float) and not isinstance(settled, bool)
        given.append(_label(settled if is_number else value, [text_of(one) for one in given]))
    if isinstance(values, Mapping):
        given = [str(label) for label in values]
    for label in {text_of(one) for one in given if given.count(one) > 1}:
        faults.add(place, label, "each value once")
    return Axis(name, key, given, plain)


def _label(value: Any, taken: Collection[str]) -> Any:
    """A value as rows have it: numbers and texts as they are, objects by a name."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Policy):
        return unique_name(value.name, taken)
    if isinstance(value, Platform):
        return unique_name(f"{value.nodes} nodes", taken)
    if isinstance(value, Mapping) and isinstance(value.get("name"), str):
        return unique_name(part_text(value), taken)
    if isinstance(value, list | tuple) and all(isinstance(one, str | int | float) for one in value):
        return "+".join(text_of(one) for one in value)
    return unique_name(getattr(value, "__name__", type(value).__name__).lower(), taken)


def _at(fault: Fault, place: str) -> Fault:
    """A fault of a value, at the place of its key; a file's, or what is inside of the value, keeps its own path."""
    last = place.rpartition(".")[2]
    inner = fault.path
    for own in (place.removeprefix(f"{PLACE}."), last, PLATFORM, POLICY):
        if fault.is_of(own):
            inner = fault.moved(own, "").path.lstrip(".: ")
            break
    return fault.at(f"{place}: {inner}" if inner else place)


@dataclass
class _Made:
    """Things made of choices of their keys, each once; a faulty one is noted, and is None."""

    axes: Sequence[Axis]
    order: Mapping[str, int]
    faults: Faults
    known: dict[tuple[str, _Choice], Any] = field(default_factory=dict)

    def of(self, thing: str, today: Any, choice: _Choice) -> Any:
        """Today's machine, policy draft or options with a choice of values, by place."""
        own = tuple(place if axis.key.of == thing else -1 for axis, place in zip(self.axes, choice, strict=True))
        if (thing, own) not in self.known:
            self.known[thing, own] = self._changed(today, own)
        return self.known[thing, own]

    def _changed(self, today: Any, choice: _Choice) -> Any:
        chosen = [(axis, place) for axis, place in zip(self.axes, choice, strict=True) if place >= 0]
        for axis, place in sorted(chosen, key=lambda one: self.order[one[0].key.name]):
            with _noted(axis, place, chosen, self.faults) as noting:
                today = axis.key.change(today, axis.values[place])
            if noting.is_faulty:
                return None
        if not isinstance(today, Draft):
            return today
        last = chosen[-1] if chosen else (self.axes[0], 0)
        with _noted(*last, chosen, self.faults) as noting:
            return today.made()
        return None


class _noted:  # noqa: N801 -- reads as the verb it is
    """Note the faults of a combination at the key that made it faulty, each once."""

    def __init__(self, axis: Axis, place: int, chosen: Sequence[tuple[Axis, int]], faults: Faults) -> None:
        self._axis, self._place, self._chosen, self._faults = axis, place, chosen, faults
        self.is_faulty = False

    def __enter__(self) -> _noted:  # noqa: PYI034 -- typing has no Self before Python 3.11
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> bool:
        if not isinstance(error, ConfigError):
            return False
        self.is_faulty = True
        name = self._axis.name
        others = [f"{axis.name}={text_of(axis.given[place])}" for axis, place in self._chosen if axis is not self._axis]
        context = f" (with {', '.join(others)})" if others else ""
        for fault in error.details:
            moved = _at(fault, f"{PLACE}.{name}")
            self._faults.found.append(Fault(moved.path, f"{moved.found}{context}", moved.expected, moved.row))
        return True


def settings_of(
    axes: Sequence[Axis], platform: Platform, policy: Policy, options: RunOptions, faults: Faults
) -> list[Setting]:
    """Today, and every combination of values, the first key changing slowest; notes invalid ones."""
    rows = [Setting(0, {}, platform, policy, options)]
    order = {name: place for place, name in enumerate(keys_of(None))}
    order |= {axis.key.name: _place_of(axis.key.name, order) for axis in axes}
    made = _Made(axes, order, faults)
    for row, choice in enumerate(product(*(range(len(axis.values)) for axis in axes)), start=1):
        own = (
            made.of(PLATFORM, platform, choice),
            made.of(POLICY, Draft(policy), choice),
            made.of(OPTIONS, options, choice),
        )
        if None not in own:
            given = {axis.name: axis.given[place] for axis, place in zip(axes, choice, strict=True)}
            fitting = fitted(own[1], own[0], today=(policy, platform))
            rows.append(Setting(row, given, own[0], fitting, own[2]))
    return rows


def _place_of(name: str, order: Mapping[str, int]) -> int:
    """The place of a key in the order of application; that of any class or queue for those of one."""
    if name in order:
        return order[name]
    group, _, last = name.partition(".")
    place = "CLASS" if group == "node" else "QUEUE"
    return order[f"{group}.{place}.{last.rpartition('.')[2]}"]


def checked(rows: Sequence[Setting], check: Callable[[Setting], None], faults: Faults) -> None:
    """Check the rows, noting what is wrong with each under its title; what is wrong in the same way once."""
    seen: set[tuple[str, str, str]] = set()
    for row in rows:
        for fault in _faults_of(row, check):
            if fault.triple not in seen:
                seen.add(fault.triple)
                faults.found.append(fault.under(f"{PLACE}, {row.title}", ": ") if row.row else fault)


def _faults_of(row: Setting, check: Callable[[Setting], None]) -> Iterator[Fault]:
    try:
        check(row)
    except ConfigError as error:
        yield from error.details
