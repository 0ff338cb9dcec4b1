"""ITO-A as three papers describe it: power and speed of its nodes under two benchmarks and one program.

Watts are those of RAPL's domains, package (PKG) and memory (DRAM), as the papers print them; nothing else is counted.
The papers print ranges over some 2,000 nodes. Drawn here: normal distributions whose printed range is `WIDTH_SD`
standard deviations, correlated as the papers say in words.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hetsched.chance import stream
from hetsched.experiments.experiment import Parameter, Parameters
from hetsched.platform import Platform, VariationTable
from hetsched.variation.sampling import Normal, sample_components

COA_SWA = "Zhou, Fukazawa & Nakashima, Energy Aware Scheduler of Single/Multi-node Jobs Exploiting Node Heterogeneity"

NODE_WATTS, TIMES, CAPPED, FFT2D = Parameters(), Parameters(), Parameters(), Parameters()
"""Parameters of nodes without a cap, of their times, of nodes under a cap, and of FFT2D."""

WIDTH_SD = 6.8
"""The range of some 1,500 to 2,000 normal values is expected to be this many standard deviations."""

_RANGE = f"printed range = {WIDTH_SD} sd of a normal distribution"
_EXPECTED = "expected range of some 1,500 to 2,000 normal values"

HPCG_PKG_W = NODE_WATTS.printed("hpcg_pkg_w", (107.0, 124.0), _RANGE)
HPCG_DRAM_W = NODE_WATTS.printed("hpcg_dram_w", (30.0, 40.0))
STREAM_PKG_W = NODE_WATTS.printed("stream_pkg_w", (119.0, 123.0))
STREAM_DRAM_W = NODE_WATTS.printed("stream_dram_w", (60.0, 78.0))
NODE_WATTS.assumed("range_in_sd", WIDTH_SD, _EXPECTED)
BETWEEN_APPS = {
    "pkg": NODE_WATTS.assumed("correlation_pkg", 0.2, "for 'not a strong relation' between the applications"),
    "dram": NODE_WATTS.assumed("correlation_dram", 0.9, "for 'tendencies are similar'"),
}
NODE_WATTS.noted("correlation_pkg_dram", 0.0, "'no clear relationship'")

HPCG_S = TIMES.assumed(
    "time_range_s", (130.0, 151.0), "for all applications, as a share of the mean: what is printed for HPCG 104³"
)
TIMES.noted("correlation_time", 0.0, "'no strong relationship with power'; assumed between applications, too")

CAP_W = CAPPED.printed("cap_w", 40.0, "package watts, in the paper's own count")
CAPPED.noted("pkg_w", CAP_W, "'very close' on all nodes under the cap: equal")
CAPPED.noted("dram_w", HPCG_DRAM_W, f"'insensitive' to the cap; {_RANGE}")
CAPPED_S = CAPPED.printed("time_range_s", (250.0, 400.0), _RANGE)
CAPPED.noted("correlation_dram_time", 0.0, "'almost independent'")
CAPPED.assumed("range_in_sd", WIDTH_SD, _EXPECTED)

FFT2D.assumed("fft2d_pkg_w", HPCG_PKG_W, "as HPCG; the paper prints no watts of FFT2D")
PACKAGE_SHARE = FFT2D.noted(
    "fft2d_package_share", 0.64, "follows from the paper's three savings: package, memory, total"
)
FFT2D_DRAM_RANGE_RATIO = FFT2D.assumed("fft2d_dram_range_ratio", 0.25, "range over mean, as HPCG's memory")
FFT2D.assumed("fft2d_correlation", BETWEEN_APPS, "with each benchmark, as between the benchmarks")

_MEAN_S = sum(HPCG_S) / 2
_CAPPED_MEAN_S = sum(CAPPED_S) / 2


@dataclass(frozen=True)
class Machine:
    """A draw of the machine: its nodes, and what each draws under any of its applications."""

    platform: Platform
    package_w: npt.NDArray[np.float64]
    memory_w: npt.NDArray[np.float64]


_BENCHMARKS = {
    ("hpcg", "pkg"): Normal.of_range(*HPCG_PKG_W, width_sd=WIDTH_SD),
    ("hpcg", "dram"): Normal.of_range(*HPCG_DRAM_W, width_sd=WIDTH_SD),
    ("stream", "pkg"): Normal.of_range(*STREAM_PKG_W, width_sd=WIDTH_SD),
    ("stream", "dram"): Normal.of_range(*STREAM_DRAM_W, width_sd=WIDTH_SD),
}
_UNCAPPED_TIME = Normal.of_range(HPCG_S[0] / _MEAN_S, HPCG_S[1] / _MEAN_S, width_sd=WIDTH_SD)


def _implied_correlation() -> float:
    """Correlation of the two benchmarks' node watts that follows from spreads and correlations of the components."""
    sd = {key: normal.sd for key, normal in _BENCHMARKS.items()}
    common = sum(BETWEEN_APPS[domain] * sd["hpcg", domain] * sd["stream", domain] for domain in BETWEEN_APPS)
    whole = [np.hypot(sd[app, "pkg"], sd[app, "dram"]) for app in ("hpcg", "stream")]
    return float(common / np.prod(whole))


IMPLIED = Parameter(
    "implied_correlation", round(_implied_correlation(), 3), "follows: of a node's watts under the two benchmarks"
)
"""Knowledge of each that a rank blind to applications can have."""


def single_nodes(seed: int, *, nodes: int, times_vary: bool) -> Platform:
    """Nodes without a cap, under HPCG and STREAM (COA/SWA paper, Fig. 6); times that vary leave watts as they are."""
    sample = sample_components(
        _BENCHMARKS,
        nodes=nodes,
        seed=seed,
        between_apps=BETWEEN_APPS,
        time_ratio=dict.fromkeys(("hpcg", "stream"), _UNCAPPED_TIME) if times_vary else None,
    )
    return _platform(sample.table)


def capped_nodes(seed: int, *, nodes: int) -> Platform:
    """Nodes under a package cap of 40 W, under HPCG (COA/SWA paper, Fig. 9 and 10).

    A time factor of 1 is the mean time under the cap: run lengths are those of capped jobs.
    """
    low, high = (end / _CAPPED_MEAN_S for end in CAPPED_S)
    sample = sample_components(
        {("hpcg", "pkg"): Normal(CAP_W, 0.0), ("hpcg", "dram"): _BENCHMARKS["hpcg", "dram"]},
        nodes=nodes,
        seed=seed,
        time_ratio={"hpcg": Normal.of_range(low, high, width_sd=WIDTH_SD)},
    )
    return _platform(sample.table)


def fft2d_nodes(seed: int, *, nodes: int, apps: tuple[str, ...], id_correlation: float, is_known: bool) -> Machine:
    """Nodes under FFT2D, ranked by the benchmarks HPCG and STREAM (hierarchy pool paper, sections 3 and 5).

    Predicted for every application of `apps` is the mean of the benchmarks on that node, so that the rank is the
    benchmarks'; with `is_known` it is what is actual: FFT2D's own watts, which correlate with the benchmarks' as
    `FFT2D` says. `id_correlation` is a node number's with its mean benchmark watts: negative, low numbers draw more.
    """
    sample = sample_components(
        {**_BENCHMARKS, **_fft2d_watts()},
        nodes=nodes,
        seed=seed,
        between_apps=BETWEEN_APPS,
        time_ratio={app: Normal(1.0, 0.0) for app in ("hpcg", "stream")} | {"fft2d": _UNCAPPED_TIME},
    )
    watts, times = sample.table.power_w, sample.table.time_ratio
    assert watts is not None
    assert times is not None
    benchmarks = watts[:2].mean(axis=0)
    order = _numbered(benchmarks, id_correlation, seed)
    predicted = benchmarks[order]
    pkg, dram, time = (rows[2, order] for rows in (sample.components["pkg"], sample.components["dram"], times))

    actual = VariationTable(apps, power_w=[pkg + dram] * len(apps), time_ratio=[time] * len(apps))
    expected = actual if is_known else VariationTable(apps, power_w=[predicted] * len(apps))
    return Machine(_platform(actual, predicted=expected), pkg, dram)


def _fft2d_watts() -> dict[tuple[str, str], Normal]:
    pkg = _BENCHMARKS["hpcg", "pkg"]
    mean = pkg.mean * (1 - PACKAGE_SHARE) / PACKAGE_SHARE
    return {("fft2d", "pkg"): pkg, ("fft2d", "dram"): Normal(mean, mean * FFT2D_DRAM_RANGE_RATIO / WIDTH_SD)}


def _numbered(watts: npt.NDArray[np.float64], correlation: float, seed: int) -> npt.NDArray[np.intp]:
    """Order of the drawn nodes whose numbers correlate with watts."""
    score = (watts - watts.mean()) / watts.std()
    noise = stream(seed, "node numbers").standard_normal(len(watts))
    return np.argsort(correlation * score + np.sqrt(1 - correlation**2) * noise, kind="stable")


def _platform(actual: VariationTable, *, predicted: VariationTable | None = None) -> Platform:
    # Idle watts are not in the papers and not in any of their numbers.
    nodes = Platform.homogeneous(nodes=actual.nodes, idle_w=0.0, tdp_w=400.0)
    return nodes.with_tables(actual=actual, predicted=predicted)
