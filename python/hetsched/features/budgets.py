"""Power budgets: jobs that fit between no two of their changes, and what was done about draws above them."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from hetsched.checks import few, many
from hetsched.errors import ResultWarning
from hetsched.features.feature import Ended, Found
from hetsched.run.concerns import Concern


def after(ended: Ended) -> Found:
    """Jobs that budgets leave no room for, and emergencies."""
    emergencies = {}
    if any((policy.parts["power"] or {}).get("on_excess") for policy in ended.setting.policies):
        emergencies = {name: ended.totals[name] for name in ("alerts", "lost_energy_j")}
    jobs = ended.setting.workload.to_polars()
    return Found(list(_concerns(jobs, ended.between)), metrics=lambda _before: emergencies)


def _concerns(jobs: pl.DataFrame, between: pl.DataFrame) -> Iterator[Concern]:
    """Concerns about jobs that fit between no two changes of the budget: they wait for the last, or for ever."""
    for is_free, advice in _BETWEEN.items() if len(between) else ():
        own = between.filter(pl.col("is_free_at_last") == is_free)
        if own.is_empty():
            continue
        ids, need = jobs["job_id"].gather(own["row"]), own.row(0, named=True)
        found = (
            f"{many(len(own), 'job')} ({few(list(map(str, ids)))}); job {ids[0]} needs {need['watts']:,.0f} W for "
            f"{need['length_s'] / 3600:,.1f} h, which are left for {need['longest_s'] / 3600:,.1f} h at most"
        )
        yield Concern(ResultWarning, "jobs that fit between no two changes of the power budget", found, advice)


_BETWEEN = {
    0.0: 'they never start; a contract with unfit="reject" turns them away at their submit',
    1.0: "they wait for the last row of the events: their starts tell how long the table is; a Contract has no end",
}
"""Advice on these jobs, by whether the budget leaves what they need after its last change."""
