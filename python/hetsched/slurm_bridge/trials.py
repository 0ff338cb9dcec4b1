"""Checks of a cluster by trial: a reservation that is made and deleted, and jobs that are cancelled or soon over."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator

from hetsched.slurm_bridge.calls import Answer, Slurm
from hetsched.slurm_bridge.doctor import Check
from hetsched.slurm_bridge.facts import Facts, has_accounting
from hetsched.slurm_bridge.standing import GATE

TRIAL = "hetsched_trial"
"""Name of the reservation."""
JOB = ("sbatch", "--parsable", "-H", "-N1", "-t1", "-J", TRIAL, "-D", "/", "-o", "/dev/null")
"""The job: it is held, and does nothing once it runs."""
MOST_START_S = 60.0
_LOOK_S = 0.05
_ID = re.compile(r"([0-9]{1,10})(;.*)?")


def trials(
    slurm: Slurm,
    facts: Facts,
    partition: str,
    *,
    user: str,
    with_job: bool,
    sleep: Callable[[float], None] = time.sleep,
    now: Callable[[], float] = time.monotonic,
) -> Iterator[Check]:
    """Checks that make something and take it away again.

    Parameters
    ----------
    slurm
        The cluster.
    facts
        What is known of it.
    partition
        The bridge's partition.
    user
        The account that the reservation is made for.
    with_job
        Whether a job that does nothing is run, to measure how late Slurm starts what is released.

    Raises
    ------
    CallError
        If Slurm gives no answer.
    """
    yield _reservation(slurm, facts, user)
    yield jobs_of_others(slurm, facts, user)
    yield _script(slurm, facts, partition)
    if with_job:
        yield _latency(slurm, partition, sleep=sleep, now=now)


def _reservation(slurm: Slurm, facts: Facts, user: str) -> Check:
    """Rights to make the gate: one licence, tomorrow, for a minute, and deleted at once."""
    if GATE not in facts.licences:
        return Check("rights", False, f"not tried: there is no licence `{GATE}`")
    own = ("StartTime=now+1day", "Duration=1", f"Licenses={GATE}:1", "Flags=LICENSE_ONLY,IGNORE_JOBS", f"Users={user}")
    made = slurm.call("scontrol", "create", "reservation", f"ReservationName={TRIAL}", *own)
    renewed = slurm.call("scontrol", "update", f"ReservationName={TRIAL}", "Duration=2")
    gone = slurm.call("scontrol", "delete", f"ReservationName={TRIAL}")
    for answer, what in ((made, "made"), (renewed, "renewed"), (gone, "deleted")):
        if answer.code != 0:
            needs = "AdminLevel=Operator in slurmdbd"
            return Check("rights", False, f"a reservation could not be {what}, {answer.why}; {user} needs {needs}")
    return Check("rights", True, f"{user} may make, renew and delete reservations")


_LEVELS = ("Operator", "Administrator")


def jobs_of_others(slurm: Slurm, facts: Facts, user: str) -> Check:
    """Rights to change the jobs of others, by the account's level: no job of anybody is touched to find out."""
    name = "jobs of others"
    if user == "root" or facts.settings.get("SlurmUser", "").split("(")[0] == user:
        return Check(name, True, f"{user} may change them, as root and SlurmUser may; an Operator's account is enough")
    if not has_accounting(facts.settings):
        return Check(name, False, f"without slurmdbd only root and SlurmUser may change them, and {user} is neither")
    answer = slurm.call("sacctmgr", "-n", "-P", "show", "user", user, "format=AdminLevel")
    if answer.code != 0:
        return Check(name, False, f"the level of {user} could not be read, {answer.why}")
    level = answer.out.strip() or "no account"
    if level in _LEVELS:
        return Check(name, True, f"{user} may change them, as {level}")
    return Check(
        name, False, f"{user} has {level}, and only its own jobs to change; expected AdminLevel=Operator in slurmdbd"
    )


def _script(slurm: Slurm, facts: Facts, partition: str) -> Check:
    """The gate of a batch job of the partition that does not ask for it."""
    has_lua = "lua" in facts.settings.get("JobSubmitPlugins", "").split(",")
    answer = slurm.call(*JOB, "-p", partition, "--wrap", "true")
    job = _job_of(answer)
    if job is None:
        return Check("gate of jobs", False, f"no job could be submitted to `{partition}`, {answer.why}")
    try:
        licences = slurm.call("squeue", "-h", "-j", job, "-O", "Licenses:.256").checked().out
    finally:
        slurm.call("scancel", job)
    if re.search(rf"\b{GATE}\b", licences):
        return Check("gate of jobs", True, "a job that asked for nothing got the gate")
    words = f"a job that asked for nothing got no gate: only those submitted with -L {GATE}:1 are held back"
    # Without the plug-in this is what the site has chosen.
    return Check("gate of jobs", not has_lua, words)


def _latency(slurm: Slurm, partition: str, *, sleep: Callable[[float], None], now: Callable[[], float]) -> Check:
    """The seconds from a release to the start, by a job that does nothing."""
    answer = slurm.call(*JOB, "-p", partition, "--wrap", "true")
    job = _job_of(answer)
    if job is None:
        return Check("latency", False, f"no job could be submitted to `{partition}`, {answer.why}")
    try:
        # It is released as the bridge does it, without the gate.
        slurm.commands([("update", f"JobId={job}", "Licenses="), ("release", job)])
        began_s = now()
        while (waited_s := now() - began_s) < MOST_START_S:
            state = slurm.call("squeue", "-h", "-t", "all", "-j", job, "-O", "State:.20").checked().out.strip()
            if state not in ("PENDING", ""):
                return Check("latency", True, f"a job that was released started after {waited_s:.1f} s")
            sleep(_LOOK_S)
        why = slurm.call("squeue", "-h", "-j", job, "-O", "Reason:.64").out.strip()
    finally:
        slurm.call("scancel", job)
    return Check("latency", False, f"a job that was released had not started after {MOST_START_S:.0f} s, reason {why}")


def _job_of(answer: Answer) -> str | None:
    found = _ID.fullmatch(answer.out.strip()) if answer.code == 0 else None
    return None if found is None else found[1]
