"""Jobs submitted so that the share of busy nodes fluctuates around a target.

After Zhou, Fukazawa and Nakashima, "Energy Aware Scheduler of Single/Multi-node Jobs Exploiting Node Heterogeneity"
(COA and SWA), section 2.2.1: `U = N_busy / (N_available + N_busy)` is kept around 40, 60 or 80 %. The paper says no
more; the controller is `feedback`'s.

The controller goes through time in steps; within a step all jobs are handled at once. Counts are exact: run lengths and
steps are whole microseconds, so a job that ends at a step has freed its nodes there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import Annotated, Any

import numpy as np

from hetsched.chance import stream
from hetsched.checks import Faults
from hetsched.params import Parameter, parameters_of
from hetsched.workload.generators import parameters as par
from hetsched.workload.generators.columns import Floats, Whole, app_column, generated, note_too_long
from hetsched.workload.generators.mixes import JobClass, Mix, apportioned, drawn_sizes, mix_of
from hetsched.workload.jobs import Workload


@dataclass(frozen=True)
class Control:
    """Aim of the controller; times in steps of `interval_us` microseconds."""

    nodes: int
    utilization: float
    """Mean share of busy nodes to reach."""
    fluctuation: float
    """Range of the target to both sides, at most to 0 or 1."""
    wander_steps: float
    """Correlation time of that."""
    ramp_steps: float
    """Until the target is reached for the first time, rising steadily."""
    horizon_steps: float
    """Over which what was missed is made up for."""
    expected_steps: int
    """Until all jobs are submitted, about."""
    interval_us: int


def wandering(count: int, correlation: float, rng: np.random.Generator) -> Floats:
    """A stationary AR(1) process of standard deviation 1/2, clipped to ±1, its mean over all steps taken out."""
    keep = float(np.exp(-1.0 / correlation))
    shocks = rng.normal(0.0, 0.5 * np.sqrt(1 - keep**2), count)
    shocks[:1] = rng.normal(0.0, 0.5, min(count, 1))
    wave = np.clip(np.fromiter(accumulate(shocks, lambda last, shock: keep * last + shock), np.float64, count), -1, 1)
    return wave - wave.mean() if count else wave


def submits(node_count: Whole, runtime_us: Whole, control: Control, rng: np.random.Generator) -> Whole:
    """Submission of each job, in microseconds from 0; the jobs keep their order.

    At step k the jobs go out that bring the busy nodes to ``target(k) × nodes + missed / horizon``, where ``missed``
    is the integral of target minus busy nodes so far: what is lost between steps, to large jobs and to rounding comes
    back, and the mean is the target's. A job goes out if that comes nearer to the mark than leaving it, and if the
    nodes for it are free.
    """
    targets = _targets(control, rng)
    row = _Row(node_count, runtime_us, control)
    missed, step = 0.0, 0
    while row.sent < len(node_count):
        target = targets[step] if step < len(targets) else control.utilization * control.nodes
        mark = min(target + missed / control.horizon_steps, control.nodes)
        missed += target - row.advance(step, mark)
        step += 1
    return row.submit_us


def _targets(control: Control, rng: np.random.Generator) -> list[float]:
    """Busy nodes to reach, step by step as long as jobs are expected to last."""
    steps = control.expected_steps
    wave = control.fluctuation * wandering(steps, max(control.wander_steps, 1e-3), rng)
    # Its mean taken out, a wave may pass its ends. Cut off at 0 or 1, the target would have another mean.
    room, reach = min(control.utilization, 1.0 - control.utilization), float(np.abs(wave).max(initial=0.0))
    wave *= min(1.0, room / reach) if reach > 0 else 1.0
    rise = np.minimum(np.arange(1, steps + 1) / max(control.ramp_steps, 1.0), 1.0)
    shares = (control.utilization + wave) * rise
    return (shares * control.nodes).tolist()  # type: ignore[no-any-return]


class _Row:
    """Jobs waiting to go out, and what those that went out occupy."""

    def __init__(self, node_count: Whole, runtime_us: Whole, control: Control) -> None:
        self.submit_us = np.zeros(len(node_count), dtype=np.int64)
        self.sent = 0
        self._nodes = control.nodes
        self._interval_us = control.interval_us
        self._node_count = node_count
        # Before, with and halfway through each job.
        self._filled = np.concatenate([[0], np.cumsum(node_count)])
        self._halfway = (self._filled[1:] + self._filled[:-1]) / 2
        # A job that goes out at step k ends in the step k + `_last`, and leaves `_unused` node-steps of that.
        self._last = -(-runtime_us // control.interval_us) - 1
        self._unused = node_count * ((self._last + 1) * control.interval_us - runtime_us) / control.interval_us
        self._freed = 0
        length = max(control.expected_steps, 1)
        self._ending_nodes = np.zeros(length, dtype=np.int64)
        self._ending_unused = np.zeros(length)

    def advance(self, step: int, mark: float) -> float:
        """Send jobs out at `step` to bring the busy nodes near to `mark`; gives their mean until the next step."""
        busy = int(self._filled[self.sent]) - self._freed
        if busy < mark:
            busy = self._send(step, busy, mark)
        if step >= len(self._ending_nodes):
            return float(busy)
        self._freed += int(self._ending_nodes[step])
        return busy - float(self._ending_unused[step])

    def _send(self, step: int, busy: int, mark: float) -> int:
        gone = int(self._filled[self.sent])
        nearest = int(np.searchsorted(self._halfway, gone + mark - busy, side="right"))
        fitting = int(np.searchsorted(self._filled, gone + self._nodes - busy, side="right")) - 1
        end = max(min(nearest, fitting), self.sent)
        rows = slice(self.sent, end)
        self.submit_us[rows] = step * self._interval_us
        last = self._last[rows] + step
        if end > self.sent:
            self._make_room(int(last.max()) + 1)
            np.add.at(self._ending_nodes, last, self._node_count[rows])
            np.add.at(self._ending_unused, last, self._unused[rows])
        self.sent = end
        return busy + int(self._filled[end]) - gone

    def _make_room(self, length: int) -> None:
        if length > len(self._ending_nodes):
            more = max(length, 2 * len(self._ending_nodes)) - len(self._ending_nodes)
            self._ending_nodes = np.concatenate([self._ending_nodes, np.zeros(more, dtype=np.int64)])
            self._ending_unused = np.concatenate([self._ending_unused, np.zeros(more)])


_MOST_STEPS = 5_000_000

_MIX = Parameter("classes of jobs", form="COUNT APP NODES RUNTIME; COUNT APP NODES RUNTIME; ...", take=mix_of)
_JOBS = Parameter("how many jobs", "jobs", 1, par.MOST_JOBS, absent="as many as the mix counts")


def utilization_targeted(
    mix: Annotated[str | tuple[JobClass, ...] | list[JobClass], _MIX] = "3400 hpcg 1 392; 5700 stream 1 234",
    *,
    nodes: par.Nodes = 1990,
    jobs: Annotated[int | None, _JOBS] = None,
    utilization: par.Utilization = 0.8,
    fluctuation: par.Fluctuation = 0.04,
    fluctuation_s: par.FluctuationS = None,
    ramp_s: par.RampS = None,
    interval_s: par.IntervalS = 10.0,
    walltime_factor: par.WalltimeFactor = None,
    seed: par.Seed = 0,
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
        If any value is invalid; lists all of them: one out of its range, a class whose jobs need more nodes than there
        are, an interval so short that more than 5,000,000 steps would be needed, times longer than any workload holds.

    Examples
    --------
    >>> mix = [JobClass(300, "hpcg", 1, 140.0), JobClass(20, "hpcg", 8, 140.0)]
    >>> workload = utilization_targeted(mix, nodes=50, utilization=0.6, seed=1)
    >>> workload.to_polars()["node_count"].value_counts(sort=True).rows()
    [(1, 300), (8, 20)]
    """
    return submitted_to_target(utilization_targeted, par.taken(utilization_targeted, locals()))


def submitted_to_target(function: Callable[..., Workload], given: Any, named: Mix | None = None) -> Workload:
    """The workload of `utilization_targeted`, or of a named mix that is submitted in the same way."""
    faults = Faults()
    classes: Mix = given.mix if named is None else named
    counts = _counts(classes, given.jobs if named is None else None, faults)
    _refuse_large(classes, given.nodes, faults, is_named=named is not None)
    faults.check()
    given.fluctuation = _room(given.utilization, given.fluctuation)
    code, size, runtime_s = _drawn(classes, counts, given.seed)
    drawn_from = ", ".join(name for name, one in parameters_of(function).items() if one.take is not None)
    note_too_long(faults, drawn_from, "run lengths", runtime_s, "shorter ones: a job would run for")
    faults.check()
    runtime_us = np.maximum(np.round(runtime_s * 1e6), 1.0).astype(np.int64)
    control = _control(given, size, runtime_us)
    submit_us = submits(size, runtime_us, control, stream(given.seed, "utilization.target"))
    names = list(dict.fromkeys(one.app for one in classes))
    app_of = np.array([names.index(one.app) for one in classes], dtype=np.int64)
    return generated(
        par.kind_of(function),
        given,
        submit_s=submit_us / 1e6,
        runtime_s=runtime_us / 1e6,
        node_count=size,
        app=app_column(app_of[code], names),
        notes=_too_short(size, runtime_us, submit_us, control),
    )


def _too_short(size: Whole, runtime_us: Whole, submit_us: Whole, control: Control) -> list[str]:
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


def _counts(classes: Mix, jobs: int | None, faults: Faults) -> Whole:
    counts = [one.count for one in classes]
    if not 1 <= sum(counts) <= par.MOST_JOBS:
        faults.add("mix", f"{sum(counts)} jobs", f"from 1 to {par.MOST_JOBS} jobs in all")
        return np.zeros(len(classes), dtype=np.int64)
    return np.array(counts, dtype=np.int64) if jobs is None else apportioned(counts, jobs)


def _refuse_large(classes: Mix, nodes: int, faults: Faults, *, is_named: bool) -> None:
    """Note classes whose jobs do not fit on the machine; of a named mix it is the machine that is too small."""
    largest = [one.node_count if isinstance(one.node_count, int) else max(one.node_count) for one in classes]
    if is_named and max(largest, default=0) > nodes:
        faults.add("nodes", nodes, f"at least {max(largest)}, as the largest jobs need")
        return
    for place, size in enumerate(largest):
        if size > nodes:
            faults.add(f"mix[{place}].node_count", size, f"at most the {nodes} nodes there are")


def _drawn(classes: Mix, counts: Whole, seed: int) -> tuple[Whole, Whole, Floats]:
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
    """Largest wandering of a target that stays within 0 and 1."""
    # In decimals, as people write them: 1 - 0.97 is 0.030000000000000027.
    return min(fluctuation, utilization, round(1.0 - utilization, 12))


def _control(given: Any, size: Whole, runtime_us: Whole) -> Control:
    area_us = float(np.dot(size.astype(np.float64), runtime_us.astype(np.float64)))
    mean_us = area_us / float(size.sum())
    ramp_us = mean_us if given.ramp_s is None else given.ramp_s * 1e6
    length_us = ramp_us / 2 + area_us / (given.utilization * given.nodes)
    interval_us = round(given.interval_s * 1e6)
    # A single run may last longer than all submissions take, and every step until its end is kept.
    steps_us = max(length_us, float(runtime_us.max()) / 4)
    faults = Faults()
    last_s = np.array([steps_us / 1e6])
    note_too_long(faults, "utilization", given.utilization, last_s, "more: the last job would be submitted after")
    if steps_us / interval_us > _MOST_STEPS:
        expected = f"at least {steps_us / 1e6 / _MOST_STEPS:.3g}, as there are at most {_MOST_STEPS:,} steps"
        faults.add("interval_s", given.interval_s, expected)
    faults.check()
    wander_us = mean_us if given.fluctuation_s is None else given.fluctuation_s * 1e6
    return Control(
        nodes=given.nodes,
        utilization=given.utilization,
        fluctuation=given.fluctuation,
        wander_steps=wander_us / interval_us,
        ramp_steps=ramp_us / interval_us,
        horizon_steps=max(mean_us / interval_us / 2, 2.0),
        expected_steps=int(length_us / interval_us) + 1,
        interval_us=interval_us,
    )
