"""Jobs of the same application: by hand, against a plain loop, on real logs; and flags of first runs."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hetsched as hs
from hetsched.workload import first_run_ratio, flag_first_runs, same_application

SWF = Path(__file__).parents[2].parent / "shared" / "data" / "swf"
needs_swf = pytest.mark.skipif(not SWF.is_dir(), reason="the logs are not part of the repository")


def log(runtime_s, **columns):
    count = len(runtime_s)
    jobs = {"job_id": range(count), "submit_s": range(count), "runtime_s": runtime_s, "node_count": [1] * count}
    return hs.Workload.from_polars(pl.DataFrame({**jobs, **columns}, strict=False))


def apps(workload, **options):
    return [name.removeprefix("same-") for name in same_application(workload, **options).to_polars()["app"]]


def plainly(frame, tolerance=0.10):
    """Each job's application by number: one job after the other, one reference after the other."""
    references, found = [], []
    for job in frame.iter_rows(named=True):
        key = (job.get("user"), job.get("queue"), job["node_count"])
        fits = [
            number
            for number, (other, runtime_s) in enumerate(references)
            if key == other and abs(job["runtime_s"] - runtime_s) <= tolerance * runtime_s * (1 + 1e-9)
        ]
        if not fits:
            fits = [len(references)]
            references.append((key, job["runtime_s"]))
        found.append(str(fits[0] + 1))
    return found


def test_run_lengths_within_a_tenth_of_the_reference_belong_to_it():
    # 90 and 110 are 10 % from 100, 89 and 111 more; 121 is 11 % from 111 but 10 % of 111 is 11.1, so it belongs there.
    assert apps(log([100, 90, 110, 89, 111, 121])) == ["1", "1", "1", "2", "3", "3"]


def test_chains_do_not_carry_on_from_job_to_job():
    # Each is within 10 % of the one before; but the reference of the first three is 100, and of the others 115.
    assert apps(log([100, 105, 110, 115, 120, 126])) == ["1", "1", "1", "2", "2", "2"]


def test_the_earliest_reference_in_reach_wins():
    # 110 is within 10 % of 100 and of 121, and nearer to 121 by ratio.
    assert apps(log([100, 121, 110])) == ["1", "2", "1"]
    assert apps(log([121, 100, 110])) == ["1", "2", "1"]


def test_user_queue_and_size_keep_jobs_apart():
    workload = log(
        [100] * 6,
        user=["ann", "bob", "ann", "ann", None, None],
        queue=["q", "q", "r", "q", "q", "q"],
        node_count=[1, 1, 1, 2, 1, 1],
    )
    assert apps(workload) == ["1", "2", "3", "4", "5", "5"]


def test_runs_of_length_zero_are_alike():
    assert apps(log([0, 0, 1e-6, 0])) == ["1", "1", "2", "1"]


def test_the_tolerance_is_a_parameter():
    assert apps(log([100, 104, 106]), tolerance_ratio=0.05) == ["1", "1", "2"]
    assert apps(log([100, 100, 100.000001]), tolerance_ratio=0.0) == ["1", "1", "2"]


def test_what_the_log_names_is_kept_or_replaced():
    workload = log([100, 100, 100], app=["hpl", None, None])
    assert same_application(workload).to_polars()["app"].to_list() == ["hpl", "same-1", "same-1"]
    assert apps(workload, named="replace") == ["1", "1", "1"]
    named = log([100], app=["hpl"])
    assert same_application(named).to_polars().equals(named.to_polars())
    with pytest.raises(hs.ConfigError) as caught:
        same_application(log([1, 1], app=["same-1", None]))
    assert str(caught.value) == (
        "app: found `same-1`, expected names that do not begin with `same-`; or named='replace'"
    )


def test_a_new_workload_comes_back_and_the_given_one_stays():
    workload = log([100, 200], user=["a", "b"])
    named = same_application(workload)
    assert "app" not in workload.to_polars().columns
    assert named.to_polars().drop("app").equals(workload.to_polars())
    assert named.history[-1] == "same_application(0.1)"
    assert len(same_application(workload.head(0))) == 0


jobs_of = st.lists(
    st.tuples(st.integers(80, 140) | st.integers(0, 100_000), st.sampled_from(["a", "b", None]), st.integers(1, 2)),
    min_size=1,
    max_size=40,
)


@given(jobs=jobs_of, tolerance=st.sampled_from([0.0, 0.1, 0.5]))
def test_it_agrees_with_the_plain_loop(jobs, tolerance):
    runtime_s, user, nodes = zip(*jobs, strict=True)
    workload = log(list(runtime_s), user=pl.Series(user, dtype=pl.String), node_count=list(nodes))
    assert apps(workload, tolerance_ratio=tolerance) == plainly(workload.to_polars(), tolerance)


@pytest.mark.parametrize(
    ("make", "lines"),
    [
        (
            lambda: same_application(log([1]), tolerance_ratio=-0.1, named="kept"),
            [
                "tolerance_ratio: found `-0.1`, expected a number between 0 and 1",
                "named: found `kept`, expected one of keep, replace; did you mean `keep`?",
            ],
        ),
        (
            lambda: first_run_ratio(log([1, 2], app=["a", None])),
            [
                "app: found 1 of 2 jobs without one, expected an application for every job; same_application gives it",
            ],
        ),
        (
            lambda: first_run_ratio(log([1, 2])),
            [
                "app: found 2 of 2 jobs without one, expected an application for every job; same_application gives it",
            ],
        ),
        (
            lambda: flag_first_runs(log([1]), 1.5, seed=1.0),
            [
                "ratio: found `1.5`, expected a number between 0 and 1",
                "seed: found `1.0`, expected a whole number between 0 and 18446744073709551615",
            ],
        ),
    ],
)
def test_faults_are_reported_at_once_with_value_and_range(make, lines):
    with pytest.raises(hs.ConfigError) as caught:
        make()
    assert str(caught.value).splitlines() == lines


def test_first_runs_are_applications_over_jobs():
    # 100, 111 and 130 are references; 110 and 122.1 belong to the first two.
    assert first_run_ratio(same_application(log([100, 110, 111, 122.1, 130]))) == 3 / 5
    assert first_run_ratio(log([1, 2], app=["a", "a"])) == 0.5
    assert first_run_ratio(same_application(log([1]).head(0))) == 0.0


def test_flags_are_drawn_job_by_job_and_nested():
    count = 20_000
    workload = log([60] * count)
    ratios = (0.0, 0.09, 0.3, 0.7, 1.0)
    flags = [flag_first_runs(workload, ratio, seed=3).to_polars()["first_run"].to_numpy() for ratio in ratios]
    assert all(flag.dtype == bool for flag in flags)
    for ratio, flag, more in zip(ratios, flags, [*flags[1:], flags[-1]], strict=True):
        assert flag.mean() == pytest.approx(ratio, abs=4 * np.sqrt(ratio * (1 - ratio) / count))
        assert not (flag & ~more).any()
    other = flag_first_runs(workload, 0.3, seed=4).to_polars()["first_run"].to_numpy()
    assert not np.array_equal(other, flags[2])


@needs_swf
@pytest.mark.parametrize("name", ["KTH-SP2-1996-2.1-cln.swf.gz", "SDSC-SP2-1998-4.2-cln.swf.gz", "RICC-2010-2.swf.gz"])
def test_jobs_of_a_real_log_are_near_their_references(name):
    frame = same_application(hs.read_swf(SWF / name), named="replace").to_polars()
    keys = ["user", "queue", "node_count"]
    first = pl.col("runtime_s").first().over("app")
    assert frame.select(((pl.col("runtime_s") - first).abs() <= 0.1 * first * (1 + 1e-6)).all()).item()
    assert (frame.group_by("app").agg(pl.struct(keys).n_unique().alias("n"))["n"] == 1).all()
    references = frame.unique("app", keep="first", maintain_order=True).sort("runtime_s")
    gap = (pl.col("runtime_s").diff() / pl.col("runtime_s").shift(1)).over(keys)
    # Upwards from the earlier of two by more than a tenth of it, or downwards by more than a tenth of the upper one.
    assert references.select(gap.fill_nan(None).min()).item() > 0.1 - 1e-6


@needs_swf
def test_in_a_real_log_it_agrees_with_the_plain_loop():
    workload = hs.read_swf(SWF / "KTH-SP2-1996-2.1-cln.swf.gz").head(6000)
    assert apps(workload, named="replace") == plainly(workload.to_polars())
