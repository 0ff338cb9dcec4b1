"""Predicted quantiles of waits on real logs, next to those of the waits of jobs alike in the week before.

    python benches/python/predict_waits.py [FOLDER] [--only ctc|kth|sdsc|theta] [--jobs N] [--forks N] [--seed N]
        [--more] [--recalibrate N]

FOLDER holds the logs in SWF, in the folder ``swf``. Of each log some jobs that count (docs/how-to/validate.md) are
drawn with the named seed. Each is asked for at its submit, from what the log observed to run and to wait until just
before it, under textbook EASY; with --more also under first fit, and with the submits of the week before again, which
takes many times as long; with --recalibrate also recalibrated by the N jobs that started last. Nothing here was tuned
on these jobs. Last, EASY's quantiles and the rival's are moved by the
errors that they made on earlier jobs of the sample (`hetsched.analysis.recalibrated`).
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

import hetsched as hs
from hetsched.analysis import paired_weeks, pinball, recalibrated
from hetsched.analysis.pinball import LEVELS
from hetsched.chance import stream

FOLDER = Path(__file__).parents[2].parent / "shared" / "data"
LOGS = {
    "ctc": ("CTC SP2", "CTC-SP2-1996-3.1-cln.swf.gz", 338),
    "kth": ("KTH SP2", "KTH-SP2-1996-2.1-cln.swf.gz", 100),
    "sdsc": ("SDSC SP2", "SDSC-SP2-1998-4.2-cln.swf.gz", 128),
    "theta": ("Theta", "Theta-2023-feb-dec.swf.gz", 4360),
}
WAYS: dict[str, dict[str, Any]] = {
    "easy": {},
}
MORE: dict[str, dict[str, Any]] = {
    "first fit": {"policy": hs.Policy(order="fcfs", backfill="first-fit", placement="lowest-id")},
    "easy, arrivals again": {"arrivals": "resample"},
}
RIVAL = "week before"
WEEK_S = 604_800.0

Floats = npt.NDArray[np.float64]


class Log:
    """The known jobs of a log, and its state at any instant."""

    def __init__(self, path: Path) -> None:
        workload = hs.read_swf(path)
        jobs = workload.to_polars().with_row_index("row")
        known = pl.col("observed_start_s").is_not_null() & (pl.col("runtime_s") > 0)
        self.jobs = jobs.filter(known & (pl.col("observed_start_s") >= pl.col("submit_s"))).with_columns(
            pl.col("node_count").log(2).floor().alias("size"),
            (pl.col("observed_start_s") - pl.col("submit_s")).alias("observed_s"),
            (pl.col("observed_start_s") + pl.col("runtime_s")).alias("end_s"),
        )
        self.asked = ("job_id", "submit_s", "node_count", "walltime_s", "user", "queue")
        submit = jobs["submit_s"].to_numpy()
        cut_s = min(WEEK_S, (submit[-1] - submit[0]) / 10)
        self.counted = self.jobs.filter(pl.col("submit_s").is_between(submit[0] + cut_s, submit[-1] - cut_s))

    def before(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """The state just before a job is submitted: nothing that happens at that instant is in it."""
        now, start = job["submit_s"], pl.col("observed_start_s")
        earlier = self.jobs.filter(pl.col("row") < job["row"])
        running = earlier.filter((start < now) & (pl.col("end_s") > now))
        names = [name for name in self.asked if name in earlier.columns]
        return {
            "time_s": now,
            "running": running.select(*names, start.alias("start_s")),
            "queued": earlier.filter(start >= now).select(names),
        }

    def alone(self, job: Mapping[str, Any]) -> pl.DataFrame:
        """The job itself, as it is when it is submitted."""
        names = [name for name in self.asked if name in self.jobs.columns]
        return self.jobs.filter(pl.col("row") == job["row"]).select(names)

    def rival(self, job: Mapping[str, Any]) -> Floats:
        """Quantiles of the waits of jobs alike that started in the week before; else of all before; else 0."""
        now, start = job["submit_s"], pl.col("observed_start_s")
        ever = self.jobs.filter(start < now)
        week = ever.filter(start >= now - WEEK_S)
        queue = week.filter(pl.col("queue").eq_missing(pl.lit(job["queue"], self.jobs.schema["queue"])))
        alike = queue.filter(pl.col("size") == job["size"])
        found = alike if len(alike) >= 5 else queue if len(queue) >= 5 else week if len(week) else ever
        waits = found["observed_s"].to_numpy()
        return np.quantile(waits, LEVELS) if len(waits) else np.zeros(len(LEVELS))


def predictions(log: Log, nodes: int, sample: pl.DataFrame, forks: int, seed: int) -> dict[str, Floats]:
    """Quantiles of each sampled job by each way."""
    machine = hs.Platform.homogeneous(nodes, idle_w=100, tdp_w=300)
    history = hs.Workload.from_polars(log.jobs.drop("row", "size", "observed_s", "end_s"))
    rows: dict[str, list[Any]] = {name: [] for name in (RIVAL, *WAYS)}
    for job in sample.iter_rows(named=True):
        rows[RIVAL].append(log.rival(job))
        state, asked = log.before(job), log.alone(job)
        for name, way in WAYS.items():
            given = {"history": history, "platform": machine, "forks": forks, "seed": seed}
            found = hs.predict_waits(state, asked, **{**given, **way})
            own = found.filter(pl.col("job_id") == job["job_id"]).drop("job_id")
            rows[name].append(own.select(pl.all().head(1)).row(0)[: len(LEVELS)])
    found = {name: np.array(own, dtype=np.float64) for name, own in rows.items()}
    return found | {f"{name}, recalibrated": moved(sample, found[name]) for name in ("easy", RIVAL)}


def moved(sample: pl.DataFrame, own: Floats) -> Floats:
    """Quantiles moved by the errors of those of earlier jobs of the sample that had started by the submit.

    With fewer than 20 such jobs they stay.
    """
    wait, submit, shown = sample["observed_s"].to_numpy(), sample["submit_s"].to_numpy(), own.copy()
    for place in range(len(own)):
        past = submit + wait < submit[place]
        if past.sum() >= 20:
            shown[place] = recalibrated(own[[place]], own[past], wait[past])[0]
    return shown


def scores(sample: pl.DataFrame, found: Mapping[str, Floats]) -> Iterator[list[str]]:
    """A row of the table each: pinball, its difference to the rival's, and coverages, with half widths over weeks."""
    observed, weeks = sample["observed_s"].to_numpy(), (sample["submit_s"] / WEEK_S).floor().to_numpy()
    losses = {name: _losses(observed, own) for name, own in found.items()}
    ones = np.ones(len(observed))
    for name, own in found.items():
        all_of = pinball(observed, own)
        inside = [_inside(observed, own, low, high) for low, high in ((1, 3), (0, 4))]
        cells = [_shown(losses[name], ones, weeks), _shown(losses[name] - losses[RIVAL], ones, weeks)]
        assert abs(float(losses[name].mean()) - float(all_of["pinball"] or 0)) < 1e-9
        yield [name, *cells, *(_shown(share, ones, weeks) for share in inside)]


def _losses(observed: Floats, own: Floats) -> Floats:
    return np.array([pinball([o], [q])["pinball"] for o, q in zip(observed, own, strict=True)], dtype=np.float64)


def _inside(observed: Floats, own: Floats, low: int, high: int) -> Floats:
    return ((own[:, low] <= observed) & (observed <= own[:, high])).astype(np.float64)


def _shown(x: Floats, y: Floats, weeks: npt.NDArray[Any]) -> str:
    value, half = paired_weeks(x, y, weeks)
    return f"{value:.3f}" + ("" if half is None else f" ± {half:.3f}")


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    parser.add_argument("--only", choices=list(LOGS))
    parser.add_argument("--jobs", type=int, default=400)
    parser.add_argument("--forks", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--more", action="store_true")
    parser.add_argument("--recalibrate", type=int, metavar="N")
    given = parser.parse_args()
    if given.recalibrate is not None:
        WAYS[f"easy, recalibrate={given.recalibrate}"] = {"recalibrate": given.recalibrate}
    if given.more:
        WAYS.update(MORE)
    warnings.simplefilter("ignore")
    print("| log | jobs | prediction | pinball | less the rival's | inside 25-75 % | inside 5-95 % |")
    print("|---|---|---|---|---|---|---|")
    for key in [given.only] if given.only else list(LOGS):
        name, file, nodes = LOGS[key]
        begun_s = time.process_time()
        log = Log(given.folder / "swf" / file)
        places = stream(given.seed, f"predict-waits {key}").choice(len(log.counted), given.jobs, replace=False)
        sample = log.counted[np.sort(places)]
        for row in scores(sample, predictions(log, nodes, sample, given.forks, given.seed)):
            print("|", " | ".join([name, str(given.jobs), *row]), "|", flush=True)
        print(f"<!-- {name}: {time.process_time() - begun_s:.0f} s of CPU -->", flush=True)


if __name__ == "__main__":
    main()
