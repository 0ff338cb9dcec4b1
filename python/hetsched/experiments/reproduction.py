"""`reproduce`: an experiment's repetitions side by side, and the report they add up to."""

from __future__ import annotations

import os
import threading
import warnings
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np
import polars as pl

from hetsched.config import Faults
from hetsched.errors import ConfigError, RunWarning
from hetsched.experiments.claims import TOLERANCE
from hetsched.experiments.experiment import Experiment, Parameter, Report
from hetsched.experiments.registry import experiment_named
from hetsched.experiments.runs import can_bound

__all__ = ["repetition_seeds", "reproduce"]

Progress = Callable[[int, int], object]

_STEP_S = 0.1
_MOST_WORKERS = 16


def reproduce(name: str, *, seed: int = 0, quick: bool = False, progress: Progress | None = None) -> Report:
    """Run a published experiment again.

    Every repetition draws the machine and the workload anew and runs all policies on them, so that policies are
    compared on the same draws; intervals are over repetitions.

    Parameters
    ----------
    name
        A key of `EXPERIMENTS`.
    seed
        From 0 to 2⁶⁴ - 1; all chance comes from it.
    quick
        Whether to make do with few repetitions: wider intervals, the same machine and jobs.
    progress
        Called with (repetitions done, repetitions in all), from any thread.

    Returns
    -------
    Report
        The same, bit for bit, for the same arguments.

    Raises
    ------
    ConfigError
        If there is no such experiment, or the seed cannot be.

    Examples
    --------
    >>> report = reproduce("swa-multi", quick=True)
    >>> report.rows[0].quantity, report.rows[0].paper, report.rows[0].reproduced
    ('SWA saving, free, %', 5.36, 'shape')
    >>> report.runs.select("repetition", "scenario", "policy").row(0)
    (0, 'busy', 'naive')
    """
    faults = Faults()
    faults.whole("seed", seed, low=0, high=2**64 - 1)
    faults.flag("quick", quick)
    _check_progress(progress, faults)
    try:
        experiment = experiment_named(name)
    except ConfigError as error:
        faults.extend(error)
    faults.check()
    count = experiment.quick_repetitions if quick else experiment.repetitions
    seeds = repetition_seeds(name, seed, count)
    repeat = _with_beside(experiment, [] if quick else seeds[: experiment.beside_repetitions])
    with warnings.catch_warnings():
        # What is unusual about a published experiment, such as its load, is known and said where it is asked for.
        warnings.simplefilter("ignore", RunWarning)
        frame = _frame(_repeated(repeat, seeds, progress or (lambda _done, _total: None)), seeds)
    return Report(
        name=name,
        seed=seed,
        rows=experiment.rows(frame),
        parameters=_parameters(experiment, count, frame),
        runs=frame,
        savings=experiment.savings(frame),
        draw=experiment.draw,
    )


def _check_progress(progress: object, faults: Faults) -> None:
    if progress is not None and not callable(progress):
        faults.add("progress", progress, "a function of two numbers, or None")


def _with_beside(experiment: Experiment, seeds: Sequence[int]) -> Callable[[int], list[dict[str, Any]]]:
    """A repetition's runs, with those beside them in the repetitions of some seeds."""
    return lambda seed: [*experiment.repeat(seed), *(experiment.beside(seed) if seed in seeds else [])]


def repetition_seeds(name: str, seed: int, count: int) -> list[int]:
    """The seeds of an experiment's repetitions; the first few are those of a quick run.

    Parameters
    ----------
    name
        Of the experiment.
    seed
        All chance comes from it.
    count
        How many.

    Examples
    --------
    >>> repetition_seeds("pools", 0, 2) == repetition_seeds("pools", 0, 9)[:2]
    True
    >>> set(repetition_seeds("pools", 0, 99)) & set(repetition_seeds("pools", 1, 99))
    set()
    """
    drawn = np.random.SeedSequence([seed, zlib.crc32(name.encode())]).generate_state(count)
    return [int(own) for own in drawn]


def _parameters(experiment: Experiment, count: int, frame: pl.DataFrame) -> list[Parameter]:
    bound = "computed" if can_bound() else "left out: pip install highspy"
    note = "the least job energy of any placement in the window of the baseline's run"
    return [
        *experiment.parameters,
        Parameter("repetitions", count, "draws of machine and workload, for the intervals"),
        Parameter("agreement_ratio", TOLERANCE, "how far off a value still agrees with the printed one"),
        Parameter("policies", dict(experiment.policies), "the paper's, and others in rows that begin with `beyond`"),
        *([Parameter("bound", bound, note)] if "energy_bound_j" in frame.columns else []),
        *experiment.measured(frame),
    ]


def _frame(repetitions: Sequence[list[dict[str, Any]]], seeds: Sequence[int]) -> pl.DataFrame:
    rows = [
        {"repetition": number, "seed": seed, **row}
        for number, (seed, own) in enumerate(zip(seeds, repetitions, strict=True))
        for row in own
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def _repeated(
    repeat: Callable[[int], list[dict[str, Any]]], seeds: Sequence[int], progress: Progress
) -> list[list[dict[str, Any]]]:
    """All repetitions in order, as many at a time as there are cores: the engine lets go of the interpreter's lock."""
    stop, done = threading.Event(), 0

    def one(seed: int) -> list[dict[str, Any]]:
        return [] if stop.is_set() else repeat(seed)

    pool = ThreadPoolExecutor(max_workers=min(len(seeds), os.cpu_count() or 1, _MOST_WORKERS))
    is_patient = True
    try:
        futures = [pool.submit(one, seed) for seed in seeds]
        while done < len(seeds):
            done = _count_done(futures)
            progress(done, len(seeds))
        return [future.result() for future in futures]
    except KeyboardInterrupt:
        is_patient = False
        raise
    finally:
        stop.set()
        pool.shutdown(wait=is_patient, cancel_futures=True)


def _count_done(futures: Sequence[Future[Any]]) -> int:
    """How many have ended after a short wait; raises what one of them raised."""
    # In small steps: Ctrl-C does not wake a waiting thread, because polars handles it with SA_RESTART.
    done, _ = wait(futures, timeout=_STEP_S, return_when=FIRST_EXCEPTION)
    for future in futures:
        if future in done:
            future.result()
    return len(done)
