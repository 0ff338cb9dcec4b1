"""The page of a published experiment that was run again: its numbers next to ours."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any, Protocol

import numpy as np
import polars as pl

from hetsched.analysis import mean_and_half_width
from hetsched.checks import many
from hetsched.files import json_sha256
from hetsched.report.comparisons import front
from hetsched.report.experiment import ELSEWHERE, estimates, here_text, paper_text, reasons, settings, verdict
from hetsched.report.page import charts, origin
from hetsched.report.page.charts import Bars, Curve, Dot
from hetsched.report.page.document import Block, Chart, Choice, Grid, Lines, Number, Page, Section, Words
from hetsched.report.shares import experiment_grids, on_a_page

_GROUP = "panels"


class Parameter(Protocol):
    """A value that decides an outcome."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def value(self) -> Any:
        """Itself."""

    @property
    def is_printed(self) -> bool:
        """True if the paper prints it."""

    @property
    def is_measured(self) -> bool:
        """True if it comes from the runs."""


class Reproduced(Protocol):
    """Parts of a report that its page shows."""

    @property
    def name(self) -> str:
        """Name of the experiment."""

    @property
    def source(self) -> str:
        """The paper."""

    @property
    def seed(self) -> int:
        """Origin of all chance."""

    @property
    def parameters(self) -> Sequence[Parameter]:
        """Printed, assumed and measured values."""

    @property
    def table(self) -> pl.DataFrame:
        """A row a quantity."""

    @property
    def savings(self) -> pl.DataFrame:
        """The data of the figures."""

    @property
    def shares(self) -> pl.DataFrame:
        """Shares of placement and timing with the waits, by scenario and policy."""

    @property
    def no_shares(self) -> str:
        """Reason why there are none."""

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values."""


def page_of_reproduction(found: Reproduced, *, title: str = "", assumed: Sequence[str] = (), command: str = "") -> Page:
    """The page of a reproduction."""
    values = {one.name: one.value for one in found.parameters}
    blocks = [*_ratios(found.table), _grid(found.table), *_reasons(found.table)]
    sections = [
        Section("numbers", "Numbers of the paper, and ours", blocks),
        Section("shares", "Placement, timing and waits", list(_shares(found))),
        Section("figures", "Figures", list(_panels(found.savings))),
        Section("parameters", "Parameters", [_parameters(found.parameters)]),
        Section("repeat", "To repeat it", list(_repeat(found, values, command))),
    ]
    return Page(
        title=title or f"{found.name} run again",
        facts=[
            ("Experiment", found.name),
            ("Source", found.source),
            ("Repetitions", f"{values['repetitions']:,}, seed {found.seed}"),
        ],
        assumptions=[*assumed, *_assumptions(found.parameters, values)],
        answer=list(_answer(found.table, values)),
        numbers=list(_numbers(found.table, values)),
        sections=[section for section in sections if section.blocks],
    )


def _assumptions(parameters: Sequence[Parameter], values: Mapping[str, Any]) -> Iterator[str]:
    if values["quick"]:
        yield "A quick run: few repetitions, on smaller traces where the printed ones take long. It gives no verdicts."
    own = [one for one in parameters if not (one.is_printed or one.is_measured or one.name in ELSEWHERE)]
    if own:
        yield f"Not printed by the paper, assumed: {settings({one.name: one.value for one in own})}."


def _counts(table: pl.DataFrame, *, is_printed: bool) -> Counter[str]:
    """Verdicts of the rows that have a number of the paper, or of those that are claims."""
    own = table.filter(pl.col("paper").is_not_null() if is_printed else pl.col("paper").is_null())
    return Counter(one for one in own["reproduced"] if one is not None)


def _answer(table: pl.DataFrame, values: Mapping[str, Any]) -> Iterator[str]:
    """Numbers of the paper that came out again, and claims that hold."""
    printed, claims = (_counts(table, is_printed=is_printed) for is_printed in (True, False))
    known = table["paper"].is_not_null().sum()
    if not printed and not claims:
        off = _median_off(table)
        numbers = (
            "the number that the paper prints is" if known == 1 else f"half of the {known:,} numbers that it prints are"
        )
        said = "" if off is None else f": {numbers} within {_percent(off)}"
        yield f"A quick run of {many(values['repetitions'], 'repetition')} decides nothing{said}."
        yield "The whole run judges every row."
        return
    if printed:
        yield _of_numbers(printed)
    else:
        yield "The paper prints no numbers that could be held against ours."
    if claims:
        holds, fails = _verb(claims["yes"], "hold"), _verb(claims["no"], "fail")
        undecided = sum(claims.values()) - claims["yes"] - claims["no"]
        rest = f"; {undecided:,} undecided" if undecided else ""
        yield f"Of {many(sum(claims.values()), 'claim')} in words, {holds}, and {fails}{rest}."
    elif (off := _median_off(table)) is not None:
        yield f"Half of the numbers are within {_percent(off)} of the paper's."


_REST = {"shape": "only in shape", "no": "not", "uncertain": "uncertain", "not tested": "not tested"}
_OF_ONE = {
    "yes": "was reproduced",
    "shape": "was reproduced only in shape",
    "no": "was not reproduced",
    "uncertain": "may or may not be reproduced: the interval is too wide",
    "not tested": "was not tested",
}


def _of_numbers(printed: Counter[str]) -> str:
    """A sentence on how many of the printed numbers were reproduced."""
    total = sum(printed.values())
    if total == 1:
        return f"The one number that the paper prints {_OF_ONE[next(iter(printed))]}."
    rest = "".join(f", {printed[one]:,} {said}" for one, said in _REST.items() if printed[one])
    were = "was" if printed["yes"] <= 1 else "were"
    return f"Of the {total:,} numbers that the paper prints, {printed['yes'] or 'none'} {were} reproduced{rest}."


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share < 1 else f"{100 * share:,.0f} %"


def _verb(count: int, verb: str) -> str:
    return f"{count:,} {verb}{'s' if count == 1 else ''}"


def _off(row: Mapping[str, Any]) -> float | None:
    """Difference of ours from the paper's, as a share of that."""
    return None if not row["paper"] else (row["here"] - row["paper"]) / abs(row["paper"])


def _median_off(table: pl.DataFrame) -> float | None:
    off = [abs(own) for row in table.iter_rows(named=True) if (own := _off(row)) is not None]
    return median(off) if off else None


def _numbers(table: pl.DataFrame, values: Mapping[str, Any]) -> Iterator[Number]:
    printed, claims = (_counts(table, is_printed=is_printed) for is_printed in (True, False))
    known = int(table["paper"].is_not_null().sum())
    tolerance = f"within {100 * values['agreement_ratio']:.0f} %" if "agreement_ratio" in values else ""
    if sum(printed.values()):
        more = f"; {printed['shape']:,} more in shape" if printed["shape"] else ""
        text = f"{printed['yes']:,} of {sum(printed.values()):,}"
        yield Number("the paper's numbers, reproduced", text, f"{tolerance}{more}".strip("; "))
    else:
        yield Number(f"number{'s' * (known != 1)} that the paper prints", f"{known:,}", "no verdicts")
    off = _median_off(table)
    yield Number("median difference", "–" if off is None else _percent(off), "of the paper's numbers")
    if claims:
        yield Number(
            "claims that hold", f"{claims['yes']:,} of {sum(claims.values()):,}", "without a number in the paper"
        )
    else:
        yield Number("repetitions", f"{values['repetitions']:,}", "draws of machine and workload")


_FAR_APART = 10.0
"""Ratios further apart than this stand on a logarithmic axis."""


def _ratios(table: pl.DataFrame) -> Iterator[Block]:
    """Ours as a share of the paper's, with intervals; those of which the paper says 0 have none."""
    numbered = [(place, row) for place, row in enumerate(table.iter_rows(named=True), start=1) if row["paper"]]
    if not numbered:
        return
    rows, names = [row for _, row in numbered], [f"{place}: {row['quantity']}" for place, row in numbered]
    ratios = [100 * row["here"] / row["paper"] for row in rows]
    halves = [100 * abs((row["high"] - row["low"]) / 2 / row["paper"]) for row in rows]
    series = [Bars("ours", ratios, 0, halves, is_marks=True)]
    figure = charts.bars(names, series, title="ours (% of the paper's)")
    if min(ratios) > 0 and max(ratios) > _FAR_APART * min(100.0, *ratios):
        figure["layout"]["xaxis"] |= {"type": "log"}
    charts.level(figure, 100.0, is_upright=True, name="the paper's")
    note = "Dots: ours as a share of the paper's number; lines: 95 % intervals over repetitions."
    yield Chart(
        "Ours against the paper's",
        "Ours as a share of the paper's numbers",
        figure,
        charts.bar_height(names),
        note=note,
    )


def _grid(table: pl.DataFrame) -> Grid:
    is_judged = table["reproduced"].is_not_null().any()
    header = ["", "quantity", *(["reproduced"] if is_judged else []), "paper", "ours ± (95 %)", "difference"]
    rows = []
    for place, row in enumerate(table.iter_rows(named=True), start=1):
        off = _off(row)
        outcome = [verdict(row["reproduced"], row["paper"]) or "–"] if is_judged else []
        numbers = [paper_text(row["paper"]), here_text(row), "–" if off is None else f"{100 * off:+.1f} %"]
        rows.append([str(place), row["quantity"], *outcome, *numbers])
    return Grid("Quantities", header, rows, words=3 if is_judged else 2)


_SHARES = (
    "Attained: saved over nodes chosen blindly at the same starts, in percent of the most that these starts leave room "
    "for. Saved: job energy below the baseline's, by placement and by timing, in percent of it. Means over repetitions "
    "± 95 %; the longest wait is the mean of each run's."
)


def _shares(found: Reproduced) -> Iterator[Block]:
    if found.no_shares:
        yield Words(f"No shares of placement and timing: {found.no_shares}.")
    elif len(found.shares):
        yield Words(_SHARES)
        grids = experiment_grids(found.shares)
        group = "scenarios" if len(grids) > 1 else ""
        if group:
            yield Choice("Scenario", group, list(grids))
        for scenario, grid in grids.items():
            yield replace(on_a_page(grid), group=group, member=scenario if group else "")


def _reasons(table: pl.DataFrame) -> Iterator[Block]:
    lines = list(reasons(table))
    if lines:
        yield Words("Why some are not simply reproduced; in brackets the rows:")
        yield Lines(lines)


def _panels(savings: pl.DataFrame) -> Iterator[Block]:
    """The panels of the experiment's figures, of which the reader chooses one."""
    names = [name for name in ("figure", "panel", "row", "column") if name in savings.columns]
    if not names or not len(savings):
        return
    panels = {_joined(key): own for key, own in savings.group_by(names, maintain_order=True)}
    group = _GROUP if len(panels) > 1 else ""
    if group:
        yield Choice("Panel", group, list(panels))
    for name, own in panels.items():
        figure, height = _panel(own)
        yield Chart(name, f"{name}: a mark a policy", figure, height, group=group, member=name)


def _joined(key: Sequence[object]) -> str:
    return " · ".join(" ".join(str(part).split()) for part in key if part)


def _panel(own: pl.DataFrame) -> tuple[charts.Figure, int]:
    """A panel as its columns say: savings as bars, curves with intervals, or dots with their front."""
    if "saving" in own.columns:
        return _savings(own), charts.bar_height(own["label"].unique().to_list(), 2) + 20
    is_curves = "value" in own.columns and own["value"].is_not_null().any()
    return (_curves(own), 340) if is_curves else (_dots(own), 360)


def _savings(own: pl.DataFrame) -> charts.Figure:
    labels = own["label"].unique(maintain_order=True).to_list()
    rows = {label: own.filter(label=label) for label in labels}
    ours = [mean_and_half_width(rows[label]["saving"].to_numpy()) for label in labels]
    attainable = [rows[label]["attainable"].cast(pl.Float64).mean() for label in labels]
    paper = [rows[label]["paper"].cast(pl.Float64).first() for label in labels]
    series = [Bars("ours", [mean for mean, _ in ours], 0, [half for _, half in ours])]
    if any(one is not None for one in attainable):
        series.append(Bars("attainable", attainable, 6))  # type: ignore[arg-type]
    if any(one is not None for one in paper):
        series.append(Bars("paper", paper, 1, is_marks=True))  # type: ignore[arg-type]
    return charts.bars(labels, series, title="job energy saved (%)")


def _curves(own: pl.DataFrame) -> charts.Figure:
    curves, is_joined = [], bool(own["is_joined"][0])
    for place, (label, rows) in enumerate(_by_label(own)):
        found = estimates(rows)
        if len(found):
            x, mean, half = found
            curves.append(Curve(label, x, mean, place, halves=half.tolist(), is_joined=is_joined))
    ticks = own.select("x", "tick").filter(pl.col("tick") != "").unique(maintain_order=True).sort("x").rows()
    x_title, y_title = str(own["x_label"][0]), _joined([own["row"][0]])
    figure = charts.curves(curves, x_title=x_title, y_title=y_title, ticks=ticks)
    figure["layout"]["yaxis"].pop("rangemode")
    if own["paper"][0] is not None:
        charts.level(figure, float(own["paper"][0]), name="paper, mean", place=1)
    charts.level(figure, float(own["level"][0]))
    return figure


def _dots(own: pl.DataFrame) -> charts.Figure:
    points = []
    for place, (label, rows) in enumerate(_by_label(own)):
        (x, x_half), (y, y_half) = (mean_and_half_width(rows[name].to_numpy()) for name in ("x", "y"))
        if math.isfinite(x) and math.isfinite(y):
            points.append(Dot(label, x, y, x_half, y_half, place, f"{label}: {x:.4g}, {y:.4g}"))
    best = front(np.array([one.x for one in points]), np.array([one.y for one in points])).tolist()
    along = "beaten by no other"
    return charts.dots(
        points, x_title=_joined([own["column"][0]]), y_title=_joined([own["row"][0]]), front=best, along=along
    )


def _by_label(own: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    return ((str(label), rows) for (label,), rows in own.group_by("label", maintain_order=True))


def _parameters(parameters: Sequence[Parameter]) -> Grid:
    rows = [[one.name, _value(one.value), _origin(one)] for one in parameters]
    return Grid("Everything that decides the outcome", ["parameter", "value", "origin"], rows, words=3)


def _value(value: Any) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else settings({"": value}).strip()


def _origin(one: Parameter) -> str:
    if one.is_printed:
        return "printed"
    if one.name in ELSEWHERE:
        return "this run"
    return "measured" if one.is_measured else "assumed"


def _repeat(found: Reproduced, values: Mapping[str, Any], command: str) -> Iterator[Block]:
    quick = " --quick" if values["quick"] else ""
    again = (
        command or f"hetsched reproduce {found.name} --seed {found.seed} --repetitions {values['repetitions']}{quick}"
    )
    yield origin.versions(again, ["seed", str(found.seed)], ["table", f"sha256 {json_sha256(found.to_dict())}"])
