"""The preset `replay`: what the log says happened, and what is said where that cannot be."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import hetsched as hs
from hetsched.testing import check_schedule

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")
JOBS = {
    "job_id": [1, 2, 3],
    "submit_s": [0.0, 1.0, 2.0],
    "runtime_s": [10.0, 10.0, 5.0],
    "node_count": [2, 1, 1],
}


def log(**columns: object) -> hs.Workload:
    return hs.Workload.from_polars(pl.DataFrame({**JOBS, **columns}))


def platform(nodes: int = 3) -> hs.Platform:
    return hs.Platform.homogeneous(nodes=nodes, idle_w=100.0, tdp_w=300.0)


def test_jobs_start_when_and_where_they_did() -> None:
    workload = log(observed_start_s=[4.0, 3.5, 14.0], observed_nodes=[[0, 2], [1], [2]])
    result = hs.simulate(workload, platform(), "replay")
    assert result.jobs["start_s"].to_list() == [4.0, 3.5, 14.0]
    assert result.jobs["nodes"].to_list() == [[0, 2], [1], [2]]
    assert result.jobs["started_by"].to_list() == ["reservation"] * 3
    assert result.provenance["replay"] == {"late_starts": 0, "left_out_jobs": 0}
    check_schedule(result, workload, platform())


def test_another_placement_keeps_the_starts() -> None:
    """Nodes draw 250, 150 and 200 W: the cheapest free ones are 1 and 2, then 0, then 1."""
    table = hs.VariationTable(["a"], power_w=[[250.0, 150.0, 200.0]])
    workload = log(observed_start_s=[0.0, 3.5, 14.0], observed_nodes=[[0, 2], [1], [2]], app=["a"] * 3)
    machine = platform().with_tables(actual=table)
    result = hs.simulate(workload, machine, "replay:placement=lowest-power")
    assert result.jobs["start_s"].to_list() == [0.0, 3.5, 14.0]
    assert result.jobs["nodes"].to_list() == [[1, 2], [0], [1]]
    check_schedule(result, workload, machine)


def test_without_nodes_the_lowest_free_ids_serve() -> None:
    result = hs.simulate(log(observed_start_s=[4.0, 3.5, 14.0]), platform(), "replay")
    assert result.jobs["nodes"].to_list() == [[1, 2], [0], [0]]


def test_who_cannot_start_waits_is_counted_and_warned_about() -> None:
    """On two nodes job 2 has to wait for job 1 to end at 10, and 3, which came later, too."""
    workload = log(observed_start_s=[0.0, 3.0, 3.0])
    with pytest.warns(
        hs.errors.ReplayWarning,
        match=r"^replay: 2 jobs start later than in the log: the needed nodes were not free then",
    ):
        result = hs.simulate(workload, platform(2), "replay")
    assert result.jobs["start_s"].to_list() == [0.0, 10.0, 10.0]
    assert result.provenance["replay"] == {"late_starts": 2, "left_out_jobs": 0}
    check_schedule(result, workload, platform(2))


def test_a_job_that_fits_starts_although_an_earlier_one_is_late() -> None:
    """Job 1 needs both nodes, of which 2 has one until 13; job 3 has its own start on the other."""
    workload = log(observed_start_s=[4.0, 3.0, 6.0])
    with pytest.warns(hs.errors.ReplayWarning, match="1 job starts later"):
        result = hs.simulate(workload, platform(2), "replay")
    assert result.jobs["start_s"].to_list() == [13.0, 3.0, 6.0]
    assert result.jobs["started_by"].to_list() == ["reservation", "reservation", "backfill"]
    check_schedule(result, workload, platform(2))


def test_who_waits_for_nodes_of_its_own_waits_for_these() -> None:
    workload = log(observed_start_s=[0.0, 3.0, 3.0], observed_nodes=[[0, 1], [1], [3]])
    with pytest.warns(hs.errors.ReplayWarning, match="1 job starts later"):
        result = hs.simulate(workload, platform(4), "replay")
    assert result.jobs["start_s"].to_list() == [0.0, 10.0, 3.0]
    check_schedule(result, workload, platform(4))


def test_a_job_without_an_observed_start_stays_pending_with_a_reason() -> None:
    workload = log(observed_start_s=[0.0, None, 3.0])
    with pytest.warns(hs.errors.ReplayWarning, match="^replay: 1 job without an observed start stays pending$"):
        result = hs.simulate(workload, platform(), "replay")
    row = result.jobs.row(1, named=True)
    assert (row["state"], row["reason"], row["start_s"]) == ("pending", "no start is known for it", None)
    assert result.provenance["replay"]["left_out_jobs"] == result.summary()["pending"] == 1
    # The window ends with the last job that ran, and nobody stands in a queue that nobody leaves.
    assert (result.summary()["makespan_s"], result.timeline["queued_jobs"][-1]) == (10.0, 0)
    check_schedule(result, workload, platform())


def test_an_observed_start_before_the_submission_is_kept_as_well_as_may_be() -> None:
    workload = log(observed_start_s=[0.0, 0.0, 3.0])
    with pytest.warns(hs.errors.ReplayWarning, match="1 job starts later"):
        result = hs.simulate(workload, platform(4), "replay")
    assert result.jobs["start_s"].to_list() == [0.0, 1.0, 3.0]


def overrun() -> hs.Workload:
    """Job 1 ran for 10 s with a walltime of 6 s; job 2 started on its node when it ended."""
    return log(observed_start_s=[0.0, 10.0, 3.0], walltime_s=[6.0, 20.0, 20.0])


@pytest.mark.parametrize("limits", [{}, {"kill_at_walltime": True}, {"kill_grace_s": 1.0, "walltimes": "stretch"}])
def test_who_overran_a_walltime_in_reality_runs_on(limits: dict[str, object]) -> None:
    result = hs.simulate(overrun(), platform(), "replay", **limits)  # type: ignore[arg-type]
    assert result.jobs["end_s"].to_list() == [10.0, 20.0, 8.0]
    assert result.jobs["state"].to_list() == ["completed"] * 3
    assert result.provenance["options"]["kill_at_walltime"] is False
    check_schedule(result, overrun(), platform())
    assert hs.simulate(overrun(), platform(), "easy").jobs["state"].to_list() == ["timeout", "completed", "completed"]


def test_sessions_and_saved_sessions_kill_no_job_either(tmp_path: Path) -> None:
    session = hs.Session(overrun(), platform(), "replay")
    session.step_until(5.0)
    session.save(tmp_path / "saved")
    for one in (session, hs.Session.load(tmp_path / "saved")):
        one.run()
        assert one.result().jobs["end_s"].to_list() == [10.0, 20.0, 8.0]


def test_a_comparison_says_that_a_replay_kills_no_job() -> None:
    with pytest.warns(hs.errors.WorkWarning):
        found = hs.compare(overrun(), platform(), ["replay", "easy"], progress=None)
    assert found.summaries["replay"]["timeout"] == 0
    assert found.summaries["easy"]["timeout"] == 1
    said = "replay: no job is killed at its walltime, as those that overran it ran on in the log"
    assert said in found.notes
    assert said not in hs.compare(overrun(), platform(), ["easy", "fcfs"], progress=None).notes


def test_a_sweep_takes_replays(tmp_path: Path) -> None:
    """A stored run of a replay is not taken for one with kills, nor the other way."""
    runs = hs.sweep(overrun(), platform(), ["replay", "easy"], workers=1, out=tmp_path)
    assert runs["timeout"].to_list() == [0, 1]
    spared = hs.sweep(overrun(), platform(), ["replay", "easy"], workers=1, out=tmp_path, kill_at_walltime=False)
    assert spared["timeout"].to_list() == [0, 0]
    assert len((tmp_path / "sweep.jsonl").read_text().splitlines()) == 3
    with pytest.raises(
        hs.ConfigError, match=r"workload `unsaid`, platform `3 nodes`, policy `replay`: workload\.observed"
    ):
        hs.sweep({"said": overrun(), "unsaid": log()}, platform(), ["replay", "easy"], workers=1)


def test_a_metered_schedule_kills_as_its_options_say() -> None:
    starts = pl.DataFrame({"job_id": [1, 2, 3], "start_s": [0.0, 10.0, 3.0], "nodes": [[0, 1], [0], [2]]})
    assert hs.meter(overrun(), platform(), starts).jobs["end_s"].to_list() == [6.0, 20.0, 8.0]
    spared = hs.meter(overrun(), platform(), starts, kill_at_walltime=False)
    assert spared.jobs["end_s"].to_list() == [10.0, 20.0, 8.0]


def test_a_replay_under_a_budget_waits_for_watts() -> None:
    workload = log(observed_start_s=[0.0, 1.0, 2.0])
    policy = hs.Policy.from_dict({"preset": "replay", "power": {"name": "system-budget", "budget_w": 700.0}})
    with pytest.warns(hs.errors.ReplayWarning, match="2 jobs start later"):
        result = hs.simulate(workload, platform(), policy)
    assert result.summary()["peak_power_w"] <= 700.0
    check_schedule(result, workload, platform())


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {},
            "workload.observed_start_s: found no such column, expected when each job started, in seconds: policy",
        ),
        (
            {"observed_start_s": [None] * 3},
            "workload.observed_start_s: found nulls only, expected when each job started",
        ),
        (
            {"observed_start_s": [0.0] * 3, "observed_nodes": [[0, 1], [3], None]},
            "workload.observed_nodes: found node 3 of job 2, expected nodes below 3, the platform's; replay:placement=",
        ),
    ],
)
def test_what_the_log_does_not_say_is_an_error(columns: dict[str, list[object]], message: str) -> None:
    with pytest.raises(hs.ConfigError, match=message):
        hs.simulate(log(**columns), platform(), "replay")


def test_nodes_that_the_platform_has_not_do_not_matter_to_another_placement() -> None:
    workload = log(observed_start_s=[0.0, 0.0, 3.0], observed_nodes=[[0, 1], [3], None]).filter(pl.col("job_id") < 3)
    with pytest.warns(hs.errors.ReplayWarning):  # job 2 was submitted after its start
        assert hs.simulate(workload, platform(), "replay:placement=lowest-id").summary()["completed"] == 2


def test_the_wait_of_an_swf_log_is_its_observed_start() -> None:
    line = "{} {} {} 60 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n"
    text = line.format(1, 0, 30) + line.format(2, 10, 5) + line.format(3, 20, -1)
    workload = hs.read_swf(text.encode())
    with pytest.warns(hs.errors.ReplayWarning, match="1 job without"):
        result = hs.simulate(workload, platform(), "replay")
    assert result.jobs["start_s"].to_list() == [30.0, 15.0, None]


def test_observed_orders_and_nodes_serve_other_policies() -> None:
    """All three come before anything is free: the order of their starts decides, and their nodes are theirs."""
    jobs = {"submit_s": [0.0, 1.0, 2.0], "node_count": [3, 3, 3], "runtime_s": [10.0, 1.0, 1.0]}
    workload = log(**jobs, observed_start_s=[0.0, 90.0, 80.0])
    result = hs.simulate(workload, platform(), hs.Policy(order="observed"))
    assert result.jobs["start_s"].to_list() == [0.0, 11.0, 10.0]
    free = log(observed_nodes=[[1, 2], None, [2]])
    assert hs.simulate(free, platform(), "easy:placement=observed").jobs["nodes"].to_list() == [[1, 2], [0], [2]]


def test_a_replay_with_an_order_of_its_own_starts_the_same_jobs() -> None:
    workload = log(observed_start_s=[4.0, 3.5, 14.0])
    result = hs.simulate(workload, platform(), "replay:order=longest")
    assert result.jobs["start_s"].to_list() == [4.0, 3.5, 14.0]


def test_nodes_are_read_from_text_and_written_to_it(tmp_path: Path) -> None:
    text = b'job_id,submit_s,runtime_s,node_count,observed_nodes\n1,0,5,1,7\n2,0,5,4,"0-2, 7"\n3,0,1,1,\n'
    workload = hs.read_csv(text)
    assert workload.to_polars()["observed_nodes"].to_list() == [[7], [0, 1, 2, 7], None]
    for name in ("jobs.csv", "jobs.parquet"):
        workload.write(tmp_path / name)
        assert hs.workload.read_jobs(tmp_path / name) == workload


@pytest.mark.parametrize(
    ("field", "found"),
    [('"0,0"', "`0,0`"), ("0 1 2", "`0 1 2`"), ("n[1-2]", "`n[1-2]`"), ("2-1", "`2-1`"), ('"-1,2"', "`-1,2`")],
)
def test_nodes_that_cannot_be_are_refused(field: str, found: str) -> None:
    text = f"job_id,submit_s,runtime_s,node_count,observed_nodes\n1,0,5,2,3 4\n2,0,5,2,{field}\n"
    with pytest.raises(hs.TraceError, match="line 3, column `observed_nodes`") as caught:
        hs.read_csv(text.encode())
    assert found.replace(",", " ") in str(caught.value).replace(",", " ")


@pytest.mark.parametrize("nodes", [[[0, 0], [1], [1]], [[0], [1], [1]], [[0, None], [1], [1]], [[0, -1], [1], [1]]])
def test_lists_of_nodes_that_cannot_be_are_refused(nodes: list[list[int]]) -> None:
    with pytest.raises(hs.TraceError, match="row 0, column `observed_nodes`"):
        log(observed_nodes=nodes)
    with pytest.raises(hs.TraceError, match="column `observed_nodes`: found values of type String"):
        log(observed_nodes=["0 1", "1", "1"])


def test_denser_arrivals_forget_where_jobs_ran() -> None:
    scaled = log(observed_start_s=[0.0, 1.0, 2.0], observed_nodes=[[0, 1], [1], [1]]).scale_arrivals(2)
    assert scaled.to_polars().select("observed_start_s", "observed_nodes").null_count().row(0) == (3, 3)
