"""A policy as one word of a command line: ``easy:placement=lowest-power:backfill.depth=4``."""

from __future__ import annotations

from collections.abc import Iterable

from hetsched.errors import ConfigError
from hetsched.policy.policy import Policy

__all__ = ["parse_policy"]


def parse_policy(text: str, *, settings: Iterable[str] = ()) -> Policy:
    """A policy from its text form, which is also its `Policy.name`.

    Parameters
    ----------
    text
        A preset's name, then what to change of it, each as ``:PARAM=VALUE``.
    settings
        More to change, each as ``PARAM=VALUE``; these win.

    Returns
    -------
    Policy
        As `Policy.preset` gives it. Values that read as whole numbers, numbers or true and false are taken as such.

    Raises
    ------
    ConfigError
        If a setting has no ``=`` or is given twice, or as `Policy.preset`.

    Examples
    --------
    >>> parse_policy("easy:placement=lowest-power").to_dict()["placement"]["name"]
    'lowest-power'
    >>> parse_policy("easy", settings=["depth=4"]).name
    'easy:backfill.depth=4'
    """
    preset, *changes = text.split(":")
    return Policy.preset(preset.strip(), **{**_parameters(changes), **_parameters(settings)})


def _parameters(changes: Iterable[str]) -> dict[str, str | int | float | bool]:
    parameters: dict[str, str | int | float | bool] = {}
    for change in changes:
        name, equals, value = (part.strip() for part in change.partition("="))
        if not equals or not name:
            raise ConfigError([("policy", f"`{change}`", "PARAM=VALUE, such as placement=lowest-power")])
        if name in parameters:
            raise ConfigError([(f"policy.{name}", f"`{change}` beside `{name}={parameters[name]}`", "it once")])
        parameters[name] = _value(value)
    return parameters


def _value(text: str) -> str | int | float | bool:
    if text in ("true", "false"):
        return text == "true"
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text
