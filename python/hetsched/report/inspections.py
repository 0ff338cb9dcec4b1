"""Lines and tables of what a log says of its machine: what is suggested, on what evidence, and what is not shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import polars as pl
from rich.console import RenderableType

from hetsched.report.tables import new_table

_MOST_ROWS = 3


class Answer(Protocol):
    """Parts of an inspection that are shown."""

    @property
    def findings(self) -> pl.DataFrame:
        """All findings."""

    @property
    def notes(self) -> Sequence[str]:
        """Notes that come before them."""


class _Kind(NamedTuple):
    """A finding in words: its evidence, what a suggestion needs, and what would make it wrong."""

    evidence: Callable[[Mapping[str, Any]], str]
    needs: str
    wrong: str


_KINDS = {
    "machine": _Kind(
        lambda row: f"{row['evidence']:,} jobs{_over(row['evidence_ratio'])}",
        "",
        "nodes were never used, or jobs shared them",
    ),
    "size over time": _Kind(
        lambda row: f"in {row['evidence']} of 168 hours a job waited that fits the machine",
        "84 hours, and less than 0.95 of the machine",
        "a limit, not nodes, held all that waited",
    ),
    "outage": _Kind(
        lambda row: f"{row['evidence']:,} jobs came that had room, and none started",
        "5 jobs of 3 users",
        "those that came were held by limits of their own",
    ),
    "beat": _Kind(
        lambda row: f"{_percent(row['evidence_ratio'])} of {row['evidence']:,} starts in a tenth of it",
        "half of 200 starts",
        "starts follow ends that come in a beat",
    ),
    "start_latency_s": _Kind(
        lambda row: f"{row['evidence']:,} jobs with room, alone in the queue",
        "100 jobs, and above 0",
        "what they waited for is not in the log",
    ),
    "ceiling": _Kind(
        lambda row: f"{row['evidence']:,} held, {_percent(row['evidence_ratio'])} of what waited with room",
        "10 held, 80 %, 60 % of them started at an end",
        "the group never asked for more at once",
    ),
    "partition": _Kind(
        lambda row: f"{row['evidence']:,} jobs, {_percent(row['evidence_ratio'])} of its own",
        "50 jobs; 80 % held, or 99 % on nodes of its own",
        "the queue's peak is its demand",
    ),
    "window": _Kind(
        lambda row: f"{row['evidence']:,} starts, {row['evidence_ratio']:.2f} of an even share in it",
        "a tenth of its share of starts in 4 h or more, while it waits and others start",
        "other jobs went first in these hours",
    ),
    "priority": _Kind(
        lambda row: f"{row['evidence']:,} pairs, {row['evidence_ratio']:.2f} as many the other way",
        "100 pairs, and a tenth of them back",
        "its jobs had nodes of their own",
    ),
    "inversion_ratio": _Kind(
        lambda row: f"{_percent(row['evidence_ratio'])} of starts passed a job that fits and was there before",
        "20 % of starts",
        "limits held the jobs that were passed",
    ),
}


def report(answer: Answer) -> Iterator[str | RenderableType]:
    """Lines and tables, the most important first."""
    yield from answer.notes
    findings = answer.findings.filter(pl.col("finding").is_in(list(_KINDS)) & (pl.col("subject") != "median"))
    shown = findings.drop_nulls("suggestion")
    yield _suggested(shown)
    for finding in shown["finding"].unique(maintain_order=True):
        yield f"{_title(finding)}: wrong if {_KINDS[finding].wrong}"
    yield _numbers(answer.findings)
    below = findings.filter(pl.col("suggestion").is_null() & pl.col("evidence").is_not_null())
    if len(below):
        yield _not_shown(below)


def evidence(row: Mapping[str, Any]) -> str:
    """Evidence of a finding in words, from its row."""
    return _KINDS[row["finding"]].evidence(row)


def _suggested(shown: pl.DataFrame) -> RenderableType:
    table = new_table("finding", words=("evidence", "suggestion"), title="What the log says of its machine")
    for finding, rows in shown.group_by("finding", maintain_order=True):
        # Those with the most evidence.
        most = rows.sort("evidence", descending=True, maintain_order=True).head(_MOST_ROWS)
        for row in most.iter_rows(named=True):
            table.add_row(_subject(row), evidence(row), row["suggestion"])
        if len(rows) > _MOST_ROWS:
            table.add_row(f"{_title(str(finding[0]))}: {len(rows) - _MOST_ROWS:,} more", "", "")
    return table


def _not_shown(below: pl.DataFrame) -> RenderableType:
    table = new_table("not shown", words=("evidence", "a suggestion needs"))
    for finding, rows in below.group_by("finding", maintain_order=True):
        kind = _KINDS[str(finding[0])]
        # The one with the most evidence stands for all.
        row = rows.sort("evidence", descending=True, maintain_order=True).row(0, named=True)
        more = f" and {len(rows) - 1:,} more" if len(rows) > 1 else ""
        is_bare = not row["evidence"] or (row["evidence_ratio"] is None and finding[0] != "start_latency_s")
        table.add_row(_subject(row) + more, "none" if is_bare else kind.evidence(row), kind.needs)
    return table


def _subject(row: Mapping[str, Any]) -> str:
    name, value = str(row["finding"]), row["value"]
    match name:
        case "machine":
            return f"machine, {value:,g} nodes"
        case "outage":
            return f"{row['subject']}, {value / 3600:,.1f} h from {row['from_s']:,.0f} s"
        case "beat" | "start_latency_s":
            return _title(name) if value is None else f"{_title(name)}, {value:,.4g} s"
        case "size over time":
            return f"{row['subject']}, {value:,g} nodes"
    return f"{_title(name)}, {row['subject']}" if row["subject"] else _title(name)


def _title(finding: str) -> str:
    return finding.removesuffix("_s").replace("_", " ")


def _numbers(findings: pl.DataFrame) -> str:
    """A line of the numbers that the others rest on."""
    value = {(row["finding"], row["subject"]): row["value"] for row in findings.iter_rows(named=True)}
    uses = ", ".join(
        f"{value[name, '']:,g} {words}"
        for name, words in (("use_p50", "half of the time"), ("use_p99", "for 99 %"), ("use_max", "at most"))
    )
    grains = ", ".join(f"{name} {value['granularity', name]:g} s" for name in ("submit", "start", "run"))
    room, first = value["room_ratio", ""], value["first_room_ratio", ""]
    waits = "no job waited for over a minute"
    if room is not None:
        waits = f"of the jobs that waited {room:.1%} had room at once, {first:.1%} started when room came"
    return f"nodes in use: {uses}; {waits}; whole: {grains}"


def _over(ratio: float | None) -> str:
    return "" if ratio is None else f"; {ratio:.2%} of the time more in use"


def _percent(ratio: float | None) -> str:
    return "–" if ratio is None else f"{ratio:.0%}"
