"""What the VAHRM paper says of its main experiment, beside what the runs of ``vahrm`` say."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.experiments.claims import alike, limit, statement, value
from hetsched.experiments.experiment import Row
from hetsched.experiments.fitted_tsmva import FITTED
from hetsched.experiments.relative import Relative
from hetsched.experiments.tsubame import BASELINE, PRESETS, SPREAD, WITH_BACKFILLING, WITHOUT_BACKFILLING

__all__ = ["IMPLIED_WAIT", "SAVING", "THROUGHPUT", "TURNAROUND", "rows"]

Floats = npt.NDArray[np.float64]

SAVING, SAVING_OVER_CVA = (4.5, 5.8), (4.2, 5.4)
TURNAROUND, TURNAROUND_BACKFILLING = (-21.2, -22.8), (-11.9, -13.8)
"""Mean over the nine workloads, and the best of them."""

THROUGHPUT = 7.1
LARGE_WAIT, LARGE_LONGEST, LONGEST_H = 0.99, 18.0, 24.0
IMPLIED_WAIT = 0.93
"""VU-FCFS's mean wait in mean run times. With both, W and R: VAHRM's wait is 0.56 W (Fig. 14) and its turnaround
0.788 (W + R) = 0.56 W + R, so that W / R = 0.212 / (0.788 - 0.56)."""

FITTED_MAPE = {"gpu": 1.54, "cpu": 1.69}
"""TSMVA's in-sample errors, percent (section VI-A)."""

OURS, IDEAL = "vahrm+tsmva", "vahrm+ideal"


def rows(frame: pl.DataFrame) -> list[Row]:
    """The table of ``vahrm``.

    Parameters
    ----------
    frame
        All runs.
    """
    runs = Relative(frame)
    found = []
    for preset in PRESETS:
        found += _of_paper(runs, preset)
        found += _parts(runs, preset)
        found += _placement(runs, preset)
        found += _large(runs, preset)
    found += _fitted(frame)
    return [*found, _clipped(runs)]


def _mean(values: Floats) -> Floats:
    """Over workloads."""
    mean: Floats = values.mean(axis=1)
    return mean


def _log(runs: Relative, preset: str) -> str:
    """What a magnitude hangs on, with what it is here."""
    waits = _mean(runs.values("mean_wait_s", BASELINE, preset, spread=SPREAD)).mean()
    run_s = _mean(runs.values("run_s", BASELINE, preset, spread=SPREAD)).mean()
    tail_h = runs.values("tail_s", BASELINE, preset, spread=SPREAD).mean() / 3600.0
    days = runs.values("makespan_s", BASELINE, preset, spread=SPREAD).mean() / 86_400.0
    return (
        f"which 10,000 jobs of the log ({preset}: VU-FCFS's waits are {waits / run_s:.2g} run times, {IMPLIED_WAIT} in "
        f"the paper; it takes {days:.2g} days, of which {tail_h:.0f} h come after the last start)"
    )


def _of_paper(runs: Relative, preset: str) -> list[Row]:
    def metric(name: str, policy: str = OURS, *, over: str = BASELINE) -> Floats:
        return runs.metric(name, policy, preset, over=over, spread=SPREAD)

    log = _log(runs, preset)
    saving, over_cva = metric("saving"), metric("saving", over="cva-fcfs-b")
    plain, filled = (
        np.mean([metric("turnaround", over=over) for over in group], axis=0)
        for group in (WITHOUT_BACKFILLING, WITH_BACKFILLING)
    )
    printed = {
        f"saving vs VU-FCFS, {preset}, %": (saving, SAVING),
        f"saving vs CVA-FCFS-B, {preset}, %": (over_cva, SAVING_OVER_CVA),
        f"turnaround vs those without backfilling, {preset}, %": (plain, TURNAROUND),
        f"turnaround vs those with backfilling, {preset}, %": (filled, TURNAROUND_BACKFILLING),
    }
    found = []
    for quantity, (values, (mean, best)) in printed.items():
        of_best = values.max(axis=1) if best > 0 else values.min(axis=1)
        found.append(value(quantity, _mean(values), paper=mean, undisclosed=log))
        found.append(value(f"best workload: {quantity}", of_best, paper=best, undisclosed=log))
    throughput = _mean(metric("throughput"))
    found.append(value(f"throughput vs VU-FCFS, {preset}, %", throughput, paper=THROUGHPUT, undisclosed=log))
    waits = _mean(
        runs.values("mean_wait_s", BASELINE, preset, spread=SPREAD)
        / runs.values("run_s", BASELINE, preset, spread=SPREAD)
    )
    quantity = f"wait over run time under VU-FCFS, {preset} (paper: implied)"
    found.append(value(quantity, waits, paper=IMPLIED_WAIT, undisclosed="which 10,000 jobs of the log"))
    return [*found, _models(runs, preset)]


def _models(runs: Relative, preset: str) -> Row:
    exact, modelled = (_mean(runs.metric("saving", label, preset, spread=SPREAD)) for label in (IDEAL, OURS))
    placed, placed_by_model = (
        _mean(runs.metric("placement", label, preset, spread=SPREAD)).mean() for label in (IDEAL, OURS)
    )
    return alike(
        f"saving, ideal less TSMVA, {preset}, points",
        exact - modelled,
        of=modelled,
        claim="with TSMVA's errors VAHRM saves as much as without",
        why=f"of the placement part ({placed:.2g} %) TSMVA's errors leave {100 * placed_by_model / placed:.0f} %",
    )


def _fitted(frame: pl.DataFrame) -> list[Row]:
    """VAHRM with fitted models, in the repetitions that have them; nothing where none has."""
    own = frame.filter(policy=FITTED)
    if own.is_empty():
        return []
    runs = Relative(frame.filter(pl.col("repetition").is_in(own["repetition"].unique().implode())))
    found = [_fitted_saving(runs, preset) for preset in PRESETS]
    for device, paper in FITTED_MAPE.items():
        errors = runs.values(f"{device}_mape", FITTED, "steady", spread=SPREAD)[:, 0]
        quantity = f"in-sample MAPE of the fitted TSMVA, {device.upper()}s, %"
        found.append(value(quantity, errors, paper=paper, undisclosed="counters and watts of the kernels"))
    return found


def _fitted_saving(runs: Relative, preset: str) -> Row:
    saving, fitted = (_mean(runs.metric("saving", label, preset, spread=SPREAD)) for label in (IDEAL, FITTED))
    placed, placed_by_fit = (
        _mean(runs.metric("placement", label, preset, spread=SPREAD)).mean() for label in (IDEAL, FITTED)
    )
    return alike(
        f"saving, ideal less fitted TSMVA, {preset}, points",
        saving - fitted,
        of=fitted,
        claim="with a fitted TSMVA VAHRM saves as much as with exact predictions",
        why=f"of the placement part ({placed:.2g} %) the fitted models leave {100 * placed_by_fit / placed:.0f} %",
    )


def _parts(runs: Relative, preset: str) -> list[Row]:
    """The saving in two parts, and how much of it needs devices that differ."""

    def part(name: str, spread: float = SPREAD) -> Floats:
        return _mean(runs.metric(name, IDEAL, preset, spread=spread))

    window, tail = part("window"), part("tail")
    blind, spread = part("saving", 0.0), part("saving")
    used, used_vahrm = (
        100.0 * runs.values("utilization_ratio", label, preset, spread=SPREAD).mean() for label in (BASELINE, IDEAL)
    )
    ends = (
        f"{preset}: idle energy falls with the makespan ({used:.0f} % of nodes in use under VU-FCFS, {used_vahrm:.0f} "
        f"% under VAHRM), {tail.mean():.2g} of {window.mean():.2g} points of it after the last start"
    )
    return [
        statement(f"placement part of the saving, {preset}, %", part("placement"), claim="better nodes save"),
        statement(f"window part of the saving, {preset}, %", window, claim="a shorter makespan saves", why=ends),
        statement(
            f"placement part less window part, {preset}, points",
            part("placement") - window,
            claim="most of the saving comes from better nodes, which is how the paper explains it",
            why=ends,
        ),
        statement(
            f"saving where devices do not differ, {preset}, %",
            blind,
            tested=("half the saving at 4 % spread less it", spread / 2 - blind),
            claim="most of the saving needs devices that differ",
            why=ends,
        ),
        limit(
            f"placement part where devices do not differ, {preset}, %",
            part("placement", 0.0),
            most=1e-9,
            claim="equal devices leave nothing to place",
            printed=False,
        ),
        statement(
            f"placement part per 1 % of spread, {preset}, points",
            part("placement", 0.12) / 12.0,
            claim="the more devices differ the more placement saves",
        ),
    ]


def _placement(runs: Relative, preset: str) -> list[Row]:
    """Who finds the better nodes."""

    def placed(policy: str) -> Floats:
        return _mean(runs.metric("placement", policy, preset, spread=SPREAD))

    found = []
    for rival in ("cva-fcfs-b", "cgva-fcfs-b", "cgva-fcfs"):
        free = [
            100.0 - 100.0 * runs.values("utilization_ratio", label, preset, spread=SPREAD).mean()
            for label in (rival, IDEAL)
        ]
        name = rival.upper()
        found.append(
            statement(
                f"placement part, VAHRM less {name}, {preset}, points",
                placed(IDEAL) - placed(rival),
                claim=f"VAHRM finds better nodes than {name}",
                why=f"{preset}: {free[0]:.0f} % of nodes are free under {name}, {free[1]:.0f} % under VAHRM, "
                "and there is nothing to choose where nothing is free",
            )
        )
    return [*found, *_attained(runs, preset)]


def _attained(runs: Relative, preset: str) -> list[Row]:
    """Of what placement could save within VU-FCFS's window; none where its solver is missing."""
    bound = runs.values("energy_bound_j", BASELINE, preset, spread=SPREAD)
    if np.isnan(bound).any():
        return []
    base = runs.values("job_energy_j", BASELINE, preset, spread=SPREAD)

    def share(policy: str) -> Floats:
        own = runs.values("job_energy_j", policy, preset, spread=SPREAD)
        return _mean(100.0 * (base - own) / (base - bound))

    ahead = ("VAHRM's less CGVA-FCFS-B's", share(IDEAL) - share("cgva-fcfs-b"))
    quantity = f"VAHRM's share of the attainable placement part, {preset}, %"
    return [statement(quantity, share(IDEAL), tested=ahead, claim="larger than CGVA-FCFS-B's")]


def _large(runs: Relative, preset: str) -> list[Row]:
    """Jobs of more than 15 nodes beside VU-FCFS-B."""

    def of(column: str, policy: str = OURS) -> Floats:
        return runs.values(column, policy, preset, spread=SPREAD)

    log = _log(runs, preset)
    longest_h = of("large_longest_wait_s").max(axis=1) / 3600.0
    small = 100.0 * (of("wait_1_s") / of("wait_1_s", "vu-fcfs-b") - 1.0)
    later = 100.0 * of("large_later_ratio").mean()
    mean = _mean(of("large_wait_s") / of("large_other_wait_s"))
    return [
        value(f"large jobs' mean wait over VU-FCFS-B's, {preset}", mean, paper=LARGE_WAIT, undisclosed=log),
        value(f"the same, mean of jobs' ratios, {preset}", _mean(of("large_ratio")), paper=LARGE_WAIT, undisclosed=log),
        value(
            f"the same, largest of jobs' ratios, {preset}",
            of("large_longest_ratio").max(axis=1),
            paper=LARGE_LONGEST,
            undisclosed=log,
        ),
        limit(
            f"longest wait of a large job, {preset}, h",
            longest_h,
            most=LONGEST_H,
            claim="no large job waits longer than 24 h",
            why=f"{preset}: {later:.0f} % of large jobs wait longer than under VU-FCFS-B; nothing holds nodes for them",
        ),
        statement(
            f"wait of single-node jobs vs VU-FCFS-B, {preset}, %", _mean(small), side=-1, claim="small jobs wait less"
        ),
    ]


def _clipped(runs: Relative) -> Row:
    shares = 100.0 * runs.values("clipped_ratio", BASELINE, "steady", spread=SPREAD)[:, 0]
    # 62.75 W with 4 % around it lie below 60 W where a standard normal is below -1.0956.
    quantity = "draws of gpu-small below idle, set to it, less the normal's 13.66 %, points"
    claim = "the mean, 62.75 W, lies 1.1 standard deviations above the idle draw"
    return limit(quantity, shares - 13.66, most=1.0, claim=claim, printed=False)
