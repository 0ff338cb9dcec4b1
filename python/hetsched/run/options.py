"""The options of a run, declared once: signatures, checks, records and the axes of a sweep all read them here."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, get_args

from hetsched.checks import Faults, shown
from hetsched.params import Declared, Parameter, choice, flag, flag_or, number, whole
from hetsched.typing import Bound, OnFailure, OnUnknownApp, Walltimes

if TYPE_CHECKING:
    from hetsched.contract.contract import Contract
    from hetsched.platform import Platform
    from hetsched.policy import Policy
    from hetsched.power.forecast import AnyPredictor
    from hetsched.run.events import Events

LIMITS = ("kill_at_walltime", "kill_grace_s", "walltimes")
"""Options that say how long jobs may run."""

_OF_FEATURES = ("bound", "predictor", "events", "contract")
"""Options that features read; all others go to the engine, by their names."""

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Options = TypeVar("_Options", bound=Declared)


def _either(words: Any, doc: str) -> Parameter:
    """One of two words."""
    return choice(words, doc, form=" or ".join(map(shown, get_args(words))))


# Checked by modules that take longer to import than the help of a command may.


def _events(given: Any, name: str, faults: Faults) -> Any:
    from hetsched.run.events import check_events  # noqa: PLC0415

    check_events(given, faults, name)
    return given


def _contract(given: Any, name: str, faults: Faults) -> Any:
    from hetsched.contract.contract import check_contract  # noqa: PLC0415

    del name
    check_contract(given, faults)
    return given


@dataclass(frozen=True)
class RunOptions(Declared):
    """Everything that decides a run but its workload, platform and policy; `hetsched.simulate` says what each means."""

    seed: int = field(default=0, metadata=whole(0, 2**64 - 1, "Seed of all random numbers."))
    kill_at_walltime: bool = field(default=True, metadata=flag("Kill jobs at their walltime."))
    kill_grace_s: float = field(
        default=0.0,
        metadata=number(0.0, 1e12, "Kill jobs this long after their walltime; plans go by the walltime.", "seconds"),
    )
    walltimes: Walltimes = field(
        default="fixed",
        metadata=_either(Walltimes, "stretch: walltimes are meant for nominal speed, and are longer on slower nodes."),
    )
    on_unknown_app: OnUnknownApp = field(
        default="error",
        metadata=_either(
            OnUnknownApp, "Applications that the table does not hold are an error, or run at nominal draw and speed."
        ),
    )
    bound: bool | Bound = field(
        default=False,
        metadata=flag_or(
            Bound,
            "Also compute the least job energy that any placement could reach: in the run's window; starts: given the "
            "run's own starts; all: both.",
        ),
    )
    until_s: float | None = field(
        default=None, metadata=number(-1e12, 1e12, "Stop at this second of the log's clock.", "seconds")
    )
    predictor: AnyPredictor | None = None
    events: Events | None = field(
        default=None,
        metadata=Parameter("Budgets, prices, carbon intensities and failures in time.", take=_events),
    )
    on_failure: OnFailure = field(
        default="fail",
        metadata=_either(
            OnFailure,
            "Jobs on nodes that fail end as failed, or are queued again in their old place.",
        ),
    )
    contract: Contract | None = field(
        default=None,
        metadata=Parameter(
            "Limits, prices and carbon intensities by the wall clock, which every policy is metered against.",
            take=_contract,
        ),
    )

    def under(self, policy: Policy) -> RunOptions:
        """The options as they hold under a policy: a replay kills no job at its walltime, as it repeats what ran."""
        return replace(self, kill_at_walltime=False) if policy._repeats_log else self

    def record(self) -> dict[str, Any]:
        """The options as plain values, objects by their names and sums.

        Events, a contract, and what becomes of jobs on failed nodes, stand there only where they are not the default.
        """
        own = dict(vars(self))
        if self.predictor is not None:
            from hetsched.power.forecast import predictor_name  # noqa: PLC0415 -- polars is slow to import

            own["predictor"] = predictor_name(self.predictor)
        if self.on_failure == "fail":
            own = _without(own, "on_failure")
        for name, thing in (("events", self.events), ("contract", self.contract)):
            own = _without(own, name) if thing is None else own | {name: thing.sha256}
        return own

    @property
    def of_engine(self) -> dict[str, Any]:
        """Options as keywords of the engine."""
        return {name: value for name, value in vars(self).items() if name not in _OF_FEATURES}

    @property
    def limits(self) -> dict[str, Any]:
        """Limits of jobs' run times, as the engine takes them."""
        return {name: getattr(self, name) for name in LIMITS}


def check_bound(bound: object, platform: Platform, faults: Faults) -> None:
    """Note what a machine has no bound of: this one, ``True``, ``"starts"`` or ``"all"``."""
    if bound is False:
        return
    if not platform.exclusive:
        faults.add("bound", bound, "False where jobs share nodes: the bound is of whole nodes")
    elif platform.has_caps and bound != "starts":
        faults.add("bound", bound, 'False or "starts": no window\'s bound is known for nodes under power caps')


def _without(values: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key != name}


class RunKeywords(TypedDict, total=False):
    """The fields of `RunOptions` as keywords, for type checkers; a test holds the two equal."""

    seed: int
    kill_at_walltime: bool
    kill_grace_s: float
    walltimes: Walltimes
    on_unknown_app: OnUnknownApp
    bound: bool | Bound
    until_s: float | None
    predictor: AnyPredictor | None
    events: Events | None
    on_failure: OnFailure
    contract: Contract | None


def takes_run_options(*more: Any, without: Collection[str] = ()) -> Callable[[_Function], _Function]:
    """Write the fields of `more` and the options of a run into the signature of a function with ``**options``."""

    def written(function: _Function) -> _Function:
        signature = inspect.signature(function)
        own = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        added = [
            inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=one.type)
            for group in (*more, RunOptions)
            for one in fields(group)
            if one.name not in without
        ]
        function.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
        return function

    return written


def options_given(function: Callable[..., Any], options: Mapping[str, Any]) -> RunOptions:
    """The options of a run among the keywords that a function was called with."""
    return keywords_given(function, options, RunOptions)


def keywords_given(function: Callable[..., Any], given: Mapping[str, Any], of: type[_Options]) -> _Options:
    """Those of a function's keywords that are fields of a class; an unknown one is the TypeError that Python raises."""
    known = inspect.signature(function).parameters
    for name in given:
        if name not in known:
            raise TypeError(f"{function.__name__}() got an unexpected keyword argument {name!r}")
    return of(**{one.name: given[one.name] for one in fields(of) if one.name in given})
