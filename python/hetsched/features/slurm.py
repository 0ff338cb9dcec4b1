"""Slurm's scheduler on a machine: the lines of nodes by which it chooses."""

from __future__ import annotations

from dataclasses import replace

from hetsched.checks import Faults, many
from hetsched.features.feature import AnySetting, Setting
from hetsched.platform import Platform
from hetsched.policy.node_lines import counts_of, text_of


def check(run: Setting) -> None:
    """Raise if the policy's lines of nodes are of another machine, or it limits each of several users."""
    lines, faults = _lines(run), Faults("policy.backfill")
    counts = counts_of(lines)
    if counts and sum(counts) != run.platform.nodes:
        found = f"lines of {many(sum(counts), 'node')} under {run.policy.name}"
        expected = (
            f"those of the platform's {many(run.platform.nodes, 'node')}, or none: a line for each of its classes"
        )
        faults.note("node_lines", found, expected)
    jobs, most = run.workload.to_polars(), (run.policy.parts["backfill"] or {})["bf_max_job_user"]
    if most and "user" in jobs.columns and (users := jobs["user"].drop_nulls().n_unique()) > 1:
        found = f"{most}, and {many(users, 'user')} in {run.workload.source}"
        faults.note("bf_max_job_user", found, "0, or a log of one user: a limit for each of several is not simulated")
    faults.check()


def settle(run: AnySetting) -> AnySetting:
    """The same run with lines of nodes of the platform's classes, if the policy has none."""
    if counts_of(_lines(run)):
        return run
    part = {**(run.policy.parts["backfill"] or {}), "node_lines": lines_of(run.platform)}
    return replace(run, policy=run.policy._changed(backfill=part))


def lines_of(platform: Platform) -> str:
    """A line for each class, with its nodes' slots and weight."""
    return text_of((one.count, one.slots, 1 if one.weight is None else one.weight) for one in platform.classes)


def _lines(run: Setting) -> str:
    return str((run.policy.parts["backfill"] or {})["node_lines"])
