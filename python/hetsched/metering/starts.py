"""A schedule as a frame of starts: brought into one form, and held to what its workload and platform allow.

Whether two jobs want one node at once is not asked here: that takes their ends, which the engine knows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.config import did_you_mean, listed, shown
from hetsched.errors import ConfigError, TraceError
from hetsched.platform import Platform
from hetsched.platform.coverage import many
from hetsched.workload import COLUMNS, Workload
from hetsched.workload.checks import refuse_other_frames
from hetsched.workload.conversion import Origin, converted
from hetsched.workload.node_lists import text_of
from hetsched.workload.schema import MAX_SECONDS

__all__ = ["Fault", "checked_starts", "instant", "limited"]

Fault = tuple[str, str, str]

_MOST_FAULTS = 20
_KINDS = {
    "job_id": COLUMNS["job_id"],
    "start_s": replace(COLUMNS["observed_start_s"], name="start_s", low=-MAX_SECONDS, high=MAX_SECONDS),
    "nodes": replace(COLUMNS["observed_nodes"], name="nodes"),
    "end_s": replace(COLUMNS["observed_start_s"], name="end_s", low=-MAX_SECONDS, high=MAX_SECONDS),
}
_NEEDED = ("job_id", "start_s", "nodes")


def checked_starts(starts: object, workload: Workload, platform: Platform) -> pl.DataFrame:
    """The schedule in one form, a row a job of it.

    Parameters
    ----------
    starts
        What `hetsched.meter` was given.
    workload, platform
        What the schedule is of.

    Returns
    -------
    polars.DataFrame
        ``job_id, start_s, nodes, end_s`` (null: unknown), in the workload's order, and ``row``, the job's in the
        workload.

    Raises
    ------
    ConfigError
        With all faults, of which the first twenty are shown.
    TraceError
        If a column is of a type that cannot be meant.
    """
    refuse_other_frames(starts, "starts")
    assert isinstance(starts, pl.DataFrame)
    _refuse_missing(starts)
    given = pl.DataFrame([_taken(starts, name) for name in _KINDS if name in starts.columns])
    if "end_s" not in given.columns:
        given = given.with_columns(end_s=pl.lit(None, pl.Float64))
    raise_faults(_value_faults(given))
    asked = workload.to_polars().select("job_id", "submit_s", "node_count", pl.col("^slots$")).with_row_index("row")
    known = given.with_row_index("at").join(asked, on="job_id", how="left", maintain_order="left")
    raise_faults([*_id_faults(known), *_job_faults(known.filter(pl.col("row").is_not_null()), platform)])
    return known.sort("row").select("job_id", "start_s", "nodes", "end_s", "row")


def instant(micros: int) -> str:
    """An instant as messages tell it.

    Examples
    --------
    >>> instant(90_000_000), instant(1_250_000)
    ('90 s', '1.25 s')
    """
    text = f"{micros // 1_000_000}.{micros % 1_000_000:06d}".rstrip("0").rstrip(".")
    return f"{text} s"


def limited(faults: list[Fault]) -> list[Fault]:
    """The first of many faults, and how many more there are.

    Examples
    --------
    >>> limited([("a", "b", "c")] * 22)[-1]
    ('starts', '2 more faults', 'none')
    """
    more = len(faults) - _MOST_FAULTS
    return faults if more <= 0 else [*faults[:_MOST_FAULTS], ("starts", f"{more:,} more faults", "none")]


def raise_faults(faults: list[Fault]) -> None:
    """Raise what was found, if anything was."""
    if faults:
        raise ConfigError(limited(faults))


def _refuse_missing(starts: pl.DataFrame) -> None:
    missing = [name for name in _NEEDED if name not in starts.columns]
    expected = "columns job_id, start_s and nodes, and end_s where it is known"
    raise_faults(
        [("starts", f"columns {listed(starts.columns)}", expected + _hints(missing, starts))] if missing else []
    )


def _hints(missing: list[str], starts: pl.DataFrame) -> str:
    return next((hint for name in missing if (hint := did_you_mean(name, starts.columns))), "")


def _taken(starts: pl.DataFrame, name: str) -> pl.Series:
    return converted(starts[name], _KINDS[name], Origin("starts"))


def _value_faults(given: pl.DataFrame) -> list[Fault]:
    """What is missing or no number, row by row."""
    faults: list[tuple[int, Fault]] = []
    for name in ("job_id", "start_s", "nodes"):
        hint = "; a job that never started has no row" if name != "job_id" else ""
        expected = f"{_expected(name)}{hint}"
        rows = given[name].is_null().arg_true().to_list()
        faults += [(row, (f"starts, row {row}, {name}", "nothing", expected)) for row in rows]
    for name in ("start_s", "end_s"):
        seconds = given[name].fill_null(0.0)
        rows = (~(seconds.is_finite() & (seconds.abs() <= MAX_SECONDS))).arg_true().to_list()
        faults += [(row, (f"starts, row {row}, {name}", shown(given[name][row]), _expected(name))) for row in rows]
    rows = (given["nodes"].list.drop_nulls().list.len() < given["nodes"].list.len()).fill_null(value=False).arg_true()
    lists = text_of(given["nodes"])
    faults += [(row, (f"starts, row {row}, nodes", shown(lists[row]), _expected("nodes"))) for row in rows.to_list()]
    return [fault for _, fault in sorted(faults)]


def _expected(name: str) -> str:
    return {"job_id": "a job of the workload", "nodes": "a list of node numbers"}.get(name, "seconds up to 1e+12")


def _id_faults(known: pl.DataFrame) -> list[Fault]:
    """Jobs that there are not, and jobs that are there twice."""
    unknown = known.filter(pl.col("row").is_null())
    faults: list[Fault] = [
        (f"starts, row {at}, job_id", f"`{job}`", "the number of a job of the workload")
        for at, job in unknown.select("at", "job_id").iter_rows()
    ]
    first = known.with_columns(pl.col("at").min().over("job_id").alias("first")).filter(pl.col("at") > pl.col("first"))
    return faults + [
        (f"starts, row {at}, job_id", f"`{job}`", f"each job once; row {before} has it already")
        for at, job, before in first.select("at", "job_id", "first").iter_rows()
    ]


def micros(seconds: pl.Series) -> npt.NDArray[np.int64]:
    """Seconds as the engine's clock has them; a null becomes the least number there is."""
    return (seconds * 1e6).round(mode="half_away_from_zero").cast(pl.Int64).fill_null(-(2**63)).to_numpy()


def _job_faults(known: pl.DataFrame, platform: Platform) -> list[Fault]:
    """What cannot be of each job: when it starts and ends, and on which nodes."""
    start, submit, end = (micros(known[name]) for name in ("start_s", "submit_s", "end_s"))
    has_end = known["end_s"].is_not_null().to_numpy()
    nodes, count = known["nodes"], known["node_count"]
    asked = known["slots"].fill_null(1) if "slots" in known.columns else pl.repeat(1, len(known), eager=True)
    most = int(platform.slots.min())
    rules: list[tuple[str, npt.NDArray[np.bool_], Callable[[int], tuple[str, str]]]] = [
        (
            "start_s",
            start < submit,
            lambda k: (instant(start[k]), f"{instant(submit[k])} or later: it is submitted then"),
        ),
        (
            "end_s",
            has_end & (end < start),
            lambda k: (instant(end[k]), f"{instant(start[k])} or later: it starts then"),
        ),
        (
            "nodes",
            (nodes.list.len() != count).to_numpy(),
            lambda k: (many(len(nodes[k]), "node"), f"{count[k]}, its node_count"),
        ),
        (
            "nodes",
            (nodes.list.n_unique() != nodes.list.len()).to_numpy(),
            lambda k: (f"node {_repeated(nodes[k])} twice", "each node once"),
        ),
        (
            "nodes",
            (nodes.list.max() >= platform.nodes).fill_null(value=False).to_numpy(),
            lambda k: (f"node {nodes[k].max()}", f"nodes from 0 to {platform.nodes - 1}, the platform's"),
        ),
        (
            "nodes",
            (asked > most).to_numpy(),
            lambda k: (f"{asked[k]} slots asked for", f"at most {most}, a node's slots"),
        ),
    ]
    faults: list[tuple[int, Fault]] = []
    for name, broken, told in rules:
        for k in np.flatnonzero(broken).tolist():
            at = "" if name == "start_s" else f" at {instant(start[k])}"
            faults.append((k, (f"starts, job {known['job_id'][k]}{at}, {name}", *told(k))))
    return [fault for _, fault in sorted(faults, key=lambda pair: pair[0])]


def _repeated(nodes: pl.Series) -> int:
    return int(nodes.filter(nodes.is_duplicated())[0])
