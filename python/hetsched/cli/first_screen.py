"""The command by itself: five things that one can do, and the command for each."""

from __future__ import annotations

from hetsched.cli.terminal import Screen

_ABOUT = "hetsched replays a job log under scheduling policies, and meters every node."
THINGS = (
    ("See it work, on a real log that comes along", "hetsched demo"),
    ("Compare policies on a log of yours: SWF, CSV, sacct, PBS, Batsim", "hetsched compare LOG --policies fcfs,easy"),
    ("See what the log says of its machine, to check runs against it", "hetsched inspect LOG --out found"),
    ("Ask for other nodes, queues, policies or budgets", "hetsched whatif LOG --set nodes=+10%,+20%"),
    ("Run many: logs or loads, machines, policies, seeds", "hetsched sweep FILE.toml"),
)
"""Things that one can do, each with its command: LOG and FILE.toml stand for files of the user's."""
_MORE = "hetsched --help lists all commands, hetsched COMMAND --help the options of one."


def show() -> None:
    """Show it."""
    screen = Screen(as_json=False)
    screen.say(_ABOUT)
    for thing, command in THINGS:
        screen.say("")
        screen.head(thing)
        screen.say(f"  {command}")
    screen.say("")
    screen.say(_MORE)
