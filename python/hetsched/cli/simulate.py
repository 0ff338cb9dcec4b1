"""``hetsched simulate``: one log under one policy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import hetsched as hs
from hetsched.checks import Faults, many
from hetsched.cli import options as opt
from hetsched.cli.declare import OUTPUT, flag
from hetsched.cli.inputs import OTHER_DRAWS, Inputs, Machine
from hetsched.cli.named_policies import PolicyGiven
from hetsched.cli.options import check_output
from hetsched.cli.pictures import draw_run
from hetsched.cli.run_options import RunGiven
from hetsched.cli.terminal import Screen, command_line, renamed
from hetsched.cli.window import Window
from hetsched.errors import WorkWarning
from hetsched.many.progress import Bars

if TYPE_CHECKING:
    from hetsched.contract.bill import Terms
    from hetsched.report.page.runs import RunsPage


def simulate(
    screen: Screen,
    faults: Faults,
    *,
    policy: PolicyGiven,
    inputs: Inputs,
    run: RunGiven,
    out: opt.Out = None,
    csv: Annotated[bool, flag("--csv", "With --out: jobs.csv as well as jobs.parquet.", OUTPUT)] = False,
    plot: opt.Plot = None,
    report: opt.Report = None,
    title: opt.Title = "",
) -> None:
    """Schedule a job log under a policy, and show waits, utilization and energy."""
    inputs.check(faults)
    run.check(faults, inputs)
    if csv and out is None:
        faults.note("--csv", "no --out", "a folder for it: --out DIR")
    if out is not None and run.events is not None and _is_same(run.events, Path(out) / "events.parquet"):
        faults.add("--events", run.events, "a file that --out does not replace; a result has one of that name")
    chosen = policy.chosen(faults)
    opt.check_title(faults, title, report)
    faults.check()
    check_output(out)
    assert chosen is not None

    workload, machine = inputs.read(screen)
    run.check_inputs(workload, machine.platform)
    measured = inputs.log.window.measured(workload)
    result = _run(workload, machine, chosen, run)
    written = [] if out is None else [out]
    if out is not None:
        result.write(out, csv=csv)
    if plot is not None or report is not None:
        from hetsched.features.feature import terms_of

        terms = terms_of(workload, machine.platform, run.options())
        written += [] if plot is None else _draw(result, chosen, plot, terms)
        written += [] if report is None else [_page(result, machine, title, terms).write(report)]
    _show(screen, machine, result, written, measured)


def _is_same(file: str, other: Path) -> bool:
    return Path(file).resolve() == other.resolve()


def _run(workload: hs.Workload, machine: Machine, policy: hs.Policy, run: RunGiven) -> hs.Result:
    options = run.options()
    with Bars() as bars, renamed(run.given_names), run.in_contract():
        tell = bars.bar(policy.name, unit="jobs")
        return hs.simulate(workload, machine.platform, policy, progress=tell, **vars(options))


def _draw(result: hs.Result, policy: hs.Policy, plot: str, terms: Terms | None) -> list[str]:
    """Draw the run; gives the names of the pictures."""
    from hetsched.many.outcome import Keep, Outcome

    outcome = Outcome.of(policy.name, result, Keep(drawn=True), terms)
    return draw_run(plot, outcome, title=outcome.title)


def _page(result: hs.Result, machine: Machine, title: str, terms: Terms | None) -> RunsPage:
    from hetsched.report.page.runs import RunsPage
    from hetsched.report.page.shown import RunShown

    return RunsPage([RunShown.of(result, terms)], assumed=machine.notes, command=command_line(), title=title)


def _show(screen: Screen, machine: Machine, result: hs.Result, written: list[str], window: Window | None) -> None:
    from hetsched.report.tables import summary_table
    from hetsched.run.concerns import draws_note

    summary, timing = result.summary() if window is None else window.summary(result), result.timing
    name = result.provenance["policy"]["name"]
    screen.head(f"{name} on {many(machine.platform.nodes, 'node')}, in {timing['wall_s']:.2f} s")
    is_lost = any(issubclass(concern.category, WorkWarning) for concern in result.concerns)
    currency = result.provenance.get("currency")
    screen.show(summary_table(summary, with_work=is_lost, currency=currency))
    if window is not None:
        screen.say(window.note)
    if low := result.provenance["counts"]["low_busy_rows"]:
        screen.say(f"draws of the table below their node's idle draw: {low:,}, charged as they stand")
    if note := draws_note(result.provenance["known_draws"], change=OTHER_DRAWS):
        screen.say(note)
    own = {"summary": summary, **result.provenance, "timing": timing}
    screen.give({**own, "assumed": machine.assumed_w}, written)
