"""The difference of two readings: what each change is to the controller, and a law over random ones."""

from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slurm_stand_in import StandIn

import hetsched as hs
from hetsched.live import Ended, NodeDown, NodeUp, Requeued, Start, Started, StartFailed, Submitted, Withdrawn
from hetsched.slurm_bridge.difference import difference
from hetsched.slurm_bridge.machine import BridgeMachine
from hetsched.slurm_bridge.picture import Phase, Picture
from hetsched.slurm_bridge.standing import Site, Standing, standing_of

SITE = Site("batch", needs_gate=False)
NUMBERS = {f"n{number + 1}": number for number in range(4)}


@pytest.fixture
def step(slurm):
    """Gives the notices of the next reading; decisions may be put into the picture."""

    def run(*decisions):
        run.picture = run.picture.decided(decisions)
        change = difference(run.picture, replace(slurm.read(), ends=dict(slurm.over)), SITE, NUMBERS)
        run.picture, run.change = change.after, change
        return list(change.notices)

    run.picture = Picture()
    return run


def start(job, *nodes, attempt=1):
    return Start(job, attempt, nodes, number=job)


def test_nothing_new_is_nothing_to_tell(slurm, step):
    slurm.submit(1)
    slurm.submit(2, 2)
    slurm.start(2, "n1", "n2")
    assert step() == [Submitted(1), Submitted(2), Started(2, 1, (0, 1))]
    assert step() == []


def test_a_start_that_was_decided(slurm, step):
    slurm.submit(1, 2)
    step()
    slurm.start(1, "n3", "n4")
    assert step(start(1, 0, 1)) == [Started(1, 1, (2, 3))]
    slurm.change(1, state="COMPLETING")
    assert step() == []
    slurm.end(1, "TIMEOUT")
    assert step() == [Ended(1, 1, "timeout")]
    assert step.picture.entries == {}


def test_an_end_of_which_slurm_knows_nothing_more(slurm, step):
    slurm.submit(1)
    slurm.start(1, "n1")
    step()
    slurm.end(1)
    slurm.over.clear()
    assert step() == [Ended(1, 1, "unknown")]


def test_a_job_is_announced_once_it_waits_for_nothing_else(slurm, step):
    slurm.submit(1, reason="Dependency")
    assert step() == []
    slurm.change(1, reason="Priority")
    assert step() == [Submitted(1)]
    slurm.change(1, reason="JobHeldUser")
    assert step(start(1, 0)) == [StartFailed(1, 1, "Slurm has it wait: JobHeldUser"), Withdrawn(1)]
    slurm.change(1, reason="None")
    # Rows are never used again.
    assert step() == [Submitted(2)]


def test_nodes_that_another_job_got(slurm, step):
    slurm.submit(1, 2)
    slurm.submit(2)
    step()
    slurm.start(2, "n1")
    assert step(start(1, 0, 1)) == [Started(2, 1, (0,)), StartFailed(1, 1, "Slurm gave its nodes to 2")]
    slurm.end(2)
    slurm.start(1, "n2", "n3")
    assert step(start(1, 2, 3, attempt=2)) == [Ended(2, 1, "completed"), Started(1, 2, (1, 2))]


def test_jobs_that_run_on_each_other_s_nodes(slurm, step):
    platform = hs.Platform.homogeneous(4, 100, 300, node_names=list(NUMBERS))
    controller = hs.Controller(platform, "easy")
    jobs = {"job_id": [1, 2], "submit_s": [0, 0], "walltime_s": [60, 60], "node_count": [1, 1]}
    controller.add_jobs(pl.DataFrame(jobs))
    slurm.submit(1)
    slurm.submit(2)
    assert [(one.job, one.nodes) for one in controller.step(0, step())] == [(1, (0,)), (2, (1,))]
    slurm.start(1, "n2")
    slurm.start(2, "n1")
    notices = step(start(1, 0), start(2, 1))
    taken = [StartFailed(1, 1, "Slurm gave its nodes to 2"), StartFailed(2, 1, "Slurm gave its nodes to 1")]
    assert sorted(notices, key=str) == sorted([*taken, Started(1, 2, (1,)), Started(2, 2, (0,))], key=str)
    assert controller.step(1_000_000, notices) == []
    assert controller.late == 0


def test_a_job_that_is_queued_again(slurm, step):
    slurm.submit(1)
    slurm.start(1, "n1")
    step()
    slurm.change(1, state="PENDING", reason="BeginTime", nodes=(), restarts=1)
    assert step() == [Ended(1, 1, "requeued")]
    slurm.change(1, reason="None")
    assert step() == [Requeued(1)]
    slurm.start(1, "n2")
    assert step() == [Started(1, 2, (1,))]
    # Between two readings it ended, waited and started.
    slurm.change(1, restarts=2)
    assert step() == [Ended(1, 2, "requeued"), Requeued(1), Started(1, 3, (1,))]


def test_a_run_on_another_number_of_nodes_is_another_row(slurm, step):
    slurm.submit(1, 3)
    step()
    slurm.start(1, "n1", "n2")
    assert step(start(1, 0, 1, 2)) == [
        StartFailed(1, 1, "it has 2 nodes"),
        Withdrawn(1),
        Submitted(2),
        Started(2, 1, (0, 1)),
    ]
    slurm.change(1, nodes=("n1",))
    assert step() == [Ended(2, 1, "requeued"), Submitted(3), Started(3, 1, (0,))]


def test_a_request_that_was_changed(slurm, step):
    slurm.submit(1, 3)
    step()
    slurm.change(1, limit_s=30.0)
    assert step() == [Withdrawn(1), Submitted(2)]


def test_an_id_that_was_given_again_is_another_job(slurm, step):
    slurm.submit(1)
    slurm.start(1, "n1")
    step()
    slurm.change(1, key=slurm.jobs["1"].key._replace(submit_s=slurm.jobs["1"].key.submit_s + 9))
    assert step() == [Ended(1, 1, "unknown"), Submitted(2), Started(2, 1, (0,))]


def test_nodes_out_of_service(slurm, step):
    slurm.submit(1)
    slurm.submit(2)
    slurm.start(1, "n1")
    step()
    slurm.states |= {"n1": "allocated+drain", "n2": "idle+drain"}
    assert step(start(2, 1)) == [StartFailed(2, 1, "a node is idle+drain"), NodeDown(1, "idle+drain")]
    # A drained node serves the job that it has to its end.
    slurm.end(1)
    assert step() == [Ended(1, 1, "completed"), NodeDown(0, "allocated+drain")]
    slurm.states |= dict.fromkeys(("n1", "n2"), "idle")
    assert step() == [NodeUp((0, 1))]
    slurm.names.remove("n4")
    assert step() == [NodeDown(3, "not in the partition")]


def test_a_node_that_jobs_share_is_the_first_job_s(slurm, step):
    slurm.submit(1)
    slurm.submit(2, 2)
    slurm.start(1, "n1")
    slurm.start(2, "n1", "n2")
    assert step() == [Submitted(1), Started(1, 1, (0,))]
    assert [job.key.id for job in step.change.unplaced] == ["2"]
    slurm.end(1)
    assert step() == [Ended(1, 1, "completed"), Submitted(2), Started(2, 1, (0, 1))]


def test_jobs_of_others_count_by_their_nodes(slurm, step):
    slurm.submit(1, 9, partitions=("other",))
    slurm.submit(2, partitions=("other",))
    assert step() == []
    slurm.start(1, "n4", "x1", "x2")
    assert step() == [Submitted(1), Started(1, 1, (3,))]


IDS = st.sampled_from(["1", "2", "3", "4_1", "4_2", "5"])
ACTS = st.one_of(
    st.tuples(st.just("submit"), IDS, st.integers(1, 5), st.sampled_from(["None", "Dependency"])),
    st.tuples(st.just("start"), IDS, st.lists(st.integers(0, 5), min_size=1, max_size=4, unique=True)),
    st.tuples(st.just("reason"), IDS, st.sampled_from(["Priority", "JobHeldUser"])),
    st.tuples(st.just("completing"), IDS),
    st.tuples(st.just("requeue"), IDS),
    st.tuples(st.just("end"), IDS, st.sampled_from(["COMPLETED", "FAILED"])),
    st.tuples(st.just("node"), st.integers(0, 3), st.sampled_from(["idle", "idle+drain", "down", "allocated+drain"])),
    st.tuples(st.just("read")),
)


def act(slurm, kind, *what):
    """Move the stand-in; what is impossible at the moment does nothing. Nodes may be shared, as Slurm lets them."""
    id_ = what[0] if what else None
    job = slurm.jobs.get(id_)
    match kind:
        case "submit" if job is None:
            slurm.submit(id_, what[1], reason=what[2])
        case "start" if job is not None:
            slurm.start(id_, *(f"n{node + 1}" for node in what[1]))
        case "reason" if job is not None and not job.nodes:
            slurm.change(id_, reason=what[1])
        case "completing" if job is not None and job.nodes:
            slurm.change(id_, state="COMPLETING")
        case "requeue" if job is not None and job.nodes:
            slurm.change(id_, state="PENDING", reason="BeginTime", nodes=(), restarts=job.restarts + 1)
        case "end" if job is not None:
            slurm.end(id_, what[1])
        case "node":
            slurm.states[f"n{what[0] + 1}"] = what[1]


@pytest.mark.parametrize("policy", ["easy", "conservative", "sjf"])
@settings(deadline=None, max_examples=60)
@given(acts=st.lists(ACTS, max_size=60))
def test_a_controller_believes_every_difference(policy, acts):
    """Notices can be true, and pictures agree with the reading, whatever Slurm does between two readings."""
    slurm, picture, t_us = StandIn(), Picture(), 0
    machine = BridgeMachine(hs.Platform.homogeneous(4, idle_w=1, tdp_w=2, node_names="n[1-4]"))
    controller = hs.Controller(machine.platform, policy)
    for kind, *what in [*acts, ("read",)]:
        act(slurm, kind, *what)
        if kind != "read":
            continue
        reading, t_us = slurm.read(), t_us + 1_000_000
        change = difference(picture, replace(reading, ends=dict(slurm.over)), SITE, machine.numbers)
        if change.added:
            controller.add_jobs(machine.frame([machine.row(job, entry, 0.0) for job, entry in change.added]))
        decisions = controller.step(t_us, change.notices)
        picture = change.after.decided(decisions)
        agrees(picture, reading, change)
    assert controller.late == 0


def agrees(picture, reading, change):
    busy = {}
    for key, entry in picture.entries.items():
        if entry.phase in (Phase.RUNNING, Phase.DECIDED):
            assert len(entry.nodes) == entry.node_count
            for node in entry.nodes:
                assert node not in busy, (key, busy[node])
                assert entry.phase is Phase.RUNNING or node not in picture.down
                busy[node] = key
    unplaced = {job.key for job in change.unplaced}
    for job in reading.jobs:
        holds = standing_of(job, SITE).holds_nodes and any(name in NUMBERS for name in job.nodes)
        is_running = job.key in picture.entries and picture.entries[job.key].phase is Phase.RUNNING
        assert is_running == (holds and job.key not in unplaced), job
        waits = standing_of(job, SITE) is Standing.GATED
        phases = (Phase.QUEUED, Phase.DECIDED, Phase.REJECTED)
        assert waits == (job.key in picture.entries and picture.entries[job.key].phase in phases), job
    assert difference(picture, reading, SITE, NUMBERS).notices == []
