"""Pictures of a command's runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hetsched.cli.options import is_picture

if TYPE_CHECKING:
    import polars as pl

    import hetsched as hs
    from hetsched.cli.sweep_file import Axis
    from hetsched.many.outcome import Outcome


Picture = Any
"""A matplotlib figure."""


def draw_run(plot: str, outcome: Outcome, title: str) -> list[str]:
    """Draw a run: all in one picture, or in a folder a picture each; the names of the files written."""
    if is_picture(plot):
        return _save([(plot, _overview(outcome, title))])
    return _save((str(Path(plot) / name), figure) for name, figure in _of_run(outcome, title))


def _of_run(outcome: Outcome, title: str) -> Iterator[tuple[str, Picture]]:
    from hetsched.report import figures

    dates = {"unix_zero_s": outcome.unix_zero_s}
    yield "power.png", figures.power(outcome.bins, title=title, budget_w=outcome.budget_w, **dates)
    yield "occupancy.png", figures.occupancy(outcome.bins, nodes=outcome.nodes, title=title, **dates)
    yield "waits.png", figures.waits({outcome.policy: outcome.curve})
    yield from ((f"{name}.png", figure) for name, figure in _details(outcome, title))


def _details(outcome: Outcome, title: str) -> Iterator[tuple[str, Picture]]:
    """Pictures that only some runs have."""
    for pictures in (_chart, _in_time, _of_nodes):
        yield from pictures(outcome, title)


def _chart(outcome: Outcome, title: str) -> Iterator[tuple[str, Picture]]:
    """Jobs one by one, where they can be distinguished."""
    from hetsched.report import figures

    if outcome.jobs is not None and figures.gantt_can_be_read(outcome.jobs, nodes=outcome.nodes):
        yield "gantt", figures.gantt(outcome.jobs, nodes=outcome.nodes, title=title, unix_zero_s=outcome.unix_zero_s)


def _of_nodes(outcome: Outcome, title: str) -> Iterator[tuple[str, Picture]]:
    """A map of the nodes, and pictures of nodes that sleep or fail and of queues, where there are such."""
    from hetsched.report import node_states

    own, dates = outcome.machine, {"unix_zero_s": outcome.unix_zero_s}
    if own is not None:
        yield "nodes", node_states.states_over_time(own.timeline, title=title, **dates)
    if own is not None and own.busy is not None:
        yield "node-map", node_states.node_use(own.busy, nodes=outcome.nodes, window=own.window, title=title, **dates)
    if own is not None and own.states is not None:
        yield "node-map", node_states.node_map(own.states, nodes=outcome.nodes, title=title, **dates)
    if own is not None and own.waits is not None:
        yield "queue-waits", node_states.queue_waits(own.waits, title=title)


def _in_time(outcome: Outcome, title: str) -> Iterator[tuple[str, Picture]]:
    """Pictures of what a budget in time and caps did to a run; none of other runs."""
    from hetsched.report import budgets

    power, dates = outcome.power, {"unix_zero_s": outcome.unix_zero_s}
    if power is not None and power.timeline is not None:
        fixed_w = outcome.summary["budget_w"]
        yield "budget", budgets.power_and_budget(power.timeline, power.events, title=title, budget_w=fixed_w, **dates)
    if power is not None and power.segments is not None:
        first_s = outcome.bins["start_s"][0] if len(outcome.bins) else 0.0
        yield "speeds", budgets.speeds(power.segments, nodes=outcome.nodes, first_s=first_s, title=title, **dates)


def _overview(outcome: Outcome, title: str) -> Picture:
    from hetsched.report import figures

    return figures.overview(
        outcome.bins,
        nodes=outcome.nodes,
        title=title,
        budget_w=outcome.budget_w,
        unix_zero_s=outcome.unix_zero_s,
    )


@dataclass(frozen=True)
class Log:
    """Properties of a log and its machine that pictures of a validation show."""

    nodes: int
    source: str
    unix_zero_s: float | None

    def title(self, policy: str) -> str:
        """The log and its machine, in words."""
        return f"{Path(self.source).name.partition('.')[0]}, {policy} on {self.nodes:,} nodes"


def draw_validation(plot: str, found: hs.Validation, log: Log) -> list[str]:
    """Draw what was observed over what was simulated: hours in one picture, or in a folder a picture each."""
    pictures = dict(_of_validation(found, log))
    if is_picture(plot):
        return _save([(plot, pictures.get("over-time.png", pictures["waits.png"]))])
    return _save((str(Path(plot) / name), figure) for name, figure in pictures.items())


def _of_validation(found: hs.Validation, log: Log) -> Iterator[tuple[str, Picture]]:
    from hetsched.report import observed

    given: dict[str, Any] = {"policy": found.policy, "title": log.title(found.policy)}
    yield "waits.png", observed.waits(found.jobs, policy=found.policy)
    yield "errors.png", observed.errors(found.histogram, **given)
    # Restarts have no hours.
    if len(found.series):
        zero_s = log.unix_zero_s
        yield "over-time.png", observed.over_time(found.series, nodes=log.nodes, unix_zero_s=zero_s, **given)


def draw_comparison(plot: str, table: pl.DataFrame, outcomes: Sequence[Outcome], *, baseline: str) -> list[str]:
    """Draw a comparison: ratios, energy against wait and waits, and in a folder also each policy's first run."""
    import polars as pl

    from hetsched.report import figures
    from hetsched.run.metrics import OF_COMPARISON

    first: dict[str, Outcome] = {}
    for outcome in outcomes:
        first.setdefault(outcome.policy, outcome)
    # Counts against the baseline, which has none, have no ratio to it.
    if len(own := table.filter(~pl.col("metric").is_in(OF_COMPARISON))):
        table = own
    # One dot has nothing to be compared with.
    runs = pl.DataFrame([_costs(outcome) for outcome in outcomes]) if len(first) > 1 else None
    if is_picture(plot):
        curves = {name: outcome.curve for name, outcome in first.items()}
        return _save([(plot, figures.comparison(table, curves, baseline=baseline, runs=runs))])
    return _save((str(Path(plot) / name), figure) for name, figure in _of_comparison(table, first, runs, baseline))


def _costs(outcome: Outcome) -> dict[str, Any]:
    return {name: outcome.row()[name] for name in ("policy", "mean_wait_s", "energy_j")}


def _of_comparison(
    table: pl.DataFrame, first: Mapping[str, Outcome], runs: pl.DataFrame | None, baseline: str
) -> Iterator[tuple[str, Picture]]:
    from hetsched.many.comparison import file_names
    from hetsched.report import figures

    if len(first) > 1:
        yield "ratios.png", figures.ratios(table, baseline=baseline)
    if runs is not None:
        yield "energy-wait.png", figures.energy_against_wait(runs)
    yield "waits.png", figures.waits({name: outcome.curve for name, outcome in first.items()})
    names = file_names(first)
    for name, outcome in first.items():
        yield f"overview-{names[name]}.png", _overview(outcome, outcome.title)
        yield from ((f"{kind}-{names[name]}.png", figure) for kind, figure in _details(outcome, outcome.title))


def draw_sweep(plot: str, table: pl.DataFrame, axes: Mapping[str, Axis], baseline: str) -> list[str]:
    """Draw a sweep: the first metric over an axis of it, or in a folder a picture a metric and machine or workload."""
    pictures = _of_sweep(table, axes, baseline)
    if is_picture(plot):
        return _save([(plot, next(pictures)[1])])
    return _save((str(Path(plot) / f"{name}.png"), figure) for name, figure in pictures)


def _of_sweep(table: pl.DataFrame, axes: Mapping[str, Axis], baseline: str) -> Iterator[tuple[str, Picture]]:
    """Curves over the axis that has several names, first of all one of numbers; without one, bars of ratios."""
    from hetsched.many.comparison import file_names
    from hetsched.report import figures
    from hetsched.report.over_axis import over_axis

    several = [name for name in axes if table[name].n_unique() > 1]
    if not several:
        yield "ratios", figures.ratios(table, baseline=baseline)
        return
    along = next((name for name in several if axes[name].at), several[0])
    (across,) = (name for name in axes if name != along)
    title = axes[along].title or along
    names = file_names(table[across].unique(maintain_order=True))
    for metric in table["metric"].unique(maintain_order=True):
        for value, own in table.partition_by(across, maintain_order=True, as_dict=True).items():
            name = metric if len(names) == 1 else f"{metric}-{names[str(value[0])]}"
            yield name, over_axis(own.rename({along: title}), metric, axis=title, at=axes[along].at)


def _save(pictures: Iterable[tuple[str, Picture]]) -> list[str]:
    from hetsched.report.canvas import save

    written = []
    for path, figure in pictures:
        save(figure, path)
        written.append(path)
    return written
