"""A platform as Slurm's files describe it: nodes, partitions and licences of slurm.conf or ``scontrol show``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from hetsched.checks import Faults, did_you_mean, few, listed, shown
from hetsched.errors import ConfigError, Fault
from hetsched.hostlists import folded
from hetsched.params import ASSUMED_W
from hetsched.platform.node_class import NodeClass
from hetsched.platform.queues import Queue
from hetsched.slurm_files.nodes import CPU_KEYS, NodeLine, SlurmNodes, cpus_of
from hetsched.slurm_files.records import Record, SlurmFiles, Value
from hetsched.slurm_files.values import UNLIMITED, limit_s, whole, whole_or
from hetsched.workload.constraints import is_feature, is_licence


class Assumed(float):
    """Number that stands where none was given."""


SLURM_WATTS = (
    *("idle_w", "tdp_w", "busy_w", "off_w", "down_w"),
    *("boot_s", "boot_w", "shutdown_s", "shutdown_w", "boot_cost"),
)
"""Parameters of node classes that Slurm's files do not have."""

_MB_PER_GB = 1024
_MOST = {"gpus": 1024, "memory": 10**9 * _MB_PER_GB, "count": 2**31 - 1, "any": 10**9}


@dataclass(frozen=True)
class SlurmMachine:
    """Parts of a platform, and what the files say that has no place in one."""

    classes: list[NodeClass]
    queues: list[Queue] | None
    licences: dict[str, int] | None
    said: str
    """What is left out or assumed, in a sentence for a warning; empty if there is nothing to say."""


def read_slurm(
    paths: Iterable[str | Path], watts: Mapping[str, float | Mapping[str, float] | None], *, shared: bool
) -> SlurmMachine:
    """The machine of some files; `watts` are parameters of node classes, each a number or by class or feature."""
    faults, files = Faults(), SlurmFiles()
    for path in paths:
        files.read(Path(path), faults)
    faults.check()
    nodes = SlurmNodes(files, faults)
    makes = _makes(nodes, faults)
    if not files.of_kind("nodename"):
        faults.note(listed(map(str, paths)), "no NodeName", "at least one line NodeName=…")
    queues = _Partitions(files, nodes, faults).queues()
    licences = _licences(files.settings.get("licenses"), faults)
    faults.check()
    if not nodes.names:
        faults.note(listed(map(str, paths)), "FUTURE nodes only", "at least one node that is there")
    watts, assumed = _with_sleep(files, watts, faults)
    classes = _classes(nodes, makes, watts, shared=shared, faults=faults)
    faults.check()
    return SlurmMachine(classes, queues or None, licences, _said(files, watts, assumed, makes, queues))


@dataclass(frozen=True)
class _Make:
    """Properties of a node; neighbours with the same are a class."""

    cpus: int
    memory_gb: float | None
    gpus: int
    features: tuple[str, ...]
    weight: int


def _makes(nodes: SlurmNodes, faults: Faults) -> list[_Make]:
    """The make of each node that is there."""
    of_line = [(line, _make(line, faults)) for line in nodes.lines]
    return [make for line, make in of_line if not line.is_future for _ in line.names]


def _make(line: NodeLine, faults: Faults) -> _Make:
    memory_mb = whole(line.record, "realmemory", faults, high=_MOST["memory"])
    return _Make(
        cpus=cpus_of(line.record, faults),
        memory_gb=memory_mb / _MB_PER_GB if memory_mb is not None and memory_mb > 1 else None,
        gpus=_gpus(line.record, faults),
        features=line.features,
        weight=whole_or(line.record, "weight", faults, absent=1),
    )


def _gpus(record: Record, faults: Faults) -> int:
    """GPUs of ``Gres``: ``gpu``, ``gpu:2``, ``gpu:a100:4(S:0-1)``, summed."""
    value = record.value("gres")
    if value is None or value.text is None:
        return 0
    total = 0
    for one in re.sub(r"\([^)]*\)", "", value.text).split(","):
        name, *rest = (part.strip() for part in one.split(":"))
        rest = [part for part in rest if part.lower() != "no_consume"]
        if name.lower() == "gpu":
            count = _gres_count(rest)
            if count is None:
                faults.add(value.place, one, "GPUs such as gpu:2 or gpu:a100:4")
            total += count or 0
    if total > _MOST["gpus"]:
        faults.add(value.place, value.text, f"at most {_MOST['gpus']} GPUs in a node")
    return total


def _gres_count(parts: list[str]) -> int | None:
    """The count among what follows ``gpu:``; 1 where only a type does."""
    if not parts:
        return 1
    found = re.fullmatch(r"([0-9]{1,9})([kKmM]?)", parts[-1])
    if found is not None and len(parts) <= 2:
        return int(found[1]) * {"": 1, "k": 1024, "m": 1024**2}[found[2].lower()]
    return 1 if len(parts) == 1 and parts[0] else None


class _Partitions:
    """Partitions as queues."""

    def __init__(self, files: SlurmFiles, nodes: SlurmNodes, faults: Faults) -> None:
        self.records = files.of_kind("partitionname")
        self.nodes = nodes
        self.faults = faults

    def queues(self) -> list[Queue]:
        """A queue for each partition that has nodes."""
        found: dict[str, Value] = {}
        queues = []
        for record in self.records:
            name = record.name.text or ""
            if name in found:
                first = found[name]
                expected = f"each partition once; {first.file}, line {first.line} has it"
                self.faults.note(record.name.place, f"{shown(name)} again", expected)
            elif numbers := self.nodes.numbers(record.value("nodes")):
                queues += self._queue(record, name, numbers)
            found.setdefault(name, record.name)
        return queues

    def _queue(self, record: Record, name: str, numbers: list[int]) -> list[Queue]:
        before = len(self.faults.found)
        most = _most_nodes(record, self.faults)
        given = {
            "priority": whole(record, "prioritytier", self.faults, high=_MOST["any"]),
            "max_nodes": most if most is not None and most < len(numbers) else None,
            "max_walltime_s": limit_s(record.value("maxtime"), self.faults),
            "default_walltime_s": limit_s(record.value("defaulttime"), self.faults),
            "default": self._is_default(record),
        }
        if len(self.faults.found) > before:
            return []
        given["priority"] = 1 if given["priority"] is None else given["priority"]
        try:
            return [Queue(name, numbers, **given)]  # type: ignore[arg-type]
        except ConfigError as error:
            self.faults.extend(error, lambda fault: _at_its_line(fault, record))
            return []

    def _is_default(self, record: Record) -> bool:
        """True if jobs that name no partition are in this one: the last of those that say so, as Slurm reads them."""
        said = [one for one in self.records if (value := one.value("default")) and (value.text or "").upper() == "YES"]
        return bool(said) and said[-1] is record


_KEY_OF = {"name": "", "max_nodes": "maxnodes", "max_walltime_s": "maxtime", "default_walltime_s": "defaulttime"}


def _at_its_line(fault: Fault, record: Record) -> Fault:
    """A queue's fault at the value that it comes from."""
    return fault.at(record.values.get(_KEY_OF.get(fault.path, ""), record.name).place)


def _most_nodes(record: Record, faults: Faults) -> int | None:
    value = record.value("maxnodes")
    if value is None or (value.text or "").upper() in UNLIMITED:
        return None
    return whole(record, "maxnodes", faults)


def _licences(value: Value | None, faults: Faults) -> dict[str, int] | None:
    """Licences by name: ``a:4,b``, one without a count."""
    if value is None or not value.text:
        return None
    found: dict[str, int] = {}
    for one in re.split("[,;]", value.text):
        name, _, count = (
            one.strip().replace("*", ":").rpartition(":") if re.search("[:*]", one) else (one.strip(), "", "1")
        )
        if not is_licence(name) or not re.fullmatch("[0-9]{1,9}", count):
            faults.add(value.place, one, "licences such as matlab:4,ansys")
        else:
            found[name] = found.get(name, 0) + int(count)
    return found


def _classes(
    nodes: SlurmNodes,
    makes: list[_Make],
    watts: Mapping[str, float | Mapping[str, float] | None],
    *,
    shared: bool,
    faults: Faults,
) -> list[NodeClass]:
    """Neighbours that are alike in everything, named by their host list."""
    runs = [
        (make, [nodes.names[place] for place in run])
        for make, run in groupby(range(len(nodes.names)), makes.__getitem__)
    ]
    named = [(folded(names), make, names) for make, names in runs]
    known = {name for name, _, _ in named} | {word for make in set(makes) for word in make.features}
    _refuse_other_keys(watts, known, faults)
    classes, seen = [], set()
    for name, make, names in named:
        own = {parameter: _watts_of(given, name, make, ASSUMED_W.get(parameter)) for parameter, given in watts.items()}
        try:
            classes.append(
                NodeClass(
                    name,
                    len(names),
                    slots=make.cpus if shared else 1,
                    gpus=make.gpus,
                    memory_gb=make.memory_gb,
                    features=[word for word in make.features if is_feature(word)],
                    weight=make.weight,
                    node_names=names,
                    **own,
                )
            )
        except ConfigError as error:
            # One number for all is wrong once, however many classes there are.
            told = [
                fault.under(f"class {name}", ": ") if _is_by_name(watts, fault) else fault for fault in error.details
            ]
            faults.found += [fault for fault in told if str(fault) not in seen]
            seen |= set(map(str, told))
    return classes


def _is_by_name(watts: Mapping[str, Any], fault: Fault) -> bool:
    return any(isinstance(given, Mapping) for given in watts.values()) or fault.path not in watts


def _with_sleep(
    files: SlurmFiles, watts: Mapping[str, float | Mapping[str, float] | None], faults: Faults
) -> tuple[dict[str, float | Mapping[str, float] | None], list[str]]:
    """The parameters with times of boots and shutdowns by the limits that the file has for these, in words, too."""
    found, said = dict(watts), []
    texts = {key: (files.settings[key].text or "").lower() if key in files.settings else "" for key in _OF_SLEEP}
    sleeps = all(texts.values()) and texts["suspendtime"] not in ("-1", "none", "infinite")
    for name, key, usual_s in _LIMITS:
        value = files.settings.get(key)
        if watts[name] is not None or (value is None and not sleeps):
            continue
        if value is not None and not (text := value.text or "").isdecimal():
            faults.add(value.place, text, "a whole number of seconds")
            continue
        found[name] = usual_s if value is None else float(value.text or 0)
        said.append(f"{name}={found[name]:g}{f' of {value.key}' if value is not None else ''}")
    if sleeps and watts["off_w"] is None:
        found["off_w"] = _ASSUMED_OFF_W
        said.append(f"off_w={_ASSUMED_OFF_W:g}")
    return found, said


_OF_SLEEP = ("suspendtime", "suspendprogram", "resumeprogram")
_LIMITS = (("boot_s", "resumetimeout", 60.0), ("shutdown_s", "suspendtimeout", 30.0))
"""Times of nodes, and the keys of their limits with Slurm's own defaults."""

_ASSUMED_OFF_W = 10.0


def _refuse_other_keys(watts: Mapping[str, Any], known: set[str], faults: Faults) -> None:
    for parameter, given in watts.items():
        for key in given if isinstance(given, Mapping) else ():
            if key != "*" and key not in known:
                expected = (
                    f"classes or features: {few(sorted(known))}, or * for all others{did_you_mean(str(key), known)}"
                )
                faults.add(f"{parameter}[{shown(key)[1:-1]}]", given[key], expected)


def _watts_of(given: float | Mapping[str, float] | None, name: str, make: _Make, absent: float | None) -> Any:
    """A class's own value: of a mapping that of its name, else of the first feature it has, else of ``*``."""
    if not isinstance(given, Mapping):
        return given
    keys = [name, *(key for key in given if key in make.features), "*"]
    return next((given[key] for key in keys if key in given), absent)


_USED = {
    "nodename": {"realmemory", "gres", "features", "weight", "cpus", "procs", "cputot", *CPU_KEYS},
    "partitionname": {"nodes", "prioritytier", "maxtime", "defaulttime", "maxnodes", "default"},
    "nodeset": {"nodes", "features"},
}
_TITLES = {"nodename": "of nodes", "partitionname": "of partitions", "nodeset": "of sets of nodes"}

_NOTHING = {"", "ALL", "NO", "NONE", "N/A", "N/S", "UNLIMITED", "OFF", "0", "0.00", "1", "UP", "UNKNOWN"}
"""Values by which ``scontrol`` shows that nothing was set."""

_PASSING = re.compile(
    r"arch|os|version|port|owner|partitions|comment|extra|reason|default|tres|total.*|job.*|alloc(mem|tres)|nodeaddr"
    r"|nodehostname|bcastaddr|cfgtres|cpualloc|cpuefctv|cpuload|freemem|activefeatures|mcs_label|.*time|.*watts"
    r"|.*joules|ext.*|gresused|gresdrain|instance.*"
)
"""Keys of what ``scontrol`` shows of a moment, or of what others of its keys say too."""

_OF_SCHEDULES = re.compile(
    r"allow|deny|preempt|suspend|resume|priority|sched|select|over|qos|def|max|min|enforce|fair|grace|exclusive|reserv"
    r"|resv|root|reqresv|lln|state|alternate|kill|requeue|job|topology|power|disable|down|core|cpu|mem|tres|tmpdisk",
    re.IGNORECASE,
)


def _said(
    files: SlurmFiles,
    watts: Mapping[str, float | Mapping[str, float] | None],
    sleep: list[str],
    makes: list[_Make],
    queues: list[Queue],
) -> str:
    """A sentence on what has no place in a platform, and on assumed watts."""
    unused = [one for record in files.records for one in _unused(record)]
    used = {"licenses", *(text.rpartition(" of ")[2].lower() for text in sleep)}
    other = [value.key for key, value in files.settings.items() if key not in used]
    told = [f"{_TITLES[kind]} {listed(keys)}" for kind, keys in _by_kind(unused).items()]
    said = [*told, *_split(other)]
    parts = [f"left out, as a platform has no place for it: {'; '.join(said)}"] if said else []
    empty = [record.name.text or "" for record in files.of_kind("partitionname")]
    if empty := [name for name in empty if name not in {queue.name for queue in queues}]:
        parts.append(f"partitions without nodes: {few(empty)}")
    unnameable = {word for make in set(makes) for word in make.features if not is_feature(word)}
    if unnameable:
        parts.append(f"features that no constraint can name: {few(sorted(unnameable))}")
    assumed = [f"{name}={value:g}" for name, value in ASSUMED_W.items() if _is_assumed(watts[name])]
    if assumed:
        parts.append(f"assumed, as these files have no watts: {' and '.join(assumed)} a node")
    if sleep:
        parts.append(f"assumed of nodes that sleep: {', '.join(sleep)}")
    return "; ".join(parts)


def _is_assumed(given: float | Mapping[str, float] | None) -> bool:
    return isinstance(given, Assumed) or (isinstance(given, Mapping) and "*" not in given)


def _unused(record: Record) -> Iterator[tuple[str, str]]:
    """Kind and key of a record's entries that are not used."""
    if record.kind not in _USED:
        yield "", record.name.key
        return
    for key, value in record.values.items():
        if key in _USED[record.kind] or (key == "state" and _is_usual(value)):
            continue
        is_said = not record.is_shown or ((value.text or "").upper() not in _NOTHING and not _PASSING.fullmatch(key))
        if is_said:
            yield record.kind, value.key


def _is_usual(value: Value) -> bool:
    """True of the state of a node or a partition that serves jobs."""
    flags = re.split(r"[+*~#$@^!%-]", (value.text or "").upper())
    return {flag for flag in flags if flag} <= {"UP", "UNKNOWN", "IDLE", "ALLOCATED", "MIXED", "CLOUD", "FUTURE"}


def _by_kind(unused: list[tuple[str, str]]) -> dict[str, list[str]]:
    """Keys by kind, each once, in any case."""
    found: dict[str, dict[str, str]] = {}
    for kind, key in unused:
        found.setdefault(kind, {}).setdefault(key.lower(), key)
    return {kind: sorted(keys.values(), key=str.lower) for kind, keys in found.items()}


def _split(settings: list[str]) -> list[str]:
    """Settings of the whole machine: those that schedules depend on, then the others."""
    ordered = sorted(settings, key=str.lower)
    of_schedules = ", ".join(key for key in ordered if _OF_SCHEDULES.match(key))
    others = ", ".join(key for key in ordered if not _OF_SCHEDULES.match(key))
    return [part for part in (of_schedules, others) if part]
