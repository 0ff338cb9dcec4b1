"""``hetsched power evaluate``: how far models are off, application by application."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, get_args

from hetsched.checks import Faults, many
from hetsched.cli import options as opt
from hetsched.cli import power_models as own
from hetsched.cli.declare import OUTPUT, RUN, choice, completing, option, whole
from hetsched.cli.options import check_output, picture
from hetsched.cli.terminal import Screen, renamed
from hetsched.many.progress import Bars
from hetsched.typing import SplitName

if TYPE_CHECKING:
    import polars as pl

    from hetsched.power import PowerModel
    from hetsched.power.feature_files import Features, Watts
    from hetsched.power.left_out import LeftOut, Split

_MODEL_HELP = f"One of {', '.join(own.MODELS)}, or NAME:PARAM=VALUE; several times. Default: all."
_SPLIT_HELP = (
    "leave_one_app_out: each application by a model fitted without it; new_device: each device by a model that knows "
    "only its test runs; in_sample: all by a model fitted on all."
)
_FOLDS_HELP = "Leave out K folds in turn; default: one at a time up to 100, else 10 folds."
_GROUPS_HELP = "Labels of applications (column app, and COLUMN); those with one label are left out together."
_RUNS_HELP = "With new_device: number of applications that the device has run."


@dataclass(frozen=True)
class Asked:
    """The part of the data that models are not fitted on."""

    split: Annotated[str, choice("--split", get_args(SplitName), _SPLIT_HELP, RUN, metavar="NAME")] = (
        "leave_one_app_out"
    )
    folds: Annotated[int | None, option("--folds", "K", _FOLDS_HELP, RUN, read=whole(2, 1_000_000))] = None
    groups: Annotated[str | None, option("--groups", "FILE/COLUMN", _GROUPS_HELP, RUN)] = None
    test_runs: Annotated[int, option("--test-runs", "N", _RUNS_HELP, RUN, read=whole(0, 1_000_000))] = 1
    seed: Annotated[int, opt.seed(own.MOST_SEED)] = 0

    @property
    def labels(self) -> str | None:
        """The column of FEATURES that holds labels and no feature, if the groups are there."""
        is_file = self.groups is None or any(ending in self.groups for ending in (".csv", ".parquet"))
        return None if is_file else self.groups

    def check(self, faults: Faults) -> None:
        """Note options that have no meaning for the split."""
        if self.folds is not None and self.split == "in_sample":
            faults.add("--folds", self.folds, "none for in_sample, which leaves nothing out")
        if self.groups is not None and self.split != "leave_one_app_out":
            faults.add("--groups", self.groups, "none but for leave_one_app_out: they are of applications")
        if self.test_runs != 1 and self.split != "new_device":
            faults.add("--test-runs", self.test_runs, "none but for new_device")

    def made(self, known: Features) -> Split:
        """The split of a file's applications."""
        from hetsched.power.feature_files import read_groups
        from hetsched.power.left_out import Split

        where = self.groups if self.labels is None else f"{known.path}/{self.labels}"
        groups = None if where is None else read_groups(where, known.apps, features=known.path)
        return Split(self.split, self.folds, groups, self.test_runs, self.seed)


def evaluate(
    screen: Screen,
    faults: Faults,
    features: own.FeaturesFile,
    power: own.WattsFile,
    *,
    models: Annotated[
        Sequence[str],
        option("--model", "NAME", _MODEL_HELP, own.MODEL, complete=completing(own.MODELS), is_list=True),
    ] = (),
    learners: own.Learners,
    asked: Asked,
    plot: Annotated[
        str | None,
        option("--plot", "FILE", "Draw predicted against measured: .png, .svg or .pdf.", OUTPUT, read=picture),
    ] = None,
) -> None:
    """Show the errors of models by application, on data that they were fitted on or not."""
    asked.check(faults)
    made = own.made_models(faults, models or own.MODELS, learners, asked.seed)
    faults.check()
    check_output(files=[plot])
    known, watts = own.read_files(features, power, screen, labels=asked.labels)
    split = asked.made(known)
    found = _predicted(made, known, watts, split)
    written = [] if plot is None else [_drawn(found, known.apps, watts.devices, _title(split, _whole(found)), plot)]
    _show(screen, made, found, (known, watts), split=split, written=written)


def _predicted(models: dict[str, PowerModel], known: Features, watts: Watts, split: Split) -> dict[str, LeftOut]:
    from hetsched.power.left_out import predicted

    found = {}
    with Bars() as bars:
        for text, model in models.items():
            tell = bars.bar(text, unit="fits")
            with own.fitting(text, known.path, watts.path), renamed({"folds": "--folds", "groups": "--groups"}):
                found[text] = predicted(model, known.values, watts.power_w, split, devices=watts.devices, tell=tell)
    return found


def _drawn(found: dict[str, LeftOut], apps: Sequence[str], devices: Sequence[str], title: str, plot: str) -> str:
    from hetsched.report.canvas import save
    from hetsched.report.power import predicted_against_measured

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
    import numpy as np
    import polars as pl

    from hetsched.report.power import errors_table, outside_table

    known, watts = files
    left_out = _whole(found)
    overall = {text: _overall(one) for text, one in found.items()}
    asked = pl.Series(np.any([one.is_asked.any(axis=0) for one in found.values()], axis=0))
    errors = {text: one.by_app(known.apps).filter(asked) for text, one in found.items()}
    apps, count = int(asked.sum()), max(int(one.is_asked.sum()) for one in found.values())
    what = f"{many(apps, 'application')} on {many(len(watts.devices), 'device')}, {many(count, 'measured pair')}"
    screen.head(f"{_title(split, left_out)}: {what}; {_seen(split, left_out, apps)}")
    screen.show(errors_table(errors, overall, width=screen.width))
    for text, one in overall.items():
        if one["mape_mean_percent"] >= one["no_variation_mape_percent"] and len(watts.devices) > 1:
            screen.say(f"{text}: no better than one number an application")
    outside = dict(zip(known.apps, zip(*left_out.farthest_columns(known.names), strict=True), strict=True))
    if any(len(names) for names, _ in outside.values()):
        screen.show(outside_table(outside))
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
        },
        written,
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
            farthest = {"farthest_features": list(names), "farthest_sd": list(far)}
            yield {"app": row.pop("app"), "model": text, **row, **farthest}


def _overall(found: LeftOut) -> dict[str, float]:
    """Mean over all measured pairs, which weighs an application by the devices it was measured on; and the largest."""
    # Application after application.
    errors = found.errors.T[found.is_asked.T]
    return {
        "mape_mean_percent": float(errors.mean()),
        "mape_max_percent": float(errors.max()),
        "no_variation_mape_percent": float(found.no_variation_errors.T[found.is_asked.T].mean()),
    }
