"""Jobs that a platform or a policy does not support: with caps, cancelled, or of several sizes."""

from __future__ import annotations

import polars as pl

from hetsched.checks import Faults
from hetsched.errors import ConfigError
from hetsched.features.feature import Setting
from hetsched.workload.sizes import size_columns


def check(run: Setting) -> None:
    """Raise if the jobs ask for something that does not go with the platform, the policy or the options."""
    if run.asks("cap_w") and not run.platform.has_caps:
        _refuse_caps(run)
    if run.asks("cancel_s"):
        _check_cancelled(run)
    if "sizing" in run.policy.own:
        _check_sizes(run)


def _refuse_caps(run: Setting) -> None:
    """Raise for caps on a platform that does not know what nodes do under them."""
    faults, capped = Faults("workload"), run.workload.to_polars().filter(pl.col("cap_w").is_not_null())
    expected = "none: the platform has neither tables by cap (with_tables) nor a cap model (with_cap_model)"
    rows = capped.select("cap_w", "job_id").iter_rows()
    faults.some("cap_w", (f"{cap_w:g} of job {job}" for cap_w, job in rows), len(capped), expected)
    faults.check()


def _check_cancelled(run: Setting) -> None:
    """Raise if a policy that holds jobs back until others have shown their profiles is given cancelled jobs."""
    order = run.policy.parts["order"] or {}
    if order.get("first_run") and run.policy.parts["power"] is not None:
        expected = f"nulls only: policy {run.policy.name} has first_run=true under a budget; first_run=false takes them"
        raise ConfigError([("workload.cancel_s", "instants", expected)])


def _check_sizes(run: Setting) -> None:
    """Raise if sizes are chosen where a number of the summary, or the engine, goes by those that jobs ask for."""
    sizing, columns = run.policy.own["sizing"], size_columns(run.workload.to_polars())
    if not columns:
        return
    faults = Faults("")
    if run.options.bound not in (False, "starts"):
        expected = 'false or "starts": the least energy in a window is that of jobs on as many nodes as they ask for'
        faults.note("bound", f"{str(run.options.bound).lower()}, with a sizing", expected)
    if not run.platform.exclusive and "malleable" in columns and callable(getattr(sizing, "resizes", None)):
        expected = "a platform with exclusive=True, or a sizing without `resizes`: jobs keep their size on shared nodes"
        faults.note("policy.backfill.sizing", f"`{type(sizing).__name__}`, which resizes malleable jobs", expected)
    faults.check()
