"""``hetsched power evaluate``: how far models are off, application by application."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hetsched.checks import Faults, many
from hetsched.cli import options as opt
from hetsched.cli import power_models as own
from hetsched.cli.pictures import check_folder, check_picture
from hetsched.cli.terminal import Screen, renamed
from hetsched.many.progress import Bars

if TYPE_CHECKING:
    import polars as pl

    from hetsched.power import PowerModel
    from hetsched.power.feature_files import Features, Watts
    from hetsched.power.left_out import LeftOut, Split

# Named here again, as what evaluates is slow to import.
SPLITS = ("leave_one_app_out", "new_device", "in_sample")


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
            help="leave_one_app_out: each application by a model that never saw it; new_device: each device by one "
            "that knows its test runs; in_sample: all seen.",
            autocompletion=_complete_split,
            rich_help_panel="Run",
        ),
    ] = SPLITS[0],
    folds: Annotated[
        str | None,
        typer.Option(
            "--folds",
            metavar="K",
            help="Leave out K folds in turn; default: one at a time up to 100, 10 folds of more.",
            rich_help_panel="Run",
        ),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            "--groups",
            metavar="FILE/COLUMN",
            help="Labels of applications (column app, and COLUMN): those of one are left out together.",
            rich_help_panel="Run",
        ),
    ] = None,
    test_runs: Annotated[
        str,
        typer.Option(
            "--test-runs",
            metavar="N",
            help="With new_device: under how many applications the device has run.",
            rich_help_panel="Run",
        ),
    ] = "1",
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
    asked = _Asked(split, folds, groups, test_runs, seed=draws or 0)
    asked.check(faults)
    made = own.Models(models or own.MODELS, mean_model, device_model, seed=draws).made(faults)
    check_picture(faults, plot)
    faults.check()
    check_folder(None if plot is None else str(Path(plot).parent))
    known, watts = own.read_files(features, power, screen, labels=asked.labels)
    chosen = asked.split(known)
    found = _predicted(made, known, watts, chosen)
    written = [] if plot is None else [_drawn(found, known.apps, watts.devices, _title(chosen, _whole(found)), plot)]
    _show(screen, made, found, (known, watts), split=chosen, written=written)


class _Asked:
    """Options on what is left out, as given on the command line."""

    def __init__(self, name: str, folds: str | None, groups: str | None, test_runs: str, *, seed: int) -> None:
        self._name, self._folds, self._groups, self._test_runs, self._seed = name, folds, groups, test_runs, seed

    @property
    def labels(self) -> str | None:
        """The column of FEATURES that holds labels and no feature, if the groups are there."""
        is_file = self._groups is None or any(ending in self._groups for ending in (".csv", ".parquet"))
        return None if is_file else self._groups

    def check(self, faults: Faults) -> None:
        """Note whatever is invalid, before a file is read."""
        if self._folds is not None and self._name == "in_sample":
            faults.add("--folds", self._folds, "none for in_sample, which leaves nothing out")
        if self._groups is not None and self._name != "leave_one_app_out":
            faults.add("--groups", self._groups, "none but for leave_one_app_out: they are of applications")
        if self._test_runs != "1" and self._name != "new_device":
            faults.add("--test-runs", self._test_runs, "none but for new_device")
        opt.whole(faults, "--folds", self._folds, low=2, high=1_000_000)
        opt.whole(faults, "--test-runs", self._test_runs, low=0, high=1_000_000)

    def split(self, known: Features) -> Split:
        """For the applications of a file of features."""
        from hetsched.power.feature_files import read_groups  # noqa: PLC0415 -- slow to import
        from hetsched.power.left_out import Split  # noqa: PLC0415

        where = self._groups if self.labels is None else f"{known.path}/{self.labels}"
        groups = None if where is None else read_groups(where, known.apps, features=known.path)
        folds = None if self._folds is None else int(self._folds)
        return Split(self._name, folds, groups, int(self._test_runs), self._seed)


def _predicted(models: dict[str, PowerModel], known: Features, watts: Watts, split: Split) -> dict[str, LeftOut]:
    from hetsched.power.left_out import predicted  # noqa: PLC0415 -- slow to import

    found = {}
    with Bars() as bars:
        for text, model in models.items():
            tell = bars.bar(text, unit="fits")
            with own.fitting(text, known.path, watts.path), renamed({"folds": "--folds", "groups": "--groups"}):
                found[text] = predicted(model, known.values, watts.power_w, split, devices=watts.devices, tell=tell)
    return found


def _drawn(found: dict[str, LeftOut], apps: Sequence[str], devices: Sequence[str], title: str, plot: str) -> str:
    from hetsched.report.canvas import save  # noqa: PLC0415
    from hetsched.report.power import predicted_against_measured  # noqa: PLC0415

    cells = {text: own_found.cells(apps, devices) for text, own_found in found.items()}
    save(predicted_against_measured(cells, title=title), plot)
    return plot


def _title(split: Split, found: LeftOut) -> str:
    """Title of the split, in words."""
    if split.name == "in_sample":
        return "in sample"
    what = {"new_device": "devices"}.get(split.name, "applications" if split.groups is None else "groups")
    how = "one at a time" if found.parts == found.of else f"in {found.parts:,} folds"
    return f"{what} left out {how}"


def _seen(split: Split, found: LeftOut, apps: int) -> str:
    """Size of the data that the models were fitted on."""
    if split.name == "in_sample":
        return "fitted on all of them, and asked for the same ones"
    if split.name == "new_device":
        runs = "no test run" if split.test_runs == 0 else f"{split.test_runs:,} test run{'s' * (split.test_runs > 1)}"
        return f"each device predicted by a model fitted on the others and on {runs} of its own"
    if split.groups is not None:
        return f"each application predicted by a model fitted on other groups, of {found.of:,}"
    if found.parts == found.of:
        return f"each application predicted by a model fitted on the other {apps - 1:,}"
    more = f"; --folds {found.of} leaves out one at a time" if split.folds is None else ""
    return f"each application predicted by a model fitted on the other {found.parts - 1:,} folds{more}"


def _show(
    screen: Screen,
    models: dict[str, PowerModel],
    found: dict[str, LeftOut],
    files: tuple[Features, Watts],
    *,
    split: Split,
    written: list[str],
) -> None:
    import numpy as np  # noqa: PLC0415
    import polars as pl  # noqa: PLC0415

    from hetsched.report.power import errors_table, outside_table  # noqa: PLC0415

    known, watts = files
    left_out = _whole(found)
    overall = {text: _overall(one) for text, one in found.items()}
    asked = pl.Series(np.any([one.is_asked.any(axis=0) for one in found.values()], axis=0))
    errors = {text: one.by_app(known.apps).filter(asked) for text, one in found.items()}
    apps, count = int(asked.sum()), max(int(one.is_asked.sum()) for one in found.values())
    what = f"{many(apps, 'application')} on {many(len(watts.devices), 'device')}, {many(count, 'measured pair')}"
    screen.head(f"{_title(split, left_out)}: {what}; {_seen(split, left_out, apps)}")
    screen.show(errors_table(errors, overall, width=screen.width))
    outside = dict(zip(known.apps, zip(*left_out.farthest_columns(known.names), strict=True), strict=True))
    if any(len(names) for names, _ in outside.values()):
        screen.show(outside_table(outside))
    for path in written:
        screen.say(f"wrote {path}")
    screen.give(
        {
            "summary": overall,
            "split": split.name,
            "folds": left_out.parts or None,
            "apps": apps,
            "devices": len(watts.devices),
            "cells": count,
            "models": {text: own.described(model) for text, model in models.items()},
            "rows": list(_rows(errors, outside)),
            "runs": watts.runs,
            "dropped": watts.dropped,
            "written": written,
        }
    )


def _whole(found: dict[str, LeftOut]) -> LeftOut:
    """Cells left out of the model that was asked most: a reference device is never new."""
    return max(found.values(), key=lambda one: one.of)


def _rows(
    errors: dict[str, pl.DataFrame], outside: dict[str, tuple[Sequence[str], Sequence[float]]]
) -> Iterator[dict[str, Any]]:
    """One a model and application that it was asked for."""
    for text, frame in errors.items():
        for row in frame.rows(named=True):
            if not row["devices"]:
                continue
            names, far = outside[row["app"]]
            told = {"farthest_features": list(names), "farthest_sd": list(far)}
            yield {"app": row.pop("app"), "model": text, **row, **told}


def _overall(found: LeftOut) -> dict[str, float]:
    """Mean over all measured pairs, which weighs an application by the devices it was measured on; and the largest."""
    # Application after application.
    errors = found.errors.T[found.is_asked.T]
    return {"mape_mean_percent": float(errors.mean()), "mape_max_percent": float(errors.max())}
