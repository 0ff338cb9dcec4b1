"""Options that more than one verb takes, readers of names of files, and completions of values by the shell."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import hetsched as hs
from hetsched.checks import Faults, can_name_a_file, did_you_mean, listed, shown
from hetsched.cli.declare import OUTPUT, RUN, Option, option, whole
from hetsched.errors import OutputError
from hetsched.params import parameters_of
from hetsched.run.options import RunOptions


def folder(faults: Faults, option: str, text: str) -> str:
    """A folder's name."""
    faults.folder(option, text)
    return text


def file(faults: Faults, option: str, text: str) -> str:
    """A file's name."""
    if not text or not can_name_a_file(text) or Path(text).is_dir():
        faults.add(option, text, "a file's name")
    return text


def file_ending_in(endings: Iterable[str], faults: Faults, option: str, text: str) -> str:
    """A file's name with one of the `endings`."""
    if not text.lower().endswith(tuple(endings)):
        suffix = "".join(Path(text).suffixes[-2:]).lower()
        faults.add(option, text, f"a name ending in {listed(endings)}{did_you_mean(suffix, endings)}")
    return text


def picture(faults: Faults, option: str, text: str) -> str:
    """The name of one picture; matplotlib must be there."""
    from hetsched.report.canvas import SUFFIXES, require_matplotlib

    if not text.lower().endswith(SUFFIXES):
        faults.add(option, text, f"a name ending in {listed(SUFFIXES)}")
    require_matplotlib(option)
    return text


def plot(faults: Faults, option: str, text: str) -> str:
    """The name of one picture, or a folder for several, that can be written; matplotlib must be there."""
    from hetsched.report.canvas import SUFFIXES, require_matplotlib

    require_matplotlib(option)
    # A folder is there as one, is written as one, or looks like no file.
    is_folder = Path(text).is_dir() or text.endswith("/") or not Path(text).suffix.strip(".0123456789")
    if text and is_picture(text):
        check_output(files=[text])
    elif text and is_folder:
        check_output(text)
    else:
        faults.add(option, text, f"a name ending in {listed(SUFFIXES)}, or a folder (/ at its end, if a dot is in it)")
    return text


def page(faults: Faults, option: str, text: str) -> str:
    """The name of a page that can be written; what pages are made with must be there."""
    from hetsched.reported import SUFFIXES, require_page

    require_page(option)
    if not can_name_a_file(text):
        return file(faults, option, text)
    if file_ending_in(SUFFIXES, faults, option, text).lower().endswith(SUFFIXES):
        check_output(files=[text])
    return text


def is_picture(plot: str) -> bool:
    """True if this names one picture, not a folder."""
    from hetsched.report.canvas import SUFFIXES

    return Path(plot).suffix.lower() in SUFFIXES


def check_output(folder: str | None = None, *, files: Iterable[str | None] = ()) -> None:
    """Check before a run that a folder, and those of `files`, can be written to; they need not exist yet."""
    for path in (folder, *(str(Path(file).parent) for file in files if file is not None)):
        if path is not None:
            _check_folder(path)


def _check_folder(folder: str) -> None:
    above = Path(folder)
    while not os.path.lexists(above) and above != above.parent:
        above = above.parent
    if not above.is_dir():
        raise OutputError(folder, "not a folder" if above == Path(folder) else f"{above} is not a folder")
    if not os.access(above, os.W_OK | os.X_OK):
        raise OutputError(folder, f"{above} is not writable")


RUN_FILES = ("trace.parquet", "platform.toml", "policy.toml", "events.csv")
"""Files of a run that was found: those that the next command takes."""


def check_not_written_over(faults: Faults, out: str | None, names: Iterable[str], *given: str | None) -> None:
    """Note a folder in which files of these names would replace those that the command reads."""
    for path in given:
        if out is None or path is None or not os.path.lexists(path):
            continue
        for name in names:
            written = Path(out) / name
            if written.exists() and written.samefile(path):
                faults.note("--out", shown(out), f"another folder: {name} there is what this command reads")


def next_command(verb: str, out: str, *more: str, has_events: bool) -> str:
    """The command that takes a run's files from a folder."""
    folder = Path(out)
    trace, platform, policy, events = (str(folder / name) for name in RUN_FILES)
    words = ["hetsched", verb, trace, "--platform", platform, "--policy-file", policy]
    return shlex.join([*words, *(["--events", events] if has_events else ()), *more])


def only_of_a_log(faults: Faults, *groups: Any) -> None:
    """Note options of these groups that have no meaning for the folder of a result, which says it all."""
    for group in groups:
        for one in fields(group):
            value = getattr(group, one.name)
            if one.name != "log" and value not in (None, ()):
                faults.note(f"--{one.name.replace('_', '-')}", str(value), "nothing with the folder of a result")


MOST_SEED = 2**64 - 1


def executor(faults: Faults, option: str, text: str) -> str:
    """The word of an executor; what it needs must be there."""
    from hetsched.many.executors import check_word

    check_word(text, faults, option)
    return text


Workers = Annotated[
    int | None, option("--workers", "N", "Runs at a time; default: one a core.", RUN, read=whole(1, 1024))
]
Executor = Annotated[
    str | None,
    option(
        "--executor",
        "WHERE",
        "Run elsewhere: dask://HOST:PORT, dask-slurm:N (jobs), mpi, or processes:N.",
        RUN,
        read=executor,
    ),
]


def check_executor(faults: Faults, workers: int | None, executor: str | None) -> None:
    """Note a number of workers next to an executor, which has its own."""
    if workers is not None and executor is not None:
        faults.note("--workers", str(workers), "nothing with --executor, which has its own")


Out = Annotated[
    str | None, option("--out", "DIR", "Write jobs, timeline, nodes and summary there.", OUTPUT, read=folder)
]
Plot = Annotated[
    str | None,
    option("--plot", "PATH", "Draw one .png, .svg or .pdf, or all pictures into a folder.", OUTPUT, read=plot),
]

Report = Annotated[
    str | None,
    option("--report", "F.html", "Write all of it as one page, which opens without a network.", OUTPUT, read=page),
]
Title = Annotated[str, option("--title", "TEXT", "With --report: the title of the page.", OUTPUT)]


def check_title(faults: Faults, title: str, report: str | None) -> None:
    """Note a title of a page that is not asked for."""
    if title and report is None:
        faults.note("--title", "no --report", "a page for it: --report FILE.html")


def seed(high: int = MOST_SEED) -> Option:
    """The option ``--seed``, for what takes seeds up to `high`."""
    return option("--seed", "S", parameters_of(RunOptions)["seed"].doc, RUN, read=whole(0, high))


def complete_policy(incomplete: str) -> Iterator[tuple[str, str]]:
    """Preset names that begin like this, each with its meaning."""
    return ((name, preset.doc) for name, preset in hs.policy.PRESETS.items() if name.startswith(incomplete))


def complete_policies(incomplete: str) -> Iterator[tuple[str, str]]:
    """Preset names behind the last comma."""
    before, comma, last = incomplete.rpartition(",")
    return ((f"{before}{comma}{name}", doc) for name, doc in complete_policy(last))


def complete_metrics(incomplete: str) -> Iterator[tuple[str, str]]:
    """Keys of metrics behind the last comma, each with its title."""
    before, comma, last = incomplete.rpartition(",")
    metrics = hs.analysis.METRICS.items()
    return ((f"{before}{comma}{key}", metric.title) for key, metric in metrics if key.startswith(last))


def complete_platform(incomplete: str) -> list[str]:
    """Names of machines that come with hetsched."""
    from hetsched.platform.reading import machine_names

    return [name for name in machine_names() if name.startswith(incomplete)]
