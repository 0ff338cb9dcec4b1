"""Every experiment by its name, with its module and its subject, and the refusals of what one does not take."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from hetsched.checks import did_you_mean, listed, shown
from hetsched.errors import ConfigError

if TYPE_CHECKING:
    from hetsched.experiments.experiment import Experiment

_ROWS = {
    "coa-single": ("coa_single", "Optimal assignment of jobs to single nodes, busy and free"),
    "swa-multi": ("swa", "The sliding window for jobs of eight nodes under a tight power cap"),
    "swa-history": ("swa", "The same on a week of jobs of seconds and of hours"),
    "pools": ("pools", "Three pools of nodes by their efficiency"),
    "tsmva": ("tsmva", "Two-stage models of each device's power, and their rivals"),
    "vahrm": ("vahrm.schedulers", "VAHRM and its rivals on nine workloads of CPU and GPU jobs"),
    "vahrm-congestion": ("vahrm.sweeps", "The same with submissions closer together"),
    "vahrm-beta": ("vahrm.sweeps", "VAHRM from waiting time alone to energy alone"),
    "vahrm-pcr": ("vahrm.sweeps", "The same under a power budget"),
    "vahrm-error": ("vahrm.predictions", "VAHRM with predictions that are wrong, under half the budget"),
    "vahrm-first-run": ("vahrm.predictions", "VAHRM with jobs whose power is not known yet"),
    "overprovision-budget": ("overprovision.sweeps", "Power-aware Slurm: a whole machine under three budgets"),
    "overprovision-arrivals": ("overprovision.sweeps", "Power-aware Slurm: jobs submitted at three rates"),
    "overprovision-nodes": (
        "overprovision.sweeps",
        "How many more nodes than the budget feeds at their peak are worth having",
    ),
    "overprovision-mix": ("overprovision.mix", "The same by the jobs' caps, and comparison of power allocators"),
    "aoba-validation": ("aoba.validation", "AOBA's digital twin: how near simulated starts come to observed ones"),
    "aoba-saving": ("aoba.saving", "AOBA in quiet weeks: idle nodes switched off, by seven settings"),
    "aoba-lending": ("aoba.lending", "AOBA on busy days: nodes moved to, or shared with, the queues of parallel jobs"),
    "strategies": ("table_ii", "The strategies of Table II of power-aware Slurm, and ours, at one budget"),
    "sleep": ("idle_nodes", "Every way to switch idle nodes off, on generated workloads or on your logs"),
    "hetsched": ("own_preset", "Our own preset against all others, and without each of its parts"),
}
"""A row an experiment: from its name to its module and its subject."""

EXPERIMENTS = {name: about for name, (_, about) in _ROWS.items()}
"""From every experiment's name to its subject."""


def experiment_named(name: str, *, parameter: str = "name") -> Experiment:
    """The experiment of a name; `parameter` is what a message calls it."""
    if not isinstance(name, str) or name not in EXPERIMENTS:
        meant = did_you_mean(name, EXPERIMENTS) if isinstance(name, str) else ""
        raise ConfigError([(parameter, shown(name), f"one of {listed(EXPERIMENTS)}{meant}")])
    module = import_module(f"hetsched.experiments.{_ROWS[name][0]}")
    found: dict[str, Experiment] = {one.name: one for one in module.EXPERIMENTS}
    return found[name]


def check_takes_logs(experiment: Experiment, *, parameter: str = "logs") -> None:
    """Refuse logs for an experiment that has its own workloads."""
    if experiment.logs is None:
        raise ConfigError([(parameter, f"logs with {experiment.name}", "none: it has its own workloads")])


def check_runs_policies(experiment: Experiment, *, parameter: str = "policies") -> None:
    """Refuse policies for an experiment that runs none."""
    if experiment.yours is None:
        expected = "none: it compares models of power, and schedules no job"
        raise ConfigError([(parameter, f"policies with {experiment.name}", expected)])
