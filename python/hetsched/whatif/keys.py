"""Keys of settings: everything of a machine, a policy and a run that can be set, derived from declared parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

from hetsched.checks import Faults, did_you_mean, read_toml, shown
from hetsched.contract import Contract
from hetsched.errors import ConfigError
from hetsched.params import MAX_NODE_W, Parameter, choice, flag, number, parameters_of, whole
from hetsched.platform import NodeClass, Platform, Queue
from hetsched.platform.queues import queue_list
from hetsched.platform.reading import machine_names
from hetsched.policy import Policy
from hetsched.policy.objects import is_own
from hetsched.policy.parts import OPTIONAL_ROLES, ROLES, names_of, parts
from hetsched.policy.policy import policy_like
from hetsched.run.events import read_events
from hetsched.run.options import RunOptions
from hetsched.typing import KnownDraws
from hetsched.whatif import machine
from hetsched.whatif.policies import NONE, Draft, part_of, value_of

PLATFORM, POLICY, OPTIONS = "platform", "policy", "options"
"""The three things that settings change, each by keys of its own."""

_PERCENT = re.compile(r"([+-]\d+(?:\.\d+)?)\s*%")
_MOST_NODES = 2**31 - 1


@dataclass(frozen=True)
class Percent:
    """A change of today's value, in percent."""

    percent: float

    def of(self, today: Any, *, kind: type = float) -> Any:
        """The value that today's becomes; raises ConfigError if that is no number."""
        if isinstance(today, bool) or not isinstance(today, int | float):
            words = "nothing" if today is None else shown(today)
            raise ConfigError(
                [("", f"`{self.percent:+g}%` of {words}", "a value: only of a number there are percents")]
            )
        value = today * (1 + self.percent / 100)
        return round(value) if kind is int or isinstance(today, int) else value


@dataclass(frozen=True)
class Key:
    """One thing that can be set.

    Parameters
    ----------
    name
        Its name, such as ``"nodes"`` or ``"backfill.depth"``.
    of
        The thing that it changes: ``"platform"``, ``"policy"`` or ``"options"``.
    form
        Allowed values, in words.
    read
        Function from a value, or its text, and a collector of faults to the value in its plain form.
    change
        Function from that thing and the plain value to the thing with it.
    """

    name: str
    of: str
    form: str
    read: Callable[[Any, Faults], Any]
    change: Callable[[Any, Any], Any]


def keys_of(platform: Platform | None = None) -> dict[str, Key]:
    """Every key by its name, in the order in which settings are applied.

    Without a platform ``CLASS`` and ``QUEUE`` stand for names of its node classes and queues.
    """
    found = [*_of_platform(platform), *_of_policy(), *_of_run()]
    return {key.name: key for key in found}


def found_key(name: str, keys: Mapping[str, Key]) -> Key | None:
    """The key of this name, or the only one of a part's parameter of this name: ``depth`` is ``backfill.depth``."""
    if name in keys:
        return keys[name]
    inside = [key for key in keys.values() if key.of == POLICY and key.name.partition(".")[2] == name]
    return inside[0] if len(inside) == 1 else None


def allowed(name: str, keys: Mapping[str, Key]) -> str:
    """The keys, in words, and the one that `name` was probably meant for."""
    groups: dict[str, list[str]] = {}
    for key in keys:
        group, _, last = key.rpartition(".")
        groups.setdefault(group, []).append(last)
    words = [f"{group}.{{{','.join(names)}}}" for group, names in groups.items() if group]
    inside = [key.partition(".")[2] for key in keys if "." in key]
    without = name.startswith("queue.") and not any(key.startswith("queue.") for key in keys)
    hint = "; the machine has no queues" if without else did_you_mean(name, [*keys, *inside])
    return f"one of {', '.join([*groups[''], *words])}{hint}"


def _of_platform(platform: Platform | None) -> Iterator[Key]:
    files = f"a file ending in .toml, or one of {', '.join(machine_names())}"
    yield Key("platform", PLATFORM, files, _platform, lambda _today, value: value)
    yield Key("queues", PLATFORM, f"a .toml with tables [[queue]], or {NONE}", _queues, _with_queues)
    yield _declared("nodes", PLATFORM, whole(1, _MOST_NODES), _with_nodes)
    for name, parameter in _OF_ALL_NODES.items():
        yield _declared(name, PLATFORM, parameter, partial(_with_option, name))
    classes = ["CLASS"] if platform is None else [one.name for one in platform.classes]
    for name in classes:
        change = partial(_with_count, name)
        yield _declared(f"node.{name}.count", PLATFORM, parameters_of(NodeClass)["count"], change)
    for place in ("", *classes):
        for name, parameter in _OF_NODES.items():
            full = ".".join(["node", *([place] if place else []), name])
            yield _declared(full, PLATFORM, parameter, partial(_with_class, place, name))
    queues = ["QUEUE"] if platform is None else [one.name for one in platform.queues or ()]
    for place in queues:
        for name, parameter in _OF_QUEUES.items():
            yield _declared(f"queue.{place}.{name}", PLATFORM, parameter, partial(_with_queue, place, name))


_OF_ALL_NODES = {"exclusive": flag(), "known_draws": choice(KnownDraws)}

_OF_NODES = {
    one.name: parameters_of(NodeClass).get(one.name, number(0.0, MAX_NODE_W, unit="W"))
    for one in fields(NodeClass)
    if one.name not in ("name", "count", "features", "racks", "node_names")
}
"""Parameters of nodes that are numbers."""

_OF_QUEUES = {
    one.name: parameters_of(Queue).get(one.name, replace(whole(1, _MOST_NODES), default=None))
    for one in fields(Queue)
    if one.name != "name"
}


def _declared(name: str, of: str, parameter: Parameter, change: Callable[[Any, Any], Any]) -> Key:
    """The key of a declared parameter."""
    may_lack = parameter.default is None and not parameter.absent
    unit = f" ({parameter.unit})" if parameter.unit else ""
    form = f"{parameter.range}{unit}{f', or {NONE}' if may_lack else ''}"
    return Key(name, of, form, partial(_read, replace(parameter, name=name)), change)


def _read(parameter: Parameter, value: Any, faults: Faults) -> Any:
    """A declared parameter's value, out of text where it is text."""
    if isinstance(value, str):
        if value == NONE and (parameter.default is None or parameter.absent):
            return None
        if parameter.is_number and (found := _PERCENT.fullmatch(value.strip())):
            return Percent(float(found[1]))
        if parameter.take is None:
            before = len(faults.found)
            value = parameter.from_text(value, faults)
            if len(faults.found) > before:
                return None
        elif "names" in parameter.form:
            value = value.split("+")
    return parameter.settle(value, faults)


def _settled(value: Any, today: Any, *, kind: type = float) -> Any:
    return value.of(today, kind=kind) if isinstance(value, Percent) else value


def _with_nodes(platform: Platform, value: Any) -> Platform:
    return machine.with_nodes(platform, _settled(value, platform.nodes))


def _with_option(name: str, platform: Platform, value: Any) -> Platform:
    return platform._with(**{name: value})


def _with_count(name: str, platform: Platform, value: Any) -> Platform:
    counts = [_settled(value, one.count) if one.name == name else one.count for one in platform.classes]
    return machine.with_counts(platform, counts)


def _with_class(place: str, name: str, platform: Platform, value: Any) -> Platform:
    """Nodes with another value of a parameter; a change in percent is of each node's own."""

    def changed(own: NodeClass) -> NodeClass:
        today = getattr(own, name)
        if isinstance(value, Percent) and isinstance(today, tuple):
            settled: Any = tuple(value.of(one) for one in today)
        else:
            settled = _settled(value, today, kind=_OF_NODES[name].kind)
        return replace(own, **{name: settled})

    return machine.with_class(platform, place, changed)


def _with_queue(place: str, name: str, platform: Platform, value: Any) -> Platform:
    def changed(own: Queue) -> Queue:
        return replace(own, **{name: _settled(value, getattr(own, name))})

    return machine.with_queue(platform, place, changed)


def _platform(value: Any, faults: Faults) -> Any:
    if isinstance(value, Platform):
        return value
    if isinstance(value, str):
        return Platform.from_toml(value) if value.endswith(".toml") else Platform.shipped(value)
    faults.add("platform", type(value).__name__, "a Platform, a file ending in .toml, or a shipped machine's name")
    return None


def _queues(value: Any, faults: Faults) -> Any:
    if value is None or value == NONE:
        return None
    if isinstance(value, str):
        content = read_toml(value)
        if not isinstance(content.get("queue"), list):
            faults.note("queues", value, "a file with tables [[queue]]")
            return None
        value = content["queue"]
    return queue_list(list(value) if isinstance(value, tuple) else value, "queues", faults)


def _with_queues(platform: Platform, value: Any) -> Platform:
    return platform._with(queues=value)


def _of_policy() -> Iterator[Key]:
    yield Key("policy", POLICY, "a preset, or NAME:PARAM=VALUE; see hetsched policies", _policy, _with_policy)
    for role in ROLES:
        known = [*names_of(role), *([NONE] if role in OPTIONAL_ROLES else [])]
        form = f"one of {', '.join(known)}, or NAME:PARAM=VALUE"
        yield Key(role, POLICY, form, partial(_part, role), partial(_with_part, role))
    for (role, name), ranges in _part_parameters().items():
        form = "; ".join(f"{text} ({', '.join(takers)})" for text, takers in ranges.items())
        yield Key(f"{role}.{name}", POLICY, form, _parameter, partial(_with_parameter, role, name))


def _part_parameters() -> dict[tuple[str, str], dict[str, list[str]]]:
    """Parameters of parts by role and name: ranges, each with the parts that have it."""
    found: dict[tuple[str, str], dict[str, list[str]]] = {}
    for (role, part), about in parts().items():
        for one in about["parameters"]:
            found.setdefault((role, one["name"]), {}).setdefault(str(one["range"]), []).append(part)
    return found


def _policy(value: Any, faults: Faults) -> Any:
    try:
        policy = policy_like(value)
    except ConfigError as error:
        faults.extend(error)
        return None
    if policy is None:
        faults.add("policy", type(value).__name__, "a preset's name, a Policy, or a dictionary of parts")
    return policy


def _with_policy(_today: Draft, value: Policy) -> Draft:
    return Draft(value)


def _part(role: str, value: Any, faults: Faults) -> Any:
    if value is None or value == NONE:
        if role in OPTIONAL_ROLES or NONE in names_of(role):
            return None if role in OPTIONAL_ROLES else NONE
        faults.add(role, NONE, f"one of {', '.join(names_of(role))}")
        return None
    if isinstance(value, str):
        value = part_of(value)
    name = value.get("name") if isinstance(value, Mapping) else value
    if isinstance(name, str):
        faults.choice(role, name, names_of(role))
    elif not is_own(value):
        faults.add(role, value, f"one of {', '.join(names_of(role))}")
    return value


def _with_part(role: str, today: Draft, value: Any) -> Draft:
    return today.with_part(role, value)


def _parameter(value: Any, faults: Faults) -> Any:
    del faults
    if not isinstance(value, str):
        return value
    found = _PERCENT.fullmatch(value.strip())
    return Percent(float(found[1])) if found else value_of(value)


def _with_parameter(role: str, name: str, today: Draft, value: Any) -> Draft:
    return today.with_parameter(role, name, _settled(value, today.value(role, name)))


_FILES: Mapping[str, Callable[[str], Any]] = {"events": read_events, "contract": Contract.from_toml}
_NO_SETTINGS = ("bound", "until_s")
"""Options that say what is looked at, not what is run."""


def _of_run() -> Iterator[Key]:
    for name, parameter in parameters_of(RunOptions).items():
        change = partial(_with_run_option, name)
        if name in _FILES:
            yield Key(name, OPTIONS, f"a file, or {NONE}", partial(_of_file, parameter), change)
        elif name not in _NO_SETTINGS:
            yield _declared(name, OPTIONS, parameter, change)


def _of_file(parameter: Parameter, value: Any, faults: Faults) -> Any:
    if value is None or value == NONE:
        return None
    return parameter.settle(_FILES[parameter.name](value) if isinstance(value, str) else value, faults)


def _with_run_option(name: str, today: RunOptions, value: Any) -> RunOptions:
    kind = parameters_of(RunOptions)[name].kind
    return replace(today, **{name: _settled(value, getattr(today, name), kind=kind)})


def rows_of_keys(keys: Mapping[str, Key]) -> Sequence[tuple[str, str]]:
    """Each key with its allowed values, in words."""
    return [(key.name, key.form) for key in keys.values()]
