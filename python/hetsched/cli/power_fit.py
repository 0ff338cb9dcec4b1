"""``hetsched power fit``: from counters and measured watts to a fitted model in a file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hetsched.checks import Faults, can_name_a_file, few, many
from hetsched.cli import options as opt
from hetsched.cli import power_models as own
from hetsched.cli.pictures import check_folder
from hetsched.cli.terminal import Screen

if TYPE_CHECKING:
    from hetsched.power import PowerModel
    from hetsched.power.feature_files import Features, Watts


def fit(
    features: own.FeaturesFile,
    power: own.WattsFile,
    *,
    out: Annotated[
        str, typer.Option("--out", metavar="MODEL", help="Write the model there.", rich_help_panel="Output")
    ],
    model: Annotated[
        str,
        typer.Option(
            "--model",
            metavar="NAME",
            help=f"One of {', '.join(own.MODELS)}, or NAME:PARAM=VALUE.",
            autocompletion=own.complete_model,
            rich_help_panel="Model",
        ),
    ] = "two-stage",
    mean_model: own.MeanLearner = None,
    device_model: own.DeviceLearner = None,
    seed: opt.Seed = "0",
    as_json: opt.Json = False,
    debug: opt.Debug = False,
) -> None:
    """Fit a model of what every device draws, and write it to a file."""
    del debug
    screen = Screen(as_json=as_json)
    faults = Faults()
    draws = opt.whole(faults, "--seed", seed, low=0, high=2**32 - 1)
    made = own.Models([model], mean_model, device_model, seed=draws).made(faults)
    if not out or not can_name_a_file(out) or Path(out).is_dir():
        faults.add("--out", out, "a file's name")
    faults.check()
    check_folder(str(Path(out).parent))
    known, watts = own.read_files(features, power, screen)
    began = time.perf_counter()
    with own.fitting(model, known.path, watts.path):
        fitted = made[model].fit(known.frame, watts.power_w, device_names=watts.devices)
    took_s = time.perf_counter() - began
    fitted.save(out)
    _show(screen, model, fitted, known, watts, took_s=took_s, out=out)


def _show(
    screen: Screen, text: str, model: PowerModel, features: Features, watts: Watts, *, took_s: float, out: str
) -> None:
    from hetsched.power import mape  # noqa: PLC0415

    error = mape(watts.power_w, model.predict(features.values))
    screen.say(f"{text} on {many(len(watts.devices), 'device')}, in {took_s:.2f} s")
    fallback = [watts.devices[one] for one in getattr(model, "fallback_devices_", ())]
    if fallback:
        screen.say(f"too few applications for a model of its own, so a mean of what was measured: {few(fallback)}")
    screen.say(
        f"MAPE {error:.2f} % in sample, on what it was fitted on; power evaluate tells it for applications left out"
    )
    screen.say(f"wrote {out}")
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
            "written": [out],
        }
    )
