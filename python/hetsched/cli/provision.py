"""``hetsched provision``: how many nodes a power budget feeds, by a guideline and by trial."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hetsched.checks import Faults
from hetsched.cli import options as opt
from hetsched.cli.inputs import JobLog
from hetsched.cli.pictures import check_folder, check_picture
from hetsched.cli.terminal import Screen, noted, renamed

if TYPE_CHECKING:
    from hetsched.provisioning import Provision

_GUIDELINE = "Guideline"
_NAMES = {
    "budget_w": "--budget-w",
    "base_w": "--base-w",
    "mix": "--mix",
    "nodes": "--nodes",
    "sockets": "--sockets",
    "seeds": "--seeds",
    "seed": "--seed",
}


@dataclass(frozen=True)
class TriedLog(JobLog):
    """A log that need not be given."""

    trace: Annotated[
        str,
        typer.Argument(metavar="TRACE", help="Job log to try numbers of nodes with; as for hetsched simulate."),
    ] = ""


@opt.takes_groups
def provision(
    *,
    budget_w: Annotated[
        str, typer.Option("--budget-w", metavar="W", help="Watts of the whole machine.", rich_help_panel=_GUIDELINE)
    ],
    base_w: Annotated[
        str,
        typer.Option("--base-w", metavar="W", help="Watts of a CPU that serves no job.", rich_help_panel=_GUIDELINE),
    ],
    mix: Annotated[
        str,
        typer.Option(
            "--mix",
            metavar="W:SHARE,…",
            help="Power caps in watts a CPU, each with its share of the jobs; the highest is the draw without a cap.",
            rich_help_panel=_GUIDELINE,
        ),
    ],
    nodes: Annotated[
        str | None,
        typer.Option(
            "--nodes", metavar="N,…", help="Numbers of nodes to look at, and to try.", rich_help_panel=_GUIDELINE
        ),
    ] = None,
    sockets: Annotated[
        str, typer.Option("--sockets", metavar="N", help="CPUs a node.", rich_help_panel=_GUIDELINE)
    ] = "1",
    seeds: Annotated[
        str,
        typer.Option(
            "--seeds", metavar="K", help="Runs of each number of nodes, with caps dealt anew.", rich_help_panel="Run"
        ),
    ] = "1",
    seed: opt.Seed = "0",
    log: TriedLog,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="DIR", help="Write the tables there, as CSV.", rich_help_panel="Output"),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option("--plot", metavar="FILE", help="Draw the trial: a .png, .svg or .pdf.", rich_help_panel="Output"),
    ] = None,
    as_json: opt.Json = False,
    debug: opt.Debug = False,
) -> None:
    """Show how many nodes a power budget feeds under caps, by a guideline and, with a log, by trial."""
    del debug
    from hetsched.provisioning import provision as answered  # noqa: PLC0415 -- polars is slow to import

    screen, faults = Screen(as_json=as_json), Faults()
    asked = _asked(faults, budget_w=budget_w, base_w=base_w, mix=mix, nodes=nodes, sockets=sockets)
    asked |= {
        "seeds": opt.whole(faults, "--seeds", seeds, low=1, high=10_000),
        "seed": opt.whole(faults, "--seed", seed, low=0, high=2**63),
    }
    _check_trial(faults, log, plot=plot, nodes=nodes)
    if out is not None:
        faults.folder("--out", out)
    if not faults.found:
        # The guideline alone, before a log of hours is read.
        with noted(faults, _NAMES):
            answered(**asked)
    faults.check()
    check_folder(out)
    if log.trace:
        with renamed(_NAMES):
            answer = answered(**asked, workload=log.read(screen))
    else:
        answer = answered(**asked)
    written = [] if out is None else answer.write(out)
    written += [] if plot is None else _drawn(answer, plot)
    _show(screen, answer, written)


def _asked(faults: Faults, *, mix: str, nodes: str | None, sockets: str, **watts: str) -> dict[str, Any]:
    """What the guideline is asked, from text; notes what is invalid."""
    from hetsched.provisioning import parse_mix  # noqa: PLC0415

    asked: dict[str, Any] = {name: opt.number(faults, _NAMES[name], text, unit="watts") for name, text in watts.items()}
    with noted(faults, _NAMES):
        asked["mix"] = parse_mix(mix)
    counts = [] if nodes is None else nodes.split(",")
    asked["nodes"] = [opt.whole(faults, "--nodes", count.strip(), low=1) for count in counts]
    asked["sockets"] = opt.whole(faults, "--sockets", sockets, low=1, high=1000)
    return asked


def _check_trial(faults: Faults, log: TriedLog, *, plot: str | None, nodes: str | None) -> None:
    """Note what does not fit a trial, or needs one."""
    if log.trace:
        log.check(faults)
        if nodes is None:
            faults.note("--nodes", "nothing", "the numbers of nodes to try, such as 256,512,1024")
        log.window.check_span(faults)
    elif plot is not None:
        faults.add("--plot", plot, "a TRACE beside it: there is a picture of a trial only")
    check_picture(faults, plot if log.trace else None)


def _drawn(answer: Provision, plot: str) -> list[str]:
    from hetsched.report.canvas import save  # noqa: PLC0415
    from hetsched.report.provisions import provision_figure  # noqa: PLC0415

    assert answer.table is not None
    names = {"guideline": "guideline", "steady": "steady state"}
    best_nodes = {names[name]: cpus / answer.sockets for name, cpus in answer.best_cpus.items()}
    save(provision_figure(answer.table, best_nodes=best_nodes, title=f"{answer.budget_w / 1e3:,.6g} kW"), plot)
    return [plot]


def _show(screen: Screen, answer: Provision, written: list[str]) -> None:
    for table in answer.tables():
        screen.show(table)
    for note in answer.notes:
        screen.tell(note)
    for path in written:
        screen.say(f"wrote {path}")
    screen.give({**answer.to_dict(), "written": written})
