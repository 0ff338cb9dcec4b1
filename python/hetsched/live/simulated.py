"""Journals of simulations: the notices that a simulated machine gave, and the decisions upon them."""

from __future__ import annotations

import os

import polars as pl

from hetsched import _core
from hetsched.checks import Faults
from hetsched.features.feature import Setting
from hetsched.live.lines import Instant, JournalWriter
from hetsched.live.told import decisions_of, notices_of
from hetsched.run.event_rows import BUDGET, HOLD, MAINTENANCE
from hetsched.run.events import Events


def check_journal(setting: Setting) -> None:
    """Raise if notices cannot say all that decides this run."""
    faults, options = Faults(), setting.options
    if options.contract is not None:
        faults.note("journal", "a run under a contract", "one without: its limits are given to the policy in advance")
    if options.predictor is not None:
        faults.note("journal", "a run with a predictor", "one without: it is no part of what a journal keeps")
    if options.events is not None and options.events.has(MAINTENANCE, HOLD):
        faults.note(
            "journal", "a run with maintenance or holds", "one without: a host tells of nodes when they are down"
        )
    if options.events is not None and options.events.has(BUDGET) and _is_announced_late(options.events):
        faults.note("journal", "budgets that are announced during the run", "announced_s of null: always known")
    if setting.needs("observed_starts", "observed_nodes", "utilizations"):
        faults.note(
            "journal", f"a run under `{setting.policy.name}`", "a policy that decides without what is yet to come"
        )
    faults.check()


def _is_announced_late(events: Events) -> bool:
    rows = events.to_polars()
    return bool("announced_s" in rows.columns and rows.filter(pl.col("kind") == BUDGET)["announced_s"].count())


def write_journal(folder: str | os.PathLike[str], setting: Setting, engine: _core.Session) -> None:
    """Write the journal of a run that the engine has kept a chronicle of."""
    ids: list[int] = setting.workload.to_polars()["job_id"].to_list()
    decided = 0
    with JournalWriter(folder, setting, more={"simulated": True}, durable=False) as journal:
        for t_us, reports, orders in engine.take_pages():
            decisions = decisions_of(orders, ids, decided + 1)
            decided += len(decisions)
            journal.append(Instant(t_us, tuple(notices_of(reports, ids)), tuple(decisions)))
