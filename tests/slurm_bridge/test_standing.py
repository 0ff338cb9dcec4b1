"""The states of a job, each from a reading alone."""

from dataclasses import replace

import pytest

from hetsched.slurm_bridge.standing import BAND, FINAL, JobKey, SeenJob, Site, Standing, standing_of

PLAIN = SeenJob(
    JobKey(1, "7", 0),
    "PENDING",
    "Priority",
    ("batch",),
    1,
    60.0,
    1,
    None,
    0,
    4294901759,
    False,
    None,
    ("hetsched:1",),
    (),
)
LIVE, DRY = Site("batch", needs_gate=True), Site("batch", needs_gate=False)


@pytest.mark.parametrize(
    ("changes", "live", "dry"),
    [
        ({}, "gated", "gated"),
        ({"reason": "Licenses"}, "gated", "gated"),
        ({"licences": ("matlab:2", "hetsched")}, "gated", "gated"),
        ({"reason": "None"}, "gated", "gated"),
        # Slurm has not looked at these yet.
        ({"reason": "None", "eligible_s": None}, "waiting", "waiting"),
        ({"reason": "None", "eligible_s": 3601}, "waiting", "waiting"),
        ({"eligible_s": 3601}, "gated", "gated"),
        ({"reason": "Dependency"}, "waiting", "waiting"),
        ({"reason": "JobHeldAdmin"}, "waiting", "waiting"),
        ({"reason": "a reason of a later release"}, "waiting", "waiting"),
        ({"licences": ()}, "foreign", "gated"),
        ({"licences": ("hetsched2:1",)}, "foreign", "gated"),
        ({"licences": (), "priority": BAND}, "released", "gated"),
        ({"licences": (), "restarts": 1, "reason": "BeginTime"}, "requeued", "waiting"),
        ({"licences": (), "restarts": 1, "reason": "BeginTime", "priority": BAND}, "requeued", "waiting"),
        ({"licences": (), "restarts": 1, "priority": BAND + 3}, "released", "gated"),
        ({"partitions": ("batch", "long")}, "foreign", "foreign"),
        ({"partitions": ("other",)}, "foreign", "foreign"),
        ({"is_part": True}, "foreign", "foreign"),
        ({"state": "REQUEUE_HOLD"}, "waiting", "waiting"),
        ({"state": "CONFIGURING"}, "configuring", "configuring"),
        ({"state": "RUNNING"}, "running", "running"),
        ({"state": "RUNNING", "partitions": ("other",)}, "running", "running"),
        ({"state": "SUSPENDED"}, "running", "running"),
        ({"state": "COMPLETING"}, "completing", "completing"),
    ],
)
def test_states(changes, live, dry):
    job = replace(PLAIN, **changes)
    assert (standing_of(job, LIVE).value, standing_of(job, DRY).value) == (live, dry)


def test_over():
    assert standing_of(None, LIVE) is Standing.OVER
    for state in FINAL:
        assert standing_of(replace(PLAIN, state=state), LIVE) is Standing.OVER


def test_nodes_are_busy_until_a_job_has_completed():
    holding = [one for one in Standing if one.holds_nodes]
    assert holding == [Standing.CONFIGURING, Standing.RUNNING, Standing.COMPLETING]


def test_slurm_s_own_priorities_are_below_those_of_released_jobs():
    # As recorded: the first job of a cluster without priority/multifactor.
    assert 4294901759 < BAND < 4294967290


@pytest.mark.parametrize(
    ("reason", "standing"),
    [
        ("Licenses,None", Standing.GATED),
        ("Priority,Resources", Standing.GATED),
        ("JobArrayTaskLimit", Standing.WAITING),
        ("Licenses,JobHeldUser", Standing.WAITING),
    ],
)
def test_an_element_of_an_array_may_have_several_reasons(slurm, reason, standing):
    slurm.submit("7_1", licences=("hetsched:1",), reason=reason)
    assert standing_of(slurm.jobs["7_1"], Site("batch", needs_gate=True)) is standing
