"""Metrics of a run, a row each: how it is computed, its title and units, where it stands, which direction is good.

`Result.summary`, tables, comparisons, pictures and the command line's lists all read these rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hetsched.checks import did_you_mean, listed, shown
from hetsched.errors import ConfigError
from hetsched.run.metric import Facts, Metric, Unit
from hetsched.typing import Direction, MetricNeeds

_COUNT = (Unit("", 1.0),)
_SHARE = (Unit("%", 0.01),)
_TIME = (Unit("s", 1.0), Unit("min", 60.0), Unit("h", 3600.0))
_ENERGY = (
    Unit("J", 1.0),
    *(Unit(f"{prefix}Wh", 3.6e3 * 1e3**power) for power, prefix in enumerate(("", *"kMGT"))),
)
_KWH = (Unit("kWh", 1.0), Unit("MWh", 1e3), Unit("GWh", 1e6))
_MASS = (Unit("kg", 1.0), Unit("t", 1e3), Unit("kt", 1e6))
_NODE_TIME = (Unit("node-s", 1.0), Unit("node-h", 3600.0))
_ENERGY_PER_WORK = (Unit("J/node-s", 1.0), Unit("kJ/node-s", 1e3))
_POWER = (Unit("W", 1.0), Unit("kW", 1e3), Unit("MW", 1e6), Unit("GW", 1e9))
# Not in watt-hours: those times an hour read as a unit written twice.
_ENERGY_DELAY = tuple(Unit(f"{prefix}J s", 1e3**power) for power, prefix in enumerate(("", *"kMGTPEZ")))


def completed_work_ratio(totals: Mapping[str, Any]) -> float:
    """Nominal node-seconds that were done, of those of the jobs that started and ended; 1 if there are none."""
    started_node_s = totals["work_started_node_s"]
    return float(totals["work_completed_node_s"] / started_node_s) if started_node_s > 0 else 1.0


def _energy_per_work(facts: Facts) -> float | None:
    done_node_s = facts.totals["work_completed_node_s"]
    return facts.totals["energy_j"] / done_node_s if done_node_s > 0 else None


def _utilization(facts: Facts) -> float:
    whole_node_s = facts.nodes * facts.makespan_s
    return float(facts.totals["busy_node_s"] / whole_node_s) if whole_node_s > 0 else 0.0


def _total(key: str) -> Callable[[Facts], Any]:
    return lambda facts: facts.totals[key]


def _state(name: str, title: str, better: Direction = "lower", part_title: str = "") -> Metric:
    """The row of a state that a job can be in when a run is over."""
    return Metric(
        name,
        title,
        _COUNT,
        better,
        digits=0,
        part_title=part_title,
        section="jobs",
        part_of="jobs",
        is_rare=name != "completed",
        in_windows=True,
        of=lambda facts: facts.states.get(name, 0),
    )


def _share_of_energy(key: str, title: str, part_title: str, *, is_rare: bool = True) -> Metric:
    """The row of an energy that the system's is the sum of."""
    return Metric(
        key,
        title,
        _ENERGY,
        "lower",
        part_title=part_title,
        section="energy",
        part_of="energy_j",
        is_rare=is_rare,
        of=_total(key),
    )


def _wait(key: str, title: str, of: Callable[[Facts], float], units: tuple[Unit, ...] = _TIME) -> Metric:
    return Metric(key, title, units, "lower", section="waits", in_windows=True, of=of)


def _beyond(key: str, title: str, units: tuple[Unit, ...], better: Direction = "lower", digits: int = 4) -> Metric:
    return Metric(key, title, units, better, digits, section="budget", is_rare=True, of=_total(key))


def _extra(
    key: str,
    title: str,
    units: tuple[Unit, ...],
    *,
    section: str,
    better: Direction = "lower",
    part_of: str = "",
    part_title: str = "",
    digits: int = 4,
    needs: MetricNeeds = "",
    is_money: bool = False,
) -> Metric:
    """The row of a metric that only some runs have."""
    return Metric(
        key,
        title,
        units,
        better,
        digits=digits,
        part_title=part_title,
        section=section,
        part_of=part_of,
        is_optional=True,
        needs=needs,
        is_money=is_money,
    )


_ROWS = (
    Metric("jobs", "jobs", _COUNT, digits=0, section="jobs", in_windows=True, of=lambda facts: len(facts.jobs)),
    _state("completed", "completed jobs", "higher", "completed"),
    _state("timeout", "jobs killed at their walltime", part_title="killed at their walltime"),
    _state("failed", "failed jobs", part_title="failed"),
    _state("rejected", "rejected jobs", part_title="rejected"),
    _state("cancelled", "cancelled jobs", "neither", "cancelled"),
    _state("running", "jobs still running", "neither", "still running"),
    _state("pending", "jobs still queued", part_title="still queued"),
    Metric("makespan_s", "makespan", _TIME, "lower", section="machine", of=lambda facts: facts.makespan_s),
    Metric("energy_j", "energy", _ENERGY, "lower", section="energy", in_windows=True, of=_total("energy_j")),
    _share_of_energy("job_energy_j", "energy of nodes at work", "of nodes at work", is_rare=False),
    _share_of_energy("idle_energy_j", "energy of idle nodes", "of idle nodes", is_rare=False),
    _share_of_energy("transition_energy_j", "energy of booting and shutting down", "of booting and shutting down"),
    _share_of_energy("off_energy_j", "energy of nodes switched off", "of nodes switched off"),
    _share_of_energy("down_energy_j", "energy of failed nodes", "of failed nodes"),
    Metric("work_lost_node_s", "work lost", _NODE_TIME, "lower", section="work", of=_total("work_lost_node_s")),
    Metric(
        "completed_work_ratio",
        "completed work",
        _SHARE,
        "higher",
        section="work",
        of=lambda facts: completed_work_ratio(facts.totals),
    ),
    Metric(
        "energy_per_work_j_per_node_s",
        "energy per work",
        _ENERGY_PER_WORK,
        "lower",
        section="work",
        of=_energy_per_work,
    ),
    _wait("mean_wait_s", "mean wait", lambda facts: facts.wait_s(np.mean)),
    _wait("median_wait_s", "median wait", lambda facts: facts.wait_quantiles_s[0]),
    _wait("p95_wait_s", "95th percentile of waits", lambda facts: facts.wait_quantiles_s[1]),
    _wait("max_wait_s", "longest wait", lambda facts: facts.wait_s(np.max)),
    _wait("mean_turnaround_s", "mean turnaround", lambda facts: facts.mean("turnaround_s")),
    _wait(
        "mean_bounded_slowdown",
        "mean bounded slowdown",
        lambda facts: facts.mean("bounded_slowdown"),
        _COUNT,
    ),
    Metric(
        "throughput_jobs_per_hour",
        "throughput",
        (Unit("jobs/h", 1.0),),
        "higher",
        section="machine",
        in_windows=True,
        of=lambda facts: facts.per_makespan(facts.states.get("completed", 0) * 3600.0),
    ),
    Metric("utilization_ratio", "utilization", _SHARE, "higher", section="machine", in_windows=True, of=_utilization),
    Metric(
        "mean_power_w",
        "mean power",
        _POWER,
        section="power",
        in_windows=True,
        of=lambda facts: facts.per_makespan(facts.totals["energy_j"]),
    ),
    Metric("peak_power_w", "peak power", _POWER, "lower", section="power", in_windows=True, of=_total("peak_power_w")),
    Metric(
        "energy_delay_product_js",
        "energy-delay product",
        _ENERGY_DELAY,
        "lower",
        section="power",
        of=lambda facts: facts.totals["energy_j"] * facts.makespan_s,
    ),
    Metric(
        "offered_load_ratio",
        "offered load",
        _COUNT,
        digits=3,
        section="machine",
        of=lambda facts: facts.offered_load,
    ),
    replace(_beyond("budget_w", "power budget", _POWER, "neither"), in_windows=True),
    _beyond("over_budget_count", "times beyond the budget", _COUNT, digits=0),
    _beyond("over_budget_s", "time beyond the budget", _TIME),
    _beyond("over_budget_peak_w", "highest excess over the budget", _POWER),
    Metric(
        "profiled_jobs",
        "profiled first runs",
        _COUNT,
        digits=0,
        section="jobs",
        is_rare=True,
        of=_total("profiled_jobs"),
    ),
    Metric(
        "energy_bound_j",
        "least energy of nodes at work",
        _ENERGY,
        part_title="least any placement could reach",
        section="energy",
        part_of="job_energy_j",
        is_rare=True,
        is_optional=True,
        needs="bound",
    ),
    _extra(
        "gap_idle_j",
        "energy of gaps between jobs, idled away",
        _ENERGY,
        section="energy",
        better="neither",
        needs="bound",
    ),
    _extra(
        "gap_energy_j",
        "energy drawn in gaps between jobs",
        _ENERGY,
        section="energy",
        part_of="gap_idle_j",
        part_title="drawn",
        needs="bound",
    ),
    _extra(
        "gap_bound_j",
        "least energy of gaps between jobs",
        _ENERGY,
        section="energy",
        part_of="gap_idle_j",
        part_title="least, given the starts",
        better="neither",
        needs="bound",
    ),
    _extra(
        "sleep_attained_ratio", "attained saving of sleep", _SHARE, section="energy", better="higher", needs="bound"
    ),
    _extra(
        "energy_bound_starts_j",
        "least energy of nodes at work, given the starts",
        _ENERGY,
        section="energy",
        part_of="job_energy_j",
        part_title="least, given the starts",
        better="neither",
        needs="starts",
    ),
    _extra(
        "energy_blind_j",
        "energy of nodes at work, chosen blindly",
        _ENERGY,
        section="energy",
        part_of="job_energy_j",
        part_title="on nodes chosen blindly",
        better="neither",
        needs="starts",
    ),
    _extra(
        "placement_attained_ratio",
        "attained saving of placement, given the starts",
        _SHARE,
        section="energy",
        better="higher",
        needs="starts",
    ),
    _extra(
        "bound_left_out_jobs",
        "jobs left out of the bound given the starts",
        _COUNT,
        section="energy",
        better="neither",
        digits=0,
        needs="starts",
    ),
    _extra(
        "bound_left_out_energy_j",
        "energy of jobs left out of that bound",
        _ENERGY,
        section="energy",
        better="neither",
        needs="starts",
    ),
    _extra("large_mean_wait_s", "mean wait of large jobs", _TIME, section="waits", needs="starts"),
    _extra("large_max_wait_s", "longest wait of large jobs", _TIME, section="waits", needs="starts"),
    _extra("alerts", "emergencies of power", _COUNT, section="budget", digits=0),
    _extra("lost_energy_j", "energy of attempts that were lost", _ENERGY, section="energy", part_of="job_energy_j"),
    _extra("boots", "boots of nodes", _COUNT, section="energy", digits=0),
    _extra("over_budget_kwh", "energy beyond the budget", _KWH, section="budget", needs="limits"),
    _extra("meter_energy_j", "energy at the meter", _ENERGY, section="energy", needs="pue"),
    _extra("penalty", "penalty", _COUNT, section="energy", part_of="cost", needs="limits", is_money=True),
    _extra("cost", "cost", _COUNT, section="energy", needs="prices", is_money=True),
    _extra("boot_cost", "wear of boots", _COUNT, section="energy", part_of="cost", is_money=True),
    _extra("carbon_kg", "carbon dioxide", _MASS, section="energy", needs="prices"),
    _extra("longer_waits", "waits over 1 h longer", (Unit("jobs", 1.0),), section="waits", digits=0, needs="baseline"),
)


METRICS: dict[str, Metric] = {metric.key: metric for metric in _ROWS}
"""Every metric by its key, in the summary's order."""

OF_BOUND = tuple(key for key, metric in METRICS.items() if metric.needs == "bound")
"""Keys that the summaries of runs with ``bound=True`` have."""

OF_STARTS = tuple(key for key, metric in METRICS.items() if metric.needs == "starts")
"""Keys that the summaries of runs with ``bound="starts"`` have."""

OF_CONTRACT = ("over_budget_s", "over_budget_kwh", "penalty", "cost")
"""Keys that a comparison of runs under a contract shows."""

STATES = tuple(metric.key for metric in METRICS.values() if metric.section == "jobs" and metric.part_of == "jobs")
"""The states a job can be in when a run is over."""


def summarised(facts: Facts) -> dict[str, int | float | None]:
    """The metrics of a run, by the names that `Result.summary` documents."""
    found = facts.extras
    kept = {key: row for key, row in METRICS.items() if not row.is_optional or key in found}
    return {key: found[key] if key in found else row.of(facts) for key, row in kept.items()}


def optional_names() -> list[str]:
    """Keys that the summaries of only some runs have, whatever was asked for."""
    return [
        key for key, row in METRICS.items() if row.is_optional and key not in (*OF_BOUND, *OF_STARTS, *OF_COMPARISON)
    ]


def missing_of_bound(bound: object, of_window: str, of_starts: str) -> dict[str, str]:
    """Bounds that this option does not ask for, by what metrics need, and what to give in words."""
    missing = {"bound": f"{of_window} as well, which computes it", "starts": f"{of_starts} as well, which computes it"}
    asked = {True: ["bound"], "starts": ["starts"], "all": ["bound", "starts"]}.get(bound, [])
    return {need: words for need, words in missing.items() if need not in asked}


def columns_of(summaries: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Summaries as columns, a value a run: None for optional metrics that do not apply to it."""
    keys = dict.fromkeys(key for summary in summaries for key in summary)
    ordered = [*(key for key in METRICS if key in keys), *(key for key in keys if key not in METRICS)]
    return {key: [summary.get(key) for summary in summaries] for key in ordered}


def in_section(section: str) -> list[tuple[int, Metric]]:
    """The metrics of a section as a table shows them: parts below what they are parts of, with their depth."""

    def below(parent: str, depth: int) -> Iterator[tuple[int, Metric]]:
        for metric in METRICS.values():
            if metric.section == section and metric.part_of == parent:
                yield depth, metric
                yield from below(metric.key, depth + 1)

    return list(below("", 0))


OF_COMPARISON = tuple(key for key, metric in METRICS.items() if metric.needs == "baseline")
"""Keys that only runs that are compared have."""

DEFAULT_METRICS = ("energy_j", "mean_wait_s", "p95_wait_s", "max_wait_s")
"""Metrics of a comparison if no others are asked for."""


def metrics_named(keys: Sequence[str], *, parameter: str = "metrics") -> list[Metric]:
    """The metrics with these keys, in this order.

    Parameters
    ----------
    keys
        Keys of `METRICS`.
    parameter
        What to call them in a message.

    Raises
    ------
    ConfigError
        With every key there is no metric for, or if there are no keys.

    Examples
    --------
    >>> [metric.title for metric in metrics_named(["energy_j", "mean_wait_s"])]
    ['energy', 'mean wait']
    """
    faults = [(parameter, shown(key), _expected_for(key)) for key in keys if key not in METRICS]
    if not keys:
        faults = [(parameter, "none", f"some of {listed(METRICS)}")]
    if faults:
        raise ConfigError(faults)
    return [METRICS[key] for key in keys]


def _said_by_title(key: str) -> str | None:
    """The first key whose title holds all words of another, such as `timeout` for ``killed``; None if none does."""
    words = set(key.lower().replace("_", " ").replace("-", " ").split())
    return next((known for known, metric in METRICS.items() if words and words <= set(metric.title.split())), None)


def _expected_for(key: str) -> str:
    """The expected key in place of an unknown one: one whose title says it, the nearest one, or one of all."""
    if said := _said_by_title(key):
        return f"a metric; did you mean {shown(said)}?"
    return f"a metric{near}" if (near := did_you_mean(key, METRICS)) else f"one of {', '.join(METRICS)}"
