"""A result as a run to be made again: its jobs, machine, policy and options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from hetsched.checks import Faults
from hetsched.errors import ConfigError
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.run.options import RunOptions
from hetsched.run.result import Result
from hetsched.run.result_files import JOB_COLUMNS
from hetsched.workload import Workload
from hetsched.workload.describe import Report
from hetsched.workload.schema import COLUMNS

_OBJECTS = ("events", "contract", "predictor")
"""Options of which a result holds a sum or a name only."""


def repeated(result: Result, given: Mapping[str, Any]) -> tuple[Workload, Platform, Policy, RunOptions]:
    """The ingredients of a result; options that are `given` again take precedence over the recorded ones.

    Raises
    ------
    ConfigError
        If the result does not hold what is needed: tables of its nodes' draw, objects of users' own, several policies,
        events, contracts and predictors that are not given again.
    """
    faults, said = Faults("result"), result.provenance
    if any(value is not None for name, value in said["tables"].items()):
        faults.note("tables", "sums of tables only", "a run without tables; give the log and the platform instead")
    if "policies_before" in said:
        faults.note("policy", "several policies", "a run under one; give the log and a policy instead")
    recorded = said["options"]
    known = {one.name for one in fields(RunOptions)}
    unknown = set(given) - known
    if unknown:
        raise TypeError(f"what_if() got an unexpected keyword argument {min(unknown)!r}")
    for name in _OBJECTS:
        if recorded.get(name) is not None and name not in given:
            faults.note(name, "a sum of it only", f"the same again, as the option {name}")
    faults.check()
    plain = {name: value for name, value in recorded.items() if name in known and name not in _OBJECTS}
    options = RunOptions(**{"seed": said["seed"], **plain, **given})
    return _jobs(result), _platform(said), _policy(said), options


def _jobs(result: Result) -> Workload:
    """The jobs as they were submitted, on the log's clock."""
    frame, said = result.jobs, result.provenance["trace"]
    frame = frame.with_columns(runtime_s=frame["nominal_runtime_s"])
    # A result has its own columns whether the log has them or not.
    known = [
        name
        for name in COLUMNS
        if name in frame.columns and not (name in JOB_COLUMNS and frame[name].null_count() == len(frame))
    ]
    jobs = Workload.from_polars(frame.select(known), source=said["name"]).to_polars()
    report = Report(said["name"], result.provenance["report"])
    return Workload(jobs, source=said["name"], report=report, history=said["history"])


def _platform(said: Mapping[str, Any]) -> Platform:
    own = said["platform"]
    names = ("classes", "exclusive", "cap_model", "queue", "pue", "currency")
    content = {name: own[name] for name in names if name in own}
    platform = Platform.from_dict({**content, "known_draws": said["known_draws"]["rule"]})
    if platform.sha256 != own["sha256"]:
        expected = "the platform of the run, sum and all; give the log and the platform instead"
        raise ConfigError([("result.platform", "a part of it", expected)])
    return platform


def _policy(said: Mapping[str, Any]) -> Policy:
    try:
        return Policy.from_dict(said["policy"])
    except ConfigError as error:
        raise error.mapped(lambda fault: fault.under("result")) from None
