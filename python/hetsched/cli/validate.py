"""``hetsched validate``: how near a simulated schedule is to the one that a log recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import hetsched as hs
from hetsched.checks import Faults
from hetsched.cli import options as opt
from hetsched.cli.calibration import CalibrationGiven
from hetsched.cli.declare import OUTPUT, number, option
from hetsched.cli.inputs import Inputs, MeasuredLog
from hetsched.cli.named_policies import PolicyGiven, of_policy, policy_of
from hetsched.cli.options import check_output, folder, only_of_a_log
from hetsched.cli.pictures import Log, draw_validation
from hetsched.cli.run_options import RunGiven
from hetsched.cli.terminal import Screen, command_line, noted, renamed
from hetsched.cli.window import UnmeasuredWindow

_VALIDATION = "Validation"
_WARMUP_HELP = "Jobs submitted so soon after the first do not count; default: a week, or a tenth of the log."
_COOLDOWN_HELP = "The same before the last submit."
_POWER_HELP = "Measured power: .parquet or .csv with time_s and power_w, each value up to the next."
_BASELINE_HELP = "A policy that is scored, too, or none; default: easy."
_HORIZON_HELP = "Begin again every so often from what the log observed: 1h, 1d, several by commas; none: one run."
_NONE = "none"
_UNITS_S = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


def horizons(faults: Faults, option: str, text: str) -> list[float | None] | None:
    """Spans by commas, each a number with a unit or of seconds, or none."""
    found: list[float | None] = []
    for one in text.split(","):
        word = one.strip()
        number, unit = (word[:-1], word[-1]) if word[-1:] in _UNITS_S else (word, "s")
        try:
            found.append(None if word == _NONE else float(number) * _UNITS_S[unit])
        except ValueError:
            faults.add(option, one, "a span such as 3600, 90m, 1h or 1d, or none, the open loop; several by commas")
            return None
    return found


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
    horizon: Annotated[
        list[float | None] | None, option("--horizon", "SPANS", _HORIZON_HELP, _VALIDATION, read=horizons)
    ] = None
    out: Annotated[str | None, option("--out", "DIR", "Write the tables there, as CSV.", OUTPUT, read=folder)] = None
    plot: opt.Plot = None
    report: opt.Report = None
    title: opt.Title = ""

    @property
    def unused(self) -> Mapping[str, Any]:
        """Options that a calibration has no use for, where they are given."""
        names = ("warmup_s", "cooldown_s", "power", "horizon", "plot", "report")
        given = {name: getattr(self, name) for name in names}
        return given if self.baseline == "easy" else {**given, "baseline": self.baseline}

    def scored(self) -> Mapping[str, Any]:
        """The arguments of `hetsched.validate` that a result takes as well."""
        from hetsched.tables import read_table

        power = None if self.power is None else read_table(self.power, "a table with time_s and power_w").frame
        return {"warmup_s": self.warmup_s, "cooldown_s": self.cooldown_s, "power": power}


@dataclass(frozen=True)
class WholeLog(MeasuredLog):
    """A log whose whole run is scored; `ValidationGiven` says which jobs count."""

    window: UnmeasuredWindow = field(default_factory=UnmeasuredWindow)


@dataclass(frozen=True)
class WholeInputs(Inputs):
    """The options of the workload and machine of a validation."""

    log: WholeLog


def validate(
    screen: Screen,
    faults: Faults,
    *,
    policy: PolicyGiven,
    asked: ValidationGiven,
    calibration: CalibrationGiven,
    inputs: WholeInputs,
    run: RunGiven,
) -> None:
    """Score a simulated schedule against the starts that a log observed; TRACE may be the folder of a result."""
    assumed: Sequence[str] = ()
    calibration.check(faults, run, asked.unused)
    opt.check_title(faults, asked.title, asked.report)
    if calibration.calibrate:
        calibration.answer(screen, inputs, _checked(faults, inputs, run, policy, asked)[0], run, asked.out)
        return
    if Path(inputs.log.trace).is_dir():
        if asked.horizon is not None:
            faults.note("--horizon", "spans", "nothing with the folder of a result")
        only_of_a_log(faults, inputs, policy)
        faults.check()
        check_output(asked.out)
        found, log = _of_result(inputs.log.trace, asked)
    else:
        policies = _checked(faults, inputs, run, policy, asked)
        check_output(asked.out)
        found, log, assumed = _of_log(screen, inputs, run, policies, asked)
    from hetsched.report.validations import report

    screen.report(report(found))
    written = [] if asked.out is None else found.write(asked.out)
    written += [] if asked.plot is None else draw_validation(asked.plot, found, log)
    if asked.report is not None:
        written.append(found._page(title=asked.title, assumed=assumed, command=command_line()).write(asked.report))
    screen.give(found.to_dict(), written)


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


def _of_result(folder: str, asked: ValidationGiven) -> tuple[hs.Validation, Log]:
    """The scores of a result, and what pictures say of its log."""
    from hetsched.report.canvas import unix_zero

    result = hs.read_result(folder)
    found, said = hs.validate(result, **asked.scored()), result.provenance
    zero_s = unix_zero(said, float(result.jobs["submit_s"][0]))
    return found, Log(said["platform"]["nodes"], said["trace"]["name"], zero_s)


def _of_log(
    screen: Screen,
    inputs: Inputs,
    run: RunGiven,
    policies: tuple[hs.Policy | None, hs.Policy | None],
    asked: ValidationGiven,
) -> tuple[hs.Validation, Log, Sequence[str]]:
    """The scores of a run that is made for them, what pictures say of its log, and what was assumed."""
    from hetsched.workload.clock import unix_zero

    scored = asked.scored()
    workload, machine = inputs.read(screen)
    run.check_inputs(workload, machine.platform)
    # What the log ran, runs.
    options = {**vars(run.options()), "kill_at_walltime": False}
    with renamed({"horizon_s": "--horizon", **run.given_names}), run.in_contract():
        found = hs.validate(
            workload,
            machine.platform,
            policies[0],
            baseline=policies[1],
            horizon_s=asked.horizon,
            **scored,
            **options,
        )
    return found, Log(machine.platform.nodes, workload.source, unix_zero(workload)), machine.notes
