"""Nodes, nine workloads and eight schedulers of the VAHRM paper, and one run of them as a row.

540 nodes of two CPUs and four GPUs; workload 0 to 8 of Table III on two readings
of a log that is not public; every run of a repetition on the same devices and the same submissions, so that runs differ
in what an experiment varies and in nothing else.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from hetsched.chance import stream
from hetsched.experiments.experiment import Experiment, Floats, Parameter, Parameters, Repetition, Row, measured
from hetsched.experiments.runs import Runs, panels, run_row
from hetsched.platform import Platform
from hetsched.platform.device_sampling import DeviceSample, sample_devices
from hetsched.platform.devices import TSUBAME3_JOBS_W, tsubame3
from hetsched.policy import Policy
from hetsched.run.result import Result
from hetsched.typing import Bound
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
    bound: bool | Bound = False,
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


LARGE_NODES = 16
"""The paper's large jobs ask for more than 15 nodes."""

SIZES = (1, 2, 4, 8, 16, 32, 64)
"""The least sizes of the classes; the last holds all larger jobs, too."""

NOTICED_S = 60.0
"""A job that waited less than this under the other policy says nothing about a ratio of waits."""


def waits_by_size(jobs: pl.DataFrame) -> dict[str, float | None]:
    """The mean wait of each class of sizes, in seconds: ``wait_1_s, wait_2_s, wait_4_s`` ...; None without a job."""
    place = np.searchsorted(SIZES, jobs["node_count"].to_numpy(), side="right") - 1
    count = np.bincount(place, minlength=len(SIZES))
    total_s = np.bincount(place, weights=jobs["wait_s"].to_numpy(), minlength=len(SIZES))
    return {
        f"wait_{size}_s": float(total_s[number] / count[number]) if count[number] else None
        for number, size in enumerate(SIZES)
    }


def large_job_waits(jobs: pl.DataFrame, other_wait_s: Floats) -> dict[str, float]:
    """Waiting times of large jobs relative to another policy, whose waits are in the same order.

    ``large_wait_s``, ``large_other_wait_s``: mean waits; ``large_longest_wait_s``; ``large_ratio``: the mean over
    single jobs of wait over wait; ``large_longest_ratio``: the largest of these; ``large_later_ratio``: the share of
    jobs that wait longer. Ratios are of jobs that waited a minute or more under the other policy.
    """
    is_large = jobs["node_count"].to_numpy() >= LARGE_NODES
    own_s, other_s = jobs["wait_s"].to_numpy()[is_large], other_wait_s[is_large]
    is_noticed = other_s >= NOTICED_S
    ratios = own_s[is_noticed] / other_s[is_noticed]
    return {
        "large_wait_s": float(own_s.mean()),
        "large_other_wait_s": float(other_s.mean()),
        "large_longest_wait_s": float(own_s.max()),
        "large_ratio": float(ratios.mean()) if len(ratios) else 1.0,
        "large_longest_ratio": float(ratios.max()) if len(ratios) else 1.0,
        "large_later_ratio": float((own_s > other_s).mean()),
    }


QUANTITIES = {
    "saving": "system energy saved, {}, %",
    "placement": "placement part of it, {}, %",
    "energy": "energy, change, {}, %",
    "turnaround": "turnaround, change, {}, %",
    "throughput": "throughput, change, {}, %",
    "wait": "mean wait over the baseline's, {}",
    "waiting": "wait, change, {}, %",
    "merit": "M_β, {}, % over ratio",
}
"""Quantities of metrics."""


def relative(frame: pl.DataFrame, baseline: str = BASELINE, **at: Any) -> Runs:
    """The runs, with a column a workload."""
    return Runs(frame, baseline, each="workload", **at)


def of_paper(
    name: str, section: str, *, parameters: Sequence[Parameter], baseline: str = BASELINE, **more: Any
) -> Experiment:
    """An experiment of the paper."""
    return Experiment(
        name=name,
        source=f"{SOURCE}, section {section}",
        parameters=[*P, *parameters],
        quick_parameters=QUICK,
        baseline=baseline,
        **more,
    )


def by_preset(
    rows_of: Callable[[Runs, str], Iterable[Row]], baseline: str = BASELINE, presets: Sequence[str] = PRESETS
) -> Callable[..., list[Row]]:
    """From the frame of all runs to rows of each reading of the log."""
    return lambda frame: [
        row for preset in presets for row in rows_of(relative(frame, baseline, preset=preset), preset)
    ]


def swept(
    runs: Runs,
    rows: Mapping[str, str],
    *,
    labels: Collection[str],
    vary: str,
    ticks: Mapping[float, str],
    x_label: str,
    called: Mapping[str, str] | None = None,
    is_even: bool = False,
    **more: Any,
) -> pl.DataFrame:
    """Metrics (with the text at their axes) over what an experiment varies, averaged over workloads, as curves.

    Values are plotted at their place or, if even, at equal distances; `called` renames policies, `more` goes to
    `Runs.mean`.
    """
    names = {(called or {}).get(label, label): label for label in labels}
    return panels(
        {row: metric for metric, row in rows.items()},
        {preset: runs.where(preset=preset) for preset in PRESETS},
        names,
        lambda metric, own, label: own.across(metric, names[label], vary, ticks, **more),
        level={row: 1.0 for metric, row in rows.items() if metric == "wait"},
        ticks=list(ticks.values()),
        x=range(len(ticks)) if is_even else list(ticks),
        x_label=x_label,
    )


def numbers(
    frame: pl.DataFrame,
    label: str,
    metrics: Collection[str],
    settings: Mapping[str, Mapping[str, Any]],
    *,
    over: str = BASELINE,
    **more: Any,
) -> dict[str, Floats]:
    """Metrics of a policy, averaged over workloads, by quantity.

    `settings` leads from the text in the quantity to what the experiment varies, and its value.
    """
    quantities, found = {name: QUANTITIES[name] for name in metrics}, dict[str, Floats]()
    for preset in PRESETS:
        where = {f"{setting}, {preset}" if setting else preset: at for setting, at in settings.items()}
        found |= relative(frame, preset=preset).numbers(label, quantities, where, over=over, **more)
    return found


def log_under_baseline(frame: pl.DataFrame, **at: float) -> list[Parameter]:
    """Load, use and waits of either reading of the log under VU-FCFS, averaged over repetitions and workloads.

    `at` selects the runs by what the experiment varies.
    """
    own = frame.filter(policy=BASELINE, **at)
    found = own.group_by("preset", maintain_order=True).agg(
        pl.col("offered_load_ratio").mean(),
        pl.col("utilization_ratio").mean(),
        (pl.col("mean_wait_s") / pl.col("run_s")).mean().alias("wait_over_run"),
        (pl.col("makespan_s") / 86_400.0).mean().alias("days"),
    )
    note = "under VU-FCFS: offered load, share of nodes in use, mean wait over mean run time, days"
    return [
        measured(str(row.pop("preset")), {name: round(float(value), 3) for name, value in row.items()}, note)
        for row in found.iter_rows(named=True)
    ]
