"""Nodes, nine workloads and eight schedulers of the VAHRM paper, and one run of them as a row.

540 nodes of two CPUs and four GPUs; workload 0 to 8 of Table III on two readings
of a log that is not public; every run of a repetition on the same devices and the same submissions, so that runs differ
in what an experiment varies and in nothing else.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from hetsched.chance import stream
from hetsched.experiments.experiment import Parameters, Repetition
from hetsched.experiments.runs import run_row
from hetsched.platform import Platform
from hetsched.platform.device_sampling import DeviceSample, sample_devices
from hetsched.platform.machines import TSUBAME3_JOBS_W, tsubame3
from hetsched.policy import Policy
from hetsched.run.result import Result
from hetsched.workload import Workload
from hetsched.workload.generators import overloaded, overloaded_large, steady
from hetsched.workload.generators.cpu_gpu_log import MIXES

SOURCE = (
    "Yoshida et al., VAHRM: Variation-Aware Resource Management in Heterogeneous Supercomputing Systems, "
    "IEEE TPDS 36(8), 2025"
)
P = Parameters()
"""Parameters that all its experiments share."""

NODES = P.printed("nodes", 540)
P.printed("devices_per_node", {"cpu": 2, "gpu": 4})
P.printed("idle_w", {"cpu": 40.0, "gpu": 60.0}, "devices that a job does not use draw it, too")
P.printed("tdp_w", {"cpu": 120.0, "gpu": 300.0}, "the budget is PCR times their sum, 777.6 kW")
P.printed("job_w", {app: watts for app, (_, watts) in TSUBAME3_JOBS_W.items()}, "a node's used devices")
JOBS = P.printed("jobs", 10_000)
P.printed("workloads", MIXES, "CPU to GPU jobs, and how much both draw")
P.assumed(
    "presets",
    {
        "overloaded": "load 1.2, 28 hours, 69 % jobs of one node",
        "steady": "load 0.85, six weeks",
        "overloaded-large": "load 1.2, days, 33 % jobs of one node",
    },
    "the log is not public, and which 10,000 of its 118,890 jobs were taken is not said",
)
SPREAD = P.assumed("device_spread_ratio", 0.04, "the paper prints no spread; normal, each kernel by itself")
"""Standard deviation of a device's watts, as a share of their mean."""

P.printed("vahrm_beta", 0.25**6, "(1/4)^6")
STARVATION_LIMIT_S = P.printed("starvation_limit_s", 7 * 86_400.0, "one week")
TSMVA_MAPE = P.printed(
    "tsmva_error_mape",
    {"cpu": 0.0169, "gpu": 0.0154},
    "of TSMVA RF+RF on Xeon and P100; taken as normal errors of their own for each device and kernel",
)
MAPE_TO_SD = math.sqrt(math.pi / 2)
"""The mean absolute value of a normal error is its standard deviation times √(2/π)."""

P.assumed("rivals_predictions", "ideal", "the paper does not say what CVA and CGVA predict with")
P.assumed("backfilling_knows", "run lengths", "what jobs ask for is not printed")

QUICK = Parameters()
"""Parameters of a quick run: the load of the trace stays the same, and there are large jobs."""

QUICK_NODES = QUICK.noted("nodes", NODES // 5, "ours, of a quick run: a fifth of the printed")
QUICK_JOBS = QUICK.noted("jobs", 3 * JOBS // 40, "ours, of a quick run: three fortieths of the printed")

READINGS: Mapping[str, Callable[..., Workload]] = {
    "overloaded": overloaded,
    "steady": steady,
    "overloaded-large": overloaded_large,
}
"""Readings of the log, by name."""

PRESETS = ("overloaded", "steady")
"""Readings of most experiments."""

HIGH_POWER = tuple(number for number, mix in enumerate(MIXES) if mix in ("5:5-large", "1:9-large"))
"""The workloads whose jobs, on all nodes at once, would draw more than half of the machine's TDP."""

OTHERS = tuple(number for number in range(len(MIXES)) if number not in HIGH_POWER)
"""The other seven."""

BASELINE = "vu-fcfs"
WITHOUT_BACKFILLING = ("vu-fcfs", "cva-fcfs", "cgva-fcfs")
WITH_BACKFILLING = ("vu-fcfs-b", "cva-fcfs-b", "cgva-fcfs-b")
SCHEDULERS: Mapping[str, str] = {
    **{name: name for pair in zip(WITHOUT_BACKFILLING, WITH_BACKFILLING, strict=True) for name in pair},
    "vahrm+tsmva": "vahrm",
    "vahrm+ideal": "vahrm",
}
"""The paper's Table V: from a label to a policy. VAHRM is there twice, with two tables of predictions."""


@dataclass(frozen=True)
class Machine:
    """Nodes with devices that differ."""

    sample: DeviceSample  # the devices' watts
    ideal: Platform  # the nodes, predicted as they are
    tsmva: Platform  # the same nodes, predicted with TSMVA's errors

    def of(self, label: str) -> Platform:
        """The nodes as a scheduler of `SCHEDULERS` sees them."""
        return self.tsmva if label.endswith("+tsmva") else self.ideal


def drawn_machine(seed: int, *, spread: float = SPREAD, nodes: int = NODES) -> Machine:
    """Nodes of two CPUs and four GPUs, and TSMVA's predictions of them.

    `spread` is the standard deviation of a device's watts under a kernel, as a share of their mean; one seed draws the
    same standard normals for all of them.
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
    deviation = MAPE_TO_SD * TSMVA_MAPE[device]
    errors = stream(seed, f"tsmva errors {app}").standard_normal(watts.shape)
    predicted: np.ndarray = watts * (1.0 + deviation * errors)
    return predicted


@dataclass(frozen=True)
class Case:
    """A workload of a repetition."""

    preset: str  # key of `PRESETS`
    number: int  # 0 to 8
    workload: Workload


def machine_of(repetition: Repetition, *, spread: float = SPREAD) -> Machine:
    """Nodes of a repetition, as `drawn_machine` draws them."""
    return drawn_machine(repetition.seed, spread=spread, nodes=QUICK_NODES if repetition.is_quick else NODES)


def cases(seed: int, *, jobs: int = JOBS, nodes: int = NODES, presets: Sequence[str] = PRESETS) -> Iterator[Case]:
    """The nine workloads in each reading of the log: submissions, sizes and lengths are the same in all nine."""
    for preset in presets:
        for number in range(len(MIXES)):
            yield Case(preset, number, _generated(preset, nodes, jobs=jobs, mix=number, seed=seed))


def _generated(preset: str, nodes: int, **parameters: int) -> Workload:
    """A reading's workload for a machine of that many nodes, of which no job asks for more than a third.

    Half the power budget feeds as many at least. A mean size that the reading sets shrinks with the machine, so that as
    many jobs run side by side.
    """
    generate = READINGS[preset]
    known = inspect.signature(generate).parameters
    sizes = {"largest_nodes": min(nodes // 3, known["largest_nodes"].default)}
    if "mean_nodes" in known:
        sizes["mean_nodes"] = max(1.5, known["mean_nodes"].default * nodes / NODES)
    return generate(nodes=nodes, **sizes, **parameters)


def cases_of(repetition: Repetition, presets: Sequence[str] = PRESETS) -> Iterator[Case]:
    """Workloads of a repetition."""
    nodes, jobs = (QUICK_NODES, QUICK_JOBS) if repetition.is_quick else (NODES, JOBS)
    return cases(repetition.seed, jobs=jobs, nodes=nodes, presets=presets)


def case_row(
    case: Case,
    label: str,
    policy: str | Policy,
    platform: Platform,
    *,
    seed: int,
    at: Mapping[str, float | None],
    bound: bool = False,
    extra: Callable[[Result], Mapping[str, Any]] = lambda _result: {},
) -> dict[str, Any]:
    """Run a policy on a workload; `at` is what the experiment varies, None where it does not concern this policy.

    Columns added to the summary: ``run_s`` (the mean run time), ``tail_s`` and ``tail_idle_j`` (time and idle energy
    after the last start), ``starved_ratio`` (the share of jobs that wait longer than VAHRM's limit).
    """
    mix = MIXES[case.number]
    where = "".join(f", {name} {value:g}" for name, value in at.items() if value is not None)
    named = {"scenario": f"{case.preset}, {mix}{where}", "preset": case.preset, "workload": case.number, "mix": mix}
    return run_row(
        label,
        policy,
        case.workload,
        platform,
        seed=seed,
        named={**named, **at},
        bound=bound,
        extra=lambda result: {
            **_lengths(result.jobs, platform),
            "starved_ratio": float((result.jobs["wait_s"].to_numpy() > STARVATION_LIMIT_S).mean()),
            **extra(result),
        },
    )


def _lengths(jobs: pl.DataFrame, platform: Platform) -> dict[str, float]:
    """Mean run time, and time and idle energy after the last start, which a machine in service does not have."""
    start_s, end_s, size = (jobs[name].to_numpy() for name in ("start_s", "end_s", "node_count"))
    last_s, over_s = start_s.max(), end_s.max()
    busy_node_s = float(np.dot(size, np.maximum(end_s - last_s, 0.0)))
    idle_w = float(platform.idle_w.mean())
    return {
        "run_s": float((end_s - start_s).mean()),
        "tail_s": float(over_s - last_s),
        "tail_idle_j": idle_w * (platform.nodes * float(over_s - last_s) - busy_node_s),
    }
