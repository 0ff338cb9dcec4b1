"""The preset `hetsched` on real logs and measured variation, where these lie next to the repository.

What the whole logs say stands in docs/background/hetsched-preset.md; here are the first 4,000 jobs of each. Bounds are
far from what was seen: they find a preset that broke.
"""

import sys
from pathlib import Path

import polars as pl
import pytest

import hetsched as hs
from hetsched.testing import check_schedule

BENCHES = Path(__file__).parents[2] / "benches" / "python"
SHARED = Path(__file__).parents[2].parent / "shared" / "data"

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")
needs_logs = pytest.mark.skipif(
    not (SHARED / "swf").is_dir() or not (SHARED / "gpu-variability-longhorn").is_dir(),
    reason="logs and measurements are not part of the repository",
)


@pytest.fixture(scope="module")
def bench():
    sys.path.insert(0, str(BENCHES))
    try:
        import real_logs  # noqa: PLC0415 - found only now

        yield real_logs
    finally:
        sys.path.remove(str(BENCHES))


@needs_logs
def test_longhorns_gpus_are_those_that_ran_both(bench):
    # 120 ran resnet and bert (test_real_variation.py); all that ran pagerank by UUID, at most 172, ran sgemm or not.
    training, kernels = bench.longhorn(SHARED, "resnet", "bert"), bench.longhorn(SHARED, "sgemm", "pagerank")
    assert training.nodes == 120
    assert 0 < kernels.nodes <= 172
    assert set(kernels.apps) == {"sgemm", "pagerank"}


@needs_logs
@pytest.mark.parametrize("log", ["ricc", "theta"])
def test_on_a_log_with_waits_it_saves_and_is_sooner(bench, log):
    for case in bench.cases(SHARED, only=log, quick=True):
        found = bench.compared(case, seed=0)
        ours, best = found["hetsched"], max(found[rival]["placement"] for rival in ("vahrm", "cgva-fcfs-b"))
        assert ours["placement"] > 0.8 * best > 0
        assert ours["turnaround"] < found["vahrm"]["turnaround"]
        assert ours["longest"] < found["vahrm"]["longest"]


def test_the_log_of_the_demo_falls_into_four_classes_by_measured_draw(bench):
    case = bench.kestrel(quick=False)
    jobs, platform = case.draw(0)
    frame = jobs.to_polars()
    ranges = (
        frame.filter(pl.col("power_w") > 0).group_by("app").agg(pl.len(), low=pl.min("power_w"), high=pl.max("power_w"))
    )
    ranges = ranges.sort("low")
    assert ranges["app"].to_list() == [f"class-{place}" for place in range(4)]
    assert (ranges["low"].shift(-1) > ranges["high"]).drop_nulls().all()
    assert ranges["len"].min() > 0.2 * len(frame)
    assert platform.actual.power_ratio.shape == (4, 1024)


def test_the_demos_jobs_keep_the_laws_under_it(bench):
    jobs, platform = bench.kestrel(quick=True).draw(0)
    part = jobs.head(800)
    check_schedule(hs.simulate(part, platform, "hetsched"), part, platform)


def test_a_folder_without_logs_is_said_to_be_one(bench, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "argv", ["real_logs.py", str(tmp_path)])
    with pytest.raises(SystemExit, match="no folder swf or gpu-variability-longhorn, where the logs"):
        bench.main()
