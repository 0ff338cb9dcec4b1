"""The page of settings against today: which is worth having, and its price."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import polars as pl

from hetsched.analysis import METRICS, Unit
from hetsched.checks import many
from hetsched.report.page import charts, words
from hetsched.report.page.charts import Cloud
from hetsched.report.page.document import Block, Chart, Grid, Lines, Number, Page, Section
from hetsched.report.page.origin import Origin
from hetsched.report.whatifs import AXES, change_lines, percent_text

_MOST_ROWS = 200
_MOST_DOTS = 3000
_RULE = (
    "A table has at most {rows:,} settings and a chart at most {dots:,} dots: today, those that no other beats, then "
    "the others in their order."
)


class Answered(Protocol):
    """Parts of an answer that its page shows."""

    @property
    def table(self) -> pl.DataFrame:
        """A row a setting."""

    @property
    def changes(self) -> pl.DataFrame:
        """A row a setting and metric."""

    @property
    def runs(self) -> pl.DataFrame:
        """The summaries."""

    @property
    def metrics(self) -> Sequence[str]:
        """The metrics that settings are compared in, the first the most important."""

    @property
    def notes(self) -> Sequence[str]:
        """Remarks."""

    @property
    def provenance(self) -> Mapping[str, Any]:
        """Record of today's run."""


def page_of_what_if(found: Answered, *, title: str = "", assumed: Sequence[str] = (), command: str = "") -> Page:
    """The page of settings against today."""
    today = found.runs.row(0, named=True)
    origin, policy = Origin(found.provenance, today["jobs"]), found.provenance["policy"]
    own = _Settings(found)
    figures = list(own.pictures())
    sections = [
        Section("settings", "Settings against today", [own.grid(), *figures]),
        Section("left-out", "What is not modelled", [Lines(list(origin.not_modelled()))]),
        Section("repeat", "To repeat it", [origin.versions(command), origin.settings([policy])]),
    ]
    facts = [("Length of today's run", words.length(today["makespan_s"])), ("Policy today", policy["name"])]
    return Page(
        title=title or f"{origin.log}: {many(own.tried, 'setting')} against today",
        facts=[*origin.facts(), *facts],
        assumptions=[*assumed, *origin.assumptions([policy, {"sleep": own.have_boots or None}]), *found.notes],
        answer=list(own.answer()),
        numbers=list(own.numbers()),
        sections=sections,
        rule=_RULE.format(rows=_MOST_ROWS, dots=_MOST_DOTS) if own.tried >= _MOST_ROWS else "",
    )


@dataclass(frozen=True)
class _Settings:
    """Settings in the words of the page."""

    found: Answered

    @property
    def tried(self) -> int:
        return len(self.found.table) - 1

    @property
    def have_boots(self) -> bool:
        """True if nodes sleep under any setting."""
        runs = self.found.runs
        return "boots" in runs.columns and bool((runs["boots"] > 0).any())

    @property
    def first(self) -> str:
        return self.found.metrics[0]

    @cached_property
    def unbeaten(self) -> pl.DataFrame:
        """Settings besides today that no other beats."""
        return self.found.table.filter(pl.col("pareto") & (pl.col("row") != 0))

    @cached_property
    def best(self) -> Mapping[str, Any] | None:
        """The best of these in the first metric; None if none is better in it than today."""
        sign = -1.0 if METRICS[self.first].better == "higher" else 1.0
        better = self.unbeaten.filter(sign * pl.col(f"{self.first}_change") < 0)
        if not len(better):
            return None
        return better.sort(sign * pl.col(self.first)).row(0, named=True)

    def change(self, row: int, metric: str) -> Mapping[str, Any]:
        """A metric's change in a row."""
        return self.found.changes.row(by_predicate=(pl.col("row") == row) & (pl.col("metric") == metric), named=True)

    def text(self, row: int, metric: str) -> str:
        """A change with its interval, in percent where today's value is not 0."""
        own = change_lines(self.change(row, metric))
        return " ".join(own).replace(" ?", "") if own else "no change"

    @cached_property
    def price(self) -> str | None:
        """The metric that the best setting makes worst, against today; None: it makes none worse."""
        if self.best is None:
            return None
        losses = {}
        for metric in self.found.metrics[1:]:
            own = self.change(self.best["row"], metric)
            sign = -1.0 if METRICS[metric].better == "higher" else 1.0
            change = own["change_ratio"] if own["change_ratio"] is not None else own["change"]
            if change is not None and sign * change > 0:
                losses[metric] = sign * change
        return max(losses, key=lambda metric: losses[metric]) if losses else None

    def answer(self) -> Iterator[str]:
        """The best setting that no other beats, and its price."""
        name, best = METRICS[self.first].title, self.best
        if best is None:
            yield f"None of {many(self.tried, 'setting')} has a better {name} than today, among those worth having."
        else:
            most = "highest" if METRICS[self.first].better == "higher" else "lowest"
            yield (
                f"Of {many(self.tried, 'setting')}, {best['setting']} has the {most} {name}: "
                f"{self._value(best, self.first)}, {self.text(best['row'], self.first)} against today."
            )
        count = len(self.unbeaten)
        unbeaten = f"{count:,} of the settings {'is' if count == 1 else 'are'} beaten by no other."
        if best is None or len(self.found.metrics) == 1:
            yield unbeaten
        elif self.price is None:
            yield f"It makes nothing worse that was compared; {unbeaten}"
        else:
            title = METRICS[self.price].title
            values = f"{self._value(self.found.table.row(0, named=True), self.price)} → {self._value(best, self.price)}"
            yield f"Its price: {title} {self.text(best['row'], self.price)}, {values}; {unbeaten}"

    def _value(self, row: Mapping[str, Any], metric: str) -> str:
        return METRICS[metric].text(row[metric])

    def numbers(self) -> Iterator[Number]:
        """The best setting's gain, its price, and how many settings are worth a look."""
        name, best, today = METRICS[self.first].title, self.best, self.found.table.row(0, named=True)
        if best is None:
            yield Number(name, self._value(today, self.first), "today, which no setting betters")
        else:
            yield Number(
                f"{name}, {best['setting']}", _short(self.change(best["row"], self.first)), self._from_to(best)
            )
        if self.price is not None and best is not None:
            values = f"{self._value(today, self.price)} → {self._value(best, self.price)}"
            yield Number(
                f"its price: {METRICS[self.price].title}", _short(self.change(best["row"], self.price)), values
            )
        else:
            yield Number("its price", "none" if best is not None else "–", "of what was compared")
        yield Number("settings that no other beats", f"{len(self.unbeaten):,}", f"of {self.tried:,}")

    def _from_to(self, best: Mapping[str, Any]) -> str:
        today = self.found.table.row(0, named=True)
        return f"{self._value(today, self.first)} → {self._value(best, self.first)}"

    @cached_property
    def shown(self) -> pl.DataFrame:
        """Rows in the order of their importance: today, those that no other beats, the others."""
        place = pl.when(pl.col("row") == 0).then(0).when("pareto").then(1).otherwise(2)
        return self.found.table.sort(place, "row")

    def grid(self) -> Grid:
        """Settings with their values and changes."""
        kept = self.shown.head(_MOST_ROWS).sort("row")
        header, rows = ["row", "setting"], [[_row(row), row["setting"]] for row in kept.iter_rows(named=True)]
        for metric in self.found.metrics:
            own = METRICS[metric]
            unit = own.unit_for(kept[metric].to_list()).name
            header += [f"{own.title}{f' ({unit})' if unit else ''}", "change"]
            changes = {row["row"]: row for row in self.found.changes.filter(metric=metric).iter_rows(named=True)}
            texts = own.texts(kept[metric].to_list())
            for row, number, text in zip(rows, kept["row"], texts, strict=True):
                row += [text, "\n".join(change_lines(changes[number])) if number else ""]
        notes = ["* beaten by no other setting"]
        if self.found.changes["certain"].is_not_null().any():
            notes.append("in brackets 95 % intervals over weeks; ? holds 0")
        if len(kept) < len(self.found.table):
            notes.append(f"{len(self.found.table) - len(kept):,} settings that others beat are left out")
        return Grid("Means, and changes against today", header, rows, words=2, note="; ".join(notes))

    def pictures(self) -> Iterator[Block]:
        """Two metrics against each other; of one none."""
        metrics = self.found.metrics
        if len(metrics) < 2:
            return
        x, y = AXES if set(AXES) <= set(metrics) else (metrics[1], metrics[0])
        kept = self.shown.head(_MOST_DOTS).drop_nulls([x, y])
        units = {key: METRICS[key].unit_for(kept[key].to_list()) for key in (x, y)}
        is_today, is_best = kept["row"] == 0, kept["pareto"]
        groups = dict(zip(_LOOKS, (~is_today & ~is_best, ~is_today & is_best, is_today), strict=True))
        clouds = [_cloud(name, kept.filter(own), x, y, units) for name, own in groups.items() if own.any()]
        titles = [f"{METRICS[key].title}{f' ({units[key].name})' if units[key].name else ''}" for key in (x, y)]
        figure = charts.clouds(clouds, x_title=titles[0], y_title=titles[1])
        label = f"{METRICS[y].title.capitalize()} against {METRICS[x].title}"
        note = "Point at a dot for its setting. Lines: 95 % intervals of the change against today, over weeks."
        yield Chart(label, f"{label}, a dot a setting", figure, 380, note=note)


def _row(row: Mapping[str, Any]) -> str:
    return f"{row['row']}{' *' if row['pareto'] else ''}"


def _short(change: Mapping[str, Any]) -> str:
    """A change without its interval."""
    ratio = change["change_ratio"]
    if ratio is not None:
        return f"{percent_text(ratio)} %"
    return " ".join(change_lines(change)[:1]) or "–"


_LOOKS = {"beaten by another": (6, 6), "beaten by no other": (0, 9), "today": (1, 12)}
"""Place of the colour and size of dots."""


def _cloud(name: str, rows: pl.DataFrame, x: str, y: str, units: Mapping[str, Unit]) -> Cloud:
    place, size = _LOOKS[name]
    texts = [
        f"{row['row']}: {row['setting']}: "
        + ", ".join(f"{METRICS[key].title} {METRICS[key].text(row[key])}" for key in (x, y))
        for row in rows.iter_rows(named=True)
    ]
    scales = {key: unit.scale for key, unit in units.items()}
    dots = Cloud(name, rows[x].to_numpy() / scales[x], rows[y].to_numpy() / scales[y], texts, place, size)
    # Intervals of settings that others beat would cover all else.
    return _with_ends(dots, rows, scales) if name == "beaten by no other" else dots


def _with_ends(dots: Cloud, rows: pl.DataFrame, scales: Mapping[str, float]) -> Cloud:
    x, y = (_ends(rows, key, scale) for key, scale in scales.items())
    return replace(dots, x_ends=x, y_ends=y)


def _ends(rows: pl.DataFrame, key: str, scale: float) -> tuple[np.ndarray, np.ndarray] | None:
    """Reach of the interval of a change down and up; None without intervals."""
    change, low, high = (rows[f"{key}_change{end}"].fill_null(np.nan).to_numpy() for end in ("", "_low", "_high"))
    if np.isnan(low).all():
        return None
    # No wait and no energy is below 0, whatever an interval of its change says.
    low = np.maximum(low, change - rows[key].to_numpy()) if key.endswith(("_s", "_j")) else low
    down, up = (np.nan_to_num(np.clip(own, 0.0, None)) / scale for own in (change - low, high - change))
    return down, up
