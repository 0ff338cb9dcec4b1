"""`hetsched.compare`: several policies on the same jobs and machine, run side by side and compared."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from rich.console import Console

from hetsched.analysis.ratios import attained_ratio, table_of
from hetsched.analysis.timeline import busy_grid, node_states, run_bins, waiting_curve
from hetsched.analysis.window import measured
from hetsched.checks import Faults, did_you_mean, listed, many
from hetsched.errors import ConfigError
from hetsched.files import json_sha256, write_whole
from hetsched.many.axes import Policies, named_policies
from hetsched.many.many import RunTask, on_threads
from hetsched.many.progress import Told, check_progress
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.report.canvas import unix_zero
from hetsched.report.charts import MOST_JOBS
from hetsched.report.node_states import MAP_BINS, map_rows
from hetsched.report.tables import comparison_table
from hetsched.run.concerns import CHANGE, Concern, draws_note, joined
from hetsched.run.metrics import DEFAULT_METRICS, METRICS, OF_CONTRACT, STATES, columns_of, metrics_named
from hetsched.run.options import RunKeywords, RunOptions, options_given, takes_run_options
from hetsched.run.result import Result
from hetsched.run.simulation import Run, run_of
from hetsched.run.stretches import by_nodes, is_resized
from hetsched.workload import Workload

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from hetsched.contract.bill import Terms

COMPARISON = "comparison.csv"
"""The table of a comparison, in the folder of its runs."""

_SAME_WINDOW_RATIO = 0.01
_MOST_SEEDS = 10_000
_NO_TIMELINE = pl.DataFrame(
    schema=dict.fromkeys(("time_s", "power_w", "busy_nodes", "queued_jobs"), pl.Float64),
)


@dataclass(frozen=True)
class PowerFrames:
    """Frames of a run for pictures of its power in time; those that would show nothing, or too much, are None."""

    timeline: pl.DataFrame | None
    events: pl.DataFrame
    segments: pl.DataFrame | None

    @classmethod
    def of(cls, result: Result, terms: Terms | None = None) -> PowerFrames:
        """The frames of a result; of a policy without a budget, under the limits of the terms it is metered against."""
        timeline, events = result.timeline, result.events
        if terms is not None and terms.contract.limits and "budget_w" not in timeline.columns:
            timeline = terms.beside(timeline)
        is_told = "budget_w" in timeline.columns or events["kind"].is_in(_OF_POWER).any()
        few = result.has_segments and len(result.jobs) <= MOST_JOBS
        return cls(timeline if is_told else None, events, result.segments if few else None)


_OF_POWER = ("budget", "alert", "lower-cap", "raise-cap", "kill")
"""Kinds of events that only watts bring about."""


@dataclass(frozen=True)
class NodeFrames:
    """Frames of a run for pictures of its nodes and queues; those that would show nothing are None.

    `busy`, of `busy_grid`, is of runs whose nodes are always on, `states` of all others.
    """

    timeline: pl.DataFrame | None
    states: pl.DataFrame | None
    waits: pl.DataFrame | None
    busy: np.ndarray | None = None
    window: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def of(cls, result: Result) -> NodeFrames:
        """The frames of a result."""
        timeline, jobs = result.timeline, result.jobs
        changes = any((timeline[name] > 0).any() for name in _NOT_ALWAYS_ON)
        has_queues = "queue" in result.provenance["platform"]
        return cls(
            timeline.select("time_s", "busy_nodes", "idle_nodes", *_NOT_ALWAYS_ON) if changes else None,
            node_states(result) if changes else None,
            jobs.select("queue", "wait_s") if has_queues else None,
            None if changes else _busy(result),
            _window(timeline),
        )


def _window(timeline: pl.DataFrame) -> tuple[float, float]:
    return (timeline["time_s"][0], timeline["time_s"][-1]) if len(timeline) else (0.0, 0.0)


def _busy(result: Result) -> np.ndarray | None:
    """Share of the time in which nodes work, by rows and columns of a map; None for a run of length zero."""
    from_s, until_s = _window(result.timeline)
    if until_s <= from_s:
        return None
    nodes = len(result.nodes)
    size = {"nodes": nodes, "rows": map_rows(nodes), "bins": MAP_BINS}
    return busy_grid(result.segments, **size, from_s=from_s, until_s=until_s)


_NOT_ALWAYS_ON = ("transition_nodes", "sleeping_nodes", "down_nodes")


@dataclass(frozen=True)
class Outcome:
    """The part of a run that is kept when its frames are dropped.

    `summary`, `provenance`, `timing` and `concerns` are the result's. Pictures need `curve` (of `waiting_curve`),
    `bins` (of `run_bins`), `jobs` where they are few enough to be drawn one by one, `power` where it changed in time,
    and `machine` where nodes were not always on or have queues; empty unless asked for.
    """

    policy: str
    seed: int
    parts: Mapping[str, Any]
    summary: dict[str, Any]
    provenance: dict[str, Any]
    timing: dict[str, float]
    curve: pl.DataFrame
    bins: pl.DataFrame
    jobs: pl.DataFrame | None
    concerns: tuple[Concern, ...] = ()
    power: PowerFrames | None = None
    machine: NodeFrames | None = None

    @classmethod
    def of(cls, policy: str, result: Result, keep: Keep, terms: Terms | None = None) -> Outcome:
        """The part of a result that is kept; `terms` are those of its contract."""
        jobs = result.jobs if keep.drawn else result.jobs.clear()
        timeline = result.timeline if keep.drawn else _NO_TIMELINE
        spans = by_nodes(jobs, result.segments) if keep.drawn and is_resized(result.events) else jobs
        window = keep.window
        return cls(
            policy=policy,
            seed=result.provenance["seed"],
            parts=result.provenance["policy"],
            summary=result.summary() if window is None else measured(result, from_s=window[0], until_s=window[1]),
            provenance=result.provenance,
            timing=result.timing,
            curve=waiting_curve(jobs["wait_s"]),
            bins=run_bins(spans, timeline),
            jobs=spans if keep.drawn and len(spans) <= MOST_JOBS else None,
            concerns=result.concerns,
            power=PowerFrames.of(result, terms) if keep.drawn else None,
            machine=NodeFrames.of(result) if keep.drawn else None,
        )

    @property
    def nodes(self) -> int:
        """Number of nodes that it ran on."""
        return int(self.provenance["platform"]["nodes"])

    @property
    def unix_zero_s(self) -> float | None:
        """Date of second 0 of the log's clock, as `unix_zero` finds it."""
        return unix_zero(self.provenance, self.bins["start_s"][0] if len(self.bins) else 0.0)

    @property
    def budget_w(self) -> float | pl.DataFrame | None:
        """The budget as pictures take it: a number, or its steps in time."""
        timeline = None if self.power is None else self.power.timeline
        return self.summary["budget_w"] if timeline is None or "budget_w" not in timeline.columns else timeline

    @property
    def title(self) -> str:
        """Title of its pictures."""
        return f"{self.policy}, {many(self.nodes, 'node')}"

    def row(self) -> dict[str, Any]:
        """A row of a frame of runs: policy, seed, and the summary."""
        return {"policy": self.policy, "seed": self.seed, **self.summary}


@dataclass(frozen=True)
class Keep:
    """The part of runs that is kept: numbers of all or of a window (its ends in seconds), and data for pictures."""

    window: tuple[float, float] | None = None
    drawn: bool = False


@dataclass(frozen=True, repr=False, eq=False)
class Comparison:
    """The outcome of comparing policies. Made by `hetsched.compare`.

    Parameters
    ----------
    table
        One row a policy and metric, as `hetsched.analysis.compare` gives it.
    runs
        One row a run: ``policy, seed``, and the keys of its summary.
    baseline
        The policy whose ratios are 1.
    outcomes
        What was kept of each run, in the order of `runs`.
    is_alike
        Whether every node draws as every other, so that which of them a job gets makes no difference.
    change
        How a reader has decisions know other draws, for the notes.
    """

    table: pl.DataFrame
    runs: pl.DataFrame
    baseline: str
    outcomes: Sequence[Outcome]
    is_alike: bool = False
    change: str = CHANGE

    def __repr__(self) -> str:
        others = ", ".join(policy for policy in self.summaries if policy != self.baseline)
        return f"<Comparison: {self.baseline}{f' against {others}' if others else ''}, {len(self.outcomes)} runs>"

    def __str__(self) -> str:
        """The table and the notes, as ``hetsched compare`` shows them."""
        with (console := Console(width=80, file=StringIO(), highlight=False)).capture() as captured:
            console.print(comparison_table(self.table, baseline=self.baseline))
        lines = [line.rstrip() for line in captured.get().splitlines()]
        return "\n".join([*lines, *self.notes]).strip("\n")

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"{self.table._repr_html_()}{notes}"

    def value(self, policy: str, metric: str, column: str = "mean") -> float:
        """A number of the table; NaN where it holds none."""
        row = self.table.filter((pl.col("policy") == policy) & (pl.col("metric") == metric))
        value = row[column].item()
        return float("nan") if value is None else float(value)

    @cached_property
    def attained(self) -> dict[str, float | None]:
        """Each policy's saving of job energy as a share of what any placement could have saved; empty without bounds.

        Held against the bound of the baseline's window, see `attained_ratio`. None where runs were stopped before all
        jobs had ended: they are not of the same work, and the bound is of the jobs that ended only.
        """
        base = self.summaries[self.baseline]
        least_j, base_j = base.get("energy_bound_j"), base.get("job_energy_j") or 0.0
        if least_j is None:
            return {}
        return {
            policy: None
            if _is_cut(base) or _is_cut(summary)
            else attained_ratio(summary["job_energy_j"] or 0.0, baseline_j=base_j, bound_j=least_j)
            for policy, summary in self.summaries.items()
            if policy != self.baseline
        }

    @property
    def notes(self) -> list[str]:
        """Lines on what placement and sleep can do, on windows that differ, and on jobs that did not complete."""
        lines = [*(self._attained_lines() or self._alike_lines()), *self._sleep_lines(), *self._window_lines()]
        for state in STATES[1:]:
            counts = {policy: summary[state] or 0 for policy, summary in self.summaries.items()}
            numbers = set(counts.values())
            if len(numbers) == 1 and any(numbers):
                lines.append(f"{METRICS[state].short_title}: {numbers.pop():,g} of the jobs under every policy")
            elif any(numbers):
                by_policy = ", ".join(f"{policy} {count:,g}" for policy, count in counts.items())
                lines.append(f"{METRICS[state].short_title}: {by_policy}")
        return [*lines, *self._replay_lines(), *self._draw_lines()]

    def _replay_lines(self) -> list[str]:
        """Says that a replay kills no job at its walltime, where another policy did."""
        kills = {outcome.policy: outcome.provenance["options"]["kill_at_walltime"] for outcome in self.outcomes}
        spared = [policy for policy, is_killing in kills.items() if not is_killing]
        if not spared or not any(self.summaries[policy]["timeout"] for policy in kills):
            return []
        return [f"{', '.join(spared)}: no job is killed at its walltime, as those that overran it ran on in the log"]

    def _draw_lines(self) -> list[str]:
        """A line for each thing that decisions know of draws before jobs have run, and under which policies."""
        policies: dict[str, list[str]] = {}
        for outcome in self.outcomes:
            note = draws_note(outcome.provenance["known_draws"], change=self.change)
            own = policies.setdefault(note, []) if note else []
            if outcome.policy not in own:
                own.append(outcome.policy)
        return [f"{', '.join(names)}: {note}" for note, names in policies.items()]

    def _attained_lines(self) -> list[str]:
        if not self.attained:
            return []
        base = self.summaries[self.baseline]
        if _is_cut(base):
            return ["jobs were left when the runs were stopped: no share of what placement could save"]
        base_j, least_j = base["job_energy_j"] or 0.0, base["energy_bound_j"] or 0.0
        if attained_ratio(base_j, baseline_j=base_j, bound_j=least_j) is None:
            return [f"placement has nothing to save{': nodes are alike' if self.is_alike else ''}"]
        most = (base_j - least_j) / base_j if base_j else 0.0
        shares = ", ".join(
            f"{policy} {'–' if share is None else f'{share:.1%}'}" for policy, share in self.attained.items()
        )
        return [f"placement could save at most {most:.2%} of {self.baseline}'s job energy; of that: {shares}"]

    def _sleep_lines(self) -> list[str]:
        """The attained part of what sleeping nodes could save."""
        ratios = {policy: summary.get("sleep_attained_ratio") for policy, summary in self.summaries.items()}
        shares = ", ".join(f"{policy} {ratio:.1%}" for policy, ratio in ratios.items() if ratio)
        return [f"of what sleeping nodes could save, given each policy's starts: {shares}"] if shares else []

    def _alike_lines(self) -> list[str]:
        placements = {str(outcome.parts["placement"]) for outcome in self.outcomes}
        return ["nodes are alike: which of them a job gets changes no energy"] * (self.is_alike and len(placements) > 1)

    def _window_lines(self) -> list[str]:
        makespans_s = {policy: summary.get("makespan_s") or 0.0 for policy, summary in self.summaries.items()}
        if not _windows_differ(list(makespans_s.values())):
            return []
        texts = METRICS["makespan_s"].texts(list(makespans_s.values()))
        each = ", ".join(f"{policy} {text}" for policy, text in zip(makespans_s, texts, strict=True))
        unit = METRICS["makespan_s"].unit_for(list(makespans_s.values())).name
        return [f"makespans ({unit}) differ, and energy holds that of idle nodes up to each run's last end: {each}"]

    def write(self, folder: str | os.PathLike[str]) -> str:
        """Write the table as ``comparison.csv``; gives its name."""
        path = Path(folder) / COMPARISON
        write_whole(path, self.table.write_csv().encode())
        return str(path)

    def to_dict(self) -> dict[str, Any]:
        """A dictionary that JSON can hold: ``summary`` is the mean of each policy's runs, ``runs`` has each in full."""
        return {
            "summary": self.summaries,
            "baseline": self.baseline,
            "comparison": self.table.to_dicts(),
            **({"attained": self.attained} if self.attained else {}),
            "runs": [
                {
                    "policy": outcome.policy,
                    "seed": outcome.seed,
                    "summary": outcome.summary,
                    "provenance": outcome.provenance,
                    "timing": outcome.timing,
                }
                for outcome in self.outcomes
            ],
        }

    @cached_property
    def summaries(self) -> dict[str, dict[str, float | None]]:
        """Each policy's summary, averaged over its runs."""
        runs: dict[str, list[dict[str, Any]]] = {}
        for outcome in self.outcomes:
            runs.setdefault(outcome.policy, []).append(outcome.summary)
        return {policy: _mean_summary(summaries) for policy, summaries in runs.items()}


@takes_run_options()
def compare(
    workload: Workload,
    platform: Platform,
    policies: Policies,
    baseline: str | Policy | None = None,
    *,
    seeds: int = 1,
    metrics: Sequence[str] | None = None,
    window: tuple[float, float] | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Told = "bar",
    **options: Unpack[RunKeywords],
) -> Comparison:
    """Run several policies on the same jobs and machine, and compare: what ``hetsched compare`` shows.

    Parameters
    ----------
    workload, platform
        The same for all.
    policies
        As `hetsched.sweep` takes them.
    baseline
        The name of the policy whose ratios are 1. None: the first.
    seeds
        How many runs of each policy that uses chance; their seeds count from ``seed``, so that runs are paired.
    metrics
        Keys of `Result.summary`. None: energy, wait, slowdown and utilization, and the parts of the energy where the
        runs' windows differ.
    window
        From when to when to measure, in seconds on the log's clock, as `hetsched.analysis.measured` does. None: all of
        each run.
    out
        A folder for the files of every run, in a folder of its own, and for ``comparison.csv``.
    progress
        ``"bar"``: a bar a run on standard error, if that is a terminal. A function: called with (runs done, runs in
        all). None: nothing.
    **options
        As in `hetsched.simulate`.

    Returns
    -------
    Comparison
        Its ``table`` and ``runs`` are frames, its ``notes`` what a reader should know about them.

    Raises
    ------
    ConfigError
        If anything is invalid; lists all of it.
    SimulationError
        If a run cannot go on.
    OutputError
        If `out` cannot be written to.

    Warns
    -----
    RunWarning
        As `hetsched.simulate`, each matter once for all policies.
    WorkWarning
        If the runs did different work.

    Examples
    --------
    >>> import hetsched as hs
    >>> jobs = {"job_id": [1, 2, 3, 4], "submit_s": [0, 10, 20, 900], "node_count": [2, 3, 1, 1]}
    >>> times = {"runtime_s": [60, 60, 30, 9], "walltime_s": [60, 60, 30, 9]}
    >>> log, machine = hs.Workload.from_polars(pl.DataFrame({**jobs, **times})), hs.Platform.homogeneous(3, 100, 300)
    >>> found = hs.compare(log, machine, ["fcfs", "easy"])
    >>> found.table.filter(metric="mean_wait_s").select("policy", "mean", "ratio").rows()
    [('fcfs', 37.5, 1.0), ('easy', 12.5, 0.333...)]
    """
    faults = Faults()
    checked = options_given(compare, options)
    chosen = named_policies(policies, faults)
    faults.whole("seeds", seeds, low=1, high=_MOST_SEEDS)
    check_progress(progress, faults, "runs")
    if out is not None:
        faults.folder("out", out)
    if metrics is not None:
        metrics = list(metrics)
        try:
            metrics_named(metrics)
        except ConfigError as error:
            faults.extend(error)
    if isinstance(baseline, Policy):
        baseline = baseline.name
    if baseline is not None and baseline not in chosen and not faults.found:
        faults.add("baseline", baseline, f"one of {listed(chosen)}{did_you_mean(str(baseline), chosen)}")
    faults.check()
    return compared(
        workload,
        platform,
        chosen,
        baseline=baseline or next(iter(chosen)),
        options=checked,
        seeds=seeds,
        metrics=metrics,
        keep=Keep(window),
        folder=None if out is None else Path(out),
        progress=progress,
    )


def compared(
    workload: Workload,
    platform: Platform,
    policies: Mapping[str, Policy],
    *,
    baseline: str,
    options: RunOptions,
    seeds: int = 1,
    metrics: Sequence[str] | None = None,
    keep: Keep = Keep(),
    folder: Path | None = None,
    progress: Told = "bar",
    change: str = CHANGE,
) -> Comparison:
    """The same of policies by name; `keep` says what stays of each run."""
    runs = [
        (name, run_of(workload, platform, policy, replace(options, seed=seed)))
        for name, policy in policies.items()
        for seed in range(options.seed, options.seed + (seeds if policy.uses_chance else 1))
    ]
    for concern in runs[0][1].concerns:
        warnings.warn(str(concern), concern.category, stacklevel=3)
    # Made here, so that threads don't make them twice.
    _ = workload.sha256, platform.sha256
    folders, outcomes = file_names(policies), dict[str, Outcome]()
    tasks = [_task(name, run, keep, _folder_of(folders[name], run, folder, seeds)) for name, run in runs]
    with closing(on_threads(tasks, progress)) as answers:
        for task, (outcome, result, own) in answers:
            outcomes[task.key] = outcome
            if own is not None:
                # Here, in the main thread: Ctrl-C reaches no other, and must not find a file half-written.
                result.write(own)
    found = [outcomes[task.key] for task in tasks]
    _warn_of(found, before=len(runs[0][1].concerns))
    frame = pl.DataFrame([outcome.row() for outcome in found], infer_schema_length=None)
    table = table_of(frame, baseline, _with_boots(_default_metrics(frame), frame) if metrics is None else metrics)
    comparison = Comparison(table, frame, baseline, found, is_alike=_are_alike(platform), change=change)
    if folder is not None:
        comparison.write(folder)
    return comparison


def _task(policy: str, run: Run, keep: Keep, folder: Path | None) -> RunTask:
    """A run under the name of its policy; its result is kept as long as its files are to be written."""

    def kept(result: Result) -> tuple[Outcome, Result | None, Path | None]:
        outcome = Outcome.of(policy, result, keep, run.terms if keep.drawn else None)
        return outcome, None if folder is None else result, folder

    seed = run.options.seed
    title = f"{policy}, seed {seed}" if run.policy.uses_chance else policy
    return RunTask(f"{policy} {seed}", {"policy": policy, "seed": seed}, run, kept, title)


def _folder_of(name: str, run: Run, folder: Path | None, seeds: int) -> Path | None:
    """Folder of the files of a run, in a folder of its own."""
    several = seeds > 1 and run.policy.uses_chance
    own = name + (f"-seed-{run.options.seed}" if several else "")
    return None if folder is None else folder / own


_LONGEST_NAME = 100
"""Bytes of a policy's name in a file's, which may have 255 with all that is put before and behind it."""


def file_names(policies: Iterable[str]) -> dict[str, str]:
    """Names of files or folders for policies, by the policies' names, which are unique: easy-placement-lowest-power.

    They name nothing outside the folder they are in, no hidden file, and none of a comparison's own. Names too long for
    a file are cut. Those, and a name that another has already, end in a digest of the policy's.
    """
    found: dict[str, str] = {}
    for policy in policies:
        name = _file_name(policy)
        found[policy] = f"{name}-{json_sha256(policy)[:8]}" if name in found.values() else name
    return found


def _file_name(policy: str) -> str:
    name = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in policy)
    visible = name.lstrip(".")
    name = "-" * (len(name) - len(visible)) + visible
    if name == COMPARISON:
        name += "-"
    text = name.encode("utf-8", "replace")
    if len(text) <= _LONGEST_NAME:
        return name
    return f"{text[:_LONGEST_NAME].decode('utf-8', 'ignore')}-{json_sha256(policy)[:8]}"


def _warn_of(outcomes: Sequence[Outcome], *, before: int) -> None:
    """Say what looks wrong with the runs; of a policy with several, the first speaks for all."""
    first: dict[str, tuple[Concern, ...]] = {}
    for outcome in outcomes:
        first.setdefault(outcome.policy, outcome.concerns[before:])
    for concern in joined(first):
        warnings.warn(str(concern), concern.category, stacklevel=4)


def _is_cut(summary: Mapping[str, float | None]) -> bool:
    return bool(summary["running"] or summary["pending"])


def _mean_summary(summaries: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """The mean of each metric that is known; of one run its numbers as they are."""
    if len(summaries) == 1:
        return dict(summaries[0])
    columns = columns_of(summaries)
    known = {name: [value for value in values if value is not None] for name, values in columns.items()}
    return {name: sum(values) / len(values) if values else None for name, values in known.items()}


def _default_metrics(runs: pl.DataFrame) -> tuple[str, ...]:
    """Metrics if none are asked for: in windows that differ, idle nodes make the energy differ, too."""
    billed = tuple(key for key in OF_CONTRACT if "penalty" in runs.columns and key in runs.columns)
    if "makespan_s" not in runs.columns:  # a part of each run was measured, the same of all
        return (*DEFAULT_METRICS, *billed)
    if not _windows_differ(runs.group_by("policy").agg(pl.col("makespan_s").mean())["makespan_s"].to_list()):
        return (*DEFAULT_METRICS, *billed)
    place = DEFAULT_METRICS.index("energy_j") + 1
    return (*DEFAULT_METRICS[:place], "job_energy_j", "idle_energy_j", *DEFAULT_METRICS[place:], *billed)


def _with_boots(metrics: tuple[str, ...], runs: pl.DataFrame) -> tuple[str, ...]:
    """The metrics with the number of boots behind the energy that they save, where nodes sleep."""
    if "boots" not in runs.columns or "energy_j" not in metrics:
        return metrics
    place = metrics.index("energy_j") + 1
    return (*metrics[:place], "boots", *metrics[place:])


def _windows_differ(makespans_s: Sequence[float]) -> bool:
    """True if the longest is more than 1 % longer than the shortest."""
    return max(makespans_s) > (1 + _SAME_WINDOW_RATIO) * min(makespans_s)


def _are_alike(platform: Platform) -> bool:
    """True if every node draws the same, idle and under the same job, which has its nodes to itself."""
    draws_w = [np.concatenate([c.per_node(name) for c in platform.classes]) for name in ("idle_w", "busy_w")]
    is_shared = not platform.exclusive and bool((platform.slots > 1).any())
    return platform.actual is None and all(np.ptp(watts) == 0 for watts in draws_w) and not is_shared
