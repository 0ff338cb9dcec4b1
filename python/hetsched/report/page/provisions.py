"""The page of how many nodes a power budget feeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import polars as pl

from hetsched.report import provisions
from hetsched.report.page import charts, words
from hetsched.report.page.charts import Curve
from hetsched.report.page.document import Block, Chart, Lines, Number, Page, Section
from hetsched.report.page.origin import Origin, settings, versions
from hetsched.report.provisions import METRICS

_READINGS = {"guideline": "by the guideline", "steady": "in the steady state"}
_BEST = "throughput_jobs_per_hour"
_PANELS = {
    "Throughput": (_BEST,),
    "Turnaround": ("mean_turnaround_s",),
    "Use of nodes and budget": ("utilization_ratio", "power_utilization_ratio", "drawn_ratio"),
    "Wasted energy": ("idle_energy_j",),
}


class Provisioned(provisions.Tried, Protocol):
    """Parts of an answer that its page shows."""

    @property
    def mix(self) -> Mapping[float, float]:
        """Shares of jobs by cap."""

    @property
    def sockets(self) -> int:
        """CPUs a node."""

    @property
    def notes(self) -> list[str]:
        """Both readings in full, and remarks."""

    @property
    def provenance(self) -> Mapping[str, Any] | None:
        """Record of the first run of a trial."""


def page_of_provision(found: Provisioned, *, title: str = "", assumed: Sequence[str] = (), command: str = "") -> Page:
    """The page of a budget and the nodes that it feeds."""
    origin = None if found.provenance is None else Origin(found.provenance)
    budget = words.metric("peak_power_w", found.budget_w)
    sections = [
        Section("tables", "Numbers of nodes", [*provisions.tables(found), *_pictures(found)]),
        Section("readings", "Both readings in full", [Lines(found.notes)]),
        Section("left-out", "What is not modelled", [Lines(list(origin.not_modelled()))] if origin is not None else []),
        Section("repeat", "To repeat it", list(_repeat(found, origin, command))),
    ]
    return Page(
        title=title or f"How many nodes {budget} can feed",
        facts=list(_facts(found, origin)),
        assumptions=[*assumed, *_assumptions(found)],
        answer=list(_answer(found)),
        numbers=list(_numbers(found)),
        sections=[section for section in sections if section.blocks],
    )


def _facts(found: Provisioned, origin: Origin | None) -> Iterator[tuple[str, str]]:
    if origin is not None:
        yield "Log", origin.log
    yield "Budget", words.metric("peak_power_w", found.budget_w)
    yield "A CPU without a job", f"{words.watts(found.base_w)}, {found.sockets} a node"
    yield "Caps and their shares of the jobs", ", ".join(f"{cap:g} W: {share:g}" for cap, share in found.mix.items())


def _assumptions(found: Provisioned) -> Iterator[str]:
    yield "Jobs run under caps drawn by the mix, whatever they run; speed goes with the watts above an idle CPU."
    if found.table is None:
        yield "No log was run: both readings are arithmetic on full machines."
    else:
        yield "The log's submits stay as they are, however many nodes there are."


def _best_trial(found: Provisioned) -> tuple[int, float, float | None] | None:
    """The number of nodes with the highest throughput, that, and half the width of its interval."""
    if found.table is None:
        return None
    own = found.table.filter(metric=_BEST).sort("mean", "nodes", descending=[True, False]).row(0, named=True)
    return own["nodes"], own["mean"], own["half_width_95"]


def _answer(found: Provisioned) -> Iterator[str]:
    budget, best = words.metric("peak_power_w", found.budget_w), found.best_cpus
    each = " and ".join(f"{_nodes(found, name)} nodes {said}" for name, said in _READINGS.items())
    trial = _best_trial(found)
    if trial is None:
        yield f"{budget} feed {each}, if all their CPUs are to run at once."
        yield f"That is {int(best['guideline']):,} and {int(best['steady']):,} CPUs, {found.sockets} a node."
        return
    nodes, mean, half = trial
    interval = "" if half is None else f" ± {METRICS[_BEST].texts([half], like=[mean])[0]}"
    most = f"{METRICS[_BEST].text(mean)}{interval}"
    yield f"Tried under {budget}, {nodes:,} nodes are the fewest of which no other number ends more jobs: {most}."
    yield f"The budget feeds {each}, if all their CPUs are to run at once."


def _nodes(found: Provisioned, reading: str) -> str:
    return f"{int(found.best_cpus[reading] / found.sockets):,}"


def _numbers(found: Provisioned) -> Iterator[Number]:
    trial = _best_trial(found)
    if trial is not None:
        nodes, mean, _ = trial
        yield Number("nodes, by trial", f"{nodes:,}", f"fewest with most throughput, {METRICS[_BEST].text(mean)}")
    for name, said in _READINGS.items():
        yield Number(f"nodes, {said}", _nodes(found, name), f"{int(found.best_cpus[name]):,} CPUs, all of them at work")
    if trial is None:
        mean_w = sum(cap * share for cap, share in found.mix.items()) / sum(found.mix.values())
        yield Number("mean cap of a job", words.watts(round(mean_w, 3)), "by the shares of the mix")


def _pictures(found: Provisioned) -> Iterator[Block]:
    """A chart a measure over numbers of nodes, with intervals over seeds, and where each reading is at its best."""
    if found.table is None:
        if len(found.guideline) > 1:
            yield _of_guideline(found.guideline)
        return
    is_repeated = found.table["half_width_95"].is_not_null().any()
    for label, keys in _PANELS.items():
        own = found.table.filter(pl.col("metric").is_in(keys))
        unit = METRICS[keys[0]].unit_for(own["mean"].to_list())
        curves = [
            _curve(own.filter(metric=key).sort("nodes"), key, unit.scale, place) for place, key in enumerate(keys)
        ]
        figure = charts.curves(curves, x_title="nodes", y_title=f"{label.split(' ')[0].lower()} ({unit.name})")
        tried = own["nodes"]
        for place, (name, said) in enumerate(_READINGS.items(), start=3):
            nodes = found.best_cpus[name] / found.sockets
            if int(tried.min()) <= nodes <= int(tried.max()):  # type: ignore[arg-type]
                charts.level(figure, nodes, is_upright=True, name=f"best {said}", place=place)
        note = "Lines at the points: 95 % intervals over seeds." if is_repeated else ""
        yield Chart(label, f"{label} over numbers of nodes", figure, 280, note=note)


def _curve(own: pl.DataFrame, key: str, scale: float, place: int) -> Curve:
    halves = [None if half is None else half / scale for half in own["half_width_95"]]
    return Curve(METRICS[key].title, own["nodes"].to_numpy(), own["mean"].to_numpy() / scale, place, halves=halves)


def _of_guideline(guideline: pl.DataFrame) -> Chart:
    own = guideline.sort("nodes")
    names = {"effective_cpus": "by the guideline", "steady_effective_cpus": "in the steady state", "cpus": "installed"}
    curves = [
        Curve(name, own["nodes"].to_numpy(), own[column].to_numpy(), place, halves=[None] * len(own))
        for place, (column, name) in zip((0, 1, 6), names.items(), strict=True)
    ]
    figure = charts.curves(curves, x_title="nodes", y_title="CPUs at work")
    return Chart("CPUs that run", "CPUs that run over numbers of nodes, by both readings", figure, 280)


def _repeat(found: Provisioned, origin: Origin | None, command: str) -> Iterator[Block]:
    yield versions(command) if origin is None else origin.versions(command)
    mix = {f"{cap:g}": share for cap, share in found.mix.items()}
    asked = {"budget_w": found.budget_w, "base_w": found.base_w, "sockets": found.sockets, "mix": mix}
    yield settings({**asked, "nodes": found.guideline["nodes"].to_list()})
