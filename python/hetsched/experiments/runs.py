"""An experiment's runs: one of them as a row, all of them selected by column, and the panels of their figures."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np
import polars as pl

from hetsched.experiments.experiment import Floats, Repetition
from hetsched.platform import Platform
from hetsched.policy import Policy, parse_policy
from hetsched.report.experiment import curve
from hetsched.run.result import Result
from hetsched.run.simulation import simulate
from hetsched.typing import Bound
from hetsched.workload import Workload

R = TypeVar("R")
C = TypeVar("C")
V = TypeVar("V")
Column: TypeAlias = Callable[[str], Floats]

MARK = "yours: "
"""Before the names of a user's policies: an experiment may call another composition the same."""


def run_row(
    label: str,
    policy: str | Policy | Mapping[str, Any],
    workload: Workload,
    platform: Platform,
    *,
    seed: int,
    named: Mapping[str, Any],
    bound: bool | Bound = False,
    extra: Callable[[Result], Mapping[str, Any]] = lambda _result: {},
) -> dict[str, Any]:
    """A run as a row: its names, the keys of its summary, and more columns from the result.

    `bound` is that of `simulate`: True for the least job energy in the run's window.
    """
    result = simulate(workload, platform, policy, seed=seed, bound=bound)
    return {**named, "policy": label, **result.summary(), **extra(result)}


def side_by_side(
    repetition: Repetition,
    policies: Mapping[str, Any],
    workload: Workload,
    platform: Platform,
    *,
    named: Mapping[str, Any],
    bound: Collection[str] | None = None,
    extra: Callable[[Result], Mapping[str, Any]] = lambda _result: {},
) -> list[dict[str, Any]]:
    """A `run_row` a policy, a user's own after the experiment's.

    With `bound` all runs have the bound given their starts, and those of these labels that of the window, too.
    """
    return [
        run_row(
            label,
            policy,
            workload,
            platform,
            seed=repetition.seed,
            named=named,
            bound=False if bound is None else bound_of(label, bound),
            extra=extra,
        )
        for label, policy in {**policies, **repetition.policies}.items()
    ]


def bound_of(label: str, windows: Collection[str]) -> Bound:
    """The bounds of a run: that given its starts, and for these labels that of the window, too."""
    return "all" if label in windows else "starts"


def under_budget(policy: str | Policy, **budget: float) -> Policy:
    """A policy under a budget, ``budget_w`` or ``pcr``, in place of its own; what else its power part says stays."""
    parts = (parse_policy(policy) if isinstance(policy, str) else policy).to_dict()
    own = parts.get("power") or {}
    kept = {name: value for name, value in own.items() if name not in ("budget_w", "pcr")}
    power = kept if own.get("name") == "system-budget" else {"name": "system-budget"}
    return Policy.from_dict({**parts, "power": {**power, **budget}})


def _share_saved(column: str) -> Callable[[Column, Column], Floats]:
    """A column's decrease in percent of the baseline's system energy, so that parts add up to the whole."""
    return lambda own, base: 100.0 * (base(column) - own(column)) / base("energy_j")


def _change(column: str) -> Callable[[Column, Column], Floats]:
    return lambda own, base: 100.0 * (own(column) / base(column) - 1.0)


def over(own_s: Floats, base_s: Floats) -> Floats:
    """Waits over waits; 1 where no job waits in either run."""
    return np.divide(own_s, base_s, out=np.where(own_s > 0, np.inf, 1.0), where=base_s != 0)


def _wait(own: Column, base: Column) -> Floats:
    return over(own("mean_wait_s"), base("mean_wait_s"))


def _room(base: Column) -> Floats:
    return base("job_energy_j") - base("energy_bound_j")


def _below(column: Column) -> Floats:
    """Job energy that better nodes at the same starts could have saved at most."""
    return column("job_energy_j") - column("energy_bound_starts_j")


def _of_base(saved_j: Callable[[Column, Column], Floats]) -> Callable[[Column, Column], Floats]:
    """A saving in percent of the baseline's job energy."""
    return lambda own, base: 100.0 * saved_j(own, base) / base("job_energy_j")


METRICS: Mapping[str, Callable[[Column, Column], Floats]] = {
    "saving": _share_saved("energy_j"),
    "placement": _share_saved("job_energy_j"),
    "window": _share_saved("idle_energy_j"),
    "tail": _share_saved("tail_idle_j"),
    "energy": _change("energy_j"),
    "turnaround": _change("mean_turnaround_s"),
    "throughput": _change("throughput_jobs_per_hour"),
    "wait": _wait,
    "waiting": _change("mean_wait_s"),
    "merit": lambda own, base: _share_saved("energy_j")(own, base) / _wait(own, base),
    "above": lambda own, _base: 100.0 * own("over_budget_s") / own("makespan_s"),
    "share": lambda own, base: 100.0 * (base("job_energy_j") - own("job_energy_j")) / _room(base),
    "attainable": lambda _own, base: 100.0 * _room(base) / base("job_energy_j"),
    "attained": lambda own, _base: 100.0 * own("placement_attained_ratio"),
    "placing": _of_base(lambda own, base: _below(base) - _below(own)),
    "timing": _of_base(lambda own, base: base("energy_bound_starts_j") - own("energy_bound_starts_j")),
    "longest": lambda own, _base: own("large_longest_wait_s") / 3600.0,
}
"""From a run's columns and its baseline's to:

* ``saving``: of system energy, over each run's own window, percent (Fig. 7 of the VAHRM paper); it is ``placement``,
  the part of job energy, plus ``window``, the part of idle energy; ``tail`` is the part of the latter after each run's
  last start
* ``energy``, ``turnaround`` (Fig. 8), ``throughput`` (jobs per makespan, Fig. 9): change, percent
* ``wait``: mean wait over mean wait (Fig. 14); ``waiting``: its change, percent
* ``merit``: M_β, the saving over the relative wait (Fig. 15)
* ``above``: time above the power budget, percent of the makespan; of the run alone
* ``attainable``: the saving of job energy that no placement within the baseline's window exceeds, percent; ``share``:
  how much of it is reached, percent
* ``attained``: the saving over blind placement at the run's own starts, as a share of the largest that these starts
  leave room for, percent; of the run alone. ``placing`` and ``timing``: the two parts of the saving of job energy over
  the baseline, percent of its job energy (`hetsched.analysis.placement_and_timing`)
* ``longest``: the longest wait of a large job, h; of the run alone
"""


class Runs:
    """The runs of an experiment, as arrays with a row a repetition.

    With `each`, a column of the frame, the rows have a column for each of its values, in their order. `at` chooses
    among the runs, by column.
    """

    def __init__(self, frame: pl.DataFrame, baseline: str = "", *, each: str | None = None, **at: Any) -> None:
        self.frame = frame
        self._baseline = baseline
        self._each = each
        self._at = at
        self._known: dict[tuple[tuple[str, Any], ...], pl.DataFrame] = {}

    def where(self, **at: Any) -> Runs:
        """A part of them."""
        part = Runs(self.frame, self._baseline, each=self._each, **{**self._at, **at})
        part._known = self._known
        return part

    def values(self, column: str, policy: str, **at: Any) -> Floats:
        """A column of the frame."""
        wanted = {**self._at, "policy": policy, **at}
        key = tuple(sorted(wanted.items()))
        if key not in self._known:
            order = ["repetition"] if self._each is None else ["repetition", self._each]
            self._known[key] = self.frame.filter(**wanted).sort(order)
        own = self._known[key]
        if own.is_empty():
            raise KeyError(f"no run of {wanted}")
        found: Floats = own[column].cast(pl.Float64).to_numpy()
        return found if self._each is None else found.reshape(own["repetition"].n_unique(), -1)

    def metric(
        self, name: str, policy: str, *, over: str = "", base_at: Mapping[str, Any] | None = None, **at: Any
    ) -> Floats:
        """A metric of `METRICS`, or a column, of a policy's runs relative to those of `over`, or of the baseline.

        `base_at` chooses among the latter in the place of `at`.
        """
        if name not in METRICS:
            return self.values(name, policy, **at)
        own = partial(self.values, policy=policy, **at)
        base = partial(self.values, policy=over or self._baseline, **(at if base_at is None else base_at))
        return METRICS[name](own, base)

    def mean(self, name: str, policy: str, *, numbers: Collection[int] | None = None, **more: Any) -> Floats:
        """A `metric` averaged over the columns of these numbers, or over all; as it is where there are no columns."""
        found = self.metric(name, policy, **more)
        if found.ndim == 1:
            return found
        mean: Floats = (found if numbers is None else found[:, list(numbers)]).mean(axis=1)
        return mean

    def across(self, name: str, policy: str, vary: str, values: Iterable[Any], **more: Any) -> Floats:
        """The `mean` at each value of the column that an experiment varies, shape (repetitions, values)."""
        return np.column_stack([self.mean(name, policy, **{vary: one}, **more) for one in values])

    def by(self, policy: str, vary: str, values: Sequence[V], *columns: str) -> list[dict[V, Floats]]:
        """Each of some columns of a policy's runs, by the value of the column that an experiment varies."""
        return [{one: self.values(column, policy, **{vary: one}) for one in values} for column in columns]

    def saving(self, policy: str, column: str = "job_energy_j", *, over: str = "", **at: Any) -> Floats:
        """Decrease of a column against another policy, percent (eq. 12 of the COA/SWA paper)."""
        other = self.values(column, over or self._baseline, **at)
        return 100.0 * (other - self.values(column, policy, **at)) / other

    @property
    def yours(self) -> list[str]:
        """Labels of a user's own policies, in the order of asking."""
        labels: list[str] = self.frame["policy"].unique(maintain_order=True).to_list()
        return [label for label in labels if label.startswith(MARK)]

    def numbers(
        self, policy: str, quantities: Mapping[str, str], settings: Mapping[str, Mapping[str, Any]], **more: Any
    ) -> dict[str, Floats]:
        """Metrics of a policy at each setting, by quantity.

        `quantities` leads from a metric to its quantity, in which ``{}`` is the setting's name; `settings` from that
        name to what selects the runs.
        """
        return {
            quantity.format(where): self.mean(name, policy, **at, **more)
            for where, at in settings.items()
            for name, quantity in quantities.items()
        }

    def drawn(
        self, panels: Mapping[str, str], policies: Sequence[str], paper: Mapping[tuple[str, str], float]
    ) -> pl.DataFrame:
        """Rows of a figure of savings: panels by title with their scenario, the paper's by scenario and policy."""
        return pl.concat(
            pl.DataFrame(
                {
                    "panel": title,
                    "label": label,
                    "saving": self.saving(label, scenario=scenario),
                    "attainable": self.metric("attainable", label, scenario=scenario),
                    "paper": paper.get((scenario, label)),
                },
                schema_overrides={"paper": pl.Float64},
            )
            for title, scenario in panels.items()
            for label in [*policies, *self.yours]
        )


def saved_over(baseline: str, scenarios: Iterable[str]) -> Callable[[pl.DataFrame, str], dict[str, Floats]]:
    """Job energy that a policy saves in each scenario, by quantity, as `Experiment.yours` takes it."""
    quantities = {f"job energy saved over {baseline}, {scenario}, %": scenario for scenario in scenarios}
    return lambda frame, label: {
        quantity: Runs(frame, baseline).saving(label, scenario=scenario) for quantity, scenario in quantities.items()
    }


def panels(
    rows: Mapping[str, R],
    columns: Mapping[str, C],
    labels: Iterable[str],
    values: Callable[[R, C, str], Floats],
    *,
    level: Mapping[str, float] = {},
    paper: Mapping[str, float] = {},
    **style: Any,
) -> pl.DataFrame:
    """A grid of panels with a `curve` a label in each: rows by the text at their axis, columns by their title.

    `values` gives a curve from what `rows` and `columns` lead to, and the label; `level` and `paper` are by the text of
    a row.
    """
    return pl.concat(
        curve(
            values(own, of, label),
            row=row,
            column=column,
            label=label,
            level=level.get(row, 0.0),
            paper=paper.get(row),
            **style,
        )
        for row, own in rows.items()
        for column, of in columns.items()
        for label in labels
    )
