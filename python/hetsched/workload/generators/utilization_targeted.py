"""Jobs submitted so that the share of busy nodes fluctuates around a target.

After Zhou, Fukazawa and Nakashima, "Energy Aware Scheduler of Single/Multi-node Jobs Exploiting Node Heterogeneity"
(COA and SWA), section 2.2.1: `U = N_busy / (N_available + N_busy)` is kept around 40, 60 or 80 %. The paper says no
more; the controller is `feedback`'s.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from hetsched.chance import stream
from hetsched.checks import Faults
from hetsched.workload.generators.feedback import Control, submits
from hetsched.workload.generators.generator import Generator
from hetsched.workload.generators.made import app_column, generated, note_too_long
from hetsched.workload.generators.mixes import JobClass, Mix, apportioned, drawn_sizes
from hetsched.workload.generators.parameters import JOBS, NODES, SEED, WALLTIME_FACTOR, Parameter, taken
from hetsched.workload.jobs import Workload

__all__ = ["CONTROL", "GENERATOR", "PARAMETERS", "submitted_to_target", "utilization_targeted"]

MOST_STEPS = 5_000_000

CONTROL = (
    Parameter("utilization", "share of busy nodes to keep", low=0.01, high=1.0),
    Parameter("fluctuation", "how far the target wanders to both sides, at most to 0 or 1", low=0.0, high=0.5),
    Parameter("fluctuation_s", "how long it keeps its side", "number", "seconds", 1e-3, 1e9, "the mean run length"),
    Parameter("ramp_s", "time over which the machine fills", "number", "seconds", 0.0, 1e9, "the mean run length"),
    Parameter("interval_s", "time between two submissions", "number", "seconds", 1e-3, 1e9),
)
"""Parameters of the feedback, which every workload made with it has."""

PARAMETERS = (
    Parameter("mix", "classes of jobs", "mix"),
    NODES,
    Parameter("jobs", "how many jobs", "whole", "jobs", 1, JOBS.high, "as many as the mix counts"),
    *CONTROL,
    WALLTIME_FACTOR,
    SEED,
)


def utilization_targeted(
    mix: str | tuple[JobClass, ...] | list[JobClass] = "3400 hpcg 1 392; 5700 stream 1 234",
    *,
    nodes: int = 1990,
    jobs: int | None = None,
    utilization: float = 0.8,
    fluctuation: float = 0.04,
    fluctuation_s: float | None = None,
    ramp_s: float | None = None,
    interval_s: float = 10.0,
    walltime_factor: float | None = None,
    seed: int = 0,
) -> Workload:
    """Jobs of a mix, in random order, submitted so that utilization fluctuates around a target until all are.

    Every `interval_s` the jobs are submitted that bring the number of busy nodes to the target, counted with nominal
    run lengths; what was missed or exceeded before is made up for. So, in a replay that starts every job at once
    (FCFS at nominal speed does), the mean utilization between the ramp and the last submission is the target, and
    never more nodes are wanted than there are. Only the highest targets are out of reach: a node that falls free stays
    so until the next submission, and where all others are busy none makes up for it (a target of 1 gives 0.98 with the
    defaults). The target itself wanders: an AR(1) process of standard deviation `fluctuation` / 2, clipped to
    ± `fluctuation`, its mean taken out.

    Parameters
    ----------
    mix
        Classes of jobs: `JobClass` each, or a text ``"COUNT APP NODES RUNTIME; ..."``. The counts are kept exactly.
        Without one the jobs of `coa_single`: on 1,990 nodes at 80 % they are submitted over some six mean run lengths.
    nodes
        Of the machine.
    jobs
        How many: the counts of the mix become shares, rounded by largest remainders. None: as the mix counts.
    utilization
        The target, 0.01 to 1.
    fluctuation
        How far the target wanders to both sides, 0 to 0.5 (the paper's figure shows some 0.05). Never farther than to
        0 or 1, so that its mean stays where it was asked for: at a utilization of 0.97 by 0.03. The report's parameters
        say how far.
    fluctuation_s
        Correlation time of this wandering, seconds. None: the mean run length.
    ramp_s
        Time over which the machine fills, seconds. None: the mean run length, so that the first jobs end as evenly
        as later ones.
    interval_s
        Time between two submissions, seconds; jobs submitted together are seen together by the scheduler.
    walltime_factor
        Requested over run time, at least 1. None: no job asks for a time.
    seed
        All chance comes from it.

    Returns
    -------
    Workload
        First submission at 0. ``notes`` in its report say so if the mix is too short: all jobs are submitted before
        the machine is filled, and no job comes while the target is kept.

    Raises
    ------
    ConfigError
        With every fault: a value out of its range, a class whose jobs need more nodes than there are, an interval so
        short that more than 5,000,000 steps would be needed, times longer than any workload holds.

    Examples
    --------
    >>> mix = [JobClass(300, "hpcg", 1, 140.0), JobClass(20, "hpcg", 8, 140.0)]
    >>> workload = utilization_targeted(mix, nodes=50, utilization=0.6, seed=1)
    >>> workload.to_polars()["node_count"].value_counts(sort=True).rows()
    [(1, 300), (8, 20)]
    """
    return submitted_to_target("utilization-targeted", PARAMETERS, locals())


def submitted_to_target(
    kind: str, parameters: tuple[Parameter, ...], given: dict[str, Any], mix: Mix | None = None
) -> Workload:
    """The workload of `utilization_targeted`, or of a named mix submitted in its way.

    Parameters
    ----------
    kind
        The generator's name.
    parameters
        Its parameters, those of `CONTROL`, ``nodes``, ``walltime_factor`` and ``seed`` among them.
    given
        A value for each.
    mix
        The jobs; None: ``given["mix"]``.
    """
    faults = Faults()
    values = taken(parameters, given, faults)
    classes: Mix = values.get("mix") or () if mix is None else mix
    faults.check()
    counts = _counts(classes, values.get("jobs"), faults)
    _refuse_large(classes, values["nodes"], faults, is_named=mix is not None)
    faults.check()
    values["fluctuation"] = _room(values["utilization"], values["fluctuation"])
    code, size, runtime_s = _drawn(classes, counts, values["seed"])
    drawn_from = ", ".join(one.name for one in parameters if one.kind in ("mix", "runtime"))
    note_too_long(faults, drawn_from, "run lengths", runtime_s, "shorter ones: a job would run for")
    faults.check()
    runtime_us = np.maximum(np.round(runtime_s * 1e6), 1.0).astype(np.int64)
    control = _control(values, size, runtime_us)
    submit_us = submits(size, runtime_us, control, stream(values["seed"], "utilization.target"))
    names = list(dict.fromkeys(one.app for one in classes))
    app_of = np.array([names.index(one.app) for one in classes], dtype=np.int64)
    return generated(
        kind,
        values,
        submit_s=submit_us / 1e6,
        runtime_s=runtime_us / 1e6,
        node_count=size,
        app=app_column(app_of[code], names),
        walltime_factor=values["walltime_factor"],
        notes=_too_short(size, runtime_us, submit_us, control),
    )


def _too_short(
    size: npt.NDArray[np.int64], runtime_us: npt.NDArray[np.int64], submit_us: npt.NDArray[np.int64], control: Control
) -> list[str]:
    """A sentence if all jobs are submitted before the machine is filled to its target."""
    last_us, filled_us = int(submit_us[-1]), (math.ceil(max(control.ramp_steps, 1.0)) - 1) * control.interval_us
    # The last job may go or stay, whichever comes nearer, and the target may be at its lowest.
    lowest = (control.utilization - control.fluctuation) * control.nodes - float(size.max()) / 2
    busy = int(size[submit_us + runtime_us > last_us].sum())
    if last_us > filled_us or (last_us == filled_us and busy >= lowest):
        return []
    target, at_last = (
        f"{control.utilization * 100:g} %",
        f"after {last_us / 1e6:g} s, with {busy:,} of {control.nodes:,}",
    )
    why = f"its last job is submitted {at_last} nodes busy; the machine is filled after {filled_us / 1e6:g} s"
    return [f"the mix is too short to reach {target}: {why}"]


def _counts(classes: Mix, jobs: int | None, faults: Faults) -> npt.NDArray[np.int64]:
    given = [one.count for one in classes]
    if sum(given) < 1 or sum(given) > JOBS.high:
        faults.add("mix", f"{sum(given)} jobs", f"from 1 to {JOBS.high:.0f} jobs in all")
        return np.zeros(len(classes), dtype=np.int64)
    return np.array(given, dtype=np.int64) if jobs is None else apportioned(given, jobs)


def _refuse_large(classes: Mix, nodes: int, faults: Faults, *, is_named: bool) -> None:
    """Note classes whose jobs do not fit on the machine; of a named mix it is the machine that is too small."""
    largest = [one.node_count if isinstance(one.node_count, int) else max(one.node_count) for one in classes]
    if is_named and max(largest, default=0) > nodes:
        faults.add("nodes", nodes, f"at least {max(largest)}, as the largest jobs need")
        return
    for place, size in enumerate(largest):
        if size > nodes:
            faults.add(f"mix[{place}].node_count", size, f"at most the {nodes} nodes there are")


def _drawn(
    classes: Mix, counts: npt.NDArray[np.int64], seed: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Class, nodes and run length of each job, in the order in which they will be submitted."""
    size = np.empty(int(counts.sum()), dtype=np.int64)
    runtime_s = np.empty(len(size))
    ends = np.cumsum(counts)
    for place, (one, end, count) in enumerate(zip(classes, ends, counts, strict=True)):
        rows = slice(int(end - count), int(end))
        size[rows] = drawn_sizes(one.node_count, stream(seed, f"mix.{place}.sizes"), int(count))
        runtime_s[rows] = one.runtime_s.draw(stream(seed, f"mix.{place}.runtimes"), int(count))  # type: ignore[union-attr]
    order = stream(seed, "mix.order").permutation(len(size))
    code = np.repeat(np.arange(len(classes)), counts)
    return code[order], size[order], runtime_s[order]


def _room(utilization: float, fluctuation: float) -> float:
    """How far a target wanders that stays within 0 and 1.

    Examples
    --------
    >>> _room(0.8, 0.04), _room(0.97, 0.04), _room(1.0, 0.04)
    (0.04, 0.03, 0.0)
    """
    # In decimals, as people write them: 1 - 0.97 is 0.030000000000000027.
    return min(fluctuation, utilization, round(1.0 - utilization, 12))


def _control(values: dict[str, Any], size: npt.NDArray[np.int64], runtime_us: npt.NDArray[np.int64]) -> Control:
    area_us = float(np.dot(size.astype(np.float64), runtime_us.astype(np.float64)))
    mean_us = area_us / float(size.sum())
    ramp_us = mean_us if values["ramp_s"] is None else values["ramp_s"] * 1e6
    length_us = ramp_us / 2 + area_us / (values["utilization"] * values["nodes"])
    interval_us = round(values["interval_s"] * 1e6)
    # A single run may last longer than all submissions take, and every step until its end is kept.
    steps_us = max(length_us, float(runtime_us.max()) / 4)
    faults = Faults()
    last_s = np.array([steps_us / 1e6])
    note_too_long(faults, "utilization", values["utilization"], last_s, "more: the last job would be submitted after")
    if steps_us / interval_us > MOST_STEPS:
        expected = f"at least {steps_us / 1e6 / MOST_STEPS:.3g}, as there are at most {MOST_STEPS:,} steps"
        faults.add("interval_s", values["interval_s"], expected)
    faults.check()
    wander_us = mean_us if values["fluctuation_s"] is None else values["fluctuation_s"] * 1e6
    return Control(
        nodes=values["nodes"],
        utilization=values["utilization"],
        fluctuation=values["fluctuation"],
        wander_steps=wander_us / interval_us,
        ramp_steps=ramp_us / interval_us,
        horizon_steps=max(mean_us / interval_us / 2, 2.0),
        expected_steps=int(length_us / interval_us) + 1,
        interval_us=interval_us,
    )


GENERATOR = Generator(
    name="utilization-targeted",
    doc="A mix of jobs, submitted so that utilization fluctuates around a target.",
    source="Zhou, Fukazawa & Nakashima, Energy Aware Scheduler of Single/Multi-node Jobs, section 2.2.1",
    parameters=PARAMETERS,
    function=utilization_targeted,
)
