"""Options that more than one verb takes, and completions of values by the shell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import hetsched as hs
from hetsched.cli.declare import OUTPUT, RUN, Option, option, whole
from hetsched.cli.files import folder, plot
from hetsched.params import parameters_of
from hetsched.run.options import RunOptions

MOST_SEED = 2**64 - 1

Out = Annotated[
    str | None, option("--out", "DIR", "Write jobs, timeline, nodes and summary there.", OUTPUT, read=folder)
]
Plot = Annotated[
    str | None,
    option("--plot", "PATH", "Draw one .png, .svg or .pdf, or all pictures into a folder.", OUTPUT, read=plot),
]


def seed(high: int = MOST_SEED) -> Option:
    """The option ``--seed``, for what takes seeds up to `high`."""
    return option("--seed", "S", parameters_of(RunOptions)["seed"].doc, RUN, read=whole(0, high))


def complete_policy(incomplete: str) -> Iterator[tuple[str, str]]:
    """Preset names that begin like this, each with its meaning."""
    return ((name, preset.doc) for name, preset in hs.policy.PRESETS.items() if name.startswith(incomplete))


def complete_policies(incomplete: str) -> Iterator[tuple[str, str]]:
    """Preset names behind the last comma."""
    before, comma, last = incomplete.rpartition(",")
    return ((f"{before}{comma}{name}", doc) for name, doc in complete_policy(last))


def complete_metrics(incomplete: str) -> Iterator[tuple[str, str]]:
    """Keys of metrics behind the last comma, each with its title."""
    before, comma, last = incomplete.rpartition(",")
    metrics = hs.analysis.METRICS.items()
    return ((f"{before}{comma}{key}", metric.title) for key, metric in metrics if key.startswith(last))


def complete_platform(incomplete: str) -> list[str]:
    """Names of machines that come with hetsched."""
    from hetsched.platform.shipped import machine_names

    return [name for name in machine_names() if name.startswith(incomplete)]
