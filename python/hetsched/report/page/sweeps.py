"""The page of a sweep: policies against one of them, by workload and platform."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from hetsched.analysis import METRICS, ratios_to_baseline
from hetsched.checks import Faults, did_you_mean, listed, many
from hetsched.files import json_sha256
from hetsched.report.page import charts
from hetsched.report.page.charts import Curve
from hetsched.report.page.document import (
    Block,
    Chart,
    Choice,
    Grid,
    Lines,
    Number,
    Page,
    Section,
    Words,
)
from hetsched.report.page.origin import NOT_MODELLED, settings, versions
from hetsched.report.page.policies import table_of_policies
from hetsched.run.metrics import DEFAULT_METRICS

_AXES = ("workload", "platform")
_SAID = {"workload": "Workloads", "platform": "Platforms", "policy": "Policies"}
_ENERGY, _WAIT = "energy_j", "mean_wait_s"
_GROUP, _TABLES = "axis", "cells"
_MOST_ROWS, _MOST_TABLES = 200, 60


def page_of_sweep(
    runs: pl.DataFrame,
    *,
    baseline: str | None = None,
    metrics: Sequence[str] | None = None,
    title: str = "",
    assumed: Sequence[str] = (),
    command: str = "",
) -> Page:
    """The page of a sweep; raises as `hetsched.report.sweeps.write_page`."""
    own = _Sweep(runs, *_checked(runs, baseline, metrics))
    sections = [
        Section("cells", "Policies on each workload and platform", list(own.tables())),
        Section("axes", "Over workloads and platforms", list(own.pictures())),
        Section("left-out", "What is not modelled", [Lines(NOT_MODELLED)]),
        Section("repeat", "To repeat it", list(own.repeat(command))),
    ]
    return Page(
        title=title or f"A sweep of {many(len(runs), 'run')}",
        facts=[*((said, _few(own.names(name))) for name, said in _SAID.items()), own.seeds],
        assumptions=[*assumed, *own.remarks()],
        answer=list(own.answer()),
        numbers=list(own.numbers()),
        sections=[section for section in sections if section.blocks],
    )


def _few(names: Sequence[str], most: int = 4) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")


def _checked(runs: pl.DataFrame, baseline: str | None, metrics: Sequence[str] | None) -> tuple[str, tuple[str, ...]]:
    """The baseline and the metrics, if they and the frame are right."""
    faults = Faults()
    columns = getattr(runs, "columns", [])
    missing = [name for name in (*_AXES, "policy", "seed") if name not in columns]
    if missing or not len(runs):
        found = f"no column {listed(missing)}" if missing else "no rows"
        faults.note("runs", found, "the frame of a sweep, as hetsched.sweep gives it")
    faults.check()
    policies = runs["policy"].unique(maintain_order=True).to_list()
    if baseline is not None and baseline not in policies:
        faults.add("baseline", baseline, f"one of {listed(policies)}{did_you_mean(str(baseline), policies)}")
    known = [name for name in columns if name in METRICS]
    chosen = tuple(name for name in DEFAULT_METRICS if name in known) if metrics is None else metrics
    for name in chosen:
        if name not in known:
            faults.add("metrics", name, f"a column of the frame that is a metric{did_you_mean(str(name), known)}")
    faults.check()
    return baseline or policies[0], tuple(dict.fromkeys(chosen))


@dataclass(frozen=True)
class _Sweep:
    """A sweep in the words of its page."""

    runs: pl.DataFrame
    baseline: str
    metrics: tuple[str, ...]

    def names(self, column: str) -> list[str]:
        """Values of a column, in the order of the sweep."""
        return [str(name) for name in self.runs[column].unique(maintain_order=True)]

    @property
    def seeds(self) -> tuple[str, str]:
        return "Seeds", _few([str(seed) for seed in self.runs["seed"].unique(maintain_order=True)])

    @cached_property
    def cells(self) -> dict[str, pl.DataFrame]:
        """Tables of policies, by the workload and platform that they were run on."""
        groups = self.runs.group_by(_AXES, maintain_order=True)
        return {
            _cell(workload, platform): ratios_to_baseline(own, baseline=self.baseline, metrics=self.metrics)
            for (workload, platform), own in groups
        }

    @property
    def others(self) -> list[str]:
        return [name for name in self.names("policy") if name != self.baseline]

    @cached_property
    def ratios(self) -> dict[str, list[float]]:
        """Each policy's ratios in the first metric, a number a cell."""
        return {policy: self._ratios(policy, self.first) for policy in self.others}

    @property
    def first(self) -> str:
        """The metric that the answer speaks of."""
        return _ENERGY if _ENERGY in self.metrics else self.metrics[0]

    @property
    def second(self) -> str | None:
        """The metric that it may cost."""
        rest = [name for name in self.metrics if name != self.first]
        return _WAIT if _WAIT in rest else next(iter(rest), None)

    def _ratios(self, policy: str, metric: str) -> list[float]:
        own = [cell.filter(policy=policy, metric=metric)["ratio"] for cell in self.cells.values()]
        return [float(one[0]) for one in own if len(one) and one[0] is not None]

    @cached_property
    def best(self) -> str | None:
        """The policy with the best mean ratio in the first metric; None without another than the baseline."""
        sign = -1.0 if METRICS[self.first].better == "higher" else 1.0
        means = {policy: sign * sum(own) / len(own) for policy, own in self.ratios.items() if own}
        return min(means, key=lambda policy: means[policy]) if means else None

    def answer(self) -> Iterator[str]:
        """The policy that does best over all cells, and how sure that is."""
        where = f"{many(len(self.cells), 'pair')} of workload and platform"
        name, best = METRICS[self.first].title, self.best
        if best is None:
            yield f"{self.baseline} was run on {where}."
            yield f"There is no other policy to hold against it: {many(len(self.runs), 'run')} in all."
            return
        own, better = self.ratios[best], METRICS[self.first].better
        most = "highest" if better == "higher" else "lowest"
        yield f"Over {where}, {best} has the {most} {name}: on average {_against(own)} that of {self.baseline}."
        count = sum(one > 1 if better == "higher" else one < 1 for one in own)
        price = (
            ""
            if self.second is None or not (cost := self._ratios(best, self.second))
            else (f", and its {METRICS[self.second].title} is on average {_against(cost)} that of {self.baseline}")
        )
        yield f"It is better on {count:,} of them{price}."

    def numbers(self) -> Iterator[Number]:
        """The best policy's ratios in two metrics, and the number of runs; of one policy its own means."""
        for metric in (self.first, self.second):
            if metric is not None:
                yield self._number(metric)
        if self.second is None:
            yield Number("pairs of workload and platform", f"{len(self.cells):,}", "with a run of every policy")
        workloads, platforms = (len(self.names(name)) for name in _AXES)
        policies = f"{1 + len(self.others):,} {'policies' if self.others else 'policy'}"
        detail = f"{many(workloads, 'workload')}, {many(platforms, 'platform')}, {policies}"
        yield Number("runs", f"{len(self.runs):,}", detail)

    def _number(self, metric: str) -> Number:
        title = METRICS[metric].title
        if self.best is None:
            return Number(
                title, METRICS[metric].text(float(self.runs[metric].to_numpy().mean())), f"mean under {self.baseline}"
            )
        own = self._ratios(self.best, metric)
        if not own:
            return Number(title, "–", f"no ratio to {self.baseline}, under which it is 0")
        detail = f"{self.best}, of {self.baseline}'s; {min(own):.3f} to {max(own):.3f}"
        return Number(title, f"×{sum(own) / len(own):.3f}", detail)

    def remarks(self) -> Iterator[str]:
        """Remarks that come before the numbers."""
        yield "Every run begins with an empty machine; seeds pair the runs of a workload and platform."
        for state in ("pending", "rejected", "timeout"):
            if state in self.runs.columns and (count := int(self.runs[state].sum())):
                yield f"{METRICS[state].title}: {count:,} jobs over all runs."

    def tables(self) -> Iterator[Block]:
        """A table of all ratios in the first metric, and one a pair of workload and platform."""
        if len(self.cells) > 1 and self.others:
            rows = [
                [name, *(_ratio(table, policy, self.first) for policy in self.others)]
                for name, table in list(self.cells.items())[:_MOST_ROWS]
            ]
            label = f"{METRICS[self.first].title.capitalize()}: ratios to {self.baseline}"
            left = len(self.cells) - len(rows)
            note = f"and {left:,} more pairs" if left else ""
            yield Grid(label, ["workload, platform", *self.others], rows, note=note)
        shown = list(self.cells.items())[:_MOST_TABLES]
        group = _TABLES if len(shown) > 1 else ""
        if group:
            yield Choice("Workload, platform", group, [name for name, _ in shown])
        for name, table in shown:
            grid = table_of_policies(table, self.baseline)
            yield replace(grid, label=f"{name}: {grid.label}", group=group, member=name if group else "")
        if len(self.cells) > _MOST_TABLES:
            yield Words(f"Tables of the first {_MOST_TABLES} pairs; the frame has all {len(self.cells):,}.")

    def pictures(self) -> Iterator[Block]:
        """A chart a metric over the axis that varies; of the other axis the reader chooses a value."""
        along, other = sorted(_AXES, key=lambda name: -len(self.names(name)))
        if len(self.names(along)) < 2:
            return
        others = self.names(other)
        group = _GROUP if len(others) > 1 else ""
        if group:
            yield Choice(other.capitalize(), group, others)
        for value in others:
            own = self.runs.filter(pl.col(other).cast(pl.String) == value)
            table = ratios_to_baseline(own, baseline=self.baseline, metrics=self.metrics, by=along)
            for metric in (self.first, self.second):
                if metric is not None:
                    yield self._picture(table.filter(metric=metric), along, value, group)

    def _picture(self, table: pl.DataFrame, along: str, value: str, group: str) -> Chart:
        metric = METRICS[table["metric"][0]]
        names = self.names(along)
        key, numbers = _numbered(names)
        is_number = bool(numbers)
        at = dict(zip(names, numbers or range(len(names)), strict=True))
        unit = metric.unit_for(table["mean"].to_list())
        rows = table.with_columns(
            x=pl.col(along).cast(pl.String).replace_strict(at, return_dtype=pl.Float64),
            y=pl.col("mean") / unit.scale,
            half=pl.col("half_width_95") / unit.scale,
        ).sort("x")
        curves = [
            Curve(
                policy,
                own["x"].to_numpy(),
                own["y"].to_numpy(),
                place,
                halves=own["half"].to_list(),
                is_joined=is_number,
            )
            for place, policy in enumerate(self.names("policy"))
            for own in [rows.filter(policy=policy)]
        ]
        ticks = [] if is_number else [(float(place), name) for place, name in enumerate(names)]
        y_title = f"{metric.title}{f' ({unit.name})' if unit.name else ''}"
        figure = charts.curves(curves, x_title=key or along, y_title=y_title, ticks=ticks)
        label = f"{metric.title.capitalize()} by {along}{f', {value}' if group else ''}"
        return Chart(label, f"{label}, a curve a policy", figure, 320, group=group, member=value if group else "")

    def repeat(self, command: str) -> Iterator[Block]:
        yield versions(command, ["frame", f"sha256 {json_sha256(self.runs.to_dicts())}"])
        values = {name: self.runs[name].unique(maintain_order=True).to_list() for name in (*_AXES, "policy", "seed")}
        yield settings({**values, "baseline": self.baseline, "metrics": list(self.metrics)})


def _cell(workload: object, platform: object) -> str:
    return f"{workload}, {platform}"


def _against(ratios: Sequence[float]) -> str:
    return f"{sum(ratios) / len(ratios):.3f} times"


def _ratio(table: pl.DataFrame, policy: str, metric: str) -> str:
    own = table.filter(policy=policy, metric=metric)
    if not len(own) or own["ratio"][0] is None:
        return "–"
    half = own["ratio_half_width_95"][0]
    return f"{own['ratio'][0]:.3f}" + ("" if half is None else f" ± {half:.3f}")


def _numbered(names: Sequence[str]) -> tuple[str, list[float]]:
    """The key and the numbers of names such as 0.6 or load=0.6; none of names of other kinds or of several keys."""
    keys = {key if equals else "" for key, equals, _ in (name.rpartition("=") for name in names)}
    try:
        numbers = [float(name.rpartition("=")[2]) for name in names]
    except ValueError:
        numbers = []
    return (keys.pop(), numbers) if numbers and len(keys) == 1 and np.isfinite(numbers).all() else ("", [])
