"""A workload of Batsim's to read: jobs of some delays and composed profiles."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

PROFILES = 5000


def workload(jobs: int, folder: Path) -> Path:
    """A workload of so many jobs, made once."""
    path = folder / f"batsim-{jobs}.json"
    if path.exists():
        return path
    folder.mkdir(exist_ok=True)
    random = np.random.default_rng(1)
    part, at = path.with_suffix(".part"), 0
    profiles = {f"d{number}": {"type": "delay", "delay": 60 + number} for number in range(PROFILES)}
    profiles |= {f"c{number}": {"type": "composed", "repeat": 2, "seq": ["d1", f"d{number}"]} for number in range(100)}
    names = list(profiles)
    with part.open("w") as file:
        file.write('{"nb_res": 5000, "jobs": [')
        for job in range(jobs):
            at += int(random.integers(0, 20))
            nodes, name = int(random.choice([1, 1, 1, 2, 4, 8])), names[int(random.integers(len(names)))]
            end = "" if job == 0 else ",\n"
            file.write(
                f'{end}{{"id": "w0!{job}", "subtime": {at}.5, "res": {nodes}, "walltime": {7200 + job % 3600}, '
                f'"profile": "{name}", "user": "user{job % 301}"}}'
            )
        file.write(f'], "profiles": {json.dumps(profiles)}}}')
    part.rename(path)
    return path
