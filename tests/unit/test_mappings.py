"""Columns of published tables of jobs, numbers of rows in place of ids, and what is refused."""

import io
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import hetsched as hs
from hetsched.workload.formats.mappings import MAPPINGS
from hetsched.workload.schema import COLUMNS

SHARED = Path(__file__).parents[2].parent / "shared" / "data"

TABLES = {
    "kestrel": ("kestrel-job-power/kestrel_jobs_2024-08-30_to_09-09.parquet", 93_036),
    "eagle": ("nrel-eagle-sample/sample_eagle_data.csv.gz", 1_000),
    "philly": ("gpu-jobs-philly/philly_df_schedule.csv.gz", 151_816),
    "philly-sia": ("gpu-jobs-philly/philly_sia.csv.gz", 82_247),
    "helios": ("gpu-jobs-helios-15k/helios_data_training.csv.gz", 15_000),
    "alibaba": ("gpu-jobs-alibaba-2023/openb_pod_list_gpuspec33.csv.gz", 8_152 - 897),
    "lisa": ("surf-lisa-week/tasks.parquet", 2_907),
}
"""Files, and jobs as their pages count them; Alibaba's without those that waited."""

ROWS = {
    "philly": (
        ",run_time,wait_time,submit_time,gpu_num\n0,60,5,100,8\n",
        {"job_id": 1, "submit_s": 100.0, "runtime_s": 60.0, "node_count": 8, "observed_start_s": 105.0},
    ),
    "philly-sia": (
        "timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,66.0,2,132.0,6214e9\n",
        {"submit_s": 1507532515.0, "runtime_s": 66.0, "node_count": 2, "queue": "6214e9"},
    ),
    "helios": (
        ("u_id,user,gpu_num,cpu_num,node_num,interval,run_time,wall_time,new_status\n"
         "3,1,9,13,2,7,84,0,Killed\n4,1,0,1,1,5,84,100,Pass\n"),
        {"job_id": 3, "submit_s": 7.0, "gpus": 5, "slots": 7, "cpus": 13, "trace_status": 5, "walltime_s": None},
    ),
    "alibaba": (
        ("name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,"
         "scheduled_time\n"
         "a,6500,2048,1,460,T4|P100,LS,Running,10,100,20\nb,1,1,0,0,,BE,Pending,20,100,\n"),
        {"log_id": "a", "submit_s": 10.0, "runtime_s": 80.0, "slots": 7, "memory_gb": 2.0, "constraint": "T4|P100",
         "trace_state": "Running", "observed_start_s": 20.0, "gpu_milli": 460},
    ),
    "eagle": (
        ("job_id,user,account,partition,qos,wallclock_req,nodes_req,processors_req,gpus_req,mem_req,submit_time,"
         "start_time,end_time,run_time,state,name,work_dir,submit_line\n"
         "7,u,a,p,q,300,2,72,3,0,2019-01-01 08:00:00,2019-01-01 08:00:05,2019-01-01 08:01:05,60,TIMEOUT,n,w,l\n"),
        {"log_id": "7", "submit_s": 1546329600.0, "walltime_s": 300.0, "node_count": 2, "gpus": 2, "app": "n",
         "trace_status": 0, "observed_end_s": 1546329665.0},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_a_row_of_a_table_by_hand(name: str) -> None:
    text, expected = ROWS[name]
    jobs = hs.read_jobs(text.encode(), format="csv", columns=name).to_polars()
    row = jobs.row(0, named=True)
    assert {key: row[key] for key in expected} == expected
    assert "" not in jobs.columns


def test_helios_submits_are_sums_of_intervals() -> None:
    jobs = hs.read_csv(ROWS["helios"][0].encode(), columns="helios").to_polars()
    assert jobs["submit_s"].to_list() == [7.0, 12.0]
    assert jobs["walltime_s"].to_list() == [None, 100.0]


def test_what_waits_in_alibabas_table_is_left_out() -> None:
    workload = hs.read_csv(ROWS["alibaba"][0].encode(), columns="alibaba")
    assert (len(workload), workload.report["dropped_pending"], workload.report["cut_by_end"]) == (1, 1, 1)


def test_tables_in_parquet() -> None:
    lisa = pl.DataFrame({"id": [7], "submit_s": [5], "duration": [1500], "cpu_count": [16], "mem_capacity": [9]})
    file = io.BytesIO()
    lisa.write_parquet(file)
    workload = hs.read_parquet(file.getvalue(), columns="lisa")
    assert workload.to_polars().row(0) == (7, 5.0, 1.5, 1, 16, 9)
    assert workload.history == ("read bytes with columns=lisa",)


@pytest.mark.parametrize("name", MAPPINGS)
def test_mappings_name_hetscheds_columns(name: str) -> None:
    assert set(MAPPINGS[name].columns) <= set(COLUMNS)
    assert {own for own, column in COLUMNS.items() if column.is_required} <= set(MAPPINGS[name].columns)


@pytest.mark.parametrize("name", TABLES)
def test_a_published_table_is_read_in_one_command(name: str) -> None:
    file, jobs = TABLES[name]
    if not (SHARED / file).exists():
        pytest.skip("the table is not part of the repository")
    workload = hs.read_jobs(SHARED / file, columns=name)
    assert len(workload) == jobs
    assert workload.report.get("unknown_states", 0) == 0


LOG = b"job_id,t,d,n\n7,0,60,2\n7,5,60,1\n"
NAMES = {"t": "submit_s", "d": "runtime_s", "n": "node_count"}


def test_rows_number_the_jobs_and_the_logs_own_numbers_are_kept() -> None:
    jobs = hs.read_csv(LOG, columns={"#row": "job_id", **NAMES}).to_polars()
    assert jobs.select("job_id", "log_id").rows() == [(1, "7"), (2, "7")]
    named = hs.read_csv(LOG, columns={"#row": "job_id", "job_id": "user", **NAMES}).to_polars()
    assert ("log_id" in named.columns, named["user"].to_list()) == (False, ["7", "7"])
    bare = hs.read_csv(b"t,d,n\n0,60,2\n", columns={"#row": "job_id", **NAMES})
    assert bare.to_polars()["job_id"].to_list() == [1]


def test_rows_are_counted_as_they_stand_in_the_file() -> None:
    text = b"t,d,n\n9,60,2\nx,1,1\n0,60,1\n1,60,1\n"
    jobs = hs.read_csv(text, columns={"#row": "job_id", **NAMES}, on_bad_line="skip").to_polars()
    assert jobs.select("job_id", "submit_s").rows() == [(3, 0.0), (4, 1.0), (1, 9.0)]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            "phily",
            r"columns: found `phily`, expected a mapping such as .*, or one of kestrel, .*; did you mean `philly`\?",
        ),
        (7, r"columns: found `7`, expected a mapping"),
        ({"#row": "user", **NAMES}, r"column `#row`: found `user` to be read as, expected `job_id`"),
        (NAMES, r"line 3, column `job_id`: found `7`, expected a number of its own; .*--columns job_id=#row"),
        (
            "philly",
            r"column `submit_time`: found columns job_id, t, d, n, expected a column `submit_time`, as the table",
        ),
    ],
)
def test_what_is_refused(columns: Any, message: str) -> None:
    with pytest.raises(hs.HetschedError, match=message):
        hs.read_csv(LOG, columns=columns)


def test_a_table_of_other_values_is_refused() -> None:
    text = ROWS["helios"][0].replace(",7,84", ",x,84").encode()
    with pytest.raises(hs.TraceError, match=r"expected columns as the table `helios` has them|column `submit_s`"):
        hs.read_csv(text, columns="helios")


def test_no_id_at_all_points_to_rows() -> None:
    with pytest.raises(hs.TraceError, match="--columns job_id=#row"):
        hs.read_csv(b"t,d,n\n0,60,2\n", columns=NAMES)
    with pytest.raises(hs.TraceError, match="with_row_index"):
        hs.Workload.from_polars(pl.DataFrame({"submit_s": [0.0], "runtime_s": [1.0], "node_count": [1]}))
