"""Nodes that can serve jobs: features, GPUs, memory and licences, asked for by jobs and offered by a platform.

Only what both speak of counts. Nodes alike in it make a cell; jobs alike in it have one want. The engine gets numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.checks import Faults, listed, many, shown
from hetsched.errors import ConfigError, DeviceWarning
from hetsched.features.feature import Ended, Found, Setting
from hetsched.platform import NodeClass, Platform
from hetsched.policy import Policy
from hetsched.policy.parts import FORESEEING, names_of
from hetsched.run.concerns import Concern
from hetsched.workload import Workload
from hetsched.workload.constraints import UnreadableError, constraint_test, licence_counts

_MEMORY_UNITS = 1024
"""Memory is counted in this part of a GB: what nodes have is rounded down, what jobs need up."""

_MOST_FAULTS = 10


@dataclass(frozen=True, order=True)
class Cell:
    """Offer of nodes that are alike, in the order in which they are taken: the plainest first."""

    gpus: int
    memory: int
    feature_count: int
    first_node: int
    features: tuple[str, ...]


@dataclass(frozen=True)
class Want:
    """Demand of jobs: cells that can serve them, licences, and what they take of a shared node."""

    cells: tuple[int, ...]
    licences: tuple[tuple[int, int], ...] = ()
    gpus: int = 0
    memory: int = 0
    lack: str | None = None


@dataclass(frozen=True)
class Eligibility:
    """Cells of the nodes and wants of the jobs, as numbers."""

    cells: tuple[Cell, ...]
    of_node: npt.NDArray[np.int64]
    wants: tuple[Want, ...]
    of_job: npt.NDArray[np.int64]
    licences: tuple[int, ...]
    names: tuple[str, ...]
    exclusive: bool
    columns: tuple[str, ...] = field(default=())

    @cached_property
    def takes_stock(self) -> bool:
        """True if jobs take GPUs or memory of shared nodes."""
        taken = any(want.lack is None and (want.gpus or want.memory) for want in self.wants)
        return not self.exclusive and taken

    @property
    def divides(self) -> bool:
        """True if nodes or jobs must be distinguished in a run."""
        licensed = any(want.lack is None and want.licences for want in self.wants)
        return len(self.cells) > 1 or licensed or self.takes_stock

    def core(self) -> dict[str, Any]:
        """The same as the engine takes it."""
        stock = [(cell.gpus, cell.memory) for cell in self.cells]
        gpus, memory = (np.array(column, dtype=np.int64)[self.of_node] for column in zip(*stock, strict=True))
        none = np.empty(0, dtype=np.int64)
        return {
            "of_node": self.of_node,
            "of_job": self.of_job,
            "licences": list(self.licences),
            "wants": [(list(w.cells), list(w.licences), w.gpus, w.memory, w.lack) for w in self.wants],
            "gpus": none if self.exclusive else gpus,
            "memory": none if self.exclusive else memory,
        }

    def lacks(self, node_count: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Jobs that no nodes, or not enough, can ever serve."""
        sizes = np.bincount(self.of_node, minlength=len(self.cells))
        there = np.array([-1 if want.lack else sizes[list(want.cells)].sum() for want in self.wants])
        return np.asarray(node_count) > there[self.of_job]

    def may_use(self, job: int, nodes: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """True if each of some nodes can serve a job."""
        return np.isin(self.of_node[np.asarray(nodes, dtype=np.int64)], self.wants[self.of_job[job]].cells)


def eligibility(workload: Workload, platform: Platform) -> Eligibility | None:
    """Cells and wants; None where the jobs ask for nothing that the platform speaks of.

    Raises
    ------
    ConfigError
        If a constraint or a list of licences cannot be read; names job, text and position.
    """
    frame = workload.to_polars()
    columns = _in_play(frame, platform)
    if not columns or not len(frame):
        return None
    cells, of_node = _cells(platform, columns)
    asked = frame.select(columns)
    kinds = asked.unique(maintain_order=True).with_row_index("kind")
    of_job = asked.join(kinds, on=columns, how="left", nulls_equal=True, maintain_order="left")["kind"]
    names = tuple(platform.licences or ())
    wants: dict[Want, int] = {}
    reader = _Reader(cells, tuple((platform.licences or {}).values()), names, platform.exclusive)
    numbers = []
    for kind, row in enumerate(kinds.drop("kind").iter_rows(named=True)):
        want = reader.want(row, lambda kind=kind: _first_job(frame, of_job, kind))
        numbers.append(wants.setdefault(want, len(wants)))
    reader.check()
    return Eligibility(
        cells=cells,
        of_node=of_node,
        wants=tuple(wants),
        of_job=np.array(numbers, dtype=np.int64)[of_job.to_numpy()],
        licences=tuple((platform.licences or {}).values()),
        names=names,
        exclusive=platform.exclusive,
        columns=tuple(columns),
    )


def _first_job(frame: pl.DataFrame, of_job: pl.Series, kind: int) -> Any:
    return frame["job_id"][int((of_job == kind).arg_true()[0])]


def _in_play(frame: pl.DataFrame, platform: Platform) -> list[str]:
    """The columns in which some job asks for something that the platform speaks of."""

    def asks(name: str) -> bool:
        values = frame[name]
        return bool((values == "gpu").any()) if name == "device" else values.null_count() < len(values)

    said = _said(platform)
    return [name for name, (_, is_said) in said.items() if is_said and name in frame.columns and asks(name)]


def _said(platform: Platform) -> dict[str, tuple[str, bool]]:
    """Names that the platform has for columns of the jobs, and True where it says anything of them."""

    def is_said(name: str) -> bool:
        return any(getattr(node_class, name) is not None for node_class in platform.classes)

    return {
        "constraint": ("features", is_said("features")),
        "gpus": ("gpus", is_said("gpus")),
        "device": ("gpus", is_said("gpus")),
        "memory_gb": ("memory_gb", is_said("memory_gb")),
        "licences": ("licences", platform.licences is not None),
    }


def _cells(platform: Platform, columns: list[str]) -> tuple[tuple[Cell, ...], npt.NDArray[np.int64]]:
    """The cells, the plainest first, and the number of each node's."""
    found: dict[tuple[int, int, tuple[str, ...]], int] = {}
    offers, first = [], 0
    for one in platform.classes:
        offer = _offer(one, columns)
        found.setdefault(offer, first)
        offers.append(offer)
        first += one.count
    cells = sorted(Cell(gpus, memory, len(words), node, words) for (gpus, memory, words), node in found.items())
    number = {(cell.gpus, cell.memory, cell.features): place for place, cell in enumerate(cells)}
    of_class = np.array([number[offer] for offer in offers], dtype=np.int64)
    return tuple(cells), np.repeat(of_class, [one.count for one in platform.classes])


def _offer(one: NodeClass, columns: list[str]) -> tuple[int, int, tuple[str, ...]]:
    gpus = (one.gpus or 0) if {"gpus", "device"} & set(columns) else 0
    memory = math.floor((one.memory_gb or 0.0) * _MEMORY_UNITS) if "memory_gb" in columns else 0
    return gpus, memory, tuple(one.features or ()) if "constraint" in columns else ()


class _Reader:
    """Reads what a job asks for; notes what cannot be read."""

    def __init__(
        self,
        cells: tuple[Cell, ...],
        licences: tuple[int, ...],
        names: tuple[str, ...],
        exclusive: bool,
    ) -> None:
        self.cells, self.licences, self.exclusive = cells, licences, exclusive
        self.numbers = {name: place for place, name in enumerate(names)}
        self.unreadable: list[tuple[str, str, str]] = []

    def want(self, row: dict[str, Any], job: Any) -> Want:
        """Demand of a row; `job` gives the first job that does."""
        cells, lack = tuple(range(len(self.cells))), None
        if (text := row.get("constraint")) is not None:
            try:
                test = constraint_test(text)
            except UnreadableError as error:
                self._note("constraint", text, error, job())
                return Want((), lack="constraint")
            cells = tuple(cell for cell in cells if test(frozenset(self.cells[cell].features)))
            lack = None if cells else "constraint"
        gpus = max(row.get("gpus") or 0, int(row.get("device") == "gpu"))
        cells = tuple(cell for cell in cells if self.cells[cell].gpus >= gpus)
        lack = lack or (None if cells else "gpus")
        memory = math.ceil((row.get("memory_gb") or 0.0) * _MEMORY_UNITS)
        cells = tuple(cell for cell in cells if self.cells[cell].memory >= memory)
        lack = lack or (None if cells else "memory")
        licences, is_short = self._licences(row.get("licences"), job)
        lack = lack or ("licences" if is_short else None)
        if lack is not None:
            return Want((), lack=lack)
        return Want(cells, licences) if self.exclusive else Want(cells, licences, gpus, memory)

    def _licences(self, text: str | None, job: Any) -> tuple[tuple[tuple[int, int], ...], bool]:
        """Numbers of licences by kind, and whether there are never as many."""
        if text is None or not text.strip():
            return (), False
        try:
            counts = licence_counts(text)
        except UnreadableError as error:
            self._note("licences", text, error, job())
            return (), True
        known = [(self.numbers[name], count) for name, count in counts if name in self.numbers]
        is_short = len(known) < len(counts) or any(count > self.licences[kind] for kind, count in known)
        return tuple(sorted(known)), is_short

    def _note(self, column: str, text: str, error: UnreadableError, job: Any) -> None:
        self.unreadable.append(
            (column, f"{shown(text)} of job {job}", f"{error.expected} at position {error.position}")
        )

    def check(self) -> None:
        """Raise what was noted."""
        faults = Faults("workload")
        for found in self.unreadable[:_MOST_FAULTS]:
            faults.note(*found)
        if (more := len(self.unreadable) - _MOST_FAULTS) > 0:
            faults.note("constraint, licences", f"{more:,} more such texts", "as above")
        faults.check()


def before(run: Setting) -> Iterator[Concern]:
    """Concern that jobs ask for what the platform says nothing of: then every node counts as good enough."""
    jobs = run.workload.to_polars()
    for column, (name, is_said) in _said(run.platform).items():
        if column == "device" or is_said or not (asking := jobs[column].count() if column in jobs.columns else 0):
            continue
        found, advice = (
            f"{asking:,} of {many(len(jobs), 'job')}",
            f"without {name} on the platform the column means nothing",
        )
        yield Concern(DeviceWarning, f"jobs that ask for {column}", found, advice)


def engine(run: Setting) -> Mapping[str, Any]:
    """Cells and wants; nothing in a replay.

    Raises
    ------
    ConfigError
        If texts cannot be read, or the policy has parts that know only nodes that are alike.
    """
    found = None if run.needs("observed_starts") else eligibility(run.workload, run.platform)
    if found is None:
        return {}
    if found.divides:
        _check_policy(found, run.policy, has_agent=run.agent is not None)
    return {"cells": found.core()}


def after(ended: Ended) -> Found:
    """Concern about GPU jobs on nodes without GPUs."""
    jobs = ended.setting.workload.to_polars()
    return Found(list(_on_gpus(jobs, ended.recorded, ended.timeline, ended.setting.platform)))


def _on_gpus(
    jobs: pl.DataFrame, recorded: pl.DataFrame, timeline: pl.DataFrame, platform: Platform
) -> Iterator[Concern]:
    """Concern that jobs for GPUs ran on nodes without any, as in a replay, or classes none of which says its GPUs."""
    gpus = [node_class.gpus for node_class in platform.classes]
    is_unsaid = len(gpus) > 1 and all(count is None for count in gpus)
    about, advice = _GPU_MATTERS[is_unsaid]
    is_meant = [is_unsaid or count == 0 for count in gpus]
    if "device" not in jobs.columns or not any(is_meant):
        return
    wanted = recorded.with_row_index("job").filter((jobs["device"] == "gpu") & recorded["start_s"].is_not_null())
    # One row a job and node; a job that still runs has been there up to the timeline's end.
    length_s = pl.col("end_s").fill_null(timeline["time_s"].max()) - pl.col("start_s")
    stays = wanted.select("job", length_s.alias("length_s"), pl.col("nodes").alias("node")).explode("node")
    counts = [node_class.count for node_class in platform.classes]
    there = stays.filter(pl.Series(np.repeat(is_meant, counts)[stays["node"].to_numpy()], dtype=pl.Boolean))
    if len(there):
        found = f"{there['job'].n_unique():,} of {len(wanted):,}, {there['length_s'].sum():,.0f} node-seconds"
        yield Concern(DeviceWarning, about, found, advice)


_GPU_MATTERS = {
    False: ("GPU jobs on nodes without GPUs", "a replay repeats the log"),
    True: (
        "GPU jobs on nodes whose class does not say how many GPUs they have (gpus)",
        "once a class says it, they run where there are some",
    ),
}
"""Words and advice on GPU jobs, by whether nothing is said of the nodes."""


def _check_policy(found: Eligibility, policy: Policy, *, has_agent: bool) -> None:
    """Raise unless all parts of the policy can distinguish nodes."""
    why = f"jobs ask for nodes or licences ({', '.join(found.columns)}) that not all are alike in"
    faults, parts, own = Faults("policy"), policy.parts, policy.own
    if has_agent:
        raise ConfigError(
            [("workload", f"columns {', '.join(found.columns)}", "none: an agent knows no heterogeneous nodes")]
        )
    if "scheduler" in own:
        if found.takes_stock or any(want.licences for want in found.wants):
            expected = f"a policy of parts: {why}, and a whole scheduler does not know how many are free"
            faults.note("scheduler", shown(policy.name), expected)
        faults.check()
        return
    backfill, placement = parts["backfill"], parts["placement"]
    assert backfill is not None
    assert placement is not None
    if not found.exclusive and not policy._part_flag("backfill", "chooses_nodes"):
        name = type(own["backfill"]).__name__ if "backfill" in own else backfill["name"]
        expected = f"{listed(FORESEEING)}, which names nodes: they are shared, and {why}; counts could not promise them"
        faults.add("backfill", name, expected)
    elif "backfill" not in own and not policy._part_flag("backfill", "knows_cells"):
        faults.add("backfill", backfill["name"], f"one of {listed(names_of('backfill', 'knows_cells'))}: {why}")
    if "placement" not in own and not policy._part_flag("placement", "knows_cells"):
        known = listed(names_of("placement", "knows_cells"))
        expected = f"one of {known}, which choose within nodes that are alike: {why}"
        faults.add("placement", placement["name"], expected)
    faults.check()
