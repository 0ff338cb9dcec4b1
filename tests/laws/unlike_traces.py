"""Real logs of machines whose nodes differ, as workloads and platforms."""

from __future__ import annotations

import gzip
from datetime import datetime, timezone
from functools import cache
from pathlib import Path

import polars as pl

import hetsched as hs

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"

CURIE_CORES = {"thin": 16, "fat": 32, "hybrid": 8}
CURIE_PARTITIONS = {10: "thin", 4: "fat", 8: "hybrid"}


@cache
def curie(jobs: int | None = None) -> tuple[hs.Workload, hs.Platform]:
    """CEA Curie, like Blue Waters a machine of CPU nodes and GPU nodes: a job's partition is its constraint.

    5,040 thin nodes, 360 fat ones and 144 hybrid ones with two GPUs each, by the log's header; whole nodes.
    """
    path = SHARED / "swf" / "CEA-Curie-2011-2.1-cln.swf.gz"
    with gzip.open(path, "rt") as lines:
        fields = [line.split() for line in lines if line[:1] not in (";", "\n")]
    partition = pl.DataFrame({"job_id": [int(row[0]) for row in fields], "partition": [int(row[15]) for row in fields]})
    frame = hs.read_swf(path).to_polars().drop("depends_on", "observed_start_s", "trace_status")
    frame = frame.join(partition, on="job_id", how="left", maintain_order="left")
    kind = pl.col("partition").replace_strict(CURIE_PARTITIONS, default=None, return_dtype=pl.String)
    cores = kind.replace_strict(CURIE_CORES, default=16, return_dtype=pl.Int64)
    frame = frame.with_columns(constraint=kind, node_count=((pl.col("node_count") + cores - 1) // cores))
    if jobs is not None:
        frame = frame.head(jobs)
    classes = [
        hs.NodeClass("thin", 5040, idle_w=150, tdp_w=350, features=["thin"], gpus=0),
        hs.NodeClass("fat", 360, idle_w=300, tdp_w=900, features=["fat"], gpus=0),
        hs.NodeClass("hybrid", 144, idle_w=200, tdp_w=700, features=["hybrid"], gpus=2),
    ]
    return hs.Workload.from_polars(frame.drop("partition"), source="Curie"), hs.Platform(classes)


def eurora() -> tuple[hs.Workload, hs.Platform]:
    """CINECA Eurora, three days of 2014: 64 nodes of 16 cores and 32 GB, half with two GPUs, half with two MICs.

    Jobs share nodes. Accelerators are counted as GPUs; which kind, the constraint says.
    """
    rows = []
    with gzip.open(SHARED / "eurora-power-cap" / "eurora_jobs.txt.gz", "rt") as lines:
        for line in lines:
            asked, rest = line.strip().split("__", 1)
            job_id, _, _, _, submit = asked.split(";")
            nodes, ran = rest.rsplit("__", 1)
            each = [[int(number) for number in node.split(";")] for node in nodes.split("#") if node]
            _, cores, gpus, mics, kib = (max(column) for column in zip(*each, strict=True))
            start, end, *_, walltime, _, _, _, _ = ran.split(";")
            hours, minutes = walltime.split(":")
            rows.append(
                {
                    "job_id": int(job_id),
                    "submit_s": _seconds(submit),
                    "runtime_s": _seconds(end) - _seconds(start),
                    "node_count": len(each),
                    "walltime_s": 3600.0 * int(hours) + 60.0 * int(minutes),
                    "slots": cores,
                    "constraint": "gpu" if gpus else "mic" if mics else None,
                    "gpus": gpus or mics,
                    "memory_gb": kib / 2**20,
                }
            )
    alike = {"count": 32, "idle_w": 100, "slots": 16, "gpus": 2, "memory_gb": 32}
    classes = [
        {**alike, "name": "mic", "tdp_w": 600, "features": ["mic"]},
        {**alike, "name": "gpu", "tdp_w": 600, "features": ["gpu"]},
    ]
    return hs.Workload.from_polars(pl.DataFrame(rows), source="Eurora"), hs.Platform(classes, exclusive=False)


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp()


def theta_gpu(jobs: int | None = None) -> tuple[hs.Workload, hs.Platform]:
    """ThetaGPU's 24 nodes of eight GPUs under Helios' last 15,000 jobs, which ask for GPUs and cores of each node.

    Helios had more nodes: its jobs come at a fifth of their density.
    """
    log = hs.read_csv(SHARED / "gpu-jobs-helios-15k" / "helios_data_training.csv.gz", columns="helios").to_polars()
    frame = log.select("job_id", "submit_s", "runtime_s", "node_count", pl.col("slots").clip(1, 128), "gpus")
    workload = hs.Workload.from_polars(frame if jobs is None else frame.head(jobs), source="Helios")
    platform = hs.Platform.homogeneous(24, idle_w=1500, tdp_w=6500, slots=128, gpus=8, exclusive=False)
    return workload.shift_to_zero().scale_arrivals(0.2), platform
