"""What a policy is composed of: a part a role, its parameters checked and its defaults filled in.

The parts themselves live in the engine; this module reads their registry.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from hetsched import _core
from hetsched.checks import Faults, did_you_mean, listed, plain
from hetsched.errors import ConfigError
from hetsched.policy.units import unit_hint

__all__ = [
    "EMPTY_ROLES",
    "OPTIONAL_ROLES",
    "PART_ROLES",
    "ROLES",
    "parameters_of",
    "parts",
    "resolved",
    "takers_of",
    "value_text",
]

PART_ROLES = ("order", "backfill", "placement", "power")
"""Roles that this version has parts for."""

OPTIONAL_ROLES = ("power",)
"""Those of them that may be None."""

EMPTY_ROLES = ("sleep",)
"""Roles that are always None in this version."""

ROLES = (*PART_ROLES, *EMPTY_ROLES)

_A_PART = "a part's name or a dictionary of its name and parameters"


@cache
def parts() -> dict[tuple[str, str], dict[str, Any]]:
    """Every part by role and name, as the engine announces it: doc, and parameters with unit, default and range.

    Examples
    --------
    >>> parts()["backfill", "reservations"]["parameters"][0]["name"]
    'depth'
    """
    return {(part["role"], part["name"]): part for part in _core.parts()}


def names_of(role: str) -> list[str]:
    """Names of a role's parts."""
    return [name for part_role, name in parts() if part_role == role]


def parameters_of(role: str, name: str) -> list[str]:
    """Names of a part's parameters; none if there is no such part.

    Examples
    --------
    >>> parameters_of("backfill", "reservations"), parameters_of("order", "fcfs")
    (['depth'], [])
    """
    part = parts().get((role, name))
    return [] if part is None else [parameter["name"] for parameter in part["parameters"]]


def resolved(given: Mapping[str, Any], *, path: str = "policy") -> dict[str, dict[str, Any] | None]:
    """A composition with every name checked and every default filled in.

    Parameters
    ----------
    given
        A part for each role: a name, or a dictionary of ``name`` and parameters; ``power`` may be None, ``sleep`` is.
    path
        What the messages' parameters are inside of.

    Returns
    -------
    dict
        From each role to its part's name and parameters.

    Raises
    ------
    ConfigError
        With every unknown part and parameter, and every value out of its range.
    """
    faults = Faults(path)
    composition: dict[str, dict[str, Any] | None] = {}
    for role in PART_ROLES:
        left_out = role in OPTIONAL_ROLES and given.get(role) is None
        composition[role] = None if left_out else _part(role, given[role], faults)
    for role in EMPTY_ROLES:
        composition[role] = None
        if given.get(role) is not None:
            faults.add(role, _shown_part(given[role]), f"nothing: this version has no parts for the role `{role}`")
    faults.check()
    try:
        checked: dict[str, dict[str, Any] | None] = _core.check_policy(composition)
    except ConfigError as error:
        raise error.mapped(lambda fault: fault.hinting(unit_hint(fault.path, fault.found.strip("`")))) from None
    return checked


def takers_of(parameter: str, role: str = "") -> list[str]:
    """Parts that take a parameter, each as a setting that chooses it.

    Examples
    --------
    >>> takers_of("budget_w"), takers_of("budget_w", "order")
    (['power=system-budget'], [])
    """
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
        faults.add(role, _shown_part(given), f"{_A_PART}; Python objects as parts are not taken in this version")
        return {}
    part: dict[str, Any] = plain(given)
    name = part.get("name")
    if not isinstance(name, str):
        faults.add(f"{role}.name", "nothing" if name is None else name, f"one of {listed(known)}")
    elif name not in known:
        faults.add(role, name, f"one of {listed(known)}{did_you_mean(name, known)}")
    else:
        _check_parameters(role, name, part, faults)
    return part


def _check_parameters(role: str, name: str, part: Mapping[str, Any], faults: Faults) -> None:
    known = parameters_of(role, name)
    for parameter, value in part.items():
        if parameter != "name" and parameter not in known:
            allowed = f"a parameter of `{name}`: {listed(known)}" if known else f"no parameter: `{name}` has none"
            faults.add(f"{role}.{parameter}", value, allowed + did_you_mean(str(parameter), known))


def _shown_part(given: Any) -> str:
    return given if isinstance(given, str) else type(given).__name__


def value_text(value: Any) -> str:
    """A parameter's value as a command line takes it.

    Examples
    --------
    >>> value_text(True), value_text(0.8)
    ('true', '0.8')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)
