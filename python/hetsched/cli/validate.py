"""``hetsched validate``: how near a simulated schedule is to the one that a log recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import hetsched as hs
from hetsched.checks import Faults
from hetsched.cli.calibration import CalibrationGiven
from hetsched.cli.declare import OUTPUT, number, option
from hetsched.cli.inputs import Inputs
from hetsched.cli.named_policies import PolicyGiven, of_policy, policy_of
from hetsched.cli.options import check_output, folder
from hetsched.cli.run_options import RunGiven
from hetsched.cli.terminal import Screen, noted, renamed

_VALIDATION = "Validation"
_WARMUP_HELP = "Jobs submitted so soon after the first do not count; default: a week, or a tenth of the log."
_COOLDOWN_HELP = "The same before the last submit."
_POWER_HELP = "Measured power: .parquet or .csv with time_s and power_w, each value up to the next."
_BASELINE_HELP = "A policy that is scored, too, or none; default: easy."
_NONE = "none"


@dataclass(frozen=True)
class ValidationGiven:
    """Options of a validation: the jobs that count, and the rivals of the run."""

    warmup_s: Annotated[
        float | None, option("--warmup-s", "S", _WARMUP_HELP, _VALIDATION, read=number("seconds", 0.0))
    ] = None
    cooldown_s: Annotated[
        float | None, option("--cooldown-s", "S", _COOLDOWN_HELP, _VALIDATION, read=number("seconds", 0.0))
    ] = None
    power: Annotated[str | None, option("--power", "F", _POWER_HELP, _VALIDATION)] = None
    baseline: Annotated[str, option("--baseline", "NAME", _BASELINE_HELP, _VALIDATION)] = "easy"
    out: Annotated[str | None, option("--out", "DIR", "Write the tables there, as CSV.", OUTPUT, read=folder)] = None

    @property
    def unused(self) -> Mapping[str, Any]:
        """Options that a calibration has no use for, where they are given."""
        given = {"warmup_s": self.warmup_s, "cooldown_s": self.cooldown_s, "power": self.power}
        return given if self.baseline == "easy" else {**given, "baseline": self.baseline}

    def scored(self) -> Mapping[str, Any]:
        """The arguments of `hetsched.validate` that a result takes as well."""
        from hetsched.tables import read_table

        power = None if self.power is None else read_table(self.power, "a table with time_s and power_w").frame
        return {"warmup_s": self.warmup_s, "cooldown_s": self.cooldown_s, "power": power}


def validate(
    screen: Screen,
    faults: Faults,
    *,
    policy: PolicyGiven,
    asked: ValidationGiven,
    calibration: CalibrationGiven,
    inputs: Inputs,
    run: RunGiven,
) -> None:
    """Score a simulated schedule against the starts that a log observed; TRACE may be the folder of a result."""
    calibration.check(faults, run, asked.unused)
    if calibration.calibrate:
        calibration.answer(screen, inputs, _checked(faults, inputs, run, policy, asked)[0], run, asked.out)
        return
    if Path(inputs.log.trace).is_dir():
        _check_result(faults, inputs, policy)
        check_output(asked.out)
        found = hs.validate(hs.read_result(inputs.log.trace), **asked.scored())
    else:
        policies = _checked(faults, inputs, run, policy, asked)
        check_output(asked.out)
        found = _of_log(screen, inputs, run, policies, asked)
    from hetsched.report.validations import report

    for block in report(found):
        if isinstance(block, str):
            screen.tell(block)
        else:
            screen.show(block)
    screen.give(found.to_dict(), [] if asked.out is None else found.write(asked.out))


def _check_result(faults: Faults, inputs: Inputs, policy: PolicyGiven) -> None:
    """Raise if the folder of a result comes with what only a log takes."""
    for group in (inputs, policy):
        for one in fields(group):
            value = getattr(group, one.name)
            if one.name != "log" and value not in (None, ()):
                faults.note(f"--{one.name.replace('_', '-')}", str(value), "nothing with the folder of a result")
    faults.check()


def _checked(
    faults: Faults, inputs: Inputs, run: RunGiven, policy: PolicyGiven, asked: ValidationGiven
) -> tuple[hs.Policy | None, hs.Policy | None]:
    """The policy and the baseline, once all options are known to be right."""
    inputs.check(faults)
    run.check(faults, inputs)
    chosen, baseline = policy.chosen(faults), None
    if asked.baseline != _NONE:
        with noted(faults), of_policy(asked.baseline, "--baseline"):
            baseline = policy_of(asked.baseline)
    faults.check()
    return chosen, baseline


def _of_log(
    screen: Screen,
    inputs: Inputs,
    run: RunGiven,
    policies: tuple[hs.Policy | None, hs.Policy | None],
    asked: ValidationGiven,
) -> hs.Validation:
    """The scores of a run that is made for them."""
    scored = asked.scored()
    workload, machine = inputs.read(screen)
    run.check_inputs(workload, machine.platform)
    # What the log ran, runs.
    options = {**vars(run.options()), "kill_at_walltime": False}
    with renamed(run.given_names), run.in_contract():
        return hs.validate(workload, machine.platform, policies[0], baseline=policies[1], **scored, **options)
