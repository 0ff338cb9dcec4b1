"""Records of live runs: frozen dataclasses that are JSON objects with a `kind`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar, Self, get_args, get_type_hints

from hetsched.errors import LiveError

_EDGE = re.compile(r"(?<=[a-z])(?=[A-Z])")

_TYPES: dict[type, dict[str, Any]] = {}
"""Types of fields by class, once they are known."""


class Record:
    """Base of notices and decisions."""

    kind: ClassVar[str]
    """Name of the record in JSON: that of its class in snake case."""

    def __init_subclass__(cls) -> None:
        cls.kind = _EDGE.sub("_", cls.__name__).lower()

    def to_json(self) -> dict[str, Any]:
        """Object of the record in JSON: ``kind``, and every field that is not None."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        made = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
        return {"kind": self.kind, **{name: value for name, value in made.items() if value is not None}}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Record of an object in JSON.

        Raises
        ------
        LiveError
            If a field is missing, unknown, or of another type.
        """
        types, made = _types(cls), {name: value for name, value in values.items() if name != "kind"}
        if unknown := sorted(made.keys() - types.keys()):
            raise LiveError(f"{cls.kind}: found a field `{unknown[0]}`, expected {', '.join(types)}")
        for name, value in made.items():
            made[name] = _checked(f"{cls.kind}.{name}", value, types[name])
        try:
            return cls(**made)
        except TypeError:
            missing = [field.name for field in fields(cls) if field.name not in made]  # type: ignore[arg-type]
            raise LiveError(f"{cls.kind}: found no `{missing[0]}`, expected {', '.join(types)}") from None


def _types(cls: type[Record]) -> dict[str, Any]:
    if cls not in _TYPES:
        hints = get_type_hints(cls)
        _TYPES[cls] = {field.name: hints[field.name] for field in fields(cls)}  # type: ignore[arg-type]
    return _TYPES[cls]


def _checked(place: str, value: Any, kind: Any) -> Any:
    allowed = get_args(kind) if type(None) in get_args(kind) else (kind,)
    if value is None and type(None) in allowed:
        return None
    expected = allowed[0]
    if expected is int and type(value) is int:
        return value
    if expected is float and type(value) in (int, float):
        return float(value)
    if expected is str and isinstance(value, str):
        return value
    if get_args(expected) and isinstance(value, list) and all(type(item) is int for item in value):
        return tuple(value)
    names = {int: "an integer", float: "a number", str: "text"}
    raise LiveError(f"{place}: found `{value!r}`, expected {names.get(expected, 'a list of integers')}")


def record_of(values: object, kinds: Mapping[str, type[Record]], what: str) -> Record:
    """Record of one of these kinds that a JSON object is.

    Raises
    ------
    LiveError
        If it is no object, of none of the kinds, or has an invalid field.
    """
    if not isinstance(values, dict) or not isinstance(kind := values.get("kind"), str) or kind not in kinds:
        found = values.get("kind") if isinstance(values, dict) else values
        raise LiveError(f"{what}: found `{found!r}`, expected an object whose `kind` is one of {', '.join(kinds)}")
    return kinds[kind].from_json(values)
