"""`Metric`: a key of a run's summary, how it is computed from the facts of the run, shown and judged."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.naming import named_in
from hetsched.resources import counts_of
from hetsched.typing import Direction, MetricNeeds


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


SECTIONS = ("jobs", "machine", "waits", "energy", "work", "power", "budget")
"""The parts of a table of a run, from top to bottom."""


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
        return counts_of(self.jobs["state"])

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
    needs
        What an optional one asks of a run: ``"bound"``, ``"starts"`` (the bound given the run's starts), ``"prices"``,
        ``"limits"`` or ``"pue"``, or ``"baseline"``:
        another run to be compared with; empty: its policy.
    is_money
        Whether a currency is its unit.

    Examples
    --------
    >>> from hetsched.analysis import METRICS
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
    needs: MetricNeeds = ""
    is_money: bool = False

    def in_currency(self, currency: str | None) -> Metric:
        """The same metric with a currency as its unit, if it is money and there is one.

        Examples
        --------
        >>> from hetsched.analysis import METRICS
        >>> METRICS["cost"].in_currency("EUR").text(1234.5)
        '1,234 EUR'
        """
        return replace(self, units=(Unit(currency, 1.0),)) if self.is_money and currency is not None else self

    @property
    def short_title(self) -> str:
        """Title where the metric it is a part of has just been named."""
        return self.part_title or self.title

    def unit_for(self, values: Sequence[float | None]) -> Unit:
        """The largest unit that the largest of `values` fills.

        Examples
        --------
        >>> from hetsched.analysis import METRICS
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
        >>> from hetsched.analysis import METRICS
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
        >>> from hetsched.analysis import METRICS
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
