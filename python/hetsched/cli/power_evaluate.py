"""``hetsched power evaluate``: how far models are off, application by application."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hetsched.cli import options as opt
from hetsched.cli import power_models as own
from hetsched.cli.pictures import check_folder, check_picture
from hetsched.cli.progress import Bars
from hetsched.cli.screen import Screen
from hetsched.config import Faults

if TYPE_CHECKING:
    import polars as pl

    from hetsched.power import PowerModel
    from hetsched.power.feature_files import Features, Watts

__all__ = ["SPLITS", "evaluate"]

# Named here again, as what evaluates is slow to import.
SPLITS = ("leave_one_app_out", "in_sample")


def _complete_split(incomplete: str) -> list[str]:
    return [split for split in SPLITS if split.startswith(incomplete)]


def evaluate(
    features: own.FeaturesFile,
    power: own.WattsFile,
    *,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="NAME",
            help=f"One of {', '.join(own.MODELS)}, or NAME:PARAM=VALUE; several times. Default: all.",
            autocompletion=own.complete_model,
            rich_help_panel="Model",
        ),
    ] = None,
    mean_model: own.MeanLearner = None,
    device_model: own.DeviceLearner = None,
    split: Annotated[
        str,
        typer.Option(
            "--split",
            metavar="NAME",
            help="leave_one_app_out: each application by a model that never saw it; in_sample: all seen.",
            autocompletion=_complete_split,
            rich_help_panel="Run",
        ),
    ] = SPLITS[0],
    seed: opt.Seed = "0",
    plot: Annotated[
        str | None,
        typer.Option(
            "--plot",
            metavar="FILE",
            help="Draw predicted against measured: .png, .svg or .pdf.",
            rich_help_panel="Output",
        ),
    ] = None,
    as_json: opt.Json = False,
    debug: opt.Debug = False,
) -> None:
    """Tell how far models are off for each application, on what they have seen or on what they have not."""
    del debug
    screen = Screen(as_json=as_json)
    faults = Faults()
    draws = opt.whole(faults, "--seed", seed, low=0, high=2**32 - 1)
    opt.chosen(faults, "--split", split, SPLITS)
    made = own.Models(models or own.MODELS, mean_model, device_model, seed=draws).made(faults)
    check_picture(faults, plot)
    faults.check()
    check_folder(None if plot is None else str(Path(plot).parent))
    known, watts = own.read_files(features, power, screen)
    cells = _predicted(made, known, watts, split)
    written = [] if plot is None else [_drawn(cells, split, plot)]
    _show(screen, made, cells, watts, split=split, written=written)


def _predicted(models: dict[str, PowerModel], known: Features, watts: Watts, split: str) -> dict[str, pl.DataFrame]:
    from hetsched.power.held_out import predictions  # noqa: PLC0415 -- slow to import

    found = {}
    with Bars() as bars:
        for text, model in models.items():
            tell = bars.bar(text, unit="fits")
            with own.fitting(text, known.path, watts.path):
                found[text] = predictions(model, known, watts, split=split, progress=tell)
    return found


def _drawn(cells: dict[str, pl.DataFrame], split: str, plot: str) -> str:
    from hetsched.report.canvas import save  # noqa: PLC0415
    from hetsched.report.power_figure import predicted_against_measured  # noqa: PLC0415

    save(predicted_against_measured(cells, title=_WORDS[split]), plot)
    return plot


_WORDS = {"in_sample": "in sample", "leave_one_app_out": "applications left out one at a time"}


def _show(
    screen: Screen,
    models: dict[str, PowerModel],
    cells: dict[str, pl.DataFrame],
    watts: Watts,
    *,
    split: str,
    written: list[str],
) -> None:
    from hetsched.platform.coverage import many  # noqa: PLC0415
    from hetsched.power.held_out import errors_by_app  # noqa: PLC0415
    from hetsched.report.power_table import errors_table  # noqa: PLC0415

    errors = {text: errors_by_app(found) for text, found in cells.items()}
    overall = {text: _overall(found) for text, found in cells.items()}
    apps, count = (len(next(iter(one.values()))) for one in (errors, cells))
    what = f"{many(apps, 'application')} on {many(len(watts.devices), 'device')}, {many(count, 'measured pair')}"
    how = {
        "in_sample": "fitted on all of them, and asked for the same ones",
        "leave_one_app_out": f"each application predicted by a model fitted on the other {apps - 1:,}",
    }
    screen.head(f"{_WORDS[split]}: {what}; {how[split]}")
    screen.show(errors_table(errors, overall, width=screen.width))
    for path in written:
        screen.say(f"wrote {path}")
    rows: list[dict[str, Any]] = [
        {"app": row.pop("app"), "model": text, **row}
        for text, found in errors.items()
        for row in found.rows(named=True)
    ]
    screen.give(
        {
            "summary": overall,
            "split": split,
            "apps": apps,
            "devices": len(watts.devices),
            "cells": count,
            "models": {text: own.described(model) for text, model in models.items()},
            "rows": rows,
            "runs": watts.runs,
            "dropped": watts.dropped,
            "written": written,
        }
    )


def _overall(found: pl.DataFrame) -> dict[str, float]:
    """Mean over all measured pairs, which weighs an application by the devices it was measured on; and the largest."""
    from hetsched.power.held_out import percent_errors  # noqa: PLC0415

    errors = percent_errors(found)
    return {"mape_mean_percent": float(errors.mean()), "mape_max_percent": float(errors.max())}
