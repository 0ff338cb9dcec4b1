"""``hetsched provision``: how many nodes a power budget supports, by a guideline and by trial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import hetsched as hs
from hetsched.checks import Faults
from hetsched.cli import options as opt
from hetsched.cli.declare import OUTPUT, RUN, argument, number, option, whole
from hetsched.cli.job_log import JobLog
from hetsched.cli.options import check_output, folder, picture
from hetsched.cli.terminal import Screen, command_line, noted, renamed

_GUIDELINE = "Guideline"
_MIX_HELP = "Power caps in watts per CPU, each with its share of the jobs; the highest is the draw without a cap."
_SEEDS_HELP = "Runs per number of nodes, each with other random caps."


@dataclass(frozen=True)
class TriedLog(JobLog):
    """A log that need not be given."""

    trace: Annotated[str, argument("TRACE", "Job log to try numbers of nodes with; as for hetsched simulate.")] = ""


def _counts(faults: Faults, option: str, text: str) -> list[Any]:
    return [whole(1)(faults, option, count.strip()) for count in text.split(",")]


def _mix(faults: Faults, option: str, text: str) -> Any:
    from hetsched.provisioning import parse_mix

    with noted(faults, {"mix": option}):
        return parse_mix(text)


@dataclass(frozen=True)
class Guideline:
    """The budget, and the machine that it may feed."""

    budget_w: Annotated[
        float, option("--budget-w", "W", "Watts of the whole machine.", _GUIDELINE, read=number("watts"))
    ]
    base_w: Annotated[float, option("--base-w", "W", "Watts of a CPU without a job.", _GUIDELINE, read=number("watts"))]
    mix: Annotated[Any, option("--mix", "W:SHARE,…", _MIX_HELP, _GUIDELINE, read=_mix)]
    nodes: Annotated[
        Sequence[int], option("--nodes", "N,…", "Numbers of nodes to look at, and to try.", _GUIDELINE, read=_counts)
    ] = ()
    sockets: Annotated[int, option("--sockets", "N", "CPUs per node.", _GUIDELINE, read=whole(1, 1000))] = 1
    seeds: Annotated[int, option("--seeds", "K", _SEEDS_HELP, RUN, read=whole(1, 10_000))] = 1
    seed: Annotated[int, opt.seed(2**63)] = 0


_OPTIONS = {name: f"--{name.replace('_', '-')}" for name in Guideline.__dataclass_fields__}


def provision(
    screen: Screen,
    faults: Faults,
    *,
    asked: Guideline,
    log: TriedLog,
    executor: opt.Executor = None,
    out: Annotated[str | None, option("--out", "DIR", "Write the tables there, as CSV.", OUTPUT, read=folder)] = None,
    plot: Annotated[
        str | None, option("--plot", "FILE", "Draw the trial: a .png, .svg or .pdf.", OUTPUT, read=picture)
    ] = None,
    report: opt.Report = None,
    title: opt.Title = "",
) -> None:
    """Show how many nodes a power budget supports under caps, by a guideline and, with a log, by trial."""
    if log.trace and not asked.nodes and not faults.has("--nodes"):
        faults.note("--nodes", "nothing", "the numbers of nodes to try, such as 256,512,1024")
    if not log.trace and plot is not None:
        faults.add("--plot", plot, "a TRACE as well: there is a picture of a trial only")
    if not log.trace and executor is not None:
        faults.add("--executor", executor, "a TRACE as well: only a trial has runs")
    opt.check_title(faults, title, report)
    if not faults.found:
        # The guideline alone, before a log of hours is read.
        with noted(faults, _OPTIONS):
            answer = hs.provision(**vars(asked))
    faults.check()
    check_output(out)
    if log.trace:
        with renamed({**_OPTIONS, "executor": "--executor"}):
            answer = hs.provision(**vars(asked), workload=log.read(screen), executor=executor)
    written = [] if out is None else answer.write(out)
    written += [] if plot is None else _drawn(answer, plot)
    if report is not None:
        written.append(answer._page(title=title, command=command_line()).write(report))
    for table in answer._console_tables():
        screen.show(table)
    for note in answer.notes:
        screen.tell(note)
    screen.give(answer.to_dict(), written)


def _drawn(answer: hs.Provision, plot: str) -> list[str]:
    from hetsched.report.canvas import save
    from hetsched.report.provisions import provision_figure

    assert answer.table is not None
    names = {"guideline": "guideline", "steady": "steady state"}
    best_nodes = {names[name]: cpus / answer.sockets for name, cpus in answer.best_cpus.items()}
    save(provision_figure(answer.table, best_nodes=best_nodes, title=f"{answer.budget_w / 1e3:,.6g} kW"), plot)
    return [plot]
