"""Policies on the command line: presets by name, and Python objects by file and name, ``mine.py:MyOrder``."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import hetsched as hs
from hetsched.checks import Faults, did_you_mean, exists, listed, one_line, reason_of, shown
from hetsched.cli import options as opt
from hetsched.cli.declare import option
from hetsched.cli.terminal import changed, inside, noted
from hetsched.errors import ConfigError, Fault

BASE = "easy"
"""The preset that a part from a file is put into."""

_BASES = {"allocator": "power-slurm", "monitor": "power-slurm"}
"""Others, for roles that `BASE` has no place for."""

_IN_FILE = re.compile(r"(?P<file>.*\.py)(?::(?P<name>[^:=]*))?(?P<rest>(?::[^:=]*=[^:]*)*)")


_POLICY = "Policy"
_POLICY_HELP = (
    "A preset, or NAME:PARAM=VALUE; see hetsched policies. Default: easy. FILE.py:NAME: a class or object of yours, "
    "which takes its role in easy, or is a whole scheduler."
)
_SET_HELP = "Change a parameter or a part of it, such as depth=4."


@dataclass(frozen=True)
class PolicyGiven:
    """The policy of a run as it was given."""

    policy: Annotated[str | None, option("--policy", "NAME", _POLICY_HELP, _POLICY, complete=opt.complete_policy)] = (
        None
    )
    settings: Annotated[Sequence[str], option("--set", "PARAM=VALUE", _SET_HELP, _POLICY, is_list=True)] = ()
    policy_file: Annotated[str | None, option("--policy-file", "F.toml", "A policy from a file.", _POLICY)] = None

    def chosen(self, faults: Faults) -> hs.Policy | None:
        """The policy asked for; None if there is something wrong with it, which is noted."""
        name, settings, file = self.policy, self.settings, self.policy_file
        if file is not None:
            for place, value in (("--policy", name), ("--set", " ".join(settings) or None)):
                if value is not None:
                    faults.add(place, value, "nothing with --policy-file, which says it all")
            with noted(faults), inside(file):
                return hs.Policy.from_toml(file)
            return None
        for setting in settings:
            if "=" not in setting:
                faults.add("--set", setting, "PARAM=VALUE, such as depth=4")
                return None
        with noted(faults, {"policy": "--policy"}):
            return policy_of(BASE if name is None else name, settings)
        return None


def policy_of(text: str, settings: Sequence[str] = ()) -> hs.Policy:
    """A policy from a word of the command line."""
    found = _IN_FILE.fullmatch(text.strip())
    if found is None:
        return hs.policy.parse_policy(text, settings=settings)
    given = _object(found["file"], found["name"] or "")
    role = _role_of(given, f"{found['file']}:{found['name']}")
    rest = [*found["rest"].split(":")[1:], *settings]
    return _composed(given, role, rest)


def policies_of(faults: Faults, option: str, text: str) -> list[hs.Policy]:
    """Policies with commas between."""
    found: list[hs.Policy] = []
    for name in text.split(","):
        with noted(faults), of_policy(name, option):
            policy = policy_of(name)
            if policy.name in [other.name for other in found]:
                faults.add(option, policy.name, "each policy once")
            else:
                found.append(policy)
    return found


def of_policy(name: str, option: str = "--policies") -> AbstractContextManager[None]:
    """Name the policy that an error raised in the block is about, unless the fault shows it."""

    def in_list(fault: Fault) -> Fault:
        place = option if fault.found == shown(name) else f"{option}: {name}"
        return fault.at(place) if fault.path == "policy" else fault.under(place, ": ")

    return changed(in_list)


def _composed(given: Any, role: str, settings: list[str]) -> hs.Policy:
    from hetsched.policy.objects import instance_of
    from hetsched.policy.policy import parse_settings

    names = inspect.signature(given).parameters if inspect.isclass(given) else {}
    own = [setting for setting in settings if setting.partition("=")[0].strip() in names]
    settings = [setting for setting in settings if setting not in own]
    given = given(**parse_settings(own)) if own else instance_of(given, "policy")
    if role not in ("", "scheduler"):
        return hs.policy.parse_policy(":".join([_BASES.get(role, BASE), *settings]), parts={role: given})
    policy: hs.Policy = hs.Policy(scheduler=given) if role else given
    if settings:
        raise ConfigError([("policy", shown(settings[0]), f"nothing with {policy.name}, which is a whole policy")])
    return policy


def _object(file: str, name: str) -> Any:
    """Object of this name in a file."""
    module = _module(str(Path(file).resolve()), file)
    known = _known_in(module)
    if not name:
        expected = (
            f"{file}:NAME, NAME one of {listed(known)}" if known else f"{file}:NAME, with a class or object of it"
        )
        raise ConfigError([("policy", shown(file), expected)])
    try:
        return getattr(module, name)
    except AttributeError:
        expected = f"one of {listed(known)}{did_you_mean(name, known)}" if known else "a class or object in it"
        raise ConfigError([("policy", shown(f"{file}:{name}"), expected)]) from None


def _known_in(module: ModuleType) -> list[str]:
    """Names of a file's own that have a role."""
    from hetsched.policy.objects import roles_of

    def is_own(value: object) -> bool:
        kind = value if inspect.isclass(value) else type(value)
        return isinstance(value, hs.Policy) or (bool(roles_of(value)) and kind.__module__ == module.__name__)

    return [name for name, value in vars(module).items() if not name.startswith("_") and is_own(value)]


def _role_of(given: Any, text: str) -> str:
    """The one role of an object; nothing for a policy."""
    from hetsched.policy.objects import METHODS, roles_of

    if isinstance(given, hs.Policy):
        return ""
    roles = roles_of(given)
    if len(roles) == 1:
        return roles[0]
    methods = listed(f"`{METHODS[role]}` ({role})" for role in roles or METHODS)
    if not roles:
        raise ConfigError([("policy", shown(text), f"a class or object with a role's method: one of {methods}")])
    raise ConfigError(
        [("policy", shown(text), f"one role's method, not {methods}; in Python it can take each of them")]
    )


@cache
def _module(path: str, file: str) -> ModuleType:
    """A file as a module, run once however often it is named."""
    if not exists(path) or not Path(path).is_file():
        raise ConfigError([("policy", shown(file), "a Python file; there is none of this name")])
    from hetsched.policy.own_files import OwnFile

    try:
        return OwnFile.read(path).module()
    except (Exception, SystemExit) as error:
        reason = reason_of(error) if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
        found = one_line(f"{reason}{_line_in(error, path)}", limit=200)
        raise ConfigError([("policy", f"{shown(file)}, where {found}", "a file that runs")]) from error


def _line_in(error: BaseException, path: str) -> str:
    """The line of a file where an error was raised."""
    lines, trace = [], error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            lines.append(trace.tb_lineno)
        trace = trace.tb_next
    return f" (line {lines[-1]})" if lines else ""
