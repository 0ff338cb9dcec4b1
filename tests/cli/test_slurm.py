"""The preset ``slurm`` on the command line: a slurm.conf as machine and policy, and what is wrong in one."""

import json
from pathlib import Path

import pytest

import hetsched as hs

CONF = """\
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=30,bf_window=600
NodeName=n[1-8] CPUs=4 RealMemory=8000
PartitionName=work Nodes=ALL Default=YES MaxTime=10:00:00 OverSubscribe=EXCLUSIVE
"""
RUN = ("--platform", "slurm.conf", "--policy", "slurm:conf=slurm.conf")


@pytest.fixture(autouse=True)
def files(folder):
    """Write a slurm.conf and a log whose last job may overtake the one before it."""
    (folder / "slurm.conf").write_text(CONF)
    rows = ["1,0,600,900,6,work", "2,10,300,600,8,work", "3,20,60,120,2,work", "4,900,60,120,1,work"]
    head = "job_id,submit_s,runtime_s,walltime_s,node_count,queue\n"
    (folder / "log.csv").write_text(head + "\n".join(rows) + "\n")


def provenance(out: str) -> dict:
    """The identity of a run that was written."""
    return hs.read_result(out).provenance


def change(old: str, new: str) -> None:
    Path("slurm.conf").write_text(Path("slurm.conf").read_text().replace(old, new))


def test_one_file_is_the_machine_and_the_policy(hetsched):
    said = hetsched("simulate", "log.csv", *RUN, "--set", "started_s=-5", "--json", "--out", "out")
    assert said.code == 0, said.err
    summary = json.loads(said.out)["summary"]
    assert summary["completed"] == 4
    assert 0 < summary["mean_wait_s"] < 300
    policy = provenance("out")["policy"]["backfill"]
    assert (policy["bf_window"], policy["started_s"], policy["node_lines"]) == (600, -5, "8*4*1")
    assert [line for line in said.err.splitlines() if "PolicyWarning" in line] == []


def test_what_ifs_of_its_settings(hetsched):
    sets = ("--set", "bf_interval=30,60", "--set", "bf_max_job_test=1,500", "--workers", "1")
    said = hetsched("whatif", "log.csv", *RUN, *sets)
    assert said.code == 0, said.err
    assert "4 settings against today" in said.out
    assert max(map(len, said.out.splitlines()[1:])) <= 80
    more = ("--set", "nodes=+50%", "--set", "release=22.05,23.11", "--workers", "1", "--json")
    rows = json.loads(hetsched("whatif", "log.csv", *RUN, *more).out)["rows"]
    assert [row["release"] for row in rows] == [None, 22.05, 23.11]


def test_a_file_of_a_policy(hetsched, folder):
    (folder / "site.toml").write_text('[policy]\npreset = "slurm"\nconf = "slurm.conf"\nbf_interval = 60\n')
    said = hetsched("simulate", "log.csv", "--platform", "slurm.conf", "--policy-file", "site.toml", "--out", "out")
    assert said.code == 0, said.err
    assert provenance("out")["policy"]["name"] == "slurm:conf=slurm.conf:backfill.bf_interval=60"


def test_faults_of_the_file_are_lines_and_nothing_is_done(hetsched, folder):
    shared = "jobs that share nodes are not simulated"
    loaded = "the choice of the least loaded nodes is not simulated"
    change("bf_interval=30", "bf_interval=thirty")
    change("OverSubscribe=EXCLUSIVE", "OverSubscribe=FORCE:4 LLN=YES")
    said = hetsched("simulate", "log.csv", *RUN, "--out", "out")
    assert said.code == 2
    assert said.err.splitlines() == [
        "error: slurm.conf, line 4, bf_interval: found `thirty`, expected a whole number from 1 to 10800, or -1",
        f"error: slurm.conf, line 6, OverSubscribe: found `FORCE:4`, expected EXCLUSIVE: {shared}",
        f"error: slurm.conf, line 6, LLN: found `YES`, expected NO: {loaded}; unsupported=warn leaves such options out",
    ]
    assert not (folder / "out").exists()


def test_what_is_left_out_is_a_warning(hetsched):
    change("SchedulerType=", "PreemptType=preempt/qos\nSchedulrType=")
    said = hetsched("simulate", "log.csv", "--platform", "slurm.conf", "--policy", f"{RUN[-1]}:unsupported=warn")
    assert said.code == 0
    (warning,) = [line for line in said.err.splitlines() if "PreemptType=" in line]
    assert warning == (
        "warning: slurm.conf: not known, and left out: `SchedulrType` (line 4, perhaps `SchedulerType`); "
        "not simulated, and left out: PreemptType=preempt/qos (line 3)"
    )


@pytest.mark.parametrize(
    ("policy", "error"),
    [
        ("slurm:conf=slrum.conf", "error: slrum.conf: found no such file, expected slurm.conf"),
        ("slurm:conf=slurm.conf:release=23.10", "found `23.10`, expected one of 22.05, 23.02, 23.11"),
        ("slurm:conf=slurm.conf:bf_windw=3", "; did you mean `bf_window`?"),
        ("easy:conf=slurm.conf", "; slurm takes `conf`, as in slurm:conf=slurm.conf"),
    ],
)
def test_typos(hetsched, policy, error):
    said = hetsched("simulate", "log.csv", "--platform", "slurm.conf", "--policy", policy)
    assert said.code == 2
    assert error in said.err
    assert "Traceback" not in said.err


def test_a_partition_that_the_file_does_not_have(hetsched):
    Path("log.csv").write_text(Path("log.csv").read_text().replace("60,120,2,work", "60,120,2,debug"))
    said = hetsched("simulate", "log.csv", *RUN)
    assert said.code == 2
    assert "found `debug` of job 3 in log.csv, expected a partition of slurm.conf: work" in said.err


def test_nodes_that_sleep(hetsched):
    power = "SuspendTime=120\nSuspendProgram=/bin/off\nResumeProgram=/bin/on\nResumeTimeout=90\n"
    change("SelectType=", f"{power}SelectType=")
    said = hetsched("simulate", "log.csv", *RUN, "--json")
    assert said.code == 0, said.err
    assert json.loads(said.out)["summary"]["boots"] > 0
    assert "assumed of nodes that sleep: boot_s=90 of ResumeTimeout, shutdown_s=30, off_w=10" in said.err


def test_a_sweep_finds_the_file_next_to_its_own(hetsched, folder):
    (folder / "site").mkdir()
    for name in ("slurm.conf", "log.csv"):
        (folder / name).rename(folder / "site" / name)
    policies = 'policies = ["slurm:conf=slurm.conf", "fcfs"]\n'
    (folder / "site" / "sweep.toml").write_text(f'logs = "log.csv"\nplatforms = "slurm.conf"\n{policies}seeds = 1\n')
    said = hetsched("sweep", "site/sweep.toml", "--json")
    assert said.code == 0, said.err
    assert "slurm:conf=site/slurm.conf" in said.out


def test_a_comparison_has_both_in_one_table(hetsched):
    policies = "slurm:conf=slurm.conf,easy,hetsched"
    said = hetsched("compare", "log.csv", "--platform", "slurm.conf", "--policies", policies)
    assert said.code == 0, said.err
    assert all(f" {name} " in said.out for name in policies.split(","))
    assert max(map(len, said.out.splitlines()[1:])) <= 80
