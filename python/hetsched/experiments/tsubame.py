"""The machine, the nine workloads and the eight schedulers of the VAHRM paper, and one run of them as a row.

What its experiments have in common. 540 nodes of two CPUs and four GPUs; workload 0 to 8 of Table III on two readings
of a log that is not public; every run of a repetition on the same devices and the same submissions, so that runs differ
in what an experiment varies and in nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from hetsched.chance import stream
from hetsched.experiments.experiment import Parameter, Repetition
from hetsched.platform import Platform
from hetsched.platform.device_sampling import DeviceSample, sample_devices
from hetsched.platform.machines import TSUBAME3_JOBS_W, tsubame3
from hetsched.policy import Policy
from hetsched.run.result import Result
from hetsched.run.simulation import simulate
from hetsched.workload import Workload
from hetsched.workload.generators import overloaded, steady
from hetsched.workload.generators.cpu_gpu_log import MIXES

__all__ = [
    "BASELINE",
    "BETA",
    "HUNGRY",
    "JOBS",
    "MIXES",
    "NODES",
    "PARAMETERS",
    "PRESETS",
    "QUICK",
    "SCHEDULERS",
    "SOURCE",
    "SPREAD",
    "WITHOUT_BACKFILLING",
    "WITH_BACKFILLING",
    "Case",
    "Machine",
    "cases",
    "drawn_machine",
    "jobs_of",
    "run_row",
]

SOURCE = (
    "Yoshida et al., VAHRM: Variation-Aware Resource Management in Heterogeneous Supercomputing Systems, "
    "IEEE TPDS 36(8), 2025"
)
NODES = 540
JOBS = 10_000
QUICK_JOBS = 2_000
BETA = 0.25**6
STARVATION_LIMIT_S = 7 * 86_400.0
SPREAD = 0.04
"""Standard deviation of a device's watts, as a share of their mean."""

GPU_MAPE, CPU_MAPE = 0.0154, 0.0169
MAPE_TO_SD = math.sqrt(math.pi / 2)
"""The mean absolute value of a normal error is its standard deviation times √(2/π)."""

PRESETS: Mapping[str, Callable[..., Workload]] = {"overloaded": overloaded, "steady": steady}
"""Two readings of what the log was like, by name."""

HUNGRY = tuple(number for number, mix in enumerate(MIXES) if mix in ("5:5-large", "1:9-large"))
"""The workloads whose jobs, on all nodes at once, would draw more than half of the machine's TDP."""

BASELINE = "vu-fcfs"
WITHOUT_BACKFILLING = ("vu-fcfs", "cva-fcfs", "cgva-fcfs")
WITH_BACKFILLING = ("vu-fcfs-b", "cva-fcfs-b", "cgva-fcfs-b")
SCHEDULERS: Mapping[str, str] = {
    **{name: name for pair in zip(WITHOUT_BACKFILLING, WITH_BACKFILLING, strict=True) for name in pair},
    "vahrm+tsmva": "vahrm",
    "vahrm+ideal": "vahrm",
}
"""The paper's Table V: from a label to a policy. VAHRM stands there twice, under two tables of predictions."""

PARAMETERS = (
    Parameter("nodes", NODES, "printed"),
    Parameter("devices_per_node", {"cpu": 2, "gpu": 4}, "printed"),
    Parameter("idle_w", {"cpu": 40.0, "gpu": 60.0}, "printed; devices that a job does not use draw it, too"),
    Parameter("tdp_w", {"cpu": 120.0, "gpu": 300.0}, "printed; the budget is PCR times their sum, 777.6 kW"),
    Parameter("job_w", {app: watts for app, (_, watts) in TSUBAME3_JOBS_W.items()}, "printed: a node's used devices"),
    Parameter("jobs", JOBS, "printed"),
    Parameter("workloads", list(MIXES), "printed: CPU to GPU jobs, and how much both draw"),
    Parameter(
        "presets",
        {"overloaded": "load 1.2, days", "steady": "load 0.85, two months"},
        "assumed: the log is not public, and which 10,000 of its 118,890 jobs were taken is not said",
    ),
    Parameter("device_spread_ratio", SPREAD, "assumed: the paper prints no spread; normal, each kernel by itself"),
    Parameter("vahrm_beta", BETA, "printed: (1/4)^6"),
    Parameter("starvation_limit_s", STARVATION_LIMIT_S, "printed: one week"),
    Parameter(
        "tsmva_error_mape",
        {"cpu": CPU_MAPE, "gpu": GPU_MAPE},
        "printed, of TSMVA RF+RF on Xeon and P100; taken as normal errors of their own for each device and kernel",
    ),
    Parameter("rivals_predictions", "ideal", "assumed: the paper does not say what CVA and CGVA predict with"),
    Parameter("backfilling_knows", "run lengths", "assumed: what jobs ask for is not printed"),
)
"""What all its experiments have in common."""

QUICK = (Parameter("jobs", QUICK_JOBS, "ours, of a quick run: a fifth of the printed"),)
"""What is another in a quick run."""


@dataclass(frozen=True)
class Machine:
    """Nodes with devices that differ.

    Parameters
    ----------
    sample
        The devices' watts.
    ideal
        The nodes, predicted as they are.
    tsmva
        The same nodes, predicted with TSMVA's errors.
    """

    sample: DeviceSample
    ideal: Platform
    tsmva: Platform

    def of(self, label: str) -> Platform:
        """The nodes as a scheduler of `SCHEDULERS` sees them.

        Parameters
        ----------
        label
            Its label.
        """
        return self.tsmva if label.endswith("+tsmva") else self.ideal


def drawn_machine(seed: int, *, spread: float = SPREAD, nodes: int = NODES) -> Machine:
    """540 nodes of two CPUs and four GPUs, and what TSMVA would predict of them.

    Parameters
    ----------
    seed
        Of the draws; one seed draws the same standard normals for every spread.
    spread
        Standard deviation of a device's watts under a kernel, as a share of their mean.
    nodes
        How many.

    Examples
    --------
    >>> machine = drawn_machine(1, spread=0.0)
    >>> bool(machine.ideal.actual.power_w.std(axis=1).max() < 1e-9)
    True
    """
    machine = tsubame3(nodes)
    sample = sample_devices(machine, TSUBAME3_JOBS_W, sd_ratio=spread, seed=seed)
    predicted = machine.table(
        {app: (device, _mispredicted(watts, seed, app, device)) for app, (device, watts) in sample.power_w.items()},
        below_idle="clip",
    )
    ideal = machine.platform(actual=sample.table)
    return Machine(sample, ideal, machine.platform(actual=sample.table, predicted=predicted))


def _mispredicted(watts: np.ndarray, seed: int, app: str, device: str) -> np.ndarray:
    """Watts of devices, each off by a normal error of TSMVA's mean absolute size."""
    deviation = MAPE_TO_SD * {"cpu": CPU_MAPE, "gpu": GPU_MAPE}[device]
    errors = stream(seed, f"tsmva errors {app}").standard_normal(watts.shape)
    predicted: np.ndarray = watts * (1.0 + deviation * errors)
    return predicted


@dataclass(frozen=True)
class Case:
    """A workload of a repetition.

    Parameters
    ----------
    preset
        Key of `PRESETS`.
    number
        Of the workload, 0 to 8.
    workload
        The jobs.
    """

    preset: str
    number: int
    workload: Workload

    @property
    def keys(self) -> dict[str, Any]:
        """What names it in a row."""
        return {"preset": self.preset, "workload": self.number, "mix": MIXES[self.number]}


def cases(seed: int, *, jobs: int = JOBS, nodes: int = NODES) -> Iterator[Case]:
    """The nine workloads in both readings of the log, one after the other.

    Parameters
    ----------
    seed
        Of submissions, sizes and lengths, which are the same in all nine.
    jobs
        How many.
    nodes
        Of the machine.
    """
    for preset, generate in PRESETS.items():
        for number in range(len(MIXES)):
            yield Case(preset, number, generate(nodes=nodes, jobs=jobs, mix=number, seed=seed))


def jobs_of(repetition: Repetition) -> int:
    """How many jobs a repetition's workloads have.

    Parameters
    ----------
    repetition
        Which.
    """
    return QUICK_JOBS if repetition.is_quick else JOBS


def run_row(
    case: Case,
    label: str,
    policy: str | Policy,
    platform: Platform,
    *,
    seed: int,
    at: Mapping[str, float | None],
    bound: bool = False,
    extra: Callable[[Result], Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """Run a policy on a workload.

    Parameters
    ----------
    case
        The workload.
    label
        What to call the policy.
    policy
        As `simulate` takes it.
    platform
        The nodes, with what is predicted of them.
    seed
        Of the run.
    at
        What the experiment varies, by column: ``{"pcr": 0.5}``; None where it does not concern this policy.
    bound
        Whether to compute the least job energy in this run's window.
    extra
        More columns, from the result.

    Returns
    -------
    dict
        ``scenario, policy, preset, workload, mix``, what is varied, ``run_s`` (the mean run time), ``tail_s`` and
        ``tail_idle_j`` (time and idle energy after the last start), ``starved_ratio`` (the share of jobs that wait
        longer than VAHRM's limit), and the keys of the summary.
    """
    result = simulate(case.workload, platform, policy, seed=seed, bound=bound)
    where = "".join(f", {name} {value:g}" for name, value in at.items() if value is not None)
    return {
        "scenario": f"{case.preset}, {MIXES[case.number]}{where}",
        "policy": label,
        **case.keys,
        **at,
        **result.summary(),
        **_lengths(result.jobs, platform),
        "starved_ratio": float((result.jobs["wait_s"].to_numpy() > STARVATION_LIMIT_S).mean()),
        **({} if extra is None else extra(result)),
    }


def _lengths(jobs: pl.DataFrame, platform: Platform) -> dict[str, float]:
    """Mean run time, and the idle energy after the last start: what a trace costs that ends, and a machine does not."""
    start_s, end_s, size = (jobs[name].to_numpy() for name in ("start_s", "end_s", "node_count"))
    last_s, over_s = start_s.max(), end_s.max()
    busy_node_s = float(np.dot(size, np.maximum(end_s - last_s, 0.0)))
    idle_w = float(platform.idle_w.mean())
    return {
        "run_s": float((end_s - start_s).mean()),
        "tail_s": float(over_s - last_s),
        "tail_idle_j": idle_w * (platform.nodes * float(over_s - last_s) - busy_node_s),
    }
