"""The page of a validation: how far a simulation is from its log."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import polars as pl

from hetsched.analysis import waiting_curve
from hetsched.report import validations
from hetsched.report.page import charts, words
from hetsched.report.page.charts import Bars, Curve, Line, TimeAxis
from hetsched.report.page.document import RULE, Block, Chart, Lines, Number, Page, Section, Words
from hetsched.report.page.origin import Origin
from hetsched.report.page.waits import longer_than

_RIVALS = {
    "null_log_error": "every job at once",
    "naive_log_error": "the mean wait of the week before",
    "naive_median_log_error": "the median wait of the week before",
}
_STEPS = 700
"""Most steps of a line over an area; more are thinner than the dots of a screen, and hide it."""
_OBSERVED, _SIMULATED = 5, 1
"""Places of the colours of both."""


class Validated(validations.Answer, Protocol):
    """Parts of a validation that its page shows."""

    @property
    def policy(self) -> str:
        """Name of the policy."""

    @property
    def provenance(self) -> Mapping[str, Any]:
        """Record of the run."""

    @property
    def jobs(self) -> pl.DataFrame:
        """The jobs that count."""

    @property
    def series(self) -> pl.DataFrame:
        """Hourly means."""

    @property
    def power(self) -> pl.DataFrame | None:
        """Hourly power; None: nothing was measured."""

    @property
    def histogram(self) -> pl.DataFrame:
        """Jobs by how much later they started in reality."""


def page_of_validation(found: Validated, *, title: str = "", assumed: Sequence[str] = (), command: str = "") -> Page:
    """The page of a validation."""
    origin = Origin(found.provenance, window=_window(found))
    policies = [found.provenance["policy"]]
    sections = [
        Section("rivals", "Against what simulates nothing", list(_tables(found))),
        Section("waits", "Waits", list(_waits(found))),
        Section("time", "Over time, observed and simulated", list(_over_time(found, origin))),
        Section("groups", "By queue, size and user", list(validations.groups(found))),
        Section("left-out", "What is not modelled", [Lines(list(origin.not_modelled()))]),
        Section("repeat", "To repeat it", [origin.versions(command), origin.settings(policies)]),
    ]
    return Page(
        title=title or f"{origin.log}: how near {found.policy} is to what happened",
        facts=[*origin.facts(), ("Policy", found.policy)],
        assumptions=[*assumed, *origin.assumptions(policies), validations.counted(found.scores), *found.notes],
        answer=list(_answer(found.scores, found.policy)),
        numbers=list(_numbers(found.scores)),
        sections=[section for section in sections if section.blocks],
        rule=RULE.format(bins=_STEPS),
    )


def _window(found: Validated) -> tuple[float, float]:
    starts, ends = found.jobs["submit_s"], found.jobs["observed_end_s"]
    return float(starts[0]), float(ends.max())  # type: ignore[arg-type]


def _answer(scores: Mapping[str, Any], policy: str) -> Iterator[str]:
    name, factor = _best_rival(scores)
    than = "better than" if scores["log_error"] < scores[name] else "no better than"
    yield (
        f"Under {policy}, simulated waits are off by a factor of {_factor(scores['log_error'])} on average: {than} the "
        f"best guess without a simulation, {_RIVALS[name]} ({factor})."
    )
    observed, simulated = _means(scores)
    near = scores["waited_within_10m"]
    starts = (
        "" if near is None else f"; of the jobs that waited, {100 * near:.0f} % start within 10 minutes of their time"
    )
    yield f"Jobs waited {observed} on average, and {simulated} in the simulation{starts}."


def _best_rival(scores: Mapping[str, Any]) -> tuple[str, str]:
    """The rival with the smallest error, and by what factor its waits are off."""
    name = min((name for name in _RIVALS if scores[name] is not None), key=lambda name: float(scores[name]))
    return name, _factor(scores[name])


def _factor(log_error: float) -> str:
    return f"{math.exp(log_error):,.2f}"


def _means(scores: Mapping[str, Any]) -> list[str]:
    return [words.metric("mean_wait_s", scores[f"mean_{side}_s"]) for side in ("observed", "simulated")]


def _numbers(scores: Mapping[str, Any]) -> Iterator[Number]:
    half = "" if scores["log_error_half"] is None else f" ± {scores['log_error_half']:.3f}"
    detail = f"of wait + 60 s; its logarithm: {scores['log_error']:.3f}{half}"
    yield Number("how far off a wait is", f"×{_factor(scores['log_error'])}", detail)
    name, factor = _best_rival(scores)
    skill, rival = scores["skill_best"], f"than that of {_RIVALS[name]}, ×{factor}"
    if skill is None:
        yield Number("error against the best rival", "–", "every wait is known in advance")
    else:
        yield Number(
            "error against the best rival", f"{100 * abs(skill):.0f} % {'smaller' if skill >= 0 else 'larger'}", rival
        )
    observed, simulated = _means(scores)
    bias = float(scores["bias_s"])
    text = f"{'+' if bias > 0 else '−' if bias < 0 else ''}{words.length(abs(bias))}"  # noqa: RUF001 -- a minus
    yield Number("bias of the mean wait", text, f"observed {observed}, simulated {simulated}")


def _tables(found: Validated) -> Iterator[Block]:
    yield validations.rivals(found)
    if found.horizons is not None:
        yield validations.horizons(found.horizons)


def _waits(found: Validated) -> Iterator[Block]:
    """Waits in the log, in the simulation and of the best guess from the past, and how far jobs are off."""
    names = {"observed_s": "observed", "simulated_s": found.policy, "naive_median_s": "median of the week before"}
    places = {"observed_s": 0, "simulated_s": 1, "naive_median_s": 2}
    own = [
        Curve(name, curve["wait_s"].clip(1.0), 100 * curve["longer_ratio"], places[column], is_step=True)
        for column, name in names.items()
        if len(curve := waiting_curve(found.jobs[column]))
    ]
    yield longer_than(own)
    errors = found.histogram
    series = [Bars(found.policy, (100 * errors["ratio"]).to_list(), 1)]
    series.append(Bars("every job at once", (100 * errors["null_ratio"]).to_list(), 6))
    figure = charts.bars(errors["class"].to_list(), series, title="jobs (%)")
    note = "By how much later jobs really started than in the simulation; the middle is within half a second."
    yield Chart("How far off single jobs are", "Jobs by how much later they really started", figure, 420, note=note)


def _over_time(found: Validated, origin: Origin) -> Iterator[Block]:
    """Observed use, queue and power under what was simulated."""
    series = found.series
    if not len(series):
        yield Words("Runs that begin again from the observed state have no course over time.")
        return
    step_s = float(series["time_s"][1] - series["time_s"][0]) if len(series) > 1 else 3600.0
    window = float(series["time_s"][0]), float(series["time_s"][-1]) + step_s
    axis = TimeAxis(*window, Origin(found.provenance, window=window).unix_zero_s)
    share, nodes = 100 / origin.nodes, "nodes at work (%)"
    yield _both(axis, series, ("busy_observed", "busy_simulated"), nodes, label="Nodes at work", scale=share)
    yield _both(axis, series, ("queued_observed", "queued_simulated"), "jobs in the queue", label="Jobs that wait")
    if found.power is not None and len(found.power):
        names = ("observed_w", "simulated_w")
        most = max(float(found.power[name].max()) for name in names)  # type: ignore[arg-type]
        scale, unit = words.unit_of("peak_power_w", [most])
        yield _both(axis, found.power, names, f"power ({unit})", label="Draw of all nodes", scale=1 / scale)
    yield Lines(list(validations.over_time(found.scores)))


def _both(
    axis: TimeAxis, hours: pl.DataFrame, columns: tuple[str, str], title: str, *, label: str, scale: float = 1.0
) -> Chart:
    """A chart of what was observed, an area, and what was simulated, a line; of many hours the means of neighbours."""
    own = hours.select("time_s", *columns)
    group = pl.int_range(pl.len()).floordiv(-(-len(own) // _STEPS)).alias("group")
    own = own.group_by(group, maintain_order=True).agg(pl.col("time_s").first(), pl.col(*columns).mean())
    edges_s, values = own["time_s"].to_numpy(), [own[column].to_numpy() * scale for column in columns]
    figure = charts.areas(axis, edges_s, [Line("observed", values[0], place=_OBSERVED)], title=title)
    simulated = charts.line(axis.packed(edges_s), Line("simulated", values[1], place=_SIMULATED))
    # Dashes of a line that goes up and down every hour cannot be followed.
    figure["data"].append(simulated | {"line": {**simulated["line"], "dash": "solid", "width": 1.0}})
    return Chart(label, f"{label} over time, observed and simulated", figure, 240, link="time")
