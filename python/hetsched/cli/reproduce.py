"""``hetsched reproduce``: a published experiment run again, its numbers beside ours."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hetsched.checks import Faults, reason_of
from hetsched.cli import options as opt
from hetsched.cli.pictures import check_folder
from hetsched.cli.run_options import policies_in
from hetsched.cli.terminal import Screen, changed, noted
from hetsched.errors import OutputError
from hetsched.experiments import EXPERIMENTS
from hetsched.many.progress import Bars

if TYPE_CHECKING:
    from hetsched.errors import Fault
    from hetsched.experiments import Report


def _complete_name(incomplete: str) -> Iterator[tuple[str, str]]:
    return ((name, about) for name, about in EXPERIMENTS.items() if name.startswith(incomplete))


def reproduce(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help=f"One of {', '.join(EXPERIMENTS)}.", autocompletion=_complete_name),
    ],
    *,
    quick: Annotated[
        bool,
        typer.Option("--quick", metavar="", help="Few repetitions on smaller traces, no verdicts: seconds."),
    ] = False,
    repetitions: Annotated[
        str | None,
        typer.Option("--repetitions", metavar="N", help="How many, in place of as many as the experiment has."),
    ] = None,
    policies: Annotated[
        str | None,
        typer.Option(
            "--policies",
            metavar="A,B,…",
            help="Your own beside the paper's: presets, or NAME:PARAM=VALUE, with commas between.",
            autocompletion=opt.complete_policies,
        ),
    ] = None,
    logs: Annotated[
        str | None,
        typer.Option(
            "--logs",
            metavar="DIR",
            help="A folder of SWF logs in place of the experiment's workloads, where it takes any.",
        ),
    ] = None,
    seed: opt.Seed = "0",
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Write table, figure and raw frame there; the same command again goes on where it was stopped.",
            rich_help_panel="Output",
        ),
    ] = None,
    as_json: opt.Json = False,
    debug: opt.Debug = False,
) -> None:
    """Run a published experiment again, and show its numbers beside ours."""
    del debug
    screen = Screen(as_json=as_json)
    faults = Faults()
    yours = [] if policies is None else policies_in(faults, policies)
    with noted(faults):
        _check_experiment(name, takes_policies=policies is not None, takes_logs=logs is not None)
    chosen_seed = opt.whole(faults, "--seed", seed, low=0, high=2**64 - 1)
    count = opt.whole(faults, "--repetitions", repetitions, low=2)
    for parameter, folder in (("--out", out), ("--logs", logs)):
        if folder is not None:
            faults.folder(parameter, folder)
    faults.check()
    _try_folder(out)

    from hetsched.experiments import reproduce as run  # noqa: PLC0415 -- polars is slow to import

    with Bars() as bars, changed(_as_options):
        tell = bars.bar(name, unit="repetitions")
        given: dict[str, Any] = {"policies": yours, "logs": logs, "out": out, "progress": tell}
        report = run(name, seed=chosen_seed or 0, quick=quick, repetitions=count, **given)
    _show(screen, report)
    _write(screen, report, out)
    screen.give(report.to_dict())


def _as_options(fault: Fault) -> Fault:
    for parameter in ("policies", "logs", "repetitions"):
        fault = fault.moved(parameter, f"--{parameter}")
    return fault


def _check_experiment(name: str, *, takes_policies: bool, takes_logs: bool) -> None:
    """Refuse a name that is none, and policies or logs beside an experiment that runs on none."""
    if name in EXPERIMENTS and not (takes_policies or takes_logs):
        return
    from hetsched.experiments import check_runs_policies, check_takes_logs, experiment_named  # noqa: PLC0415

    experiment = experiment_named(name, parameter="NAME")
    if takes_policies:
        check_runs_policies(experiment, parameter="--policies")
    if takes_logs:
        check_takes_logs(experiment, parameter="--logs")


def _try_folder(out: str | None) -> None:
    """Make the folder with a file in it, and take both away again: some systems allow it when asked and refuse then."""
    check_folder(out)
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
    from hetsched.report.experiment import experiment_table, reasons, settings  # noqa: PLC0415

    rows = report.table()
    values = {parameter.name: parameter.value for parameter in report.parameters}
    title = (
        f"{report.name}{', quick' if values['quick'] else ''}: {values['repetitions']} repetitions, seed {report.seed}"
    )
    screen.show(experiment_table(rows, title=title))
    if screen.as_json:
        return
    for line in reasons(rows):
        screen.tell(line)
    if values["quick"]:
        screen.tell("a quick run gives no verdicts; without --quick all rows are judged")
    told = [one for one in report.parameters if not one.is_printed and one.name not in _ELSEWHERE]
    screen.tell(f"assumed: {settings({one.name: one.value for one in told if not one.is_measured})}")
    measured = {one.name: one.value for one in told if one.is_measured}
    if measured:
        screen.tell(f"measured: {settings(measured)}")


_ELSEWHERE = frozenset(
    ("repetitions", "agreement_ratio", "shape_factor", "quick", "your_policies", "bound", "policies")
)
"""Parameters that the title, the rule or the rows tell."""


def _write(screen: Screen, report: Report, out: str | None) -> None:
    if out is None:
        return
    from hetsched.experiments.experiment import can_draw, write_report  # noqa: PLC0415

    for path in write_report(report, out):
        screen.say(f"wrote {path}")
    if not can_draw():
        screen.say("no figure: matplotlib is not installed; pip install 'hetsched[plots]'")
