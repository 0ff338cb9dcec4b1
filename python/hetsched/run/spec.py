"""A run of a sweep as plain values: a spec in, a row out."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

from hetsched import __version__
from hetsched.checks import Faults, shown
from hetsched.digest import json_sha256
from hetsched.errors import ConfigError
from hetsched.policy import Policy
from hetsched.run.axes import Axes, Platforms, Policies, Seeds, Workloads, axes_of
from hetsched.run.inputs import platform_sha256, read_platform, read_workload, write_platform, write_workload
from hetsched.run.simulation import simulate
from hetsched.run.sweep_checks import options_of

__all__ = ["Plan", "Spec", "code_sha256", "plan_of", "run_one", "specs", "summary_of", "written"]


@dataclass(frozen=True)
class Plan:
    """A run of a sweep before its inputs are files.

    Parameters
    ----------
    workload, platform, policy
        Their names on the sweep's axes.
    seed
        The seed.
    key
        Sha256 over everything that decides the run's summary, the version and the bytes of the compiled module among
        it; names don't, and without chance the seed does not.
    """

    workload: str
    platform: str
    policy: str
    seed: int
    key: str

    def __str__(self) -> str:
        names = f"workload `{self.workload}`, platform `{self.platform}`, policy `{self.policy}`"
        return f"{names}, seed {self.seed}"


@dataclass(frozen=True)
class Spec(Plan):
    """A run as plain values, for any process that can read its files. Made by `specs`, run by `run_one`.

    Parameters
    ----------
    workload_file, platform_file
        Where its inputs are.
    composition
        The policy, as `Policy.to_dict` gives it.
    options
        More keyword options of `hetsched.simulate`.
    """

    workload_file: str
    platform_file: str
    composition: dict[str, Any] = field(hash=False)
    options: dict[str, Any] = field(hash=False)


def specs(
    workloads: Workloads,
    platforms: Platforms,
    policies: Policies,
    *,
    folder: str | os.PathLike[str],
    seeds: Seeds = 1,
    **options: Any,
) -> list[Spec]:
    """The runs of a sweep one by one, for an engine of your own to hand out: ``engine.map(run_one, specs(...))``.

    Parameters
    ----------
    workloads, platforms, policies, seeds
        As in `hetsched.sweep`.
    folder
        Where each workload and platform is written to, once. Whoever calls `run_one` must be able to read it under
        the same path.
    **options
        More keyword options of `hetsched.simulate`, such as ``until_s``.

    Returns
    -------
    list of Spec
        In the order of the rows of `hetsched.sweep`. Equal keys stand for equal runs: all seeds of a policy without
        chance have one.

    Raises
    ------
    ConfigError
        With everything that cannot be on an axis, and a `folder` that is no name.
    OutputError
        If `folder` cannot be written to.

    Examples
    --------
    >>> import tempfile
    >>> import polars as pl
    >>> import hetsched as hs
    >>> jobs = pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 100], "runtime_s": [60, 30], "node_count": [2, 1]})
    >>> log, machine = hs.Workload.from_polars(jobs), hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = list(map(run_one, specs(log, machine, ["fcfs", "random"], folder=folder, seeds=2)))
    >>> [(row["policy"], row["seed"], row["energy_j"]) for row in rows]
    [('fcfs', 0, 56000.0), ('fcfs', 1, 56000.0), ('random', 0, 56000.0), ('random', 1, 56000.0)]
    """
    faults = Faults()
    axes = axes_of(workloads, platforms, policies, seeds, faults)
    checked = options_of(options, faults)
    faults.folder("folder", folder)
    faults.check()
    return written(plan_of(axes, checked), axes, checked, Path(folder).absolute())


@functools.cache
def code_sha256() -> str:
    """Sha256 of the compiled module that runs simulate with: built anew, it may run them in another way.

    Examples
    --------
    >>> len(code_sha256())
    64
    """
    # Only its bytes are wanted, nothing of what it does.
    module = find_spec("hetsched._core")
    assert module is not None
    assert module.origin is not None
    return hashlib.sha256(Path(module.origin).read_bytes()).hexdigest()


def plan_of(axes: Axes, options: Mapping[str, Any]) -> list[Plan]:
    """Every run of a sweep with its key, in the order of its rows.

    Parameters
    ----------
    axes
        What varies.
    options
        What does not.
    """
    workloads = {name: workload.sha256 for name, workload in axes.workloads.items()}
    platforms = {name: platform_sha256(platform) for name, platform in axes.platforms.items()}

    def key(workload: str, platform: str, policy: Policy, seed: int) -> str:
        decides = [workloads[workload], platforms[platform], policy.parts, seed if policy.uses_chance else None]
        return json_sha256([__version__, code_sha256(), *decides, dict(options)])

    names = product(axes.workloads, axes.platforms, axes.policies, axes.seeds)
    return [Plan(w, p, policy, seed, key(w, p, axes.policies[policy], seed)) for w, p, policy, seed in names]


def written(plans: list[Plan], axes: Axes, options: Mapping[str, Any], folder: Path) -> list[Spec]:
    """The plans as specs, with each workload and platform that they need written once.

    Parameters
    ----------
    plans
        Some of the axes' runs.
    axes
        Where the plans' names are from.
    options
        More keyword options of `hetsched.simulate`.
    folder
        Where to write; made if it is not there.
    """
    workloads = {name: write_workload(axes.workloads[name], folder) for name in {plan.workload for plan in plans}}
    platforms = {name: write_platform(axes.platforms[name], folder) for name in {plan.platform for plan in plans}}
    policies = {name: policy.to_dict() for name, policy in axes.policies.items()}
    return [
        Spec(
            **vars(plan),
            workload_file=workloads[plan.workload],
            platform_file=platforms[plan.platform],
            composition=policies[plan.policy],
            options=dict(options),
        )
        for plan in plans
    ]


def run_one(spec: Spec) -> dict[str, Any]:
    """Run a spec: a row as `hetsched.sweep` gives it.

    The last two workloads and platforms stay in memory for the next call.

    Parameters
    ----------
    spec
        From `specs`.

    Returns
    -------
    dict
        ``workload, platform, policy, seed``, and the keys of `Result.summary`.

    Raises
    ------
    ConfigError
        If it is no spec.
    TraceError
        If a file of its inputs is not there any more.
    HetschedError
        As `hetsched.simulate`.

    Warns
    -----
    RunWarning
        As `hetsched.simulate`.
    """
    _check_spec(spec)
    names = {"workload": spec.workload, "platform": spec.platform, "policy": spec.policy, "seed": spec.seed}
    return {**names, **summary_of(spec)}


def _check_spec(spec: object) -> None:
    if not isinstance(spec, Spec):
        found = shown(spec) if isinstance(spec, str) else f"a {type(spec).__name__}"
        raise ConfigError([("spec", found, "a Spec, as `specs` makes them")])


def summary_of(spec: Spec) -> dict[str, Any]:
    """Run a spec; gives its summary."""
    workload, platform = read_workload(spec.workload_file, spec.workload), read_platform(spec.platform_file)
    policy = Policy.from_dict(spec.composition)
    return simulate(workload, platform, policy, seed=spec.seed, **spec.options).summary()
