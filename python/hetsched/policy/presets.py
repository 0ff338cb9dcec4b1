"""Named schedulers: a table of compositions of parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from hetsched.naming import named_in
from hetsched.policy.parts import ROLES, parameters_of, resolved, shown_parameters, value_text


@named_in("hetsched.policy")
@dataclass(frozen=True)
class Preset:
    """A named composition.

    Parameters
    ----------
    name
        As in ``simulate(policy=name)``.
    doc
        A line about what it does.
    source
        Its paper or textbook.
    composition
        From role to part: a name, or a dictionary of name and parameters.
    optional
        From role to a part that joins when one of its parameters is given.
    reads_conf
        Whether its backfill's settings may come from a slurm.conf, the parameter ``conf``.
    """

    name: str
    doc: str
    source: str
    composition: dict[str, Any] = field(default_factory=dict)
    optional: dict[str, str] = field(default_factory=dict)
    reads_conf: bool = False

    def parts(self) -> dict[str, Any]:
        """A part for every role."""
        return {"order": "fcfs", "backfill": "none", "placement": "lowest-id", **dict.fromkeys(ROLES[3:])} | (
            self.composition
        )

    def joining(self, parts: Mapping[str, Any], given: Iterable[str]) -> dict[str, str]:
        """The optional parts of roles that `parts` leaves empty and of which `given` names a parameter."""
        names = [name.removeprefix(f"{role}.") for role in self.optional for name in given]
        return {
            role: part
            for role, part in self.optional.items()
            if parts.get(role) is None and set(names) & set(parameters_of(role, part))
        }


_STATUS_REPORT = "textbook; Feitelson, Rudolph & Schwiegelshohn, Parallel Job Scheduling: A Status Report, JSSPP 2004"
_BACKFILLING = "Mu'alem & Feitelson, IEEE TPDS 12(6), 2001"

_COA = "Zhou, Fukazawa & Nakashima, Energy Aware Scheduler of Single/Multi-node Jobs Exploiting Node Heterogeneity"
_POOLS = (
    "Li, Fukazawa, Nakashima & Nanri, A Node Level Performance/Power Efficiency Aware Resource Management Technique, "
    "IPSJ SIG Notes 2018-HPC-166(3)"
)

_VAHRM = (
    "Yoshida et al., VAHRM: Variation-Aware Resource Management in Heterogeneous Supercomputing Systems, "
    "IEEE TPDS 36(8), 2025"
)
_EASY = {"name": "reservations", "depth": 1}
_BUDGET = {"power": "system-budget"}

_POWER_AWARE_SLURM = (
    "Sakamoto et al., Production Hardware Overprovisioning: Real-world Performance Optimization using an Extensible "
    "Power-aware Resource Management Framework, IPDPS 2017"
)
_NQSV = "NEC NQSV, with the settings of Tohoku University's AOBA"
_WITH_EMERGENCIES = (
    Preset(
        "power-slurm",
        doc="EASY backfilling under a power budget; caps are lowered, then jobs killed, where the draw rises above it.",
        source=_POWER_AWARE_SLURM,
        composition={
            "backfill": _EASY,
            "power": {"name": "system-budget", "on_excess": ["lower-caps", "kill"]},
        },
    ),
)
"""Presets of emergencies, which an engine without them does not run."""

PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            "fcfs",
            doc="First come, first served: a job that does not fit blocks all behind it.",
            source=_STATUS_REPORT,
        ),
        Preset(
            "easy",
            doc="EASY backfilling: later jobs may start if they do not delay the first that waits.",
            source=f"Lifka, The ANL/IBM SP Scheduling System, JSSPP 1995; the rule as in {_BACKFILLING}",
            composition={"backfill": {"name": "reservations", "depth": 1}},
        ),
        Preset(
            "easy-sjbf",
            doc="EASY backfilling with the shortest jobs looked at first: EASY-SJBF.",
            source="Tsafrir, Etsion & Feitelson, IEEE TPDS 18(6), 2007",
            composition={"backfill": {"name": "reservations", "depth": 1, "order": "shortest"}},
        ),
        Preset(
            "fair-share",
            doc="EASY backfilling, first the job of the user who has used least of late, with a half-life of a week.",
            source="Kay & Lauder, A Fair Share Scheduler, CACM 31(1), 1988; decay as in Slurm's multifactor priority",
            composition={"order": "fair-share", "backfill": {"name": "reservations", "depth": 1}},
        ),
        Preset(
            "conservative",
            doc="Conservative backfilling: later jobs may start if they delay none before them.",
            source=_BACKFILLING,
            composition={"backfill": {"name": "reservations", "depth": "unbounded"}},
        ),
        Preset(
            "sjf",
            doc="Shortest job first, by walltime; a job that does not fit blocks all behind it.",
            source="textbook",
            composition={"order": "shortest"},
        ),
        Preset(
            "ljf",
            doc="Largest job first, by node count; a job that does not fit blocks all behind it.",
            source="textbook",
            composition={"order": "largest"},
        ),
        Preset(
            "random",
            doc="First come, first served on random free nodes.",
            source=f"textbook; a baseline of {_POOLS}",
            composition={"placement": "random"},
        ),
        Preset(
            "sequence",
            doc="First come, first served on the free nodes of lowest number.",
            source=f"textbook; a baseline of {_POOLS}",
        ),
        Preset(
            "naive",
            doc="First come, first served on the free nodes of lowest number; unaware of how nodes and jobs differ.",
            source=_COA,
        ),
        Preset(
            "paa",
            doc="First come, first served on the free nodes that draw least, averaged over all applications.",
            source=_COA,
            composition={"placement": "best-rank"},
        ),
        Preset(
            "coa",
            doc="First come, first served, the jobs of a pass matched to the free nodes at the least predicted energy.",
            source=f"{_COA}, section 2.3.1",
            composition={"placement": "assignment"},
        ),
        Preset(
            "swa",
            doc="First come, first served on free nodes of like speed, for jobs that wait for their slowest node.",
            source=f"{_COA}, section 2.3.2",
            composition={"placement": "sliding-window"},
        ),
        Preset(
            "pool",
            doc="First come, first served on random free nodes of the most efficient pool that has any.",
            source=f"{_POOLS}, section 4",
            composition={"placement": "pools"},
        ),
        Preset(
            "vu-fcfs",
            doc="First come, first served on random free nodes: unaware of how nodes differ.",
            source=f"{_VAHRM}, table V",
            composition={"placement": "random"},
            optional=_BUDGET,
        ),
        Preset(
            "vu-fcfs-b",
            doc="EASY backfilling on random free nodes: unaware of how nodes differ.",
            source=f"{_VAHRM}, table V",
            composition={"backfill": _EASY, "placement": "random"},
            optional=_BUDGET,
        ),
        Preset(
            "cva-fcfs",
            doc="First come, first served; CPU jobs on the free nodes that draw least, others on random ones.",
            source=f"{_VAHRM}, table V, after Chasapis et al.",
            composition={"placement": "lowest-power-cpu"},
            optional=_BUDGET,
        ),
        Preset(
            "cva-fcfs-b",
            doc="EASY backfilling; CPU jobs on the free nodes that draw least, others on random ones.",
            source=f"{_VAHRM}, table V, after Chasapis et al.",
            composition={"backfill": _EASY, "placement": "lowest-power-cpu"},
            optional=_BUDGET,
        ),
        Preset(
            "cgva-fcfs",
            doc="First come, first served on the free nodes that draw least for the job's application.",
            source=f"{_VAHRM}, table V",
            composition={"placement": "lowest-power"},
            optional=_BUDGET,
        ),
        Preset(
            "cgva-fcfs-b",
            doc="EASY backfilling on the free nodes that draw least for the job's application.",
            source=f"{_VAHRM}, table V",
            composition={"backfill": _EASY, "placement": "lowest-power"},
            optional=_BUDGET,
        ),
        Preset(
            "vahrm",
            doc="Every job that fits starts, by predicted energy and wait, where it draws least, under a power budget.",
            source=f"{_VAHRM}, section III",
            composition={
                "order": "vahrm",
                "backfill": "first-fit",
                "placement": "lowest-power",
                "power": "system-budget",
            },
        ),
        Preset(
            "hetsched",
            doc="Every job that fits starts, where its nodes are worth least to others; long waits hold reservations.",
            source="this project; docs/background/hetsched-preset.md",
            composition={
                "order": {"name": "vahrm", "beta": 0.25**8, "length": "walltime", "starvation_limit_s": "none"},
                "backfill": {"name": "patience", "patience_s": 129_600},
                "placement": "opportunity-cost",
            },
            optional=_BUDGET,
        ),
        Preset(
            "replay",
            doc="The log as observed: each job at its observed start, on the nodes that the log names.",
            source="the log itself: columns observed_start_s and observed_nodes",
            composition={"order": "observed", "backfill": "observed", "placement": "observed"},
        ),
        *(_WITH_EMERGENCIES if "on_excess" in parameters_of("power", "system-budget") else ()),
        Preset(
            "nqsv",
            doc="A plan of named nodes made every 30 s, and idle nodes switched off until their next planned job.",
            source=_NQSV,
            composition={"backfill": {"name": "plan", "interval_s": 30}, "sleep": "nqsv"},
        ),
        Preset(
            "slurm",
            doc="Slurm's own main loop and backfill, with the settings of a slurm.conf: slurm:conf=slurm.conf.",
            source="Slurm 22.05 to 25.05; docs/how-to/slurm.md",
            composition={"backfill": "slurm"},
            reads_conf=True,
        ),
    )
}
"""Every preset by its name."""


def presets() -> pl.DataFrame:
    """The named schedulers and their parts.

    Returns
    -------
    polars.DataFrame
        One row a preset: ``name``; its part in each role, ``order, backfill, placement, power, sleep`` (null: none);
        ``source``, the paper or textbook; ``parameters``, those of its parts with the values it gives them; of a
        part that has many only those that are not its defaults.

    Examples
    --------
    >>> presets().filter(pl.col("name") == "easy").row(0, named=True)["parameters"]
    'backfill.depth=1, backfill.order=policy'
    """
    return pl.DataFrame([_row(preset) for preset in PRESETS.values()], schema=_SCHEMA)


_SCHEMA = dict.fromkeys(("name", *ROLES, "source", "parameters"), pl.String)


def _row(preset: Preset) -> dict[str, str | None]:
    composition = resolved(preset.parts())
    parameters = []
    for role in ROLES:
        chosen = composition[role] or {}
        parameters += [f"{role}.{name}={value_text(value)}" for name, value in shown_parameters(role, chosen).items()]
    return {
        "name": preset.name,
        **{role: None if part is None else part["name"] for role, part in composition.items()},
        "source": preset.source,
        "parameters": ", ".join(parameters),
    }
