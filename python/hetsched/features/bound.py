"""Energy that a run could have saved: by placing jobs on other nodes, and by sleeping through gaps."""

from __future__ import annotations

from hetsched.bound import energy_bound
from hetsched.features.feature import Ended, Found, Metrics
from hetsched.features.gaps import gap_metrics, gaps_of


def after(ended: Ended) -> Found:
    """Least energies that placement and sleep could have reached."""
    return Found(metrics=lambda _before: _metrics(ended))


def _metrics(ended: Ended) -> Metrics:
    run, window = ended.setting, (ended.totals["window_start_s"] or 0.0, ended.totals["window_end_s"] or 0.0)
    least_j = energy_bound(ended.jobs(), run.platform, window_s=window[1] - window[0], **run.options.limits)
    gaps = gaps_of(ended.segments(), ended.happened(), ended.timeline, run.platform)
    return {"energy_bound_j": least_j, **gap_metrics(gaps)}
