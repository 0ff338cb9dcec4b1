"""A Slurm that a test moves by hand: jobs and nodes, and readings of them."""

from __future__ import annotations

from dataclasses import replace

from hetsched.slurm_bridge.nodes import SeenNode
from hetsched.slurm_bridge.readings import Reading
from hetsched.slurm_bridge.standing import JobKey, SeenJob

START_S = 1_795_724_000


class StandIn:
    """Nodes n1 to nN, and jobs by id."""

    def __init__(self, nodes: int = 4) -> None:
        self.names = [f"n{number}" for number in range(1, nodes + 1)]
        self.states = dict.fromkeys(self.names, "idle")
        self.jobs: dict[str, SeenJob] = {}
        self.over: dict[str, str] = {}
        self.apps: dict[str, str] = {}
        self.error: Exception | None = None
        self.t_us = START_S * 1_000_000

    def submit(self, id_, nodes=1, **changes):
        key = JobKey(START_S, str(id_), 1000)
        base = SeenJob(
            key,
            state="PENDING",
            reason="None",
            partitions=("batch",),
            node_count=nodes,
            limit_s=600.0,
            eligible_s=START_S,
            start_s=None,
            restarts=0,
            priority=1000,
            is_part=False,
            constraint=None,
            licences=(),
            nodes=(),
        )
        self.jobs[str(id_)] = replace(base, **changes)

    def start(self, id_, *nodes, state="RUNNING", **changes):
        now_s = self.t_us // 1_000_000
        self.change(id_, state=state, reason="None", nodes=nodes, start_s=now_s, **changes)

    def change(self, id_, **changes):
        self.jobs[str(id_)] = replace(self.jobs[str(id_)], **changes)

    def end(self, id_, state="COMPLETED"):
        del self.jobs[str(id_)]
        self.over[str(id_)] = state

    def read(self):
        if self.error is not None:
            raise self.error
        jobs = sorted(self.jobs.values(), key=lambda job: (job.key.submit_s, [int(x) for x in job.key.id.split("_")]))
        return Reading(jobs, [SeenNode(name, self.states[name], (name,)) for name in self.names])

    def applications(self, keys):
        return {key.id: self.apps[key.id] for key in keys if key.id in self.apps}

    def ends(self, keys):
        return {key.id: self.over[key.id] for key in keys if key.id in self.over}

    def clock(self):
        self.t_us += 1_000_000
        return self.t_us

    def real(self):
        return self.t_us / 1e6
