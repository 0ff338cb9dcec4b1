"""Tables of what placement and timing saved, with the waits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from hetsched.analysis import METRICS
from hetsched.report.page.document import Grid


def shares_grids(shares: pl.DataFrame) -> Iterator[Grid]:
    """Tables of `hetsched.analysis.placement_and_timing`: the shares with the waits, then the energies behind them."""
    rows = shares.to_dicts()
    if not rows:
        return
    saved, placement, timing = zip(*map(_percents, rows), strict=True)
    columns = {
        "attained\n%": [_percent(row["attained_ratio"]) for row in rows],
        "saved\n%": saved,
        "place-\nment\n%": placement,
        "timing\n%": timing,
        **_metrics(
            rows, {"turn-\naround": "mean_turnaround_s", "mean\nwait": "mean_wait_s", "longest\nwait": "max_wait_s"}
        ),
    }
    yield _grid("Saved by placement and by timing, and the waits", rows, columns)
    energies = _energies(rows, {"drawn": "energy_j", "blind": "energy_blind_j", "least": "energy_bound_starts_j"})
    waits = _metrics(rows, {"large:\nmean": "large_mean_wait_s", "large:\nlongest": "large_max_wait_s"})
    left_out = {"jobs\nleft\nout": [f"{row['left_out_jobs']:,g}" for row in rows]}
    yield _grid("Energy of nodes at work given the starts, and waits of large jobs", rows, energies | waits | left_out)


def _grid(label: str, rows: Sequence[dict[str, Any]], columns: dict[str, Sequence[str]]) -> Grid:
    cells = zip([row["policy"] for row in rows], *columns.values(), strict=True)
    return Grid(label, ["policy", *columns], [list(cell) for cell in cells])


def _metrics(rows: Sequence[dict[str, Any]], keys: dict[str, str]) -> dict[str, Sequence[str]]:
    """Columns of metrics by their titles, each in one unit."""
    found: dict[str, Sequence[str]] = {}
    for title, key in keys.items():
        values, metric = [row[key] for row in rows], METRICS[key]
        found[f"{title}\n{metric.unit_for(values).name}"] = metric.texts(values)
    return found


def _energies(rows: Sequence[dict[str, Any]], keys: dict[str, str]) -> dict[str, Sequence[str]]:
    """Columns of energies by their titles, all in one unit."""
    metric, all_j = METRICS["job_energy_j"], [row[key] for row in rows for key in keys.values()]
    unit = metric.unit_for(all_j).name
    return {f"{title}\n{unit}": metric.texts([row[key] for row in rows], like=all_j) for title, key in keys.items()}


def _percent(ratio: float | None) -> str:
    return "–" if ratio is None else f"{100 * ratio:.2f}"


def _percents(row: dict[str, Any]) -> tuple[str, str, str]:
    """Saving, placement and timing in hundredths of a percent, which add up as they are shown."""
    if row["saved_ratio"] is None:
        return "–", "–", "–"
    saved, timing = (round(10_000 * row[key]) for key in ("saved_ratio", "timing_ratio"))
    saved_text, placement_text, timing_text = (f"{part / 100:.2f}" for part in (saved, saved - timing, timing))
    return saved_text, placement_text, timing_text
