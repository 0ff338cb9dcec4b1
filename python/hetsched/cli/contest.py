"""Several policies on the same jobs and machine: run, compared, written and shown."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from hetsched.analysis import DEFAULT_METRICS, METRICS, attained_ratio, compare
from hetsched.cli.options import OTHER_DRAWS
from hetsched.cli.runs import Outcome, run_all, runs_of
from hetsched.cli.window import Window
from hetsched.errors import LoadWarning, RunWarning
from hetsched.files import write_whole
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.run.concerns import Concern, joined
from hetsched.run.known_draws import draws_note
from hetsched.run.progress import Bars
from hetsched.run.summary import STATES
from hetsched.workload import Workload

__all__ = ["Comparison", "compared"]

_SAME_WINDOW_RATIO = 0.01


@dataclass(frozen=True)
class Comparison:
    """What came of the runs.

    Parameters
    ----------
    outcomes
        Of each run.
    table
        As `hetsched.analysis.compare` gives it.
    baseline
        The policy whose ratios are 1.
    is_alike
        Whether every node draws as every other, so that which of them a job gets makes no difference.
    """

    outcomes: list[Outcome]
    table: pl.DataFrame
    baseline: str
    is_alike: bool = False

    def value(self, policy: str, metric: str, column: str = "mean") -> float:
        """A number of the table; NaN where it holds none."""
        row = self.table.filter((pl.col("policy") == policy) & (pl.col("metric") == metric))
        value = row[column].item()
        return float("nan") if value is None else float(value)

    def attained(self) -> dict[str, float | None]:
        """Each policy's saving of job energy as a share of what any placement could have saved; empty without bounds.

        Held against the bound of the baseline's window, see `attained_ratio`. None where runs were stopped before all
        jobs had ended: they are not of the same work, and the bound is of the jobs that ended only.
        """
        summaries = self._mean_summaries()
        base = summaries[self.baseline]
        least_j, base_j = base.get("energy_bound_j"), base.get("job_energy_j") or 0.0
        if least_j is None:
            return {}
        return {
            policy: None
            if _is_cut(base) or _is_cut(summary)
            else attained_ratio(summary["job_energy_j"] or 0.0, baseline_j=base_j, bound_j=least_j)
            for policy, summary in summaries.items()
            if policy != self.baseline
        }

    def notes(self) -> list[str]:
        """A line for each way in which jobs ended other than by completing, and one for what placement can do."""
        summaries = self._mean_summaries()
        lines = [*(self._attained_lines() or self._alike_lines()), *self._window_lines()]
        for state in STATES[1:]:
            counts = {policy: summary[state] or 0 for policy, summary in summaries.items()}
            numbers = set(counts.values())
            if len(numbers) == 1 and any(numbers):
                lines.append(f"{METRICS[state].short_title}: {numbers.pop():,g} of the jobs under every policy")
            elif any(numbers):
                by_policy = ", ".join(f"{policy} {count:,g}" for policy, count in counts.items())
                lines.append(f"{METRICS[state].short_title}: {by_policy}")
        return lines + self._draw_lines()

    def _draw_lines(self) -> list[str]:
        """A line for each thing that decisions know of draws before jobs have run, and under which policies."""
        policies: dict[str, list[str]] = {}
        for outcome in self.outcomes:
            note = draws_note(outcome.provenance["known_draws"], change=OTHER_DRAWS)
            own = policies.setdefault(note, []) if note else []
            if outcome.run.policy.name not in own:
                own.append(outcome.run.policy.name)
        return [f"{', '.join(names)}: {note}" for note, names in policies.items()]

    def _attained_lines(self) -> list[str]:
        attained = self.attained()
        if not attained:
            return []
        base = self._mean_summaries()[self.baseline]
        if _is_cut(base):
            return ["jobs were left when the runs were stopped: no share of what placement could save"]
        base_j, least_j = base["job_energy_j"] or 0.0, base["energy_bound_j"] or 0.0
        if attained_ratio(base_j, baseline_j=base_j, bound_j=least_j) is None:
            return [f"placement has nothing to save{': nodes are alike' if self.is_alike else ''}"]
        most = (base_j - least_j) / base_j if base_j else 0.0
        shares = ", ".join(f"{policy} {'–' if share is None else f'{share:.1%}'}" for policy, share in attained.items())
        return [f"placement could save at most {most:.2%} of {self.baseline}'s job energy; of that: {shares}"]

    def _alike_lines(self) -> list[str]:
        placements = {str(outcome.run.policy.parts["placement"]) for outcome in self.outcomes}
        return ["nodes are alike: which of them a job gets changes no energy"] * (self.is_alike and len(placements) > 1)

    def _window_lines(self) -> list[str]:
        makespans_s = {policy: summary.get("makespan_s") or 0.0 for policy, summary in self._mean_summaries().items()}
        if not _windows_differ(list(makespans_s.values())):
            return []
        texts = METRICS["makespan_s"].texts(list(makespans_s.values()))
        each = ", ".join(f"{policy} {text}" for policy, text in zip(makespans_s, texts, strict=True))
        unit = METRICS["makespan_s"].unit_for(list(makespans_s.values())).name
        return [f"makespans ({unit}) differ, and energy holds that of idle nodes up to each run's last end: {each}"]

    def write(self, folder: str) -> str:
        """Write the table as ``comparison.csv``; gives its name."""
        path = Path(folder) / "comparison.csv"
        write_whole(path, self.table.write_csv().encode())
        return str(path)

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it: ``summary`` is the mean of each policy's runs, ``runs`` has each in full."""
        return {
            "summary": self._mean_summaries(),
            "baseline": self.baseline,
            "comparison": self.table.to_dicts(),
            **({"attained": attained} if (attained := self.attained()) else {}),
            "runs": [
                {
                    "policy": outcome.run.policy.name,
                    "seed": outcome.run.seed,
                    "summary": outcome.summary,
                    "provenance": outcome.provenance,
                    "timing": outcome.timing,
                }
                for outcome in self.outcomes
            ],
        }

    def _mean_summaries(self) -> dict[str, dict[str, float | None]]:
        runs: dict[str, list[dict[str, Any]]] = {}
        for outcome in self.outcomes:
            runs.setdefault(outcome.run.policy.name, []).append(outcome.summary)
        return {policy: own[0] if len(own) == 1 else _mean(own) for policy, own in runs.items()}


def _is_cut(summary: Mapping[str, float | None]) -> bool:
    return bool(summary["running"] or summary["pending"])


def _mean(summaries: Sequence[Mapping[str, float | None]]) -> dict[str, float | None]:
    columns = {name: [summary[name] for summary in summaries] for name in summaries[0]}
    known = {name: [value for value in values if value is not None] for name, values in columns.items()}
    return {name: sum(values) / len(values) if values else None for name, values in known.items()}


def compared(
    workload: Workload,
    platform: Platform,
    policies: Sequence[Policy],
    *,
    baseline: str,
    options: Mapping[str, Any],
    metrics: Sequence[str] | None = None,
    seeds: int = 1,
    folder: str | None = None,
    drawn: bool = False,
    window: Window | None = None,
) -> Comparison:
    """Run every policy and compare.

    Parameters
    ----------
    workload, platform
        The same for all.
    policies
        In the order of the table.
    baseline
        The name of the one whose ratios are 1.
    options
        Keyword options of `hetsched.simulate`; ``seed`` is the first seed.
    metrics
        What to compare by. None: the default, with the parts of the energy where the runs' windows differ.
    seeds
        Runs of each policy in which chance plays a part.
    folder
        Where every run's files go, in a folder of its own; None: nowhere.
    drawn
        Whether to keep what pictures need.
    window
        Over which part of each run to measure; None: all of it.
    """
    others = {name: value for name, value in options.items() if name != "seed"}
    runs = runs_of(policies, seed=options["seed"], seeds=seeds, folder=None if folder is None else Path(folder))
    with Bars() as bars, warnings.catch_warnings():
        # Told below: each matter once for all policies, in their order.
        warnings.filterwarnings("ignore", category=RunWarning)
        warnings.filterwarnings("always", category=LoadWarning)
        outcomes = run_all(workload, platform, runs, options=others, bars=bars, drawn=drawn, window=window)
    _warn_of(outcomes)
    frame = pl.DataFrame([outcome.row() for outcome in outcomes], infer_schema_length=None)
    table = compare(frame, baseline=baseline, metrics=_default_metrics(frame) if metrics is None else metrics)
    return Comparison(outcomes, table, baseline, is_alike=_are_alike(platform))


def _default_metrics(runs: pl.DataFrame) -> tuple[str, ...]:
    """What to compare by if nothing was asked for: in windows that differ, idle nodes make the energy differ, too."""
    if "makespan_s" not in runs.columns:  # a part of each run was measured, the same of all
        return DEFAULT_METRICS
    if not _windows_differ(runs.group_by("policy").agg(pl.col("makespan_s").mean())["makespan_s"].to_list()):
        return DEFAULT_METRICS
    place = DEFAULT_METRICS.index("energy_j") + 1
    return (*DEFAULT_METRICS[:place], "job_energy_j", "idle_energy_j", *DEFAULT_METRICS[place:])


def _windows_differ(makespans_s: Sequence[float]) -> bool:
    """Whether the longest is more than 1 % longer than the shortest."""
    return max(makespans_s) > (1 + _SAME_WINDOW_RATIO) * min(makespans_s)


def _warn_of(outcomes: Sequence[Outcome]) -> None:
    """Say what looks wrong with the runs; of a policy with several, the first speaks for all."""
    first: dict[str, tuple[Concern, ...]] = {}
    for outcome in outcomes:
        first.setdefault(outcome.run.policy.name, outcome.concerns)
    for concern in joined(first):
        warnings.warn(str(concern), concern.category, stacklevel=3)


def _are_alike(platform: Platform) -> bool:
    """Whether every node draws the same, idle and under the same job, which has its nodes to itself."""
    draws_w = [np.concatenate([c.per_node(name) for c in platform.classes]) for name in ("idle_w", "busy_w")]
    is_shared = not platform.exclusive and bool((platform.slots > 1).any())
    return platform.actual is None and all(np.ptp(watts) == 0 for watts in draws_w) and not is_shared
