"""Events from outside a run: what does not go together, budgets in time, and failures drawn at random."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from hetsched.chance import stream
from hetsched.checks import Faults
from hetsched.errors import ConfigError
from hetsched.features.feature import Setting
from hetsched.params import Declared, choice, number, whole
from hetsched.platform import Platform
from hetsched.run.event_rows import BUDGET, FAILED, REPAIRED
from hetsched.run.events import Events
from hetsched.typing import UpTimes
from hetsched.units import TICKS_S

_MAX_S = 1e12


def failures(
    platform: Platform,
    mtbf_s: float,
    repair_s: float,
    distribution: UpTimes = "exponential",
    shape: float = 1.0,
    *,
    until_s: float,
    seed: int = 0,
) -> Events:
    """Failures and repairs of nodes, drawn at random for each node on its own.

    From time 0 on a node is up and down in turn: up for a random time, down for `repair_s`.

    Parameters
    ----------
    platform
        The machine.
    mtbf_s
        Mean up time of a node, seconds. A machine of n nodes fails n times as often.
    repair_s
        How long each repair takes, seconds.
    distribution
        Of up times: ``"exponential"``, whatever the node's age; or ``"weibull"``.
    shape
        Of the Weibull distribution: below 1 a node that was just repaired fails soonest, above 1 one that has been up
        for long. At 1 it is exponential.
    until_s
        Nodes fail before this instant, seconds on the log's clock. Each failure has its repair, be it later.
    seed
        From 0 to 2⁶⁴ - 1. Each node has random numbers of its own: nodes that are added change nothing for the others.

    Returns
    -------
    Events
        Rows of kinds ``node_failed`` and ``node_repaired``.

    Raises
    ------
    ConfigError
        If a value is invalid; lists all of them.

    Examples
    --------
    >>> import hetsched as hs
    >>> platform = hs.Platform.homogeneous(nodes=1000, idle_w=100, tdp_w=300)
    >>> year_s = 365 * 86400
    >>> drawn = hs.failures(platform, mtbf_s=year_s, repair_s=4 * 3600, until_s=30 * 86400)
    >>> drawn
    <Events: 152 events>
    """
    faults = Faults()
    given: object = platform
    if not isinstance(given, Platform):
        faults.add("platform", type(platform).__name__, "a Platform, as Platform.homogeneous makes it")
    asked = _Failures(mtbf_s, repair_s, distribution, shape, until_s, seed).checked(faults)
    faults.check()
    rows = [
        (fails / TICKS_S, repaired / TICKS_S, node)
        for node in range(platform.nodes)
        for fails, repaired in asked.outages(node)
    ]
    return Events.from_polars(_frame(rows))


_SECONDS = number(1e-6, _MAX_S, unit="seconds")


@dataclass(frozen=True)
class _Failures(Declared):
    """Failures as `failures` is asked for them."""

    mtbf_s: float = field(metadata=_SECONDS)
    repair_s: float = field(metadata=_SECONDS)
    distribution: UpTimes = field(metadata=choice(UpTimes))
    shape: float = field(metadata=number(0.1, 100.0))
    until_s: float = field(metadata=number(0.0, _MAX_S, unit="seconds"))
    seed: int = field(metadata=whole(0, 2**64 - 1))

    def _check(self, values: dict[str, Any], faults: Faults) -> None:
        del values
        if self.distribution == "exponential" and self.shape != 1.0:
            faults.add("shape", self.shape, 'nothing, or distribution="weibull"')

    def outages(self, node: int) -> Iterator[tuple[int, int]]:
        """Failures and repairs of a node, in whole microseconds."""
        now, repair, until = 0, max(1, round(self.repair_s * TICKS_S)), round(self.until_s * TICKS_S)
        for up_s in self._ups(node):
            # Up for a microsecond at least: a repair comes before a failure of the same instant.
            now += max(1, round(min(up_s, 2 * _MAX_S) * TICKS_S))
            if now >= until:
                return
            yield now, now + repair
            now += repair

    def _ups(self, node: int) -> Iterator[float]:
        """Up times of a node, seconds, without an end."""
        random = stream(self.seed, f"failures of node {node}")
        scale_s = self.mtbf_s / math.gamma(1 + 1 / self.shape)
        while True:
            # The inverse of the distribution: exponential at shape 1.
            yield scale_s * float(-np.log1p(-random.random())) ** (1 / self.shape)


def _frame(rows: list[tuple[float, float, int]]) -> pl.DataFrame:
    schema = {"fails": pl.Float64, "repaired": pl.Float64, "node": pl.Int64}
    drawn = pl.DataFrame(rows, schema=schema, orient="row")
    if len(drawn) and drawn["repaired"].to_numpy().max() > _MAX_S:
        raise ConfigError([("repair_s", "repairs beyond 1e12 s", "sooner ones")])
    kinds = (("fails", FAILED), ("repaired", REPAIRED))
    parts = [drawn.select(time_s=pl.col(name), kind=pl.lit(kind), node=pl.col("node")) for name, kind in kinds]
    return pl.concat(parts).sort("time_s", "kind", "node", descending=[False, True, False])


def check(run: Setting) -> None:
    """Raise if events cannot happen to these jobs on this platform under this policy."""
    assert run.options.events is not None
    run.options.events._check_for(run.workload, run.platform, run.policy)


def engine(run: Setting) -> Mapping[str, Any]:
    """Budgets in time."""
    assert run.options.events is not None
    return {"budgets": run.options.events._of_budgets()} if run.options.events.has(BUDGET) else {}
