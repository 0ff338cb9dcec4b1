"""Errors of power models on measured data: in-sample, on applications left out, on new devices and years.

    python benches/python/power_real_data.py [--only sets|devices|gpus|m100] [--quick]

Every number is a mean absolute percentage error (MAPE). ``Shared`` is `SharedResponse`; its kernels and weights were
chosen with the data sets marked ``chosen``, and none of the others were looked at before.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable

import numpy as np
import polars as pl
from rich import box
from rich.table import Table

import power_data
from hetsched.analysis import mean_and_half_width
from hetsched.chance import stream
from hetsched.power import PowerModel, PowerRatio, SharedResponse, SingleStage, TwoStage
from power_data import Measured
from table import console

RF = "random_forest"
MODELS: dict[str, Callable[[], PowerModel]] = {
    "LR": lambda: SingleStage("linear"),
    "RF": lambda: SingleStage(RF),
    "ratio": lambda: PowerRatio(RF),
    "LR+RF": lambda: TwoStage("linear", RF),
    "RF+RF": lambda: TwoStage(RF, RF),
    "Shared": SharedResponse,
}
CHOSEN = "chosen"
SETS: dict[str, tuple[str, Callable[[], Measured]]] = {
    "dcgm": (CHOSEN, power_data.dcgm_v100),
    "titanx": (CHOSEN, lambda: power_data.gpmtool("titanx_real_all_frequencies_power", "Titan X, applications")),
    "hkbu": ("held out", power_data.hkbu_1080ti),
    "gtx980": ("held out", lambda: power_data.gpmtool("gtx980_micro", "GTX 980, micro-benchmarks")),
    "k40c": ("held out", lambda: power_data.gpmtool("k40c_micro", "K40c, micro-benchmarks")),
    "rome": ("held out", power_data.rome_roco2),
    "kepler-rapl": ("held out", lambda: power_data.kepler_nx12("package_power")),
    "kepler-acpi": ("held out", lambda: power_data.kepler_nx12("platform_power")),
}
NEW_RUNS = (1, 3, 10)


def percent_off(predicted_w: np.ndarray, actual_w: np.ndarray) -> np.ndarray:
    """Draw of every cell, NaN where nothing was measured."""
    return 100.0 * np.abs(predicted_w / actual_w - 1.0)


def in_sample(make: Callable[[], PowerModel], data: Measured) -> np.ndarray:
    """Mean error of each group, fitted on all."""
    return by_group(percent_off(make().fit(data.features, data.power_w).predict(data.features), data.power_w), data)


def left_out(make: Callable[[], PowerModel], data: Measured) -> np.ndarray:
    """Mean error of each group, fitted on the others."""
    predicted = np.full(data.power_w.shape, np.nan)
    for group in dict.fromkeys(data.groups):
        is_own = np.array([one == group for one in data.groups])
        others = data.power_w[:, ~is_own]
        # A device that ran nothing else cannot be told from any other.
        ran = ~np.isnan(others).all(axis=1)
        model = make().fit(data.features[~is_own], others[ran])
        predicted[np.ix_(ran, is_own)] = model.predict(data.features[is_own])
    return by_group(percent_off(predicted, data.power_w), data)


def by_group(errors: np.ndarray, data: Measured) -> np.ndarray:
    """Mean over the cells of each group, in the order in which groups first come."""
    names = np.array(data.groups)
    return np.array([np.nanmean(errors[:, names == group]) for group in dict.fromkeys(data.groups)])


def sets(names: Iterable[str]) -> tuple[Table, dict[str, np.ndarray]]:
    """In-sample and left-out errors of every model on every set; and of held-out sets, by how much Shared is nearer."""
    table = _table(
        "MAPE, %: in-sample | an application left out", ["data", "devices × apps", *MODELS, "Shared - RF+RF"]
    )
    gains = {}
    for name in names:
        role, load = SETS[name]
        data = load()
        begun_s = time.perf_counter()
        cells, apart = [], {}
        for label, make in MODELS.items():
            apart[label] = left_out(make, data)
            cells.append(f"{in_sample(make, data).mean():.2f} | {apart[label].mean():.2f}")
        mean, half_width = mean_and_half_width(apart["Shared"] - apart["RF+RF"])
        shape = f"{len(data.power_w)} × {data.power_w.shape[1]} ({len(apart['RF'])})"
        table.add_row(f"{data.name} ({role})", shape, *cells, f"{mean:+.2f} ± {half_width or 0:.2f}")
        print(f"{name}: {time.perf_counter() - begun_s:.0f} s", file=sys.stderr)
        if role != CHOSEN:
            gains[name] = apart["Shared"] - apart["RF+RF"]
    return table, gains


def new_device(make: Callable[[], PowerModel], data: Measured, runs: int, seed: int) -> float:
    """Mean error of devices with a few measured applications each, among devices that ran everything."""
    rng = stream(seed, "power.new-device")
    n_devices, n_apps = data.power_w.shape
    new = rng.choice(n_devices, max(1, n_devices // 8), replace=False)
    watts = data.power_w.copy()
    for device in new:
        watts[device, rng.permutation(n_apps)[runs:]] = np.nan
    asked = np.isnan(watts) & ~np.isnan(data.power_w)
    return float(percent_off(make().fit(data.features, watts).predict(data.features), data.power_w)[asked].mean())


def devices(names: Iterable[str], seeds: int) -> Table:
    """Test runs that a new device needs: errors under the applications that it has not run."""
    table = _table("MAPE, %, of a new device after 1 | 3 | 10 test runs", ["data", "ratio", "RF+RF", "Shared"])
    for name in names:
        data = SETS[name][1]()
        cells = []
        for label in ("ratio", "RF+RF", "Shared"):
            means = [
                np.mean([new_device(MODELS[label], data, runs, seed) for seed in range(seeds)]) for runs in NEW_RUNS
            ]
            cells.append(" | ".join(f"{mean:.2f}" for mean in means))
        table.add_row(data.name, *cells)
    return table


def gpus(seeds: int) -> Table:
    """Longhorn: one workload hidden on a third of the GPUs that ran both; and one workload never run at all."""
    labels = ("ratio", "RF+RF", "Shared")
    table = _table(
        "MAPE, %, of GPUs of one kind (Longhorn)", ["data", "what", *labels, "no variation", "Shared - RF+RF"]
    )
    for pair in (("resnet", "bert"), ("sgemm", "pagerank")):
        data = power_data.longhorn(joined=pair)
        for column, app in enumerate(data.groups):
            rng = stream(7, f"power.hidden.{app}")
            found: dict[str, list[np.ndarray]] = {label: [] for label in (*labels, "none")}
            for _ in range(seeds):
                hidden = rng.choice(len(data.power_w), len(data.power_w) // 3, replace=False)
                watts = data.power_w.copy()
                watts[hidden, column] = np.nan
                actual = data.power_w[hidden, column]
                for label in labels:
                    predicted = MODELS[label]().fit(data.features, watts).predict(data.features)[hidden, column]
                    found[label].append(percent_off(predicted, actual))
                found["none"].append(percent_off(np.nanmedian(watts[:, column]), actual))
            means = {label: float(np.mean(values)) for label, values in found.items()}
            paired = [float(np.mean(a - b)) for a, b in zip(found["Shared"], found["RF+RF"], strict=True)]
            mean, half_width = mean_and_half_width(paired)
            row = [f"{means[label]:.2f}" for label in (*labels, "none")]
            table.add_row(data.name, f"{app} not run", *row, f"{mean:+.2f} ± {half_width or 0:.2f}")
    data = power_data.longhorn()
    for split, score in (("in-sample", in_sample), ("workload left out", left_out)):
        row = [f"{score(MODELS[label], data).mean():.2f}" for label in labels]
        table.add_row(data.name, split, *row, "", "")
    return table


def m100_years(most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Features and watts of the sockets that both years hold: 2020, then 2021."""
    return m100_pair(power_data.m100(2020), power_data.m100(2021), most)


def m100_pair(
    one: tuple[pl.DataFrame, pl.DataFrame], other: tuple[pl.DataFrame, pl.DataFrame], most: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The same of the cells and classes of any two years."""
    (cells, classes), (later, later_classes) = one, other
    apps = sorted(set(classes["app"]) & set(later_classes["app"]))
    cells, later = (one.filter(pl.col("app").is_in(apps)) for one in (cells, later))
    both = sorted(set(cells["socket"]) & set(later["socket"]))
    both = [both[place] for place in np.linspace(0, len(both) - 1, min(most, len(both))).round().astype(int)]
    found = []
    for every, known in ((cells, classes), (later, later_classes)):
        place = {socket: number for number, socket in enumerate(both)}
        own = every.filter(pl.col("socket").is_in(both))
        watts = np.full((len(both), len(apps)), np.nan)
        watts[[place[one] for one in own["socket"]], [apps.index(one) for one in own["app"]]] = own["power_w"]
        names = ["cpu_user_mean", "load_one_mean", "ambient_mean"]
        features = known.filter(pl.col("app").is_in(apps)).sort("app").select(names).to_numpy().astype(np.float64)
        found += [features, watts]
    return tuple(found)


def ranks_agree(predicted_w: np.ndarray, actual_w: np.ndarray) -> float:
    """Spearman's correlation over devices, mean over the applications with 50 measured devices or more."""
    found = []
    for own, other in zip(predicted_w.T, actual_w.T, strict=True):
        known = ~np.isnan(own) & ~np.isnan(other)
        if known.sum() >= 50 and np.ptp(own[known]) > 0:
            ranks = [one[known].argsort().argsort() for one in (own, other)]
            found.append(np.corrcoef(ranks)[0, 1])
    return float(np.mean(found)) if found else float("nan")


def m100(most: int) -> Table:
    """Marconi100: fitted on 2020, scored on 2021; and 2020 alone, in-sample and with a class of load left out."""
    features, watts, later_features, later = m100_years(most)
    measured = ~np.isnan(watts)
    title = (
        f"M100: {len(watts):,} sockets × {watts.shape[1]} classes of load and inlet, "
        f"{measured.mean():.0%} of the cells measured in 2020, {(~np.isnan(later)).mean():.0%} in 2021"
    )
    table = _table(title, ["model", "2020 in-sample", "2020, class left out", "2021 MAPE", "2021 rank (Spearman)"])
    loads = [str(number) for number in np.digitize(features[:, 0], power_data.M100_LOAD_PERCENT)]
    data = Measured("M100", features, watts, loads, "socket")
    apart, ahead = {}, {}
    for label, make in MODELS.items():
        predicted = make().fit(features, watts).predict(later_features)
        errors = percent_off(predicted, later)
        apart[label], ahead[label] = left_out(make, data), np.nanmean(errors, axis=0)
        row = [f"{np.nanmean(errors):.2f}", f"{ranks_agree(np.where(np.isnan(later), np.nan, predicted), later):.3f}"]
        table.add_row(label, f"{in_sample(make, data).mean():.2f}", f"{apart[label].mean():.2f}", *row)
    paired = [mean_and_half_width(own["Shared"] - own["RF+RF"]) for own in (apart, ahead)]
    table.add_row("Shared - RF+RF", "", *(f"{mean:+.2f} ± {half_width:.2f}" for mean, half_width in paired), "")
    mean_only = np.repeat(np.nanmedian(watts, axis=0)[None], len(watts), axis=0)
    table.add_row(
        "the class's median",
        f"{np.nanmean(percent_off(mean_only, watts)):.2f}",
        "-",
        f"{np.nanmean(percent_off(mean_only, later)):.2f}",
        "-",
    )
    own = f"{np.nanmean(percent_off(watts, later)):.2f}", f"{ranks_agree(watts, later):.3f}"
    table.add_row("the same cell of 2020, where measured", "0.00", "-", *own)
    return table


def titanx_carried_over() -> Table:
    """Fitted on micro-benchmarks of a card, asked for real applications on it."""
    micro = power_data.gpmtool("titanx_micro", "")
    real = power_data.gpmtool("titanx_real_all_frequencies_power", "")
    # FP32 and FP64 each as one, as the applications' file has them.
    parts = [micro.features[:, :3].sum(axis=1), micro.features[:, 3], micro.features[:, 4:7].sum(axis=1)]
    features = np.column_stack([*parts, micro.features[:, 7:]])
    table = _table("Titan X: fitted on 102 micro-benchmarks, MAPE, % on 35 applications", ["model", "MAPE", "worst"])
    for label, make in MODELS.items():
        errors = by_group(percent_off(make().fit(features, micro.power_w).predict(real.features), real.power_w), real)
        table.add_row(label, f"{errors.mean():.2f}", f"{errors.max():.2f}")
    return table


def _table(title: str, columns: list[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left")
    for number, name in enumerate(columns):
        table.add_column(name, justify="left" if number == 0 else "right")
    return table


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("sets", "devices", "gpus", "m100"))
    parser.add_argument("--quick", action="store_true", help="fewer data sets, sockets and draws")
    given = parser.parse_args()
    out = console()
    out.width = max(out.width, 150)
    parts: dict[str, Callable[[], object]] = {
        "sets": lambda: _sets(out, ["hkbu", "gtx980"] if given.quick else list(SETS)),
        "devices": lambda: out.print(devices(["titanx"] if given.quick else ["dcgm", "titanx", "hkbu"], 8)),
        "gpus": lambda: out.print(gpus(4 if given.quick else 30)),
        "m100": lambda: out.print(m100(100 if given.quick else 400)),
    }
    for name, show in parts.items():
        if given.only in (None, name):
            show()


def _sets(out: object, names: list[str]) -> None:
    table, gains = sets(names)
    out.print(table)
    for what, own in (
        ("several devices", [gain for name, gain in gains.items() if "kepler" not in name]),
        ("one device, samples in time", [gain for name, gain in gains.items() if "kepler" in name]),
    ):
        if own:
            every = np.concatenate(own)
            mean, half_width = mean_and_half_width(every)
            pairs = f"{len(every)} applications of {len(own)} held-out sets"
            out.print(f"Shared - RF+RF, left out, {what}, {pairs}: {mean:+.2f} ± {half_width or 0:.2f} points")
    out.print(titanx_carried_over())


if __name__ == "__main__":
    main()
