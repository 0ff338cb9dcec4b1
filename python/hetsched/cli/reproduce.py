"""``hetsched reproduce``: a published experiment run again, its numbers next to ours."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from hetsched.checks import Faults, reason_of
from hetsched.cli import options as opt
from hetsched.cli.declare import OUTPUT, argument, flag, one_of, option, whole
from hetsched.cli.named_policies import policies_of
from hetsched.cli.options import check_output, folder
from hetsched.cli.terminal import Screen, changed, command_line, noted
from hetsched.errors import OutputError
from hetsched.experiments import EXPERIMENTS
from hetsched.many.progress import Bars

if TYPE_CHECKING:
    from hetsched.errors import Fault
    from hetsched.experiments import Report


def _complete_name(incomplete: str) -> Iterator[tuple[str, str]]:
    return ((name, about) for name, about in EXPERIMENTS.items() if name.startswith(incomplete))


_NAME_HELP = f"One of {', '.join(EXPERIMENTS)}."
_QUICK_HELP = "Few repetitions on smaller traces, without verdicts; takes seconds."
_REPETITIONS_HELP = "Number of repetitions; default: the experiment's own."
_POLICIES_HELP = "Policies to run as well as the paper's: presets, or NAME:PARAM=VALUE, with commas between."
_LOGS_HELP = "A folder of SWF logs in place of the experiment's workloads, where it takes any."
_OUT_HELP = "Write table, figure and raw frame there; the same command again goes on where it was stopped."


def reproduce(
    screen: Screen,
    faults: Faults,
    *,
    name: Annotated[str, argument("NAME", _NAME_HELP, read=one_of(tuple(EXPERIMENTS)), complete=_complete_name)],
    quick: Annotated[bool, flag("--quick", _QUICK_HELP)] = False,
    repetitions: Annotated[int | None, option("--repetitions", "N", _REPETITIONS_HELP, read=whole(2))] = None,
    policies: Annotated[
        str | None, option("--policies", "A,B,…", _POLICIES_HELP, complete=opt.complete_policies)
    ] = None,
    logs: Annotated[str | None, option("--logs", "DIR", _LOGS_HELP, read=folder)] = None,
    seed: Annotated[int, opt.seed()] = 0,
    out: Annotated[str | None, option("--out", "DIR", _OUT_HELP, OUTPUT, read=folder)] = None,
    executor: opt.Executor = None,
    report: opt.Report = None,
    title: opt.Title = "",
) -> None:
    """Run a published experiment again, and show its numbers next to ours."""
    yours = [] if policies is None else policies_of(faults, "--policies", policies)
    if not faults.has("NAME") and (policies is not None or logs is not None):
        with noted(faults):
            _check_takes(name, policies=policies is not None, logs=logs is not None)
    opt.check_title(faults, title, report)
    faults.check()
    _try_folder(out)

    from hetsched.experiments import reproduce as run

    with Bars() as bars, changed(_as_options):
        found = run(
            name,
            seed=seed,
            quick=quick,
            repetitions=repetitions,
            policies=yours,
            logs=logs,
            out=out,
            progress=bars.bar(name, unit="repetitions"),
            executor=executor,
        )
    _show(screen, found)
    _write(screen, found, out)
    written = None if report is None else [found._page(title=title, command=command_line()).write(report)]
    screen.give(found.to_dict(), written)


def _as_options(fault: Fault) -> Fault:
    for parameter in ("policies", "logs", "repetitions", "executor"):
        fault = fault.moved(parameter, f"--{parameter}")
    return fault


def _check_takes(name: str, *, policies: bool, logs: bool) -> None:
    """Refuse policies or logs for an experiment that takes none."""
    from hetsched.experiments.registry import check_runs_policies, check_takes_logs, experiment_named

    experiment = experiment_named(name)
    if policies:
        check_runs_policies(experiment, parameter="--policies")
    if logs:
        check_takes_logs(experiment, parameter="--logs")


def _try_folder(out: str | None) -> None:
    """Make the folder with a file in it, and take both away again: some systems allow it when asked and refuse then."""
    check_output(out)
    if out is None:
        return
    folder = Path(out)
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OutputError(out, reason_of(error)) from None
    finally:
        # The deepest first; after a refusal some were never made.
        for one in missing:
            with suppress(OSError):
                one.rmdir()


def _show(screen: Screen, report: Report) -> None:
    from hetsched.report.experiment import ELSEWHERE, experiment_table, reasons, settings
    from hetsched.report.tables import experiment_shares_tables

    rows = report.table
    values = {parameter.name: parameter.value for parameter in report.parameters}
    title = (
        f"{report.name}{', quick' if values['quick'] else ''}: {values['repetitions']} repetitions, seed {report.seed}"
    )
    screen.show(experiment_table(rows, title=title))
    if screen.as_json:
        return
    if len(report.shares):
        screen.show(experiment_shares_tables(report.shares))
    for line in reasons(rows):
        screen.tell(line)
    if report.no_shares:
        screen.tell(f"no shares of placement and timing: {report.no_shares}")
    if values["quick"]:
        screen.tell("a quick run gives no verdicts; without --quick all rows are judged")
    others = [one for one in report.parameters if not one.is_printed and one.name not in ELSEWHERE]
    screen.tell(f"assumed: {settings({one.name: one.value for one in others if not one.is_measured})}")
    measured = {one.name: one.value for one in others if one.is_measured}
    if measured:
        screen.tell(f"measured: {settings(measured)}")


def _write(screen: Screen, report: Report, out: str | None) -> None:
    if out is None:
        return
    from hetsched.experiments.experiment import can_draw

    for path in report.write(out):
        screen.say(f"wrote {path}")
    if not can_draw():
        screen.say("no figure: matplotlib is not installed; pip install 'hetsched[plots]'")
