"""Options of ``hetsched validate --calibrate``, and what it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any

import hetsched as hs
from hetsched.checks import Faults, did_you_mean, listed
from hetsched.cli import options as opt
from hetsched.cli.declare import flag, option, whole
from hetsched.cli.inputs import Inputs
from hetsched.cli.options import RUN_FILES, check_not_written_over, check_output, next_command
from hetsched.cli.run_options import RunGiven
from hetsched.cli.terminal import Screen
from hetsched.run.options import RunOptions

_PANEL = "Calibration"
_CALIBRATE_HELP = "Find settings in the log's first half, and score them on the second."
_EVALUATIONS_HELP = "With --calibrate: the most runs of the first half; default: 200."
_SETTINGS_HELP = "With --calibrate: change only these, with commas between, such as 'order,machine size'."
_EVENTS_HELP = "With --calibrate: score a run, too, that knows the outages of the second half."


def _names(faults: Faults, option: str, text: str) -> tuple[str, ...]:
    """Names of settings."""
    from hetsched.calibration.settings import SETTINGS

    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if name not in SETTINGS:
            faults.add(option, name, f"settings out of {listed(SETTINGS)}{did_you_mean(name, SETTINGS)}")
    return names


@dataclass(frozen=True)
class CalibrationGiven:
    """Options of a calibration."""

    calibrate: Annotated[bool, flag("--calibrate", _CALIBRATE_HELP, _PANEL)] = False
    evaluations: Annotated[
        int | None, option("--evaluations", "N", _EVALUATIONS_HELP, _PANEL, read=whole(1, 100_000))
    ] = None
    calibrated: Annotated[Sequence[str] | None, option("--settings", "NAME,…", _SETTINGS_HELP, _PANEL, read=_names)] = (
        None
    )
    known_events: Annotated[bool, flag("--known-events", _EVENTS_HELP, _PANEL)] = False
    workers: opt.Workers = None
    executor: opt.Executor = None

    def check(self, faults: Faults, run: RunGiven, others: Mapping[str, Any]) -> None:
        """Note options of a calibration without one, and with one those that it has no use for."""
        opt.check_executor(faults, self.workers, self.executor)
        if not self.calibrate:
            own = {"--evaluations": self.evaluations, "--settings": self.calibrated}
            own |= {"--workers": self.workers, "--executor": self.executor}
            for name, value in own.items():
                if value is not None:
                    faults.note(name, str(value), "--calibrate as well")
            if self.known_events:
                faults.note("--known-events", "it", "--calibrate as well")
            return
        default = RunOptions()
        changed = [one.name for one in fields(RunOptions) if getattr(run.plain, one.name) != getattr(default, one.name)]
        given = {name: getattr(run.plain, name) for name in changed if name != "seed"}
        given |= {"predictor": run.predictor, "events": run.events, "contract": run.contract, **others}
        for name, value in given.items():
            if value is not None:
                faults.note(f"--{name.replace('_', '-')}", str(value), "nothing with --calibrate")

    def answer(self, screen: Screen, inputs: Inputs, policy: hs.Policy | None, run: RunGiven, out: str | None) -> None:
        """Calibrate, and show and write what is found."""
        faults = Faults()
        check_not_written_over(faults, out, RUN_FILES, inputs.log.trace, inputs.platform)
        faults.check()
        check_output(out)
        workload, machine = inputs.read(screen)
        found = hs.calibrate(
            workload,
            machine.platform,
            "easy" if policy is None else policy,
            settings=self.calibrated,
            evaluations=200 if self.evaluations is None else self.evaluations,
            seed=run.plain.seed,
            known_events=self.known_events,
            workers=self.workers,
            executor=self.executor,
            out=out,
        )
        from hetsched.report.calibrations import report

        screen.report(report(found))
        files = [] if out is None else found.write(out)
        if out is not None:
            command = next_command("simulate", out, "--no-kill-at-walltime", has_events=found.events is not None)
            screen.tell("to run it:")
            screen.command(command)
        screen.give(found.to_dict(), files)
