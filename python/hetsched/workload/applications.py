"""Applications of jobs whose log does not name them, and first runs of applications."""

from __future__ import annotations

from typing import get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.chance import stream
from hetsched.checks import Faults, did_you_mean, listed
from hetsched.errors import ConfigError
from hetsched.typing import NamedApps
from hetsched.workload.jobs import Workload

FIRST_RUN = "first_run"
"""The column of `flag_first_runs`."""

_KEYS = ("user", "queue", "node_count")
_NAMED = get_args(NamedApps)
_PREFIX = "same-"

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]


def same_application(workload: Workload, *, tolerance_ratio: float = 0.10, named: NamedApps = "keep") -> Workload:
    """The workload with an application for every job: same user, queue, size and, within ±10 %, run length.

    The rule is that of the VAHRM paper (section VI-C-6). What it leaves open: jobs are taken in the order in which they
    are submitted, and a job belongs to the application of the earliest reference of its user, queue and size that its
    run length is within `tolerance_ratio` of. If there is none it is the reference of a new one. So every job is as
    near to its application's first job as the rule says, and two references of a user, queue and size never are. Users
    and queues that are not known (null, or no such column) count as one.

    Parameters
    ----------
    workload
        Jobs in the order of submission.
    tolerance_ratio
        How far a run length may be from the reference's, as a share of the reference's; from 0, below 1.
    named
        Jobs that the log names an application for keep it and belong to no other (``"keep"``), or are named by the rule
        like all others (``"replace"``).

    Returns
    -------
    Workload
        With a column ``app`` without nulls; the applications that the rule finds are called ``same-1``, ``same-2`` and
        so on, in the order of their first jobs.

    Raises
    ------
    ConfigError
        If the tolerance is invalid, or jobs are called ``same-...`` already and are to keep it.

    Examples
    --------
    >>> jobs = {"job_id": [1, 2, 3, 4], "submit_s": [0, 1, 2, 3], "runtime_s": [100, 110, 111, 120]}
    >>> jobs = pl.DataFrame({**jobs, "node_count": [8, 8, 8, 8], "user": ["ann", "ann", "ann", "ann"]})
    >>> same_application(Workload.from_polars(jobs)).to_polars()["app"].to_list()
    ['same-1', 'same-1', 'same-2', 'same-2']
    """
    frame = workload.to_polars()
    app = frame["app"] if "app" in frame.columns else pl.Series("app", [None], pl.String).new_from_index(0, len(frame))
    if named == "replace":
        app = app.set(app.is_not_null(), None)
    faults = Faults()
    faults.number("tolerance_ratio", tolerance_ratio, low=0.0, high=1.0 - 1e-9)
    if named not in _NAMED:
        faults.add("named", named, f"one of {listed(_NAMED)}{did_you_mean(str(named), _NAMED)}")
    taken = app.filter(app.str.starts_with(_PREFIX).fill_null(value=False))
    if len(taken):
        faults.add("app", taken[0], f"names that do not begin with `{_PREFIX}`; or named='replace'")
    faults.check()
    unnamed = app.is_null()
    rest = frame.filter(unnamed)
    references = _references(_groups(rest), rest["runtime_s"].to_numpy(), tolerance_ratio)
    _, number = np.unique(references, return_inverse=True)
    app = app.scatter(unnamed.arg_true(), _PREFIX + pl.Series(number + 1).cast(pl.String))
    return workload._changed(
        frame.with_columns(app.alias("app")), f"same_application({tolerance_ratio:g})", recheck=True
    )


def first_run_ratio(workload: Workload) -> float:
    """The share of jobs that are the first of their application.

    Parameters
    ----------
    workload
        Its column ``app`` says which jobs belong together; without one see `same_application`.

    Returns
    -------
    float
        Applications over jobs, 0 to 1; 0 without jobs. The VAHRM paper finds 0.09 in TSUBAME3.0's log.

    Raises
    ------
    ConfigError
        If a job's application is not known.

    Examples
    --------
    >>> jobs = {"job_id": [1, 2, 3, 4], "submit_s": [0, 1, 2, 3], "runtime_s": [9, 9, 9, 9], "node_count": [1, 1, 1, 1]}
    >>> first_run_ratio(Workload.from_polars(pl.DataFrame({**jobs, "app": ["a", "b", "a", "a"]})))
    0.5
    """
    frame = workload.to_polars()
    unknown = frame["app"].null_count() if "app" in frame.columns else len(frame)
    if unknown:
        jobs = f"{unknown:,} of {len(frame):,} jobs without one"
        raise ConfigError([("app", jobs, "an application for every job; same_application gives it")])
    return frame["app"].n_unique() / len(frame) if len(frame) else 0.0


def flag_first_runs(workload: Workload, ratio: float, *, seed: int = 0) -> Workload:
    """The workload with a column ``first_run`` that is true for a share of the jobs, drawn job by job.

    A job is flagged where its own uniform draw is below `ratio`. The draws are the seed's, so that with a higher ratio
    the same jobs are flagged and others in addition.

    Parameters
    ----------
    workload
        The jobs.
    ratio
        How likely each is to be flagged, 0 to 1.
    seed
        All chance comes from it.

    Raises
    ------
    ConfigError
        If one of the two is invalid; lists both.

    Examples
    --------
    >>> jobs = {"job_id": [1, 2, 3], "submit_s": [0, 1, 2], "runtime_s": [9, 9, 9], "node_count": [1, 1, 1]}
    >>> workload = Workload.from_polars(pl.DataFrame(jobs))
    >>> [flag_first_runs(workload, ratio).to_polars()["first_run"].sum() for ratio in (0.0, 1.0)]
    [0, 3]
    """
    faults = Faults()
    faults.number("ratio", ratio, low=0.0, high=1.0)
    faults.whole("seed", seed, low=0, high=2**64 - 1)
    faults.check()
    drawn = stream(seed, "first runs").random(len(workload))
    frame = workload.to_polars().with_columns(pl.Series(FIRST_RUN, drawn < ratio))
    return workload._changed(frame, f"flag_first_runs({ratio:g}, seed={seed})", recheck=True)


def _groups(frame: pl.DataFrame) -> Rows:
    """Jobs of one user, queue and size: the row of the first of them, for each."""
    keys = [name for name in _KEYS if name in frame.columns]
    # Numbered before the groups are made: within them every count would start again.
    rows = frame.select(keys).with_columns(row=pl.int_range(pl.len(), dtype=pl.Int64))
    return rows.select(pl.col("row").first().over(keys)).to_series().to_numpy()


def _references(groups: Rows, runtime_s: Floats, tolerance_ratio: float) -> Rows:
    """The row of each job's reference, itself for a new one.

    Round by round, in all groups at once: of the jobs that are left, the first is a reference, and those near to it
    leave with it. References of a group are farther apart than the tolerance, so that there are at most some 150 rounds
    for run lengths from a second to ten days, however many jobs there are.
    """
    found = np.arange(len(groups))
    first = np.zeros(len(groups), dtype=np.int64)
    rows = np.arange(len(groups))
    # Against rounding only: 10 % of 0.3 is a digit more than 0.33 is away from it.
    reach = tolerance_ratio * (1 + 1e-9)
    while len(rows):
        # Of several values for one place the last stays: backwards, the first.
        first[groups[rows[::-1]]] = rows[::-1]
        reference = first[groups[rows]]
        is_near = np.abs(runtime_s[rows] - runtime_s[reference]) <= reach * runtime_s[reference]
        found[rows[is_near]] = reference[is_near]
        rows = rows[~is_near]
    return found
