"""A schedule as a frame of starts: brought into one form, and held to what its workload and platform allow.

Whether two jobs want one node at once is not asked here: that takes their ends, which the engine knows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.checks import did_you_mean, listed, shown
from hetsched.platform import Platform
from hetsched.run.metered_rules import Rule, raise_faults, refuse
from hetsched.text import many
from hetsched.workload import COLUMNS, Workload
from hetsched.workload.conform import refuse_other_frames
from hetsched.workload.convert import Origin, converted, nodes_text
from hetsched.workload.schema import MAX_SECONDS

__all__ = ["checked_starts", "instant", "micros"]

_COLUMNS = {
    "job_id": COLUMNS["job_id"],
    "start_s": replace(COLUMNS["observed_start_s"], name="start_s"),
    "nodes": replace(COLUMNS["observed_nodes"], name="nodes"),
    "end_s": replace(COLUMNS["observed_start_s"], name="end_s"),
}
_NEEDED = ("job_id", "start_s", "nodes")
_SECONDS = f"seconds up to {MAX_SECONDS:g}"
_EXPECTED = {"job_id": "a job of the workload", "start_s": _SECONDS, "nodes": "a list of node numbers"}
_NO_ROW = "; a job that never started has no row"


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
    given = pl.DataFrame([_taken(starts, name) for name in _COLUMNS if name in starts.columns])
    if "end_s" not in given.columns:
        given = given.with_columns(end_s=pl.lit(None, pl.Float64))
    refuse(_rules_of_values(given))
    asked = workload.to_polars().select("job_id", "submit_s", "node_count", pl.col("^slots$")).with_row_index("row")
    known = given.join(asked, on="job_id", how="left", maintain_order="left")
    refuse([*_rules_of_ids(known), *_rules_of_times(known), *_rules_of_nodes(known, platform)])
    return known.sort("row").select("job_id", "start_s", "nodes", "end_s", "row")


def instant(micros: int) -> str:
    """An instant as messages tell it.

    Examples
    --------
    >>> instant(90_000_000), instant(1_250_000), instant(-500_000)
    ('90 s', '1.25 s', '-0.5 s')
    """
    whole, rest = divmod(abs(micros), 1_000_000)
    return f"{'-' if micros < 0 else ''}{f'{whole}.{rest:06d}'.rstrip('0').rstrip('.')} s"


def micros(seconds: pl.Series) -> npt.NDArray[np.int64]:
    """Seconds as the engine's clock has them; a null becomes the least number there is.

    Examples
    --------
    >>> micros(pl.Series([0.25, 3.0])).tolist()
    [250000, 3000000]
    """
    ticks = (seconds * 1e6).round(mode="half_away_from_zero").cast(pl.Int64)
    return ticks.fill_null(-(2**63)).to_numpy()


def _refuse_missing(starts: pl.DataFrame) -> None:
    missing = [name for name in _NEEDED if name not in starts.columns]
    if missing:
        hint = next((hint for name in missing if (hint := did_you_mean(name, starts.columns))), "")
        expected = "columns job_id, start_s and nodes, and end_s where it is known"
        raise_faults([("starts", f"columns {listed(starts.columns)}", expected + hint)])


def _taken(starts: pl.DataFrame, name: str) -> pl.Series:
    return converted(starts[name], _COLUMNS[name], Origin("starts"))


def _rules_of_values(given: pl.DataFrame) -> list[Rule]:
    """What is missing or no number."""

    def no_value(name: str) -> Rule:
        expected = _EXPECTED[name] + ("" if name == "job_id" else _NO_ROW)
        return Rule(given[name].is_null(), lambda row: (f"starts, row {row}, {name}", "nothing", expected))

    def no_instant(name: str) -> Rule:
        seconds = given[name]
        bad = ~(seconds.is_finite() & (seconds.abs() <= MAX_SECONDS))
        return Rule(bad, lambda row: (f"starts, row {row}, {name}", shown(seconds[row]), _SECONDS))

    text = nodes_text(given["nodes"])
    holes = given["nodes"].list.drop_nulls().list.len() < given["nodes"].list.len()
    hole = Rule(holes, lambda row: (f"starts, row {row}, nodes", shown(text[row]), _EXPECTED["nodes"]))
    return [*(no_value(name) for name in _NEEDED), no_instant("start_s"), no_instant("end_s"), hole]


def _rules_of_ids(known: pl.DataFrame) -> list[Rule]:
    """Jobs that there are not, and jobs that are there twice."""
    job = known["job_id"]
    first = known.select(pl.int_range(pl.len()).min().over("job_id")).to_series()

    def at(row: int) -> tuple[str, str]:
        return f"starts, row {row}, job_id", shown(job[row])

    return [
        Rule(known["row"].is_null(), lambda row: (*at(row), "the number of a job of the workload")),
        Rule(~job.is_first_distinct(), lambda row: (*at(row), f"each job once; row {first[row]} has it already")),
    ]


def _rules_of_times(known: pl.DataFrame) -> list[Rule]:
    """When a job may start, and end."""
    job, times = known["job_id"], {name: micros(known[name]) for name in ("start_s", "submit_s", "end_s")}
    start, submit, end = times.values()
    has_end = known["end_s"].is_not_null().to_numpy()

    def early(row: int) -> tuple[str, str, str]:
        expected = f"{instant(int(submit[row]))} or later: it is submitted then"
        return f"starts, job {job[row]}, start_s", instant(int(start[row])), expected

    def backwards(row: int) -> tuple[str, str, str]:
        begun = instant(int(start[row]))
        return f"starts, job {job[row]} at {begun}, end_s", instant(int(end[row])), f"{begun} or later: it starts then"

    return [Rule(pl.Series(start < submit), early), Rule(pl.Series(has_end & (end < start)), backwards)]


def _rules_of_nodes(known: pl.DataFrame, platform: Platform) -> list[Rule]:
    """Which nodes a job may have."""
    nodes, count, start = known["nodes"], known["node_count"], micros(known["start_s"])
    most = int(platform.slots.min())
    asked = (
        known["slots"] if "slots" in known.columns else pl.Series([None], dtype=pl.Int32).new_from_index(0, len(known))
    )

    def rule(broken: pl.Series, told: Callable[[int], tuple[str, str]]) -> Rule:
        def fault(row: int) -> tuple[str, str, str]:
            return f"starts, job {known['job_id'][row]} at {instant(int(start[row]))}, nodes", *told(row)

        return Rule(broken, fault)

    return [
        rule(nodes.list.len() != count, lambda row: (many(len(nodes[row]), "node"), f"{count[row]}, its node_count")),
        rule(
            nodes.list.n_unique() != nodes.list.len(),
            lambda row: (f"node {_repeated(nodes[row])} twice", "each node once"),
        ),
        rule(
            nodes.list.max() >= platform.nodes,
            lambda row: (f"node {nodes[row].max()}", f"nodes from 0 to {platform.nodes - 1}, the platform's"),
        ),
        rule(asked > most, lambda row: (f"{asked[row]} slots asked for", f"at most {most}, a node's slots")),
    ]


def _repeated(nodes: pl.Series) -> int:
    return int(nodes.filter(nodes.is_duplicated())[0])
