"""Changes of a policy: another one, other parts in its roles, other parameters of these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hetsched.checks import shown
from hetsched.errors import ConfigError
from hetsched.policy import Policy
from hetsched.policy.objects import INSIDE
from hetsched.policy.parts import OPTIONAL_ROLES, parameters_of, takers_of, value_text
from hetsched.policy.policy import parse_settings

NONE = "none"


@dataclass(frozen=True)
class Draft:
    """A policy and what is to change of it: parts by role."""

    policy: Policy
    parts: dict[str, Any] = field(default_factory=dict)
    said: tuple[str, ...] = ()
    """The changes in words, for its name."""

    def made(self) -> Policy:
        """The policy with its changes; itself if there are none."""
        name = ":".join([self.policy.name, *self.said])
        return self.policy._changed(name=name, **self.parts) if self.parts else self.policy

    def with_part(self, role: str, part: Any) -> Draft:
        """The same with another part in a role."""
        return self._with(role, part, f"{role}={NONE if part is None else text_of(part)}")

    def _with(self, role: str, part: Any, said: str) -> Draft:
        return replace(self, parts={**self.parts, role: part}, said=(*self.said, said))

    def part(self, role: str) -> Any:
        """The part in a role: its name and parameters, or an object."""
        if role in self.parts:
            part = self.parts[role]
            return {"name": part} if isinstance(part, str) else part
        own = self.policy.own
        inside = {name: one for name, one in own.items() if INSIDE.get(name) == role}
        part = self.policy.parts.get(role)
        return own.get(role, part and {**part, **inside})

    def with_parameter(self, role: str, name: str, value: Any) -> Draft:
        """The same with another value of a parameter.

        In a role that the policy leaves empty the first part that has the parameter takes its place, unless the role is
        empty because a setting says so.
        """
        part = self.part(role)
        if part is None and role in OPTIONAL_ROLES and role not in self.parts:
            joining = takers_of(name, role)[0].partition("=")[2]
            return self.with_part(role, joining).with_parameter(role, name, value)
        own = part.get("name") if isinstance(part, dict) else None
        if own is None or name not in parameters_of(role, own):
            found = f"{shown(value)} with {role}={NONE if part is None else own or 'an object'}"
            raise ConfigError([("", found, f"a part that takes it: {' or '.join(takers_of(name, role))}")])
        return self._with(role, {**part, name: value}, f"{role}.{name}={value_text(value)}")

    def value(self, role: str, name: str) -> Any:
        """The value of a parameter; None if the part has none."""
        part = self.part(role)
        return part.get(name) if isinstance(part, dict) else None


def text_of(part: Any) -> str:
    """A part in words."""
    if not isinstance(part, Mapping):
        return part if isinstance(part, str) else getattr(part, "__name__", type(part).__name__)
    settings = [f"{name}={value_text(value)}" for name, value in part.items() if name != "name"]
    return ":".join([str(part.get("name")), *settings])


def part_of(text: str) -> Any:
    """A part out of ``NAME:PARAM=VALUE``; None of ``none``, which is a part only in some roles."""
    name, *settings = text.split(":")
    return {"name": name.strip(), **parse_settings(settings)} if settings else name.strip()


def value_of(text: str) -> Any:
    """A parameter's value out of text, as policies take it."""
    return parse_settings([f"value={text}"])["value"]
