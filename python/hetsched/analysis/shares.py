"""Savings of runs, split into placement and timing, next to the waits that they cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import polars as pl

from hetsched.checks import did_you_mean, listed, shown
from hetsched.errors import ConfigError
from hetsched.features.given_starts import share_of_blind

_WAITS = (
    "mean_turnaround_s",
    "mean_wait_s",
    "max_wait_s",
    "large_mean_wait_s",
    "large_max_wait_s",
)
_SCHEMA = {
    "policy": pl.String,
    **dict.fromkeys(("energy_j", "energy_blind_j", "energy_bound_starts_j", "attained_ratio"), pl.Float64),
    **dict.fromkeys(("saved_j", "placement_j", "timing_j"), pl.Float64),
    **dict.fromkeys(("saved_ratio", "placement_ratio", "timing_ratio"), pl.Float64),
    **dict.fromkeys(_WAITS, pl.Float64),
    "left_out_jobs": pl.Float64,
}
_DIGITS = 50
"""Binary digits that are kept of the largest of some numbers, so that their sums and differences are exact."""

Summary = Mapping[str, Any]


def placement_and_timing(summaries: Mapping[str, Summary], *, baseline: str) -> pl.DataFrame:
    """Each policy's saving against a baseline, split into placement and timing, and its waits.

    With job energies E and bounds B given each run's starts, E of the baseline less E of the policy is ``(E - B of the
    baseline) - (E - B of the policy)``, what better *placement* saved, plus B of the baseline less B of the policy,
    what the *timing* of the starts did. The three add up exactly, in joules and as ratios of the baseline's energy.

    Parameters
    ----------
    summaries
        A summary a policy, of runs with ``bound="starts"`` or ``"all"``.
    baseline
        The policy that the others are held against.

    Returns
    -------
    polars.DataFrame
        One row a policy, in order: ``policy, energy_j`` (job energy of the bound's jobs) ``, energy_blind_j,
        energy_bound_starts_j, attained_ratio`` (the run's saving over blind placement as a share of the largest there
        could be) ``, saved_j, placement_j, timing_j, saved_ratio, placement_ratio, timing_ratio, mean_turnaround_s,
        mean_wait_s, max_wait_s, large_mean_wait_s, large_max_wait_s, left_out_jobs``. Empty if any summary has no
        bound. Savings are null where jobs were left out of a bound, or left when a run was stopped: the two are then
        not of the same work.

    Raises
    ------
    ConfigError
        If the baseline is not among the policies.

    Examples
    --------
    >>> summary = {"job_energy_j": 100.0, "energy_blind_j": 110.0, "energy_bound_starts_j": 90.0,
    ...            "bound_left_out_jobs": 0, "bound_left_out_energy_j": 0.0, "running": 0, "pending": 0}
    >>> better = {**summary, "job_energy_j": 92.0, "energy_bound_starts_j": 88.0}
    >>> found = placement_and_timing({"easy": summary, "own": better}, baseline="easy")
    >>> found.select("attained_ratio", "saved_j", "placement_j", "timing_j").rows()[1]
    (0.8181818181818182, 8.0, 6.0, 2.0)
    """
    if baseline not in summaries:
        expected = f"one of {listed(summaries)}{did_you_mean(baseline, summaries)}"
        raise ConfigError([("baseline", shown(baseline), expected)])
    if any(summary.get("energy_bound_starts_j") is None for summary in summaries.values()):
        return pl.DataFrame(schema=_SCHEMA)
    rows = [_row(policy, summary, summaries[baseline]) for policy, summary in summaries.items()]
    return pl.DataFrame(rows, schema=_SCHEMA)


def _row(policy: str, own: Summary, base: Summary) -> dict[str, Any]:
    energy_j, blind_j, bound_j = _energy_j(own), own["energy_blind_j"], own["energy_bound_starts_j"]
    return {
        "policy": policy,
        "energy_j": energy_j,
        "energy_blind_j": blind_j,
        "energy_bound_starts_j": bound_j,
        "attained_ratio": share_of_blind(energy_j, blind_j=blind_j, bound_j=bound_j),
        **_savings(own, base),
        **{key: own.get(key) for key in _WAITS},
        "left_out_jobs": own["bound_left_out_jobs"],
    }


def _energy_j(summary: Summary) -> float:
    """Job energy of the jobs that the bound is of."""
    return float((summary["job_energy_j"] or 0.0) - (summary["bound_left_out_energy_j"] or 0.0))


def _savings(own: Summary, base: Summary) -> dict[str, float | None]:
    """Saving, and its parts: in joules, and as ratios of the baseline's energy."""
    if any(one[key] for one in (own, base) for key in ("bound_left_out_jobs", "running", "pending")):
        return {}
    base_j, base_bound_j, own_j, own_bound_j = _coarse(
        _energy_j(base), base["energy_bound_starts_j"], _energy_j(own), own["energy_bound_starts_j"]
    )
    saved_j, timing_j = base_j - own_j, base_bound_j - own_bound_j
    found: dict[str, float | None] = {
        "saved_j": saved_j,
        "placement_j": (base_j - base_bound_j) - (own_j - own_bound_j),
        "timing_j": timing_j,
    }
    if base_j > 0:
        _, saved, timing = _coarse(1.0, saved_j / base_j, timing_j / base_j)
        found |= {"saved_ratio": saved, "placement_ratio": saved - timing, "timing_ratio": timing}
    return found


def _coarse(*numbers: float) -> list[float]:
    """Numbers as multiples of one power of two, some 10⁻¹⁵ of the largest."""
    largest = max(map(abs, numbers))
    if largest == 0:
        return list(numbers)
    step = math.ldexp(1.0, math.frexp(largest)[1] - _DIGITS)
    return [round(number / step) * step for number in numbers]
