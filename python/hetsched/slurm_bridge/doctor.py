"""The state of health of a cluster for a bridge: a line a check, and in words what will not work."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from hetsched.checks import few, many
from hetsched.slurm_bridge.calls import Slurm
from hetsched.slurm_bridge.facts import Facts, read_facts
from hetsched.slurm_bridge.standing import GATE

LEAST_RELEASE = (22, 5)
LEAST_LICENCES = 100_000
_MOST_OFFSET_S = 2
"""Seconds that clocks may be apart; Slurm's are whole ones."""
_DEFAULT_DEPTH = 100


@dataclass(frozen=True)
class Check:
    """A check: what it is about, whether it found a fault, and what it found in words."""

    name: str
    is_well: bool
    words: str

    @property
    def line(self) -> str:
        """The line that shows it."""
        return f"{'ok   ' if self.is_well else 'FAULT'} {self.name}: {self.words}"


def examine(slurm: Slurm, partition: str, *, real: Callable[[], float] = time.time) -> list[Check]:
    """All checks of a cluster, which change nothing; raises CallError and TableError if Slurm gives no answer."""
    return list(checks_of(read_facts(slurm, partition, real=real), partition))


def checks_of(facts: Facts, partition: str) -> Iterator[Check]:
    """The checks of what is known of a cluster."""
    yield _release(facts)
    yield _clock(facts)
    yield _licence(facts)
    yield _no_planned_licences(facts)
    yield _depth(facts)
    yield _partition(facts, partition)
    if facts.partition is not None:
        yield _whole_nodes(facts.partition)
        yield _limit(facts.partition)
        yield _features(facts)
    yield _gates(facts)
    yield _power_saving(facts)


def _release(facts: Facts) -> Check:
    version = facts.settings.get("SLURM_VERSION", "unknown")
    is_well = facts.release[:2] >= LEAST_RELEASE
    return Check("version", is_well, version if is_well else f"{version}; wishes for nodes (Prefer) need 22.05")


def _clock(facts: Facts) -> Check:
    if facts.as_of_s is None:
        return Check("clock", False, "the controller's time does not read")
    # The controller may have been slow to answer, and has looked at its clock at any moment of that time.
    begun_s, ended_s = facts.own_s
    offset_s = facts.as_of_s - min(max(facts.as_of_s, begun_s), ended_s)
    # A whole second is cut off.
    is_well = -_MOST_OFFSET_S <= offset_s <= _MOST_OFFSET_S - 1
    return Check("clock", is_well, f"the controller's and this machine's are {abs(offset_s):.0f} s apart")


def _licence(facts: Facts) -> Check:
    total = facts.licences.get(GATE)
    if total is None:
        return Check("licence", False, f"no licence `{GATE}`: no job can be held back; see `hetsched slurm conf`")
    if total < LEAST_LICENCES:
        expected = f"at least {LEAST_LICENCES:,}, one for each job at a time"
        return Check("licence", False, f"{total:,} of `{GATE}`, expected {expected}")
    return Check("licence", True, f"{total:,} of `{GATE}`")


def _no_planned_licences(facts: Facts) -> Check:
    if "bf_licenses" in facts.parameters:
        words = "bf_licenses is set: a job that waits for the gate would end the main loop for all others"
        return Check("bf_licenses", False, words)
    return Check("bf_licenses", True, "not set")


def _depth(facts: Facts) -> Check:
    text = facts.parameters.get("default_queue_depth", "")
    depth = int(text) if text.isdecimal() else _DEFAULT_DEPTH
    found = f"{depth:,}, with {many(facts.waiting, 'job')} in the queue"
    if depth >= facts.waiting:
        return Check("default_queue_depth", True, found)
    words = f"{found}: jobs without the gate may wait for backfill behind those with it; 10000 costs 1 ms a cycle"
    return Check("default_queue_depth", False, words)


def _partition(facts: Facts, partition: str) -> Check:
    if facts.partition is None:
        return Check("partition", False, f"there is no partition `{partition}`")
    state = facts.partition.get("State", "unknown")
    words = f"`{partition}` is {state}, with {many(len(facts.nodes), 'node')}"
    return Check("partition", state == "UP" and bool(facts.nodes), words)


def _whole_nodes(partition: Mapping[str, str]) -> Check:
    found = partition.get("OverSubscribe", "unknown")
    if found == "EXCLUSIVE":
        return Check("whole nodes", True, "OverSubscribe=EXCLUSIVE")
    words = f"OverSubscribe={found}: jobs may share nodes, and a policy gives whole ones; expected EXCLUSIVE"
    return Check("whole nodes", False, words)


def _limit(partition: Mapping[str, str]) -> Check:
    found = partition.get("MaxTime", "unknown")
    if found != "UNLIMITED":
        return Check("MaxTime", True, found)
    return Check("MaxTime", True, "UNLIMITED: jobs without a limit of their own are planned as if they ran for a year")


def _features(facts: Facts) -> Check:
    without = [node.name for node in facts.nodes if node.name not in node.features]
    if not without:
        return Check("features", True, "each node has its own name as a feature")
    words = f"{few(without)} without the own name as a feature: no wish can name them; see `hetsched slurm conf`"
    return Check("features", False, words)


def _gates(facts: Facts) -> Check:
    plugins = facts.settings.get("JobSubmitPlugins", "(null)")
    if "lua" in plugins.split(","):
        return Check("gate", True, "JobSubmitPlugins has lua; whether its script adds the gate was not tried")
    return Check("gate", True, f"no job_submit.lua: only jobs that ask for it have the gate (-L {GATE}:1)")


def _power_saving(facts: Facts) -> Check:
    program = facts.settings.get("SuspendProgram", "(null)")
    words = (
        "not configured" if program in ("(null)", "") else "configured; Slurm alone wakes nodes and puts them to sleep"
    )
    return Check("power saving", True, words)
