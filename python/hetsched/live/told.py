"""Notices and decisions as the engine has them: plain tuples with rows in place of jobs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hetsched.errors import ConfigError
from hetsched.live.decisions import DECISIONS, Decision, Start
from hetsched.live.notices import (
    NOTICES,
    Budget,
    Ended,
    NodeDown,
    NodeOff,
    NodeUp,
    Notice,
    Power,
    Started,
    StartFailed,
    Tick,
)

Told = tuple[str, int, int, list[int], str, float, float]
"""Kind, row of the job (-1: none) or begin of a budget, attempt, nodes, a word, and two numbers (NaN: none)."""

_NO_JOB = -1
_NOW = -(2**63)
"""Begin of a budget that begins now."""


def reports_of(notices: Iterable[Notice], rows: Mapping[int, int]) -> list[Told]:
    """Notices as the engine takes them; a node is a report of its own.

    Raises
    ------
    ConfigError
        If one is no notice, or about a job that has not been added.
    """
    return [report for notice in notices for report in _reports(notice, rows)]


def _reports(notice: Notice, rows: Mapping[int, int]) -> list[Told]:
    if not isinstance(notice, Notice):
        raise ConfigError([("notices", repr(notice), "notices of hetsched.live, such as Submitted(7)")])
    none = math.nan
    match notice:
        case Tick():
            return []
        case NodeUp() | NodeOff():
            return [(notice.kind, _NO_JOB, 0, [node], "", none, none) for node in _nodes(notice.nodes)]
        case NodeDown():
            return [(notice.kind, _NO_JOB, 0, _nodes((notice.node,)), "", none, none)]
        case Power():
            return [(notice.kind, _NO_JOB, 0, [], "", _watts(notice.watts), none)]
        case Budget():
            until = none if notice.until_us is None else float(notice.until_us)
            begin = _NOW if notice.from_us is None else notice.from_us
            return [(notice.kind, begin, 0, [], "", _watts(notice.watts), until)]
    return [_report_of_job(notice, _row(notice, rows))]


def _report_of_job(notice: Notice, row: int) -> Told:
    none = math.nan
    match notice:
        case Ended():
            return notice.kind, row, notice.attempt, [], "", float(notice.state == "completed"), none
        case StartFailed():
            return notice.kind, row, notice.attempt, _nodes(notice.bad_nodes), "", none, none
        case Started():
            return notice.kind, row, notice.attempt, sorted(_nodes(notice.nodes)), "", none, none
    return notice.kind, row, 0, [], "", none, none


def _row(notice: Any, rows: Mapping[int, int]) -> int:
    row = rows.get(notice.job)
    if row is None:
        raise ConfigError([(f"notices.{notice.kind}", f"job {notice.job}", "a job that has been added")])
    return row


def _nodes(nodes: Sequence[int]) -> list[int]:
    for node in nodes:
        if not 0 <= node < 2**32:
            raise ConfigError([("notices", f"node {node}", "a number of the platform, from 0")])
    return list(nodes)


def _watts(watts: float) -> float:
    if not 0 <= watts <= 1e12:
        raise ConfigError([("notices", f"{watts} W", "watts of the machine, from 0 to 1e12")])
    return float(watts)


def notices_of(reports: Iterable[Told], ids: Sequence[int]) -> list[Notice]:
    """Notices that the engine's reports are; one a node. None at all are a tick."""
    return [_notice(report, ids) for report in reports] or [Tick()]


def _notice(report: Told, ids: Sequence[int]) -> Notice:
    kind, row, attempt, nodes, word, number, until = report
    match kind:
        case "node_up" | "node_off":
            return NOTICES[kind](tuple(nodes))  # type: ignore[call-arg,return-value]
        case "node_down":
            return NodeDown(nodes[0])
        case "budget":
            return Budget(number, None if math.isnan(until) else int(until), None if row == _NOW else row)
        case "power":
            return Power(number)
        case "ended":
            return Ended(ids[row], attempt, word)
        case "start_failed":
            return StartFailed(ids[row], attempt, word, tuple(nodes))
        case "started":
            return Started(ids[row], attempt, tuple(nodes))
    return NOTICES[kind](ids[row])  # type: ignore[call-arg,return-value]


def decisions_of(orders: Iterable[Told], ids: Sequence[int], first: int) -> list[Decision]:
    """Decisions that the engine's orders are, numbered from `first`."""
    return [_decision(order, ids, number) for number, order in enumerate(orders, start=first)]


def _decision(order: Told, ids: Sequence[int], number: int) -> Decision:
    kind, row, attempt, nodes, word, cap_w, granted_w = order
    of: Any = DECISIONS[kind]
    match kind:
        case "start":
            return Start(ids[row], attempt, tuple(nodes), _known(cap_w), _known(granted_w), number=number)
        case "reject":
            return of(ids[row], word, number=number)  # type: ignore[no-any-return]
        case "cap":
            return of(ids[row], attempt, _known(cap_w), number=number)  # type: ignore[no-any-return]
        case "resize":
            return of(ids[row], attempt, tuple(nodes), number=number)  # type: ignore[no-any-return]
        case "wake" | "sleep":
            return of(tuple(nodes), number=number)  # type: ignore[no-any-return]
    return of(ids[row], attempt, word, number=number)  # type: ignore[no-any-return]


def _known(number: float) -> float | None:
    return None if math.isnan(number) else number
