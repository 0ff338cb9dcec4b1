"""`Comparison`: runs of several policies held against each other, its table and what a reader should know of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from rich.console import Console

from hetsched.analysis.ratios import attained_ratio
from hetsched.analysis.shares import placement_and_timing
from hetsched.files import json_sha256, write_whole
from hetsched.many.outcome import Outcome
from hetsched.naming import named_in
from hetsched.notebook import card
from hetsched.report.page.runs import RunsPage
from hetsched.report.page.shown import RunShown
from hetsched.report.tables import comparison_table, shares_tables
from hetsched.reported import Reported
from hetsched.run.concerns import CHANGE, draws_note
from hetsched.run.metrics import METRICS, STATES, columns_of

if TYPE_CHECKING:
    pass


COMPARISON = "comparison.csv"
"""The table of a comparison, in the folder of its runs."""

_SAME_WINDOW_RATIO = 0.01


@named_in("hetsched")
@dataclass(frozen=True, repr=False, eq=False)
class Comparison(Reported):
    """The outcome of comparing policies. Made by `hetsched.compare`.

    The charts of its `report` are of the first run of each policy, which is run again for them.

    Parameters
    ----------
    table
        One row a policy and metric, as `hetsched.analysis.ratios_to_baseline` gives it.
    runs
        One row a run: ``policy, seed``, the keys of its summary, and ``longer_waits``, the number of jobs that wait
        over an hour longer than under the baseline.
    baseline
        The policy whose ratios are 1.
    _outcomes
        What was kept of each run, in the order of `runs`.
    _is_alike
        Whether every node draws as every other, so that which of them a job gets makes no difference.
    _change
        How a reader has decisions know other draws, for the notes.
    _again
        Makes the first run of each policy again, for a page.
    """

    table: pl.DataFrame
    runs: pl.DataFrame
    baseline: str
    _outcomes: Sequence[Outcome]
    _is_alike: bool = False
    _change: str = CHANGE
    _again: Callable[[], Sequence[RunShown]] = tuple

    def __repr__(self) -> str:
        others = ", ".join(policy for policy in self.summaries if policy != self.baseline)
        return f"<Comparison: {self.baseline}{f' against {others}' if others else ''}, {len(self._outcomes)} runs>"

    def __str__(self) -> str:
        """The table and the notes, as ``hetsched compare`` shows them."""
        with (console := Console(width=80, file=StringIO(), highlight=False)).capture() as captured:
            console.print(comparison_table(self.table, baseline=self.baseline, currency=self.currency))
            if not self.shares.is_empty():
                console.print(shares_tables(self.shares))
        lines = [line.rstrip() for line in captured.get().splitlines()]
        return "\n".join([*lines, *self.notes]).strip("\n")

    @property
    def currency(self) -> str | None:
        """The unit of costs; None if neither the contract nor the platform says it."""
        found: str | None = self._outcomes[0].provenance.get("currency")
        return found

    def _repr_html_(self) -> str:
        return card(repr(self).strip("<>"), None, self.table._repr_html_(), notes=self.notes)

    def value(self, policy: str, metric: str, column: str = "mean") -> float:
        """A number of the table; NaN where it holds none."""
        row = self.table.filter((pl.col("policy") == policy) & (pl.col("metric") == metric))
        value = row[column].item()
        return float("nan") if value is None else float(value)

    @cached_property
    def attained(self) -> dict[str, float | None]:
        """Each policy's saving of job energy as a share of what any placement could have saved; empty without bounds.

        Held against the bound of the baseline's window, see `attained_ratio`. None where runs were stopped before all
        jobs had ended: they are not of the same work, and the bound is of the jobs that ended only.
        """
        base = self.summaries[self.baseline]
        least_j, base_j = base.get("energy_bound_j"), base.get("job_energy_j") or 0.0
        if least_j is None:
            return {}
        return {
            policy: None
            if _is_cut(base) or _is_cut(summary)
            else attained_ratio(summary["job_energy_j"] or 0.0, baseline_j=base_j, bound_j=least_j)
            for policy, summary in self.summaries.items()
            if policy != self.baseline
        }

    @cached_property
    def shares(self) -> pl.DataFrame:
        """Each policy's saving, split into placement and timing, and its waits; empty without the bounds for it.

        See `hetsched.analysis.placement_and_timing`; runs of several seeds are averaged before.
        """
        return placement_and_timing(self.summaries, baseline=self.baseline)

    @property
    def notes(self) -> list[str]:
        """Lines on what placement and sleep can do, on windows that differ, and on jobs that did not complete."""
        lines = [*(self._attained_lines() or self._alike_lines()), *self._sleep_lines(), *self._window_lines()]
        for state in STATES[1:]:
            counts = {policy: summary[state] or 0 for policy, summary in self.summaries.items()}
            numbers = set(counts.values())
            if len(numbers) == 1 and any(numbers):
                lines.append(f"{METRICS[state].short_title}: {numbers.pop():,g} of the jobs under every policy")
            elif any(numbers):
                by_policy = ", ".join(f"{policy} {count:,g}" for policy, count in counts.items())
                lines.append(f"{METRICS[state].short_title}: {by_policy}")
        return [*lines, *self._replay_lines(), *self._draw_lines()]

    def _replay_lines(self) -> list[str]:
        """Says that a replay kills no job at its walltime, where another policy did."""
        kills = {outcome.policy: outcome.provenance["options"]["kill_at_walltime"] for outcome in self._outcomes}
        spared = [policy for policy, is_killing in kills.items() if not is_killing]
        if not spared or not any(self.summaries[policy]["timeout"] for policy in kills):
            return []
        return [f"{', '.join(spared)}: no job is killed at its walltime, as those that overran it ran on in the log"]

    def _draw_lines(self) -> list[str]:
        """A line for each thing that decisions know of draws before jobs have run, and under which policies."""
        policies: dict[str, list[str]] = {}
        for outcome in self._outcomes:
            note = draws_note(outcome.provenance["known_draws"], change=self._change)
            own = policies.setdefault(note, []) if note else []
            if outcome.policy not in own:
                own.append(outcome.policy)
        return [f"{', '.join(names)}: {note}" for note, names in policies.items()]

    def _attained_lines(self) -> list[str]:
        if not self.attained:
            return []
        base = self.summaries[self.baseline]
        if _is_cut(base):
            return ["jobs were left when the runs were stopped: no share of what placement could save"]
        base_j, least_j = base["job_energy_j"] or 0.0, base["energy_bound_j"] or 0.0
        if attained_ratio(base_j, baseline_j=base_j, bound_j=least_j) is None:
            return [f"placement has nothing to save{': nodes are alike' if self._is_alike else ''}"]
        most = (base_j - least_j) / base_j if base_j else 0.0
        shares = ", ".join(
            f"{policy} {'–' if share is None else f'{share:.1%}'}" for policy, share in self.attained.items()
        )
        return [f"placement could save at most {most:.2%} of {self.baseline}'s job energy; of that: {shares}"]

    def _sleep_lines(self) -> list[str]:
        """The attained part of what sleeping nodes could save."""
        ratios = {policy: summary.get("sleep_attained_ratio") for policy, summary in self.summaries.items()}
        shares = ", ".join(f"{policy} {ratio:.1%}" for policy, ratio in ratios.items() if ratio)
        return [f"of what sleeping nodes could save, given each policy's starts: {shares}"] if shares else []

    def _alike_lines(self) -> list[str]:
        placements = {str(outcome.parts["placement"]) for outcome in self._outcomes}
        is_moot = self._is_alike and len(placements) > 1
        return ["nodes are alike: which of them a job gets changes no energy"] * is_moot

    def _window_lines(self) -> list[str]:
        makespans_s = {policy: summary.get("makespan_s") or 0.0 for policy, summary in self.summaries.items()}
        if not windows_differ(list(makespans_s.values())):
            return []
        texts = METRICS["makespan_s"].texts(list(makespans_s.values()))
        each = ", ".join(f"{policy} {text}" for policy, text in zip(makespans_s, texts, strict=True))
        unit = METRICS["makespan_s"].unit_for(list(makespans_s.values())).name
        return [f"makespans ({unit}) differ, and energy holds that of idle nodes up to each run's last end: {each}"]

    def write(self, folder: str | os.PathLike[str]) -> str:
        """Write the table as ``comparison.csv``; gives its name."""
        path = Path(folder) / COMPARISON
        write_whole(path, self.table.write_csv().encode())
        return str(path)

    def _page(self, *, title: str = "", assumed: Sequence[str] = (), command: str = "") -> RunsPage:
        """The page of it, from what was kept of the runs, or from runs made again."""
        first: dict[str, RunShown] = {}
        for run in [outcome.shown for outcome in self._outcomes if outcome.shown is not None] or self._again():
            first.setdefault(run.policy, run)
        own = [first.pop(self.baseline), *first.values()]
        return RunsPage(own, self.table, self.notes, self.attained, assumed, command, title, self.shares)

    def to_dict(self) -> dict[str, Any]:
        """A dictionary that JSON can hold: ``summary`` is the mean of each policy's runs, ``runs`` has each in full."""
        return {
            "summary": self.summaries,
            "baseline": self.baseline,
            "comparison": self.table.to_dicts(),
            **({"attained": self.attained} if self.attained else {}),
            **({} if self.shares.is_empty() else {"shares": self.shares.to_dicts()}),
            "runs": [
                {
                    "policy": outcome.policy,
                    "seed": outcome.seed,
                    "summary": outcome.summary,
                    "provenance": outcome.provenance,
                    "timing": outcome.timing,
                }
                for outcome in self._outcomes
            ],
        }

    @cached_property
    def summaries(self) -> dict[str, dict[str, float | None]]:
        """Each policy's summary, averaged over its runs."""
        runs: dict[str, list[dict[str, Any]]] = {}
        for outcome in self._outcomes:
            runs.setdefault(outcome.policy, []).append(outcome.summary)
        return {policy: _mean_summary(summaries) for policy, summaries in runs.items()}


_LONGEST_NAME = 100
"""Bytes of a policy's name in a file's, which may have 255 with all that is put before and behind it."""


def file_names(policies: Iterable[str]) -> dict[str, str]:
    """Names of files or folders for policies, by the policies' names, which are unique: easy-placement-lowest-power.

    They name nothing outside the folder they are in, no hidden file, and none of a comparison's own. Names too long for
    a file are cut. Those, and a name that another has already, end in a digest of the policy's.
    """
    found: dict[str, str] = {}
    for policy in policies:
        name = _file_name(policy)
        found[policy] = f"{name}-{json_sha256(policy)[:8]}" if name in found.values() else name
    return found


def _file_name(policy: str) -> str:
    name = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in policy)
    visible = name.lstrip(".")
    name = "-" * (len(name) - len(visible)) + visible
    if name == COMPARISON:
        name += "-"
    text = name.encode("utf-8", "replace")
    if len(text) <= _LONGEST_NAME:
        return name
    return f"{text[:_LONGEST_NAME].decode('utf-8', 'ignore')}-{json_sha256(policy)[:8]}"


def _is_cut(summary: Mapping[str, float | None]) -> bool:
    return bool(summary["running"] or summary["pending"])


def _mean_summary(summaries: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """The mean of each metric that is known; of one run its numbers as they are."""
    if len(summaries) == 1:
        return dict(summaries[0])
    columns = columns_of(summaries)
    known = {name: [value for value in values if value is not None] for name, values in columns.items()}
    return {name: sum(values) / len(values) if values else None for name, values in known.items()}


def windows_differ(makespans_s: Sequence[float]) -> bool:
    """True if the longest is more than 1 % longer than the shortest."""
    return max(makespans_s) > (1 + _SAME_WINDOW_RATIO) * min(makespans_s)
