"""The job table: what is taken, what is refused and how it says so, and what transforms do."""

import datetime as dt
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hetsched as hs
from hetsched.workload import COLUMNS, schema
from hetsched.workload.convert import (
    date_seconds,
    node_lists,
    node_numbers,
    node_offsets,
    nodes_text,
    other_nodes,
    span_seconds,
)


def frame(**columns):
    """Three small jobs, with columns replaced, added, or (None) left out."""
    base = {
        "job_id": [1, 2, 3],
        "submit_s": [0.0, 10.0, 30.0],
        "runtime_s": [60.0, 30.0, 90.0],
        "node_count": [1, 2, 4],
    }
    return pl.DataFrame({name: values for name, values in {**base, **columns}.items() if values is not None})


def workload(**columns):
    return hs.Workload.from_polars(frame(**columns), source="mine")


class FourNodes:
    nodes = 4
    exclusive = True
    slots = np.full(4, 8)


def test_columns_come_in_the_schemas_order_and_types_and_others_behind_them():
    table = hs.Workload.from_polars(
        pl.DataFrame(
            {
                "mine": ["x"],
                "node_count": pl.Series([2], dtype=pl.UInt8),
                "job_id": pl.Series([7], dtype=pl.Int16),
                "runtime_s": [5],
                "submit_s": [0],
            }
        )
    ).to_polars()
    assert table.schema == {
        "job_id": pl.Int64,
        "submit_s": pl.Float64,
        "runtime_s": pl.Float64,
        "node_count": pl.Int32,
        "mine": pl.String,
    }


def test_every_schema_row_is_a_column_that_from_polars_takes():
    names = schema()["name"].to_list()
    assert names == list(COLUMNS)
    values = {name: [None] for name in names} | {"job_id": [1], "submit_s": [0], "runtime_s": [1], "node_count": [1]}
    table = hs.Workload.from_polars(pl.DataFrame(values)).to_polars()
    assert table.columns == names
    assert [table[name].dtype for name in names] == [COLUMNS[name].dtype for name in names]


@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize("unit", ["ns", "us", "ms"])
def test_dates_become_seconds_since_1970_and_spans_seconds(zone, unit):
    noon = dt.datetime(1970, 1, 2, 12, 0, 0, 500_000, tzinfo=dt.timezone.utc)
    table = workload(
        submit_s=pl.Series([noon] * 3).dt.replace_time_zone(zone).dt.cast_time_unit(unit),
        runtime_s=[dt.timedelta(minutes=1)] * 3,
        walltime_s=[dt.timedelta(hours=1), None, None],
    ).to_polars()
    assert table["submit_s"][0] == 36 * 3600 + 0.5
    assert table["runtime_s"].to_list() == [60.0] * 3
    assert table["walltime_s"].to_list() == [3600.0, None, None]


def test_numbers_of_users_queues_and_applications_become_text_and_minus_one_null():
    table = workload(user=[3, -1, 12], app=["hpcg", None, "x"], queue=pl.Series([1.0, None, 2.0])).to_polars()
    assert table["user"].to_list() == ["3", None, "12"]
    assert table["app"].to_list() == ["hpcg", None, "x"]
    assert table["queue"].to_list() == ["1", None, "2"]


def test_categories_are_text():
    table = workload(app=pl.Series(["a", "b", "a"], dtype=pl.Categorical)).to_polars()
    assert table["app"].dtype == pl.String


def test_whole_floats_are_whole_numbers():
    assert workload(node_count=[1.0, 2.0, 4.0]).to_polars()["node_count"].dtype == pl.Int32


def test_jobs_are_sorted_by_submit_keeping_the_order_of_equals_and_counted():
    w = workload(submit_s=[50.0, 10.0, 10.0])  # one step back in time
    assert w.to_polars()["job_id"].to_list() == [2, 3, 1]
    assert w.report["out_of_order"] == 1
    assert "1 submitted out of order, sorted" in w.report.line()


def test_no_walltime_is_null_zero_or_below_and_is_counted():
    w = workload(walltime_s=[100.0, 0.0, -1.0])
    assert w.to_polars()["walltime_s"].to_list() == [100.0, None, None]
    assert w.report["no_walltime"] == 2
    assert workload().report["no_walltime"] == 3


def test_a_report_counts_and_says_so_in_a_line():
    w = workload(runtime_s=[0.0, 1.0, 0.0], walltime_s=[5.0] * 3, depends_on=[None, 1, None])
    assert w.report.line() == "3 jobs read from mine; 2 of runtime 0 kept; 1 waiting for another job"
    assert dict(w.report)["kept_zero_runtime"] == 2


FAULTS = [
    (
        {"runtime_s": None},
        "mine, column `runtime_s`: found columns job_id, submit_s, node_count, expected a column `runt",
    ),
    ({"runtime_s": [1.0, -5.0, 1.0]}, "mine, row 1, column `runtime_s`: found `-5`, expected seconds from 0 to 1e+12"),
    ({"runtime_s": [1.0, math.nan, 1.0]}, "mine, row 1, column `runtime_s`: found `NaN`, expected seconds"),
    ({"runtime_s": [1.0, math.inf, 1.0]}, "mine, row 1, column `runtime_s`: found `inf`, expected seconds"),
    ({"runtime_s": [1e13, 1.0, 1e300]}, "mine, row 0, column `runtime_s`: found `1e+13` (and 1 more), expected"),
    ({"submit_s": [0.0, None, 1.0]}, "mine, row 1, column `submit_s`: found nothing, expected seconds from 0"),
    ({"submit_s": [-1.0, 0.0, 1.0]}, "mine, row 0, column `submit_s`: found `-1`, expected seconds from 0"),
    (
        {"submit_s": ["a", "b", "c"]},
        "mine, column `submit_s`: found values of type String such as `a`, expected seconds",
    ),
    ({"runtime_s": ["60", "60", "60"]}, "mine, column `runtime_s`: found values of type String such as `60`, expected"),
    ({"runtime_s": [dt.date(2020, 1, 1)] * 3}, "mine, column `runtime_s`: found values of type Date such as"),
    (
        {"node_count": [1, 0, 1]},
        "mine, row 1, column `node_count`: found `0`, expected a whole number from 1 to 2147483647",
    ),
    ({"node_count": [1.0, 2.5, 1.0]}, "mine, row 1, column `node_count`: found `2.5`, expected a whole number from 1"),
    ({"node_count": [1, 2**40, 1]}, "mine, row 1, column `node_count`: found `1099511627776`, expected a whole number"),
    (
        {"node_count": [True] * 3},
        "mine, column `node_count`: found values of type Boolean such as `True`, expected a whole",
    ),
    (
        {"job_id": [5, 6, 5]},
        "mine, row 2, column `job_id`: found `5`, expected a number of its own; row 0 has it already",
    ),
    ({"job_id": [1, None, 2]}, "mine, row 1, column `job_id`: found nothing, expected a whole number"),
    ({"slots": [1, 0, None]}, "mine, row 1, column `slots`: found `0`, expected a whole number from 1"),
    ({"walltime_s": [1.0, math.nan, None]}, "mine, row 1, column `walltime_s`: found `NaN`, expected seconds"),
    ({"power_w": [1.0, math.inf, None]}, "mine, row 1, column `power_w`: found `inf`, expected watts"),
    ({"device": ["cpu", "tpu", None]}, "mine, row 1, column `device`: found `tpu`, expected `cpu`, `gpu` or nothing"),
    (
        {"app": [1.5, 2.0, 3.0]},
        "mine, column `app`: found values of type Float64 such as `1.5`, expected text or whole",
    ),
    (
        {"runtime_s": None, "runtime_h": [1, 1, 1]},
        "mine, column `runtime_h`: found the unit `h`, expected `runtime_s`, in sec",
    ),
    (
        {"walltime_min": [1, 1, 1]},
        "mine, column `walltime_min`: found the unit `min`, expected `walltime_s`, in seconds",
    ),
    ({"power_kw": [1, 1, 1]}, "mine, column `power_kw`: found the unit `kw`, expected `power_w`, in watts"),
    ({"thing": pl.Series([object()] * 3, dtype=pl.Object)}, "mine, column `thing`: found Python objects, expected"),
]


@pytest.mark.parametrize(("columns", "message"), FAULTS, ids=[message[6:60] for _, message in FAULTS])
def test_what_cannot_be_is_refused_with_its_row_column_and_value(columns, message):
    with pytest.raises(hs.TraceError) as caught:
        workload(**columns)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_a_missing_column_names_the_one_that_was_probably_meant():
    with pytest.raises(hs.TraceError, match="did you mean `node_counts`"):
        workload(node_count=None, node_counts=[1, 1, 1])
    with pytest.raises(hs.TraceError, match="with_row_index"):
        workload(job_id=None)


def test_frames_of_other_libraries_are_refused_with_the_way_out():
    with pytest.raises(hs.ConfigError, match=r"LazyFrame: \.collect"):
        hs.Workload.from_polars(frame().lazy())


def test_a_user_who_changes_the_frame_later_does_not_change_the_workload():
    w = workload()
    taken = w.to_polars()
    taken.insert_column(0, pl.Series("more", [1, 2, 3]))
    assert "more" not in w.to_polars().columns


def test_head_and_between_and_filter_keep_the_right_jobs():
    w = workload()
    assert w.head(2).to_polars()["job_id"].to_list() == [1, 2]
    assert w.between(10, 30).to_polars()["job_id"].to_list() == [2]
    assert w.filter(pl.col("node_count") >= 2).to_polars()["job_id"].to_list() == [2, 3]
    assert w.head(2).history == ("read mine", "head(2)")


def test_scaled_arrivals_are_denser_by_the_factor_and_forget_observed_starts():
    w = workload(submit_s=[100.0, 110.0, 130.0], observed_start_s=[100.0, 120.0, 140.0]).scale_arrivals(2)
    assert w.to_polars()["submit_s"].to_list() == [100.0, 105.0, 115.0]
    assert w.to_polars()["observed_start_s"].null_count() == 3
    assert w.to_polars()["runtime_s"].to_list() == [60.0, 30.0, 90.0]


def test_scaled_arrivals_multiply_the_offered_load():
    w = workload()
    assert w.scale_arrivals(3).offered_load(FourNodes) == pytest.approx(3 * w.offered_load(FourNodes))


def test_scaled_walltimes_leave_those_without_one_alone():
    w = workload(walltime_s=[100.0, None, 60.0]).scale_walltimes(1.5)
    assert w.to_polars()["walltime_s"].to_list() == [150.0, None, 90.0]
    assert workload().scale_walltimes(2).to_polars().equals(workload().to_polars())


def test_shifting_moves_every_instant():
    w = workload(submit_s=[100.0, 110.0, 130.0], observed_start_s=[105.0, None, 140.0]).shift_to_zero()
    assert w.to_polars()["submit_s"].to_list() == [0.0, 10.0, 30.0]
    assert w.to_polars()["observed_start_s"].to_list() == [5.0, None, 40.0]


@pytest.mark.parametrize("k", [0, -1, math.nan, math.inf, "2", True])
def test_a_factor_that_is_none_is_refused(k):
    with pytest.raises(hs.ConfigError, match="k: found"):
        workload().scale_arrivals(k)
    with pytest.raises(hs.ConfigError, match="k: found"):
        workload().scale_walltimes(k)


def test_transforms_of_no_jobs_are_no_jobs():
    none = workload().head(0)
    for changed in (none.shift_to_zero(), none.scale_arrivals(2), none.between(0, 1), none.filter(pl.lit(value=True))):
        assert len(changed) == 0
    assert none.offered_load(FourNodes) == 0.0
    assert set(none.describe()["count"]) == {0}


def test_offered_load_by_hand():
    # 1*60 + 2*30 + 4*90 = 480 node-seconds in 30 s on 4 nodes.
    assert workload().offered_load(FourNodes) == 4.0
    assert workload(submit_s=[5.0] * 3).offered_load(FourNodes) is None


def test_offered_load_of_shared_nodes_counts_slots():
    class Shared(FourNodes):
        exclusive = False

    # Job 1 takes 2 of 8 slots of its node: 60*2 + 2*30*8 + 4*90*8 = 3480 slot-seconds in 30 s on 32 slots.
    assert workload(slots=[2, None, 8]).offered_load(Shared) == pytest.approx(3480 / (30 * 32))


def test_description_by_hand():
    row = workload().describe().filter(pl.col("quantity") == "area_node_s").row(0, named=True)
    # Areas 60, 60, 360: interpolated linearly, 5 % of the way is at rank 0.1, 95 % at rank 1.9.
    assert row["count"] == 3
    assert row["mean"] == 160.0
    assert row["median"] == 60.0
    assert row["p5"] == 60.0
    assert row["p95"] == pytest.approx(60 + 0.9 * 300)
    assert row["max"] == 360.0
    span = workload().describe().filter(pl.col("quantity") == "span_s").row(0, named=True)
    assert (span["count"], span["mean"]) == (1, 30.0)


def test_the_fingerprint_knows_values_types_and_names_but_not_the_source():
    same = hs.Workload.from_polars(frame(), source="elsewhere")
    assert workload().sha256 == same.sha256
    assert workload() == same
    others = [
        workload(runtime_s=[60.0, 30.0, 91.0]),
        workload(mine=[1, 2, 3]),
        workload(mine=[1.0, 2.0, 3.0]),
        workload(mine=[1, None, 3]),
        workload(mine=["1", "2", "3"]),
        workload(mine=["12", "", "3"]),
        workload(mine=[[1, 2], [], [3]]),
        workload(mine=[[1], [2], [3]]),
        workload(mine=[{"a": 1}, {"a": 2}, {"a": None}]),
        workload(mine=[dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc)] * 3),
        workload().head(2),
    ]
    assert len({workload().sha256, *(w.sha256 for w in others)}) == len(others) + 1


def test_the_fingerprint_does_not_know_chunks():
    whole = frame(app=["a", None, "c"])
    chunked = pl.concat([whole[:1], whole[1:]], rechunk=False)
    assert hs.Workload.from_polars(whole).sha256 == hs.Workload.from_polars(chunked).sha256


@given(st.lists(st.sampled_from(["a", "b", "zz", None]), min_size=1, max_size=20))
def test_application_codes_point_at_their_names(apps):
    jobs = pl.DataFrame(
        {
            "job_id": range(len(apps)),
            "submit_s": 0,
            "runtime_s": 1,
            "node_count": 1,
            "app": pl.Series(apps, dtype=pl.String),
        }
    )
    codes, names = hs.Workload.from_polars(jobs)._app_codes(None)
    assert [None if code < 0 else names[code] for code in codes] == apps


@given(st.lists(st.integers(0, 50), min_size=1, max_size=30))
def test_sorting_is_stable_and_loses_no_job(submits):
    jobs = pl.DataFrame({"job_id": range(len(submits)), "submit_s": submits, "runtime_s": 1, "node_count": 1})
    ids = hs.Workload.from_polars(jobs).to_polars()["job_id"].to_list()
    assert ids == sorted(range(len(submits)), key=lambda job: submits[job])


def test_a_submit_between_two_microseconds_never_waits_less_than_nothing():
    jobs = pl.DataFrame({"job_id": [1], "submit_s": [1.0000004], "runtime_s": [5.0], "node_count": [1]})
    workload = hs.Workload.from_polars(jobs)
    assert workload.to_polars()["submit_s"].to_list() == [1.0]
    result = hs.simulate(workload, hs.Platform.homogeneous(nodes=1, idle_w=100, tdp_w=200))
    assert result.jobs["wait_s"].to_list() == [0.0]


def test_a_clock_beyond_microsecond_precision_is_reported(tmp_path):
    jobs = pl.DataFrame({"job_id": [1, 2], "submit_s": [5.0, 1e11], "runtime_s": [2e-6, 4e-6], "node_count": [1, 1]})
    said = "1 submitted beyond 8.5e9 s, where times are exact to 2 us or worse (Workload.shift_to_zero)"
    workload = hs.Workload.from_polars(jobs)
    assert workload.report["coarse_clock"] == 1
    assert said in workload.report.line()
    assert said in hs.read_csv(jobs.write_csv().encode()).report.line()
    (tmp_path / "late.swf").write_text("1 100000000000 0 60 1 -1 -1 1 -1 -1 1 1 1 1 1 -1 -1 -1\n")
    assert said in hs.read_swf(tmp_path / "late.swf").report.line()
    # A clock that counts from 1970 is fine, and so is the last whole second before.
    now = hs.Workload.from_polars(jobs.with_columns(submit_s=pl.Series([1.7e9, 2.0**33 - 1])))
    assert "coarse_clock" not in now.report
    result = hs.simulate(now, hs.Platform.homogeneous(nodes=1, idle_w=100, tdp_w=200))
    assert [round(s * 1e6) for s in result.jobs["runtime_s"]] == [2, 4]


def test_spans_and_dates_are_seconds_or_nothing():
    spans = pl.Series(["01:00:00", "1-02:03:04", "0:00:00.5", "12:30", "90"])
    assert span_seconds(spans).to_list() == [3600.0, 93784.0, 0.5, None, None]
    dates = pl.Series(["1970-01-02", "1970-01-01T02:00:00+01:00", "1970-01-01 00:01", "02/01/1970"])
    assert date_seconds(dates).to_list() == [86400.0, 3600.0, 60.0, None]


def test_node_numbers_are_lists_and_ranges():
    assert [node_numbers(text) for text in ("0-2, 7", "3 5 8", "n[1-2]")] == [[0, 1, 2, 7], [3, 5, 8], None]
    lists, bad = node_lists(pl.Series([[0, 1], [-1], None]))
    assert (lists.to_list(), bad.to_list()) == ([[0, 1], None, None], [False, True, False])
    jobs = pl.Series([[0, 1], [0, 0], [0], None])
    assert other_nodes(jobs, pl.Series([2, 2, 2, 2])).to_list() == [False, True, True, False]
    assert nodes_text(pl.Series([[3, None], None])).to_list() == ["3 null", None]
    offsets, flat = node_offsets(pl.Series([[4, 5], None, [6]]))
    assert (offsets.tolist(), flat.tolist()) == ([0, 2, 2, 3], [4, 5, 6])
