"""Checks of a cluster, lines for its files, and its nodes as a platform, from what a real Slurm 22.05.8 has said."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hetsched.slurm_bridge.calls import CallError, Slurm
from hetsched.slurm_bridge.conf import conf_lines, lua_lines
from hetsched.slurm_bridge.doctor import checks_of, examine
from hetsched.slurm_bridge.facts import Facts, read_facts
from hetsched.slurm_bridge.machine_file import partition_text, read_platform_of
from hetsched.slurm_bridge.nodes import SeenNode
from hetsched.slurm_bridge.trials import trials

DATA = Path(__file__).parents[1] / "data" / "slurm_bridge"
SAID = {path.stem: path.read_text() for path in DATA.glob("*.txt")}
NOW_S = int(SAID["config"].split("as of ")[1].split("\n")[0])


@pytest.fixture
def cluster(commands):
    """The commands of the recorded cluster."""
    answers = dict(SAID)
    commands(
        "scontrol",
        f"answers = {answers!r}\n"
        "words = [word for word in sys.argv[1:] if word != '-o']\n"
        "if words[:2] == ['show', 'partition'] and words[2] != 'batch':\n"
        "    sys.exit(f'Partition {words[2]} not found')\n"
        "sys.stdout.write(answers[words[1]])",
    )
    commands("squeue", "print('1')")
    commands("sinfo", f"sys.stdout.write({(DATA / 'queue.sinfo').read_text()!r} if 'batch' in sys.argv else '')")
    return commands


def faults(facts, partition="batch", now_s=NOW_S):
    facts = replace(facts, own_s=(now_s, now_s))
    return {check.name: check.words for check in checks_of(facts, partition) if not check.is_well}


def test_a_cluster_that_is_ready(cluster):
    checks = examine(Slurm(), "batch", real=lambda: NOW_S + 0.9)
    assert [check.line for check in checks if not check.is_well] == []
    assert checks[0].line == "ok    version: 22.05.8"
    assert len(checks) == 11


def test_a_controller_that_is_slow_to_answer_has_no_other_clock(cluster):
    asked_s = iter((NOW_S - 40.0, NOW_S + 40.0))
    assert all(check.is_well for check in examine(Slurm(), "batch", real=lambda: next(asked_s)))
    asked_s = iter((NOW_S + 3.0, NOW_S + 40.0))
    assert "3 s apart" in next(
        check.words for check in examine(Slurm(), "batch", real=lambda: next(asked_s)) if not check.is_well
    )


def test_faults_in_words(cluster):
    facts = read_facts(Slurm(), "batch")
    settings = dict(facts.settings)

    def having(**changes):
        return faults(replace(facts, settings=settings | changes))

    assert having() == {}
    assert having(SLURM_VERSION="21.08.8-2") == {"version": "21.08.8-2; wishes for nodes (Prefer) need 22.05"}
    assert list(having(SLURM_VERSION="rubbish")) == ["version"]
    assert list(having(SchedulerParameters="bf_licenses,bf_continue")) == ["bf_licenses"]
    assert faults(replace(facts, licences={})) == {
        "licence": "no licence `hetsched`: no job can be held back; see `hetsched slurm conf`"
    }
    assert "50 of `hetsched`" in faults(replace(facts, licences={"hetsched": 50}))["licence"]
    assert list(faults(replace(facts, waiting=101))) == ["default_queue_depth"]
    assert (
        faults(replace(facts, waiting=101, settings=settings | {"SchedulerParameters": "default_queue_depth=200"}))
        == {}
    )
    assert list(faults(facts, now_s=NOW_S + 5)) == ["clock"]
    assert list(faults(replace(facts, as_of_s=None))) == ["clock"]
    assert list(faults(replace(facts, partition=facts.partition | {"OverSubscribe": "NO"}))) == ["whole nodes"]
    assert list(faults(replace(facts, partition=facts.partition | {"State": "DOWN"}))) == ["partition"]
    found = faults(replace(facts, nodes=[*facts.nodes, SeenNode("n5", "idle", ("n50",))]))
    assert found == {
        "features": "n5 without the own name as a feature: no wish can name them; see `hetsched slurm conf`"
    }


def test_a_partition_that_is_not_there(cluster):
    assert list(faults(read_facts(Slurm(), "nope"), "nope")) == ["partition"]


def test_a_slurm_that_does_not_answer_is_no_missing_partition(cluster):
    cluster("scontrol", "sys.exit('slurm_load_partitions: Unable to contact slurm controller')")
    with pytest.raises(CallError, match="Unable to contact"):
        read_facts(Slurm(), "batch")


def test_nodes_as_a_platform(cluster):
    platform = read_platform_of(Slurm(), "batch", {"tdp_w": 250.0})
    assert platform.node_names == ("n1", "n2", "n3", "n4")
    assert (len(platform.classes), platform.queues, platform.exclusive) == (1, None, True)
    assert (platform.classes[0].features, float(platform.tdp_w[0])) == (("cpu",), 250.0)


def test_only_nodes_of_the_partition():
    text = partition_text(SAID["node"], {"n2", "n4"})
    assert [line.split()[0] for line in text.splitlines() if line.startswith("NodeName=")] == [
        "NodeName=n2",
        "NodeName=n4",
    ]
    assert text.count("AvailableFeatures=cpu\n") == 2
    assert "AvailableFeatures=(null)" in partition_text(SAID["node"].replace("n2,cpu", "n2"), {"n2"})


def test_lines_for_the_administrator():
    lines = conf_lines("work", ["a1"])
    assert lines[1].startswith("Licenses=hetsched:1000000")
    assert lines[-1].startswith("NodeName=a1 Feature=a1")
    assert "   if d.partition ~= 'work' then return end" in lua_lines("work", is_default=False)
    assert "   if d.partition ~= nil and d.partition ~= 'work' then return end" in lua_lines("work", is_default=True)


ACCOUNTED = {"AccountingStorageType": "accounting_storage/slurmdbd"}

TRIALS = """
import json
path = {path!r}
calls = json.load(open(path)) if os.path.exists(path) else []
words = [sys.argv[0].rpartition("/")[2], *sys.argv[1:]]
if len(words) == 1: words += sys.stdin.read().split()
calls.append(words)
json.dump(calls, open(path, "w"))
for start, code, out, err in {answers!r}:
    if words[: len(start)] == start:
        print(out)
        print(err, file=sys.stderr)
        sys.exit(code)
"""


@pytest.fixture
def tried(commands, tmp_path):
    """Runs the trials with answers to beginnings of commands; gives the checks by name, and the calls."""

    def run(*answers, with_job=False, **settings):
        given = [*map(list, answers), [["sbatch"], 0, "77;cluster", ""]]
        for name in ("scontrol", "sbatch", "scancel", "squeue", "sacctmgr"):
            commands(name, TRIALS.format(path=str(tmp_path / "calls"), answers=given))
        facts = Facts(settings, None, {"hetsched": 10**6}, {}, [], 0, (0.0, 0.0))
        times = iter(range(1000))
        found = trials(
            Slurm(), facts, "batch", user="me", with_job=with_job, sleep=lambda _: None, now=lambda: float(next(times))
        )
        return {check.name: check for check in found}, json.loads((tmp_path / "calls").read_text())

    return run


def test_rights_and_gate_by_trial_leave_nothing_behind(tried):
    found, calls = tried(
        [["squeue"], 0, "hetsched:1", ""], [["sacctmgr"], 0, "Operator", ""], JobSubmitPlugins="lua", **ACCOUNTED
    )
    assert [check.line for check in found.values()] == [
        "ok    rights: me may make, renew and delete reservations",
        "ok    jobs of others: me may change them, as Operator",
        "ok    gate of jobs: a job that asked for nothing got the gate",
    ]
    assert ["scontrol", "delete", "ReservationName=hetsched_trial"] in calls
    assert calls[-1] == ["scancel", "77"]
    assert "-H" in next(call for call in calls if call[0] == "sbatch")


@pytest.mark.parametrize(
    ("answer", "settings", "is_well", "said"),
    [
        ([0, "Administrator", ""], ACCOUNTED, True, "as Administrator"),
        ([0, "None", ""], ACCOUNTED, False, "me has None, and only its own jobs to change"),
        ([0, "", ""], ACCOUNTED, False, "me has no account"),
        ([1, "", "sacctmgr: error: no connection"], ACCOUNTED, False, "the level of me could not be read"),
        ([0, "Operator", ""], {}, False, "without slurmdbd only root and SlurmUser may change them, and me is neither"),
        ([0, "", ""], {"SlurmUser": "me(1000)"}, True, "as root and SlurmUser may"),
    ],
)
def test_who_may_change_the_jobs_of_others(tried, answer, settings, is_well, said):
    found, _ = tried([["sacctmgr"], *answer], **settings)
    assert found["jobs of others"].is_well is is_well
    assert said in found["jobs of others"].words


def test_missing_rights_and_a_script_that_adds_nothing(tried):
    refused = [["scontrol", "create"], 1, "", "Error creating the reservation: Access/permission denied"]
    found, _ = tried(refused, JobSubmitPlugins="lua")
    assert not found["rights"].is_well
    assert "could not be made, exit code 1: Error creating the reservation: Access/permission denied; me needs" in (
        found["rights"].words
    )
    assert not found["gate of jobs"].is_well
    found, _ = tried(JobSubmitPlugins="(null)")
    assert found["gate of jobs"].is_well
    found, _ = tried([["sbatch"], 1, "", "sbatch: error: invalid partition"])
    assert "no job could be submitted to `batch`, exit code 1: sbatch: error" in found["gate of jobs"].words


def test_the_latency_of_a_release(tried):
    found, calls = tried([["squeue", "-h", "-t"], 0, "RUNNING", ""], with_job=True)
    assert found["latency"].words == "a job that was released started after 1.0 s"
    assert ["scontrol", "update", "JobId=77", "Licenses=", "release", "77", "quit"] in calls
    found, calls = tried([["squeue", "-h", "-t"], 0, "PENDING", ""], [["squeue"], 0, "Resources", ""], with_job=True)
    assert found["latency"].words == "a job that was released had not started after 60 s, reason Resources"
    assert calls[-1] == ["scancel", "77"]
