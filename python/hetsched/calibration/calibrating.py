"""`calibrate`: settings found in the first half of a log, tried on the second."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from hetsched import __version__
from hetsched.calibration.calibration import Calibration
from hetsched.calibration.contest import Contest
from hetsched.calibration.halves import Cut, first_half
from hetsched.calibration.search import Choice, Found, Search
from hetsched.calibration.settings import SETTINGS, Evidence, Setting, settings_of
from hetsched.calibration.trial import Goal, Trial, refusal
from hetsched.checks import Faults, did_you_mean, listed
from hetsched.errors import ConfigError
from hetsched.files import json_sha256
from hetsched.many.carried import clear
from hetsched.many.executors import Where, check_where, executor_of
from hetsched.many.many import many as answers_of
from hetsched.many.progress import Bars, Reporting, check_progress, teller
from hetsched.many.spec import platform_sha256, write_platform, write_workload
from hetsched.many.store import Store, code_sha256
from hetsched.params import ASSUMED_W
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.run.simulation import check_inputs, policy_of
from hetsched.validation.changes import changed
from hetsched.validation.inspection import Inspection, inspect
from hetsched.workload import Workload

JOURNAL = "calibration.jsonl"
LOOKS = "second-half.jsonl"
_MOST_EVALUATIONS = 100_000


def calibrate(
    workload: Workload,
    platform: Platform | None = None,
    policy: Any = "easy",
    *,
    settings: Sequence[str] | None = None,
    evaluations: int = 200,
    seed: int = 0,
    known_events: bool = False,
    workers: int | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Reporting = "bar",
    executor: Executor | str | None = None,
) -> Calibration:
    """Find settings of the machine and the policy under which the first half of a log comes out as it was observed.

    The second half, of which nothing is used for that, says what they are worth. A setting is changed only if the log
    error of waits becomes smaller by 0.005 on the first half, and larger by more than 0.02 in neither part of it.

    Parameters
    ----------
    workload
        A log with observed starts.
    platform
        The machine; None: as many nodes as the log's header says, else as its first half uses.
    policy
        The policy to begin with, as of `hetsched.simulate`.
    settings
        Names of the settings that may be changed, out of ``machine size, backfill, order, partitions, ceilings,
        windows, start latency, beat, jobs a user may hold, holds, outages``; None: all.
    evaluations
        The most runs of the first half.
    seed
        Seed of each run.
    known_events
        Score a run, too, that knows the outages of the second half.
    workers
        Runs at a time. None: as many as this process may use cores, and memory is free for. 1: one after the other, in
        this process.
    out
        A folder for a journal of evaluations. The same call again, after a kill at any instant, makes only those that
        are missing.
    progress
        ``"bar"``: a bar on standard error, if that is a terminal. A function: called with (evaluations made, the most
        that will be). None: nothing.
    executor
        Where to run, in place of processes of its own, as in `hetsched.sweep`.

    Returns
    -------
    Calibration
        The settings and the scores of both halves; the same, bit for bit, for any number of workers.

    Raises
    ------
    ConfigError
        If the log has no observed starts, too few jobs count, or an argument is invalid.
    OutputError
        If `out` cannot be written to, or another calibration is using it.

    Examples
    --------
    >>> import hetsched as hs
    >>> jobs = pl.DataFrame({"job_id": range(40), "submit_s": [600.0 * k for k in range(40)], "runtime_s": [900.0] * 40,
    ...                      "node_count": [1] * 40, "observed_start_s": [600.0 * k for k in range(40)]})
    >>> found = calibrate(hs.Workload.from_polars(jobs), hs.Platform.homogeneous(1, idle_w=100, tdp_w=300), workers=1)
    >>> found.settings
    {'machine size': '2 nodes (use_p99)'}
    """
    faults = Faults()
    check_inputs(workload, _assumed(1) if platform is None else platform, faults)
    names = _names(settings, faults)
    faults.whole("evaluations", evaluations, low=1, high=_MOST_EVALUATIONS)
    faults.whole("seed", seed, low=0, high=2**64 - 1)
    check_where(workers, executor, faults)
    check_progress(progress, faults, "evaluations")
    if out is not None:
        faults.folder("out", out)
    faults.check()
    own = policy_of(policy)
    if own.own:
        raise ConfigError([("policy", own.name, "one whose parts are hetsched's own, which other parts can stand for")])
    asked = _Asked(
        names, evaluations, seed, known_events, workers, executor, None if out is None else Path(out), progress
    )
    return _Calibrating(workload, Cut.of(workload), platform, own, asked).answer()


def _names(given: Sequence[str] | None, faults: Faults) -> tuple[str, ...]:
    if given is None:
        return tuple(SETTINGS)
    names = (given,) if isinstance(given, str) else tuple(given)
    for name in names:
        if name not in SETTINGS:
            faults.add("settings", name, f"names out of {listed(SETTINGS)}{did_you_mean(str(name), SETTINGS)}")
    return names


@dataclass(frozen=True)
class _Asked:
    """Arguments of `calibrate` besides the log, the machine and the policy."""

    names: tuple[str, ...]
    evaluations: int
    seed: int
    known_events: bool
    workers: int | None
    executor: Where
    out: Path | None
    progress: Reporting


@dataclass
class _Calibrating:
    """A calibration under way."""

    workload: Workload
    cut: Cut
    given: Platform | None
    policy: Policy
    asked: _Asked

    @cached_property
    def first(self) -> Workload:
        """The first half."""
        return first_half(self.workload, self.cut.at_s)

    @cached_property
    def platform(self) -> Platform:
        """The machine as it is."""
        if self.given is not None:
            return self.given
        said = inspect(self.first, None, until_s=self.cut.at_s)
        header = said.findings.filter(pl.col("finding") == "header_nodes")["value"].to_list()
        largest = int(self.first.to_polars()["node_count"].max())  # type: ignore[arg-type]
        nodes = max(int(header[0]) if header else said.settings["nodes"], largest)
        return _assumed(nodes)

    @cached_property
    def inspection(self) -> Inspection:
        """The things that the first half says of its machine."""
        return inspect(self.first, self.platform, until_s=self.cut.at_s)

    @cached_property
    def settings(self) -> list[Setting]:
        """The settings that there are, with their values."""
        log = Evidence(self.first, self.platform, self.policy, self.inspection, self.cut.at_s)
        return settings_of(log, self.asked.names)

    def answer(self) -> Calibration:
        """Search, and score what was found."""
        with ExitStack() as stack:
            journal = None if self.asked.out is None else stack.enter_context(_store(self.asked.out, JOURNAL))
            trials = stack.enter_context(self._trials())
            search, observed = self._searched(trials, journal)
            looks = self._looks(trials(search.steps[0]).key, self.asked.out)
        changes, events, asked = self._changes(search.now), self.inspection.events, self.asked
        ours = changed(self.workload, self.platform, self.policy, changes, events)
        contest = Contest(
            *(self.first, self.workload, self.cut, self.platform, self.policy, changes, events),
            seed=asked.seed,
            known_events=asked.known_events,
        )
        change, half = contest.change
        return Calibration(
            settings=self._labels(search.now),
            scores=contest.scores,
            trials=self._table(search, observed),
            steps=tuple(self._labels(step) for step in search.steps),
            change=change,
            change_half=half,
            guards=contest.guards,
            cut_s=self.cut.at_s,
            looks=looks,
            notes=tuple(contest.notes()),
            policy_name=self.policy.name,
            workload=ours.workload,
            platform=ours.platform,
            policy=ours.policy,
            events=ours.events,
        )

    def _changes(self, choice: Choice) -> dict[str, Any]:
        """Changes of all settings together; of entries of one name the last."""
        found: dict[str, Any] = {}
        for value, setting in zip(choice, self.settings, strict=True):
            found |= setting.values[value].changes
        return found

    def _labels(self, choice: Choice) -> dict[str, str]:
        pairs = zip(choice, self.settings, strict=True)
        return {setting.name: setting.values[value].label for value, setting in pairs if value}

    @contextmanager
    def _trials(self) -> Iterator[Callable[[Choice], Trial]]:
        """A function that gives the trial of a choice, while the files exist that trials need."""
        events = self.inspection.events
        given = events if len(events) else None
        decides: list[Any] = [__version__, code_sha256(), self.first.sha256, platform_sha256(self.platform)]
        decides += [self.policy.parts, None if given is None else given.sha256]
        decides += [self.cut.from_s, self.cut.at_s, self.asked.seed]
        with tempfile.TemporaryDirectory(prefix="hetsched-") as folder:
            workload_file = write_workload(self.first, Path(folder))
            platform_file = write_platform(self.platform, Path(folder))

            def trial(choice: Choice) -> Trial:
                changes = self._changes(choice)
                return Trial(
                    key=json_sha256([*decides, changes]),
                    names={"settings": self._labels(choice)},
                    changes=changes,
                    workload_file=workload_file,
                    workload_name=self.first.source,
                    platform_file=platform_file,
                    policy=self.policy,
                    events=given,
                    from_s=self.cut.from_s,
                    until_s=self.cut.at_s,
                    seed=self.asked.seed,
                )

            try:
                yield trial
            finally:
                clear()

    def _searched(self, trial: Callable[[Choice], Trial], journal: Store | None) -> tuple[Search, dict[str, Any]]:
        """The search, and the numbers that its runs are compared with."""
        first = trial((0,) * len(self.settings))
        goal = Goal.of(first.workload_file, first.workload_name, first.from_s, first.until_s)
        observed = goal.observed(first.until_s)
        with ExitStack() as stack:
            asked = self.asked
            # As many at a time as memory is free for: a step of the search has about as many choices.
            where = (asked.executor, asked.workers, asked.evaluations)
            executor = stack.enter_context(executor_of(*where, [self.first], [self.platform]))
            bars = stack.enter_context(Bars(shown=self.asked.progress == "bar"))
            bar = bars.bar("calibrate", unit="runs") if self.asked.progress == "bar" else teller(self.asked.progress)

            def evaluate(choices: Sequence[Choice]) -> list[Found]:
                tasks = [trial(choice) for choice in choices]
                known: dict[str, Found] = {}
                with closing(answers_of(tasks, executor=executor, store=journal, place=str)) as answers:
                    for task, answer in answers:
                        known[task.key] = answer
                        bar(len(search.found) + len(known), self.asked.evaluations)
                return [known[task.key] for task in tasks]

            def refuse(found: Found) -> str | None:
                return refusal(found, search.found.get(search.steps[0] if search.steps else (), found), observed)

            search = Search(self.settings, evaluate, refuse, self.asked.evaluations, goal.is_certain)
            search.run()
        if "impossible" in (base := search.found[search.steps[0]]):
            raise ConfigError([("policy", self.policy.name, f"one that runs on this platform: {base['impossible']}")])
        return search, observed

    def _table(self, search: Search, observed: Mapping[str, Any]) -> pl.DataFrame:
        """Every evaluation, in order."""
        base = search.found[search.steps[0]]
        rows = []
        for choice, found in search.found.items():
            names = ", ".join(f"{name}: {label}" for name, label in self._labels(choice).items()) or "as it is"
            halves = found.get("halves", [None, None])
            numbers = [found.get(name) for name in ("unstarted", "mean_wait_s", "most_queued", "queued_at_end")]
            rows.append(
                (
                    names,
                    found.get("log_error"),
                    *halves,
                    *numbers,
                    choice in search.steps,
                    refusal(found, base, observed),
                )
            )
        number, text = pl.Float64, pl.String
        schema = {"settings": text, "log_error": number, "log_error_early": number, "log_error_late": number}
        schema |= {"unstarted": pl.Int64, "mean_wait_s": number, "most_queued": number, "queued_at_end": pl.Int64}
        return pl.DataFrame(rows, {**schema, "is_step": pl.Boolean, "refused": text}, orient="row")

    def _looks(self, key: str, out: Path | None) -> int:
        """Number of different calibrations of this folder that were scored on the second half, this one with them."""
        if out is None:
            return 1
        asked = self.asked
        task = _Look(json_sha256([key, sorted(asked.names), asked.evaluations]), {})
        with _store(out, LOOKS) as store:
            if task.key not in store.answers:
                store.add(task, {"settings": list(asked.names), "evaluations": asked.evaluations})
            return len(store.answers)


@dataclass(frozen=True)
class _Look:
    """A look at the second half, for the store."""

    key: str
    names: Mapping[str, Any]


def _assumed(nodes: int) -> Platform:
    """Equal nodes with assumed watts, which decide nothing."""
    return Platform.homogeneous(nodes, idle_w=ASSUMED_W["idle_w"], tdp_w=ASSUMED_W["tdp_w"])


def _store(folder: Path, name: str) -> Store:
    return Store(folder, name, field="answer", by="calibration")
