"""Lines that an administrator adds to slurm.conf and job_submit.lua before a bridge can hold jobs back."""

from __future__ import annotations

from collections.abc import Sequence

from hetsched.slurm_bridge.standing import GATE

LICENCES = 1_000_000


def conf_lines(partition: str, nodes: Sequence[str]) -> list[str]:
    """Lines of slurm.conf; those of nodes add each one's own name to the features that it has."""
    return [
        "# slurm.conf: add to the lines that are there; then `scontrol reconfigure`",
        f"Licenses={GATE}:{LICENCES}          # besides those that there are, with a comma between",
        "SchedulerParameters=default_queue_depth=10000   # besides what is set; without bf_licenses",
        "JobSubmitPlugins=lua              # unless each user asks for the gate: sbatch -L hetsched:1",
        f"PartitionName={partition} OverSubscribe=EXCLUSIVE   # besides its nodes and limits",
        *(f"NodeName={name} Feature={name}     # besides its other features" for name in nodes),
    ]


def lua_lines(partition: str, *, is_default: bool) -> list[str]:
    """The lines of job_submit.lua that give every batch job of the partition the gate."""
    other = f"d.partition ~= '{partition}'"
    if is_default:
        other = f"d.partition ~= nil and {other}"
    return [
        f"-- job_submit.lua: jobs of {partition} ask for the gate; without a bridge it holds nobody back",
        "local function gate(d)",
        f"   if {other} then return end",
        "   if d.script == nil or d.script == '' then return end   -- srun and salloc wait for nobody",
        f"   if d.licenses == nil or d.licenses == '' then d.licenses = '{GATE}:1'",
        f"   elseif not string.find(d.licenses, '{GATE}') then d.licenses = d.licenses .. ',{GATE}:1' end",
        "end",
        "function slurm_job_submit(d, parts, uid) gate(d); return slurm.SUCCESS end",
        "function slurm_job_modify(d, rec, parts, uid) return slurm.SUCCESS end",
        "return slurm.SUCCESS",
    ]
