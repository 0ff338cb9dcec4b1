"""Objects of users' own in the roles of a policy: which role one has, its copies, and who it is."""

from __future__ import annotations

import copy
import hashlib
import inspect
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hetsched.chance import stream
from hetsched.checks import one_line, plain
from hetsched.errors import ConfigError
from hetsched.policy.own_files import shown_module

METHODS = {
    "order": "rank",
    "backfill": "select",
    "placement": "choose",
    "scheduler": "decide",
    "allocator": "allot",
    "monitor": "read",
    "analyzer": "estimate",
    "sizing": "sizes",
    "sleep": "rest",
}
"""The method by which an object is known for a role."""

LEARN = "learn"
"""The method by which an object in any role learns of jobs that have ended."""

MORE_METHODS = ("bound_ratios", "draws", "learn", "resizes")
"""Methods that an object may have besides that of its role."""

WHOLE = "scheduler"
"""The role that leaves room for no other."""

INSIDE = {"allocator": "power", "monitor": "power", "sizing": "backfill"}
"""Roles whose object is a parameter of a part: of the role named here."""

_LONGEST_TEXT = 60


def roles_of(given: object) -> list[str]:
    """The roles whose method an object or class has."""
    if isinstance(given, str | Mapping) or given is None:
        return []
    return [role for role in METHODS if _has(given, role)]


def _has(given: object, role: str) -> bool:
    method = getattr(given, METHODS[role], None)
    if not callable(method) or role != "monitor":
        return callable(method)
    # Files and tables have a method of this name, too, which takes one argument.
    try:
        inspect.signature(method).bind(*[None] * (3 if inspect.isclass(given) and inspect.isfunction(method) else 2))
    except (TypeError, ValueError):
        return False
    return True


def is_own(given: object) -> bool:
    """True if it is an object or class in some role, rather than a part's name."""
    return bool(roles_of(given))


def instance_of(given: Any, path: str) -> Any:
    """The object itself; of a class with a role, an object of it."""
    if not inspect.isclass(given) or not is_own(given):
        return given
    try:
        inspect.signature(given).bind()
    except (TypeError, ValueError):
        expected = f"an object of it, {given.__name__}(...): the class needs arguments"
        raise ConfigError([(path, f"the class {given.__qualname__}", expected)]) from None
    return given()


def inner(part: Any, of: str) -> dict[str, Any]:
    """The objects among the parameters of a part in the role `of`, by role."""
    if not isinstance(part, Mapping):
        return {}
    given = {role: part[role] for role, outer in INSIDE.items() if outer == of and role in roles_of(part.get(role))}
    return {role: instance_of(value, f"policy.{of}.{role}") for role, value in given.items()}


def outer_roles() -> list[str]:
    """Roles whose parts have roles inside."""
    return sorted(set(INSIDE.values()))


def misplaced(given: object, role: str) -> str:
    """The end of a message about an object that cannot take `role`."""
    method = METHODS.get(role)
    known = [f"{other}= takes it, by its method `{METHODS[other]}`" for other in roles_of(given)]
    wanted = "" if method is None else f", or an object with the method `{method}`"
    return wanted + (f"; {', '.join(known)}" if known else "")


def begun(own: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Copies of the objects of a run's roles that share nothing with others; what is in two roles stays one."""
    made: dict[int, Any] = {}
    for role, given in own.items():
        if id(given) not in made:
            made[id(given)] = copied(given, f"policy.{role}")
            if callable(getattr(given, "seed", None)):
                made[id(given)].seed(stream(seed, f"policy.{role}"))
    return {role: made[id(given)] for role, given in own.items()}


def copied(given: Any, path: str) -> Any:
    """A copy by the object's own ``fork()``, else by `copy.deepcopy`."""
    fork = getattr(given, "fork", None)
    try:
        return fork() if callable(fork) else copy.deepcopy(given)
    except Exception as error:
        _note(error, f"{path}: a run works on a copy of {type(given).__qualname__}, which could not be made")
        raise


def _note(error: Exception, text: str) -> None:
    if hasattr(error, "add_note"):
        error.add_note(text)
    else:
        error.__notes__ = [text]  # Python 3.10, which shows none


def check_portable(own: Mapping[str, Any]) -> None:
    """Raise if an object cannot go to another process."""
    for role, given in own.items():
        kind = type(given)
        expected = "an object that can be pickled, for runs in other processes; or workers=1"
        if kind.__module__ == "__main__":
            expected = "a class in a module of its own, which other processes can import; or workers=1"
            raise ConfigError([(f"policy.{role}", f"{kind.__qualname__} of __main__", expected)])
        try:
            pickle.dumps(given)
        except Exception as error:
            found = one_line(f"{kind.__qualname__}, {type(error).__name__}: {error}", limit=200)
            raise ConfigError([(f"policy.{role}", found, expected)]) from error


def takes_runtimes(given: Any, path: str) -> bool:
    """True if an object's `learn` takes (jobs, runtime_s, view) rather than (ended, view)."""
    method = getattr(given, LEARN)
    for count in (2, 3):
        try:
            inspect.signature(method).bind(*[None] * count)
        except TypeError:
            continue
        except ValueError:  # It says nothing of what it takes.
            return False
        return count == 3
    found = f"`{LEARN}({', '.join(inspect.signature(method).parameters)})` of {type(given).__qualname__}"
    raise ConfigError([(path, found, f"{LEARN}(ended, view), or {LEARN}(jobs, runtime_s, view)")])


def uses_chance(given: object) -> bool:
    """True if another seed can make another schedule."""
    return bool(getattr(given, "uses_chance", callable(getattr(given, "seed", None))))


def identity(given: object) -> dict[str, Any]:
    """Identity of a custom policy object: class, methods asked, parameters, and hash of its source."""
    kind = type(given)
    methods = sorted(name for name in {*METHODS.values(), *MORE_METHODS} if callable(getattr(given, name, None)))
    return {
        "name": kind.__name__,
        "python": f"{shown_module(kind.__module__)}.{kind.__qualname__}",
        "methods": methods,
        "parameters": {name: _value(value) for name, value in sorted(_parameters(given).items())},
        "source_sha256": _source_sha256(kind),
    }


def text_of(part: Mapping[str, Any]) -> str:
    """An object's name with its parameters, if these are short."""
    numbers = [f"{name}={value}" for name, value in part["parameters"].items() if not isinstance(value, dict | list)]
    text = f"{part['name']}({','.join(numbers)})" if numbers else str(part["name"])
    return text if len(text) <= _LONGEST_TEXT else str(part["name"])


def _parameters(given: object) -> dict[str, Any]:
    """Values of ``get_params``, or else the public attributes of the object itself."""
    said = getattr(given, "get_params", None)
    if callable(said):
        return dict(said())
    slots = [name for kind in type(given).__mro__ for name in getattr(kind, "__slots__", ())]
    own = {name: getattr(given, name) for name in slots if hasattr(given, name)} | getattr(given, "__dict__", {})
    return {str(name): value for name, value in own.items() if not str(name).startswith("_")}


def _value(value: Any) -> Any:
    """A parameter as JSON takes it; what JSON does not take by its type and what it holds."""
    value = plain(value)
    if value is None or isinstance(value, str | bool | int | float):
        is_plain = not isinstance(value, float) or np.isfinite(value)
        return value if is_plain else str(value)
    if isinstance(value, Mapping):
        return {str(key): _value(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_value(one) for one in value]
    if isinstance(value, np.ndarray) and value.dtype != object:
        content = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return {"array": list(value.shape), "dtype": str(value.dtype), "sha256": content}
    kind = f"{shown_module(type(value).__module__)}.{type(value).__qualname__}"
    text = repr(value)
    # A place in memory is another one in the next run.
    return kind if " at 0x" in text else {"type": kind, "repr": one_line(text)}


def _source_sha256(kind: Any) -> str | None:
    """SHA-256 of the source file that defines the class, with its helpers; None if there is no source."""
    try:
        file = inspect.getsourcefile(kind)
        source = Path(file).read_bytes() if file is not None and Path(file).is_file() else None
        source = inspect.getsource(kind).encode() if source is None else source
    except (OSError, TypeError):
        return None
    return hashlib.sha256(source).hexdigest()
