"""Metrics of a run, a row each: how it is computed, its title and units, where it stands, which direction is good.

`Result.summary`, tables, comparisons, pictures and the command line's lists all read these rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.checks import did_you_mean, listed, shown
from hetsched.errors import ConfigError
from hetsched.naming import named_in


@named_in("hetsched.analysis")
@dataclass(frozen=True)
class Unit:
    """A unit to show values in.

    Parameters
    ----------
    name
        As it stands behind a value; empty for plain numbers.
    scale
        How many of the metric's own unit (its key's suffix) make one of this.
    """

    name: str
    scale: float


Direction = Literal["lower", "higher", "neither"]

SECTIONS = ("jobs", "machine", "waits", "energy", "work", "power", "budget")
"""The parts of a table of a run, from top to bottom."""

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


@named_in("hetsched.analysis")
@dataclass(frozen=True)
class Metric:
    """A key of `Result.summary`: how it is computed, shown and judged.

    Parameters
    ----------
    key
        In the summary; its suffix is the unit of its values.
    title
        What people call it, wherever it stands.
    units
        What it can be shown in, smallest first.
    better
        Which direction is good: ``"lower"``, ``"higher"``, or ``"neither"``.
    digits
        Significant digits that are worth showing; 0 for whole numbers.
    part_title
        What it is called below the metric it is a part of; empty: as its title.
    section
        Where it is in the table of a run: one of `SECTIONS`.
    part_of
        The key of the metric that it is a part of, below which it is indented; empty: none.
    is_rare
        Whether a table shows it only where it is not zero.
    is_optional
        Whether summaries have it only where it applies.
    in_windows
        Whether a window of a run has it, too (`hetsched.analysis.measured`).
    of
        From the facts of a run to its value; None where it is not known.

    Examples
    --------
    >>> METRICS["mean_wait_s"].text(5165.5)
    '1.435 h'
    >>> METRICS["job_energy_j"].title, METRICS["job_energy_j"].short_title
    ('energy of nodes at work', 'of nodes at work')
    """

    key: str
    title: str
    units: tuple[Unit, ...]
    better: Direction = "neither"
    digits: int = 4
    part_title: str = ""
    section: str = ""
    part_of: str = ""
    is_rare: bool = False
    is_optional: bool = False
    in_windows: bool = False
    of: Callable[[Facts], Any] = lambda _facts: None

    @property
    def short_title(self) -> str:
        """Title where the metric it is a part of has just been named."""
        return self.part_title or self.title

    def unit_for(self, values: Sequence[float | None]) -> Unit:
        """The largest unit that the largest of `values` fills.

        Examples
        --------
        >>> METRICS["energy_j"].unit_for([7.2e6, None, 3.6e3]).name
        'kWh'
        """
        largest = max((abs(value) for value in values if value is not None), default=0.0)
        fitting = [unit for unit in self.units if largest >= unit.scale]
        return fitting[-1] if fitting else self.units[0]

    def texts(self, values: Sequence[float | None], *, like: Sequence[float | None] | None = None) -> list[str]:
        """Values to stand below each other, in one unit and with as many decimals; `–` for None.

        Parameters
        ----------
        values
            What to show.
        like
            The values that decide unit and decimals. None: `values`.

        Examples
        --------
        >>> METRICS["mean_wait_s"].texts([7200.0, 36.0, None])
        ['2.0000', '0.0100', '–']
        """
        deciding = values if like is None else like
        scale = self.unit_for(deciding).scale
        decimals = self._decimals([abs(value) / scale for value in deciding if value])
        return ["–" if value is None else f"{value / scale:,.{decimals}f}" for value in values]

    def text(self, value: float | None) -> str:
        """One value with its unit.

        Examples
        --------
        >>> METRICS["utilization_ratio"].text(0.6258), METRICS["offered_load_ratio"].text(None)
        ('62.58 %', '–')
        """
        unit = self.unit_for([value])
        return " ".join(part for part in (self.texts([value])[0], unit.name if value is not None else "") if part)

    def _decimals(self, sizes: Sequence[float]) -> int:
        """Enough for the digits of the largest; up to two more, for three digits of the smallest."""
        if self.digits == 0 or not sizes:
            return 0
        largest, smallest = (math.floor(math.log10(size)) for size in (max(sizes), min(sizes)))
        enough = max(self.digits - 1 - largest, 0)
        return min(max(enough, min(2 - smallest, enough + 2)), 6)


@dataclass(frozen=True)
class Facts:
    """Data of metrics: the jobs (`Result.jobs`), the engine's sums over the run, the machine's size."""

    jobs: pl.DataFrame
    totals: Mapping[str, Any]
    nodes: int = 0
    offered_load: float | None = None
    extras: Mapping[str, int | float | None] = field(default_factory=dict)
    """Metrics that features of the run found, by their keys: optional ones that apply, and in place of others."""

    @cached_property
    def states(self) -> dict[str, int]:
        """Number of jobs that ended in each state."""
        return dict(self.jobs["state"].value_counts().rows())

    @cached_property
    def waits_s(self) -> npt.NDArray[np.float64]:
        """Waits of the jobs that started."""
        return self.jobs["wait_s"].drop_nulls().to_numpy()

    @cached_property
    def makespan_s(self) -> float:
        """From the first submit to the last end."""
        return float((self.totals["window_end_s"] or 0.0) - (self.totals["window_start_s"] or 0.0))

    def mean(self, column: str) -> float:
        """Mean of a column over the jobs that have it; 0 if none has."""
        # Averaged by numpy: its order of addition does not depend on the number of threads.
        known = self.jobs[column].drop_nulls().to_numpy()
        return float(known.mean()) if len(known) else 0.0

    @cached_property
    def wait_quantiles_s(self) -> tuple[float, float]:
        """The median and the 95th percentile of the waits; 0 if there are none."""
        if not len(self.waits_s):
            return 0.0, 0.0
        median, p95 = np.quantile(self.waits_s, [0.5, 0.95])
        return float(median), float(p95)

    def wait_s(self, of: Callable[[npt.NDArray[np.float64]], Any]) -> float:
        """A number of the waits; 0 if there are none."""
        return float(of(self.waits_s)) if len(self.waits_s) else 0.0

    def per_makespan(self, part: float) -> float:
        """A share of the makespan; 0 of one of length zero."""
        return part / self.makespan_s if self.makespan_s > 0 else 0.0


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
    ),
    _extra("gap_idle_j", "energy of gaps between jobs, idled away", _ENERGY, section="energy", better="neither"),
    _extra(
        "gap_energy_j",
        "energy drawn in gaps between jobs",
        _ENERGY,
        section="energy",
        part_of="gap_idle_j",
        part_title="drawn",
    ),
    _extra(
        "gap_bound_j",
        "least energy of gaps between jobs",
        _ENERGY,
        section="energy",
        part_of="gap_idle_j",
        part_title="least, given the starts",
        better="neither",
    ),
    _extra("sleep_attained_ratio", "attained saving of sleep", _SHARE, section="energy", better="higher"),
    _extra("alerts", "emergencies of power", _COUNT, section="budget", digits=0),
    _extra("lost_energy_j", "energy of attempts that were lost", _ENERGY, section="energy", part_of="job_energy_j"),
    _extra("boots", "boots of nodes", _COUNT, section="energy", digits=0),
    _extra("over_budget_kwh", "energy beyond the budget", _KWH, section="budget"),
    _extra("penalty", "penalty", _COUNT, section="energy", part_of="cost"),
    _extra("cost", "cost", _COUNT, section="energy"),
    _extra("boot_cost", "wear of boots", _COUNT, section="energy", part_of="cost"),
    _extra("carbon_kg", "carbon dioxide", _MASS, section="energy"),
)


METRICS: dict[str, Metric] = {metric.key: metric for metric in _ROWS}
"""Every metric by its key, in the summary's order."""

OF_BOUND = ("energy_bound_j", "gap_idle_j", "gap_energy_j", "gap_bound_j", "sleep_attained_ratio")
"""Keys that the summaries of runs with ``bound=True`` have."""

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
    return [key for key, row in METRICS.items() if row.is_optional and key not in OF_BOUND]


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


DEFAULT_METRICS = ("energy_j", "mean_wait_s", "mean_bounded_slowdown", "utilization_ratio")
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
