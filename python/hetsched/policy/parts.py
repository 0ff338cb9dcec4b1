"""Parts of policies: a part a role, with checked parameters and filled-in defaults.

The parts themselves live in the engine; this module reads their registry.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from typing import Any

from hetsched import _core
from hetsched.checks import Faults, did_you_mean, is_whole_text, listed, plain, shown
from hetsched.engine import engine
from hetsched.errors import ConfigError
from hetsched.policy.objects import INSIDE, METHODS, identity, inner, misplaced, outer_roles, roles_of, text_of

ROLES = ("order", "backfill", "placement", "power", "sleep")
"""What a policy has a part for."""

OPTIONAL_ROLES = ("power", "sleep")
"""Those of them that may be None."""

OBJECT_ROLES = ("analyzer",)
"""Roles that only objects take."""

_A_PART = "a part's name or a dictionary of its name and parameters"

_MOST_PARAMETERS = 12

FORESEEING = ("plan",)
"""Backfills that know shared nodes and maintenance ahead of time, and under which jobs make way for urgent ones."""

_STANDING_IN = {"order": "fcfs", "backfill": "none", "placement": "lowest-id", "sleep": "planned"}
"""Parts that are checked in place of objects."""


@cache
def parts() -> dict[tuple[str, str], dict[str, Any]]:
    """Every part by role and name: its doc, and its parameters with unit, default and range.

    Examples
    --------
    >>> parts()["backfill", "reservations"]["parameters"][0]["name"]
    'depth'
    """
    return {(part["role"], part["name"]): _signed(part) for part in _core.parts()}


def _signed(part: dict[str, Any]) -> dict[str, Any]:
    """A part as the engine describes it; one that a package has added, with that package."""
    is_added = part.pop("is_added")
    return part | {"package": engine().package} if is_added else part


def refused_pairs() -> list[tuple[str, str, str, str]]:
    """Every pair of features that refuse each other: both in words, the parameter that an error names, its sentence."""
    return _core.refused_pairs()


def puts_to_sleep(composition: Mapping[str, Any]) -> bool:
    """True if some part of a composition switches idle nodes off: one in the role ``sleep``, or Slurm's backfill."""
    backfill = composition.get("backfill")
    suspends = backfill.get("suspend_time", "none") if isinstance(backfill, Mapping) else "none"
    return composition.get("sleep") is not None or suspends != "none"


def names_of(role: str, flag: str = "name") -> list[str]:
    """Names of a role's parts; with a `flag` of the registry, of those that have it."""
    return [name for (own_role, name), part in parts().items() if own_role == role and part[flag]]


def choosers() -> str:
    """Backfills that choose nodes, as messages name them."""
    return " or ".join(names_of("backfill", "chooses_nodes"))


def shown_parameters(role: str, part: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters by which a part is named: of one that has many those that differ from their defaults."""
    own = {name: value for name, value in part.items() if name != "name"}
    if "name" not in part or len(own) <= _MOST_PARAMETERS:
        return own
    usual = {one["name"]: json.loads(one["default"]) for one in parts()[role, part["name"]]["parameters"]}
    return {name: value for name, value in own.items() if name not in usual or value != usual[name]}


def parameters_of(role: str, name: str) -> list[str]:
    """Names of a part's parameters; none if there is no such part."""
    part = parts().get((role, name))
    return [] if part is None else [parameter["name"] for parameter in part["parameters"]]


def resolved(given: Mapping[str, Any], *, path: str = "policy") -> dict[str, dict[str, Any] | None]:
    """A composition with every name checked and every default filled in; objects by their identity."""
    faults = Faults(path)
    composition: dict[str, dict[str, Any] | None] = {}
    own = {role: given[role] for role in (*_STANDING_IN, *OBJECT_ROLES) if role in roles_of(given.get(role))}
    inside: dict[str, Any] = {}
    given = {**given, **{role: _STANDING_IN.get(role) for role in own}}
    for outer in outer_roles():
        if objects := inner(given.get(outer), outer):
            inside |= objects
            given[outer] = {key: value for key, value in given[outer].items() if key not in objects}
    for role in ROLES:
        left_out = role in OPTIONAL_ROLES and given.get(role) is None
        composition[role] = None if left_out else _part(role, given[role], faults)
    for role in OBJECT_ROLES:
        if given.get(role) is not None:
            faults.add(role, _shown_part(given[role]), _an_object(given[role], role))
    _refuse_half_characters(composition, faults)
    faults.check()
    try:
        checked: dict[str, dict[str, Any] | None] = _core.check_policy(composition)
    except ConfigError as error:
        raise error.mapped(lambda fault: fault.hinting(unit_hint(fault.path, fault.found.strip("`")))) from None
    planner = checked["backfill"] or {}
    if "placement" in own and "backfill" not in own and parts()["backfill", planner["name"]]["chooses_nodes"]:
        found = type(own["placement"]).__name__
        raise ConfigError(
            [(f"{path}.placement", f"`{found}`", f"nothing: backfill `{planner['name']}` chooses the nodes")]
        )
    if "suspend_time" in planner and given.get("sleep") is not None:
        expected = f"none: backfill `{planner['name']}` has a sleep of its own, suspend_time=600"
        raise ConfigError([(f"{path}.sleep", shown(_shown_name(given["sleep"])), expected)])
    if "monitor" in inside and not (checked["power"] or {}).get("on_excess"):
        found = type(inside["monitor"]).__name__
        raise ConfigError([(f"{path}.power.monitor", f"`{found}`", "on_excess with it: nothing else reads it")])
    if "sizing" in inside and parts()["backfill", planner["name"]]["chooses_nodes"]:
        found = type(inside["sizing"]).__name__
        raise ConfigError([(f"{path}.backfill.sizing", f"`{found}`", f"nothing with `{planner['name']}`")])
    for role, part in inside.items():
        (checked[INSIDE[role]] or {})[role] = identity(part)
    return checked | {role: identity(part) for role, part in own.items()}


def _refuse_half_characters(composition: Mapping[str, Mapping[str, Any] | None], faults: Faults) -> None:
    """Note parameters whose text the engine cannot take; names are known by now."""
    values = [(f"{role}.{name}", value) for role, part in composition.items() for name, value in (part or {}).items()]
    for path, value in values:
        if isinstance(value, str) and not path.endswith(".name") and not is_whole_text(value):
            faults.add(path, value, "text of whole characters")


def _an_object(given: Any, role: str) -> str:
    """Expected value of a role that only objects take."""
    named = isinstance(given, Mapping) and "python" in given
    wanted = f"as in hs.Policy({role}=...): a file holds no Python" if named else f"with the method `{METHODS[role]}`"
    return f"the object itself, {wanted}" if named else f"an object {wanted}"


def takers_of(parameter: str, role: str = "") -> list[str]:
    """Parts that take a parameter, each as a setting that chooses it."""
    return [
        f"{own_role}={name}"
        for own_role, name in parts()
        if parameter in parameters_of(own_role, name) and role in ("", own_role)
    ]


def _part(role: str, given: Any, faults: Faults) -> dict[str, Any]:
    """A part as a dictionary; notes an unknown name or parameter."""
    known = names_of(role)
    if isinstance(given, str):
        given = {"name": given}
    if not isinstance(given, Mapping):
        faults.add(role, _shown_part(given), _A_PART + misplaced(given, role))
        return {}
    if "python" in given:
        faults.add(
            role, str(given["python"]), f"the object itself, as in hs.Policy({role}=...): a file holds no Python"
        )
        return {}
    part: dict[str, Any] = {key: _plain(value) for key, value in plain(given).items()}
    name = part.get("name")
    if not isinstance(name, str):
        faults.add(f"{role}.name", "nothing" if name is None else name, f"one of {listed(known)}")
    elif name not in known:
        faults.add(role, name, f"one of {listed(known)}{did_you_mean(name, known)}")
    else:
        _check_parameters(role, name, part, faults)
        return {key: _of_kind(role, name, key, value) for key, value in part.items()}
    return part


def _of_kind(role: str, name: str, key: str, value: Any) -> Any:
    """A parameter's value in the kind that it has: one item of a list, a word that reads as a number, joined text."""
    known = next((one for one in parts()[role, name]["parameters"] if one["name"] == key), None)
    if known is None:
        return value
    if str(known["default"]).startswith("["):
        return [value] if isinstance(value, str | int | float) else value
    if not str(known["default"]).startswith('"'):
        return value
    if "+" in known["range"] and isinstance(value, list) and all(isinstance(one, str) for one in value):
        return "+".join(value)
    words = re.findall(r"[0-9]+\.[0-9]+", known["range"] if known["range"].startswith("one of ") else "")
    return next((one for one in words if isinstance(value, float) and float(one) == value), value)


def _plain(value: Any) -> Any:
    """The value; a list's items in Python's own kinds of number."""
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


def _check_parameters(role: str, name: str, part: Mapping[str, Any], faults: Faults) -> None:
    known = parameters_of(role, name)
    for parameter, value in part.items():
        if isinstance(value, Mapping) and "python" in value:
            faults.add(f"{role}.{parameter}", str(value["python"]), "the object itself: a file holds no Python")
        elif parameter != "name" and parameter not in known:
            allowed = f"a parameter of `{name}`: {listed(known)}" if known else f"no parameter: `{name}` has none"
            faults.add(f"{role}.{parameter}", value, allowed + did_you_mean(str(parameter), known))


def _shown_name(given: Any) -> str:
    return str(given["name"]) if isinstance(given, Mapping) and "name" in given else _shown_part(given)


def _shown_part(given: Any) -> str:
    return given if isinstance(given, str) else getattr(given, "__name__", type(given).__name__)


_MOST_ITEMS, _MOST_LETTERS = 12, 100


def value_text(value: Any) -> str:
    """A parameter's value as a command line takes it; a list as ``lower-caps+kill``, of one item as ``kill+``.

    Long lists and texts are known by their length and the hash of what they hold.
    """
    if roles_of(value):
        value = identity(value)
    if isinstance(value, Mapping):
        return text_of(value)
    if isinstance(value, list):
        text = "+".join(map(str, value)) if len(value) > _MOST_ITEMS else "+".join(map(value_text, value))
        return _hashed(f"{len(value)} values", text) if len(value) > _MOST_ITEMS else text + "+" * (len(value) < 2)
    if isinstance(value, str) and len(value) > _MOST_LETTERS:
        return _hashed(f"{len(value)} letters", value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _hashed(what: str, text: str) -> str:
    return f"[{what} {hashlib.sha256(text.encode()).hexdigest()[:8]}]"


_NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,2})?)\s*([a-zA-Z]+)")
# Not `mw` and `m`: they may be thousandths or millions, minutes or months.
_UNITS: dict[str, dict[str, int | Decimal]] = {
    "_w": {"W": 1, "w": 1, "kW": 10**3, "KW": 10**3, "kw": 10**3, "MW": 10**6, "GW": 10**9, "gw": 10**9},
    "_s": {
        **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1),
        **dict.fromkeys(("min", "mins", "minute", "minutes"), 60),
        **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600),
        **dict.fromkeys(("d", "day", "days"), 86400),
        "ms": Decimal("0.001"),
    },
}


def plain_number(parameter: str, value: object) -> str | None:
    """A number written with a unit, as ``1.1MW``, in the unit of the parameter's name; None for any other value."""
    match = _NUMBER.fullmatch(value.strip()) if isinstance(value, str) else None
    factor = None if match is None else _UNITS.get(parameter[-2:], {}).get(match[2])
    if match is None or factor is None:
        return None
    text = f"{Decimal(match[1]) * factor:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def unit_hint(parameter: str, value: object) -> str:
    """The same as the end of a message; empty for any other value."""
    number = plain_number(parameter, value)
    return "" if number is None else f"; {shown(value)} is {number}"
