"""`hetsched run` whose policy fails or whose controller strays: jobs run once all the same, and replays are exact."""

import json
import signal

import pytest
from live_hosts import STATES, begun, done, log, ran, slow, until

import hetsched as hs
from hetsched.live import executor
from hetsched.live.machine import Nodes
from hetsched.live.notices import Ended, NodeOff
from hetsched.live.plan import Plan
from hetsched.live.reading import read_commands
from hetsched.live.running import begun as begin_run
from hetsched.live.running import resumed as resume_run

ODD = """
from pathlib import Path


class Odd:
    def choose(self, job, free, view):
        if Path("{bad}").exists():
            raise RuntimeError("odd")
        return free[: job.node_count]
"""


def test_a_policy_that_fails_starts_nothing_and_what_runs_goes_on(zygote, tmp_path):
    own = tmp_path / "mine.py"
    own.write_text(ODD.replace("{bad}", f"{tmp_path}/bad"))
    path = slow(tmp_path)
    words = begun(path, "--nodes", "1")
    words[words.index("easy")] = f"{own}:Odd"
    zygote.command(tmp_path, *words)
    until(lambda: ran(tmp_path))
    (tmp_path / "bad").touch()
    (tmp_path / "go").touch()
    until(lambda: "the policy failed, and nothing starts: RuntimeError: odd" in log(tmp_path))
    assert ran(tmp_path) == {1: 1}
    (tmp_path / "bad").unlink()
    assert zygote.code() == 0, log(tmp_path)
    assert set(hs.read_result(tmp_path / "out").jobs["state"]) == {"completed"}


def test_a_policy_that_fails_all_the_time_gives_way_to_another(zygote, tmp_path):
    own = tmp_path / "mine.py"
    (tmp_path / "bad").touch()
    own.write_text(ODD.replace("{bad}", f"{tmp_path}/bad"))
    (tmp_path / "go").touch()
    words = begun(slow(tmp_path), "--nodes", "1", "--fallback", "fcfs")
    words[words.index("easy")] = f"{own}:Odd"
    done(zygote, tmp_path, *words)
    assert "it failed 10 times in a row: fcfs decides from now on" in log(tmp_path)
    assert "s on fcfs, on 1 node, real jobs" in log(tmp_path)
    result = hs.read_result(tmp_path / "out")
    assert set(result.jobs["state"]) == {"completed"}
    assert result.provenance["fallback"]["policy"]["name"] == "fcfs"
    assert result.provenance["fallback"]["since_s"] > 5


class Failing:
    """A controller of a policy that fails from some step on, until another policy decides."""

    def __init__(self, controller, after):
        self.controller, self.after = controller, after

    def __getattr__(self, name):
        return getattr(self.controller, name)

    def step(self, t_us, notices, **given):
        self.after -= 1
        if self.after < 0 and self.controller.setting.policy.name != "easy":
            raise ValueError("no idea")
        return self.controller.step(t_us, notices, **given)


def chain(tmp_path):
    """Jobs on two nodes, one that waits for another, and one that cannot run."""
    path = tmp_path / "chain.toml"
    words = f'["sh", "-c", "echo $HETSCHED_JOB_ID >> {tmp_path}/ran; sleep 0.3"]'
    rows = ["job_id = 1", "job_id = 2\ndepends_on = 1", "job_id = 3", "job_id = 4\nnodes = 2", "job_id = 5"]
    path.write_text("".join(f"[[job]]\n{row}\ncommand = {words}\nwalltime_s = 100\n" for row in rows))
    return path


@pytest.mark.parametrize("after", [0, 1, 2, 3])
@pytest.mark.parametrize("is_full", [False, True])
def test_replay_and_resume_are_exact_across_the_change_of_policy(tmp_path, monkeypatch, after, is_full):
    monkeypatch.setattr(executor, "_AFTER_ERROR_S", 0.0)
    monkeypatch.setattr(executor, "RETRY_S", 0.05)
    if is_full:
        monkeypatch.setenv("HETSCHED_FAULT", f"ENOSPC@journal:{tmp_path}/full")
        (tmp_path / "full").touch()
    jobs, folder, said = read_commands(str(chain(tmp_path))), str(tmp_path / "out"), []
    plan = Plan(jobs.commands, "local", Nodes(["a", "b"], [[0], [0]], are_slots=True), jobs.source)
    platform = hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300)
    made = begin_run(folder, jobs, platform, hs.Policy.preset("conservative"), plan=plan, say=said.append)
    own = made.executor
    own.controller = Failing(own.controller, after)

    def interrupting(text):
        said.append(text)
        if "decides from now on" in text:
            # Two processes: the second one goes on from the change.
            own.interrupts = 1
            (tmp_path / "full").unlink(missing_ok=True)

    own._say = interrupting
    assert made.run() is False
    made.close()
    assert "it failed 10 times in a row: easy decides from now on" in said
    assert ("nothing starts, tried again" in "".join(said)) == is_full
    journal = hs.read_journal(folder)
    (change,) = [one for one in journal.instants if one.policy is not None]
    assert change.policy["name"] == "easy"
    again = resume_run(folder)
    assert again.executor.controller.setting.policy.name == "easy"
    assert again.run() is True
    again.close()
    assert ran(tmp_path) == dict.fromkeys(range(1, 6), 1)
    assert set(again.executor.states.values()) == {"completed"}
    journal = hs.read_journal(folder)
    assert journal.replay().setting.policy.name == "easy"
    assert journal.decisions["number"].to_list() == list(range(1, 6))
    assert journal.result().provenance["policy"]["name"] == "conservative"


class Strayed:
    """A controller to which something is told, once, that cannot be true."""

    def __init__(self, controller, false, after):
        self.controller, self.false, self.after = controller, false, after

    def __getattr__(self, name):
        return getattr(self.controller, name)

    def step(self, t_us, notices, **given):
        self.after -= 1
        more = self.false if self.after < 0 else []
        if more:
            self.false = []
        return self.controller.step(t_us, [*notices, *more], **given)


@pytest.mark.parametrize("after", range(4))
@pytest.mark.parametrize("interrupts", [False, True])
def test_a_notice_that_cannot_be_true_is_followed_by_a_rebuild(tmp_path, after, interrupts):
    jobs, folder, said = read_commands(str(chain(tmp_path))), str(tmp_path / "out"), []
    plan = Plan(jobs.commands, "local", Nodes(["a", "b"], [[0], [0]], are_slots=True), jobs.source)
    platform = hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300)
    made = begin_run(folder, jobs, platform, hs.Policy.preset("conservative"), plan=plan)
    own = made.executor
    own.controller = Strayed(own.controller, [NodeOff((0,)), NodeOff((1,)), Ended(4, 7, "completed")], after)

    def say(text):
        said.append(text)
        if interrupts and "begins again" in text:
            own.interrupts = 1

    own._say = say
    is_whole = made.run()
    made.close()
    (line,) = [text for text in said if "the controller begins again with what runs and waits" in text]
    assert "cannot" in line
    if not is_whole:
        again = resume_run(folder)
        assert again.run() is True
        again.close()
    assert ran(tmp_path) == dict.fromkeys(range(1, 6), 1)
    journal = hs.read_journal(folder)
    (rebuilt,) = [one for one in journal.instants if one.snapshot is not None]
    assert rebuilt.policy is None
    assert json.loads(rebuilt.state)["version"] == hs.__version__
    journal.replay()
    result = journal.result().jobs
    assert result["state"].to_list() == ["completed"] * 5
    assert result["end_s"].null_count() == 0


def test_a_step_that_fails_at_its_point_is_followed_by_a_rebuild(zygote, tmp_path, jobs):
    words = begun(jobs)
    zygote.command(tmp_path, *words, fault=f"LiveError@run.step:{tmp_path}/once,run.launched:{tmp_path}/launched")
    assert zygote.code() == -signal.SIGKILL
    done(zygote, tmp_path, "run", "--resume", f"{tmp_path}/out", fault=f"LiveError@run.step:{tmp_path}/twice")
    assert "the controller begins again with what runs and waits" in log(tmp_path)
    result = hs.read_result(tmp_path / "out")
    assert result.jobs.sort("job_id")["state"].to_list() == STATES
    assert ran(tmp_path) == dict.fromkeys(range(1, 7), 1)
    hs.read_journal(tmp_path / "out").replay()


def test_a_controller_that_strays_again_and_again_ends_the_run(zygote, tmp_path, jobs):
    zygote.command(tmp_path, *begun(jobs), fault="LiveError@run.step")
    assert zygote.code() == 2
    assert "to go on: hetsched run --resume" in log(tmp_path)
    done(zygote, tmp_path, "run", "--resume", f"{tmp_path}/out")
    assert ran(tmp_path) == dict.fromkeys(range(1, 7), 1)
