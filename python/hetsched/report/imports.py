"""Lines about a log that was read: what became of its rows and columns, what was assumed, what it says of its jobs.

At most 24 lines of 80 columns; what does not fit is in the JSON that `account` gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import polars as pl

from hetsched.hostlists import folded as host_list
from hetsched.report.tables import folded
from hetsched.workload import Workload
from hetsched.workload.clock import date_text, unix_zero
from hetsched.workload.formats import Format
from hetsched.workload.formats.mappings import theirs_by_ours
from hetsched.workload.schema import COLUMNS
from hetsched.workload.writers.swf import LOST_COLUMNS

_LABEL = 10
_GONE = (
    *("dropped_no_size", "dropped_no_submit", "dropped_no_runtime", "dropped_pending", "dropped_never_ran"),
    *("dropped_duplicate", "dropped_revoked", "steps", "merged", "other_records", "array_parents", "bad_lines"),
    "cut_last_line",
)
"""Counts of rows that are no jobs of their own."""
_KNOWN = {
    "walltime_s": "walltime",
    "observed_energy_j": "energy",
    "observed_nodes": "nodes",
    "observed_start_s": "start",
}
_MOST_LINES = 24
_FEWEST = {"left out": 3, "kept": 3, "skipped": 3, "columns": 4, "assumed": 3}
"""Lines that a part keeps where all of them are too many; the others keep one."""


def account(workload: Workload, format: Format, options: Mapping[str, Any]) -> dict[str, Any]:
    """Account of a log, as JSON holds it; `options` are those that its reader was given.

    ``summary`` has ``rows``, ``jobs`` and the report's counts; ``columns`` goes from hetsched's names to those of the
    log; ``unused`` are the log's columns that became none, ``own`` those that are kept as they are; ``skipped`` has
    the first bad lines; ``known_ratio`` has the shares of jobs with each value.
    """
    report, jobs = workload.report, workload.to_polars()
    counts = {name: count for name, count in report.items() if isinstance(count, int) and name not in ("rows", "jobs")}
    columns, unused = _columns(workload, format, options)
    return {
        "summary": {"rows": rows_read(report), "jobs": len(jobs), **counts},
        "format": format.name,
        "skipped": list(report.get("first_bad_lines", [])),
        "columns": columns,
        "unused": unused,
        "own": [name for name in workload.columns if name not in COLUMNS],
        "assumed": list(_assumed(workload, format, options)),
        "submit_s": _span(jobs, "submit_s"),
        "observed_start_s": _span(jobs, "observed_start_s"),
        "nodes": {"seen": _nodes_seen(jobs), "names": report.get("node_names")},
        "known_ratio": {word: _known(jobs, name) for name, word in _KNOWN.items()},
    }


def rows_read(report: Mapping[str, Any]) -> int:
    """Rows of a log, where its reader does not count them: of the jobs, and of those that were left out."""
    if "rows" in report:
        return int(report["rows"])
    return int(report["jobs"] + sum(report.get(name, 0) for name in _GONE if name not in ("steps", "merged")))


def lines(workload: Workload, found: Mapping[str, Any], width: int, *, out: str | None = None) -> Iterator[str]:
    """The lines of the screen, `width` characters wide; `out` is the file that is written."""
    phrases = workload.report.phrases()
    gone = [phrases[name] for name in _GONE if name in phrases]
    rows, jobs = found["summary"]["rows"], found["summary"]["jobs"]
    parts: list[tuple[str, Iterable[str], str]] = [
        (
            "",
            [f"{workload.report.source} ({found['format']}): {_many(rows, 'row')} read, {_many(jobs, 'job')} kept"],
            "",
        ),
        ("left out", gone, "; "),
        ("skipped", found["skipped"], "\n"),
        ("kept", [phrase for name, phrase in phrases.items() if name not in _GONE and name not in _SAID], "; "),
        ("columns", list(_pairs(found, has_names="columns" in workload.report)), " "),
        ("unused", found["unused"], " "),
        ("own names", found["own"], " "),
        ("assumed", found["assumed"], "; "),
        ("submitted", [_dates(workload, found["submit_s"])], ""),
        ("started", [_dates(workload, found["observed_start_s"])], ""),
        ("nodes", [_nodes_text(found["nodes"])], ""),
        ("known", [_shares(found["known_ratio"])], ""),
        ("lost", _lost(workload, out), " "),
    ]
    yield from _fitting(
        [_Part(label, [text for text in texts if text], between) for label, texts, between in parts], width
    )


class _Part(NamedTuple):
    """Texts under a label, with what stands between them."""

    label: str
    texts: list[str]
    between: str

    def lines(self, width: int, most: int) -> list[str]:
        """Its lines, as few as are allowed; texts that have no place on them are counted."""
        indent = " " * _LABEL if self.label else ""
        kept = len(self.texts)
        written = self._folded(self.texts, width, indent)
        while len(written) > most and kept > 1:
            kept -= 1
            left = f"and {len(self.texts) - kept:,} more: see --json"
            written = self._folded([*self.texts[:kept], left], width, indent)
        if self.label:
            written[0] = f"{self.label:<{_LABEL}}{written[0][_LABEL:]}"
        return written[:most]

    def _folded(self, texts: list[str], width: int, indent: str) -> list[str]:
        blocks = texts if self.between == "\n" else [self.between.join(texts)]
        return [line for block in blocks for line in folded(indent + block, width, indent=indent)]


def _fitting(parts: Iterable[_Part], width: int) -> Iterator[str]:
    """The lines of all parts that have a text; the longest are cut until there is room for all."""
    own = [part for part in parts if part.texts]
    limits = [len(part.lines(width, _MOST_LINES)) for part in own]
    fewest = [_FEWEST.get(part.label, 1) for part in own]
    # The last lines of the screen are of the file that is written, and of a part of the log that was asked for.
    while sum(limits) > _MOST_LINES - 2:
        surplus = [limit - low for limit, low in zip(limits, fewest, strict=True)]
        if max(surplus) <= 0:
            break
        limits[surplus.index(max(surplus))] -= 1
    for part, most in zip(own, limits, strict=True):
        yield from part.lines(width, most)


def _pairs(found: Mapping[str, Any], *, has_names: bool) -> Iterator[str]:
    """Hetsched's names with the log's, in the form of ``--columns``; those of one column of the log together."""
    together: dict[str, list[str]] = {}
    for ours, theirs in found["columns"].items():
        together.setdefault(theirs, []).append(ours)
    pairs = [f"{','.join(ours)}={theirs}" for theirs, ours in together.items() if ours != [theirs]]
    same = [theirs for theirs, ours in together.items() if ours == [theirs]]
    if pairs and found["format"] == "swf":
        yield "by field:"
    if pairs and found["format"] == "sacct" and not has_names:
        yield "by their names in text:"
    yield from pairs
    if same:
        yield f"{'and ' if pairs else ''}by their own names:"
        yield from same


def _many(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


_SAID = ("no_walltime", "never_ran", "het_components")
"""Counts that are said in other words."""


def _columns(workload: Workload, format: Format, options: Mapping[str, Any]) -> tuple[dict[str, str], list[str]]:
    """Names in the log by hetsched's names, and names in the log that became no column."""
    names = workload.columns
    there: list[str] = list(workload.report.get("columns", []))
    if not format.origins:
        theirs = theirs_by_ours(options.get("columns"))
        return {ours: theirs.get(ours, ours) for ours in names if ours in COLUMNS}, []
    known = {name.lower(): name for name in there}
    origins = {**format.origins, **({"app": options["app"] or ""} if "app" in options else {})}
    found: dict[str, str] = {}
    used: set[str] = set()
    for ours, words in origins.items():
        own = [known[word.lower()] for word in words.split() if word.lower() in known] if there else words.split()
        used.update(own)
        if ours in names and own:
            found[ours] = own[0]
    return found, [name for name in there if name not in used]


def _assumed(workload: Workload, format: Format, options: Mapping[str, Any]) -> Iterator[str]:
    report = workload.report
    if format.name == "sacct" and report.get("columns"):
        yield f"local times are of {options.get('time_zone') or 'UTC (no --time-zone)'}"
    elif format.name == "pbs":
        yield f"local stamps are of {options.get('time_zone') or 'the zone that records with instants show'}"
    elif any("UTC" in text for text in report.get("read_from", {}).values()):
        yield "dates without an offset are of UTC"
    if never_ran := report.get("never_ran"):
        yield f"{never_ran:,} that never ran {'has' if never_ran == 1 else 'have'} a length of 0 s"
    if parts := report.get("het_components"):
        yield f"{parts:,} components of heterogeneous jobs may start apart"
    if report.get("cut_by_end"):
        yield "runs that the log's end cuts end there"
    if format.name == "swf" and report.get("procs_per_node") is None:
        yield "a processor is a node (no --procs-per-node)"
    elif not {"slots"} & set(workload.columns):
        yield "jobs hold whole nodes"
    if report.get("no_walltime"):
        yield f"jobs without a walltime ({report['no_walltime']:,}) are planned with their run length"


def _span(jobs: pl.DataFrame, name: str) -> list[float] | None:
    if name not in jobs.columns or jobs[name].null_count() == len(jobs):
        return None
    return [float(jobs[name].min()), float(jobs[name].max())]  # type: ignore[arg-type]


def _nodes_seen(jobs: pl.DataFrame) -> int | None:
    if "observed_nodes" not in jobs.columns:
        return None
    return jobs["observed_nodes"].drop_nulls().explode().n_unique() or None


def _known(jobs: pl.DataFrame, name: str) -> float:
    return jobs[name].count() / len(jobs) if name in jobs.columns and len(jobs) else 0.0


def _dates(workload: Workload, span: list[float] | None) -> str:
    if span is None:
        return "not said"
    epoch_s = unix_zero(workload)
    return " to ".join(date_text(seconds, epoch_s) for seconds in span)


def _nodes_text(nodes: Mapping[str, Any]) -> str:
    names = nodes["names"]
    if nodes["seen"] is None:
        return "not said by number or name"
    text = f"{nodes['seen']:,} seen"
    if not names:
        return text
    listed = host_list(names)
    own = f" of {len(names):,}" if len(names) != nodes["seen"] else ""
    return f"{text}{own}: {listed}" if len(listed) <= _MOST_NAMES else f"{text}{own}, {names[0]} to {names[-1]}"


_MOST_NAMES = 40


def _shares(ratios: Mapping[str, float]) -> str:
    return "of jobs " + ", ".join(f"{word} {_percent(ratio)}" for word, ratio in ratios.items())


def _percent(ratio: float) -> str:
    """Whole percents, but neither all nor none where it is not."""
    if 0.0 < ratio < 0.01:
        return "below 1 %"
    return f"{int(ratio * 100 + 1e-9)} %"


def _lost(workload: Workload, out: str | None) -> list[str]:
    """Columns that a file in SWF has no place for."""
    if out is None or ".swf" not in out.lower():
        return []
    return [name for name in workload.columns if name not in COLUMNS or name in LOST_COLUMNS]
