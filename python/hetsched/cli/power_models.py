"""Power models named on a command line, and the files that they learn from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, get_args

from hetsched.checks import Faults, did_you_mean, few, listed, many
from hetsched.cli.declare import argument, choice
from hetsched.cli.terminal import noted, renamed
from hetsched.typing import LearnerName, PowerModelName

if TYPE_CHECKING:
    from hetsched.cli.terminal import Screen
    from hetsched.power import PowerModel
    from hetsched.power.feature_files import Features, Watts

MODEL = "Model"
MODELS = get_args(PowerModelName)
LEARNERS = get_args(LearnerName)
MOST_SEED = 2**32 - 1

_LEARNING = {"two-stage": ("mean_model", "device_model"), "single-stage": ("model",), "power-ratio": ("model",)}
"""Parameters of each model that are learners; ``--device-model`` sets the last."""

FeaturesFile = Annotated[
    str, argument("FEATURES", "One row per application: column app, numbers in the others; .csv or .parquet.")
]
WattsFile = Annotated[
    str, argument("POWER", "Measured draws, one row per run: device, app, power_w; .csv or .parquet.")
]

_MEAN_HELP = f"Learner of two-stage's mean over devices: {', '.join(LEARNERS)}."
_DEVICE_HELP = "Learner of each device's own part; with power-ratio, of the reference device."


@dataclass(frozen=True)
class Learners:
    """The learners of models' stages."""

    mean: Annotated[str | None, choice("--mean-model", LEARNERS, _MEAN_HELP, MODEL, metavar="NAME")] = None
    device: Annotated[str | None, choice("--device-model", LEARNERS, _DEVICE_HELP, MODEL, metavar="NAME")] = None

    def check(self, faults: Faults, kinds: Sequence[str]) -> None:
        """Note learners that none of the models uses."""
        for option, learner, users in (
            ("--mean-model", self.mean, ("two-stage",)),
            ("--device-model", self.device, tuple(_LEARNING)),
        ):
            if learner is not None and not set(kinds) & set(users):
                faults.add(option, learner, f"nothing: it is of {listed(users)}, not of {listed(kinds)}")

    def of(self, name: str) -> dict[str, str]:
        """Values of a model's parameters."""
        learners = _LEARNING.get(name, ())
        given = ((learners[:-1], self.mean), (learners[-1:], self.device))
        return {parameter[0]: learner for parameter, learner in given if parameter and learner is not None}


def made_models(faults: Faults, texts: Sequence[str], learners: Learners, seed: int) -> dict[str, PowerModel]:
    """The models, not fitted, by the text they were asked for with; what is invalid is noted."""
    kinds = [text.partition(":")[0] for text in texts]
    if all(kind in MODELS for kind in kinds):
        learners.check(faults, kinds)
    found: dict[str, PowerModel] = {}
    for text in texts:
        model = _made(faults, text, learners, seed)
        if text in found:
            faults.add("--model", text, "each model once")
        elif model is not None:
            found[text] = model
    return found


def _made(faults: Faults, text: str, learners: Learners, seed: int) -> PowerModel | None:
    from hetsched.power.models.model import KINDS

    name, *settings = text.split(":")
    if name not in MODELS:
        faults.add("--model", text, f"one of {listed(MODELS)}{did_you_mean(name, MODELS)}")
        return None
    made = KINDS[name.replace("-", "_")]()
    known = made.get_params(deep=False)
    values: dict[str, Any] = {**({"seed": seed} if "seed" in known else {}), **learners.of(name)}
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


def _value(option: str, text: str, default: object, faults: Faults) -> Any:
    """A parameter's value: a whole number where the default is one, a learner otherwise."""
    if isinstance(default, str):
        faults.choice(option, text, LEARNERS)
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
    from hetsched.power.feature_files import left_out, read_features, read_watts

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
