"""The settings of Slurm's scheduler as a slurm.conf has them, for the preset ``slurm``.

`hetsched.policy.slurm_options` says what becomes of each option. All faults of a file are reported at once, each with
its line; one warning lists what the file says and the schedule leaves out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from hetsched.checks import Faults, did_you_mean, few, listed, run_text, runs_of, shown, whole_text
from hetsched.errors import ConfigError, Fault
from hetsched.policy.slurm_options import (
    OPTIONS,
    Advice,
    Covered,
    Elsewhere,
    NotReadError,
    Option,
    Unsupported,
)
from hetsched.slurm_files.nodes import SlurmNodes, cpus_of
from hetsched.slurm_files.records import Record, SlurmFiles, Value
from hetsched.slurm_files.values import limit_s, whole_or
from hetsched.typing import OnUnsupported

RELEASES = ("22.05", "23.02", "23.11", "24.05", "24.11", "25.05")
"""Releases of Slurm whose rules differ."""

OF_CONF = ("conf", "unsupported", "beats")
"""Parameters of presets that stand for settings of the backfill."""

_NEW_DEFAULTS = "23.11"
"""The release since which multifactor and cons_tres are defaults."""

_MACHINE = "machine"
_LISTS = ("SchedulerParameters", "SlurmctldParameters")
_OF_MACHINE = {"SuspendTime": "infinite", "SuspendTimeout": "30", "ResumeTimeout": "60"}
_WHAT_HELPS = "; unsupported=warn leaves such options out"
_COUNTED = Unsupported("names without :COUNT", "a number of nodes that stay awake is")
_WEIGHTS = ("priorityweightage", "priorityweightjobsize", "priorityweightfairshare", "priorityweightqos")


@dataclass(frozen=True)
class SlurmConf:
    """Settings of the backfill ``slurm`` as a file has them."""

    settings: dict[str, Any] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    """File, line and key of each that is written in the file."""
    said: str = ""
    """Warning about what the file says and the schedule leaves out; empty if there is nothing to say."""


def read_slurm_conf(
    path: str | os.PathLike[str], *, release: str, unsupported: str = "error", recomputes: bool = False
) -> SlurmConf:
    """The settings in a file; raises ConfigError with all its faults."""
    faults, files = Faults(), SlurmFiles()
    name = whole_text(str(path))
    files.read(Path(path), faults)
    if any(record.is_shown for record in files.records):
        faults.note(name, "what scontrol prints", "slurm.conf")
    elif not faults.found and not files.settings and not files.records:
        faults.note(name, "no option", "slurm.conf")
    faults.check()
    reading = _Reading(name, files, release, faults, is_strict=unsupported == "error")
    reading.has_slurmdbd |= recomputes
    reading.read()
    faults.found = reading.sorted_faults()
    faults.check()
    return SlurmConf(reading.settings, reading.places, "; ".join(reading.sentences()))


class _Reading:
    """A file on its way to settings."""

    def __init__(self, name: str, files: SlurmFiles, release: str, faults: Faults, *, is_strict: bool) -> None:
        self.name, self.files, self.release, self.faults, self.is_strict = name, files, release, faults, is_strict
        self.settings: dict[str, Any] = {}
        self.places: dict[str, str] = {}
        self.from_line: dict[str, Value] = {}
        self.nodes = SlurmNodes(files, faults)
        self.has_slurmdbd = "slurmdbd" in self._text("AccountingStorageType")
        self.partitions = [record for record in files.of_kind("partitionname") if record.value("nodes") is not None]
        self.unknown: list[str] = []
        self.refused: list[Fault] = []
        self.left_out: dict[str, None] = {}
        self.remarks: dict[str, None] = {}

    def read(self) -> None:
        """Go through all options, then see what they make together."""
        for value in self.files.settings.values():
            self._option(_MACHINE, value.key, value.text or "", value)
        for first, later in self.files.replaced:
            if isinstance(OPTIONS[_MACHINE].get(first.key.lower(), ("", None))[1], Covered | Elsewhere | Unsupported):
                self._remark(first, f"{first.key} does not count, as {self._line(later)} has it again")
        for name in _LISTS:
            if (given := self._setting(name)) is not None:
                self._list(name, given)
        for line in self.nodes.present:
            self._record("NodeName", line.record)
        for partition in self.partitions:
            self._record("PartitionName", partition)
        for kind in ("frontendname", "downnodes"):
            for record in self.files.of_kind(kind):
                self._option(_MACHINE, record.name.key, record.name.text or "", record.name)
        self._priorities()
        self._licences()
        self._sleep()
        self._node_lines()
        self._contradictions()

    def sorted_faults(self) -> list[Fault]:
        """All faults in the order of the lines; the last of those that are not simulated says what can be done."""
        refused = sorted(self.refused, key=_line_of)
        refused[-1:] = [fault.hinting(_WHAT_HELPS) for fault in refused[-1:]]
        return sorted([*self.faults.found, *refused], key=_line_of)

    def sentences(self) -> Iterator[str]:
        """Sentences on what a user should know."""
        if self.unknown:
            yield f"not known, and left out: {few(self.unknown)}"
        if self.left_out:
            yield f"not simulated, and left out: {listed(self.left_out)}"
        yield from self.remarks

    def _setting(self, name: str) -> Value | None:
        value = self.files.settings.get(name.lower())
        return value if value is not None and value.text else None

    def _text(self, name: str) -> str:
        value = self._setting(name)
        return "" if value is None else (value.text or "").lower()

    @property
    def is_multifactor(self) -> bool:
        default = "multifactor" if self.release >= _NEW_DEFAULTS else "basic"
        return (self._text("PriorityType") or default).endswith("multifactor")

    @property
    def sleeps(self) -> bool:
        time, programs = self._text("SuspendTime"), (self._text("SuspendProgram"), self._text("ResumeProgram"))
        return bool(time) and time not in ("-1", "none", "infinite") and all(programs)

    def _line(self, value: Value) -> str:
        return f"line {value.line}" if value.file == self.name else f"{value.file}, line {value.line}"

    def _remark(self, value: Value, text: str) -> None:
        self.remarks[f"{self._line(value)}: {text}"] = None

    def _list(self, name: str, value: Value) -> None:
        """The options of a list such as SchedulerParameters; of one that is there twice the first counts."""
        seen: set[str] = set()
        for item in filter(None, (part.strip() for part in (value.text or "").split(","))):
            key, equals, text = (part.strip() for part in item.partition("="))
            if key.lower() in seen:
                self._remark(value, f"{key} is there twice in {name}, of which Slurm takes the first")
                continue
            seen.add(key.lower())
            own = Value(key, text, value.file, value.line)
            known = OPTIONS[name].get(key.lower())
            if equals and not text:
                self.faults.note(own.place, "nothing behind =", f"{key}=VALUE")
            elif known is not None and _is_old_name(known[0], seen):
                self._remark(value, f"{key} is an earlier name of {_parameter(known[1])}, which is given and counts")
            else:
                self._option(name, key, text, own)

    def _record(self, kind: str, record: Record) -> None:
        for key, value in record.values.items():
            self._option(kind, key, value.text or "", value, record)

    def _option(self, place: str, key: str, text: str, value: Value, record: Record | None = None) -> None:
        """One option: a setting, a fault, or something to say."""
        name, option = OPTIONS[place].get(key.lower(), ("", None))
        if option is None:
            self._unknown(place, value)
        elif isinstance(option, Covered):
            self._covered(option, text, value)
        elif isinstance(option, Advice) and text:
            self._remark(value, option.text)
        elif isinstance(option, Unsupported) and self._has_effect(name, option, text, record):
            self._unsupported(name, option, text, value)

    def _unknown(self, place: str, value: Value) -> None:
        where = "" if place == _MACHINE else f" of {place}"
        if others := [other for other, rows in OPTIONS.items() if value.key.lower() in rows]:
            hint = f", which belongs to {listed(others).replace(_MACHINE, 'a line of its own')}"
        else:
            near = did_you_mean(value.key, [name for name, _ in OPTIONS[place].values()])
            hint = near.replace("; did you mean", ", perhaps").rstrip("?")
        text = f"{shown(value.key)}{where} ({self._line(value)}{hint})"
        if text not in self.unknown:
            self.unknown.append(text)

    def _covered(self, option: Covered, text: str, value: Value) -> None:
        try:
            self.settings[option.parameter] = option.read(text)
        except NotReadError as error:
            if text:
                self.faults.add(value.place, text, str(error))
            else:
                self.faults.note(value.place, "nothing", str(error))
        self.places[option.parameter] = value.place
        self.from_line[option.parameter] = value

    def _has_effect(self, name: str, option: Unsupported, text: str, record: Record | None) -> bool:
        """True if a value of an option that is not simulated changes something here."""
        within = {
            "multifactor": self.is_multifactor,
            "slurmdbd": self.is_multifactor and self.has_slurmdbd,
            "power": self.sleeps,
        }
        if option.within and not within[option.within]:
            return False
        if option.like_the_machine and text.lower() == (self._text(name) or _OF_MACHINE[name]):
            return False
        if record is not None and name == "MaxNodes" and text.isdecimal():
            return int(text) < len(self.nodes.numbers(record.value("nodes")))
        if name == "PriorityWeightPartition" and len({_job_factor(record) for record in self.partitions}) < 2:
            return False
        words = {word.strip().lower() for word in text.split(",")}
        if option.harmful:
            return any(word.partition(":")[0] in option.harmful for word in words)
        return not words <= option.harmless

    def _unsupported(self, name: str, option: Unsupported, text: str, value: Value) -> None:
        if not self.is_strict:
            self.left_out[f"{name}{f'={text}' if text else ''} ({self._line(value)})"] = None
            return
        found = shown(text) if text else f"{name} alone"
        fault = Fault(value.place, found, f"{option.right}: {option.what} not simulated")
        # One of a line DEFAULT is met at every line after it.
        if fault not in self.refused:
            self.refused.append(fault)

    def _priorities(self) -> None:
        """The type of priority by the release, and weights that do not count."""
        if self.is_multifactor:
            self.settings["priority_type"] = "multifactor"
        given = [value for key in _WEIGHTS if (value := self._setting(key)) is not None and value.text != "0"]
        if not self.is_multifactor:
            if given:
                missing = "" if self._text("PriorityType") else f", the default in release {self.release}"
                keys = listed(value.key for value in given)
                self._remark(given[0], f"{keys} without effect under priority/basic{missing}")
        elif not self.has_slurmdbd:
            ignored = [value for value in given if value.key.lower() != "priorityweightjobsize"]
            if ignored:
                keys = listed(value.key for value in ignored)
                self._remark(ignored[0], f"{keys} taken as 0, as Slurm does without accounting_storage/slurmdbd")
            # Nor are priorities ever recomputed then (rule 41).
            self.settings |= {"priority_weight_age": 0, "priority_calc_period": 0}
        if not self._text("SelectType") and self.release < _NEW_DEFAULTS:
            default = f"select/linear is the default in release {self.release}"
            self.remarks[f"no SelectType: taken as select/cons_tres, where {default}"] = None

    def _licences(self) -> None:
        if self.settings.get("bf_licenses"):
            self.settings["bf_running_job_reserve"] = True

    def _sleep(self) -> None:
        """Nodes that never sleep, and what keeps all from it."""
        excluded = {*self._excluded_nodes(), *self._excluded_partitions()}
        if excluded:
            self.settings["suspend_exclude"] = ",".join(run_text(*run) for run in runs_of(sorted(excluded)))
        if self.settings.get("suspend_time", "none") == "none":
            return
        value = self.from_line["suspend_time"]
        missing = [name for name in ("SuspendProgram", "ResumeProgram") if not self._text(name)]
        if missing:
            self._remark(value, f"SuspendTime without {' and '.join(missing)}: Slurm saves no power, so no node sleeps")
            self.settings["suspend_time"] = "none"
            return
        both = sum(self.settings.get(name, other) for name, other in (("suspend_timeout", 30), ("resume_timeout", 60)))
        if self.settings["suspend_time"] < both:
            self._remark(value, f"SuspendTime is below SuspendTimeout and ResumeTimeout together, {both} s")

    def _excluded_nodes(self) -> list[int]:
        value = self._setting("SuspendExcNodes")
        if value is None or self._refused_count(value):
            return []
        return self.nodes.numbers(value)

    def _excluded_partitions(self) -> list[int]:
        value = self._setting("SuspendExcParts")
        if value is None or self._refused_count(value):
            return []
        records = {record.name.text or "": record for record in self.files.of_kind("partitionname")}
        found: list[int] = []
        for name in filter(None, (part.strip() for part in (value.text or "").split(","))):
            if name in records:
                found += self.nodes.numbers(records[name].value("nodes"))
            else:
                hint = did_you_mean(name, records)
                self.faults.add(value.place, name, f"partitions of a line PartitionName: {listed(records)}{hint}")
        return found

    def _refused_count(self, value: Value) -> bool:
        """True of a list in which only some nodes of a set are to stay awake."""
        if ":" not in (value.text or ""):
            return False
        self._unsupported(value.key, _COUNTED, value.text or "", value)
        return True

    def _node_lines(self) -> None:
        """The lines of nodes by which sleeping ones are chosen."""
        lines = [
            f"{len(line.names)}*{cpus_of(line.record, self.faults)}*"
            f"{whole_or(line.record, 'weight', self.faults, absent=1)}"
            for line in self.nodes.present
        ]
        if lines:
            self.settings["node_lines"] = "+".join(lines)

    def _contradictions(self) -> None:
        """Settings that do not go together."""
        get = self.settings.get
        window_s = get("bf_window", 1440) * 60
        backfills = get("scheduler_type", "backfill") == "backfill" and get("bf_interval", 30) != -1
        if get("sched_interval", 60) == -1 and not backfills:
            value = self.from_line["sched_interval"]
            self.faults.note(value.place, "-1 without backfill", "a main loop or a backfill: no job would ever start")
        if window_s < get("bf_resolution", 60):
            value = self.from_line.get("bf_window", self.from_line["bf_resolution"])
            found = f"{window_s} s with bf_resolution {get('bf_resolution', 60)} s"
            self.faults.note(value.place, found, "a window of at least one bf_resolution")
        if get("scheduler_type") == "builtin":
            given = [name for name in self.settings if name.startswith("bf_") and name in self.from_line]
            if given:
                self._remark(self.from_line[given[0]], f"{few(given)} without effect under sched/builtin")
            return
        if (most := get("bf_max_job_part", 0)) and most >= get("bf_max_job_test", 500):
            test = get("bf_max_job_test", 500)
            self._remark(self.from_line["bf_max_job_part"], f"bf_max_job_part is not below bf_max_job_test, {test}")
        if "bf_window" in self.from_line:
            self._short_window(window_s)

    def _short_window(self, window_s: int) -> None:
        """Say if jobs of the longest limit are planned beyond the window."""
        for partition in self.partitions:
            value = partition.value("maxtime")
            longest_s = limit_s(value, self.faults)
            if value is not None and longest_s is not None and longest_s > window_s:
                found = f"bf_window is shorter than MaxTime={value.text} of partition {partition.name.text}"
                self._remark(self.from_line["bf_window"], f"{found}: jobs behind such ones get no reservation")
                return


def _line_of(fault: Fault) -> tuple[str, int]:
    """File and line of a fault."""
    found = re.match(r"(.*), line ([0-9]+)", fault.path)
    return ("", 0) if found is None else (found[1], int(found[2]))


def _is_old_name(name: str, seen: Iterable[str]) -> bool:
    return name == "max_job_bf" and "bf_max_job_test" in seen


def _parameter(option: Option) -> str:
    return option.parameter if isinstance(option, Covered) else ""


def _job_factor(record: Record) -> str:
    """A partition's factor of priority: ``Priority`` says both the tier and this."""
    own, both = record.value("priorityjobfactor"), record.value("prioritytier")
    if own is not None:
        return own.text or ""
    return (both.text or "") if both is not None and both.key.lower() == "priority" else "1"


def settings_of(given: Mapping[str, Any]) -> tuple[SlurmConf, dict[str, Any]]:
    """The settings of the file among a preset's parameters, if there is one, and the other parameters.

    ``conf`` is the file, ``unsupported`` what becomes of options that are not simulated, ``beats`` stands for the
    parameters ``main_beats``, ``backfill_beats`` and so on.
    """
    from hetsched.policy.slurm_beats import beats_of  # noqa: PLC0415 -- few runs have any

    rest = {name: value for name, value in given.items() if name not in OF_CONF}
    faults = Faults("policy")
    unsupported = given.get("unsupported", "error")
    faults.choice("unsupported", unsupported, get_args(OnUnsupported))
    conf = given.get("conf")
    if conf is None and "unsupported" in given:
        faults.add("unsupported", unsupported, "conf with it, whose options it is about")
    if conf is not None and not isinstance(conf, str | os.PathLike):
        faults.add("conf", conf, "the path of a slurm.conf")
    if conf is not None and "backfill" in given:
        faults.add("backfill", _named(given["backfill"]), "nothing with conf, whose settings are those of `slurm`")
    for name in ("release", "backfill.release"):
        if isinstance(given.get(name), float):
            rest[name] = f"{given[name]:.2f}"
    release = rest.get("release", rest.get("backfill.release", RELEASES[0]))
    faults.choice("release", release, RELEASES)
    if given.get("beats") is not None:
        rest |= beats_of(given["beats"], rest, faults)
    faults.check()
    if conf is None:
        return SlurmConf(), rest
    # A recording with recomputations is of a cluster with slurmdbd, whether its file says so or not.
    recomputes = bool(rest.get("recompute_beats"))
    read = read_slurm_conf(conf, release=release, unsupported=unsupported, recomputes=recomputes)
    return read, rest


def _named(part: Any) -> str:
    return (
        part if isinstance(part, str) else str(part.get("name")) if isinstance(part, Mapping) else type(part).__name__
    )


def at_its_line(error: ConfigError, conf: SlurmConf, given: Iterable[str]) -> ConfigError:
    """The error with faults of settings at the line that has them, unless they are `given` otherwise."""
    own = {f"policy.backfill.{name}": place for name, place in conf.places.items() if name not in set(given)}
    return error.mapped(lambda fault: fault.at(own[fault.path]) if fault.path in own else fault)
