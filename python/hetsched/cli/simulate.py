"""``hetsched simulate``: one log under one policy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hetsched.checks import Faults, many
from hetsched.cli import options as opt
from hetsched.cli.inputs import Inputs, Machine
from hetsched.cli.own_policy import policy_of
from hetsched.cli.pictures import check_folder, check_plot, draw_run
from hetsched.cli.run_options import RunTexts, in_contract
from hetsched.cli.terminal import Screen, inside, noted, renamed
from hetsched.cli.window import Window
from hetsched.errors import WorkWarning
from hetsched.many.progress import Bars

if TYPE_CHECKING:
    from hetsched.contract.terms import Terms
    from hetsched.policy import Policy
    from hetsched.run.result import Result
    from hetsched.workload import Workload

_POLICY = "Policy"


@opt.takes_groups
def simulate(
    *,
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            metavar="NAME",
            help="A preset, or NAME:PARAM=VALUE; see hetsched policies. Default: easy. FILE.py:NAME: a class or object "
            "of yours, which takes its role in easy, or is a whole scheduler.",
            autocompletion=opt.complete_policy,
            rich_help_panel=_POLICY,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PARAM=VALUE",
            help="Change a parameter or a part of it, such as depth=4.",
            rich_help_panel=_POLICY,
        ),
    ] = None,
    policy_file: Annotated[
        str | None,
        typer.Option("--policy-file", metavar="F.toml", help="A policy from a file.", rich_help_panel=_POLICY),
    ] = None,
    inputs: Inputs,
    run: RunTexts,
    out: opt.Out = None,
    csv: opt.CsvFlag = False,
    plot: opt.Plot = None,
    as_json: opt.Json = False,
    debug: opt.Debug = False,
) -> None:
    """Schedule a job log under a policy, and show waits, utilization and energy."""
    del debug
    screen = Screen(as_json=as_json)
    faults = Faults()
    inputs.check(faults)
    run.check(faults, has_table=inputs.has_table)
    inputs.log.window.check(faults, until_s=run.until_s, bound=run.bound, has_contract=run.noted_contract(faults))
    if csv and out is None:
        faults.note("--csv", "no --out", "a folder for it: --out DIR")
    if out is not None:
        faults.folder("--out", out)
        if run.events is not None and Path(run.events).resolve() == (Path(out) / "events.parquet").resolve():
            faults.add("--events", run.events, "a file that --out does not replace; a result has one of that name")
    check_plot(faults, plot)
    chosen = _policy(faults, policy, settings or [], policy_file)
    faults.check()
    check_folder(out)

    workload, machine = inputs.read(screen)
    run.check_inputs(workload, machine.platform)
    measured = inputs.log.window.measured(workload)
    result = _run(workload, machine, chosen, run)
    written = _write(result, out=out, csv=csv)
    if plot is not None and chosen is not None:
        from hetsched.features.feature import terms_of  # noqa: PLC0415 -- polars is slow to import

        written += _draw(result, chosen, plot, terms=terms_of(workload, machine.platform, run.options()))
    _show(screen, machine, result, written, measured)


def _policy(faults: Faults, name: str | None, settings: list[str], file: str | None) -> Policy | None:
    """The policy asked for; None if there is something wrong with it, which is noted."""
    from hetsched.policy import Policy  # noqa: PLC0415 -- polars is slow to import

    if file is not None:
        for option, value in (("--policy", name), ("--set", " ".join(settings) or None)):
            if value is not None:
                faults.add(option, value, "nothing beside --policy-file, which says it all")
        with noted(faults), inside(file):
            return Policy.from_toml(file)
        return None
    for setting in settings:
        if "=" not in setting:
            faults.add("--set", setting, "PARAM=VALUE, such as depth=4")
            return None
    with noted(faults, {"policy": "--policy"}):
        return policy_of("easy" if name is None else name, settings)
    return None


def _run(workload: Workload, machine: Machine, policy: Policy | None, run: RunTexts) -> Result:
    from hetsched.run.simulation import simulate as run_it  # noqa: PLC0415

    assert policy is not None
    options = run.options()
    with Bars() as bars, renamed({"predictor": f"--predictor {run.predictor}"}), in_contract(run.contract_file):
        tell = bars.bar(policy.name, unit="jobs")
        return run_it(workload, machine.platform, policy, progress=tell, **vars(options))


def _write(result: Result, *, out: str | None, csv: bool) -> list[str]:
    """Write the files asked for; gives the folder's name."""
    if out is None:
        return []
    result.write(out, csv=csv)
    return [out]


def _draw(result: Result, policy: Policy, plot: str, terms: Terms | None) -> list[str]:
    """Draw the run; gives the names of the pictures."""
    from hetsched.many.compare import Keep, Outcome  # noqa: PLC0415

    outcome = Outcome.of(policy.name, result, Keep(drawn=True), terms)
    return draw_run(plot, outcome, title=outcome.title)


def _show(screen: Screen, machine: Machine, result: Result, written: list[str], window: Window | None) -> None:
    from hetsched.report.tables import summary_table  # noqa: PLC0415
    from hetsched.run.concerns import draws_note  # noqa: PLC0415

    summary, timing = result.summary() if window is None else window.summary(result), result.timing
    name = result.provenance["policy"]["name"]
    screen.head(f"{name} on {many(machine.platform.nodes, 'node')}, in {timing['wall_s']:.2f} s")
    is_lost = any(issubclass(concern.category, WorkWarning) for concern in result.concerns)
    screen.show(summary_table(summary, with_work=is_lost))
    if window is not None:
        screen.say(window.note)
    if low := result.provenance["counts"]["low_busy_rows"]:
        screen.say(f"draws of the table below their node's idle draw: {low:,}, charged as they stand")
    if note := draws_note(result.provenance["known_draws"], change=opt.OTHER_DRAWS):
        screen.say(note)
    for path in written:
        screen.say(f"wrote {path}")
    screen.give(
        {
            "summary": summary,
            **result.provenance,
            "timing": timing,
            "assumed": machine.assumed_w,
            "written": written,
        }
    )
