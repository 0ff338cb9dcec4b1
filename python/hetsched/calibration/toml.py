"""Plain values as TOML, which the standard library reads and does not write."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml(data: Mapping[str, Any]) -> str:
    """A file with these values; a value of None is left out."""
    return "\n".join(_table(data, ())).strip() + "\n"


def _table(data: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    """Plain values first, then tables, then lists of tables: a key after a table would be the table's."""
    known = {name: value for name, value in data.items() if value is not None}
    for name, value in known.items():
        if not isinstance(value, Mapping) and not _is_tables(value):
            yield f"{_key(name)} = {_value(value)}"
    for name, value in known.items():
        own = (*path, _key(name))
        if isinstance(value, Mapping):
            yield from ("", f"[{'.'.join(own)}]", *_table(value, own))
        elif _is_tables(value):
            for one in value:
                yield from ("", f"[[{'.'.join(own)}]]", *_table(one, own))


def _is_tables(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(one, Mapping) for one in value)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _value(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        # TOML's basic strings are JSON's, but for one character that JSON leaves as it is.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Sequence):
        return f"[{', '.join(map(_value, value))}]"
    raise TypeError(f"no TOML for {type(value).__name__}")
