"""Real logs, where they lie near the repository: every one is read to the end, and its schedules keep the laws."""

from pathlib import Path

import polars as pl
import pytest

import hetsched as hs
from hetsched.testing import check_schedule

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
SWF = SHARED / "swf"
KESTREL = SHARED / "kestrel-job-power" / "kestrel_jobs_2024-08-30_to_09-09.parquet"

# Jobs in the log and jobs without any size, run time or submit, both counted with awk; processors of the machine, from
# the header or, where there is none, the archive's description (lublin_256 and RICC) or the largest load (METACENTRUM).
LOGS = {
    "CEA-Curie-2011-2.1-cln.swf.gz": (312_826, 19, 93_312),
    "CTC-SP2-1996-3.1-cln.swf.gz": (77_222, 0, 338),
    "KTH-SP2-1996-2.1-cln.swf.gz": (28_476, 1, 100),
    "LLNL-Thunder-2007-1.1-cln.swf.gz": (121_039, 2_248, 4_008),
    "METACENTRUM-2009-2.swf.gz": (103_656, 0, 806),
    "NASA-iPSC-1993-3-excerpt.swf": (228, 0, 128),
    "OSC-Clust-2000-3.1-cln.swf.gz": (36_097, 0, 178),
    "RICC-2010-2.swf.gz": (447_794, 0, 8_192),
    "SDSC-SP2-1998-4.2-cln.swf.gz": (59_715, 5_671, 128),
    "Theta-2023-feb-dec.swf.gz": (26_671, 0, 4_360),
    "lublin_256.swf.gz": (10_000, 0, 256),
}

needs_swf = pytest.mark.skipif(not SWF.is_dir(), reason="the logs are not part of the repository")
needs_kestrel = pytest.mark.skipif(not KESTREL.exists(), reason="the log is not part of the repository")
pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")


@needs_swf
@pytest.mark.parametrize("name", LOGS)
def test_a_log_is_read_whole_and_its_schedule_keeps_the_laws(name):
    jobs, dropped, procs = LOGS[name]
    workload = hs.read_swf(SWF / name)
    report = workload.report
    assert len(workload) == jobs - dropped
    assert report["dropped_no_size"] + report["dropped_no_submit"] + report["dropped_no_runtime"] == dropped
    if (said := report["header"]["max_procs"]) is not None:
        assert said == procs
    # The check works every node's day out again: a few hundred jobs on a few hundred processors are enough for it.
    nodes = min(procs, 256)
    part = workload.filter(pl.col("node_count") <= nodes).head(600)
    platform = hs.Platform.homogeneous(nodes=nodes, idle_w=100, tdp_w=400)
    for policy in ("fcfs", "easy", "conservative"):
        check_schedule(hs.simulate(part, platform, policy), part, platform)


@needs_kestrel
def test_measured_draws_are_charged_as_measured():
    log = hs.read_jobs(KESTREL, columns="kestrel")
    workload = log.filter(pl.int_range(pl.len()) % 40 == 0)
    platform = hs.Platform.homogeneous(nodes=2_304, idle_w=250, tdp_w=785)
    result = hs.simulate(workload, platform, "easy")
    check_schedule(result, workload, platform)
    known = result.jobs.filter(pl.col("power_w") > 0)
    charged = known["energy_j"] / (known["power_w"] * known["nominal_runtime_s"] * known["node_count"])
    assert len(known) > 1_500
    assert (charged.drop_nans() - 1).abs().max() < 1e-9
