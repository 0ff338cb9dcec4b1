"""Runs of several policies side by side, and of each only what a comparison needs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from hetsched.analysis import run_bins, waiting_curve
from hetsched.cli.progress import Bars
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.report.gantt import MOST_JOBS
from hetsched.result import Result
from hetsched.simulation import simulate
from hetsched.workload import Workload

__all__ = ["Outcome", "Run", "file_name", "is_chancy", "run_all", "runs_of"]

# The engine's registry does not say which parts draw lots; tests hold this list to what they do.
_CHANCY_PARTS = frozenset({("placement", "random")})

_STEP_S = 0.1
_BYTES_A_JOB = 1000
_BYTES_A_JOBS_NODE = 16


@dataclass(frozen=True)
class Run:
    """A policy under a seed.

    Parameters
    ----------
    policy
        The policy.
    seed
        The seed.
    folder
        Where its files go; None: nowhere.
    """

    policy: Policy
    seed: int
    folder: Path | None = None


@dataclass(frozen=True)
class Outcome:
    """What is kept of a run when its frames are let go of.

    Parameters
    ----------
    run
        What was run.
    summary, provenance, timing
        As `Result` has them.
    curve
        As `waiting_curve` gives it.
    bins
        As `run_bins` gives it.
    jobs
        `Result.jobs` where they are few enough to be drawn one by one.
    """

    run: Run
    summary: dict[str, Any]
    provenance: dict[str, Any]
    timing: dict[str, float]
    curve: pl.DataFrame
    bins: pl.DataFrame
    jobs: pl.DataFrame | None

    @classmethod
    def of(cls, run: Run, result: Result) -> Outcome:
        """What to keep of a result."""
        return cls(
            run=run,
            summary=result.summary(),
            provenance=result.provenance,
            timing=result.timing,
            curve=waiting_curve(result.jobs["wait_s"]),
            bins=run_bins(result.jobs, result.timeline),
            jobs=result.jobs if len(result.jobs) <= MOST_JOBS else None,
        )

    @property
    def nodes(self) -> int:
        """How many nodes it ran on."""
        return int(self.provenance["platform"]["nodes"])

    def row(self) -> dict[str, Any]:
        """As a row of a frame of runs: policy, seed, and the summary."""
        return {"policy": self.run.policy.name, "seed": self.run.seed, **self.summary}


def is_chancy(policy: Policy) -> bool:
    """Whether another seed can make another schedule.

    Examples
    --------
    >>> is_chancy(Policy.preset("random")), is_chancy(Policy.preset("easy"))
    (True, False)
    """
    return any(part is not None and (role, part["name"]) in _CHANCY_PARTS for role, part in policy.parts.items())


def file_name(policy: str) -> str:
    """A policy's name as the name of a file or folder.

    Examples
    --------
    >>> file_name("easy:placement=lowest-power")
    'easy-placement-lowest-power'
    """
    return "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in policy)


def runs_of(policies: Sequence[Policy], *, seed: int, seeds: int, folder: Path | None = None) -> list[Run]:
    """The runs of a comparison: as many seeds as asked for where chance plays, one where it does not.

    Parameters
    ----------
    policies
        In the order of the comparison.
    seed
        The first seed.
    seeds
        How many, at least 1.
    folder
        Where results go, each into a folder of its own inside; None: nowhere.

    Examples
    --------
    >>> [run.seed for run in runs_of([Policy.preset("fcfs"), Policy.preset("random")], seed=5, seeds=3)]
    [5, 5, 6, 7]
    """
    runs = []
    for policy in policies:
        count = seeds if is_chancy(policy) else 1
        for own in range(seed, seed + count):
            name = file_name(policy.name) + (f"-seed-{own}" if count > 1 else "")
            runs.append(Run(policy, own, None if folder is None else folder / name))
    return runs


def run_all(
    workload: Workload, platform: Platform, runs: Sequence[Run], options: Mapping[str, Any], bars: Bars
) -> list[Outcome]:
    """Every run, as many at a time as there are processors and memory for.

    Parameters
    ----------
    workload, platform
        The same for all.
    runs
        What to run.
    options
        More keyword options of `hetsched.simulate`.
    bars
        Where to show how far each is.

    Returns
    -------
    list of Outcome
        In the order of `runs`.

    Raises
    ------
    HetschedError
        The first that any run raises; the others are stopped.
    """
    # Made here, so that threads don't make them twice.
    _ = workload.columns, workload.sha256, platform.machine, platform.sha256
    pool = ThreadPoolExecutor(max_workers=min(len(runs), _workers(workload)))
    try:
        futures = [pool.submit(_outcome, workload, platform, run, options, bars) for run in runs]
        _wait(futures)
        return [future.result() for future in futures]
    finally:
        bars.stop()
        pool.shutdown(cancel_futures=True)


def _outcome(workload: Workload, platform: Platform, run: Run, options: Mapping[str, Any], bars: Bars) -> Outcome:
    name = run.policy.name if not is_chancy(run.policy) else f"{run.policy.name}, seed {run.seed}"
    tell = bars.bar(name, unit="jobs")
    result = simulate(workload, platform, run.policy, seed=run.seed, progress=tell, **options)
    tell(1, 1)
    if run.folder is not None:
        result.write(run.folder)
    return Outcome.of(run, result)


def _wait(futures: Sequence[Future[Outcome]]) -> None:
    """Until all are done, or one has raised: then what it raised."""
    waiting = True
    while waiting:
        # In small steps: a signal does not wake a waiting thread where somebody has asked for SA_RESTART, as polars does.
        done, others = wait(futures, timeout=_STEP_S, return_when=FIRST_EXCEPTION)
        errors = [error for future in futures if future in done and (error := future.exception()) is not None]
        if errors:
            raise errors[0]
        waiting = bool(others)


def _workers(workload: Workload) -> int:
    frame = workload.to_polars()
    needed = len(frame) * _BYTES_A_JOB + int(frame["node_count"].cast(pl.Int64).sum()) * _BYTES_A_JOBS_NODE
    return max(1, min(os.cpu_count() or 1, _free_bytes() // max(needed, 1)))


def _free_bytes() -> int:
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 2**62
