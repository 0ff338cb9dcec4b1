"""Plain values as TOML, which the standard library reads and does not write."""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hetsched.checks import one_line

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_WIDTH = 100
_LONGEST = 2000


def toml(data: Mapping[str, Any], comments: Mapping[str, Sequence[str]] | None = None) -> str:
    """A file with these values; a value of None is left out.

    Parameters
    ----------
    data
        Values by name.
    comments
        Lines above tables, by their place, such as ``queue[2]``; those of place ``""`` begin the file.
    """
    said = {place: [line for one in lines for line in _comment(one)] for place, lines in (comments or {}).items()}
    content = "\n".join(_table(data, (), "", said)).strip()
    head = "\n".join(said.get("", ()))
    return f"{head}\n\n{content}\n" if head else f"{content}\n"


def _comment(text: str) -> Iterator[str]:
    """Lines of a comment, which ends at the line's end: no control character of a name may end it."""
    for line in textwrap.wrap(one_line(text, limit=_LONGEST), _WIDTH, break_long_words=False, break_on_hyphens=False):
        yield f"# {line}"


def _table(
    data: Mapping[str, Any], path: tuple[str, ...], place: str, said: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    """Plain values first, then tables, then lists of tables: a key after a table would be the table's."""
    known = {name: value for name, value in data.items() if value is not None}
    for name, value in known.items():
        if not isinstance(value, Mapping) and not _is_tables(value):
            yield f"{_key(name)} = {_value(value)}"
    for name, value in known.items():
        own, here = (*path, _key(name)), f"{place}.{name}" if place else name
        if isinstance(value, Mapping):
            yield from ("", *said.get(here, ()), f"[{'.'.join(own)}]", *_table(value, own, here, said))
        elif _is_tables(value):
            for number, one in enumerate(value):
                at = f"{here}[{number}]"
                yield from ("", *said.get(at, ()), f"[[{'.'.join(own)}]]", *_table(one, own, at, said))


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
