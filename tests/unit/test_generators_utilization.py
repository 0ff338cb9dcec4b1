"""Utilization-targeted workloads: replayed, they hold what was asked for."""

import numpy as np
import pytest

import hetsched as hs
from hetsched.workload.generators import GENERATORS, JobClass, coa_single, fft2d, swa_multi, utilization_targeted
from hetsched.workload.generators.utilization_targeted import Control, _targets, submits, wandering


def replayed(workload, *, ramp_s):
    """Mean and standard deviation of utilization between the ramp and the last submission, its peak, and the waits."""
    nodes = workload.report["parameters"]["nodes"]
    result = hs.simulate(workload, hs.Platform.homogeneous(nodes=nodes, idle_w=100, tdp_w=400), "fcfs")
    times, busy = (result.timeline[name].to_numpy() for name in ("time_s", "busy_nodes"))
    last_s = workload.to_polars()["submit_s"][-1]
    edges = np.clip(np.append(times, times[-1]), ramp_s, last_s)
    weights, share = np.diff(edges), busy / nodes
    mean = np.average(share, weights=weights)
    return mean, np.sqrt(np.average((share - mean) ** 2, weights=weights)), share.max(), result.jobs["wait_s"]


def mean_length_s(workload):
    """Share of a node's stay in a job that the ramp lasts if nothing else is said."""
    jobs = workload.to_polars()
    return (jobs["node_count"] * jobs["runtime_s"]).sum() / jobs["node_count"].sum()


MIXES = {
    "coa-single": coa_single,
    # Four times the paper's mix, whose single copy is half ramp and tail.
    "swa-multi": lambda **more: swa_multi(copies=4, **more),
    "spread": lambda **more: utilization_targeted(
        "3000 a 1 lognormal:600:1; 300 b 2:1,4:1,16:0.2 exponential:900", nodes=200, **more
    ),
}


@pytest.mark.parametrize("target", [0.4, 0.6, 0.8])
@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("seed", [0, 1])
def test_utilization_fluctuates_around_its_target_without_queues(mix, target, seed):
    workload = MIXES[mix](utilization=target, seed=seed)
    mean, spread, peak, waits = replayed(workload, ramp_s=mean_length_s(workload))
    assert mean == pytest.approx(target, abs=0.01)
    # The target wanders with standard deviation 0.02, clipped at 0.04; the runs' own ends add to it.
    assert 0.005 < spread < 0.04
    assert peak < target + 0.1
    # Counted with nominal run lengths, the nodes for every job are free when it is submitted.
    assert waits.max() == 0.0


def test_without_fluctuation_utilization_stays_where_it_is():
    workload = coa_single(utilization=0.8, fluctuation=0.0, interval_s=1.0)
    mean, spread, _, _ = replayed(workload, ramp_s=2 * mean_length_s(workload))
    assert mean == pytest.approx(0.8, abs=0.003)
    assert spread < 0.01


@pytest.mark.parametrize(("target", "fluctuation"), [(0.05, 0.04), (0.05, 0.5), (0.5, 0.3), (0.95, 0.04), (0.95, 0.5)])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_mean_is_the_target_however_far_it_is_to_wander(target, fluctuation, seed):
    # Short steps: what falls free between two of them is a percent of a run, and 0.95 leaves room to make up for it.
    workload = utilization_targeted(
        nodes=500, jobs=15_000, utilization=target, fluctuation=fluctuation, interval_s=3.0, seed=seed
    )
    mean, spread, _, _ = replayed(workload, ramp_s=mean_length_s(workload))
    room = min(fluctuation, target, 1 - target)
    # Cut off at 0 or 1, a target would be moved by a tenth of its wandering and more.
    assert mean == pytest.approx(target, abs=0.005)
    assert spread < room
    assert workload.report["parameters"]["fluctuation"] == pytest.approx(room, abs=1e-12)
    assert f"fluctuation={workload.report['parameters']['fluctuation']:.12g}" in workload.history[0]


@pytest.mark.parametrize("target", [0.97, 1.0])
def test_the_highest_targets_can_be_had_with_the_defaults(target):
    mean, _, peak, waits = replayed(utilization_targeted(nodes=500, jobs=5000, utilization=target), ramp_s=600.0)
    assert mean == pytest.approx(target, abs=0.025)
    assert peak <= 1.0
    assert waits.max() == 0.0


@pytest.mark.parametrize("target", [0.02, 0.3, 0.8, 0.99])
def test_a_target_keeps_its_mean_and_stays_within_none_and_all(target):
    control = Control(
        nodes=1,
        utilization=target,
        fluctuation=min(0.5, target, 1 - target),
        wander_steps=3.0,
        ramp_steps=0.0,
        horizon_steps=2.0,
        expected_steps=50,
        interval_us=10,
    )
    for seed in range(200):
        aims = np.array(_targets(control, np.random.default_rng(seed)))
        assert aims.mean() == pytest.approx(target, abs=1e-12)
        assert aims.min() >= -1e-12
        assert aims.max() <= 1 + 1e-12


def test_the_pools_workload_aims_at_the_papers_peak_and_reaches_it_at_nominal_speed():
    assert GENERATORS["fft2d"].default("utilization") + GENERATORS["fft2d"].default("fluctuation") == pytest.approx(
        0.67
    )
    workload = fft2d(seed=1)
    _, _, peak, _ = replayed(workload, ramp_s=0.0)
    assert peak == pytest.approx(0.67, abs=0.01)


def test_nodes_of_different_speed_raise_the_peak_of_the_pools_workload():
    # Jobs on slow nodes still run when the next ones are submitted; the mean speed is the nominal one.
    workload = fft2d(seed=1)
    times = 1 + 0.022 * np.random.default_rng(1).choice([-1.0, 1.0], 2000)
    table = hs.VariationTable(["*"], power_ratio=np.ones((1, 2000)), time_ratio=times[np.newaxis])
    machine = hs.Platform.homogeneous(nodes=2000, idle_w=100, tdp_w=400).with_tables(actual=table)
    peak = hs.simulate(workload, machine, "random").timeline["busy_nodes"].max() / 2000
    assert 0.68 < peak < 0.70


def test_a_job_as_large_as_the_machine_is_submitted_at_a_low_target():
    workload = utilization_targeted([JobClass(40, "a", 1, 60.0), JobClass(2, "b", 10, 60.0)], nodes=10, utilization=0.2)
    _, _, peak, waits = replayed(workload, ramp_s=0.0)
    assert len(workload) == 42
    assert peak == 1.0
    assert waits.max() == 0.0


def test_the_default_mix_reaches_its_target_and_is_no_overload():
    workload = utilization_targeted()
    mean, _, peak, waits = replayed(workload, ramp_s=mean_length_s(workload))
    assert mean == pytest.approx(0.8, abs=0.01)
    assert (peak < 0.9, waits.max()) == (True, 0.0)
    assert workload.report["notes"] == []
    assert workload.offered_load(hs.Platform.homogeneous(nodes=1990, idle_w=100, tdp_w=400)) < 1


@pytest.mark.parametrize(
    ("mix", "options", "busy"),
    [
        # Four of ten nodes are wanted, and there are three jobs; with four there are enough.
        ("3 a 1 60", {"ramp_s": 0.0}, "with 3 of 10 nodes busy; the machine is filled after 0 s"),
        ("4 a 1 60", {"ramp_s": 0.0}, None),
        # Of a step of 10 s each adds a node: the fourth would come after 30 s.
        ("3 a 1 600", {"ramp_s": 40.0}, "with 3 of 10 nodes busy; the machine is filled after 30 s"),
        ("9 a 1 600", {"ramp_s": 40.0}, None),
        # A job of five nodes is nearer to four than none.
        ("1 a 5 60", {"ramp_s": 0.0}, None),
    ],
)
def test_a_mix_that_ends_before_the_machine_is_filled_says_so(mix, options, busy):
    workload = utilization_targeted(mix, nodes=10, utilization=0.4, fluctuation=0.0, **options)
    notes = workload.report["notes"]
    assert len(notes) == (0 if busy is None else 1)
    if busy is not None:
        assert notes[0].startswith("the mix is too short to reach 40 %: its last job is submitted after")
        assert busy in notes[0]
        assert workload.report.line().endswith(notes[0])


def test_a_hand_made_row():
    # Four nodes wanted from the start, jobs of one node and two steps each: two steps of four, each full until the
    # next four go out. The feedback has nothing to make up for.
    control = Control(
        nodes=8,
        utilization=0.5,
        fluctuation=0.0,
        wander_steps=1.0,
        ramp_steps=0.0,
        horizon_steps=2.0,
        expected_steps=6,
        interval_us=10,
    )
    sent = submits(np.ones(12, dtype=np.int64), np.full(12, 20, dtype=np.int64), control, np.random.default_rng(0))
    assert sent.tolist() == [0] * 4 + [20] * 4 + [40] * 4


def test_runs_shorter_than_a_step_are_made_up_for():
    # Each job leaves half a step unused, so twice as many nodes are needed for the same mean.
    workload = utilization_targeted([JobClass(6000, "a", 1, 5.0)], nodes=100, utilization=0.4, interval_s=10.0)
    mean, _, _, _ = replayed(workload, ramp_s=200.0)
    assert mean == pytest.approx(0.4, abs=0.01)


def test_the_targets_wandering_has_its_moments():
    count, correlation = 200_000, 20.0
    wave = wandering(count, correlation, np.random.default_rng(5))
    # Effective number of independent values: count / (2 × correlation). Clipping at two standard deviations of 1/2
    # takes the variance from 0.25 to 0.25 × 0.9205 (integral of the normal's).
    independent = count / (2 * correlation)
    assert wave.mean() == pytest.approx(0.0, abs=1e-12)
    assert wave.var() == pytest.approx(0.25 * 0.9205, abs=4 * 0.25 * np.sqrt(2 / independent))
    lagged = np.corrcoef(wave[20:], wave[:-20])[0, 1]
    assert lagged == pytest.approx(np.exp(-1), abs=0.05)


def test_a_million_jobs_go_through_without_a_loop_over_them():
    workload = utilization_targeted(
        "1 a 1 exponential:3600; 1 b 1:2,4:1 lognormal:3600:1", nodes=5000, jobs=1_000_000, utilization=0.8, seed=1
    )
    assert len(workload) == 1_000_000
    submits_s = workload.to_polars()["submit_s"]
    # Steps are whole intervals, far fewer than jobs.
    assert submits_s.n_unique() < 300_000
    assert (submits_s % 10.0 == 0).all()
