"""Plans of live runs, all that they are made of besides jobs, machine and policy: kept in the heads of journals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from hetsched.checks import Faults, shown
from hetsched.errors import LiveError
from hetsched.live.commands import Command
from hetsched.live.hands import Limits
from hetsched.live.launchers import Launcher, Local, Srun, Terms
from hetsched.live.machine import Nodes, allocated_nodes

LAUNCHERS: dict[str, Callable[[Nodes], Launcher]] = {"local": Local, "srun": Srun}
"""Ways to start commands, by name."""


@dataclass(frozen=True)
class Plan:
    """Commands, and the way they are run."""

    commands: Mapping[int, Command]
    launcher: str
    nodes: Nodes
    source: str
    terms: Terms = field(default_factory=Terms)
    limits: Limits = field(default_factory=Limits)
    requeues_lost: bool = False
    power: str = "model"
    acts_caps: bool = False
    """True if the policy's caps are set as limits of the processors."""
    decide_within_s: float = 0.05
    """The time within which steps should be decided; longer ones are counted."""
    fallback: Mapping[str, Any] = field(default_factory=lambda: {"preset": "easy"})
    """The policy that takes over when that of the run fails all the time, as plain values."""

    def to_json(self) -> dict[str, Any]:
        """The plan as an object in JSON."""
        nodes = {**asdict(self.nodes), "cpus": [list(share) for share in self.nodes.cpus]}
        return {
            "launcher": self.launcher,
            "machine": nodes,
            "source": self.source,
            "terms": asdict(self.terms),
            "limits": asdict(self.limits),
            "requeues_lost": self.requeues_lost,
            "power": self.power,
            "acts_caps": self.acts_caps,
            "decide_within_s": self.decide_within_s,
            "fallback": dict(self.fallback),
            "commands": {str(job): command.to_json() for job, command in self.commands.items()},
        }

    @classmethod
    def from_head(cls, head: Mapping[str, Any]) -> Plan:
        """The plan in a journal's head.

        Raises
        ------
        LiveError
            If there is none: it is the journal of a simulation.
        """
        if "commands" not in head:
            raise LiveError(f"found a journal of {shown(head.get('simulated', 'another host'))}, expected one of a run")
        return cls(
            {int(job): Command.from_json(command) for job, command in head["commands"].items()},
            head["launcher"],
            Nodes(**head["machine"]),
            head["source"],
            Terms(**head["terms"]),
            Limits(**head["limits"]),
            head["requeues_lost"],
            head["power"],
            head.get("acts_caps", False),
            head["decide_within_s"],
            head["fallback"],
        )

    def started(self) -> Launcher:
        """The launcher of a run that begins."""
        return LAUNCHERS[self.launcher](self.nodes)

    def resumed(self) -> Launcher:
        """The launcher of a run that goes on: under Slurm in the allocation that there is now.

        Raises
        ------
        ConfigError
            If that has another number of nodes, or there is none.
        """
        if self.launcher != "srun":
            return self.started()
        faults = Faults()
        nodes = allocated_nodes(faults)
        if nodes is not None and len(nodes) != len(self.nodes):
            faults.add("SLURM_JOB_NODELIST", len(nodes), f"{len(self.nodes)} nodes, as the run began with")
        faults.check()
        assert nodes is not None
        return Srun(nodes)
