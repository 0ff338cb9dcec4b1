"""The right of an Operator to change the jobs of others, and that nobody below has it."""

import os
import re
import subprocess

import pytest

from hetsched.slurm_bridge.calls import Slurm
from hetsched.slurm_bridge.facts import read_facts
from hetsched.slurm_bridge.trials import jobs_of_others

USERS = ("daemon", "bin", "games")
"""The Operator, a plain user, and the owner of the job: accounts that every Linux has."""


@pytest.fixture
def people(cluster):
    """Runs a command as one of them."""
    config = cluster.call("scontrol", "show", "config")
    if not re.search(r"AccountingStorageType += accounting_storage/slurmdbd", config):
        pytest.skip("no slurmdbd: levels of accounts are kept by nobody")
    if os.geteuid() != 0:
        pytest.skip("not root: commands cannot be run as other users")

    def run(user, *words):
        own = ["runuser", "-u", user, "--", "env", f"SLURM_CONF={os.environ['SLURM_CONF']}", *words]
        return subprocess.run(own, capture_output=True, text=True, timeout=60, check=False, cwd="/")

    cluster.call("sacctmgr", "-i", "add", "account", "hetsched_test")
    for user, level in zip(USERS, ("Operator", "None", "None"), strict=True):
        cluster.call("sacctmgr", "-i", "add", "user", user, "account=hetsched_test", f"adminlevel={level}")
    yield run
    cluster.clear()
    for user in USERS:
        subprocess.run(["sacctmgr", "-i", "delete", "user", user], capture_output=True, timeout=60, check=False)
    subprocess.run(
        ["sacctmgr", "-i", "delete", "account", "hetsched_test"], capture_output=True, timeout=60, check=False
    )


def test_an_operator_changes_the_jobs_of_others_and_a_plain_user_does_not(cluster, people):
    operator, plain, owner = USERS
    words = ["sbatch", "--parsable", "-p", cluster.partition, "-L", "hetsched:1", "-b", "now+1hour", "-N1", "-t1"]
    made = people(owner, *words, "-o", "/dev/null", "--wrap", "true")
    assert made.returncode == 0, made.stderr
    job = made.stdout.strip()
    cluster.jobs.append(job)
    names = cluster.call("sinfo", "-h", "-N", "-p", cluster.partition, "-o", "%N").split()
    # As the bridge lets a job go, by a wish and by name, and as it holds one back.
    release = ["Licenses=", f"Prefer={names[0]}", "Priority=4294967290"]
    orders = [release, [f"ReqNodeList={names[0]}", "Prefer="], ["Licenses=hetsched:1", "ReqNodeList=", "Prefer="]]
    for order in orders:
        refused = people(plain, "scontrol", "update", f"JobId={job}", *order)
        assert "Invalid user id" in refused.stderr, refused
    shown = ("squeue", "-h", "-j", job, "-O", "Licenses:.40,PriorityLong:.20")
    before = people(owner, *shown).stdout.split()
    assert before[0] == "hetsched:1"
    for order in orders:
        done = people(operator, "scontrol", "update", f"JobId={job}", *order)
        assert done.returncode == 0, done
        if order is release:
            assert people(owner, *shown).stdout.split()[-1] == "4294967290"
            assert "hetsched" not in people(owner, *shown).stdout
    assert people(owner, *shown).stdout.split()[0] == "hetsched:1"


@pytest.mark.parametrize(("user", "is_well", "said"), [("daemon", True, "as Operator"), ("bin", False, "bin has None")])
def test_doctor_says_who_may_change_the_jobs_of_others(cluster, people, user, is_well, said):
    check = jobs_of_others(Slurm(), read_facts(Slurm(), cluster.partition), user)
    assert check.is_well is is_well
    assert said in check.words
