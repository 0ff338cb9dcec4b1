"""A run of an experiment as a row, and many rows asked by scenario and policy."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.analysis import attained_ratio
from hetsched.experiments.experiment import Row
from hetsched.experiments.yours import labels_in, your_row
from hetsched.platform import Platform
from hetsched.run.result import Result
from hetsched.run.simulation import simulate
from hetsched.workload import Workload

__all__ = ["Runs", "can_bound", "run_rows"]

Floats = npt.NDArray[np.float64]
Extra = Callable[[Result], Mapping[str, Any]]


@functools.cache
def can_bound() -> bool:
    """Whether the least job energy can be computed: its solver may be missing."""
    return importlib.util.find_spec("highspy") is not None


def run_rows(
    scenario: str,
    policies: Mapping[str, Any],
    workload: Workload,
    platform: Platform,
    *,
    seed: int,
    baselines: tuple[str, ...],
    extra: Extra | None = None,
) -> list[dict[str, Any]]:
    """Run every policy on the same draws.

    Parameters
    ----------
    scenario
        What to call them.
    policies
        By label.
    workload, platform
        The draws.
    seed
        Of the runs.
    baselines
        Labels of those that others are compared with: the least job energy in their window is computed, too.
    extra
        More columns, from a result.

    Returns
    -------
    list of dict
        ``scenario, policy``, the keys of the summary with ``energy_bound_j`` (null but for the baselines, and where
        the solver is missing), and the extra columns.
    """
    rows = []
    for label, policy in policies.items():
        bound = label in baselines and can_bound()
        result = simulate(workload, platform, policy, seed=seed, bound=bound)
        summary = {"energy_bound_j": None, **result.summary()}
        rows.append({"scenario": scenario, "policy": label, **summary, **({} if extra is None else extra(result))})
    return rows


class Runs:
    """The runs of an experiment, as arrays with one value a repetition.

    Parameters
    ----------
    frame
        A row a run: ``repetition, scenario, policy`` and metrics.
    baseline
        The policy that savings are relative to.

    Examples
    --------
    >>> frame = pl.DataFrame({"repetition": [0, 0], "scenario": "busy", "policy": ["naive", "coa"],
    ...                       "job_energy_j": [200.0, 195.0]})
    >>> Runs(frame, baseline="naive").saving("coa", "busy").tolist()
    [2.5]
    """

    def __init__(self, frame: pl.DataFrame, *, baseline: str) -> None:
        self._frame = frame.sort("repetition")
        self._baseline = baseline

    def values(self, policy: str, scenario: str, column: str = "job_energy_j") -> Floats:
        """A column, one value a repetition.

        Parameters
        ----------
        policy, scenario
            Which runs.
        column
            Of the frame.
        """
        own = self._frame.filter((pl.col("policy") == policy) & (pl.col("scenario") == scenario))
        return own[column].cast(pl.Float64).to_numpy()

    def saving(self, policy: str, scenario: str, *, over: str | None = None, column: str = "job_energy_j") -> Floats:
        """How much less of a column than under another policy, percent (eq. 12 of the COA/SWA paper).

        Parameters
        ----------
        policy, scenario, column
            As in `values`.
        over
            The other policy. None: the baseline.
        """
        other = self.values(over or self._baseline, scenario, column)
        return 100.0 * (other - self.values(policy, scenario, column)) / other

    def of_yours(self, scenarios: Iterable[str]) -> list[Row]:
        """What a user's own policies save; nothing where there are none.

        Parameters
        ----------
        scenarios
            In which runs.
        """
        over = f"job energy saved over {self._baseline}"
        return [
            your_row(self._frame, label, f"{over}, {scenario}, %", self.saving(label, scenario))
            for label in labels_in(self._frame)
            for scenario in scenarios
        ]

    def attainable(self, scenario: str) -> Floats | None:
        """The saving that no placement within the window of the baseline's run can exceed, percent.

        None where the bound was not computed.
        """
        bound = self.values(self._baseline, scenario, "energy_bound_j")
        if np.isnan(bound).any():
            return None
        base = self.values(self._baseline, scenario)
        return 100.0 * (base - bound) / base

    def share(self, policy: str, scenario: str) -> Floats | None:
        """How much of the attainable saving was reached, percent; None as in `attainable`."""
        if self.attainable(scenario) is None:
            return None
        columns = (
            self.values(policy, scenario),
            self.values(self._baseline, scenario),
            self.values(self._baseline, scenario, "energy_bound_j"),
        )
        ratios = [
            attained_ratio(own, baseline_j=base, bound_j=bound) for own, base, bound in zip(*columns, strict=True)
        ]
        return 100.0 * np.array(ratios, dtype=np.float64)

    def drawn(
        self, panels: Mapping[str, str], policies: list[str], *, paper: Mapping[tuple[str, str], float]
    ) -> pl.DataFrame:
        """What a figure of savings shows.

        Parameters
        ----------
        panels
            From a panel's title to its scenario.
        policies
            Labels, from top to bottom.
        paper
            The paper's savings by scenario and policy, percent.
        """
        parts = []
        for title, scenario in panels.items():
            for label in policies:
                saving, attainable = self.saving(label, scenario), self.attainable(scenario)
                own = {
                    "saving": saving,
                    "attainable": np.full(len(saving), np.nan) if attainable is None else attainable,
                }
                part = pl.DataFrame(own).with_columns(
                    panel=pl.lit(title),
                    label=pl.lit(label),
                    paper=pl.lit(paper.get((scenario, label)), dtype=pl.Float64),
                    attainable=pl.col("attainable").fill_nan(None),
                )
                parts.append(part.select("panel", "label", "saving", "attainable", "paper"))
        return pl.concat(parts)
