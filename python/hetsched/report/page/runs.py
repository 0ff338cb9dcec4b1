"""Pages of runs: several policies held against one of them, or one run alone."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

from hetsched.analysis import METRICS, placement_and_timing, ratios_to_baseline
from hetsched.checks import many
from hetsched.report.page import over_time, policies, words
from hetsched.report.page.document import RULE, Lines, Number, Page, Section
from hetsched.report.page.nodes import nodes
from hetsched.report.page.origin import Origin
from hetsched.report.page.shown import BINS, RunShown, Shown
from hetsched.report.page.waits import waits
from hetsched.reported import check_path
from hetsched.run.concerns import joined
from hetsched.run.result import Result


@dataclass(frozen=True)
class RunsPage:
    """Contents of a page of runs.

    Parameters
    ----------
    runs
        The first run of each policy, the baseline first.
    table
        As `hetsched.analysis.ratios_to_baseline` gives it; None: one run.
    notes
        What a reader should know of the runs.
    attained
        Each policy's share of what placement could have saved.
    assumed
        What was assumed of the machine, in sentences.
    command
        The command that made the runs; empty: none did.
    title
        The reader's own; empty: made of the log's name.
    shares
        As `hetsched.analysis.placement_and_timing` gives it; None or empty: no bounds given the starts.
    """

    runs: Sequence[RunShown]
    table: pl.DataFrame | None = None
    notes: Sequence[str] = ()
    attained: Mapping[str, float | None] = field(default_factory=dict)
    assumed: Sequence[str] = ()
    command: str = ""
    title: str = ""
    shares: pl.DataFrame | None = None

    def write(self, path: str | os.PathLike[str]) -> str:
        """Write the page; gives its name, and raises as `Page.write`."""
        check_path(path)
        return self.page().write(path)

    def page(self) -> Page:
        """The page."""
        return Page(
            title=self.title or self._own_title,
            facts=list(self._origin.facts()),
            assumptions=list(self._assumptions()),
            answer=list(self._answer() if self._shown.are_several else self._said()),
            numbers=list(self._numbers() if self._shown.are_several else self._own_numbers()),
            sections=[section for section in self._sections() if section.blocks],
            rule=RULE.format(bins=BINS),
        )

    @cached_property
    def _shown(self) -> Shown:
        return Shown(self.runs)

    @property
    def _origin(self) -> Origin:
        base = self._shown.base
        return Origin(base.provenance, int(base.summary["jobs"]), base.window)

    @property
    def _policies(self) -> list[Mapping[str, Any]]:
        return [run.provenance["policy"] for run in self.runs]

    @property
    def _own_title(self) -> str:
        name = self._shown.base.provenance["trace"]["name"]
        return (
            f"{name}: {len(self.runs)} policies" if self._shown.are_several else f"{name} under {self.runs[0].policy}"
        )

    @property
    def _shares(self) -> pl.DataFrame | None:
        """Shares of the bound given the starts; those of one run are its own."""
        if self.shares is not None or self._shown.are_several:
            return self.shares
        base = self._shown.base
        return placement_and_timing({base.policy: base.summary}, baseline=base.policy)

    def _assumptions(self) -> Iterator[str]:
        yield from self.assumed
        yield from self._origin.assumptions(self._policies)
        for concern in joined({run.policy: run.concerns for run in self.runs}):
            yield str(concern)
        yield from self.notes

    def _said(self) -> Iterator[str]:
        """The answer of one run."""
        run = self._shown.base
        keys = ("energy_j", "utilization_ratio", "mean_wait_s", "p95_wait_s")
        energy, used, wait, longest = (words.metric(key, run.summary[key]) for key in keys)
        yield f"Under {run.policy} the nodes used {energy} and were at work {used} of the time."
        yield f"Jobs waited {wait} on average, one in twenty over {longest}."

    def _own_numbers(self) -> Iterator[Number]:
        for key in ("energy_j", "mean_wait_s", "utilization_ratio"):
            yield Number(METRICS[key].title, words.metric(key, self._shown.base.summary[key]))

    def _answer(self) -> Iterator[str]:
        """The answer of several."""
        base, best = self._shown.base, self._shown.best
        among = f"Of {len(self.runs) - 1} policies held against {base.policy}, " if len(self.runs) > 2 else ""
        amount = words.metric("energy_j", abs(self._saved_j))
        yield f"{among}{best.policy} uses {amount} ({self._share()}) {self._less} energy{self._money()}."
        if not self._shown.did_same_work(best):
            yield "The two did not do the same work: the difference in energy is no saving. See what did not complete."
            return
        longer = best.summary["mean_wait_s"] - base.summary["mean_wait_s"]
        change = f"{words.length(abs(longer))} {'longer' if longer > 0 else 'less'} on average"
        worse = int(self._shown.worse.sum())
        share = words.share(worse / max(len(self._shown.worse), 1))
        yield (
            f"Jobs wait {'as long as' if abs(longer) < 1 else f'{change} than'} under {base.policy}; "
            f"{many(worse, 'job')} ({share}) {'waits' if worse == 1 else 'wait'} over an hour longer."
        )

    @property
    def _saved_j(self) -> float:
        return float(self._shown.base.summary["energy_j"] - self._shown.best.summary["energy_j"])

    def _share(self) -> str:
        whole_j = float(self._shown.base.summary["energy_j"])
        return words.share(abs(self._saved_j) / whole_j if whole_j else 0.0)

    @property
    def _less(self) -> str:
        return "less" if self._saved_j >= 0 else "more"

    def _money(self) -> str:
        base, best = (run.summary.get("cost") for run in (self._shown.base, self._shown.best))
        if base is None or best is None or base == best == 0:
            return ""
        amount = METRICS["cost"].in_currency(self._currency).text(abs(base - best))
        return f", and costs {amount} {'less' if base >= best else 'more'}"

    @property
    def _currency(self) -> str | None:
        found: str | None = self._shown.base.provenance.get("currency")
        return found

    def _numbers(self) -> Iterator[Number]:
        base, best = self._shown.base, self._shown.best
        saved = "energy saved" if self._saved_j >= 0 else "energy added"
        yield Number(
            saved,
            words.metric("energy_j", abs(self._saved_j)),
            f"{self._share()} {self._less} than {base.policy}{self._money()}",
        )
        mean, p95 = (
            [words.metric(key, run.summary[key]) for run in (base, best)] for key in ("mean_wait_s", "p95_wait_s")
        )
        yield Number("mean wait", f"{mean[0]} → {mean[1]}", f"95th percentile {p95[0]} → {p95[1]}")
        worse = self._shown.worse
        yield Number(
            "jobs that wait over an hour longer", f"{worse.sum():,}", f"of {len(worse):,} that start under both"
        )

    def _sections(self) -> Iterator[Section]:
        shown = self._shown
        if self.table is not None:
            table = policies.table_of_policies(self.table, shown.base.policy, self._currency)
            yield Section("policies", "Policies", [table, policies.energy_against_wait(shown, self.table)])
        yield Section("power", "Power over time", list(over_time.power(shown)))
        yield Section("use", "Utilization and queue", list(over_time.use(shown)))
        yield Section("waits", "Who waits", list(waits(shown)))
        yield Section("nodes", "Nodes", list(nodes(shown)))
        yield Section("events", "Sleep, caps and other events", list(over_time.events(shown)))
        yield Section(
            "saved", "What could have been saved", list(policies.attained(shown, self.attained, self._shares))
        )
        yield Section("left-out", "What is not modelled", [Lines(list(self._not_modelled()))])
        repeat = [self._origin.versions(self.command), self._origin.settings(self._policies)]
        yield Section("repeat", "To repeat it", repeat)

    def _not_modelled(self) -> Iterator[str]:
        yield from self._origin.not_modelled()
        if not any((run.events["kind"] == "failed").any() for run in self.runs):
            yield "No node fails."


def page_of(result: Result, *, title: str = "", assumed: Sequence[str] = (), command: str = "") -> RunsPage:
    """The page of one run."""
    return RunsPage([RunShown.of(result)], assumed=assumed, command=command, title=title)


def page_of_results(
    results: Sequence[Result], *, baseline: str | None = None, command: str = "", title: str = ""
) -> RunsPage:
    """The page of several results, the first of each policy in charts; `baseline`: None, the policy of the first.

    Raises
    ------
    ConfigError
        If they are of workloads or platforms of different load.
    """
    first: dict[str, RunShown] = {}
    for result in results:
        if result.provenance["policy"]["name"] not in first:
            first[result.provenance["policy"]["name"]] = RunShown.of(result)
    base = baseline or next(iter(first))
    own = [first.pop(base), *first.values()]
    table = ratios_to_baseline(results, baseline=base) if len(results) > 1 else None
    return RunsPage(own, table, command=command, title=title)
