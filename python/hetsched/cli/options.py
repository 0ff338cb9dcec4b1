"""Options that more than one verb takes, each declared once, and how their text becomes values.

Values are taken as text and read here, so that every fault of a command line is told at once, in the words of the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from hetsched.checks import Faults, did_you_mean

__all__ = [
    "KNOWN_DRAWS",
    "OTHER_DRAWS",
    "Bound",
    "CapWatts",
    "Columns",
    "CsvFlag",
    "Debug",
    "FormatName",
    "IdleWatts",
    "Json",
    "KnownDraws",
    "Lenient",
    "NoKill",
    "Nodes",
    "OnUnknownApp",
    "Out",
    "PlatformFile",
    "Plot",
    "ProcsPerNode",
    "Seed",
    "Separator",
    "TableFile",
    "TdpWatts",
    "Trace",
    "UntilSeconds",
    "chosen",
    "complete_metrics",
    "complete_policies",
    "complete_policy",
    "number",
    "run_options",
    "whole",
]

KNOWN_DRAWS = ("measured", "table", "tdp")
"""As in `hetsched.platform.known_draws`, which is slow to import."""

OTHER_DRAWS = "--known-draws table or tdp, or --predictor history, has them not know it"
"""How to have decisions that know no job's draw before it has run."""

_MACHINE, _RUN, _OUTPUT = "Machine", "Run", "Output"


def complete_policy(incomplete: str) -> Iterator[tuple[str, str]]:
    """Preset names that begin like this, each with what it does, for the shell."""
    from hetsched.policy import PRESETS  # noqa: PLC0415 -- slow to import, and only a shell that completes asks

    return ((name, preset.doc) for name, preset in PRESETS.items() if name.startswith(incomplete))


def complete_policies(incomplete: str) -> Iterator[tuple[str, str]]:
    """The same behind what stands before the last comma."""
    before, comma, last = incomplete.rpartition(",")
    return ((f"{before}{comma}{name}", doc) for name, doc in complete_policy(last))


def complete_metrics(incomplete: str) -> Iterator[tuple[str, str]]:
    """Keys of metrics behind what stands before the last comma, each with its title."""
    from hetsched.analysis import METRICS  # noqa: PLC0415

    before, comma, last = incomplete.rpartition(",")
    return ((f"{before}{comma}{key}", metric.title) for key, metric in METRICS.items() if key.startswith(last))


def _complete_format() -> list[str]:
    return ["swf", "parquet", "csv"]


def _complete_unknown_app() -> list[str]:
    return ["error", "nominal"]


def _complete_known_draws() -> list[str]:
    return list(KNOWN_DRAWS)


def _complete_walltimes() -> list[str]:
    return ["fixed", "stretch"]


Trace = Annotated[
    str,
    typer.Argument(metavar="TRACE", help="Job log: .swf, .parquet or .csv; .gz and .zst too; - for standard input."),
]
FormatName = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="swf, parquet or csv, if the log's name does not tell.",
        autocompletion=_complete_format,
        rich_help_panel=_RUN,
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="OURS=THEIRS,…",
        help="CSV and Parquet: the log's names of columns, such as submit_s=Submit.",
        rich_help_panel=_RUN,
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        "--separator", metavar="C", help="CSV: what stands between fields; default: a comma.", rich_help_panel=_RUN
    ),
]
Lenient = Annotated[
    bool,
    typer.Option(
        "--lenient",
        metavar="",
        help="Skip and count lines of the log that are malformed, as long as most are not.",
        rich_help_panel=_RUN,
    ),
]
Nodes = Annotated[
    str | None,
    typer.Option("--nodes", metavar="N", help="How many; default: as the log's header says.", rich_help_panel=_MACHINE),
]
ProcsPerNode = Annotated[
    str | None,
    typer.Option(
        "--procs-per-node",
        metavar="P",
        help="Processors that make a node; default: each is one.",
        rich_help_panel=_MACHINE,
    ),
]
IdleWatts = Annotated[
    str | None,
    typer.Option("--idle-w", metavar="W", help="Draw of an idle node; default: 100.", rich_help_panel=_MACHINE),
]
TdpWatts = Annotated[
    str | None,
    typer.Option("--tdp-w", metavar="W", help="Draw of a busy node; default: 400.", rich_help_panel=_MACHINE),
]
PlatformFile = Annotated[
    str | None,
    typer.Option("--platform", metavar="F.toml", help="All of the machine from a file.", rich_help_panel=_MACHINE),
]
TableFile = Annotated[
    str | None,
    typer.Option(
        "--table",
        metavar="F",
        help="Draw by application and node: .parquet or .csv with app, node, power_w or power_ratio.",
        rich_help_panel=_MACHINE,
    ),
]
CapWatts = Annotated[
    str | None,
    typer.Option(
        "--cap-w",
        metavar="W",
        help="With --table: the power cap whose rows to take, of a table of several.",
        rich_help_panel=_MACHINE,
    ),
]
KnownDraws = Annotated[
    str | None,
    typer.Option(
        "--known-draws",
        metavar="measured|table|tdp",
        help="What decisions know of power_w before a job runs; table, tdp: nothing, and take busy_w or TDP for it.",
        autocompletion=_complete_known_draws,
        rich_help_panel=_MACHINE,
    ),
]
Seed = Annotated[str, typer.Option("--seed", metavar="S", help="All chance comes from it.", rich_help_panel=_RUN)]
UntilSeconds = Annotated[
    str | None,
    typer.Option("--until-s", metavar="T", help="Stop at this second of the log's clock.", rich_help_panel=_RUN),
]
NoKill = Annotated[
    bool,
    typer.Option("--no-kill-at-walltime", metavar="", help="Let jobs run past their walltime.", rich_help_panel=_RUN),
]
KillGrace = Annotated[
    str,
    typer.Option(
        "--kill-grace-s",
        metavar="T",
        help="Kill jobs this long after their walltime; plans go by the walltime.",
        rich_help_panel=_RUN,
    ),
]
Walltimes = Annotated[
    str,
    typer.Option(
        "--walltimes",
        metavar="fixed|stretch",
        help="stretch: walltimes were meant for nominal speed, and are longer on slower nodes.",
        autocompletion=_complete_walltimes,
        rich_help_panel=_RUN,
    ),
]
OnUnknownApp = Annotated[
    str,
    typer.Option(
        "--on-unknown-app",
        metavar="error|nominal",
        help="What to do with an application that the table does not hold.",
        autocompletion=_complete_unknown_app,
        rich_help_panel=_RUN,
    ),
]
Bound = Annotated[
    bool,
    typer.Option(
        "--bound",
        metavar="",
        help="Also compute the least job energy that any placement could reach.",
        rich_help_panel=_RUN,
    ),
]
Out = Annotated[
    str | None,
    typer.Option(
        "--out", metavar="DIR", help="Write jobs, timeline, nodes and summary there.", rich_help_panel=_OUTPUT
    ),
]
CsvFlag = Annotated[
    bool,
    typer.Option("--csv", metavar="", help="With --out: jobs.csv as well as jobs.parquet.", rich_help_panel=_OUTPUT),
]
Plot = Annotated[
    str | None,
    typer.Option(
        "--plot",
        metavar="PATH",
        help="Draw: a .png, .svg or .pdf, or a folder for all pictures.",
        rich_help_panel=_OUTPUT,
    ),
]
Json = Annotated[
    bool,
    typer.Option(
        "--json", metavar="", help="One JSON object on standard output, and nothing else.", rich_help_panel=_OUTPUT
    ),
]
Debug = Annotated[
    bool, typer.Option("--debug", metavar="", help="Show where an error was raised.", rich_help_panel=_OUTPUT)
]


def whole(faults: Faults, option: str, text: str | None, *, low: int, high: int = 2**31 - 1) -> int | None:
    """A whole number, or None if the option was not given or is at fault.

    Parameters
    ----------
    faults
        Notes text that is no whole number from `low` to `high`.
    option
        Its name.
    text
        As given.
    low, high
        The range, both ends included.

    Examples
    --------
    >>> whole(Faults(), "--nodes", "8192", low=1)
    8192
    """
    if text is None:
        return None
    try:
        value = int(text)
    except ValueError:
        faults.add(option, text, f"a whole number from {low}")
        return None
    before = len(faults.found)
    faults.whole(option, value, low=low, high=high)
    return value if len(faults.found) == before else None


def number(faults: Faults, option: str, text: str | None, *, unit: str) -> float | None:
    """A number, or None if the option was not given or is at fault; its range is the library's business.

    Parameters
    ----------
    faults
        Notes text that is no plain number.
    option
        Its name.
    text
        As given.
    unit
        What it counts, for the message.

    Examples
    --------
    >>> faults = Faults()
    >>> number(faults, "--idle-w", "200W", unit="watts")
    >>> print(faults.found[0])
    --idle-w: found `200W`, expected watts as a plain number, such as 200
    """
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        digits = text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ /%").rstrip()
        example = digits if digits.replace(".", "", 1).isdigit() and text.endswith(("W", "w", "s", "S")) else "200"
        faults.add(option, text, f"{unit} as a plain number, such as {example}")
        return None


def chosen(faults: Faults, option: str, text: str, known: tuple[str, ...]) -> None:
    """Note a fault unless `text` is one of `known`.

    Examples
    --------
    >>> faults = Faults()
    >>> chosen(faults, "--on-unknown-app", "nominl", ("error", "nominal"))
    >>> print(faults.found[0])
    --on-unknown-app: found `nominl`, expected one of error, nominal; did you mean `nominal`?
    """
    if text not in known:
        faults.add(option, text, f"one of {', '.join(known)}{did_you_mean(text, known)}")


def run_options(
    faults: Faults,
    *,
    seed: str,
    until_s: str | None,
    no_kill: bool,
    unknown: str,
    kill_grace_s: str = "0",
    walltimes: str = "fixed",
    bound: bool = False,
) -> dict[str, Any]:
    """The keyword options of `hetsched.simulate` that are the same in every verb.

    Parameters
    ----------
    faults
        Notes what is wrong with them.
    seed, until_s, no_kill, unknown, kill_grace_s, walltimes, bound
        As given with ``--seed``, ``--until-s``, ``--no-kill-at-walltime``, ``--on-unknown-app``, ``--kill-grace-s``,
        ``--walltimes`` and ``--bound``.

    Examples
    --------
    >>> run_options(Faults(), seed="7", until_s=None, no_kill=False, unknown="error")["seed"]
    7
    """
    chosen(faults, "--on-unknown-app", unknown, ("error", "nominal"))
    chosen(faults, "--walltimes", walltimes, ("fixed", "stretch"))
    grace = number(faults, "--kill-grace-s", kill_grace_s, unit="seconds")
    if grace is not None:
        faults.number("--kill-grace-s", grace, low=0, high=1e12)
    stop = number(faults, "--until-s", until_s, unit="seconds")
    if stop is not None:
        faults.number("--until-s", stop, low=-1e12, high=1e12)
    return {
        "seed": whole(faults, "--seed", seed, low=0, high=2**64 - 1),
        "until_s": stop,
        "kill_at_walltime": not no_kill,
        "kill_grace_s": grace,
        "walltimes": walltimes,
        "on_unknown_app": unknown,
        "bound": bound,
    }
