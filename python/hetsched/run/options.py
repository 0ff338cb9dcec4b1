"""The options of a run, declared once: signatures, checks, records and the axes of a sweep all read them here."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from hetsched.checks import Faults, did_you_mean, plain
from hetsched.contract.contract import Contract, check_contract
from hetsched.platform.predictor import predictor_name
from hetsched.run.events import Events, check_events

if TYPE_CHECKING:
    from hetsched.platform.predictor import AnyPredictor

CHOICES = {
    "walltimes": ("fixed", "stretch"),
    "on_failure": ("fail", "requeue"),
    "on_unknown_app": ("error", "nominal"),
}
"""Options that take one of some words, the default first."""

LIMITS = ("kill_at_walltime", "kill_grace_s", "walltimes")
"""Options that say how long jobs may run."""

_OBJECTS = ("predictor", "events", "contract")
"""Options that are no numbers, words or flags."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class RunOptions:
    """Everything that decides a run but its workload, platform and policy; `hetsched.simulate` says what each means."""

    seed: int = 0
    kill_at_walltime: bool = True
    kill_grace_s: float = 0.0
    walltimes: str = "fixed"
    on_unknown_app: str = "error"
    bound: bool = False
    until_s: float | None = None
    predictor: AnyPredictor | None = None
    events: Events | None = None
    on_failure: str = "fail"
    contract: Contract | None = None

    def checked(self, faults: Faults) -> RunOptions:
        """The same as plain values, whatever kinds of number and flag they were given as; notes what is invalid."""
        values: dict[str, Any] = {name: plain(value) for name, value in vars(self).items() if name not in _OBJECTS}
        faults.whole("seed", values["seed"], low=0, high=2**64 - 1)
        faults.flag("kill_at_walltime", values["kill_at_walltime"])
        faults.number("kill_grace_s", values["kill_grace_s"], low=0.0, high=1e12)
        for name, known in CHOICES.items():
            if values[name] not in known:
                hint = did_you_mean(str(values[name]), known)
                faults.add(name, values[name], f"`{known[0]}` or `{known[1]}`{hint}")
        faults.flag("bound", values["bound"])
        if values["until_s"] is not None:
            faults.number("until_s", values["until_s"], low=-1e12, high=1e12)
        check_events(self.events, faults)
        check_contract(self.contract, faults)
        if not faults.found:
            # 60 and 60.0 are one run, and have one record.
            values |= {name: float(values[name]) for name in ("kill_grace_s", "until_s") if values[name] is not None}
        return replace(self, **values)

    def record(self) -> dict[str, Any]:
        """The options as plain values, objects by their names and sums.

        Events, a contract, and what becomes of jobs on failed nodes, stand there only where they are not the default.
        """
        own = {**vars(self), "predictor": predictor_name(self.predictor)}
        if self.on_failure == "fail":
            own = _without(own, "on_failure")
        for name, thing in (("events", self.events), ("contract", self.contract)):
            own = _without(own, name) if thing is None else own | {name: thing.sha256}
        return own

    @property
    def of_engine(self) -> dict[str, Any]:
        """Options that the engine takes by their names: all numbers, words and flags that decide the run."""
        return {name: value for name, value in vars(self).items() if name not in (*_OBJECTS, "bound")}

    @property
    def limits(self) -> dict[str, Any]:
        """Limits of jobs' run times, as the engine takes them."""
        return {name: getattr(self, name) for name in LIMITS}


def _without(values: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key != name}


class RunKeywords(TypedDict, total=False):
    """The fields of `RunOptions` as keywords, for type checkers; a test holds the two equal."""

    seed: int
    kill_at_walltime: bool
    kill_grace_s: float
    walltimes: str
    on_unknown_app: str
    bound: bool
    until_s: float | None
    predictor: AnyPredictor | None
    events: Events | None
    on_failure: str
    contract: Contract | None


def takes_run_options(*, without: Collection[str] = ()) -> Callable[[_Function], _Function]:
    """Write the options of a run into the signature of a function that takes them as ``**options``."""

    def written(function: _Function) -> _Function:
        signature = inspect.signature(function)
        own = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        more = [
            inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=one.type)
            for one in fields(RunOptions)
            if one.name not in without
        ]
        function.__signature__ = signature.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
        return function

    return written


def options_given(function: Callable[..., Any], options: Mapping[str, Any]) -> RunOptions:
    """The keywords that a function was called with, as options; an unknown one is the TypeError that Python raises."""
    known = inspect.signature(function).parameters
    for name in options:
        if name not in known:
            raise TypeError(f"{function.__name__}() got an unexpected keyword argument {name!r}")
    return RunOptions(**options)
