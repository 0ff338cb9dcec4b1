"""Sizes that are chosen, and such that change while jobs run: what does not go together with them."""

from __future__ import annotations

from hetsched.checks import Faults
from hetsched.features.feature import Setting
from hetsched.workload.sizes import size_columns


def check(run: Setting) -> None:
    """Raise if sizes are chosen where a number of the summary, or the engine, goes by those that jobs ask for."""
    sizing, columns = run.policy.own["sizing"], size_columns(run.workload.to_polars())
    if not columns:
        return
    faults = Faults("")
    if run.options.bound:
        expected = "false: the least energy of nodes at work is that of jobs on as many nodes as they ask for"
        faults.note("bound", "true, with a sizing", expected)
    if not run.platform.exclusive and "malleable" in columns and callable(getattr(sizing, "resizes", None)):
        expected = "a platform with exclusive=True, or a sizing without `resizes`: jobs keep their size on shared nodes"
        faults.note("policy.backfill.sizing", f"`{type(sizing).__name__}`, which resizes malleable jobs", expected)
    faults.check()
