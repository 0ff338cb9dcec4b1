"""Which experiments there are: the only place in which one is announced."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from hetsched.checks import did_you_mean, listed, shown
from hetsched.errors import ConfigError

if TYPE_CHECKING:
    from hetsched.experiments.experiment import Experiment

__all__ = ["EXPERIMENTS", "check_runs_policies", "experiment_named"]

EXPERIMENTS = {
    "coa-single": "Optimal assignment of jobs to single nodes, busy and free",
    "swa-multi": "The sliding window for jobs of eight nodes under a tight power cap",
    "swa-history": "The same on a week of jobs of seconds and of hours",
    "pools": "Three pools of nodes by their efficiency",
    "tsmva": "Two-stage models of each device's power, and their rivals",
    "vahrm": "VAHRM and its rivals on nine workloads of CPU and GPU jobs",
    "vahrm-congestion": "The same with submissions closer together",
    "vahrm-beta": "VAHRM from waiting time alone to energy alone",
    "vahrm-pcr": "The same under a power budget",
    "vahrm-error": "VAHRM with predictions that are wrong, under half the budget",
    "vahrm-first-run": "VAHRM with jobs whose power nobody knows yet",
    "hetsched": "Our own preset beside all others, and each of its parts taken away once",
}
"""Every experiment's name, and what it is about; each is the `EXPERIMENT` of the module of its name."""


def experiment_named(name: str, *, parameter: str = "name") -> Experiment:
    """An experiment by its name.

    Parameters
    ----------
    name
        A key of `EXPERIMENTS`.
    parameter
        What to call it in a message.

    Raises
    ------
    ConfigError
        If there is none of that name.

    Examples
    --------
    >>> experiment_named("coa-singel")
    Traceback (most recent call last):
    hetsched.errors.ConfigError: name: found `coa-singel`, expected one of ...; did you mean `coa-single`?
    """
    if not isinstance(name, str):
        raise ConfigError([(parameter, shown(name), f"one of {listed(EXPERIMENTS)}")])
    if name not in EXPERIMENTS:
        expected = f"one of {listed(EXPERIMENTS)}{did_you_mean(name, EXPERIMENTS)}"
        raise ConfigError([(parameter, shown(name), expected)])
    module = import_module(f"hetsched.experiments.{name.replace('-', '_')}")
    found: Experiment = module.EXPERIMENT
    return found


def check_runs_policies(experiment: Experiment, *, parameter: str = "policies") -> None:
    """Refuse policies beside an experiment that runs none.

    Parameters
    ----------
    experiment
        Which.
    parameter
        What to call them in a message.

    Raises
    ------
    ConfigError
        Naming the experiment.

    Examples
    --------
    >>> check_runs_policies(experiment_named("tsmva"))
    Traceback (most recent call last):
    hetsched.errors.ConfigError: policies: found policies beside tsmva, expected none: it compares models of power, ...
    """
    if experiment.yours is None:
        expected = "none: it compares models of power, and schedules no job"
        raise ConfigError([(parameter, f"policies beside {experiment.name}", expected)])
