"""What can be known to be wrong with a sweep before its first run."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from functools import cache
from typing import Any

import polars as pl

from hetsched.bound import check_bound
from hetsched.checks import Faults
from hetsched.errors import ConfigError, HetschedError, RunWarning, SimulationError, TraceError
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.run.axes import Axes
from hetsched.run.simulation import checked_options, simulate
from hetsched.workload import Workload

__all__ = ["OPTIONS", "check_pairs", "options_of", "summary_names", "within"]

OPTIONS: dict[str, Any] = {
    "kill_at_walltime": True,
    "kill_grace_s": 0.0,
    "walltimes": "fixed",
    "on_unknown_app": "error",
    "bound": False,
    "until_s": None,
}
"""The options of `hetsched.simulate` that a sweep hands on, and their defaults."""

_BEFORE_EVERYTHING_S = -1e12


def options_of(given: Mapping[str, Any], faults: Faults) -> dict[str, Any]:
    """All options for `hetsched.simulate`, as plain values.

    Parameters
    ----------
    given
        Those that are not left at their defaults.
    faults
        Notes unknown names, and values that `simulate` does not take.

    Examples
    --------
    >>> options_of({"until_s": 60}, Faults())["until_s"]
    60.0
    """
    faults.unknown_keys(given, OPTIONS)
    return checked_options(OPTIONS | {name: given[name] for name in given if name in OPTIONS}, faults)


def check_pairs(axes: Axes, options: Mapping[str, Any]) -> None:
    """Set up every workload and every policy on every platform, and stop before the first job.

    Parameters
    ----------
    axes
        What varies.
    options
        As `options_of` gives them.

    Raises
    ------
    ConfigError
        With all that is wrong with any pair, such as an application that a platform's table does not hold, or a bound
        on a platform that has none.

    Warns
    -----
    LoadWarning
        For each workload that is more than a platform can do.
    PowerWarning
        For each whose measured draws are far above what the platform's nodes are built for.
    """
    faults = Faults()
    setup = {**options, "bound": False, "until_s": _BEFORE_EVERYTHING_S}
    for platform_name, platform in axes.platforms.items():
        if options["bound"]:
            _check_bound(platform_name, platform, faults)
        for name, workload in axes.workloads.items():
            _set_up(f"workload `{name}`, platform `{platform_name}`", (workload, platform, Policy()), setup, faults)
        for name, policy in axes.policies.items():
            _set_up(f"platform `{platform_name}`, policy `{name}`", (_one_job(), platform, policy), setup, faults)
    faults.check()


def summary_names(options: Mapping[str, Any]) -> Collection[str]:
    """What every run of a sweep sums up.

    Parameters
    ----------
    options
        As `options_of` gives them.

    Examples
    --------
    >>> "energy_j" in summary_names(OPTIONS), "energy_bound_j" in summary_names(OPTIONS)
    (True, False)
    """
    return simulate(_one_job(), _one_node(), "fcfs", **options).summary().keys()


def within(place: str, error: HetschedError) -> HetschedError:
    """The same error with where it happened before its text; of other errors than a run's own, the same error.

    Examples
    --------
    >>> print(within("policy easy", ConfigError([("budget_w", "1", "at least 5")])))
    policy easy: budget_w: found 1, expected at least 5
    """
    if isinstance(error, ConfigError):
        return error.mapped(lambda fault: fault.under(place, ": "))
    if isinstance(error, TraceError):
        return TraceError(**{**vars(error), "file": f"{place}: {error.file}"})
    try:
        return type(error)(f"{place}: {error}")
    except TypeError:
        return error


def _check_bound(name: str, platform: Platform, faults: Faults) -> None:
    own = Faults()
    check_bound(platform, own)
    faults.extend(own, lambda fault: fault.under(f"platform `{name}`", ": "))


def _set_up(place: str, run: tuple[Workload, Platform, Policy], setup: Mapping[str, Any], faults: Faults) -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            simulate(*run, **setup)
        except ConfigError as error:
            found = within(place, error)
            assert isinstance(found, ConfigError)
            faults.extend(found)
        except SimulationError as error:
            # Not enough memory.
            raise within(place, error) from None
    for warning in said:
        if issubclass(warning.category, RunWarning):
            # To the caller of `sweep`.
            warnings.warn(f"{place}: {warning.message}", warning.category, stacklevel=4)


@cache
def _one_job() -> Workload:
    return Workload.from_polars(pl.DataFrame({"job_id": [0], "submit_s": [0], "runtime_s": [1], "node_count": [1]}))


@cache
def _one_node() -> Platform:
    return Platform.homogeneous(nodes=1, idle_w=0, tdp_w=1)
