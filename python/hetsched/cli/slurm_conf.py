"""``hetsched slurm conf``: the lines that an administrator adds to slurm.conf and job_submit.lua."""

from __future__ import annotations

from pathlib import Path

from hetsched.checks import Faults
from hetsched.cli.slurm_options import EventsPath, Partition, slurm
from hetsched.cli.terminal import Screen
from hetsched.errors import ConfigError


def conf(screen: Screen, faults: Faults, *, partition: Partition, events: EventsPath = None) -> None:
    """Print lines for slurm.conf and job_submit.lua; nothing is written."""
    from hetsched.slurm_bridge.conf import conf_lines, lua_lines
    from hetsched.slurm_bridge.events import hook_lines
    from hetsched.slurm_bridge.facts import read_facts

    faults.check()
    facts = read_facts(slurm(), partition)
    if facts.partition is None:
        raise ConfigError([("--partition", f"`{partition}`", "a partition of this cluster")])
    without = [node.name for node in facts.nodes if node.name not in node.features]
    lines = conf_lines(partition, without)
    lua = lua_lines(partition, is_default=facts.partition.get("Default") == "YES")
    hook = [] if events is None else hook_lines(str(Path(events).absolute()))
    for line in (*lines, "", *lua, *("" for _ in hook[:1]), *hook):
        screen.command(line)
    screen.give({"slurm_conf": lines, "job_submit_lua": lua, "hook": hook})
