"""``hetsched demo``: four policies on a real log with measured power, in a few seconds."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Annotated

import typer

from hetsched.checks import Faults, many
from hetsched.cli import options as opt
from hetsched.cli.pictures import check_folder, draw_comparison
from hetsched.cli.terminal import Screen
from hetsched.errors import ConfigError

if TYPE_CHECKING:
    from hetsched.many.compare import Comparison
    from hetsched.platform import Platform
    from hetsched.workload import Workload


_NODES = 1024
_IDLE_W, _TDP_W, _BUSY_W = 250.0, 785.0, 654.0
_PLACED = "easy:placement=lowest-power"
_POLICIES = ("fcfs", "easy", "conservative", _PLACED)
_INPUT = (
    "jobs   four days of NREL's Kestrel, September 2024, with their measured draw",
    "       (NREL/raddit, BSD 3-Clause; Energy-Aware HPC Job Scheduling, SC25)",
    f"nodes  {_NODES:,}, idle {_IDLE_W:g} W, TDP {_TDP_W:g} W, {_BUSY_W:g} W under jobs not measured: assumed",
    "       from the log. Each draws more or less than a job's measured watts by the",
    "       ratio of a node of CINECA's Marconi100, drawn at random (seed {seed})",
    "       (M100 ExaData, CC BY 4.0; Borghesi et al., Scientific Data 10:288, 2023)",
)


def demo(
    out: Annotated[str, typer.Option("--out", metavar="DIR", help="Where the pictures go.")] = "hetsched-demo",
    seed: Annotated[str, typer.Option("--seed", metavar="S", help="Which nodes are drawn.")] = "0",
    as_json: opt.Json = False,
    debug: opt.Debug = False,
) -> None:
    """Compare four policies on a real log that comes with hetsched, and draw the pictures."""
    del debug
    screen = Screen(as_json=as_json)
    faults = Faults()
    chosen_seed = opt.whole(faults, "--seed", seed, low=0, high=2**64 - 1)
    faults.folder("--out", out)
    faults.check()
    check_folder(out)
    from hetsched.many.compare import Keep, compared  # noqa: PLC0415 -- polars is slow to import
    from hetsched.policy import parse_policy  # noqa: PLC0415
    from hetsched.report.tables import comparison_table  # noqa: PLC0415
    from hetsched.run.options import RunOptions  # noqa: PLC0415

    own_seed = chosen_seed or 0
    workload, platform = _inputs(own_seed)
    screen.say(workload.report.line())
    for line in _INPUT:
        screen.say(line.format(seed=own_seed))
    policies = {name: parse_policy(name) for name in _POLICIES}
    result = compared(
        workload, platform, policies, baseline="fcfs", options=RunOptions(seed=own_seed), keep=Keep(drawn=True)
    )
    written = [result.write(out), *_pictures(screen, out, result)]
    screen.show(comparison_table(result.table, baseline="fcfs", width=screen.width))
    screen.tell(_finding(result))
    screen.say(f"wrote {many(len(written), 'file')} to {out}")
    about = {"input": [line.format(seed=own_seed) for line in _INPUT], "finding": _finding(result)}
    screen.give({**result.to_dict(), **about, "written": written})


def _inputs(seed: int) -> tuple[Workload, Platform]:
    """The jobs, and nodes that differ like the measured nodes of another machine."""
    import numpy as np  # noqa: PLC0415
    import polars as pl  # noqa: PLC0415

    from hetsched.platform import Platform, VariationTable  # noqa: PLC0415
    from hetsched.workload import read_parquet  # noqa: PLC0415

    data = files("hetsched") / "data"
    workload = read_parquet(str(data / "kestrel-2024-09.parquet"))
    measured = pl.read_csv(str(data / "m100-node-ratio.csv"))["power_ratio"].to_numpy()
    ratios = np.random.default_rng(seed).choice(measured, size=_NODES)
    table = VariationTable(["*"], power_ratio=ratios[np.newaxis, :])
    return workload, Platform.homogeneous(nodes=_NODES, idle_w=_IDLE_W, tdp_w=_TDP_W, busy_w=_BUSY_W, actual=table)


def _pictures(screen: Screen, out: str, result: Comparison) -> list[str]:
    """Draw them; without matplotlib, say so in a line and go on."""
    try:
        return draw_comparison(out, result.table, result.outcomes, baseline="fcfs")
    except ConfigError as error:
        screen.say(f"no pictures: {error}")
        return []


def _finding(result: Comparison) -> str:
    """The result in a sentence."""
    from hetsched.analysis import METRICS  # noqa: PLC0415

    wait, slowdown = (result.value("easy", metric, "ratio") for metric in ("mean_wait_s", "mean_bounded_slowdown"))
    before, after = (METRICS["energy_j"].text(result.value(policy, "energy_j")) for policy in ("fcfs", _PLACED))
    waits = [result.value(policy, "mean_wait_s") for policy in ("easy", _PLACED)]
    aside = "at the same mean wait as easy" if waits[0] == waits[1] else f"its mean wait {_than(waits[1] / waits[0])}"
    return (
        f"Against fcfs, backfilling (easy) makes the mean wait {_than(wait)} and the mean bounded slowdown "
        f"{_than(slowdown)}; choosing also the nodes that draw least makes the energy "
        f"{_than(result.value(_PLACED, 'energy_j', 'ratio'))} ({after} instead of {before}), {aside}."
    )


def _than(ratio: float) -> str:
    """A ratio in words."""
    percent = 100 * (ratio - 1)
    if abs(percent) < 0.05:
        return "neither higher nor lower (by 0.05 %)"
    return f"{abs(percent):.1f} % {'lower' if percent < 0 else 'higher'}"
