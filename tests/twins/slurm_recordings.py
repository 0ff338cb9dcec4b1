"""Recordings of a real Slurm, for the plain reference: with the beats they had, or from settings alone."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hypothesis import settings
from plain_slurm import Result, simulate
from plain_slurm_state import Job, Node, Options, Partition

FOLDER = Path(__file__).parent.parent / "data" / "slurm"
NAMES = sorted(path.parent.name for path in FOLDER.glob("*/recording.json"))
PHASES = 8 if settings.get_current_profile_name() == "long" else 4
"""Of the controller's start."""
TOLERANCE_S = 1.1
IGNORED = {"max_rpc_cnt", "bf_continue", "idle_on_node_suspend"}


@dataclass(frozen=True)
class Recording:
    name: str
    nodes: list[Node]
    partitions: list[Partition]
    options: Options
    jobs: list[Job]
    starts: dict[int, tuple[float, tuple[int, ...]]]
    script_starts: dict[int, float]

    @property
    def mean_wait_s(self) -> float:
        return sum(self.script_starts[job.id] - job.submit_s for job in self.jobs) / len(self.jobs)

    def replayed(self) -> Result:
        """Run with beats, boots and clean-ups as they were."""
        return simulate(self.nodes, self.partitions, self.options, self.jobs)

    def hits(self, result: Result) -> dict[int, bool]:
        """True for each job that started within the tolerance on the same nodes."""
        return {
            number: abs((result.jobs[number].start_s or -1e9) - start) <= TOLERANCE_S
            and result.jobs[number].nodes == nodes
            for number, (start, nodes) in self.starts.items()
        }

    def from_settings(self) -> float:
        """Mean wait over phases of the start, up to 30 s earlier; of what was recorded only lengths are used."""
        known = {"beats": {}, "boots": {}, "boot_s": mean([b for row in self.options.boots.values() for b in row])}
        jobs = [replace(job, clean_up_s=None) for job in self.jobs]
        waits = []
        for phase in range(PHASES):
            started = self.options.started_s - 30 * phase / PHASES
            options = replace(self.options, **known, started_s=started)
            waits.append(script_wait(simulate(self.nodes, self.partitions, options, jobs), jobs))
        return sum(waits) / len(waits)


def mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def script_wait(result: Result, jobs: list[Job]) -> float:
    waits = [(result.jobs[job.id].script_start_s or 1e9) - job.submit_s for job in jobs]
    return sum(waits) / len(waits)


def recording(name: str) -> Recording:
    known = json.loads((FOLDER / name / "recording.json").read_text())
    lines = (FOLDER / name / "slurm.conf").read_text().splitlines()
    nodes = nodes_of(lines)
    index = {node.name: i for i, node in enumerate(nodes)}
    jobs = [
        Job(
            one["id"],
            one["submit_s"],
            one["nodes"],
            round(one["end_s"] - one["script_start_s"], 3),
            60 * one["limit_min"],
            one.get("partition"),
            licences_of(one.get("licences", "")),
            int(one["tasks"]) if one.get("tasks") else None,
            clean_up_s=one["clean_up_s"],
        )
        for one in known["jobs"]
    ]
    options = replace(
        options_of(lines),
        release=known["release"],
        epoch_s=known["epoch_s"],
        started_s=known["started_s"],
        idle_since_s=known["idle_since_s"],
        main_period_s=known["main_period_s"],
        cycle_s=known["cycle_s"],
        test_s=0.0,
        beats={name: tuple(times) for name, times in known["beats"].items()},
        boots={name: tuple(lengths) for name, lengths in known["boots"].items()},
    )
    if "epilog" not in options.beats:
        options = replace(options, beats={**options.beats, "epilog": ()})
    starts = {one["id"]: (one["start_s"], tuple(index[name] for name in one["on"])) for one in known["jobs"]}
    return Recording(
        name,
        nodes,
        partitions_of(lines, index),
        options,
        jobs,
        starts,
        {one["id"]: one["script_start_s"] for one in known["jobs"]},
    )


def licences_of(text: str) -> dict[str, int]:
    return {name: int(count or 1) for name, _, count in (part.partition(":") for part in text.split(",") if part)}


def words(line: str) -> dict[str, str]:
    return dict(word.split("=", 1) for word in line.split())


def nodes_of(lines: list[str]) -> list[Node]:
    default: dict[str, str] = {}
    nodes: list[Node] = []
    for number, line in enumerate(line for line in lines if line.startswith("NodeName=")):
        row = {**default, **words(line)}
        if row["NodeName"] == "DEFAULT":
            default = row
            continue
        nodes += [
            Node(name, int(row.get("CPUs", 1)), int(row.get("Weight", 1)), number) for name in names_of(row["NodeName"])
        ]
    return nodes


def names_of(text: str) -> list[str]:
    found: list[str] = []
    for prefix, ranges in re.findall(r"([^,\[\]]+)(?:\[([^\]]+)\])?", text):
        for part in (ranges or "").split(","):
            first, _, last = part.partition("-")
            found += [f"{prefix}{i}" for i in range(int(first), int(last or first) + 1)] if part else [prefix]
    return found


def partitions_of(lines: list[str], index: dict[str, int]) -> list[Partition]:
    rows = [words(line) for line in lines if line.startswith("PartitionName=")]
    rows.sort(key=lambda row: row.get("Default") != "YES")
    return [
        Partition(
            row["PartitionName"], tuple(index[n] for n in names_of(row["Nodes"])), int(row.get("PriorityTier", 1))
        )
        for row in rows
    ]


def options_of(lines: list[str]) -> Options:
    """Those that the recordings have."""
    found: dict[str, Any] = {}
    types = Options()
    for line in lines:
        key, _, value = line.partition("=")
        parts = value.split(",") if key in ("SchedulerParameters", "SlurmctldParameters") else [line]
        for part in parts:
            name, _, text = part.partition("=")
            if name == "Licenses":
                found[name] = licences_of(text)
            elif hasattr(types, name) and name not in IGNORED:
                found[name] = value_of(name, text)
    found["accounting"] = any("accounting_storage/slurmdbd" in line for line in lines)
    return Options(**found)


def value_of(name: str, text: str) -> Any:
    """Times of priorities are minutes, or days-hours, or hours:minutes:seconds in slurm.conf."""
    if name in ("PriorityMaxAge", "PriorityCalcPeriod"):
        days, _, clock = text.rpartition("-")
        parts = [int(part) for part in clock.split(":")]
        if days:
            hours, minutes, seconds = [*parts, 0, 0][:3]
        else:
            hours, minutes, seconds = {1: (0, *parts, 0), 2: (0, *parts), 3: tuple(parts)}[len(parts)]  # type: ignore[misc]
        return 86400 * int(days or 0) + 3600 * hours + 60 * minutes + seconds
    default = getattr(Options(), name)
    if isinstance(default, bool):
        return text.lower() in ("", "yes", "1")
    return int(text) if text.lstrip("-").isdigit() else text
