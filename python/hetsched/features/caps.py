"""Power caps that jobs ask for on each of their nodes (``cap_w``)."""

from __future__ import annotations

import polars as pl

from hetsched.checks import Faults
from hetsched.features.feature import Setting


def check(run: Setting) -> None:
    """Raise if jobs ask for caps on a platform that does not know what nodes do under them."""
    if run.platform.has_caps:
        return
    faults, capped = Faults("workload"), run.workload.to_polars().filter(pl.col("cap_w").is_not_null())
    expected = "none: the platform has neither tables by cap (with_tables) nor a cap model (with_cap_model)"
    rows = capped.select("cap_w", "job_id").iter_rows()
    faults.some("cap_w", (f"{cap_w:g} of job {job}" for cap_w, job in rows), len(capped), expected)
    faults.check()
