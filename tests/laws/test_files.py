"""Laws of files: what is written and read again is the same, and a log is known by its content as by its name."""

import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import hetsched as hs
from hetsched.testing import workloads

ANY_WORKLOAD = st.sampled_from([False, True]).flatmap(lambda observed: workloads(max_slots=2, observed=observed))
NAMES = st.text("ab1,\" '-é", min_size=1, max_size=4).map(str.strip).filter(bool)


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".swf", ".swf.gz"])
@given(workload=ANY_WORKLOAD)
def test_a_log_is_read_as_it_was_written_and_known_without_its_name(suffix, workload):
    is_swf = suffix.startswith(".swf")
    assume(len(workload) or not is_swf)  # which has no log without jobs
    with tempfile.TemporaryDirectory() as folder:
        path, unnamed = Path(folder, f"jobs{suffix}"), Path(folder, "jobs")
        workload.write(path)
        unnamed.write_bytes(path.read_bytes())
        read = hs.read_jobs(path)
        assert hs.read_jobs(unnamed) == hs.read_jobs(path.read_bytes()) == read
        path.unlink()
        read.write(path)
        assert is_swf or path.read_bytes() == unnamed.read_bytes()
    if not is_swf:
        known = [name for name in workload.columns if not workload.to_polars()[name].is_null().all()]
        assert read.to_polars().select(known).equals(workload.to_polars().select(known))


@given(apps=st.lists(NAMES, min_size=1, max_size=3, unique=True), data=st.data())
def test_a_table_is_read_as_it_was_written(apps, data):
    nodes = data.draw(st.integers(1, 3))

    def matrix(low, high):
        values = st.lists(st.floats(low, high), min_size=nodes, max_size=nodes)
        return data.draw(st.lists(values, min_size=len(apps), max_size=len(apps)))

    given_as = data.draw(st.sampled_from(["power_w", "power_ratio"]))
    times = matrix(0.1, 10.0) if data.draw(st.booleans()) else None
    cap_w = data.draw(st.none() | st.floats(1.0, 1e6) | st.just(float("inf")))
    table = hs.VariationTable(apps, **{given_as: matrix(0.5, 9.0)}, time_ratio=times, cap_w=cap_w)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("table.parquet", "table.csv"):
            table.write(Path(folder, name))
            assert hs.read_table(Path(folder, name)) == table


TIMES = st.integers(0, 10**9).map(lambda micros: micros / 1e3)


@st.composite
def events(draw):
    """Budgets, prices, failures and cancellations at any instants."""
    rows = draw(
        st.lists(
            st.fixed_dictionaries({"time_s": TIMES, "kind": st.just("budget"), "value": st.floats(1.0, 1e6)})
            | st.fixed_dictionaries({"time_s": TIMES, "kind": st.just("price"), "value": st.floats(0.0, 1e3)})
            | st.fixed_dictionaries({"time_s": TIMES, "kind": st.just("node_failed"), "node": st.integers(0, 9)})
            | st.fixed_dictionaries({"time_s": TIMES, "kind": st.just("cancel"), "job_id": st.integers(-9, 9)}),
            min_size=1,
            max_size=6,
            unique_by=lambda row: (row["time_s"], row["kind"]),
        )
    )
    schema = {"time_s": pl.Float64, "kind": pl.String, "value": pl.Float64, "node": pl.Int64, "job_id": pl.Int64}
    return hs.Events.from_polars(pl.DataFrame(rows, schema=schema))


@given(given_events=events())
def test_events_are_read_as_they_were_written(given_events):
    with tempfile.TemporaryDirectory() as folder:
        for name in ("events.parquet", "events.csv"):
            given_events.write(Path(folder, name))
            assert hs.read_events(Path(folder, name)) == given_events
