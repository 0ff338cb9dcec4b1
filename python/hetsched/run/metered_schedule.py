"""A schedule made elsewhere, as a frame of starts: brought into one form, held to its workload and platform.

Whether two jobs want one node at once is asked when their ends are known, which the engine shows: `conflicts`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from hetsched.checks import did_you_mean, listed, many, shown
from hetsched.errors import ConfigError
from hetsched.features.eligibility import eligibility
from hetsched.platform import Platform
from hetsched.tables import refuse_other_frames
from hetsched.units import TICKS_S, micros
from hetsched.workload import COLUMNS, Workload
from hetsched.workload.convert import Origin, converted, node_lists, nodes_text
from hetsched.workload.schema import MAX_SECONDS

_COLUMNS = {
    "job_id": COLUMNS["job_id"],
    "start_s": replace(COLUMNS["observed_start_s"], name="start_s"),
    "nodes": replace(COLUMNS["observed_nodes"], name="nodes"),
    "end_s": replace(COLUMNS["observed_start_s"], name="end_s"),
}
_NEEDED = ("job_id", "start_s", "nodes")
_SECONDS = f"seconds up to {MAX_SECONDS:g}"
_EXPECTED = {"job_id": "a job of the workload", "start_s": _SECONDS, "nodes": "a list of node numbers"}
NO_INSTANT = -(2**63)
_NO_ROW = "; a job that never started has no row"


def checked_starts(starts: object, workload: Workload, platform: Platform) -> pl.DataFrame:
    """The schedule in one form, a row a job of it."""
    refuse_other_frames(starts, "starts")
    assert isinstance(starts, pl.DataFrame)
    _refuse_missing(starts)
    given = pl.DataFrame([_taken(starts, name) for name in _COLUMNS if name in starts.columns])
    if "end_s" not in given.columns:
        given = given.with_columns(end_s=pl.lit(None, pl.Float64))
    refuse(_rules_of_values(given))
    asked = workload.to_polars().select("job_id", "submit_s", "node_count", pl.col("^slots$")).with_row_index("row")
    known = given.join(asked, on="job_id", how="left", maintain_order="left")
    refuse(
        [
            *_rules_of_ids(known),
            *_rules_of_times(known),
            *_rules_of_nodes(known, platform),
            *_rules_of_cells(known, workload, platform),
        ]
    )
    return known.sort("row").select("job_id", "start_s", "nodes", "end_s", "row")


def _rules_of_cells(known: pl.DataFrame, workload: Workload, platform: Platform) -> list[Rule]:
    """Nodes that have what a job asks for."""
    found = eligibility(workload, platform)
    if found is None:
        return []

    def other(row: int) -> int | None:
        nodes = [node for node in known["nodes"][row] if node < platform.nodes]
        job = known["row"][row]
        return None if job is None else next((n for n in nodes if not found.may_use(job, [n])[0]), None)

    others = [other(row) for row in range(len(known))]

    def fault(row: int) -> tuple[str, str, str]:
        place = f"starts, job {known['job_id'][row]}, nodes"
        return place, f"node {_called(others[row], platform)}", "a node that has what the job asks for"

    return [Rule(pl.Series([node is not None for node in others], dtype=pl.Boolean), fault)]


def _called(node: int | None, platform: Platform) -> str:
    return "" if node is None else platform.node_name(node)


def instant(ticks: int) -> str:
    """An instant as messages show it."""
    whole, rest = divmod(abs(ticks), TICKS_S)
    return f"{'-' if ticks < 0 else ''}{f'{whole}.{rest:06d}'.rstrip('0').rstrip('.')} s"


def _refuse_missing(starts: pl.DataFrame) -> None:
    missing = [name for name in _NEEDED if name not in starts.columns]
    if missing:
        hint = next((hint for name in missing if (hint := did_you_mean(name, starts.columns))), "")
        expected = "columns job_id, start_s and nodes, and end_s where it is known"
        raise_faults([("starts", f"columns {listed(starts.columns)}", expected + hint)])


def _taken(starts: pl.DataFrame, name: str) -> pl.Series:
    values, column, origin = starts[name], _COLUMNS[name], Origin("starts")
    if name == "nodes" and values.dtype == pl.String and (read := node_lists(values)) is not None:
        lists, bad = read
        origin.refuse(values, bad, column.expected)
        return lists
    return converted(values, column, origin)


def _rules_of_values(given: pl.DataFrame) -> list[Rule]:
    """Rules against missing values and values that are no numbers."""

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
    """Rules about when a job may start, and end."""
    job, times = known["job_id"], {name: micros(known[name], NO_INSTANT) for name in ("start_s", "submit_s", "end_s")}
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
    """Nodes that a job may have."""
    nodes, count, start = known["nodes"], known["node_count"], micros(known["start_s"], NO_INSTANT)
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
            lambda row: (f"node {_called(_repeated(nodes[row]), platform)} twice", "each node once"),
        ),
        rule(
            nodes.list.max() >= platform.nodes,
            lambda row: (f"node {nodes[row].max()}", f"nodes from 0 to {platform.nodes - 1}, the platform's"),
        ),
        rule(asked > most, lambda row: (f"{asked[row]} slots asked for", f"at most {most}, a node's slots")),
    ]


def _repeated(nodes: pl.Series) -> int:
    return int(nodes.filter(nodes.is_duplicated())[0])


_MOST_JOBS = 10
_MOST_RIVALS = 5


def conflicts(told: pl.DataFrame, late: list[int], platform: Platform) -> list[Fault]:
    """A fault for each job, of the first ten, that cannot start as the schedule says."""
    per_node = 1 if platform.exclusive else int(platform.slots.min())
    jobs = told.filter(pl.col("row").is_in(late)).sort("start", "row")
    served = told.explode("nodes").filter(pl.col("start") < pl.col("end"))
    found = [_conflict(job, served, per_node, platform) for job in jobs.head(_MOST_JOBS).iter_rows(named=True)]
    return [fault for fault in found if fault is not None]


def _conflict(job: dict[str, Any], served: pl.DataFrame, per_node: int, platform: Platform) -> Fault | None:
    """The first node on which a job finds others when it is to start, and too little next to them."""
    at, need = job["start"], job["need"]
    here = served.filter(
        (pl.col("start") <= at) & (pl.col("end") > at) & (pl.col("row") != job["row"]),
        pl.col("nodes").is_in(list(job["nodes"])),
    )
    used = (
        here.group_by("nodes").agg(pl.col("need").sum()).filter(pl.col("need") > per_node - pl.lit(need)).sort("nodes")
    )
    if not len(used):
        return None
    node, taken = used.row(0)
    rivals = here.filter(pl.col("nodes") == node).sort("start", "row")
    names = ", ".join(
        f"job {rival} from {instant(start)} to {instant(end)}"
        for rival, start, end in rivals.head(_MOST_RIVALS).select("job_id", "start", "end").iter_rows()
    )
    more = f" and {len(rivals) - _MOST_RIVALS} more" if len(rivals) > _MOST_RIVALS else ""
    wanted = "a free node" if per_node == 1 else f"{need} free slots there, of which {taken} of {per_node} are taken"
    return (
        f"starts, job {job['job_id']} at {instant(at)}, nodes",
        f"node {platform.node_name(node)}",
        f"{wanted}: it serves {names}{more}",
    )


Fault = tuple[str, str, str]
"""Parameter, value found, value expected."""

_MOST_FAULTS = 20


@dataclass(frozen=True)
class Rule:
    """A rule that rows must keep."""

    broken: pl.Series
    told: Callable[[int], Fault]


def refuse(rules: Sequence[Rule]) -> None:
    """Raise if any row breaks a rule: the first twenty faults in the order of rows, and how many more there are."""
    broken = sorted((row, place) for place, rule in enumerate(rules) for row in rule.broken.arg_true().to_list())
    faults = [rules[place].told(row) for row, place in broken[:_MOST_FAULTS]]
    more = len(broken) - _MOST_FAULTS
    raise_faults([*faults, *([("starts", f"{more:,} more faults", "none")] if more > 0 else [])])


def raise_faults(faults: list[Fault]) -> None:
    """Raise what was found, if anything was."""
    if faults:
        raise ConfigError(faults)
