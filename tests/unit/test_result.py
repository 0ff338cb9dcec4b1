"""Results: every column and every key by hand, options, files whole or not at all."""

import json
import math
import os
import resource
import signal
import threading
import warnings

import polars as pl
import pytest

import hetsched as hs
from hetsched.errors import LoadWarning, OutputError
from hetsched.run.result_files import JOB_COLUMNS

# Two nodes, 100 W idle and 300 W busy; first come, first served.
#   job 1: submitted 0, two nodes, 60 s           -> 0..60 at once
#   job 2: submitted 10, one node, 100 s, limit 50 -> waits for job 1, 60..110, killed
#   job 3: submitted 20, three nodes              -> can never run
#   job 4: submitted 200, one node, 0 s           -> 200..200
JOBS = {
    "job_id": [1, 2, 3, 4],
    "submit_s": [0.0, 10.0, 20.0, 200.0],
    "runtime_s": [60.0, 100.0, 5.0, 0.0],
    "node_count": [2, 1, 3, 1],
    "walltime_s": [None, 50.0, None, None],
    "user": ["ann", "bo", None, "ann"],
    "power_w": [0.0, 250.0, 0.0, 0.0],
    "mine": ["a", "b", "c", "d"],
    "state": ["CD", "TO", "F", "CD"],
}
PLATFORM = hs.Platform.homogeneous(nodes=2, idle_w=100.0, tdp_w=300.0)


def run(policy="fcfs", **options):
    return hs.simulate(hs.Workload.from_polars(pl.DataFrame(JOBS), source="by hand"), PLATFORM, policy, **options)


@pytest.fixture(scope="module")
def result():
    return run()


def test_jobs_stand_in_the_workloads_order_with_the_contracts_columns(result):
    assert result.jobs.columns == [*JOB_COLUMNS, "power_w", "mine", "trace_state"]
    assert dict(list(result.jobs.schema.items())[: len(JOB_COLUMNS)]) == JOB_COLUMNS
    assert result.jobs["job_id"].to_list() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("user", ["ann", "bo", None, "ann"]),
        ("app", [None] * 4),
        ("start_s", [0.0, 60.0, None, 200.0]),
        ("end_s", [60.0, 110.0, None, 200.0]),
        ("runtime_s", [60.0, 50.0, None, 0.0]),
        ("walltime_s", [None, 50.0, None, None]),
        ("wait_s", [0.0, 50.0, None, 0.0]),
        ("turnaround_s", [60.0, 100.0, None, 0.0]),
        # 60/60, 100/50, none, and 0/10 raised to 1.
        ("bounded_slowdown", [1.0, 2.0, None, 1.0]),
        ("node_count", [2, 1, 3, 1]),
        ("slots", [None] * 4),
        ("nodes", [[0, 1], [0], None, [0]]),
        # 2 nodes * 300 W * 60 s; one node at its measured 250 W for 50 s.
        ("energy_j", [36000.0, 12500.0, None, 0.0]),
        ("mean_power_w", [600.0, 250.0, None, None]),
        ("started_by", ["immediate", "reservation", None, "immediate"]),
        ("state", ["completed", "timeout", "rejected", "completed"]),
        ("nominal_runtime_s", [60.0, 100.0, 5.0, 0.0]),
        ("mine", ["a", "b", "c", "d"]),
        ("trace_state", ["CD", "TO", "F", "CD"]),
    ],
)
def test_columns_by_hand(result, column, values):
    found = result.jobs[column].to_list()
    if column in ("energy_j", "mean_power_w"):
        assert found == pytest.approx(values)
    else:
        assert found == values


def test_a_rejected_job_says_why(result):
    reasons = result.jobs["reason"].to_list()
    assert reasons[0] is reasons[3] is None
    assert reasons[1] == "killed at its walltime"
    assert "more nodes than the platform has" in reasons[2]


def test_the_summary_by_hand(result):
    idle = 2 * 100 * 200 - 100 * (2 * 60 + 50)
    expected = {
        "jobs": 4,
        "completed": 2,
        "timeout": 1,
        "failed": 0,
        "rejected": 1,
        "cancelled": 0,
        "running": 0,
        "pending": 0,
        "makespan_s": 200.0,
        "energy_j": 48500.0 + idle,
        "job_energy_j": 48500.0,
        "idle_energy_j": idle,
        "transition_energy_j": 0.0,
        "off_energy_j": 0.0,
        "down_energy_j": 0.0,
        # Of 2 * 60 + 100 node-seconds that were started, job 2 did 50 of its 100.
        "work_lost_node_s": 50.0,
        "completed_work_ratio": 170 / 220,
        "energy_per_work_j_per_node_s": (48500.0 + idle) / 170,
        "mean_wait_s": 50 / 3,
        "median_wait_s": 0.0,
        # Waits 0, 0, 50: 95 % of the way is at rank 1.9.
        "p95_wait_s": 45.0,
        "max_wait_s": 50.0,
        "mean_turnaround_s": 160 / 3,
        "mean_bounded_slowdown": 4 / 3,
        "throughput_jobs_per_hour": 36.0,
        "utilization_ratio": 170 / 400,
        "mean_power_w": (48500.0 + idle) / 200,
        "peak_power_w": 600.0,
        "energy_delay_product_js": (48500.0 + idle) * 200,
        # 2*60 + 100 + 3*5 = 235 node-seconds in 200 s on two nodes.
        "offered_load_ratio": 235 / 400,
        "budget_w": None,
        "over_budget_count": 0,
        "over_budget_s": 0.0,
        "over_budget_peak_w": 0.0,
        "profiled_jobs": 0,
    }
    assert list(result.summary()) == list(expected)
    assert result.summary() == pytest.approx(expected)


def test_sums_agree_between_frames_and_summary(result):
    assert result.nodes["energy_j"].sum() == pytest.approx(result.summary()["energy_j"])
    assert result.nodes["busy_s"].to_list() == [110.0, 60.0]
    assert result.timeline["time_s"][0] == 0.0
    assert result.timeline["time_s"][-1] == 200.0
    steps = result.timeline["time_s"].diff().drop_nulls() * result.timeline["power_w"].head(-1)
    assert steps.sum() == pytest.approx(result.summary()["energy_j"])


def test_provenance_is_enough_to_repeat_the_run(result):
    provenance = result.provenance
    assert provenance["version"] == hs.__version__
    assert provenance["policy"] == hs.Policy.preset("fcfs").to_dict()
    assert provenance["trace"]["sha256"] == hs.Workload.from_polars(pl.DataFrame(JOBS)).sha256
    assert provenance["platform"]["sha256"] == PLATFORM.sha256
    assert provenance["tables"] == {"actual": None, "predicted": None}
    balance = provenance["energy_balance"]
    assert balance["integral_j"] == pytest.approx(result.summary()["energy_j"])
    assert balance["relative_error"] <= 1e-9


@pytest.mark.parametrize("rows", [0, 1])
def test_where_nothing_started_there_are_zeros(rows):
    jobs = pl.DataFrame({"job_id": [1], "submit_s": [5.0], "runtime_s": [5.0], "node_count": [9]}).head(rows)
    result = hs.simulate(hs.Workload.from_polars(jobs), PLATFORM)
    summary = result.summary()
    assert (summary.pop("jobs"), summary.pop("rejected")) == (rows, rows)
    assert summary.pop("offered_load_ratio") == (None if rows else 0.0)
    assert summary.pop("budget_w") is None
    # Nothing was started, so nothing was lost; and nothing was done that energy could be held against.
    assert (summary.pop("completed_work_ratio"), summary.pop("energy_per_work_j_per_node_s")) == (1.0, None)
    # The idle machine draws its idle watts, for no time at all.
    assert summary.pop("peak_power_w") in (0.0, 200.0)
    assert set(summary.values()) == {0}
    assert len(result.jobs) == rows


def test_a_result_is_read_back_as_it_was_written(result, tmp_path):
    result.write(tmp_path / "a" / "b")
    again = hs.read_result(tmp_path / "a" / "b")
    assert again == result
    assert again.timing == result.timing
    assert again.jobs.schema == result.jobs.schema
    assert sorted(p.name for p in (tmp_path / "a" / "b").iterdir()) == [
        "jobs.parquet", "nodes.parquet", "summary.json", "timeline.parquet"]  # fmt: skip


def test_equal_runs_write_equal_bytes_but_for_their_timing(tmp_path):
    for name in ("a", "b"):
        run(seed=3).write(tmp_path / name, csv=True)
    for file in ("jobs.parquet", "timeline.parquet", "nodes.parquet", "jobs.csv"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
    a, b = (json.loads((tmp_path / name / "summary.json").read_text()) for name in ("a", "b"))
    assert {"summary", "version", "seed", "policy", "trace", "platform", "tables", "timing"} <= set(a)
    assert set(a.pop("timing")) == set(b.pop("timing")) == {"wall_s", "jobs_per_s"}
    assert set(a["files"]) == {"jobs.parquet", "timeline.parquet", "nodes.parquet", "jobs.csv"}
    assert a == b


def test_csv_has_nodes_as_text(result, tmp_path):
    result.write(tmp_path, csv=True)
    assert pl.read_csv(tmp_path / "jobs.csv")["nodes"].to_list() == ["0 1", "0", None, "0"]


def test_csv_takes_a_users_nested_columns_too(tmp_path):
    jobs = pl.DataFrame({**JOBS, "tags": [["x", "y"]] * 4, "site": [{"a": 1}] * 4, "deep": [[[1]]] * 4})
    hs.simulate(hs.Workload.from_polars(jobs), PLATFORM).write(tmp_path, csv=True)
    first = pl.read_csv(tmp_path / "jobs.csv").row(0, named=True)
    assert (first["tags"], first["site"]) == ("x y", '{"site":{"a":1}}')


def test_a_second_write_replaces_the_first(result, tmp_path):
    result.write(tmp_path)
    other = run("easy")
    other.write(tmp_path)
    assert hs.read_result(tmp_path) == other


def test_a_folder_that_is_a_file_is_refused(result, tmp_path):
    (tmp_path / "taken").write_text("mine")
    for folder in (tmp_path / "taken", tmp_path / "taken" / "deeper"):
        with pytest.raises(OutputError, match=r"taken.*: cannot be written: not a folder"):
            result.write(folder)
    assert (tmp_path / "taken").read_text() == "mine"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_not_writable_is_refused(result, tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match="cannot be written: Permission denied"):
        result.write(tmp_path)


@pytest.mark.skipif(threading.active_count() > 1, reason="the limit is the process's")
def test_a_full_disk_leaves_the_old_files_and_nothing_half_written(result, tmp_path):
    result.write(tmp_path)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.getsignal(signal.SIGXFSZ)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
        with pytest.raises(OutputError, match=r"jobs.parquet: cannot be written: File too large$"):
            run("easy").write(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_an_interruption_while_writing_leaves_no_partial_file(result, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("pathlib.Path.replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        result.write(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_folders_without_a_result_are_refused(result, tmp_path):
    with pytest.raises(
        hs.TraceError, match=r"summary\.json: found no such file, expected a file written by Result.write"
    ):
        hs.read_result(tmp_path)


OPTIONS = [
    ({"seed": -1}, "seed: found `-1`, expected a whole number between 0 and 18446744073709551615"),
    ({"seed": 0.5}, "seed: found `0.5`"),
    ({"kill_at_walltime": 1}, "kill_at_walltime: found `1`, expected true or false"),
    ({"kill_grace_s": -1}, "kill_grace_s: found `-1`, expected a number between 0 and 1e+12"),
    ({"kill_grace_s": "5"}, "kill_grace_s: found `'5'`, expected a number between 0 and 1e+12"),
    ({"kill_grace_s": math.nan}, "kill_grace_s: found `NaN`"),
    ({"kill_grace_s": math.inf}, "kill_grace_s: found `inf`"),
    ({"walltimes": "strech"}, "walltimes: found `strech`, expected `fixed` or `stretch`; did you mean `stretch`?"),
    ({"walltimes": None}, "walltimes: found `None`, expected `fixed` or `stretch`"),
    (
        {"on_unknown_app": "nomnal"},
        "on_unknown_app: found `nomnal`, expected `error` or `nominal`; did you mean `nominal`?",
    ),
    ({"bound": 1}, "bound: found `1`, expected true or false"),
    ({"until_s": math.nan}, "until_s: found `NaN`"),
    ({"policy": "esay"}, "policy: found `esay`"),
    ({"policy": 3}, "policy: found int, expected a preset's name, a Policy, a dictionary of parts, or an object with"),
]


@pytest.mark.parametrize(("options", "message"), OPTIONS, ids=[message for _, message in OPTIONS])
def test_options_that_cannot_be_are_refused(options, message):
    with pytest.raises(hs.ConfigError) as caught:
        run(**options)
    assert str(caught.value).startswith(message)


def test_a_workload_and_a_platform_are_asked_for():
    with pytest.raises(hs.ConfigError) as caught:
        hs.simulate(pl.DataFrame(JOBS), 2)
    assert [name for name, _, _ in caught.value.faults] == ["workload", "platform"]


def test_policies_may_be_names_dictionaries_or_objects():
    policy = hs.Policy.preset("easy", depth=2)
    names = [run(p).provenance["policy"]["name"] for p in ("easy:depth=2", policy, policy.to_dict())]
    assert names == ["easy:backfill.depth=2"] * 3


def test_too_much_work_is_warned_of():
    jobs = pl.DataFrame({"job_id": [1, 2], "submit_s": [0.0, 10.0], "runtime_s": [60.0, 60.0], "node_count": [2, 2]})
    with pytest.warns(LoadWarning, match="offered load 12.00: more work is submitted than 2 nodes can do"):
        hs.simulate(hs.Workload.from_polars(jobs), PLATFORM)


def of_work(**columns):
    """Summary of jobs of 100 s on a node each, if nothing else is said; nodes take 1.25 times
    as long."""
    count = len(next(iter(columns.values()))) if columns else 0
    own = {"submit_s": [0.0] * count, "runtime_s": [100.0] * count, "node_count": [1] * count, "app": ["a"] * count}
    types = {"job_id": pl.Int64, "submit_s": pl.Float64, "runtime_s": pl.Float64, "node_count": pl.Int64}
    frame = pl.DataFrame({"job_id": range(count), **own, **columns}, schema_overrides=types)
    table = hs.VariationTable(["*"], power_w=[[300.0] * 2], time_ratio=[[1.25] * 2])
    summary = hs.simulate(hs.Workload.from_polars(frame), PLATFORM.with_tables(actual=table), "fcfs").summary()
    return summary["work_lost_node_s"], summary["completed_work_ratio"], summary["energy_per_work_j_per_node_s"]


@pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")
def test_lost_work_is_the_cut_share_at_nominal_speed():
    # 125 s each, both nodes at 300 W: all of 2 x 100 node-seconds for 2 x 125 x 300 J.
    assert of_work(walltime_s=[None, 125.0]) == (0.0, 1.0, 375.0)
    # Cut at 50 of 125 s, after 40 of its 100 nominal seconds: 60 are lost. Nodes draw 300 W for 175 s, idle for 75.
    assert of_work(walltime_s=[None, 50.0]) == (60.0, 140 / 200, (175 * 300 + 75 * 100) / 140)
    # Two nodes, 100 s and 25 s of communication, cut at 75 of 125 + 25 s: half of 250 node-seconds are lost.
    assert of_work(node_count=[2], comm_s=[25.0], walltime_s=[75.0]) == (125.0, 0.5, 75 * 600 / 125)


def test_where_no_work_was_done_there_is_no_energy_per_work():
    assert of_work() == (0.0, 1.0, None)
    assert of_work(runtime_s=[0.0]) == (0.0, 1.0, None)
    # More nodes than there are: rejected, never started.
    assert of_work(node_count=[3]) == (0.0, 1.0, None)


def test_work_of_jobs_that_still_run_counts_neither_as_done_nor_as_lost():
    # Job 1 has done its 120 node-seconds at 60, job 2 runs from 60 on.
    summary = run(until_s=70.0).summary()
    assert (summary["work_lost_node_s"], summary["completed_work_ratio"]) == (0.0, 1.0)
    assert summary["energy_per_work_j_per_node_s"] == summary["energy_j"] / 120


def work_warnings(call, **options):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        call(**options)
    return [one for one in said if one.category is hs.errors.WorkWarning]


def test_work_that_slow_nodes_lost_is_warned_of_and_the_remedy_named():
    # Job 1 needs 125 s and is killed at 124; job 2 at 100, with 80 of its 100 nominal seconds done.
    (warning,) = work_warnings(of_work, walltime_s=[124.0, 100.0])
    assert str(warning.message) == (
        "jobs killed before their work was done: 2, and 10 % of the started node-seconds lost; energy is lower by as "
        'much work as was not done, and walltimes="stretch" gives jobs the time they need on slower nodes'
    )
    assert warning.filename == __file__
    # Eight tenths of a hundredth are next to nothing; and on nominal nodes another remedy helps.
    assert work_warnings(of_work, walltime_s=[124.0]) == []
    (warning,) = work_warnings(run)
    assert str(warning.message).endswith(
        "and kill_at_walltime=False lets jobs run on, as those did that overran their walltime in the log"
    )
    assert work_warnings(run, kill_at_walltime=False) == []


def test_a_run_that_is_cut_short_says_what_is_left():
    result = run(until_s=70.0)
    assert result.jobs["state"].to_list()[:2] == ["completed", "running"]
    assert result.jobs["start_s"].to_list()[1] == 60.0
    assert result.jobs["end_s"].to_list()[1] is None
    assert result.jobs["turnaround_s"].to_list()[1] is None
    assert result.summary()["mean_wait_s"] == pytest.approx(25.0)


def test_progress_counts_up_to_all_jobs():
    calls = []
    run(progress=lambda done, total, now_s: calls.append((done, total, now_s)))
    assert all(0 <= done <= total == 4 for done, total, _ in calls)
    assert calls == sorted(calls)
