"""The file of a sweep: logs or a generator, machines, policies and settings as lists, read into what `hs.sweep` takes.

Besides its own keys it has those of the options that `hetsched compare` has for logs, machines and runs.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import hetsched as hs
from hetsched.checks import Faults, did_you_mean, exists, listed, read_toml, shown
from hetsched.cli.declare import group_of, keys_of
from hetsched.cli.inputs import header_nodes
from hetsched.cli.named_policies import of_policy, policy_of
from hetsched.cli.run_options import RunGiven
from hetsched.cli.terminal import Screen, noted
from hetsched.cli.whatif import TodaysInputs
from hetsched.errors import Fault
from hetsched.many.axes import unique_name
from hetsched.platform import Platform
from hetsched.run.options import RunOptions

_OWN = ("logs", "generator", "platforms", "policies", "settings", "seeds", "metrics", "baseline", "out")
_INSTEAD = {"TRACE": "logs", "platform": "platforms", "seed": "seeds"}
"""Options of other commands that are lists here."""
_FILES = ("table", "events", "contract")
"""Options that are files, found from the folder of the sweep's."""
_SETTINGS_OF_FILES = ("platform", "queues", "events", "contract")
"""Settings whose values may be files."""
_MOST_RUNS = 1_000_000

Workloads = dict[str, Any]


def _options() -> dict[str, str]:
    """Options of logs, machines and runs by their keys."""
    known = {**keys_of(TodaysInputs), **keys_of(RunGiven)}
    return {key: name for key, name in known.items() if key not in _INSTEAD}


def in_file(path: str, fault: Fault) -> Fault:
    """A fault at its key of the file."""
    for key, option in _options().items():
        fault = fault.moved(option, key)
    return fault.under(path, ": ") if path not in fault.path else fault


@dataclass(frozen=True)
class Place:
    """A machine and options of runs, under which policies are compared."""

    platform: Platform
    options: RunOptions


@dataclass(frozen=True)
class Axis:
    """Names of one axis of the runs, and, where they stand for numbers, which and of what."""

    title: str = ""
    at: Mapping[str, float] | None = None


@dataclass(frozen=True)
class SweepFile:
    """Content of a file; logs and machines are not read yet."""

    folder: Path
    logs: Sequence[str]
    generator: Mapping[str, Any]
    platforms: Sequence[str]
    policies: Mapping[str, hs.Policy]
    settings: Mapping[str, Any]
    seeds: Any
    metrics: Sequence[str]
    baseline: str
    out: str | None
    inputs: TodaysInputs
    run: RunGiven

    @classmethod
    def of(cls, path: str) -> SweepFile:
        """The content of a file, checked as far as it can be without its logs and machines."""
        content, folder, faults = read_toml(path), Path(path).parent, Faults()
        options = _options()
        for key in content:
            if key in _INSTEAD:
                faults.add(key, content[key], f"{_INSTEAD[key]}, a list")
            elif key not in (*_OWN, *options):
                known = [*_OWN, *options]
                faults.add(key, content[key], f"one of {listed(known)}{did_you_mean(key, known)}")
        given = {key: _found(folder, key, value) for key, value in content.items() if key in options}
        inputs, run = group_of(TodaysInputs, given, faults), group_of(RunGiven, given, faults)
        policies = _policies(folder, content.get("policies", "easy"), faults)
        made = cls(
            folder=folder,
            logs=_texts(content, "logs", faults),
            generator=_table(content, "generator", faults),
            platforms=_texts(content, "platforms", faults),
            policies=policies,
            settings=_settings(folder, _table(content, "settings", faults), faults),
            seeds=content.get("seeds", 1),
            metrics=_metrics(content, run, faults),
            baseline=str(content.get("baseline", "")),
            out=None if "out" not in content else str(folder / str(content["out"])),
            inputs=inputs,
            run=run,
        )
        made._check(faults)
        return made

    def _check(self, faults: Faults) -> None:
        """Raise what is wrong with the file."""
        if bool(self.logs) == bool(self.generator):
            found = "both" if self.logs else "neither"
            faults.note("logs, generator", found, "logs, a list of files, or a table [generator] with its kind")
        for name in self.logs:
            if not exists(self.folder / name):
                faults.add("logs", name, "a job log; there is no such file")
        for one in self._each_inputs():
            one.check(faults)
        if not faults.found:
            self.run.check(faults, self.inputs)
            self._draws(faults)
        faults.check()

    def _each_inputs(self) -> Iterator[TodaysInputs]:
        """The options of each machine."""
        if not self.platforms:
            yield self.inputs
        for name in self.platforms:
            here = self.folder / name
            yield replace(self.inputs, platform=str(here) if exists(here) else name)

    def workloads(self, screen: Screen) -> tuple[Workloads, Axis]:
        """The logs, read, or functions of the seed that give draws of the generator; and what their names say."""
        if self.generator:
            return self._draws(Faults())
        found: Workloads = {}
        for name in self.logs:
            log = replace(self.inputs.log, trace=str(self.folder / name))
            found[unique_name(Path(name).name, found)] = log.read(screen)
        return found, Axis()

    def _draws(self, faults: Faults) -> tuple[Workloads, Axis]:
        """Functions of the seed, one a combination of the parameters that are lists."""
        from hetsched.workload import GENERATORS

        if not self.generator:
            return {}, Axis()
        parameters = dict(self.generator)
        kind = parameters.pop("kind", None)
        if kind not in GENERATORS:
            hint = did_you_mean(str(kind), GENERATORS)
            faults.add("generator.kind", "nothing" if kind is None else kind, f"one of {listed(GENERATORS)}{hint}")
            return {}, Axis()
        generator = GENERATORS[kind]
        known = {one.name: one for one in generator.parameters if one.name != "seed"}
        own = Faults("generator")
        own.unknown_keys(parameters, known)
        lists = {name: value if isinstance(value, list) else [value] for name, value in parameters.items()}
        for name in [name for name in lists if name in known]:
            for value in lists[name]:
                known[name].settle(value, own)
        faults.extend(own)
        axes = [name for name in lists if isinstance(parameters[name], list)]
        found: Workloads = {}
        at: dict[str, float] = {}
        for values in product(*lists.values()):
            each = dict(zip(lists, values, strict=True))
            label = ", ".join(f"{name}={each[name]}" for name in axes) or kind
            found[label] = partial(generator.function, **each)
            if len(axes) == 1 and isinstance(each[axes[0]], int | float):
                at[label] = float(each[axes[0]])
        return found, Axis(axes[0], at) if at else Axis()

    def machines(self, screen: Screen, workloads: Workloads) -> tuple[dict[str, Place], Axis]:
        """The machines under every combination of the settings of machines and runs; and what their names say."""
        drawn = {name: one(seed=0) if callable(one) else one for name, one in workloads.items()}
        self._check_sizes(drawn)
        first, found, said = next(iter(drawn.values())), dict[str, Platform](), dict[str, None]()
        for inputs in self._each_inputs():
            machine, remarks = inputs.machine_of(first)
            said |= dict.fromkeys(remarks)
            name = f"{machine.platform.nodes:,} nodes" if inputs.platform is None else Path(inputs.platform).stem
            found[unique_name(name, found)] = machine.platform
        for remark in said:
            screen.say(_with_keys(remark))
        return self._with_settings(found)

    def _check_sizes(self, drawn: Mapping[str, hs.Workload]) -> None:
        """Refuse logs whose headers say different machines, where nothing else says which one it is."""
        if self.platforms or self.inputs.nodes is not None:
            return
        each = self.inputs.log.procs_per_node
        headers = {name: one.report.get("header") or {} for name, one in drawn.items()}
        sizes = {name: header_nodes(own, procs_per_node=each, log=name)[0] for name, own in headers.items()}
        if len(set(sizes.values())) > 1:
            found = ", ".join(f"{size:,} for {name}" for name, size in sizes.items())
            raise hs.ConfigError([("nodes", f"none, and by the logs {found}", "one number, or platforms")])

    def _with_settings(self, machines: Mapping[str, Platform]) -> tuple[dict[str, Place], Axis]:
        from hetsched.whatif.keys import OPTIONS, PLATFORM

        found: dict[str, Place] = {}
        at: dict[str, float] = {}
        title = ""
        for name, machine in machines.items():
            axes, rows = self._rows(machine, hs.Policy(), (PLATFORM, OPTIONS))
            for row in rows:
                label = unique_name(row.title if len(machines) == 1 and axes else _joined(name, row.title), found)
                found[label] = Place(row.platform, row.options)
                if len(axes) == 1 and len(machines) == 1:
                    title = axes[0].name
                    thing = row.options if axes[0].key.of == OPTIONS else row.platform
                    number = getattr(thing, title, row.given[title])
                    at |= {label: float(number)} if isinstance(number, int | float) else {}
        return found, Axis(title, at) if len(at) == len(found) else Axis()

    def contestants(self, machine: Platform) -> dict[str, hs.Policy]:
        """The policies under every combination of the settings that are theirs."""
        from hetsched.whatif.keys import POLICY

        found: dict[str, hs.Policy] = {}
        for name, policy in self.policies.items():
            for row in self._rows(machine, policy, (POLICY,))[1]:
                is_named = name != policy.name
                label = _joined(name, row.title) if is_named else row.policy.name
                found[unique_name(label, found)] = row.policy
        return found

    def _rows(self, machine: Platform, policy: hs.Policy, of: Collection[str]) -> tuple[list[Any], list[Any]]:
        """Axes of the settings of some things, and a row for each combination of their values."""
        from hetsched.whatif.settings import Setting, axes_of, settings_of

        faults, options = Faults(), self.run.options()
        axes = axes_of(self.settings, machine, faults) if self.settings else []
        faults.check()
        own = [axis for axis in axes if axis.key.of in of]
        if not own:
            return [], [Setting(0, {}, machine, policy, options)]
        # The first is that without settings.
        rows = settings_of(own, machine, policy, options, faults)[1:]
        faults.check()
        return own, rows


def _joined(name: str, title: str) -> str:
    return name if title == "today" else f"{name}, {title}"


def _with_keys(text: str) -> str:
    """A remark in which options are called by their keys."""
    for key, option in _options().items():
        text = re.sub(rf"(?<![\w-]){re.escape(option)}(?![\w-])", key, text)
    return text


def _found(folder: Path, key: str, value: Any) -> Any:
    """The value of an option; a file from the folder of the sweep's."""
    return str(folder / value) if key in _FILES and isinstance(value, str) else value


def _texts(content: Mapping[str, Any], key: str, faults: Faults) -> Sequence[str]:
    value = content.get(key, [])
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list) or not all(isinstance(one, str) and one for one in found):
        faults.add(key, value, "a list of names")
        return []
    return found


def _table(content: Mapping[str, Any], key: str, faults: Faults) -> Mapping[str, Any]:
    value = content.get(key, {})
    if not isinstance(value, dict):
        faults.add(key, value, f"a table [{key}]")
        return {}
    return value


def _settings(folder: Path, given: Mapping[str, Any], faults: Faults) -> Mapping[str, Any]:
    """Lists of values by key: files among them from the folder of the sweep's, under the names that they have there."""
    from hetsched.whatif.keys import keys_of

    keys = keys_of()
    # A seed is a key there, and an axis of its own here.
    alone = {**{key: key for key in (*_OWN, *_options()) if key not in keys}, "seed": "seeds"}
    for key in [key for key in given if key in alone]:
        own = f"node.{key}" if f"node.{key}" in keys else f"{alone[key]} by itself, outside of [settings]"
        faults.note(f"settings.{key}", "it", own)
    found = {key: value for key, value in given.items() if key not in alone}
    for key in _SETTINGS_OF_FILES:
        if isinstance(values := found.get(key), list):
            found[key] = {str(one): _near(folder, one) for one in values}
        elif isinstance(values, dict):
            found[key] = {name: _near(folder, one) for name, one in values.items()}
    return found


def _near(folder: Path, value: Any) -> Any:
    """The file of this name in a folder, if there is one; else the value."""
    return str(folder / value) if isinstance(value, str) and exists(folder / value) else value


def _metrics(content: Mapping[str, Any], run: RunGiven, faults: Faults) -> Sequence[str]:
    """Keys of the summary that these runs have; those of comparisons are of pairs of runs."""
    from hetsched.run.metrics import DEFAULT_METRICS, OF_COMPARISON

    keys = _texts(content, "metrics", faults) or DEFAULT_METRICS
    run.check_metrics(faults, "metrics", keys, settings=content.get("settings") or ())
    for key in keys:
        if key in OF_COMPARISON:
            faults.add("metrics", key, "a key of the summary: this one is of hetsched compare only")
    return keys


def _found_from(folder: Path, text: str) -> str:
    """A policy's text with the files in it found from the folder."""
    if ".py" in text:
        return str(folder / text)
    settings = [one.partition("=") for one in text.split(":")]
    files = ("conf", "beats")
    return ":".join(f"{key}={folder / value}" if key in files else f"{key}{is_}{value}" for key, is_, value in settings)


def _policies(folder: Path, given: Any, faults: Faults) -> dict[str, hs.Policy]:
    """Policies by name, of a list or of a table of names."""
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, list | dict) or not given:
        faults.add("policies", given, "a list of policies, or a table of them by name")
        return {}
    found: dict[str, hs.Policy] = {}
    for name, text in given.items() if isinstance(given, dict) else enumerate(given):
        if not isinstance(text, str):
            faults.add(f"policies[{name!r}]", text, "a preset, NAME:PARAM=VALUE, or FILE.py:NAME")
            continue
        with noted(faults), of_policy(text, "policies"):
            policy = policy_of(_found_from(folder, text))
            label = name if isinstance(name, str) else policy.name
            if label in found:
                faults.add("policies", shown(label), "each policy once")
            found[label] = policy
    return found
