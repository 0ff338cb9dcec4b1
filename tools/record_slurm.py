"""Record a running throwaway Slurm: jobs submitted at their times, and the beats of its loops read out of its log.

    python tools/record_slurm.py submit CLUSTER jobs.csv          # real time; returns once every job has ended
    python tools/record_slurm.py read CLUSTER jobs.csv FOLDER     # after that, or after the cluster has been stopped

The second writes FOLDER/recording.json, FOLDER/slurm.conf (what of it has to do with scheduling) and FOLDER/jobs.csv.

CLUSTER is the folder that holds the cluster's slurm.conf and log/slurmctld.log. The log shows the beats with

    SlurmctldDebug=debug3
    DebugFlags=Backfill,BackfillMap,Power,Priority

jobs.csv has the columns submit_s, nodes, run_s, limit_min, partition, licences, tasks; the last three may be empty.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import time
from pathlib import Path

import slurm_log


def jobs_of(path: Path) -> list[dict[str, str]]:
    """Rows of the table of jobs, in order of submission."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def command_of(job: dict[str, str]) -> list[str]:
    """Call of sbatch for a job that sleeps."""
    asked = {"-p": job.get("partition"), "-L": job.get("licences"), "-n": job.get("tasks")}
    extra = [word for option, value in asked.items() if value for word in (option, value)]
    sizes = ["-N", job["nodes"], "-t", job["limit_min"]]
    return ["sbatch", "--parsable", "--exclusive", "-o", "/dev/null", *sizes, *extra, "--wrap", f"sleep {job['run_s']}"]


def submit(cluster: Path, jobs: list[dict[str, str]]) -> None:
    """Each job at its time, and a wait for the last end."""
    environment = {**os.environ, "SLURM_CONF": str(cluster / "slurm.conf")}
    began = time.monotonic()
    for number, job in enumerate(jobs, 1):
        time.sleep(max(0.0, began + float(job["submit_s"]) - time.monotonic()))
        done = subprocess.run(command_of(job), check=True, capture_output=True, text=True, env=environment)
        if int(done.stdout.split(";")[0]) != number:
            raise SystemExit(f"job {number} became {done.stdout.strip()}: start the cluster with no jobs in it")
    while subprocess.run(["squeue", "-h"], check=True, capture_output=True, text=True, env=environment).stdout.strip():
        time.sleep(2)


def read(cluster: Path, jobs: Path, out: Path) -> None:
    """Recording of a cluster, as files in a folder."""
    recording = slurm_log.recording(cluster, jobs_of(jobs))
    out.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(f"{json.dumps(name)}: {in_lines(value)}" for name, value in recording.items())
    (out / "recording.json").write_text("{" + lines + "}\n")
    (out / "slurm.conf").write_text(slurm_log.conf((cluster / "slurm.conf").read_text()))
    (out / "jobs.csv").write_text(jobs.read_text())


def in_lines(value: object) -> str:
    """Text of a value, one job or one row of beats a line."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(json.dumps(one) for one in value) + "]"
    if isinstance(value, dict):
        return "{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(one)}" for name, one in value.items()) + "}"
    return json.dumps(value)


def main() -> None:
    """Submit, or read."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("verb", choices=("submit", "read"))
    parser.add_argument("cluster", type=Path)
    parser.add_argument("jobs", type=Path)
    parser.add_argument("out", type=Path, nargs="?")
    given = parser.parse_args()
    jobs = jobs_of(given.jobs)
    if given.verb == "submit":
        submit(given.cluster, jobs)
        return
    if given.out is None:
        parser.error("read needs a folder to write to")
    read(given.cluster, given.jobs, given.out)


if __name__ == "__main__":
    main()
