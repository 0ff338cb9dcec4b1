"""Names of a workload's own columns in a result, and results as the next workload."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hetsched as hs
from hetsched.run.outcome import names_in_result
from hetsched.run.result_files import JOB_COLUMNS
from hetsched.testing import check_schedule

PLATFORM = hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300)
JOBS = pl.DataFrame({"job_id": [1, 2], "submit_s": [0.0, 5.0], "runtime_s": [10.0, 10.0], "node_count": [1, 2]})


def run(jobs, policy="easy"):
    workload = hs.Workload.from_polars(jobs)
    result = hs.simulate(workload, PLATFORM, policy)
    check_schedule(result, workload, PLATFORM)
    return result


@pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")
@pytest.mark.parametrize("policy", ["easy", "vahrm:first_run=true"])
def test_a_results_jobs_are_the_next_workload_round_after_round(policy, tmp_path):
    rounds = [run(JOBS.with_columns(app=pl.lit("a")), policy)]
    for _ in range(3):
        rounds.append(run(rounds[-1].jobs, policy))
    rounds[-1].write(tmp_path, csv=True)
    assert hs.read_result(tmp_path) == rounds[-1]
    # What each round recorded stands in the last one's jobs: the oldest with the shortest name.
    for name in ("start_s", "nodes", "state", "nominal_runtime_s"):
        for number, prefix in enumerate(("trace_", "trace_trace_", "trace_trace_trace_", "")):
            assert rounds[-1].jobs[prefix + name].to_list() == rounds[number].jobs[name].to_list()


@pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")
def test_columns_with_the_names_of_a_results_lose_nothing():
    own = {"nominal_runtime_s": [1.0, 2.0], "nodes": ["x", "y"], "trace_nodes": ["z", "z"], "profiled": [1, 2]}
    plain = run(JOBS.with_columns(**{name: pl.Series(values) for name, values in own.items()}))
    assert plain.summary()["jobs"] == 2
    found = plain.jobs.select("trace_nominal_runtime_s", "trace_trace_nodes", "trace_nodes", "profiled")
    assert found.rows() == [(1.0, "x", "z", 1), (2.0, "y", "z", 2)]
    profiling = run(JOBS.with_columns(profiled=pl.Series([1, 2])), "vahrm:first_run=true")
    assert profiling.jobs.select("profiled", "trace_profiled").rows() == [(True, 1), (True, 2)]


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([*JOB_COLUMNS, "profiled", "mine"])), unique=True))
def test_every_column_keeps_its_name_unless_the_run_has_it(drawn):
    columns = ["trace_" * number + name for number, name in drawn]
    names = names_in_result([*columns, "runtime_s"] if "runtime_s" not in columns else columns, ["profiled"])
    assert len(set(names.values())) == len(names)
    assert names["runtime_s"] == "nominal_runtime_s"
    from_workload = {"job_id", "user", "queue", "app", "submit_s", "walltime_s", "node_count", "slots"}
    for column in set(columns) - {"runtime_s"}:
        is_taken = column in {*JOB_COLUMNS, "profiled"} - from_workload
        assert (names[column] != column) == is_taken
        assert names[column].replace("trace_", "") == column.replace("trace_", "")
