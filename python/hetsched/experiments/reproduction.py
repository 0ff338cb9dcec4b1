"""`reproduce`: an experiment's repetitions side by side, and the report they add up to."""

from __future__ import annotations

import os
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from hetsched.checks import Faults
from hetsched.errors import ConfigError, RunWarning
from hetsched.experiments.claims import SHAPE_FACTOR, TOLERANCE, number
from hetsched.experiments.experiment import Experiment, Parameter, Repetition, Report, Row
from hetsched.experiments.registry import check_runs_policies, check_takes_logs, experiment_named
from hetsched.experiments.runs import MARK
from hetsched.experiments.shares import shares_of
from hetsched.files import json_sha256
from hetsched.many.axes import Policies, check_portable, named_policies
from hetsched.many.executors import Where, check_where, executor_of
from hetsched.many.many import many
from hetsched.many.store import Store, versions
from hetsched.policy import Policy
from hetsched.resources import threads

Progress = Callable[[int, int], object]

FILE = "repetitions.jsonl"
"""Finished repetitions in their folder."""
MOST_REPETITIONS = 10_000


def reproduce(
    name: str,
    *,
    seed: int = 0,
    quick: bool = False,
    repetitions: int | None = None,
    policies: Policies = (),
    logs: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    executor: Where = None,
) -> Report:
    """Run a published experiment again.

    Every repetition draws the machine and the workload again and runs all policies on them, so that policies are
    compared on the same draws; intervals are over repetitions.

    Parameters
    ----------
    name
        A key of `EXPERIMENTS`.
    seed
        From 0 to 2⁶⁴ - 1; all chance comes from it.
    quick
        Make do with few repetitions, and with a smaller machine or fewer jobs where the printed ones would take more
        than seconds: the parameters say what is smaller, and rows of such a run have no verdict.
    repetitions
        How many, from 2. None: as many as the experiment has; more make intervals narrower.
    policies
        Your own, as `hetsched.sweep` takes them, to be run on the same draws as the experiment's: they add rows, of
        which nothing is claimed, and curves to the figure. The rest stays as it is.
    logs
        A folder with logs in Standard Workload Format that the experiment runs on in place of its own workloads, if it
        takes any; ``machines.toml`` in it may have ``nodes`` and ``procs_per_node`` for each, by the log's file name.
    out
        A folder for finished repetitions. The same call again, after a kill at any instant, executes only those that
        are missing.
    progress
        Called with (repetitions done, repetitions in all).
    executor
        Where to make repetitions, in place of threads of this process: as in `hetsched.sweep`. Logs are read there
        under the same paths.

    Returns
    -------
    Report
        The same, bit for bit, for the same arguments.

    Raises
    ------
    ConfigError
        If there is no such experiment; the seed, a policy or the executor is invalid; a policy completes no job; or
        there are policies, and the experiment runs none.
    OutputError
        If `out` cannot be written to, or is being written to by another call.
    TraceError
        If what `out` holds of repetitions was not written by this function.

    Examples
    --------
    >>> report = reproduce("swa-multi", repetitions=6)
    >>> report.rows[0].quantity, report.rows[0].paper, report.rows[0].reproduced
    ('SWA saving, free, %', 5.36, 'shape')
    >>> report.runs.select("repetition", "scenario", "policy").row(0)
    (0, 'busy', 'naive')
    """
    faults = Faults()
    faults.whole("seed", seed, low=0, high=2**64 - 1)
    faults.flag("quick", quick)
    if repetitions is not None:
        faults.whole("repetitions", repetitions, low=2, high=MOST_REPETITIONS)
    _check_progress(progress, faults)
    check_where(None, executor, faults)
    for parameter, folder in (("out", out), ("logs", logs)):
        if folder is not None:
            faults.folder(parameter, folder)
    yours = _labelled(policies, faults) if policies else {}
    try:
        experiment = experiment_named(name)
        if policies:
            check_runs_policies(experiment)
        if logs is not None:
            check_takes_logs(experiment)
    except ConfigError as error:
        faults.extend(error)
    faults.check()
    usual = experiment.quick_repetitions if quick else experiment.repetitions
    seeds = repetition_seeds(name, seed, usual if repetitions is None else repetitions)
    found = {} if logs is None or experiment.logs is None else experiment.logs(os.fspath(logs))
    all_of_them = [
        Repetition(own, is_quick=quick, number=number, policies=yours, logs=found) for number, own in enumerate(seeds)
    ]
    folder = None if out is None else Path(out)
    tell = progress or (lambda _done, _total: None)
    frame = _frame(_all_runs(experiment, all_of_them, folder, tell, executor), seeds)
    _check_started(frame, yours)
    rows = [*experiment.rows(frame), *(row for label in yours for row in _of_yours(experiment, frame, label))]
    return Report(
        name=name,
        seed=seed,
        rows=[row.unjudged() for row in rows] if quick else rows,
        parameters=_parameters(experiment, frame, count=len(seeds), quick=quick, yours=yours),
        runs=frame,
        savings=experiment.savings(frame),
        draw=experiment.draw,
        source=experiment.source,
        shares=shares_of(frame, experiment.baseline),
        no_shares=experiment.no_shares,
    )


def repetition_seeds(name: str, seed: int, count: int) -> list[int]:
    """The seeds of an experiment's repetitions; the first few are those of a quick run."""
    drawn = np.random.SeedSequence([seed, zlib.crc32(name.encode())]).generate_state(count)
    return [int(own) for own in drawn]


def _check_progress(progress: object, faults: Faults) -> None:
    if progress is not None and not callable(progress):
        faults.add("progress", progress, "a function of two numbers, or None")


def _labelled(policies: Policies, faults: Faults) -> dict[str, Policy]:
    """A user's policies by the labels of their runs; notes those that are invalid or there twice."""
    found: dict[str, Policy] = {}
    for name, policy in named_policies(policies, faults).items():
        if policy in found.values():
            faults.add("policies", policy.name, "each policy once")
        found[MARK + name] = policy
    return found


@dataclass(frozen=True)
class _Task:
    """A repetition of an experiment by its name, with or without the further runs."""

    name: str
    one: Repetition
    has_more: bool

    @property
    def names(self) -> dict[str, Any]:
        """Names for people to read."""
        return {"experiment": self.name, "seed": self.one.seed}

    @property
    def key(self) -> str:
        """Sha256 over everything that decides its runs, the versions of what computes them among it."""
        policies = {name: policy.parts for name, policy in self.one.policies.items()}
        decides = [self.name, self.one.seed, self.one.is_quick, self.has_more, policies]
        if self.one.logs:
            decides.append({Path(path).name: sha256 for path, sha256 in self.one.logs.items()})
        return json_sha256([*versions(), *decides])

    def execute(self) -> list[dict[str, Any]]:
        """A row a run."""
        experiment = experiment_named(self.name)
        return [*experiment.repeat(self.one), *(experiment.further(self.one) if self.has_more else ())]


@dataclass(frozen=True)
class _TaskElsewhere(_Task):
    """The same in another process."""

    def execute(self) -> list[dict[str, Any]]:
        """A row a run."""
        with _known_as_unusual():
            return super().execute()


@contextmanager
def _known_as_unusual() -> Iterator[None]:
    """No warnings of runs: an experiment says itself what is unusual about it, such as its load."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RunWarning)
        yield


def _all_runs(
    experiment: Experiment,
    repetitions: Sequence[Repetition],
    folder: Path | None,
    progress: Progress,
    where: Where,
) -> list[list[dict[str, Any]]]:
    """The runs of all repetitions: from the folder, or executed side by side and noted there."""
    further = 0 if repetitions[0].is_quick else experiment.further_repetitions
    made = _Task if where is None else _TaskElsewhere
    tasks = [made(experiment.name, one, has_more=number < further) for number, one in enumerate(repetitions)]
    if where is not None:
        check_portable(repetitions[0].policies)
    with ExitStack() as stack:
        stack.enter_context(_known_as_unusual())
        store = None if folder is None else stack.enter_context(Store(folder, FILE, field="runs", by="reproduce"))
        found: dict[str, list[dict[str, Any]]] = {}
        progress(0, len(tasks))
        own = threads(len(tasks)) if where is None else executor_of(where, None, len(tasks), (), ())
        executor = stack.enter_context(own)
        for task, runs in stack.enter_context(closing(many(tasks, executor=executor, store=store))):
            found[task.key] = runs
            progress(len(found), len(tasks))
    return [found[task.key] for task in tasks]


def _frame(repetitions: Sequence[list[dict[str, Any]]], seeds: Sequence[int]) -> pl.DataFrame:
    rows = [
        {"repetition": number, "seed": seed, **row}
        for number, (seed, own) in enumerate(zip(seeds, repetitions, strict=True))
        for row in own
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def _check_started(frame: pl.DataFrame, policies: Mapping[str, Policy]) -> None:
    """Refuse a policy that completes no job in some run, which leaves nothing to compare."""
    for label, policy in policies.items():
        idle = frame.filter(pl.col("completed") == 0, policy=label)
        if len(idle):
            found = f"no job runs to its end ({idle['scenario'][0]})"
            raise ConfigError([(f"policies: {policy.name}", found, "a policy that completes jobs on this machine")])


def _of_yours(experiment: Experiment, frame: pl.DataFrame, label: str) -> list[Row]:
    """Rows of a user's policy; they say if jobs never ran, since then it did less than the others."""
    own = frame.filter(policy=label)
    missing = 1.0 - float(np.sum(own["completed"].to_numpy()) / np.sum(own["jobs"].to_numpy()))
    reason = {"reason": f"{missing:.2%} of its jobs never ran: not the others' work"} if missing else {}
    numbers = experiment.yours(frame, label) if experiment.yours is not None else {}
    return [number(f"{label}: {quantity}", values, **reason) for quantity, values in numbers.items()]


def _parameters(
    experiment: Experiment, frame: pl.DataFrame, *, count: int, quick: bool, yours: Mapping[str, Policy]
) -> list[Parameter]:
    note = "the least job energy of any placement in the window of the baseline's run"
    smaller = {one.name: one for one in experiment.quick_parameters} if quick else {}
    return [
        *(smaller.get(one.name, one) for one in experiment.parameters),
        Parameter("quick", quick, "few repetitions, and fewer jobs where the printed ones take long"),
        Parameter("repetitions", count, "draws of machine and workload, for the intervals"),
        Parameter("agreement_ratio", TOLERANCE, "how far off a value still agrees with the printed one"),
        Parameter("shape_factor", SHAPE_FACTOR, "how many times more or less a value may be and still have its shape"),
        Parameter("policies", dict(experiment.policies), "the paper's, and others in rows that begin with `beyond`"),
        *([Parameter("your_policies", [one.name for one in yours.values()], "asked for")] if yours else []),
        *([Parameter("bound", "computed", note)] if "energy_bound_j" in frame.columns else []),
        *experiment.measured(frame),
    ]
