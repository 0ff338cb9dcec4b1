"""`hetsched run`: real commands under real policies; killed, interrupted, taken up again."""

import json
import os
import re
import signal
from dataclasses import replace
from pathlib import Path

import pytest
from live_hosts import STATES, begun, done, fill, is_gone, log, ran, slow, until

import hetsched as hs
from hetsched.cli import main
from hetsched.live import Cap, Kill, launchers, running
from hetsched.live.machine import Nodes
from hetsched.live.notices import Ended
from hetsched.live.plan import Plan
from hetsched.live.power import EnergyFile
from hetsched.live.reading import read_commands
from hetsched.live.running import begun as begin_run
from hetsched.live.sealed import read_sealed


def test_a_run_and_what_it_leaves_behind(zygote, tmp_path, jobs):
    done(zygote, tmp_path, *begun(jobs))
    result = hs.read_result(tmp_path / "out")
    rows = result.jobs.sort("job_id")
    assert rows["state"].to_list() == STATES
    assert rows["exit_code"].to_list() == [0, 0, 0, 0, 3, None, None]
    assert rows["signal"].to_list() == [None] * 5 + [15, 9]
    assert rows["reason"].to_list() == [None] * 4 + ["exit code 3", "its walltime was over", "ended by SIGKILL"]
    assert rows["attempts"].to_list() == [1] * 7
    assert (rows["cpu_s"] >= 0).all()
    assert (rows["max_rss_kb"] > 0).all()
    assert rows["node_count"].to_list() == [1, 1, 1, 1, 2, 1, 1]
    assert (rows["nodes"].list.len() == rows["node_count"]).all()
    assert (rows["wait_s"] >= 0).all()
    assert rows.filter(job_id=6)["runtime_s"][0] >= 0.3
    summary = result.summary()
    assert summary["completed"] == 4
    assert summary["failed"] == 2
    assert summary["timeout"] == 1
    assert summary["energy_j"] > 0
    assert result.provenance["policy"]["name"] == "easy"
    out = tmp_path / "out" / "jobs" / "5.1"
    assert (out / "stdout").read_text() == "out\n"
    assert (out / "stderr").read_text() == "err\n"
    assert ran(tmp_path) == dict.fromkeys(range(1, 7), 1)
    assert "7 of 7" not in log(tmp_path)
    failed = "job 6 (its walltime was over), job 7 (ended by SIGKILL), job 5 (exit code 3)"
    assert f"not completed: {failed}; output in {tmp_path}/out/jobs" in log(tmp_path)
    journal = hs.read_journal(tmp_path / "out")
    journal.replay()
    assert journal.result().jobs.equals(result.jobs)
    EnergyFile(f"{tmp_path}/out").begin(0)
    EnergyFile(f"{tmp_path}/out").add(1, 50.0)
    measured = journal.result()
    assert measured.jobs["measured_j"].sum() == pytest.approx(50.0)
    assert measured.provenance["power"] == {"source": "rapl", "machine_j": 50.0}


@pytest.mark.parametrize("policy", ["conservative", "coa", "vahrm", "pool"])
def test_every_kind_of_policy_decides_for_real_jobs(zygote, tmp_path, jobs, policy):
    words = begun(jobs)
    words[words.index("easy")] = policy
    done(zygote, tmp_path, *words)
    assert hs.read_result(tmp_path / "out").jobs.sort("job_id")["state"].to_list() == STATES
    hs.read_journal(tmp_path / "out").replay()


def test_executor_and_shims_are_killed_at_every_point_and_each_command_runs_once(zygote, tmp_path, jobs):
    executor = ("journal.torn", "journal.written", "run.decided", "run.before_launch", "run.launched")
    fault = ",".join(f"{name}:{tmp_path}/{name}" for name in (*executor, "shim.begin", "shim.claimed", "shim.forked"))
    words = begun(jobs)
    kills = 0
    while zygote.command(tmp_path, *words, fault=fault) and (code := zygote.code()) != 0:
        assert code == -signal.SIGKILL, log(tmp_path)
        kills += 1
        if (tmp_path / "out" / "journal.jsonl").exists():
            words = ["run", "--resume", f"{tmp_path}/out"]
    assert kills == len(executor)
    result = hs.read_result(tmp_path / "out")
    assert result.jobs.sort("job_id")["state"].to_list() == STATES
    assert ran(tmp_path) == dict.fromkeys(range(1, 7), 1)
    assert result.jobs["attempts"].max() >= 2
    journal = hs.read_journal(tmp_path / "out")
    journal.replay()
    ends = [notice.job for one in journal.instants for notice in one.notices if isinstance(notice, Ended)]
    assert sorted(ends) == list(range(1, 8))


def test_a_run_that_is_there_is_not_begun_again(zygote, tmp_path, jobs):
    done(zygote, tmp_path, *begun(jobs))
    done(zygote, tmp_path, *begun(jobs), code=2)
    assert f"to go on with this one: hetsched run --resume {tmp_path}/out" in log(tmp_path)
    before = (tmp_path / "out" / "journal.jsonl").read_bytes()
    done(zygote, tmp_path, "run", "--resume", f"{tmp_path}/out")
    assert (tmp_path / "out" / "journal.jsonl").read_bytes() == before


def test_a_second_executor_is_refused_and_the_first_goes_on(zygote, tmp_path, capsys):
    path = slow(tmp_path)
    executor = zygote.command(tmp_path, *begun(path))
    until(lambda: ran(tmp_path))
    assert main(["run", "--resume", f"{tmp_path}/out"]) == 2
    assert f"in use by process {executor}, expected a folder that no other" in capsys.readouterr().err
    assert main(begun(path)) == 2
    (tmp_path / "go").touch()
    assert zygote.code() == 0, log(tmp_path)
    assert set(hs.read_result(tmp_path / "out").jobs["state"]) == {"completed"}


def test_ctrl_c_once_waits_for_what_runs_and_the_run_can_go_on(zygote, tmp_path):
    executor = zygote.command(tmp_path, *begun(slow(tmp_path), "--nodes", "1"))
    until(lambda: ran(tmp_path))
    os.kill(executor, signal.SIGINT)
    until(lambda: "no more starts" in log(tmp_path))
    (tmp_path / "go").touch()
    assert zygote.code() == 130, log(tmp_path)
    assert ran(tmp_path) == {1: 1}
    assert "no more starts; waiting for 1 job to end (Ctrl-C again kills)" in log(tmp_path)
    assert f"to go on: hetsched run --resume {tmp_path}/out" in log(tmp_path)
    done(zygote, tmp_path, "run", "--resume", f"{tmp_path}/out")
    assert ran(tmp_path) == {1: 1, 2: 1, 3: 1}
    assert set(hs.read_result(tmp_path / "out").jobs["state"]) == {"completed"}


def test_ctrl_c_twice_ends_what_runs(zygote, tmp_path):
    executor = zygote.command(tmp_path, *begun(slow(tmp_path), "--nodes", "1"))
    until(lambda: ran(tmp_path))
    started = read_sealed(f"{tmp_path}/out/jobs/1.1/started")
    os.kill(executor, signal.SIGINT)
    until(lambda: "no more starts" in log(tmp_path))
    os.kill(executor, signal.SIGINT)
    assert zygote.code() == 130, log(tmp_path)
    assert log(tmp_path).count("ending 1 job") == 1
    assert is_gone(started["pid"])
    last = [notice for one in hs.read_journal(tmp_path / "out").instants for notice in one.notices]
    assert last[-1] == Ended(1, 1, "cancelled")


@pytest.mark.parametrize("requeues", [False, True])
def test_a_job_whose_status_is_lost_has_failed_or_runs_once_more(zygote, tmp_path, requeues):
    more = ("--on-failure", "requeue") if requeues else ()
    executor = zygote.command(tmp_path, *begun(slow(tmp_path), "--nodes", "1", *more))
    until(lambda: ran(tmp_path))
    # As a machine that stops: the executor, the shim, and the command.
    own = f"{tmp_path}/out/jobs/1.1"
    for pid in (executor, *(read_sealed(f"{own}/{name}")["pid"] for name in ("claim", "started"))):
        os.kill(pid, signal.SIGKILL)
    assert zygote.code() == -signal.SIGKILL
    (tmp_path / "go").touch()
    done(zygote, tmp_path, "run", "--resume", f"{tmp_path}/out")
    rows = hs.read_result(tmp_path / "out").jobs.sort("job_id")
    assert rows["state"].to_list() == ["completed" if requeues else "failed", "completed", "completed"]
    assert rows["reason"].to_list() == [None if requeues else "status lost", None, None]
    assert rows["attempts"].to_list() == [1 + requeues, 1, 1]
    assert ran(tmp_path) == {1: 1 + requeues, 2: 1, 3: 1}
    hs.read_journal(tmp_path / "out").replay()


def test_a_shim_has_no_file_of_its_executor(zygote, tmp_path):
    zygote.command(tmp_path, *begun(slow(tmp_path), "--nodes", "1"))
    until(lambda: ran(tmp_path))
    shim = Path(f"/proc/{read_sealed(f'{tmp_path}/out/jobs/1.1/claim')['pid']}")
    assert {str(file.readlink()) for file in (shim / "fd").iterdir() if int(file.name) < 3} == {"/dev/null"}
    assert not any(str(tmp_path) in str(file.readlink()) for file in (shim / "fd").iterdir())
    (tmp_path / "go").touch()
    assert zygote.code() == 0, log(tmp_path)


def test_a_damaged_journal_is_refused_with_its_line(zygote, tmp_path, jobs):
    done(zygote, tmp_path, *begun(jobs))
    path = tmp_path / "out" / "journal.jsonl"
    data = bytearray(path.read_bytes())
    data[data.index(b"submitted")] ^= 1
    path.write_bytes(data)
    done(zygote, tmp_path, "run", "--resume", f"{tmp_path}/out", code=2)
    assert re.search(r"journal.jsonl, line 2: .*CRC-32", log(tmp_path))


def test_strict_and_json(zygote, tmp_path, jobs):
    done(zygote, tmp_path, *begun(jobs, "--strict", "--json"), code=1)
    text = log(tmp_path)
    found = json.loads(text[text.index("{") :])
    assert found["summary"]["completed"] == 4
    assert found["launcher"] == "local"


def test_only_its_user_may_read_a_journal(zygote, tmp_path, jobs):
    done(zygote, tmp_path, *begun(jobs))
    path = tmp_path / "out" / "journal.jsonl"
    assert '"env"' in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600


class Killing:
    """A controller that kills the first run as soon as it has begun."""

    def __init__(self, controller, why):
        self.controller, self.why = controller, why

    def __getattr__(self, name):
        return getattr(self.controller, name)

    @property
    def next_us(self):
        return None if self.why is None else self.controller.reached_us

    def step(self, t_us, notices, **given):
        decided = self.controller.step(t_us, notices, **given)
        if decided or self.why is None:
            return decided
        why, self.why = self.why, None
        return [Kill(1, 1, why, number=2)]


@pytest.mark.parametrize(
    ("why", "state", "reason"),
    [
        ("walltime", "timeout", "its walltime was over"),
        ("power", "failed", "was killed: the machine drew more than its power budget"),
    ],
)
def test_a_run_that_the_policy_kills_has_the_state_of_a_simulation(tmp_path, why, state, reason):
    (tmp_path / "jobs.csv").write_text("command,walltime_s\nsleep 60,100\n")
    jobs, folder = read_commands(str(tmp_path / "jobs.csv")), str(tmp_path / "out")
    plan = Plan(jobs.commands, "local", Nodes(["a"], [[0]], are_slots=True), jobs.source)
    platform = hs.Platform.homogeneous(nodes=1, idle_w=100, tdp_w=300)
    made = begin_run(folder, jobs, platform, hs.Policy.preset("easy"), plan=plan)
    made.executor.controller = Killing(made.executor.controller, why)
    assert made.run() is True
    assert made.executor.states == {1: state}
    assert made.result().jobs.select("state", "reason").row(0) == (state, reason)
    made.executor.states.clear()
    made.executor.restore(hs.read_journal(folder).instants)
    assert made.executor.states == {1: state}
    made.close()


def test_a_shim_that_cannot_work_is_said_with_its_exit_code(tmp_path, monkeypatch):
    (tmp_path / "shim.py").write_text("raise SystemExit(3)")
    monkeypatch.setattr(launchers, "SHIM", str(tmp_path / "shim.py"))
    (tmp_path / "jobs.csv").write_text("command,walltime_s\ntrue,100\n")
    jobs, said = read_commands(str(tmp_path / "jobs.csv")), []
    plan = Plan(jobs.commands, "local", Nodes(["a"], [[0]], are_slots=True), jobs.source)
    platform = hs.Platform.homogeneous(nodes=1, idle_w=100, tdp_w=300)
    made = begin_run(str(tmp_path / "out"), jobs, platform, hs.Policy.preset("easy"), plan=plan)

    def interrupting(text):
        said.append(text)
        made.executor.interrupts = 1

    made.executor._say = interrupting
    assert made.run() is False
    made.close()
    assert said[0] == "job 1: its shim ended with exit code 3 before it did anything; tried again in 5 s"


SLOW = """
import time
from pathlib import Path


class Slow:
    def choose(self, job, free, view):
        while Path("{bad}").exists():
            try:
                time.sleep(60)
            except Exception:
                pass
        time.sleep(0.6)
        return free[: job.node_count]
"""


def test_a_slow_step_is_counted_and_one_without_end_is_broken_off(zygote, tmp_path):
    own = tmp_path / "mine.py"
    own.write_text(SLOW.replace("{bad}", f"{tmp_path}/bad"))
    words = begun(slow(tmp_path), "--nodes", "1", "--decide-within", "500")
    words[words.index("easy")] = f"{own}:Slow"
    zygote.command(tmp_path, *words)
    until(lambda: ran(tmp_path))
    (tmp_path / "bad").touch()
    (tmp_path / "go").touch()
    until(lambda: "nothing starts: TimeoutError: no decision after 5 s: the step was broken off" in log(tmp_path))
    assert ran(tmp_path) == {1: 1}
    (tmp_path / "bad").unlink()
    assert zygote.code() == 0, log(tmp_path)
    assert log(tmp_path).count("ms, more than 500 ms; further steps") == 1
    # The step that decides nothing may be slow on a busy machine, too.
    assert re.search(r"[34] of 4 steps took longer than 500 ms, at most [\d,]+ ms", log(tmp_path))
    result = hs.read_result(tmp_path / "out")
    assert set(result.jobs["state"]) == {"completed"}
    assert result.provenance["steps"]["slow"] == 3
    broken_off = result.provenance["steps"]["broken_off"]
    assert broken_off == log(tmp_path).count("the step was broken off") >= 1
    assert f"{broken_off} step{'s' * (broken_off > 1)} broken off, and nothing was decided in" in log(tmp_path)


def test_a_full_disk_under_the_journal(zygote, small_disk, tmp_path):
    path = slow(tmp_path)
    words = begun(path, "--nodes", "1", "--out", f"{small_disk}/out")
    zygote.command(tmp_path, *words)
    until(lambda: ran(tmp_path))
    fill(small_disk / "filler")
    (tmp_path / "go").touch()
    until(lambda: "No space left on device" in log(tmp_path) and "tried again in 5 s" in log(tmp_path))
    assert ran(tmp_path) == {1: 1}
    (small_disk / "filler").unlink()
    assert zygote.code() == 0, log(tmp_path)
    assert ran(tmp_path) == {1: 1, 2: 1, 3: 1}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "--out", "x"], "WORKLOAD: found nothing, expected jobs to run"),
        (["run", "jobs.toml"], "--out: found nothing, expected a folder for the run"),
        (["run", "--resume", "no-such"], "expected the folder of an earlier hetsched run --out"),
        (["run", "jobs.toml", "--resume", "x"], "WORKLOAD: found `jobs.toml`, expected nothing with --resume"),
        (["run", "jobs.toml", "--out", "x", "--export", "PATH"], "--export: found `PATH`, expected ALL"),
        (["run", "jobs.toml", "--out", "x", "--launcher", "srun"], "--launcher srun: found no SLURM_JOB_NODELIST"),
        (["run", "jobs.toml", "--out", "x", "--fallback", "easi"], "--fallback: found `easi`, expected one of fcfs"),
        (["run", "jobs.toml", "--out", "x"], "jobs.toml: found no walltime of 1 job, job 1 the first"),
        (
            ["run", "jobs.toml", "--out", "x", "--platform", "aoba", "--nodes", "3"],
            "--nodes: found `3`, expected nothing",
        ),
    ],
)
def test_faults_of_the_command_line(tmp_path, monkeypatch, capsys, words, message):
    monkeypatch.chdir(tmp_path)
    for name in ("SLURM_JOB_NODELIST", "SLURM_JOB_ID"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "jobs.toml").write_text('[[job]]\ncommand = "true"\n')
    assert main(words) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_what_a_run_was_begun_with_is_not_changed_by_resuming_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    given = {"--max-jobs": "7", "--nodes": "3", "--grace-s": "2", "--set": "depth=4", "--policy-file": "p.toml"}
    assert main(["run", "--resume", "x", *(word for pair in given.items() for word in pair), "--memory"]) == 2
    said = capsys.readouterr().err
    for name in (*given, "--memory"):
        assert f"{name}: found " in said
    assert said.count("expected nothing with --resume, whose folder says it") == len(given) + 1


def test_an_error_that_ends_the_executor_says_how_to_go_on(zygote, tmp_path):
    (tmp_path / "go").touch()
    words = begun(slow(tmp_path), "--nodes", "1")
    zygote.command(tmp_path, *words, fault=f"EIO@journal:{tmp_path}/once")
    assert zygote.code() == 1
    assert "journal: Input/output error" in log(tmp_path)
    assert f"what runs goes on by itself; to go on: hetsched run --resume {tmp_path}/out" in log(tmp_path)
    done(zygote, tmp_path, "run", "--resume", f"{tmp_path}/out")
    assert ran(tmp_path) == {1: 1, 2: 1, 3: 1}


def test_ctrl_c_ends_a_run_whose_journal_does_not_fit_the_disk(zygote, tmp_path):
    (tmp_path / "go").touch()
    executor = zygote.command(tmp_path, *begun(slow(tmp_path), "--nodes", "1"), fault="ENOSPC@journal")
    until(lambda: (tmp_path / "executor.err").exists() and "the journal cannot be written" in log(tmp_path))
    os.kill(executor, signal.SIGINT)
    assert zygote.code() == 130, log(tmp_path)
    assert ran(tmp_path) == {}
    done(zygote, tmp_path, "run", "--resume", f"{tmp_path}/out")
    assert ran(tmp_path) == {1: 1, 2: 1, 3: 1}


def test_ctrl_c_twice_ends_what_runs_on_a_full_disk(zygote, tmp_path):
    (tmp_path / "full").touch()
    path, wait = tmp_path / "jobs.toml", f"until [ -e {tmp_path}/go$HETSCHED_JOB_ID ]; do sleep 0.01; done"
    words = f'["sh", "-c", "echo $HETSCHED_JOB_ID >> {tmp_path}/ran; {wait}"]'
    path.write_text(f"[[job]]\ncommand = {words}\nwalltime_s = 100\nrepeat = 3\n")
    executor = zygote.command(tmp_path, *begun(path), fault=f"ENOSPC@journal:{tmp_path}/full")
    until(lambda: ran(tmp_path) == {1: 1, 2: 1})

    def on_full_disk(happens):
        # The fault happens once; without its file it happens again.
        until(lambda: (tmp_path / "full").unlink(missing_ok=True) or happens())

    # The end of job 2 is to be written.
    (tmp_path / "full").unlink()
    (tmp_path / "go2").touch()
    on_full_disk(lambda: "the journal cannot be written" in log(tmp_path))
    for text in ("no more starts", "ending 1 job"):
        os.kill(executor, signal.SIGINT)
        on_full_disk(lambda text=text: text in log(tmp_path))
    on_full_disk(lambda: is_gone(executor))
    assert zygote.code() == 130, log(tmp_path)
    (tmp_path / "go3").touch()
    done(zygote, tmp_path, "run", "--resume", f"{tmp_path}/out")
    assert ran(tmp_path) == {1: 1, 2: 1, 3: 1}
    rows = hs.read_result(tmp_path / "out").jobs.sort("job_id")
    assert rows["state"].to_list() == ["cancelled", "completed", "completed"]


class Capping:
    """A controller that caps nodes at each start, and once more then."""

    next_us = None

    def __init__(self, controller):
        self.controller = controller

    def step(self, t_us, notices, **given):
        starts = [replace(one, cap_w=250.0) for one in self.controller.step(t_us, notices, **given)]
        return [*starts, *(Cap(one.job, one.attempt, 200.0, number=100 + one.number) for one in starts)]


def test_caps_that_nobody_sets_are_said_once(tmp_path):
    (tmp_path / "jobs.csv").write_text("command,walltime_s,shell\n" + '"echo $HETSCHED_CAP_W",20,true\n' * 3)
    jobs, said = read_commands(str(tmp_path / "jobs.csv")), []
    plan = Plan(jobs.commands, "local", Nodes(["a"], [[0]], are_slots=True), jobs.source)
    platform = hs.Platform.homogeneous(nodes=1, idle_w=100, tdp_w=300)
    made = begin_run(str(tmp_path / "out"), jobs, platform, hs.Policy.preset("easy"), plan=plan, say=said.append)
    made.executor.controller = Capping(made.executor.controller)
    assert made.run() is True
    made.close()
    assert [text for text in said if "caps" in text] == [
        "the policy caps nodes: without --act-caps no cap is set, a command finds that of its start in HETSCHED_CAP_W"
    ]
    assert (tmp_path / "out/jobs/1.1/stdout").read_text() == "250\n"


def test_memory_that_cannot_be_held_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(running.cgroups, "can_limit_memory", lambda folder: False)
    (tmp_path / "jobs.csv").write_text("command,walltime_s,memory_gb\ntrue,20,0.5\n")
    assert main(begun(tmp_path / "jobs.csv", "--memory")) == 2
    assert "--memory: found control groups whose memory cannot be limited here" in capsys.readouterr().err
    assert not (tmp_path / "out" / "journal.jsonl").exists()
    assert main(begun(tmp_path / "jobs.csv")) == 0


def test_no_policy_knows_how_long_jobs_run(zygote, tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text("command,walltime_s,runtime_s\ntrue,20,0.125\n")
    done(zygote, tmp_path, *begun(path))
    setting = hs.read_journal(tmp_path / "out").setting
    assert setting.workload.to_polars().select("walltime_s", "runtime_s").row(0) == (20.0, 20.0)
    assert b"0.125" not in (tmp_path / "out" / "start.zip").read_bytes()
