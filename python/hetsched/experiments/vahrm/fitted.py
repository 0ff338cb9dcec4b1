"""TSMVA as the VAHRM paper fits it: the jobs' watts predicted by models of every GPU and every CPU of the machine.

Its section V-E trains them on 48 kernels on each GPU and 11 on each CPU, and the jobs' kernels are three of these: all
errors are in-sample.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hetsched.experiments.experiment import Floats
from hetsched.experiments.vahrm.system import NODES, SPREAD, drawn_machine
from hetsched.platform import Platform
from hetsched.platform.device_sampling import DeviceSample, sample_devices
from hetsched.platform.devices import TSUBAME3_JOBS_W, DeviceClass, tsubame3
from hetsched.power import TwoStage
from hetsched.power.synthetic import DEVICE_TYPES, synthetic_profiles

FITTED = "vahrm+fitted"
"""Label of VAHRM under these predictions."""

KINDS: Mapping[str, str] = {"gpu": "p100", "cpu": "xeon"}
"""Device types whose counters and mean watts the kernels have, by class of device."""

KERNELS: Mapping[str, int] = {name: DEVICE_TYPES[kind].apps for name, kind in KINDS.items()}
"""Kernels that models are fitted on, by class of device: as many as the paper's."""


@dataclass(frozen=True, eq=False)
class Kernels:
    """Kernels that the devices of a class were measured under, the jobs' among them."""

    features: Floats  # counters, events a second, shape (n_kernels, n_features)
    power_w: Floats  # of each device under each kernel, shape (n_devices, n_kernels)
    jobs: Mapping[str, int]  # which kernels are the jobs', by application
    moved_w: Mapping[str, float]  # how far a device's mean under such a kernel was moved to be the paper's Table IV's


@dataclass(frozen=True, eq=False)
class FittedTsmva:
    """The nodes as fitted models see them, and how well they do."""

    platform: Platform  # drawn devices, and predictions of their watts under the jobs' kernels
    mape: Mapping[str, float]  # percent, on what the models were fitted on, by class of device
    jobs_mape: Mapping[str, float]  # the same on the jobs' kernels alone
    moved_w: Mapping[str, float]  # as in `Kernels`, of all applications


def fitted_tsmva(seed: int, *, spread: float = SPREAD, nodes: int = NODES) -> FittedTsmva:
    """The machine of `drawn_machine`, predicted by ``TwoStage("random_forest", "random_forest")`` of its devices.

    Takes about half a minute on one core for 540 nodes. The paper's measurements (sections V-E and VI-A) are not
    public: counters and mean watts are of `hetsched.power.synthetic_profiles`, and a device's watts under a kernel vary
    as those under a job do.
    """
    sample = drawn_machine(seed, spread=spread, nodes=nodes).sample
    machine = tsubame3(nodes)
    mape, jobs_mape, predicted_w = {}, {}, {}
    moved_w: dict[str, float] = {}
    for one in machine.devices:
        kernels = job_kernels(one, sample, seed=seed, spread=spread, nodes=nodes)
        model = TwoStage("random_forest", "random_forest", seed=seed % 2**32)
        found_w = model.fit(kernels.features, kernels.power_w).predict(kernels.features)
        error = 100.0 * np.abs(found_w / kernels.power_w - 1.0)
        mape[one.name] = float(error.mean())
        jobs_mape[one.name] = float(error[:, list(kernels.jobs.values())].mean())
        moved_w.update(kernels.moved_w)
        predicted_w.update({app: (one.name, found_w[:, kernel]) for app, kernel in kernels.jobs.items()})
    predicted = machine.table({app: predicted_w[app] for app in sample.power_w}, below_idle="clip")
    return FittedTsmva(machine.platform(actual=sample.table, predicted=predicted), mape, jobs_mape, moved_w)


def job_kernels(one: DeviceClass, sample: DeviceSample, *, seed: int, spread: float, nodes: int) -> Kernels:
    """The kernels of a class of device, as many as the paper measured, three of them the jobs'.

    The jobs' are those whose mean watts are nearest to the paper's Table IV, and are moved there: on them devices draw
    what they were drawn to draw under the jobs. Under all others they vary likewise: normal, of the same spread, each
    by itself, never below the idle draw.
    """
    kind = KINDS[one.name]
    profiles = synthetic_profiles(kind, seed=seed)
    means_w = np.maximum(profiles.expected_w.mean(axis=0), one.idle_w)
    wanted_w = {app: TSUBAME3_JOBS_W[app][1] / one.per_node for app in sample.apps(one.name)}
    jobs = _nearest(means_w, wanted_w)
    names = [f"{kind} {name}" for name in profiles.apps]
    drawn = sample_devices(
        tsubame3(nodes),
        {name: (one.name, one.per_node * float(mean_w)) for name, mean_w in zip(names, means_w, strict=True)},
        sd_ratio=spread,
        seed=seed,
    )
    power_w = drawn.matrix(one.name)
    power_w[:, list(jobs.values())] = sample.matrix(one.name)
    moved_w = {app: wanted_w[app] - float(means_w[kernel]) for app, kernel in jobs.items()}
    return Kernels(profiles.features, power_w, jobs, moved_w)


def _nearest(means_w: Floats, wanted_w: Mapping[str, float]) -> dict[str, int]:
    """Kernel of the nearest mean watts by application, each kernel once; those that draw most choose first."""
    free_w = means_w.copy()
    found = {}
    for app in sorted(wanted_w, key=lambda app: -wanted_w[app]):
        found[app] = int(np.nanargmin(np.abs(free_w - wanted_w[app])))
        free_w[found[app]] = np.nan
    return {app: found[app] for app in wanted_w}
