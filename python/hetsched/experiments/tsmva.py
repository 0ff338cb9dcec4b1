"""``tsmva``: two-stage power models and their rivals (VAHRM paper, section VI-A, Fig. 5 and Table VI).

The paper's counters and watts are not public, so devices and kernels of the same numbers are drawn, again for each
repetition. Errors are in-sample, which the paper's must be, and on kernels that were left out of the fit; then on a new
device that has run a few kernels only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.chance import stream
from hetsched.experiments.claims import statement, value
from hetsched.experiments.experiment import Experiment, Floats, Parameters, Repetition, Row, assumed
from hetsched.experiments.runs import Runs, panels
from hetsched.experiments.vahrm.system import SOURCE
from hetsched.power import PowerModel, PowerRatio, SharedResponse, SingleStage, TwoStage
from hetsched.power.synthetic import DEVICE_TYPES, Profiles, Spread, synthetic_profiles
from hetsched.report.experiment import curve

Places = npt.NDArray[np.intp]

OURS = "shared response"
MODELS: Mapping[str, PowerModel] = MappingProxyType(
    {
        "LR": SingleStage("linear"),
        "RF": SingleStage("random_forest"),
        "LR+RF": TwoStage("linear", "random_forest"),
        "RF+RF": TwoStage("random_forest", "random_forest"),
        "power ratio": PowerRatio("random_forest"),
        OURS: SharedResponse(),
    }
)
"""By the paper's names, and two more."""

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
    """Numbers of devices."""

    fitted: int | None  # of a type; None: as many as the paper measured
    seen: int  # in-sample
    left_out: int  # where kernels are left out
    new: int  # that have run a few kernels
    among: int  # new ones and those that have run every kernel


WHOLE = Size(fitted=None, seen=24, left_out=6, new=12, among=32)
QUICK = Size(fitted=32, seen=12, left_out=3, new=6, among=16)

_UNDISCLOSED = "the kernels, their counters, and the watts measured"


def _declare_sizes(parameters: Parameters, size: Size, *, kernels: int) -> Parameters:
    parameters.assumed("in_sample_devices", size.seen, "drawn among all devices; errors are means over them")
    parameters.assumed("left_out", {"devices": size.left_out, "kernels": kernels}, "each kernel by itself")
    parameters.assumed("new", {"devices": size.new, "among": size.among}, "the others have run every kernel")
    return parameters


P = Parameters()
P.printed("devices", {kind: own.devices for kind, own in DEVICE_TYPES.items()})
P.printed("kernels", {kind: own.apps for kind, own in DEVICE_TYPES.items()}, "drawn again each time")
P.printed("features", {k: ", ".join(own.components) for k, own in DEVICE_TYPES.items()}, "as rates")
P.assumed("spread", asdict(Spread()), "standard deviations, relative, of what `Spread` names")
for _kind, _own in DEVICE_TYPES.items():
    P.assumed(
        f"{_kind}_w",
        {"static": _own.static_w, "tdp": _own.tdp_w, **dict(zip(_own.components, _own.peak_w, strict=True))},
        "from data sheets: watts while idle, at most, and of each component at its peak rate",
    )
_declare_sizes(P, WHOLE, kernels=LEFT_OUT_APPS)
P.assumed("trees", 100, "with all else of a forest as scikit-learn has it")


def _repeat(repetition: Repetition) -> list[dict[str, Any]]:
    seed, size = repetition.seed, QUICK if repetition.is_quick else WHOLE
    rows: list[dict[str, Any]] = []
    for kind in TYPES:
        drawn = synthetic_profiles(kind, seed=seed, devices=size.fitted)
        rng = stream(seed, f"tsmva.{kind}")
        seen, devices, apps = _chosen(drawn, rng, size)
        rows += _seen(kind, drawn, seen)
        rows += _left_out(kind, drawn, devices, apps[::2])
        if kind in NEW_TYPES:
            rows += _new(kind, drawn, rng, size)
    return rows


def _other_left_out(repetition: Repetition) -> list[dict[str, Any]]:
    """The other half of the kernels that are left out, each of which needs every model fitted again."""
    seed = repetition.seed
    rows: list[dict[str, Any]] = []
    for kind in TYPES:
        drawn = synthetic_profiles(kind, seed=seed)
        _, devices, apps = _chosen(drawn, stream(seed, f"tsmva.{kind}"), WHOLE)
        rows += _left_out(kind, drawn, devices, apps[1::2])
    return rows


def _chosen(drawn: Profiles, rng: np.random.Generator, size: Size) -> tuple[Places, Places, Places]:
    """Devices evaluated in-sample, devices evaluated on kernels left out, and these kernels."""
    devices, apps = drawn.power_w.shape
    return _some(rng, devices, size.seen), _some(rng, devices, size.left_out), _some(rng, apps, LEFT_OUT_APPS)


def _seen(kind: str, drawn: Profiles, devices: Places) -> Iterator[dict[str, Any]]:
    for label in MODELS:
        found = MODELS[label].unfitted().fit(drawn.features, drawn.power_w).predict(drawn.features)
        errors = _percent_off(found, drawn.power_w)[devices].mean(axis=0)
        for app, error in zip(drawn.apps, errors, strict=True):
            yield _row(kind, label, SEEN, app, error)


def _left_out(kind: str, drawn: Profiles, devices: Places, apps: Places) -> Iterator[dict[str, Any]]:
    for app in apps:
        others = np.arange(len(drawn.apps)) != app
        fitted = drawn.features[others], drawn.power_w[:, others]
        for label in MODELS:
            found = MODELS[label].unfitted().fit(*fitted).predict(drawn.features[[app]])
            error = _percent_off(found, drawn.power_w[:, [app]])[devices].mean()
            yield _row(kind, label, LEFT_OUT, drawn.apps[app], error)


def _new(kind: str, drawn: Profiles, rng: np.random.Generator, size: Size) -> Iterator[dict[str, Any]]:
    """Devices that have run a few kernels: errors on the others, which the other devices have run."""
    power_w = drawn.power_w[: size.among]
    order = np.array([rng.permutation(len(drawn.apps)) for _ in range(size.new)])
    for runs in _new_runs(kind):
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


def _rows(frame: pl.DataFrame) -> list[Row]:
    errors = Runs(frame, each="app")
    kinds = {name: errors.where(scenario=kind) for kind, name in TYPES.items()}
    return [
        *(row for kind, name in TYPES.items() for row in _printed(kinds[name], kind, name)),
        *(row for name, own in kinds.items() for row in _unseen(own, name)),
        *(row for kind in NEW_TYPES for row in _fresh(kinds[TYPES[kind]], kind)),
    ]


def _error(errors: Runs, label: str, split: str) -> Floats:
    """Mean over kernels."""
    return errors.mean("mape_percent", label, split=split)


def _after(errors: Runs, label: str, runs: int) -> Floats:
    """Error on new devices."""
    return errors.mean("mape_percent", label, split=NEW, app=f"after {runs}")


def _new_runs(kind: str) -> list[int]:
    """Numbers of test runs with errors: fewer than there are kernels."""
    return [runs for runs in NEW_RUNS if runs < DEVICE_TYPES[kind].apps]


def _printed(errors: Runs, kind: str, name: str) -> list[Row]:
    """In-sample errors against the paper's, and the order that has to hold."""
    seen = {label: _error(errors, label, SEEN) for label in MODELS}
    rows = [
        value(f"{label}, in-sample, {name}, %", seen[label], paper=paper, undisclosed=_UNDISCLOSED)
        for label, paper in PAPER_MEAN[kind].items()
    ]
    if kind == "p100":
        rows += [
            value(
                f"{label}, in-sample, {name}, the worst kernel, %",
                errors.values("mape_percent", label, split=SEEN).max(axis=1),
                paper=paper,
                undisclosed=_UNDISCLOSED,
            )
            for label, paper in PAPER_MOST.items()
        ]
    claim = "a second stage brings the prediction nearer to what was measured"
    for one, two in (("LR", "LR+RF"), ("RF", "RF+RF")):
        rows.append(statement(f"{one} - {two}, in-sample, {name}, points", seen[one] - seen[two], claim=claim))
    return [*rows, _smaller(f"beyond: {OURS}, in-sample, {name}, %", seen[OURS], seen["RF+RF"])]


def _unseen(errors: Runs, name: str) -> list[Row]:
    """Errors on kernels that were left out."""
    apart = {label: _error(errors, label, LEFT_OUT) for label in MODELS}
    more = {
        label: ("left out less in-sample", apart[label] - _error(errors, label, SEEN))
        for label in MODELS
        if label != OURS
    }
    return [
        *(
            statement(f"{label}, left out, {name}, %", apart[label], tested=own, claim="larger than in-sample")
            for label, own in more.items()
        ),
        _smaller(f"beyond: {OURS}, left out, {name}, %", apart[OURS], apart["RF+RF"]),
        *(
            statement(
                f"beyond: {label} - {OURS}, left out, {name}, points",
                apart[label] - apart[OURS],
                claim=f"nearer than {label} on kernels that neither has seen",
            )
            for label in ("RF+RF", "LR+RF")
        ),
    ]


def _fresh(errors: Runs, kind: str) -> list[Row]:
    """Errors on new devices, by number of test runs."""
    return [
        _smaller(
            f"beyond: {OURS}, new {TYPES[kind]}, {runs} test {'run' if runs == 1 else 'runs'}, %",
            _after(errors, OURS, runs),
            _after(errors, "RF+RF", runs),
        )
        for runs in _new_runs(kind)
    ]


def _smaller(quantity: str, ours: Floats, rival: Floats) -> Row:
    return statement(quantity, ours, tested=("RF+RF's less its own", rival - ours), claim="smaller than RF+RF's")


def _drawn(frame: pl.DataFrame) -> pl.DataFrame:
    """The curves of two figures: errors from the nearest to the farthest kernel, and of new devices."""
    errors = {kind: Runs(frame, each="app", scenario=kind) for kind in TYPES}

    def by_kernel(split: str, kind: str, label: str) -> Floats:
        return np.quantile(errors[kind].values("mape_percent", label, split=split), QUANTILES, axis=1).T

    kernels = panels(
        {f"error, {split} (%)": split for split in (SEEN, LEFT_OUT)},
        {name: kind for kind, name in TYPES.items()},
        MODELS,
        by_kernel,
        figure="kernels",
        ticks=[f"{quantile:.0%}"[:-1] if place % 5 == 0 else "" for place, quantile in enumerate(QUANTILES)],
        x_label="kernels with a smaller error (%)",
    )
    new = [
        curve(
            np.column_stack([_after(errors[kind], label, own) for own in runs]),
            figure="new-devices",
            row="error on other kernels (%)",
            column=TYPES[kind],
            label=label,
            ticks=[str(own) for own in runs],
            x=np.log2(runs).tolist(),
            x_label="test runs on the new device",
        )
        for kind in NEW_TYPES
        for runs in [_new_runs(kind)]
        for label in NEW_MODELS
    ]
    return pl.concat([kernels, *new])


EXPERIMENTS = (
    Experiment(
        name="tsmva",
        no_shares="it predicts watts and places no jobs",
        source=f"{SOURCE}, section VI-A",
        parameters=P,
        policies={label: repr(model) for label, model in MODELS.items()},
        repeat=_repeat,
        rows=_rows,
        savings=_drawn,
        repetitions=REPETITIONS,
        further=_other_left_out,
        further_repetitions=REPETITIONS,
        quick_parameters=_declare_sizes(
            Parameters([assumed("devices", dict.fromkeys(TYPES, QUICK.fitted))]), QUICK, kernels=LEFT_OUT_APPS // 2
        ),
    ),
)
"""Figure 5 and Table VI of the paper."""
