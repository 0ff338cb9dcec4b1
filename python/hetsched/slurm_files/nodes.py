"""Nodes of Slurm's files by name and number, and the lists that name them: of partitions, of NodeSets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hetsched.checks import Faults, did_you_mean, few, shown
from hetsched.slurm_files.records import Record, SlurmFiles, Value
from hetsched.slurm_files.values import host_names, whole

CPU_KEYS = ("boards", "socketsperboard", "sockets", "corespersocket", "threadspercore")
"""Keys of a node's CPUs by their place in the machine."""


@dataclass(frozen=True)
class NodeLine:
    """A line of nodes, and their names."""

    record: Record
    names: list[str]

    @property
    def is_future(self) -> bool:
        """True of nodes that are not there yet."""
        state = self.record.value("state")
        return state is not None and re.match("future", state.text or "", re.IGNORECASE) is not None

    @property
    def features(self) -> tuple[str, ...]:
        """Features of each of them, in alphabetical order."""
        value = self.record.value("features")
        words = [] if value is None or value.text is None else [word.strip() for word in value.text.split(",")]
        return tuple(sorted({word for word in words if word}))


class SlurmNodes:
    """Nodes in the order of the files: their lines, names, and where each stands; notes those that are there twice."""

    def __init__(self, files: SlurmFiles, faults: Faults) -> None:
        self.faults = faults
        self.lines: list[NodeLine] = []
        """Lines of nodes, with those of FUTURE ones."""
        self.names: list[str] = []
        self.number: dict[str, int] = {}
        self.stands: dict[str, Value] = {}
        for record in files.of_kind("nodename"):
            self._add(NodeLine(record, host_names(record.name, faults)))
        self.sets = {record.name.text: self._of_set(record) for record in files.of_kind("nodeset")}

    @property
    def present(self) -> list[NodeLine]:
        """Lines of nodes that are there."""
        return [line for line in self.lines if not line.is_future]

    def numbers(self, value: Value | None) -> list[int]:
        """Numbers of the nodes that a list names, ascending; notes those that are none."""
        if value is None:
            return []
        names = self._named(value, self.sets)
        strangers = [name for name in names if name not in self.stands]
        if strangers:
            hint = did_you_mean(strangers[0], [*self.stands, *filter(None, self.sets)])
            expected = f"nodes of a line NodeName, NodeSets or ALL{hint}"
            self.faults.note(value.place, few([shown(name) for name in strangers]), expected)
        return sorted({self.number[name] for name in names if name in self.number})

    def _add(self, line: NodeLine) -> None:
        name = line.record.name
        if (twice := next(_seen_before(line.names, self.stands), None)) is not None:
            at = self.stands.get(twice, name)
            expected = f"each node once; {at.file}, line {at.line} has it"
            self.faults.note(name.place, f"{shown(twice)} again", expected)
        self.stands |= dict.fromkeys(line.names, name)
        self.lines.append(line)
        if not line.is_future:
            self.number |= {own: len(self.names) + place for place, own in enumerate(line.names)}
            self.names += line.names

    def _of_set(self, record: Record) -> list[str]:
        """The nodes of a NodeSet: those it names, and those with its feature."""
        named = [] if (value := record.value("nodes")) is None else self._named(value, {})
        feature = record.value("features")
        if feature is None:
            return named
        return [*named, *(name for line in self.present if feature.text in line.features for name in line.names)]

    def _named(self, value: Value, sets: Mapping[str | None, list[str]]) -> list[str]:
        if (value.text or "").upper() == "ALL":
            return self.names
        return [own for name in host_names(value, self.faults) for own in sets.get(name, [name])]


def _seen_before(names: list[str], stands: Mapping[str, Value]) -> Iterator[str]:
    """Names that stand somewhere already, or earlier in the list."""
    own: set[str] = set()
    for name in names:
        if name in stands or name in own:
            yield name
        own.add(name)


def cpus_of(record: Record, faults: Faults) -> int:
    """CPUs as Slurm infers them: ``Sockets`` counts those of all boards (`read_config.c`)."""
    for key in ("cputot", "cpus", "procs"):
        if (cpus := whole(record, key, faults)) is not None:
            return max(cpus, 1)
    each = {key: whole(record, key, faults) for key in CPU_KEYS}
    boards, per_board, sockets, cores, threads = (max(1, each[key] or 1) for key in CPU_KEYS)
    if each["sockets"] is None or each["socketsperboard"] is not None:
        sockets = boards * per_board
    return sockets * cores * threads
