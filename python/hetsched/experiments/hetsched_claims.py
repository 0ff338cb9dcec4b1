"""What we say of our own preset, row by row, and whether the runs of ``hetsched`` bear it out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.experiments.claims import limit, statement
from hetsched.experiments.experiment import Row
from hetsched.experiments.relative import Relative
from hetsched.experiments.tsubame import BASELINE, HUNGRY, MIXES, PRESETS, SPREAD
from hetsched.experiments.yours import labels_in, your_row

__all__ = ["HALVED", "OURS", "RIVALS", "TUNED", "Own", "Setting", "rows", "yours"]

Floats: TypeAlias = npt.NDArray[np.float64]

TUNED = (0, 4, 8)
"""The workloads that the preset was tuned on."""

HELD_OUT = tuple(number for number in range(len(MIXES)) if number not in TUNED)
GROUPS = {"tuned on": TUNED, "held out": HELD_OUT}

OURS = "hetsched"
RIVALS = ("vahrm", "cgva-fcfs-b")


@dataclass(frozen=True)
class Setting:
    """What runs of the experiment differ in beside workload and policy; by itself, what the preset was tuned under.

    Parameters
    ----------
    spread
        Of devices, as `hetsched.experiments.tsubame.drawn_machine` takes it.
    error
        Of predictions, a share of the watts.
    pcr
        The budget as a share of the machine's TDP.
    """

    spread: float = SPREAD
    error: float = 0.0
    pcr: float = 1.0

    @property
    def columns(self) -> dict[str, float]:
        """As columns of a row."""
        return asdict(self)


HALVED = Setting(pcr=0.5)
"""Not in quick runs."""


class Own:
    """The runs of the experiment under one setting, a row a repetition and a column a workload.

    Parameters
    ----------
    frame
        All runs.
    preset
        Reading of the log.
    setting
        Which runs.
    """

    def __init__(self, frame: pl.DataFrame, preset: str, setting: Setting) -> None:
        self._runs = Relative(frame)
        self._preset = preset
        self._at = setting.columns

    @property
    def has_bound(self) -> bool:
        """Whether the least job energy in the baseline's window was computed."""
        return not np.isnan(self.column("energy_bound_j", BASELINE)).any()

    def metric(self, name: str, policy: str, *, over: str = BASELINE) -> Floats:
        """A metric of `hetsched.experiments.relative.METRICS`, or ``share``, percent; ``longest``, h; any column.

        Parameters
        ----------
        name
            Of the metric; ``share``: of the placement saving that the bound leaves room for in the baseline's window;
            ``longest``: the longest wait of a large job.
        policy
            Label of the runs.
        over
            What they are relative to.
        """
        if name == "share":
            bound = self.column("energy_bound_j", BASELINE)
            base = self.column("job_energy_j", BASELINE)
            return 100.0 * (base - self.column("job_energy_j", policy)) / (base - bound)
        if name == "longest":
            return self.column("large_longest_wait_s", policy) / 3600.0
        return self._runs.metric(name, policy, self._preset, over=over, base_at=self._at, **self._at)

    def column(self, name: str, policy: str) -> Floats:
        """A column of the frame as it is.

        Parameters
        ----------
        name, policy
            As in `metric`.
        """
        return self._runs.values(name, policy, self._preset, **self._at)


def rows(frame: pl.DataFrame) -> list[Row]:
    """The table of ``hetsched``.

    Parameters
    ----------
    frame
        All runs.
    """
    found = []
    for preset in PRESETS:
        own = Own(frame, preset, Setting())
        for group, numbers in GROUPS.items():
            found += _levels(own, f"{group}, {preset}", numbers)
        for number, mix in enumerate(MIXES):
            mark = "tuned on" if number in TUNED else "held out"
            found += _against(own, f"{mix} ({mark}), {preset}", [number])
        found += _prices(own, preset)
        found += _parts(own, preset)
        found += _elsewhere(frame, preset)
    return found


def yours(frame: pl.DataFrame) -> list[Row]:
    """What is told of a user's own policies.

    Parameters
    ----------
    frame
        All runs.
    """
    told = {
        "placement": "placement part of the saving, {}, %",
        "share": "share of the attainable placement part, {}, %",
        "turnaround": "turnaround vs VU-FCFS, {}, %",
        "longest": "longest wait of a large job, {}, h",
    }
    found = []
    for label in labels_in(frame):
        for preset in PRESETS:
            own = Own(frame, preset, Setting())
            for name, quantity in told.items():
                if name != "share" or own.has_bound:
                    found.append(your_row(frame, label, quantity.format(preset), _mean(own.metric(name, label))))
    return found


def _mean(values: Floats, numbers: Sequence[int] = range(len(MIXES))) -> Floats:
    """Over workloads."""
    mean: Floats = values[:, list(numbers)].mean(axis=1)
    return mean


def _levels(own: Own, where: str, numbers: Sequence[int]) -> list[Row]:
    """How much it is, of some workloads together, beside VAHRM's."""
    asked: list[tuple[str, str, Literal[1, -1]]] = [
        ("placement", f"placement part of the saving, {where}, %", 1),
        ("turnaround", f"turnaround vs VU-FCFS, {where}, %", -1),
        ("longest", f"longest wait of a large job, {where}, h", -1),
    ]
    if own.has_bound:
        asked.insert(1, ("share", f"share of the attainable placement part, {where}, %", 1))
    found = []
    for name, quantity, side in asked:
        ours, vahrm = (_mean(own.metric(name, label), numbers) for label in (OURS, "vahrm"))
        claim = f"{'more' if side == 1 else 'less'} than VAHRM's {vahrm.mean():.3g}"
        found.append(
            statement(quantity, ours, claim=claim, side=side, tested=("hetsched's less VAHRM's", ours - vahrm))
        )
    return found


def _against(own: Own, where: str, numbers: Sequence[int], *, why: str = "") -> list[Row]:
    """What the preset promises, against the better of both rivals in every repetition."""

    def of(name: str, policy: str) -> Floats:
        return _mean(own.metric(name, policy), numbers)

    placement = of("placement", OURS) - np.maximum(*(of("placement", rival) for rival in RIVALS))
    turnaround_s = np.minimum(*(_mean(own.column("mean_turnaround_s", rival), numbers) for rival in RIVALS))
    change = 100.0 * (_mean(own.column("mean_turnaround_s", OURS), numbers) / turnaround_s - 1.0)
    longest = 100.0 * (of("longest", OURS) / of("longest", "vahrm") - 1.0)
    return [
        statement(
            f"placement part less the better of VAHRM and CGVA-FCFS-B, {where}, points",
            placement,
            claim="more placement energy is saved than by either",
        ),
        statement(
            f"turnaround vs the better of VAHRM and CGVA-FCFS-B, {where}, %",
            change,
            claim="jobs are done no later than under either",
            side=-1,
            why=why,
        ),
        statement(
            f"longest wait of a large job vs VAHRM, {where}, %",
            longest,
            claim="no large job waits as long as under VAHRM",
            side=-1,
        ),
    ]


def _prices(own: Own, preset: str) -> list[Row]:
    """What it gives up for that."""
    window = {label: _mean(own.metric("window", label)) for label in (OURS, "vahrm")}
    tail = {label: _mean(own.column("tail_s", label)).mean() / 3600.0 for label in (OURS, "vahrm")}
    why = (
        f"{preset}: after the last start come {tail[OURS]:.0f} h under hetsched, {tail['vahrm']:.0f} h under VAHRM, "
        "which runs long jobs first and so shortens the end of a trace that ends; a machine in service has no such end"
    )
    system = _mean(own.metric("saving", OURS)) - _mean(own.metric("saving", "vahrm"))
    longest, filled = (_mean(own.metric("longest", label)) for label in (OURS, "cgva-fcfs-b"))
    held = f"{preset}: EASY holds nodes for whoever is first from the start, hetsched after 36 h"
    return [
        statement(
            f"window part of the saving, {preset}, %",
            window[OURS],
            tested=("hetsched's less VAHRM's", window[OURS] - window["vahrm"]),
            claim=f"a makespan as short as VAHRM's ({window['vahrm'].mean():.3g} %)",
            why=why,
        ),
        statement(
            f"system energy saved, less VAHRM's, {preset}, points", system, claim="more system energy saved", why=why
        ),
        statement(
            f"longest wait of a large job less CGVA-FCFS-B's, {preset}, h",
            longest - filled,
            side=-1,
            claim="no large job waits as long as under EASY",
            why=held,
        ),
    ]


def _parts(own: Own, preset: str) -> list[Row]:
    """What is lost with each part, mean over workloads."""
    asked: list[tuple[str, str, str, Literal[1, -1]]] = [
        ("no energy in the order", "turnaround", "the order shortens the turnaround", 1),
        ("no energy in the order", "placement", "the order saves placement energy", -1),
        ("VAHRM's beta", "turnaround", "the smaller beta shortens the turnaround", 1),
        ("no patience", "longest", "patience bounds the waits of large jobs", 1),
        ("no patience", "turnaround", "patience costs turnaround", -1),
        ("not the suited first", "placement", "serving the suited first saves placement energy", -1),
        ("not the suited first", "turnaround", "serving the suited first shortens the turnaround", 1),
        ("lowest-power", "placement", "prices save placement energy", -1),
    ]
    units = {"turnaround": "% of VU-FCFS's", "placement": "points", "longest": "h"}
    found = []
    for part, name, claim, side in asked:
        change = _mean(own.metric(name, f"hetsched, {part}")) - _mean(own.metric(name, OURS))
        what = {"turnaround": "turnaround", "placement": "placement part", "longest": "longest wait of a large job"}[
            name
        ]
        quantity = f"{part}: {what}, change, {preset}, {units[name]}"
        found.append(statement(quantity, change, claim=claim, side=side))
    return found


def _elsewhere(frame: pl.DataFrame, preset: str) -> list[Row]:
    """No spread, a wide one, wrong predictions, half the budget."""
    equal = Own(frame, preset, Setting(spread=0.0))
    found = [
        limit(
            f"placement part where devices do not differ, {preset}, %",
            _mean(equal.metric("placement", OURS)),
            most=1e-9,
            claim="equal devices leave nothing to place",
            printed=False,
        ),
        statement(
            f"turnaround vs VAHRM where devices do not differ, {preset}, %",
            _mean(equal.metric("turnaround", OURS, over="vahrm")),
            claim="jobs are done no later than under VAHRM",
            side=-1,
        ),
    ]
    every = range(len(MIXES))
    found += _against(Own(frame, preset, Setting(spread=0.12)), f"at 12 % spread, {preset}", every)
    found += _against(Own(frame, preset, Setting(error=0.10)), f"predictions 10 % off, {preset}", every)
    return found if frame.filter(pcr=HALVED.pcr).is_empty() else [*found, *_halved(Own(frame, preset, HALVED), preset)]


def _halved(own: Own, preset: str) -> list[Row]:
    others = [number for number in range(len(MIXES)) if number not in HUNGRY]
    return [
        *_against(own, f"PCR 0.5, other seven, {preset}", others),
        *_against(own, f"PCR 0.5, hungry two, {preset}", HUNGRY, why=_crowded(own, preset)),
    ]


def _crowded(own: Own, preset: str) -> str:
    wait_h = _mean(own.column("mean_wait_s", OURS), HUNGRY).mean() / 3600.0
    return (
        f"{preset}, PCR 0.5: jobs of the hungry workloads wait for {wait_h:.0f} h on average, and where most have lost "
        "patience the preset is EASY in the order of submission"
    )
