"""``tsmva``: two-stage power models and their rivals (VAHRM paper, section VI-A, Fig. 5 and Table VI).

The paper's counters and watts are not public, so devices and kernels of the same numbers are drawn, again for each
repetition. Errors are told in-sample, which the paper's must be, and on kernels that were left out of the fit; then for
a new device that has run a few kernels only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.chance import stream
from hetsched.experiments.claims import statement, value
from hetsched.experiments.experiment import Experiment, Parameter, Repetition, Row
from hetsched.experiments.tsmva_models import MODELS, OURS, predicted_w
from hetsched.experiments.tsubame import SOURCE
from hetsched.power.synthetic import DEVICE_TYPES, Profiles, Spread, synthetic_profiles
from hetsched.report.panel_figure import curve, panel_figure

__all__ = ["EXPERIMENT"]

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

TYPES = {"p100": "P100", "v100": "V100", "xeon": "Xeon"}
PAPER_MEAN = {
    "p100": {"LR": 5.4, "RF": 4.6, "LR+RF": 2.12, "RF+RF": 1.54},
    "v100": {"LR": 15.04, "RF": 8.51, "LR+RF": 5.31, "RF+RF": 3.05},
    "xeon": {"LR": 5.03, "RF": 3.18, "LR+RF": 2.83, "RF+RF": 1.69},
}
PAPER_MOST = {"LR": 35.76, "RF": 26.45, "LR+RF": 13.58, "RF+RF": 7.64}
SEEN, LEFT_OUT, NEW = "in-sample", "left out", "new device"
REPETITIONS = 20
LEFT_OUT_APPS = 6
NEW_TYPES = ("p100", "xeon")
NEW_RUNS = (1, 2, 3, 5, 10, 20)
NEW_MODELS = ("power ratio", "RF+RF", OURS)
QUANTILES = np.linspace(0.0, 1.0, 11)


@dataclass(frozen=True)
class Size:
    """How many devices are looked at.

    Parameters
    ----------
    seen
        In-sample.
    left_out
        Where kernels are left out.
    new, among
        New ones, and all that these and those that have run every kernel make up together.
    """

    seen: int
    left_out: int
    new: int
    among: int


WHOLE, QUICK = Size(seen=24, left_out=6, new=12, among=32), Size(seen=12, left_out=3, new=6, among=16)

_UNDISCLOSED = "the kernels, their counters, and the watts measured"


def _sizes(size: Size, *, kernels: int) -> tuple[Parameter, ...]:
    seen, alone, full = (
        "drawn among all devices; errors are means over them",
        "each kernel by itself",
        "the others have run every kernel",
    )
    return (
        Parameter("in_sample_devices", size.seen, f"assumed: {seen}"),
        Parameter("left_out", {"devices": size.left_out, "kernels": kernels}, f"assumed: {alone}"),
        Parameter("new", {"devices": size.new, "among": size.among}, f"assumed: {full}"),
    )


PARAMETERS = (
    Parameter("devices", {kind: own.devices for kind, own in DEVICE_TYPES.items()}, "printed"),
    Parameter("kernels", {kind: own.apps for kind, own in DEVICE_TYPES.items()}, "printed; drawn anew each time"),
    Parameter("features", {k: ", ".join(own.components) for k, own in DEVICE_TYPES.items()}, "printed; as rates"),
    Parameter("spread", asdict(Spread()), "assumed: standard deviations, relative, of what `Spread` names"),
    *(
        Parameter(
            f"{kind}_w",
            {"static": own.static_w, "tdp": own.tdp_w, **dict(zip(own.components, own.peak_w, strict=True))},
            "assumed, from data sheets: watts while idle, at most, and of each component at its peak rate",
        )
        for kind, own in DEVICE_TYPES.items()
    ),
    *_sizes(WHOLE, kernels=LEFT_OUT_APPS),
    Parameter("trees", 100, "assumed, with all else of a forest as scikit-learn has it"),
)


def _repeat(repetition: Repetition) -> list[dict[str, Any]]:
    seed, size = repetition.seed, QUICK if repetition.is_quick else WHOLE
    rows: list[dict[str, Any]] = []
    for kind in TYPES:
        drawn = synthetic_profiles(kind, seed=seed)
        rng = stream(seed, f"tsmva.{kind}")
        seen, devices, apps = _chosen(drawn, rng, size)
        rows += _seen(kind, drawn, seen)
        rows += _left_out(kind, drawn, devices, apps[::2])
        if kind in NEW_TYPES:
            rows += _new(kind, drawn, rng, size)
    return rows


def _other_left_out(repetition: Repetition) -> list[dict[str, Any]]:
    """The other half of the kernels that are left out, each of which asks for every model anew."""
    seed = repetition.seed
    rows: list[dict[str, Any]] = []
    for kind in TYPES:
        drawn = synthetic_profiles(kind, seed=seed)
        _, devices, apps = _chosen(drawn, stream(seed, f"tsmva.{kind}"), WHOLE)
        rows += _left_out(kind, drawn, devices, apps[1::2])
    return rows


def _chosen(drawn: Profiles, rng: np.random.Generator, size: Size) -> tuple[Places, Places, Places]:
    """Devices that are looked at in-sample, those that are where kernels are left out, and these kernels."""
    devices, apps = drawn.power_w.shape
    return _some(rng, devices, size.seen), _some(rng, devices, size.left_out), _some(rng, apps, LEFT_OUT_APPS)


def _seen(kind: str, drawn: Profiles, devices: Places) -> Iterator[dict[str, Any]]:
    for label in MODELS:
        found = predicted_w(label, drawn.features, drawn.power_w, drawn.features, devices)
        errors = _percent_off(found, drawn.power_w[devices]).mean(axis=0)
        for app, error in zip(drawn.apps, errors, strict=True):
            yield _row(kind, label, SEEN, app, error)


def _left_out(kind: str, drawn: Profiles, devices: Places, apps: Places) -> Iterator[dict[str, Any]]:
    for app in apps:
        others = np.arange(len(drawn.apps)) != app
        fitted = drawn.features[others], drawn.power_w[:, others]
        for label in MODELS:
            found = predicted_w(label, *fitted, drawn.features[[app]], devices)
            error = _percent_off(found, drawn.power_w[np.ix_(devices, [app])]).mean()
            yield _row(kind, label, LEFT_OUT, drawn.apps[app], error)


def _new(kind: str, drawn: Profiles, rng: np.random.Generator, size: Size) -> Iterator[dict[str, Any]]:
    """Devices that have run a few kernels: errors on the others, which the other devices have run."""
    power_w = drawn.power_w[: size.among]
    order = np.array([rng.permutation(len(drawn.apps)) for _ in range(size.new)])
    for runs in NEW_RUNS:
        if runs >= len(drawn.apps):
            continue
        known = power_w.copy()
        np.put_along_axis(known[: size.new], order[:, runs:], np.nan, axis=1)
        for label in NEW_MODELS:
            # The reference device of the ratio has run everything.
            model = MODELS[label].unfitted()
            if label == "power ratio":
                model.set_params(reference_device=size.among - 1)
            found = model.fit(drawn.features, known).predict(drawn.features)
            error = _percent_off(found, power_w)[np.isnan(known)].mean()
            yield _row(kind, label, NEW, f"after {runs}", error)


def _some(rng: np.random.Generator, among: int, count: int) -> Places:
    return np.sort(rng.permutation(among)[:count])


def _percent_off(found: Floats, actual: Floats) -> Floats:
    return np.asarray(100.0 * np.abs(found / actual - 1.0))


def _row(kind: str, label: str, split: str, app: str, error: Any) -> dict[str, Any]:
    return {"scenario": kind, "policy": label, "split": split, "app": app, "mape_percent": float(error)}


class _Errors:
    """Errors of the frame, one a repetition."""

    def __init__(self, frame: pl.DataFrame) -> None:
        keys = ["scenario", "policy", "split", "repetition"]
        own = pl.col("mape_percent")
        whole = frame.group_by(keys, maintain_order=True).agg(mean=own.mean(), most=own.max(), each=own)
        self._of = {row[:3]: rows for row, rows in whole.group_by(keys[:3], maintain_order=True)}
        self._frame = frame

    def mean(self, kind: str, label: str, split: str) -> Floats:
        """Over kernels."""
        return self._of[kind, label, split]["mean"].to_numpy()

    def most(self, kind: str, label: str, split: str) -> Floats:
        """Of the kernel that is farthest off."""
        return self._of[kind, label, split]["most"].to_numpy()

    def quantiles(self, kind: str, label: str, split: str) -> Floats:
        """From the nearest kernel to the farthest, shape (repetitions, quantiles)."""
        return np.array([np.quantile(own, QUANTILES) for own in self._of[kind, label, split]["each"].to_list()])

    def after(self, kind: str, label: str, runs: int) -> Floats:
        """Of new devices."""
        own = self._frame.filter(scenario=kind, policy=label, split=NEW, app=f"after {runs}")
        return own["mape_percent"].to_numpy()


def _rows(frame: pl.DataFrame) -> list[Row]:
    errors = _Errors(frame)
    rows = []
    for kind, name in TYPES.items():
        rows += _printed(errors, kind, name)
    for kind, name in TYPES.items():
        rows += _unseen(errors, kind, name)
    return [*rows, *(row for kind in NEW_TYPES for row in _fresh(errors, kind, TYPES[kind]))]


def _printed(errors: _Errors, kind: str, name: str) -> list[Row]:
    """In-sample errors beside the paper's, and the order that has to hold."""
    rows = [
        value(f"{label}, in-sample, {name}, %", errors.mean(kind, label, SEEN), paper=paper, undisclosed=_UNDISCLOSED)
        for label, paper in PAPER_MEAN[kind].items()
    ]
    if kind == "p100":
        rows += [
            value(
                f"{label}, in-sample, {name}, the worst kernel, %",
                errors.most(kind, label, SEEN),
                paper=paper,
                undisclosed=_UNDISCLOSED,
            )
            for label, paper in PAPER_MOST.items()
        ]
    for one, two in (("LR", "LR+RF"), ("RF", "RF+RF")):
        gain = errors.mean(kind, one, SEEN) - errors.mean(kind, two, SEEN)
        claim = "a second stage brings the prediction nearer to what was measured"
        rows.append(statement(f"{one} - {two}, in-sample, {name}, points", gain, claim=claim))
    rivals, ours = errors.mean(kind, "RF+RF", SEEN), errors.mean(kind, OURS, SEEN)
    ahead = ("RF+RF's less its own", rivals - ours)
    quantity = f"beyond: {OURS}, in-sample, {name}, %"
    return [*rows, statement(quantity, ours, tested=ahead, claim="smaller than RF+RF's")]


def _unseen(errors: _Errors, kind: str, name: str) -> list[Row]:
    """Errors on kernels that were left out."""
    rows = []
    for label in MODELS:
        if label == OURS:
            continue
        own = errors.mean(kind, label, LEFT_OUT)
        ahead = ("left out less in-sample", own - errors.mean(kind, label, SEEN))
        quantity = f"{label}, left out, {name}, %"
        rows.append(statement(quantity, own, tested=ahead, claim="larger than in-sample"))
    ours = errors.mean(kind, OURS, LEFT_OUT)
    rows.append(_smaller(f"beyond: {OURS}, left out, {name}, %", ours, errors.mean(kind, "RF+RF", LEFT_OUT)))
    for label in ("RF+RF", "LR+RF"):
        gain = errors.mean(kind, label, LEFT_OUT) - ours
        claim = f"nearer than {label} on kernels that neither has seen"
        rows.append(statement(f"beyond: {label} - {OURS}, left out, {name}, points", gain, claim=claim))
    return rows


def _fresh(errors: _Errors, kind: str, name: str) -> list[Row]:
    """Errors on new devices, with how many test runs."""
    rows = []
    for runs in NEW_RUNS:
        ours, rival = errors.after(kind, OURS, runs), errors.after(kind, "RF+RF", runs)
        if len(ours):
            times = "run" if runs == 1 else "runs"
            rows.append(_smaller(f"beyond: {OURS}, new {name}, {runs} test {times}, %", ours, rival))
    return rows


def _smaller(quantity: str, ours: Floats, rival: Floats) -> Row:
    return statement(quantity, ours, tested=("RF+RF's less its own", rival - ours), claim="smaller than RF+RF's")


def _drawn(frame: pl.DataFrame) -> pl.DataFrame:
    """The curves of two figures: errors from the nearest to the farthest kernel, and of new devices."""
    errors = _Errors(frame)
    share = [f"{quantile:.0%}"[:-1] if place % 5 == 0 else "" for place, quantile in enumerate(QUANTILES)]
    kernels = [
        curve(
            errors.quantiles(kind, label, split),
            figure="kernels",
            row=f"error, {split} (%)",
            column=name,
            label=label,
            ticks=share,
            x_label="kernels with a smaller error (%)",
        )
        for split in (SEEN, LEFT_OUT)
        for kind, name in TYPES.items()
        for label in MODELS
    ]
    return pl.concat([*kernels, *(_new_curve(errors, kind, label) for kind in NEW_TYPES for label in NEW_MODELS)])


def _new_curve(errors: _Errors, kind: str, label: str) -> pl.DataFrame:
    runs = [own for own in NEW_RUNS if len(errors.after(kind, label, own))]
    return curve(
        np.array([errors.after(kind, label, own) for own in runs]).T,
        figure="new-devices",
        row="error on other kernels (%)",
        column=TYPES[kind],
        label=label,
        ticks=[str(own) for own in runs],
        x=np.log2(runs).tolist(),
        x_label="test runs on the new device",
    )


EXPERIMENT = Experiment(
    name="tsmva",
    source=f"{SOURCE}, section VI-A",
    parameters=PARAMETERS,
    policies={label: repr(model) for label, model in MODELS.items()},
    repetitions=REPETITIONS,
    quick_repetitions=4,
    repeat=_repeat,
    rows=_rows,
    savings=_drawn,
    draw=panel_figure,
    beside=_other_left_out,
    beside_repetitions=REPETITIONS,
    quick_parameters=_sizes(QUICK, kernels=LEFT_OUT_APPS // 2),
)
"""Figure 5 and Table VI of the paper."""
