"""A user's script, which type checkers read without complaint, and of whose values they know the types."""

import numpy as np
import numpy.typing as npt
import polars as pl
from typing_extensions import assert_type

import hetsched as hs
from hetsched.roles import Job, View


class Lowest:
    """A placement of a user's own."""

    def choose(self, job: Job, free: npt.NDArray[np.int64], view: View) -> npt.NDArray[np.int64] | None:
        return free[: job.node_count]


jobs = pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 60], "runtime_s": [600, 300], "node_count": [1, 2]})
workload = hs.Workload.from_polars(jobs)
platform = hs.Platform.homogeneous(nodes=4, idle_w=100, tdp_w=350)
policy = hs.Policy.preset("easy", depth=4)
own = hs.Policy("fcfs", "reservations", Lowest())
result = hs.simulate(workload, platform, policy, seed=1, kill_grace_s=60, walltimes="stretch")
comparison = hs.compare(workload, platform, ["fcfs", policy], seeds=2, bound=True)
frame = hs.sweep({"a": workload}, {"m": platform}, ["fcfs"], seeds=2, progress=None)

assert_type(workload, hs.Workload)
assert_type(own, hs.Policy)
assert_type(result, hs.Result)
assert_type(result.jobs, pl.DataFrame)
assert_type(comparison, hs.Comparison)
assert_type(frame, pl.DataFrame)
assert_type(hs.__version__, str)
assert_type(hs.analysis.METRICS["energy_j"].title, str)
