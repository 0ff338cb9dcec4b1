"""Options that more than one verb takes, each declared once, and how their text becomes values.

Values are taken as text and read here, so that every fault of a command line is told at once, in the words of the rest.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from hetsched.checks import Faults, did_you_mean

KNOWN_DRAWS = ("measured", "table", "tdp")
"""As in `hetsched.platform.known_draws`, which is slow to import."""

OTHER_DRAWS = "--known-draws table or tdp, or --predictor history, has them not know it"
"""Options that keep decisions from knowing a job's draw before it has run."""

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


def _complete_known_draws() -> list[str]:
    return list(KNOWN_DRAWS)


def complete_platform() -> list[str]:
    """Names of the machines that come with hetsched."""
    from hetsched.platform.shipped import machine_names  # noqa: PLC0415 -- polars is slow to import

    return machine_names()


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
    typer.Option(
        "--platform",
        metavar="F.toml|NAME",
        help="All of the machine from a file, or one that comes with hetsched; see hetsched machines.",
        autocompletion=complete_platform,
        rich_help_panel=_MACHINE,
    ),
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


def whole(faults: Faults, option: str, text: str | None, *, low: int, high: int | None = None) -> int | None:
    """A whole number, or None if the option was not given or is at fault; without `high`, of 31 bits."""
    if text is None:
        return None
    try:
        value = int(text)
    except ValueError:
        value = None
    if value is None or (high is None and value < low):
        faults.add(option, text, f"a whole number, at least {low}")
        return None
    before = len(faults.found)
    faults.whole(option, value, low=low, high=2**31 - 1 if high is None else high)
    return value if len(faults.found) == before else None


def number(faults: Faults, option: str, text: str | None, *, unit: str) -> float | None:
    """A number, or None if the option was not given or is at fault; its range is the library's business."""
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
    """Note a fault unless `text` is one of `known`."""
    if text not in known:
        faults.add(option, text, f"one of {', '.join(known)}{did_you_mean(text, known)}")


_Verb = TypeVar("_Verb", bound=Callable[..., Any])


def takes_groups(verb: _Verb) -> _Verb:
    """Give a verb, in place of each parameter that is a dataclass of options, these options."""
    hints = get_type_hints(verb, include_extras=True)
    names = list(inspect.signature(verb).parameters)
    shown: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(verb).parameters.items():
        shown += (
            _options_of(hints[name])
            if is_dataclass(hints[name])
            else [parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)]
        )

    @functools.wraps(verb)
    def called(**given: Any) -> Any:
        return verb(**{name: _made(hints[name], given) if is_dataclass(hints[name]) else given[name] for name in names})

    called.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in shown}
    return called  # type: ignore[return-value]


def _options_of(group: Any) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        hint = hints[field.name]
        if is_dataclass(hint):
            yield from _options_of(hint)
        else:
            default = inspect.Parameter.empty if field.default is MISSING else field.default
            yield inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _made(group: Any, given: Mapping[str, Any]) -> Any:
    """A group with what was given of its options."""
    hints = get_type_hints(group, include_extras=True)
    own = {
        field.name: _made(hints[field.name], given) if is_dataclass(hints[field.name]) else given[field.name]
        for field in fields(group)
    }
    return group(**own)
