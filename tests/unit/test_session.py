"""Sessions and events: what may be asked of them, and the sentences that say what may not."""

from __future__ import annotations

import io
import json
import pickle
import re
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import hetsched as hs

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")


def session(**options: Any) -> hs.Session:
    """Three jobs on two nodes; the second waits for the first."""
    jobs = pl.DataFrame(
        {"job_id": [1, 2, 3], "submit_s": [0, 10, 500], "runtime_s": [60, 30, 10], "node_count": [1, 2, 1]}
    )
    platform = hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300)
    return hs.Session(hs.Workload.from_polars(jobs), platform, "fcfs", **options)


def events(*rows: tuple[Any, Any, Any]) -> hs.Events:
    """Events of time, kind and node."""
    return hs.Events.from_polars(pl.DataFrame(rows, schema=["time_s", "kind", "node"], orient="row"))


def test_a_session_says_how_far_it_has_come() -> None:
    run = session()
    assert (run.reached_s, run.is_over, repr(run)) == (-1e12, False, "<Session: 3 jobs, 2 nodes, fcfs, not begun>")
    assert run.step_until(10) is False
    assert (run.reached_s, repr(run)) == (10.0, "<Session: 3 jobs, 2 nodes, fcfs, at 10 s>")
    assert run.result().jobs["state"].to_list() == ["running", "pending", "pending"]
    assert run.result().provenance["options"]["until_s"] == 10.0
    assert run.step_until(510) is True
    assert (run.is_over, repr(run)) == (True, "<Session: 3 jobs, 2 nodes, fcfs, over>")
    assert run.run() == run.result()


def test_a_session_ends_where_it_was_to_stop() -> None:
    run = session(until_s=100)
    assert run.step_until(400) is True
    assert run.run().summary()["makespan_s"] == 100.0


@pytest.mark.parametrize(
    ("time_s", "message"),
    [
        (5, "t_s: found `5`, expected seconds from 10, up to which the run has come; a fork made earlier can go back"),
        (float("nan"), "t_s: found `NaN`, expected a number between -1e+12 and 1e+12"),
        ("noon", "t_s: found `noon`, expected a number between"),
    ],
)
def test_a_session_does_not_go_back(time_s: Any, message: str) -> None:
    run = session()
    run.step_until(10)
    with pytest.raises(hs.ConfigError, match=re.escape(message)):
        run.step_until(time_s)
    assert run.run().summary()["completed"] == 3


def test_a_failure_ends_the_jobs_on_its_node_and_a_repair_brings_it_back() -> None:
    run = session()
    run.step_until(20)
    run.inject(events((50.0, "node_failed", 0), (80.0, "node_repaired", 0), (90.0, "node_repaired", 1)))
    result = run.run()
    assert result.jobs["state"].to_list() == ["failed", "completed", "completed"]
    assert result.jobs["start_s"].to_list() == [0.0, 80.0, 500.0]
    assert result.nodes["down_s"].to_list() == [30.0, 0.0]
    assert result.provenance["events"] == [
        {"reached_s": 20.0, "events": 3, "sha256": result.provenance["events"][0]["sha256"]}
    ]


def test_the_last_word_before_the_first_submit_counts() -> None:
    jobs = pl.DataFrame({"job_id": [1], "submit_s": [100], "runtime_s": [60], "node_count": [2]})
    workload, platform = hs.Workload.from_polars(jobs), hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300)
    up, down = hs.Session(workload, platform, "fcfs"), hs.Session(workload, platform, "fcfs")
    up.inject(events((10.0, "node_failed", 1), (20.0, "node_repaired", 1)))
    down.inject(events((10.0, "node_repaired", 1), (20.0, "node_failed", 1)))
    assert up.run().jobs["start_s"].to_list() == [100.0]
    assert down.run().jobs["state"].to_list() == ["pending"]


def test_a_repair_goes_on_with_a_run_that_had_come_to_nothing() -> None:
    run = session()
    run.inject(events((5.0, "node_failed", 1)))
    assert run.step_until(1000) is True
    assert run.result().jobs["state"].to_list() == ["completed", "pending", "pending"]
    run.inject(events((2000.0, "node_repaired", 1)))
    assert run.run().jobs["start_s"].to_list() == [0.0, 2000.0, 2030.0]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(10.0, "node_failed", 0)], "events.time_s, row 0: found `10`, expected seconds after 10, up to which"),
        ([(30.0, "node_failed", 2)], "events.node, row 0: found 2, expected a node of the platform, 0 to 1"),
    ],
)
def test_an_event_must_be_to_come_and_of_a_node_that_there_is(rows: list[Any], message: str) -> None:
    run = session()
    run.step_until(10)
    with pytest.raises(hs.ConfigError, match=re.escape(message)):
        run.inject(events(*rows))
    with pytest.raises(hs.ConfigError, match="given: found dict, expected an Events"):
        run.inject({})  # type: ignore[arg-type]
    with pytest.raises(hs.ConfigError, match=r"given: found a frame of events, expected Events\.from_polars"):
        run.inject(pl.DataFrame({"time_s": [30.0], "kind": ["node_failed"], "node": [0]}))


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"time_s": [1.0], "kind": ["node_failed"]}, "expected columns time_s, kind and node"),
        ({"time": [1.0], "kind": ["node_failed"], "node": [0]}, "did you mean `time`"),
        ({"time_s": [None], "kind": ["node_failed"], "node": [0]}, "events.time_s, row 0: found"),
        ({"time_s": [1.0], "kind": ["node_fails"], "node": [0]}, "did you mean `node_failed`"),
        (
            {"time_s": [1.0], "kind": ["maintenance"], "node": [0]},
            "events.until_s, row 0: found `None`, expected seconds",
        ),
        ({"time_s": [1.0], "kind": ["node_failed"], "node": [-1]}, "events.node, row 0: found `-1`"),
        ({"time_s": [1.0], "kind": ["node_failed"], "node": [0.5]}, "events.node, row 0: found `0.5`"),
        ({"time_s": [1.0], "kind": ["node_failed"], "node": ["a"]}, "events.node: found values of type String"),
        (
            {"time_s": [1.0], "kind": ["node_repaired"], "node": [0], "until_s": [2.0]},
            "events.until_s, row 0: found `2`",
        ),
    ],
)
def test_a_faulty_event_is_reported_by_column_and_row(frame: dict[str, Any], message: str) -> None:
    with pytest.raises(hs.ConfigError, match=re.escape(message)):
        hs.Events.from_polars(pl.DataFrame(frame))


def test_events_from_files_are_those_of_a_frame(tmp_path: Path) -> None:
    given = events((7.5, "node_failed", 1), (2.0, "node_failed", 0), (7.5, "node_repaired", 0))
    assert given.to_polars()["kind"].to_list() == ["node_failed", "node_repaired", "node_failed"]
    given.to_polars().write_csv(tmp_path / "e.csv")
    given.to_polars().write_parquet(tmp_path / "e.parquet")
    rows = "".join(f'[[events]]\ntime_s = {t}\nkind = "{k}"\nnode = {n}\n' for t, k, n, *_ in given.to_polars().rows())
    (tmp_path / "e.toml").write_text(rows)
    assert hs.Events.read_csv(tmp_path / "e.csv") == given == hs.Events.read_parquet(tmp_path / "e.parquet")
    assert hs.Events.from_toml(tmp_path / "e.toml") == given
    (tmp_path / "bad.csv").write_text("time_s,kind,node\n1,node_failed,0\n2,node_broken,0\n")
    with pytest.raises(hs.ConfigError, match=r"bad.csv, line 3, kind: found `node_broken`"):
        hs.Events.read_csv(tmp_path / "bad.csv")


def _damaged(path: Path, change: Any) -> Path:
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def _other_format(members: dict[str, bytes]) -> None:
    members["session.json"] = json.dumps({**json.loads(members["session.json"]), "format": 9}).encode()


def _other_jobs(members: dict[str, bytes]) -> None:
    frame = pl.DataFrame({"job_id": [1], "submit_s": [0], "runtime_s": [5], "node_count": [1]})
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    members["jobs.parquet"] = buffer.getvalue()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda members: members.pop("jobs.parquet"), "jobs.parquet"),
        (lambda members: members.pop("session.json"), "session.json"),
        (lambda members: members.update({"jobs.parquet": b"PAR1"}), "expected a session as Session.write writes it"),
        (_other_format, "found format `9`, expected format 1 to 2; a later hetsched wrote it"),
        (_other_jobs, "found jobs that are not those that were saved"),
    ],
)
def test_a_damaged_file_is_refused_by_name(tmp_path: Path, change: Any, message: str) -> None:
    run = session()
    run.save(tmp_path / "a.hetsched")
    with pytest.raises(hs.ConfigError, match=re.escape(message)) as error:
        hs.Session.load(_damaged(tmp_path / "a.hetsched", change))
    assert str(tmp_path / "a.hetsched") in str(error.value)


def test_what_is_no_session_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("no archive")
    for path in (tmp_path / "a.txt", tmp_path / "none"):
        with pytest.raises(hs.ConfigError, match="expected a session as"):
            hs.Session.load(path)
    with pytest.raises(hs.OutputError):
        session().save(tmp_path / "a.txt" / "b")
    with pytest.raises(hs.SimulationError, match="cannot be pickled"):
        pickle.dumps(session())


@pytest.mark.parametrize("given", [None, [None, None], [20.0, None], [20.0, 9.0]])
@pytest.mark.parametrize("limits", [{}, {"default_walltime_s": 30}, {"max_walltime_s": 60}])
@pytest.mark.parametrize("saved_at_s", [None, 3])
@pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")
def test_walltimes_that_queues_give_are_not_those_of_the_saved_log(
    tmp_path: Path, given: list[float | None] | None, limits: dict[str, Any], saved_at_s: float | None
) -> None:
    jobs = pl.DataFrame({"job_id": [1, 2], "submit_s": [0.0, 1.0], "runtime_s": [10.0, 5.0], "node_count": [1, 2]})
    jobs = jobs.with_columns(queue=pl.lit("q"))
    if given is not None:
        jobs = jobs.with_columns(pl.Series("walltime_s", given, dtype=pl.Float64))
    log = hs.Workload.from_polars(jobs)
    machine = hs.Platform.homogeneous(nodes=4, idle_w=100, tdp_w=300, queues=[hs.Queue("q", "0-3", **limits)])
    run = hs.Session(log, machine, "easy")
    if saved_at_s is not None:
        run.step_until(saved_at_s)
    run.save(tmp_path / "a.hetsched")
    loaded, usual = hs.Session.load(tmp_path / "a.hetsched").run(), hs.simulate(log, machine, "easy")
    assert loaded == usual
    assert loaded.provenance["trace"] == usual.provenance["trace"]


def sleepy(**more: Any) -> tuple[hs.Workload, hs.Platform]:
    """Two jobs an hour apart, on nodes that may sleep."""
    jobs = pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 3600], "runtime_s": [60, 60], "node_count": [1, 2]})
    nodes = hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300, off_w=5, boot_s=60, shutdown_s=30, **more)
    return hs.Workload.from_polars(jobs), nodes


def test_a_fork_under_another_policy_is_reported_by_its_result(tmp_path: Path) -> None:
    run = session()
    run.step_until(20)
    fork = run.fork(policy="easy")
    assert repr(fork) == "<Session: 3 jobs, 2 nodes, easy, at 20 s>"
    result = fork.run()
    assert result.provenance["policy"]["name"] == "easy"
    assert [(one["policy"]["name"], one["until_s"]) for one in result.provenance["policies_before"]] == [("fcfs", 20.0)]
    again = run.fork(policy="easy")
    again.step_until(60)
    twice = again.fork(policy="conservative")
    twice.save(tmp_path / "a.hetsched")
    before = twice.run().provenance["policies_before"]
    assert [(one["policy"]["name"], one["until_s"]) for one in before] == [("fcfs", 20.0), ("easy", 60.0)]
    assert hs.Session.load(tmp_path / "a.hetsched").run() == twice.run()
    assert "policies_before" not in run.run().provenance
    result.write(tmp_path / "out")
    assert hs.read_result(tmp_path / "out") == result


def test_a_policy_that_cannot_go_on_is_refused_and_the_session_goes_on() -> None:
    log, nodes = sleepy()
    run = hs.Session(log, nodes, "easy:sleep=timeout:sleep.min_idle_s=10")
    run.step_until(1000)
    message = (
        "policy.sleep: found no part while 2 nodes are off or shutting down, expected one that wakes them for jobs"
    )
    with pytest.raises(hs.ConfigError, match=re.escape(message)):
        run.fork(policy="easy")
    with pytest.raises(hs.ConfigError, match="did you mean `easy`"):
        run.fork(policy="esay")
    late = run.fork(policy="easy:sleep=timeout:sleep.min_idle_s=1e6").run()
    assert late.jobs["start_s"].to_list() == [0.0, 3660.0]
    assert run.run().jobs["start_s"].to_list() == [0.0, 3660.0]


def test_suspended_jobs_need_somebody_who_resumes_them() -> None:
    jobs = pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 0], "runtime_s": [600, 600], "node_count": [1, 1]})
    budget = pl.DataFrame({"time_s": [100.0], "kind": ["budget"], "value": [450.0], "until_s": [300.0]})
    nodes = hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300)
    run = hs.Session(
        hs.Workload.from_polars(jobs),
        nodes,
        "power-slurm:budget_w=600:on_excess=suspend",
        events=hs.Events.from_polars(budget),
    )
    run.step_until(150)
    with pytest.raises(hs.ConfigError, match="without steps in `on_excess` while 1 job"):
        run.fork(policy="easy:power=system-budget:power.budget_w=600")
    other = run.fork(policy="power-slurm:budget_w=700:on_excess=suspend").run()
    assert other.jobs["end_s"].to_list() == run.run().jobs["end_s"].to_list() == [600.0, 800.0]


def test_a_new_budget_below_the_draw_starts_nothing_until_there_is_room() -> None:
    jobs = pl.DataFrame(
        {"job_id": [1, 2, 3], "submit_s": [0, 0, 10], "runtime_s": [100, 200, 50], "node_count": [1, 1, 1]}
    )
    nodes = hs.Platform.homogeneous(nodes=3, idle_w=100, tdp_w=300)
    run = hs.Session(hs.Workload.from_polars(jobs), nodes, "easy")
    run.step_until(5)
    fork = run.fork(policy="easy:power=system-budget:power.budget_w=500").run()
    assert fork.jobs["start_s"].to_list() == [0.0, 0.0, 200.0]
    assert fork.timeline.select("time_s", "budget_w").rows()[:2] == [(0.0, None), (5.0, 500.0)]
    summary = fork.summary()
    assert (summary["budget_w"], summary["over_budget_s"], summary["over_budget_peak_w"]) == (500.0, 95.0, 200.0)


def test_caps_of_the_old_policy_are_lifted() -> None:
    jobs = pl.DataFrame({"job_id": [1], "submit_s": [0], "runtime_s": [100], "node_count": [2]})
    nodes = hs.Platform.homogeneous(nodes=2, idle_w=50, tdp_w=250).with_cap_model(static_w=50)
    policy = "power-slurm:budget_w=300:caps_w=150+:power.allocator=uniform"
    run = hs.Session(hs.Workload.from_polars(jobs), nodes, policy)
    run.step_until(100)
    # Half of its speed until then: half of its work is left.
    fork = run.fork(policy="easy").run()
    assert fork.jobs["end_s"].to_list() == [150.0]
    assert fork.segments.select("end_s", "cap_w", "speed_ratio").rows() == [(100.0, 150.0, 0.5), (150.0, None, 1.0)]
    assert run.run().jobs["end_s"].to_list() == [200.0]


def test_another_policy_counts_several_sets_of_nodes_with_what_runs_there() -> None:
    columns = {"job_id": [1, 2, 3], "submit_s": [0, 5, 6], "runtime_s": [60, 60, 60], "node_count": [1, 1, 2]}
    queues = [hs.Queue("a", "0-1"), hs.Queue("b", "2-3")]
    nodes = hs.Platform.homogeneous(nodes=4, idle_w=100, tdp_w=300, queues=queues)
    log = hs.Workload.from_polars(pl.DataFrame({**columns, "queue": ["a", "b", "a"]}))
    run = hs.Session(log, nodes, "easy")
    assert run.fork(policy="fcfs").run() == hs.simulate(log, nodes, "fcfs")
    run.step_until(1)
    for other in ("fcfs", "conservative", "easy:power=system-budget:power.budget_w=5000", "easy:backfill=plan"):
        assert run.fork(policy=other).run().jobs["start_s"].to_list() == [0.0, 5.0, 60.0]
    assert run.fork().run() == run.run()


@pytest.mark.parametrize(
    ("jobs", "message"),
    [
        ({"job_id": [1], "submit_s": [50]}, "jobs.job_id: found `1`, expected a number that no job of the session has"),
        ({"job_id": [9], "submit_s": [5]}, "jobs.submit_s: found 5 of job 9, expected seconds from 10, up to which"),
        ({"job_id": [9], "submit_s": [50], "cap_w": [50.0]}, "cap_w: found 50 of job 9, expected none"),
        (
            {"job_id": [9], "submit_s": [50], "depends_on": [77]},
            "depends_on: found 77 of job 9, expected the job_id of a",
        ),
    ],
)
def test_jobs_that_cannot_join_are_refused_and_the_session_goes_on(jobs: dict[str, Any], message: str) -> None:
    run = session()
    run.step_until(10)
    with pytest.raises(hs.HetschedError, match=re.escape(message)):
        run.inject(pl.DataFrame({**jobs, "runtime_s": [5], "node_count": [1]}))
    assert run.run() == session().run()


def test_jobs_of_the_present_instant_come_in_it(tmp_path: Path) -> None:
    run = session()
    run.step_until(60)
    run.inject(pl.DataFrame({"job_id": [9], "submit_s": [90], "runtime_s": [5], "node_count": [2], "note": ["mine"]}))
    run.step_until(70)
    run.inject(pl.DataFrame({"job_id": [8], "submit_s": [70], "runtime_s": [5], "node_count": [1], "depends_on": [1]}))
    run.save(tmp_path / "a.hetsched")
    result = run.run()
    assert result.jobs.select("job_id", "start_s", "note").rows() == [
        (1, 0.0, None),
        (2, 60.0, None),
        (3, 500.0, None),
        (9, 95.0, "mine"),
        (8, 90.0, None),
    ]
    assert [(one["reached_s"], one["jobs"]) for one in result.provenance["jobs_injected"]] == [(60.0, 1), (70.0, 1)]
    assert hs.Session.load(tmp_path / "a.hetsched").run() == result
    with pytest.raises(hs.ConfigError, match="expected nothing: the run has come to its end; a fork made earlier"):
        run.inject(pl.DataFrame({"job_id": [7], "submit_s": [1000], "runtime_s": [5], "node_count": [1]}))


def test_jobs_with_constraints_come_from_the_beginning() -> None:
    jobs = pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 5], "runtime_s": [60, 60], "node_count": [1, 1]})
    kinds = [
        {"name": "cpu", "count": 2, "idle_w": 100, "tdp_w": 300, "gpus": 0},
        {"name": "gpu", "count": 2, "idle_w": 100, "tdp_w": 300, "gpus": 4},
    ]
    machine = hs.Platform(kinds)
    run = hs.Session(hs.Workload.from_polars(jobs), machine, "easy")
    other = jobs.with_columns(job_id=pl.col("job_id") + 10, submit_s=pl.col("submit_s") + 50, gpus=pl.lit(2))
    early = run.fork()
    early.inject(other)
    both = hs.Workload.from_polars(pl.concat([jobs, other], how="diagonal"))
    assert early.run().jobs["nodes"].to_list() == hs.simulate(both, machine, "easy").jobs["nodes"].to_list()
    run.step_until(10)
    with pytest.raises(hs.ConfigError, match="workload: found a new constraint, or new gpus, memory_gb or licences"):
        run.inject(other)
    assert run.run() == hs.simulate(hs.Workload.from_polars(jobs), machine, "easy")
    asked = hs.Session(both, machine, "easy")
    asked.step_until(10)
    more = other.with_columns(job_id=pl.col("job_id") + 10, submit_s=pl.col("submit_s") + 5)
    asked.inject(more)
    everything = hs.Workload.from_polars(pl.concat([jobs, other, more], how="diagonal"))
    told = {
        row[0]: row[1:]
        for row in hs.simulate(everything, machine, "easy").jobs.select("job_id", "start_s", "nodes").rows()
    }
    assert {row[0]: row[1:] for row in asked.run().jobs.select("job_id", "start_s", "nodes").rows()} == told
