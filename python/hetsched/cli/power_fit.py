"""``hetsched power fit``: from counters and measured watts to a fitted model in a file."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

from hetsched.checks import Faults, few, many
from hetsched.cli import options as opt
from hetsched.cli import power_models as own
from hetsched.cli.declare import OUTPUT, completing, option
from hetsched.cli.options import check_output, file
from hetsched.cli.terminal import Screen

if TYPE_CHECKING:
    from hetsched.power import PowerModel
    from hetsched.power.feature_files import Features, Watts

_MODEL_HELP = f"One of {', '.join(own.MODELS)}, or NAME:PARAM=VALUE."


def fit(
    screen: Screen,
    faults: Faults,
    features: own.FeaturesFile,
    power: own.WattsFile,
    *,
    out: Annotated[str, option("--out", "MODEL", "Write the model there.", OUTPUT, read=file)],
    model: Annotated[
        str, option("--model", "NAME", _MODEL_HELP, own.MODEL, complete=completing(own.MODELS))
    ] = "two-stage",
    learners: own.Learners,
    seed: Annotated[int, opt.seed(own.MOST_SEED)] = 0,
) -> None:
    """Fit a model of each device's draw, and write it to a file."""
    made = own.made_models(faults, [model], learners, seed)
    faults.check()
    check_output(files=[out])
    known, watts = own.read_files(features, power, screen)
    began = time.perf_counter()
    with own.fitting(model, known.path, watts.path):
        fitted = made[model].fit(known.frame, watts.power_w, device_names=watts.devices)
    took_s = time.perf_counter() - began
    fitted.write(out)
    _show(screen, model, fitted, known, watts, took_s=took_s, out=out)


def _show(
    screen: Screen, text: str, model: PowerModel, features: Features, watts: Watts, *, took_s: float, out: str
) -> None:
    from hetsched.power import mape

    error = mape(watts.power_w, model.predict(features.values))
    screen.say(f"{text} on {many(len(watts.devices), 'device')}, in {took_s:.2f} s")
    fallback = [watts.devices[one] for one in getattr(model, "fallback_devices_", ())]
    if fallback:
        screen.say(f"too few applications for a model of its own, so a mean of what was measured: {few(fallback)}")
    screen.say(
        f"MAPE {error:.2f} % in sample, on what it was fitted on; power evaluate tells it for applications left out"
    )
    unmeasured = [features.apps[one] for one in model.unmeasured_apps_]
    screen.give(
        {
            "summary": {
                "apps": len(features.apps) - len(unmeasured),
                "features": len(features.names),
                "devices": len(watts.devices),
                "cells": int(watts.is_measured.sum()),
                "mape_in_sample_percent": error,
            },
            "model": own.described(model),
            "features": list(features.names),
            "devices": list(model.device_names_),
            "fallback_devices": fallback,
            "unmeasured_apps": unmeasured,
            "runs": watts.runs,
            "dropped": watts.dropped,
            "timing": {"fit_s": took_s},
        },
        [out],
    )
