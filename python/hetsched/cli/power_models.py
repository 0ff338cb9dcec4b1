"""Which power models a command line names, and the files that they learn from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hetsched.checks import Faults, did_you_mean, few, listed, many
from hetsched.cli.options import chosen
from hetsched.cli.terminal import noted, renamed

if TYPE_CHECKING:
    from hetsched.cli.terminal import Screen
    from hetsched.power import PowerModel
    from hetsched.power.feature_files import Features, Watts

# Named here again, as the models are slow to import and help is wanted at once.
MODELS = ("two-stage", "single-stage", "power-ratio", "shared-response")
"""Names of the models."""

LEARNERS = ("linear", "random_forest", "lightgbm")
"""Learners of the stages of models."""

_LEARNING = {"two-stage": ("mean_model", "device_model"), "single-stage": ("model",), "power-ratio": ("model",)}
"""Of each model the parameters that are learners; the last is what ``--device-model`` says."""


def complete_model(incomplete: str) -> list[str]:
    """Names of models that begin like this, for the shell."""
    return [name for name in MODELS if name.startswith(incomplete)]


def _complete_learner(incomplete: str) -> list[str]:
    return [name for name in LEARNERS if name.startswith(incomplete)]


FeaturesFile = Annotated[
    str,
    typer.Argument(
        metavar="FEATURES",
        help="A row an application: column app, others numbers; .csv or .parquet.",
        show_default=False,
    ),
]
WattsFile = Annotated[
    str,
    typer.Argument(
        metavar="POWER", help="Measured: device, app, power_w, a row a run; .csv or .parquet.", show_default=False
    ),
]
MeanLearner = Annotated[
    str | None,
    typer.Option(
        "--mean-model",
        metavar="NAME",
        help=f"Learner of two-stage's mean over devices: {', '.join(LEARNERS)}.",
        autocompletion=_complete_learner,
        rich_help_panel="Model",
    ),
]
DeviceLearner = Annotated[
    str | None,
    typer.Option(
        "--device-model",
        metavar="NAME",
        help="Learner of what is a device's own; of power-ratio, of the reference device.",
        autocompletion=_complete_learner,
        rich_help_panel="Model",
    ),
]


class Models:
    """The models that were asked for, by the text they were asked for with."""

    def __init__(
        self, texts: Sequence[str], mean_learner: str | None, device_learner: str | None, *, seed: int | None
    ) -> None:
        self.texts = texts
        self._learners = {"--mean-model": mean_learner, "--device-model": device_learner}
        self._seed = seed or 0

    def made(self, faults: Faults) -> dict[str, PowerModel]:
        """The models, not fitted; what is invalid is noted."""
        for option, learner in self._learners.items():
            if learner is not None:
                chosen(faults, option, learner, LEARNERS)
        self._check_learners_are_used(faults)
        found: dict[str, PowerModel] = {}
        for text in self.texts:
            model = self._one(text, faults)
            if text in found:
                faults.add("--model", text, "each model once")
            elif model is not None:
                found[text] = model
        return found

    def _check_learners_are_used(self, faults: Faults) -> None:
        kinds = [text.partition(":")[0] for text in self.texts]
        if any(kind not in MODELS for kind in kinds):
            return
        users = {"--mean-model": ("two-stage",), "--device-model": tuple(_LEARNING)}
        for option, learner in self._learners.items():
            if learner is not None and not set(kinds) & set(users[option]):
                faults.add(option, learner, f"nothing: it is of {listed(users[option])}, not of {listed(kinds)}")

    def _one(self, text: str, faults: Faults) -> PowerModel | None:
        from hetsched.power.models.model import KINDS  # noqa: PLC0415

        name, *settings = text.split(":")
        if name not in MODELS:
            faults.add("--model", text, f"one of {listed(MODELS)}{did_you_mean(name, MODELS)}")
            return None
        made = KINDS[name.replace("-", "_")]()
        known = made.get_params(deep=False)
        values = self._from_options(name, known)
        before = len(faults.found)
        for setting in settings:
            key, equals, value = setting.partition("=")
            if not equals:
                faults.add(f"--model {name}", setting, "PARAM=VALUE, such as seed=4")
            elif key not in known:
                expected = f"one of {listed(known)}{did_you_mean(key, known)}"
                faults.note(f"--model {name}", f"parameter `{key}`", expected)
            else:
                values[key] = _value(f"--model {name}:{key}", value, known[key], faults)
        return made.set_params(**values) if len(faults.found) == before else None

    def _from_options(self, name: str, known: dict[str, Any]) -> dict[str, Any]:
        values: dict[str, Any] = {"seed": self._seed} if "seed" in known else {}
        learners = _LEARNING.get(name, ())
        for option, parameter in (("--mean-model", learners[:-1]), ("--device-model", learners[-1:])):
            if parameter and self._learners[option] is not None:
                values[parameter[0]] = self._learners[option]
        return values


def _value(option: str, text: str, default: object, faults: Faults) -> Any:
    """A parameter's value: a whole number where the default is one, a learner otherwise."""
    if isinstance(default, str):
        chosen(faults, option, text, LEARNERS)
        return text
    try:
        return int(text)
    except ValueError:
        faults.add(option, text, "a whole number")
        return default


def described(model: PowerModel) -> dict[str, Any]:
    """A model as JSON holds it: its kind and all its parameters."""
    return {"kind": model.kind.replace("_", "-"), **model.get_params(deep=False)}


def read_files(features: str, watts: str, screen: Screen, *, labels: str | None = None) -> tuple[Features, Watts]:
    """Features and measured watts, saying what the files held and what was left out."""
    from hetsched.power.feature_files import left_out, read_features, read_watts  # noqa: PLC0415

    known = measured = None
    faults = Faults()
    with noted(faults, {"path": "FEATURES"}):
        known = read_features(features, labels=labels)
    faults.check()
    assert known is not None
    with renamed({"path": "POWER"}):
        measured = read_watts(watts, known)
    screen.say(f"{features}: {many(len(known.apps), 'application')}, {many(len(known.names), 'feature')}")
    screen.say(
        f"{watts}: {many(measured.runs, 'run')} on {many(len(measured.devices), 'device')}; {about_cells(measured)}"
    )
    if note := left_out(measured):
        screen.say(note)
    bare = [app for app, runs in zip(known.apps, measured.is_measured.T, strict=True) if not runs.any()]
    if bare:
        screen.say(f"not measured, nothing is learned from them: {few(bare)}")
    return known, measured


def about_cells(watts: Watts) -> str:
    """Number of pairs of device and application that were measured, in words."""
    measured = int(watts.is_measured.sum())
    all_of = "all" if measured == watts.power_w.size else f"{measured:,} of"
    return f"{all_of} {watts.power_w.size:,} pairs of device and application measured"


@contextmanager
def fitting(text: str, features: str, watts: str) -> Iterator[None]:
    """Call what a fit complains of by what was given on the command line."""
    name = text.partition(":")[0]
    parameters = ("min_apps", "reference_device", "factors", "seed")
    names = {parameter: f"--model {name}:{parameter}" for parameter in parameters}
    with renamed({**names, "features": features, "power_w": watts}):
        yield
