"""Traces for the benches: made here, the same from the same numbers, kept as plain SWF in ``.bench/``.

What a trace is like, all of it drawn by one generator in this order:

* **sizes**: 2^k nodes, k from 0 to the largest power that is at most `largest`, by default a quarter of the machine;
  each k is 0.71 times (2^-0.5) as frequent as the one before. One job in five asks for an odd number instead: anything
  from 2^k up to, not including, 2^(k+1). On 540 nodes that is a mean of 12.4 nodes, three jobs in ten on one node, at
  most 255;
* **runtimes**: log-normal with a median of 20 minutes and sigma 1.5 (a mean of about an hour), whole seconds, from 1 s
  to 2 days;
* **walltimes**: the runtime times a factor between 1 and 5, evenly drawn; every second job rounds that up as users
  do, to 5, 10, 15, 30 min, 1, 2, 4, 8, 12, 24 h, and to whole days beyond;
* **arrivals**: Poisson. The gaps are stretched so that the work (nodes x runtime) submitted between the first and the
  last job is exactly ``load`` of what the machine can do, but for the rounding to whole seconds;
* **users, queues, applications**: 300 users, 3 queues and `APPS` applications, evenly drawn.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

__all__ = ["APPS", "FOLDER", "Trace", "made"]

FOLDER = Path(__file__).resolve().parents[2] / ".bench"
"""Where traces are kept."""

APPS = 6
"""How many applications there are, named ``1`` to ``6``."""

VERSION = 1
"""Stands in every file; to be raised when the same numbers would give another trace."""

Whole = npt.NDArray[np.int64]

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_USERS_CHOOSE_S = [*(m * _MINUTE for m in (5, 10, 15, 30)), *(h * _HOUR for h in (1, 2, 4, 8, 12, 24))]
_LONGEST_S = 2 * _DAY
_SCALED_JOBS = ((1_000_000, "m"), (1_000, "k"))


@dataclass(frozen=True)
class Trace:
    """Parameters of a trace.

    Parameters
    ----------
    jobs
        How many.
    load
        Offered load, as a share of the machine.
    nodes
        Size of the machine.
    seed
        Of the generator.
    largest
        Sizes are 2^k up to the largest power that is at most this; None: a quarter of the machine.
    """

    jobs: int
    load: float
    nodes: int = 540
    seed: int = 2024
    largest: int | None = None

    @property
    def name(self) -> str:
        """Short and unique among the benches' traces, such as ``1m-0.8``."""
        machine = "" if self.nodes == 540 else f"-{short(self.nodes)}-nodes"
        return f"{short(self.jobs)}-{self.load:.1f}{machine}" + ("" if self.largest is None else f"-max-{self.largest}")

    @property
    def path(self) -> Path:
        """Path of the trace."""
        return FOLDER / f"{self.name}.swf"

    @property
    def header(self) -> str:
        """The file's first lines; a file that starts otherwise is another trace."""
        stamp = json.dumps({"version": VERSION, **self.to_dict()})
        return f"; Note: made by benches/python/traces.py {stamp}\n; MaxNodes: {self.nodes}\n; MaxProcs: {self.nodes}\n"

    def to_dict(self) -> dict[str, float]:
        """The numbers, but for those that are left open."""
        return {name: number for name, number in asdict(self).items() if number is not None}

    def is_made(self) -> bool:
        """True if the file is there and holds this trace."""
        expected = self.header.encode()
        if not self.path.is_file():
            return False
        with self.path.open("rb") as file:
            return file.read(len(expected)) == expected


def short(count: int) -> str:
    """10000 as ``10k``, 1000000 as ``1m``."""
    for unit, letter in _SCALED_JOBS:
        if count >= unit and count % unit == 0:
            return f"{count // unit}{letter}"
    return str(count)


def made(trace: Trace) -> Path:
    """The trace's file, written if it is not there yet."""
    if not trace.is_made():
        FOLDER.mkdir(exist_ok=True)
        partial = trace.path.with_suffix(".partial")
        with partial.open("wb") as file:
            file.write(trace.header.encode())
            drawn(trace).write_csv(file, include_header=False, separator=" ")
        partial.replace(trace.path)
    return trace.path


def drawn(trace: Trace) -> pl.DataFrame:
    """The jobs, one column a field of the Standard Workload Format."""
    rng = np.random.Generator(np.random.PCG64(trace.seed))
    n = trace.jobs
    size = sizes(rng, n, trace.largest or trace.nodes // 4)
    runtime = runtimes(rng, n)
    walltime = walltimes(rng, runtime)
    submit = arrivals(rng, int(size @ runtime) / (trace.nodes * trace.load), n)
    unknown = pl.repeat(-1, n, eager=True)
    columns = {
        "job": np.arange(1, n + 1),
        "submit": submit,
        "wait": unknown,
        "runtime": runtime,
        "allocated": size,
        "cpu_time": unknown,
        "memory": unknown,
        "requested": size,
        "walltime": walltime,
        "requested_memory": unknown,
        "status": pl.repeat(1, n, eager=True),
        "user": rng.integers(1, 301, n),
        "group": unknown,
        "app": rng.integers(1, APPS + 1, n),
        "queue": rng.integers(1, 4, n),
        "partition": unknown,
        "preceding": unknown,
        "think_time": unknown,
    }
    return pl.DataFrame(columns)


def sizes(rng: np.random.Generator, n: int, largest: int) -> Whole:
    """Nodes of each job; less than twice `largest`."""
    highest = max(0, largest.bit_length() - 1)
    frequency = 0.5 ** (np.arange(highest + 1) / 2)
    power = 2 ** rng.choice(highest + 1, n, p=frequency / frequency.sum())
    odd = np.floor(power * rng.uniform(1, 2, n)).astype(np.int64)
    return np.where(rng.random(n) < 0.2, odd, power)


def runtimes(rng: np.random.Generator, n: int) -> Whole:
    """Runtime of each job, s."""
    return np.clip(np.ceil(rng.lognormal(np.log(20 * _MINUTE), 1.5, n)), 1, _LONGEST_S).astype(np.int64)


def walltimes(rng: np.random.Generator, runtime: Whole) -> Whole:
    """Walltime of each job, s; never less than it runs."""
    wished = np.ceil(runtime * rng.uniform(1, 5, len(runtime))).astype(np.int64)
    places = np.searchsorted(_USERS_CHOOSE_S, wished)
    whole_days = -(-wished // _DAY) * _DAY
    chosen = np.where(places < len(_USERS_CHOOSE_S), np.take(_USERS_CHOOSE_S, places, mode="clip"), whole_days)
    return np.asarray(np.where(rng.random(len(runtime)) < 0.5, chosen, wished), dtype=np.int64)


def arrivals(rng: np.random.Generator, span_s: float, n: int) -> Whole:
    """Submit time of each job, s: a Poisson process that begins at 0 and ends at `span_s`."""
    at = np.concatenate([[0.0], np.cumsum(rng.exponential(size=n - 1))])
    return np.asarray(np.ceil(at * (span_s / at[-1])), dtype=np.int64)


def main() -> None:
    """Makes the trace that is asked for: in a process of its own, as the large ones take much memory."""
    made(Trace(**json.loads(sys.argv[1])))
    print("{}")


if __name__ == "__main__":
    main()
