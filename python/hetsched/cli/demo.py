"""``hetsched demo``: four policies on a real log with measured power, in a few seconds."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import hetsched as hs
from hetsched.checks import Faults, many
from hetsched.cli.declare import option, whole
from hetsched.cli.options import MOST_SEED, check_output, folder
from hetsched.cli.pictures import draw_comparison
from hetsched.cli.terminal import Screen, command_line
from hetsched.errors import ConfigError

_TITLE = "Four policies on four days of Kestrel"
_NODES = 1024
_IDLE_W, _TDP_W, _BUSY_W = 250.0, 785.0, 654.0
_PLACED = "easy:placement=lowest-power"
_BASELINE = "fcfs"
_POLICIES = (_BASELINE, "easy", "conservative", _PLACED)
_INPUT = (
    "jobs   four days of NREL's Kestrel, September 2024, with their measured draw",
    "       (NREL/raddit, BSD 3-Clause; Energy-Aware HPC Job Scheduling, SC25)",
    f"nodes  {_NODES:,}, idle {_IDLE_W:g} W, TDP {_TDP_W:g} W, {_BUSY_W:g} W under jobs not measured: assumed",
    "       from the log. Each draws more or less than a job's measured watts by the",
    "       ratio of a node of CINECA's Marconi100, drawn at random (seed {seed})",
    "       (M100 ExaData, CC BY 4.0; Borghesi et al., Scientific Data 10:288, 2023)",
)


def demo(
    screen: Screen,
    faults: Faults,
    *,
    out: Annotated[str, option("--out", "DIR", "Where the pictures go.", read=folder)] = "hetsched-demo",
    seed: Annotated[int, option("--seed", "S", "Seed of the random draw of nodes.", read=whole(0, MOST_SEED))] = 0,
) -> None:
    """Compare four policies on a real log that comes with hetsched; draw the pictures, and make a page of it."""
    faults.check()
    check_output(out)
    from hetsched.many.compare import compared
    from hetsched.many.outcome import Keep
    from hetsched.report.tables import comparison_table
    from hetsched.run.options import RunOptions

    workload, platform = _inputs(seed)
    about = [line.format(seed=seed) for line in _INPUT]
    for line in (workload.report.line(), *about):
        screen.say(line)
    policies = {name: hs.policy.parse_policy(name) for name in _POLICIES}
    options = RunOptions(seed=seed)
    result = compared(
        workload, platform, policies, baseline=_BASELINE, options=options, keep=Keep(drawn=True, shown=True)
    )
    written = [result.write(out), *_pictures(screen, out, result), *_page(screen, out, result, about)]
    screen.show(comparison_table(result.table, baseline=_BASELINE, width=screen.width))
    screen.tell(_finding(result))
    screen.say(f"wrote {many(len(written), 'file')} to {out}")
    screen.give({**result.to_dict(), "input": about, "finding": _finding(result), "written": written})


def _inputs(seed: int) -> tuple[hs.Workload, hs.Platform]:
    """The jobs, and nodes that differ like the measured nodes of another machine."""
    import numpy as np
    import polars as pl

    data = files("hetsched") / "data"
    workload = hs.read_parquet(str(data / "kestrel-2024-09.parquet"))
    measured = pl.read_csv(str(data / "m100-node-ratio.csv"))["power_ratio"].to_numpy()
    ratios = np.random.default_rng(seed).choice(measured, size=_NODES)
    table = hs.VariationTable(["*"], power_ratio=ratios[np.newaxis, :])
    return workload, hs.Platform.homogeneous(nodes=_NODES, idle_w=_IDLE_W, tdp_w=_TDP_W, busy_w=_BUSY_W, actual=table)


def _pictures(screen: Screen, out: str, result: hs.Comparison) -> list[str]:
    """Draw them; without matplotlib, say so in a line and go on."""
    try:
        return draw_comparison(out, result.table, result._outcomes, baseline=_BASELINE)
    except ConfigError as error:
        screen.say(f"no pictures: {error}")
        return []


def _finding(result: hs.Comparison) -> str:
    """The result in a sentence."""
    wait, p95_wait = (result.value("easy", metric, "ratio") for metric in ("mean_wait_s", "p95_wait_s"))
    energy = hs.analysis.METRICS["energy_j"]
    before, after = (energy.text(result.value(policy, energy.key)) for policy in (_BASELINE, _PLACED))
    waits = [result.value(policy, "mean_wait_s") for policy in ("easy", _PLACED)]
    aside = "at the same mean wait as easy" if waits[0] == waits[1] else f"its mean wait {_than(waits[1] / waits[0])}"
    return (
        f"Against fcfs, backfilling (easy) makes the mean wait {_than(wait)} and the 95th percentile of waits "
        f"{_than(p95_wait)}; choosing also the nodes that draw least makes the energy "
        f"{_than(result.value(_PLACED, 'energy_j', 'ratio'))} ({after} instead of {before}), {aside}."
    )


def _than(ratio: float) -> str:
    """A ratio in words."""
    percent = 100 * (ratio - 1)
    if abs(percent) < 0.05:
        return "neither higher nor lower (by 0.05 %)"
    return f"{abs(percent):.1f} % {'lower' if percent < 0 else 'higher'}"


def _page(screen: Screen, out: str, result: hs.Comparison, about: Sequence[str]) -> list[str]:
    """Make a page of it; without what pages are made with, say so in a line and go on."""
    try:
        page = result._page(title=_TITLE, assumed=_sentences(about), command=command_line())
        return [page.write(str(Path(out) / "report.html"))]
    except ConfigError as error:
        screen.say(f"no page: {error}")
        return []


def _sentences(about: Sequence[str]) -> list[str]:
    """The lines about the input, a sentence each thing."""
    found: list[str] = []
    for line in about:
        name, words = line[:6].strip(), line[6:].strip()
        found += [f"{name}: {words}"] if name else []
        found[-1] += "" if name else f" {words}"
    return found
