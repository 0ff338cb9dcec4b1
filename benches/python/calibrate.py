"""Settings found in the first halves of real logs, and what they are worth on the second (`hetsched.calibrate`).

    python benches/python/calibrate.py FOLDER [--only NAME ...] [--evaluations N] [--out DIR] [--workers N]

FOLDER holds logs of the Parallel Workloads Archive as ``.swf`` or ``.swf.gz``; those without observed starts are left
out, and the smallest come first. Each is run on as many equal nodes as its header gives processors, RICC on 8,192 and
METACENTRUM on 806, which have no header. With ``--out`` each log has a journal there, and is not calibrated again.

A row a log is printed as a line of a table in Markdown, with log errors of both halves and skills of the second.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import hetsched as hs

SIZES = {"RICC": 8192, "METACENTRUM": 806}
COLUMNS = (
    *("log", "jobs", "found", "evaluations", "first half: EASY", "calibrated", "second half: at once", "median"),
    *("EASY", "calibrated", "change", "skill over at once: EASY", "calibrated", "skill over the best", "mean wait"),
    *("CPU s", "notes"),
)


def calibrated(path: Path, out: Path | None, evaluations: int, workers: int) -> list[str] | None:
    """Cells of a log's row; None if it has no observed starts."""
    log = hs.read_swf(path)
    jobs = log.to_polars()
    if jobs["observed_start_s"].null_count() == len(jobs):
        return None
    size = next((nodes for name, nodes in SIZES.items() if path.name.startswith(name)), None)
    platform = None if size is None else hs.Platform.homogeneous(size, idle_w=100, tdp_w=400)
    folder = None if out is None else out / path.name.split(".swf")[0]
    begun = time.process_time()
    found = hs.calibrate(log, platform, evaluations=evaluations, workers=workers, out=folder)
    took_s = time.process_time() - begun
    if folder is not None:
        (folder / "calibration.json").write_text(json.dumps(found.to_dict(), indent=2) + "\n")
    base = f"{found.policy_name}, as it is"
    half = "" if found.change_half is None else f" ± {found.change_half:.2f}"
    settings = "; ".join(f"{name} {label}" for name, label in found.settings.items()) or "as it is"

    def number(rival: str, name: str = "log_error", half: str = "second") -> str:
        value = found.score(rival, name, half=half)
        return "–" if value is None else f"{value:.3f}"

    return [
        path.name.split("-")[0] if not path.name.startswith(("SDSC", "LLNL")) else "-".join(path.name.split("-")[:2]),
        f"{len(log):,}",
        settings,
        f"{len(found.trials)} ({found.refused} refused)",
        number(base, half="first"),
        number("calibrated", half="first"),
        number("every job at once"),
        number("median wait of the week before"),
        number(base),
        number("calibrated"),
        f"{found.change:+.2f}{half}",
        number(base, "skill_null"),
        number("calibrated", "skill_null"),
        number("calibrated", "skill_best"),
        f"{found.score('the log itself', 'mean_wait_s'):,.0f} s, {found.score('calibrated', 'mean_wait_s'):,.0f} s",
        f"{took_s:.0f}",
        "; ".join(found.notes),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=())
    parser.add_argument("--evaluations", type=int, default=200)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    paths = sorted((path for path in given.folder.glob("*.swf*")), key=lambda path: path.stat().st_size)
    print("| " + " | ".join(COLUMNS) + " |\n|" + "---|" * len(COLUMNS), flush=True)
    for path in paths:
        if given.only and not path.name.startswith(tuple(given.only)):
            continue
        if (cells := calibrated(path, given.out, given.evaluations, given.workers)) is not None:
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
