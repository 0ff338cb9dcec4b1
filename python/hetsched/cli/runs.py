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
from hetsched.cli.window import Window
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.report.canvas import unix_zero
from hetsched.report.figures import MOST_JOBS
from hetsched.run.concerns import Concern
from hetsched.run.result import Result
from hetsched.run.simulation import simulate
from hetsched.text import many
from hetsched.workload import Workload

__all__ = ["Outcome", "Run", "file_name", "run_all", "runs_of"]

_NO_TIMELINE = pl.DataFrame(
    schema=dict.fromkeys(("time_s", "power_w", "busy_nodes", "queued_jobs"), pl.Float64),
)
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
        As `Result` has them; the summary of a window as `hetsched.analysis.measured` has it.
    curve
        As `waiting_curve` gives it; this and the next are empty unless there is something to draw.
    bins
        As `run_bins` gives it.
    jobs
        `Result.jobs` where they are few enough to be drawn one by one.
    concerns
        What looks wrong with it.
    """

    run: Run
    summary: dict[str, Any]
    provenance: dict[str, Any]
    timing: dict[str, float]
    curve: pl.DataFrame
    bins: pl.DataFrame
    jobs: pl.DataFrame | None
    concerns: tuple[Concern, ...] = ()

    @classmethod
    def of(cls, run: Run, result: Result, *, drawn: bool, window: Window | None = None) -> Outcome:
        """What to keep of a result; what pictures need only if there will be some."""
        jobs = result.jobs if drawn else result.jobs.clear()
        timeline = result.timeline if drawn else _NO_TIMELINE
        return cls(
            run=run,
            summary=result.summary() if window is None else window.summary(result),
            provenance=result.provenance,
            timing=result.timing,
            curve=waiting_curve(jobs["wait_s"]),
            bins=run_bins(jobs, timeline),
            jobs=jobs if drawn and len(jobs) <= MOST_JOBS else None,
            concerns=result.concerns,
        )

    @property
    def nodes(self) -> int:
        """How many nodes it ran on."""
        return int(self.provenance["platform"]["nodes"])

    @property
    def unix_zero_s(self) -> float | None:
        """When second 0 of the log's clock was, as `unix_zero` finds it."""
        return unix_zero(self.provenance, self.bins["start_s"][0] if len(self.bins) else 0.0)

    @property
    def title(self) -> str:
        """What stands above its pictures."""
        return f"{self.run.policy.name}, {many(self.nodes, 'node')}"

    def row(self) -> dict[str, Any]:
        """As a row of a frame of runs: policy, seed, and the summary."""
        return {"policy": self.run.policy.name, "seed": self.run.seed, **self.summary}


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
        count = seeds if policy.uses_chance else 1
        for own in range(seed, seed + count):
            name = file_name(policy.name) + (f"-seed-{own}" if count > 1 else "")
            runs.append(Run(policy, own, None if folder is None else folder / name))
    return runs


def run_all(
    workload: Workload,
    platform: Platform,
    runs: Sequence[Run],
    *,
    options: Mapping[str, Any],
    bars: Bars,
    drawn: bool,
    window: Window | None = None,
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
    drawn
        Whether to keep what pictures need.
    window
        Over which part of each run to measure; None: all of it.

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
    unwritten: dict[Path, Result] = {}

    def outcome(run: Run) -> Outcome:
        name = run.policy.name if not run.policy.uses_chance else f"{run.policy.name}, seed {run.seed}"
        tell = bars.bar(name, unit="jobs")
        result = simulate(workload, platform, run.policy, seed=run.seed, progress=tell, **options)
        tell(1, 1)
        kept = Outcome.of(run, result, drawn=drawn, window=window)
        if run.folder is not None:
            unwritten[run.folder] = result
        return kept

    pool = ThreadPoolExecutor(max_workers=min(len(runs), _workers(workload)))
    is_patient = True
    try:
        futures = [pool.submit(outcome, run) for run in runs]
        _write_as_they_end(futures, unwritten)
        return [future.result() for future in futures]
    except KeyboardInterrupt:
        is_patient = False
        raise
    finally:
        bars.stop()
        pool.shutdown(wait=is_patient, cancel_futures=True)


def _write_as_they_end(futures: Sequence[Future[Outcome]], unwritten: dict[Path, Result]) -> None:
    """Wait until all are done, or one has raised: then raise that.

    Files are written here, in the main thread: Ctrl-C reaches no other, and must not find a file half-written.
    """
    waiting = True
    while waiting:
        # In small steps: Ctrl-C does not wake a waiting thread, because polars handles it with SA_RESTART.
        done, others = wait(futures, timeout=_STEP_S, return_when=FIRST_EXCEPTION)
        errors = [error for future in futures if future in done and (error := future.exception()) is not None]
        if errors:
            raise errors[0]
        for folder in list(unwritten):
            unwritten.pop(folder).write(folder)
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
