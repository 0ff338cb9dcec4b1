"""The public face: every name of `hetsched` and of its packages, with parameters and their defaults.

``python tests/golden/public_names.py`` writes ``public_names.txt``, which `test_public_names.py` compares it with: a
change of the face is a change of that file, to be looked at with the code that made it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import hetsched as hs

TABLE = Path(__file__).with_name("public_names.txt")


def lines() -> list[str]:
    """A line a name: functions and classes with their parameters, members of classes below their class."""
    return [line for name in dir(hs) for line in _of(name, getattr(hs, name))]


def _of(name: str, thing: Any) -> Iterator[str]:
    if isinstance(thing, ModuleType):
        names = sorted(getattr(thing, "__all__", ()))
        yield f"{name}: {', '.join(names)}"
        for inner in names:
            if getattr(hs, inner, None) is not getattr(thing, inner):
                yield from _of(f"{name}.{inner}", getattr(thing, inner))
    elif words := get_args(thing):
        yield f"{name}: {', '.join(map(str, words))}"
    elif inspect.isclass(thing):
        yield f"{name}{_parameters(thing)}"
        for member in _members(thing):
            yield from (f"  {line}" for line in _of(f".{member}", inspect.getattr_static(thing, member)))
    elif isinstance(thing, classmethod | staticmethod) or callable(thing):
        yield f"{name}{_parameters(getattr(thing, '__func__', thing))}"
    else:
        yield name


def _members(cls: type) -> list[str]:
    """Public members that the package itself defines."""
    homes = [one for one in cls.__mro__ if one.__module__.startswith("hetsched")]
    return sorted({name for home in homes for name in vars(home) if not name.startswith("_")})


def _parameters(thing: Any) -> str:
    """Parameters without their annotations."""
    try:
        signature = inspect.signature(thing)
    except ValueError:  # a class of the extension
        return ""
    shown = [
        one.replace(annotation=one.empty) for one in signature.parameters.values() if one.name not in ("self", "cls")
    ]
    # Functions have no place in memory that stays.
    return re.sub(r" at 0x\w+", "", str(inspect.Signature(shown)))


if __name__ == "__main__":
    TABLE.write_text("\n".join(lines()) + "\n", encoding="utf-8")
