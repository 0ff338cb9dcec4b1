"""The table of a run: at most 100 columns wide on a terminal, plain and uncut in a pipe."""

from __future__ import annotations

from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

import measure
from verdicts import Check, Outcome

__all__ = ["WIDTH", "console", "shown"]

WIDTH = 100

_NOTHING = Text("-", style="dim")

_PEER_COLUMNS = {"twin": ("twin\nCPU s", "twin\nratio"), "accasim": ("accasim\nratio",)}


def console() -> Console:
    """Console for tables: as wide as the terminal up to `WIDTH`, and wide enough for every column in a pipe."""
    console = Console(highlight=False)
    console.width = min(console.width, WIDTH) if console.is_terminal else 2 * WIDTH
    return console


def shown(outcomes: list[Outcome], faults: list[str]) -> Group:
    """The table and what is to be said below it."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for name in ("work", "policy"):
        table.add_column(name, no_wrap=True)
    for name in ("jobs", "CPU s", "jobs/s", "peak\nMB"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("reach", no_wrap=True)
    with_peers = [peer for peer in _PEER_COLUMNS if any(peer in outcome.peers for outcome in outcomes)]
    for peer in with_peers:
        for name in _PEER_COLUMNS[peer]:
            table.add_column(name, justify="right", no_wrap=True)
    last = None
    for outcome in outcomes:
        if last not in (None, outcome.work.trace):
            table.add_section()
        last = outcome.work.trace
        table.add_row(*_cells(outcome), *(cell for peer in with_peers for cell in _peer_cells(outcome, peer)))
    return Group(table, *(Text(note) for note in _notes(outcomes)), *(Text(fault, "bold red") for fault in faults))


def _cells(outcome: Outcome) -> list[Text]:
    plain = [
        outcome.work.trace.name,
        outcome.work.policy_name,
        f"{outcome.engine['jobs']:,}",
        _seconds(outcome.cpu_s),
        f"{outcome.jobs_per_s:,.0f}",
        f"{outcome.peak_mb:,.0f}",
    ]
    return [*(Text(cell) for cell in plain), _reach(outcome.checks())]


def _reach(checks: list[Check]) -> Text:
    lines = [Text(f"{check.text}: {'met' if check.met else 'missed'}", "" if check.met else "red") for check in checks]
    return Text("\n").join(lines) if lines else _NOTHING


def _peer_cells(outcome: Outcome, peer: str) -> list[Text]:
    """Its CPU time, if that has a column, and its ratio to the engine's."""
    run, ratio = outcome.peers.get(peer), outcome.ratio(peer)
    if isinstance(run, measure.RunError):
        cells = [Text("-"), Text("failed")]
    elif run is None or ratio is None:
        cells = [_NOTHING, _NOTHING]
    else:
        cells = [Text(_seconds(run["cpu_s"])), Text(f"{ratio:,.0f} x" if ratio >= 10 else f"{ratio:.1f} x")]
    return cells[-len(_PEER_COLUMNS[peer]) :]


def _seconds(seconds: float) -> str:
    return f"{seconds:,.3f}" if seconds < 1 else f"{seconds:,.2f}"


def _notes(outcomes: list[Outcome]) -> list[str]:
    """Meaning of the columns, number of schedules compared, and what failed, each reason once."""
    notes = ["CPU s: from reading the trace until summary and frames are made; peers: until all starts are known."]
    for peer in ("twin", "accasim"):
        compared = sum(outcome.is_same_as(peer) is not None for outcome in outcomes)
        same = sum(outcome.is_same_as(peer) is True for outcome in outcomes)
        if compared:
            notes.append(f"Every job starts at the same instant as by {peer}: {same} of {compared} works compared.")
    failed: dict[str, list[str]] = {}
    for outcome in outcomes:
        for peer, run in outcome.peers.items():
            if isinstance(run, measure.RunError):
                failed.setdefault(f"{peer} failed: {run}", []).append(outcome.work.name)
    return notes + [f"{reason} ({len(names)} works)" for reason, names in failed.items()]
