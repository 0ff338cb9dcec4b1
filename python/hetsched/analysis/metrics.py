"""The metrics of a run as people read them: a row each, with title, units and which direction is good.

The numbers themselves are `Result.summary`'s; every key of it has its row here, and whatever lists metrics reads these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hetsched.checks import did_you_mean, listed, shown
from hetsched.errors import ConfigError

__all__ = ["DEFAULT_METRICS", "METRICS", "Metric", "Unit", "metrics_named"]


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


_COUNT = (Unit("", 1.0),)
_SHARE = (Unit("%", 0.01),)
_TIME = (Unit("s", 1.0), Unit("min", 60.0), Unit("h", 3600.0))
_ENERGY = (
    Unit("J", 1.0),
    *(Unit(f"{prefix}Wh", 3.6e3 * 1e3**power) for power, prefix in enumerate(("", *"kMGT"))),
)
_NODE_TIME = (Unit("node-s", 1.0), Unit("node-h", 3600.0))
_ENERGY_PER_WORK = (Unit("J/node-s", 1.0), Unit("kJ/node-s", 1e3))
_POWER = (Unit("W", 1.0), Unit("kW", 1e3), Unit("MW", 1e6), Unit("GW", 1e9))
# Not in watt-hours: those times an hour read as a unit written twice.
_ENERGY_DELAY = tuple(Unit(f"{prefix}J s", 1e3**power) for power, prefix in enumerate(("", *"kMGTPEZ")))


@dataclass(frozen=True)
class Metric:
    """How one key of `Result.summary` is shown and judged.

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
    better: Literal["lower", "higher", "neither"] = "neither"
    digits: int = 4
    part_title: str = ""

    @property
    def short_title(self) -> str:
        """What to call it where the metric it is a part of has just been named."""
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


METRICS: dict[str, Metric] = {
    metric.key: metric
    for metric in (
        Metric("jobs", "jobs", _COUNT, digits=0),
        Metric("completed", "completed jobs", _COUNT, "higher", digits=0, part_title="completed"),
        Metric(
            "timeout", "jobs killed at their walltime", _COUNT, "lower", digits=0, part_title="killed at their walltime"
        ),
        Metric("failed", "failed jobs", _COUNT, "lower", digits=0, part_title="failed"),
        Metric("rejected", "rejected jobs", _COUNT, "lower", digits=0, part_title="rejected"),
        Metric("cancelled", "cancelled jobs", _COUNT, digits=0, part_title="cancelled"),
        Metric("running", "jobs still running", _COUNT, digits=0, part_title="still running"),
        Metric("pending", "jobs still queued", _COUNT, "lower", digits=0, part_title="still queued"),
        Metric("makespan_s", "makespan", _TIME, "lower"),
        Metric("energy_j", "energy", _ENERGY, "lower"),
        Metric("job_energy_j", "energy of nodes at work", _ENERGY, "lower", part_title="of nodes at work"),
        Metric("idle_energy_j", "energy of idle nodes", _ENERGY, "lower", part_title="of idle nodes"),
        Metric(
            "transition_energy_j",
            "energy of booting and shutting down",
            _ENERGY,
            "lower",
            part_title="of booting and shutting down",
        ),
        Metric("off_energy_j", "energy of nodes switched off", _ENERGY, "lower", part_title="of nodes switched off"),
        Metric("down_energy_j", "energy of failed nodes", _ENERGY, "lower", part_title="of failed nodes"),
        Metric("work_lost_node_s", "work lost", _NODE_TIME, "lower"),
        Metric("completed_work_ratio", "completed work", _SHARE, "higher"),
        Metric("energy_per_work_j_per_node_s", "energy per work", _ENERGY_PER_WORK, "lower"),
        Metric("mean_wait_s", "mean wait", _TIME, "lower"),
        Metric("median_wait_s", "median wait", _TIME, "lower"),
        Metric("p95_wait_s", "95th percentile of waits", _TIME, "lower"),
        Metric("max_wait_s", "longest wait", _TIME, "lower"),
        Metric("mean_turnaround_s", "mean turnaround", _TIME, "lower"),
        Metric("mean_bounded_slowdown", "mean bounded slowdown", _COUNT, "lower"),
        Metric("throughput_jobs_per_hour", "throughput", (Unit("jobs/h", 1.0),), "higher"),
        Metric("utilization_ratio", "utilization", _SHARE, "higher"),
        Metric("mean_power_w", "mean power", _POWER),
        Metric("peak_power_w", "peak power", _POWER, "lower"),
        Metric("energy_delay_product_js", "energy × makespan", _ENERGY_DELAY, "lower"),
        Metric("offered_load_ratio", "offered load", _COUNT, digits=3),
        Metric("budget_w", "power budget", _POWER),
        Metric("over_budget_count", "times beyond the budget", _COUNT, "lower", digits=0),
        Metric("over_budget_s", "time beyond the budget", _TIME, "lower"),
        Metric("over_budget_peak_w", "most power beyond the budget", _POWER, "lower"),
        Metric("profiled_jobs", "profiled first runs", _COUNT, digits=0),
        Metric(
            "energy_bound_j",
            "least energy of nodes at work",
            _ENERGY,
            part_title="least any placement could reach",
        ),
    )
}
"""Every metric by its key, in the summary's order."""

DEFAULT_METRICS = ("energy_j", "mean_wait_s", "mean_bounded_slowdown", "utilization_ratio")
"""What a comparison shows if nothing else is asked for."""


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


def _expected_for(key: str) -> str:
    """What a key that is none should have been: the nearest one, or one of all."""
    return f"a metric{near}" if (near := did_you_mean(key, METRICS)) else f"one of {', '.join(METRICS)}"
