"""SharedResponse against its rival, one number an application for all devices, where applications hardly correlate.

    python benches/python/no_variation.py [--frontera FOLDER] [--m100-2022 FOLDER]

One application is hidden on a third of the devices that ran it and another, ten draws of which: mean absolute error in
percent of what is hidden, of the model and of the mean over the other devices. Longhorn's watts lie next to the
repository. FOLDER holds ``frontera-*-agg.csv`` of github.com/hal-uw/blox-pal (times, each as a percentage of the
fleet's median), or ``pw_22-*.parquet`` and ``cov_22-*.parquet`` of github.com/MSKazemi/m100-silicon-binning: there the
model is fitted on 2021, as the rival is, and both are scored on 2022.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import polars as pl
from rich.table import Table

import power_data
from hetsched.analysis import mean_and_half_width
from hetsched.chance import stream
from hetsched.power import SharedResponse
from power_real_data import m100_pair, percent_off
from table import console

DRAWS = 10


def frontera(folder: Path) -> tuple[list[str], np.ndarray]:
    """Workloads and median times of GPUs, shape (GPUs, workloads), in percent of the median GPU."""
    apps = ["bert", "pagerank", "resnet"]
    parts = [
        pl.read_csv(folder / f"frontera-{app}-agg.csv", infer_schema_length=None).select(
            pl.lit(app).alias("app"), "uuid", pl.col("perf").cast(pl.Float64)
        )
        for app in apps
    ]
    median = pl.concat(parts).group_by("app", "uuid").agg(pl.col("perf").median())
    times = median.pivot(on="app", index="uuid", values="perf").sort("uuid").select(apps).to_numpy()
    return apps, 100.0 * times / np.nanmedian(times, axis=0)


def hidden(features: np.ndarray, values: np.ndarray, app: int) -> tuple[float, float, float, float]:
    """Errors of the model and of the rival, and their mean difference with its half width, over the draws."""
    rng, own, rival = stream(7, f"no_variation.{app}"), [], []
    ran = ~np.isnan(values[:, app]) & (~np.isnan(np.delete(values, app, axis=1))).any(axis=1)
    rows = np.flatnonzero(ran)
    for _ in range(DRAWS):
        gone = rng.choice(rows, len(rows) // 3, replace=False)
        known = values.copy()
        known[gone, app] = np.nan
        left = ~np.isnan(known).all(axis=1)
        found = np.full(values.shape, np.nan)
        found[left] = SharedResponse().fit(features, known[left]).predict(features)
        own.append(percent_off(found[gone, app], values[gone, app]).mean())
        rival.append(percent_off(np.nanmean(known[:, app]), values[gone, app]).mean())
    mean, half = mean_and_half_width([a - b for a, b in zip(own, rival, strict=True)])
    return float(np.mean(own)), float(np.mean(rival)), mean, half or 0.0


def ahead(folder: Path) -> tuple[float, float]:
    """Errors on 2022 of the model and of the rival, both fitted on 2021."""
    features, watts, later_features, later = m100_pair(power_data.m100(2021), power_data.m100_of_2022(folder), 400)
    found = SharedResponse().fit(features, watts).predict(later_features)
    rival = np.broadcast_to(np.nanmean(watts, axis=0), watts.shape)
    return tuple(float(np.nanmean(percent_off(one, later))) for one in (found, rival))  # type: ignore[return-value]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frontera", type=Path, help="a folder with its times")
    parser.add_argument("--m100-2022", type=Path, help="a folder with its watts")
    given = parser.parse_args()
    table = Table("data", "hidden", "SharedResponse", "no variation", "difference")
    cases = [(data.name, data.groups, data.features, data.power_w) for data in _pairs()]
    if given.frontera is not None:
        apps, times = frontera(given.frontera)
        cases.append(("Frontera, times", apps, np.arange(len(apps), dtype=np.float64)[:, None], times))
    for name, apps, features, values in cases:
        for place, app in enumerate(apps):
            own, rival, mean, half = hidden(features, values, place)
            table.add_row(name, app, f"{own:.3f}", f"{rival:.3f}", f"{mean:+.4f} ± {half:.4f}")
    if given.m100_2022 is not None:
        own, rival = ahead(given.m100_2022)
        table.add_row("Marconi100, 2022 by 2021", "", f"{own:.2f}", f"{rival:.2f}", f"{own - rival:+.2f}")
    console().print(table)


def _pairs() -> list[power_data.Measured]:
    return [power_data.longhorn(joined=pair) for pair in (("resnet", "bert"), ("sgemm", "pagerank"))]


if __name__ == "__main__":
    main()
