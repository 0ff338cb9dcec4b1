"""Speed at which models of device power learn and predict, next to a loop over scikit-learn's own regressors.

    python benches/python/power.py [--quick] [--limit S]

Every way works in a process of its own, pinned to one core; times are CPU seconds, the median of a few runs.
The made-up devices differ in level, gain and every application. As many applications as are learned are kept apart: the
error on them shows what the speed costs. Errors well above those of scikit-learn's loop make the run fail; speed never
does. Needs LightGBM: ``pip install "hetsched[models]"``.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import measure

Matrix = npt.NDArray[np.float64]

SAME = 1.1
"""How many times the error of scikit-learn's loop ours may be."""


@dataclass(frozen=True)
class Work:
    """A model that learns a table and predicts another.

    Parameters
    ----------
    way
        One of `WAYS`.
    devices, apps, asked
        How many devices and applications it learns, and how many applications it is asked for.
    reach_s
        What fitting and predicting should take together.
    reach_predict_s
        What predicting should take.
    """

    way: str
    devices: int
    apps: int
    asked: int
    reach_s: float | None = None
    reach_predict_s: float | None = None

    @property
    def size(self) -> str:
        """Such as ``256x48``."""
        return f"{self.devices:,}x{self.asked}"


def works(*, quick: bool) -> list[Work]:
    """Works measured: fitting a table of the paper's size, and predicting one of a large machine's."""
    devices, apps, nodes, asked = (12, 16, 40, 10) if quick else (256, 48, 10_000, 100)
    table = [
        Work("linear two-stage", devices, apps, apps, reach_s=1.0),
        Work("scikit-learn linear two-stage", devices, apps, apps),
        Work("lightgbm two-stage", devices, apps, apps, reach_s=1.0),
        Work("forest two-stage", devices, apps, apps, reach_s=10.0),
        Work("scikit-learn forest two-stage", devices, apps, apps),
        Work("forest single-stage", devices, apps, apps),
        Work("scikit-learn forest single-stage", devices, apps, apps),
    ]
    machine = [
        Work("linear two-stage", nodes, apps, asked, reach_predict_s=1.0),
        Work("lightgbm two-stage", nodes // 10, apps, asked),
        Work("forest two-stage", nodes // 10, apps, asked),
    ]
    return [*table, *machine]


# --- What is learned, and by whom: runs in a process of its own -----------------------------------------------------


def profiles(devices: int, apps: int) -> tuple[Matrix, Matrix]:
    """Six rates, and watts that bend with them."""
    rng = np.random.Generator(np.random.PCG64(1))
    features = rng.lognormal(0.0, 0.6, (apps, 6))
    busy = 1.0 - np.exp(-features @ np.array([0.3, 0.25, 0.2, 0.1, 0.1, 0.05]))
    base = 60.0 + 200.0 * busy + 15.0 * np.sqrt(features[:, 0] * features[:, 3])
    gain, level = rng.normal(1.0, 0.05, (devices, 1)), rng.normal(0.0, 4.0, (devices, 1))
    return features, base * gain + level + rng.normal(0.0, 1.5, (devices, apps))


class Loop:
    """The plain way: a regressor for each device, and before it one for their mean if there are two stages."""

    def __init__(self, make: Callable[[], Any], *, stages: int) -> None:
        self.make = make
        self.stages = stages

    def fit(self, features: Matrix, power_w: Matrix) -> Loop:
        self.mean = self.make().fit(features, power_w.mean(axis=0)) if self.stages == 2 else None
        self.devices = [self.make().fit(features, target) for target in power_w - self.base(features)]
        return self

    def predict(self, features: Matrix) -> Matrix:
        return self.base(features) + np.array([device.predict(features) for device in self.devices])

    def base(self, features: Matrix) -> Matrix:
        return np.zeros(len(features)) if self.mean is None else self.mean.predict(features)


def ours(model: str, *learners: str) -> Any:
    return getattr(importlib.import_module("hetsched.power"), model)(*learners)


def forest() -> Any:
    return importlib.import_module("sklearn.ensemble").RandomForestRegressor(random_state=0, n_jobs=1)


def line() -> Any:
    return importlib.import_module("sklearn.linear_model").LinearRegression()


WAYS: dict[str, Callable[[], Any]] = {
    "linear two-stage": lambda: ours("TwoStage", "linear", "linear"),
    "lightgbm two-stage": lambda: ours("TwoStage", "lightgbm", "lightgbm"),
    "forest two-stage": lambda: ours("TwoStage", "random_forest", "random_forest"),
    "forest single-stage": lambda: ours("SingleStage", "random_forest"),
    "scikit-learn linear two-stage": lambda: Loop(line, stages=2),
    "scikit-learn forest two-stage": lambda: Loop(forest, stages=2),
    "scikit-learn forest single-stage": lambda: Loop(forest, stages=1),
}


def timed(task: dict[str, Any]) -> dict[str, float]:
    """Median seconds of fitting and predicting, and the errors."""
    mape = importlib.import_module("hetsched.power").mape
    features, power_w = profiles(task["devices"], 2 * task["apps"])
    seen, unseen = slice(task["apps"]), slice(task["apps"], None)
    asked = np.resize(features, (task["asked"], features.shape[1]))
    # Libraries are loaded before the clock starts.
    WAYS[task["way"]]().fit(features[seen], power_w[:1, seen]).predict(asked)
    fits: list[float] = []
    predicts: list[float] = []
    while not fits or (len(fits) < 5 and sum(fits) < 3.0):
        start = time.process_time()
        model = WAYS[task["way"]]().fit(features[seen], power_w[:, seen])
        middle = time.process_time()
        model.predict(asked)
        fits.append(middle - start)
        predicts.append(time.process_time() - middle)
    return {
        "fit_s": statistics.median(fits),
        "predict_s": statistics.median(predicts),
        "seen_percent": mape(power_w[:, seen], model.predict(features[seen])),
        "unseen_percent": mape(power_w[:, unseen], model.predict(features[unseen])),
    }


# --- The comparison -------------------------------------------------------------------------------------------------

Run = dict[str, Any] | measure.RunError


def tried(work: Work, limit_s: float) -> Run:
    task = {**vars(work), "reach_s": None, "reach_predict_s": None}
    try:
        return measure.run("power.py", task, limit_s=limit_s)
    except measure.RunError as failure:
        return failure


def total(run: Run | None) -> float | None:
    return run["fit_s"] + run["predict_s"] if isinstance(run, dict) else None


def loop_of(work: Work, runs: dict[Work, Run]) -> Run | None:
    """Outcome of scikit-learn's loop of the same kind."""
    return next(
        (runs[other] for other in runs if other.way == f"scikit-learn {work.way}" and other.size == work.size), None
    )


def faults(runs: dict[Work, Run]) -> list[str]:
    """Runs that failed, and errors above those of scikit-learn's loop."""
    found = [f"{work.way}, {work.size}: {run}" for work, run in runs.items() if isinstance(run, measure.RunError)]
    for work, run in runs.items():
        loop = loop_of(work, runs)
        if isinstance(run, dict) and isinstance(loop, dict):
            found += [
                f"{work.way}: error of {run[name]:.3g} %, the loop's is {loop[name]:.3g} %"
                for name in ("seen_percent", "unseen_percent")
                if run[name] > SAME * loop[name] + 1e-6
            ]
    return found


def missed(work: Work, run: Run) -> list[str]:
    """Goals that are missed."""
    if isinstance(run, measure.RunError):
        return []
    taken = {"fit and predict": (total(run), work.reach_s), "predict": (run["predict_s"], work.reach_predict_s)}
    return [
        f"missed: {work.way}, {work.size}: {name} took {took:.2f} s, to be {reach:g} s"
        for name, (took, reach) in taken.items()
        if took is not None and reach is not None and took > reach
    ]


def shown(runs: dict[Work, Run]) -> Any:
    """The table, and below it what was missed and what failed."""
    from rich import box  # noqa: PLC0415 - not needed where a way is measured
    from rich.console import Group  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("model", no_wrap=True)
    for name in ("devices\nx apps", "fit\ns", "predict\ns", "loop's\nratio", "seen\n%", "unseen\n%"):
        table.add_column(name, justify="right", no_wrap=True)
    notes = ["Errors are MAPE on the applications that were learned, and on as many that were not."]
    for work, run in runs.items():
        if isinstance(run, measure.RunError):
            continue
        loop = total(loop_of(work, runs))
        ratio = "-" if loop is None else f"{loop / (run['fit_s'] + run['predict_s']):.1f} x"
        times = [f"{run[name]:.3f}" for name in ("fit_s", "predict_s")]
        errors = [f"{run[name]:.2f}" for name in ("seen_percent", "unseen_percent")]
        table.add_row(work.way, work.size, *times, ratio, *errors)
        notes += missed(work, run)
    return Group(table, *map(Text, notes), *(Text(fault, "bold red") for fault in faults(runs)))


def main() -> int:
    if len(sys.argv) == 2 and sys.argv[1].startswith("{"):
        measure.pinned()
        measure.answer(timed(measure.task()))
        return 0
    parser = argparse.ArgumentParser(description="Measure models of device power beside scikit-learn's regressors.")
    parser.add_argument("--quick", action="store_true", help="small tables")
    parser.add_argument("--limit", type=float, default=300, metavar="S", help="how long one way may take (300 s)")
    chosen = parser.parse_args()
    runs = {work: tried(work, chosen.limit) for work in works(quick=chosen.quick)}
    importlib.import_module("table").console().print(shown(runs))
    return 1 if faults(runs) else 0


if __name__ == "__main__":
    sys.exit(main())
