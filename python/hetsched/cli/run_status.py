"""``hetsched run --status``: a run as its journal has it, from any shell, and requests to cancel jobs of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hetsched.checks import few, many, shown
from hetsched.errors import ConfigError

if TYPE_CHECKING:
    from hetsched.cli.terminal import Screen


def show_status(screen: Screen, folder: str, cancel: list[int] | None) -> None:
    """Show the state of the run in a folder, after jobs of it were asked to be cancelled."""
    from hetsched.live.journal import read_journal
    from hetsched.live.requests import ask_to_cancel, executor_of
    from hetsched.live.state_of_run import check_cancel, run_state

    journal = read_journal(folder)
    if "commands" not in journal.head:
        raise ConfigError([("--status", shown(folder), "the folder of a hetsched run --out")])
    pid = executor_of(folder)
    if cancel:
        check_cancel(journal, cancel)
        ask_to_cancel(folder, cancel)
        when = "" if pid is not None else ", once the run goes on"
        screen.say(f"asked to cancel {few([f'job {job}' for job in cancel])}{when}")
    state = run_state(journal)
    by = f"by process {pid}" if pid is not None else f"no process works on it; to go on: hetsched run --resume {folder}"
    is_done = not state.running and not state.waiting and not state.to_come
    screen.say(f"{folder}: done" if is_done and pid is None else f"{folder}, at {state.reached_s:,.1f} s: {by}")
    names = journal.head["machine"]["names"]
    for run in state.running:
        nodes = ", ".join(names[node] for node in run.nodes)
        screen.say(f"job {run.job} runs since {run.since_s:,.1f} s on {nodes}")
    if state.waiting:
        screen.say(f"{many(len(state.waiting), 'job')} waiting: {few([str(job) for job in state.waiting])}")
    if state.to_come:
        screen.say(f"{many(state.to_come, 'job')} to be submitted")
    for name, count in sorted(state.over.items()):
        screen.say(f"{many(count, 'job')} {name}")
    screen.give(
        {
            "reached_s": state.reached_s,
            "process": pid,
            "running": [
                {"job_id": run.job, "attempt": run.attempt, "nodes": list(run.nodes), "since_s": run.since_s}
                for run in state.running
            ],
            "waiting": list(state.waiting),
            "to_come": state.to_come,
            "over": dict(state.over),
            "asked_to_cancel": cancel or [],
        },
        [],
    )
