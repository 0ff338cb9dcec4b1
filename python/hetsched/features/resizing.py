"""What does not go together with sizes that are chosen, and with such that change while jobs run."""

from __future__ import annotations

from hetsched.checks import Faults
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.run.options import RunOptions
from hetsched.workload import Workload
from hetsched.workload.sizes import size_columns


def check_sizes(workload: Workload, platform: Platform, policy: Policy, options: RunOptions) -> None:
    """Raise if sizes are chosen where a number of the summary, or the engine, goes by those that jobs ask for."""
    sizing = policy.own.get("sizing")
    columns = {} if sizing is None else size_columns(workload.to_polars())
    if sizing is None or not columns:
        return
    faults = Faults("")
    if options.bound:
        expected = "false: the least energy of nodes at work is that of jobs on as many nodes as they ask for"
        faults.note("bound", "true, beside a sizing", expected)
    if not platform.exclusive and "malleable" in columns and callable(getattr(sizing, "resizes", None)):
        expected = "a platform with exclusive=True, or a sizing without `resizes`: jobs keep their size on shared nodes"
        faults.note("policy.backfill.sizing", f"`{type(sizing).__name__}`, which resizes malleable jobs", expected)
    faults.check()
