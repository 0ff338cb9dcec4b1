"""Jobs and a machine that are swept in no time, and the lines of a sweep's journal."""

import json

import numpy as np
import polars as pl

import hetsched as hs
from hetsched.many.store import FILE


def log(*, app=None, jobs=6, node_count=1, source="may.swf"):
    """Jobs of ten seconds, one a minute."""
    frame = {
        "job_id": np.arange(jobs),
        "submit_s": np.arange(jobs) * 60,
        "runtime_s": [10] * jobs,
        "node_count": [node_count] * jobs,
        **({} if app is None else {"app": [app] * jobs}),
    }
    return hs.Workload.from_polars(pl.DataFrame(frame), source=source)


def machine(nodes=4, **tables):
    platform = hs.Platform.homogeneous(nodes=nodes, idle_w=100, tdp_w=300)
    return platform.with_tables(**tables) if tables else platform


def lines(folder):
    return [json.loads(line) for line in (folder / FILE).read_text().splitlines()]
