"""States of jobs as batch systems write them: their words as the status codes of the Standard Workload Format.

A job that never ran has no length to simulate, and one that still waited when its log was written may yet run: they are
no jobs that completed after 0 s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from hetsched.workload.convert import Origin, span_seconds

STATUS, STATE, LENGTH, CANCEL = "trace_status", "trace_state", "runtime_s", "cancel_s"
_OBSERVED = ("observed_start_s", "observed_nodes")

COMPLETED, FAILED, CANCELLED = 1, 0, 5
"""Status codes of the Standard Workload Format."""

_CODES = {
    COMPLETED: "COMPLETED CD",
    FAILED: "FAILED F TIMEOUT TO OUT_OF_MEMORY OOM NODE_FAIL NF BOOT_FAIL BF LAUNCH_FAILED",
    CANCELLED: "CANCELLED CANCELED CA PREEMPTED PR DEADLINE DL REJECTED",
}
_ENDED = {word: code for code, words in _CODES.items() for word in words.split()}
_WAITING = frozenset(
    "PENDING PD CONFIGURING CF REQUEUED RQ REQUEUE_HOLD RH REQUEUE_FED RF RESV_DEL_HOLD RD SPECIAL_EXIT SE".split()  # noqa: SIM905
)
_RUNNING = frozenset("RUNNING R COMPLETING CG SUSPENDED S STOPPED ST RESIZING RS SIGNALING SI STAGE_OUT SO".split())  # noqa: SIM905
_NOTHING = ("", "-1", "None", "Unknown")
_SHORT = 3
"""Letters of the longest abbreviation."""
_COLUMNS_OF_STATES = frozenset({"state", "status", "jobstate", "job_state", "jobstatus", "job_status"})


def with_states(frame: pl.DataFrame, origin: Origin) -> tuple[pl.DataFrame, Origin, dict[str, int]]:
    """The frame with states in words as codes, without jobs that never ran; where its rows come from, and counts.

    The words are the column `trace_state`. A job that was cancelled before it ran is kept where its `cancel_s` is
    known, with a length of 0; one that runs is kept with the time that it has run. See `hetsched.workload.schema`.
    """
    if not isinstance(frame, pl.DataFrame) or STATUS not in frame.columns or not _is_text(frame[STATUS].dtype):
        return frame, origin, {}
    text = frame[STATUS].cast(pl.String).str.strip_chars()
    text = text.set(text.is_in(_NOTHING), None)
    words = _words(text)
    codes = words.replace_strict(_ENDED, default=None, return_dtype=pl.Int32)
    codes = codes.fill_null(words.cast(pl.Int32, strict=False).replace_strict({n: n for n in range(6)}, default=None))
    length_s, is_none = _lengths(frame)
    has_run = (length_s > 0).fill_null(~is_none) | _has_nodes(frame)
    is_waiting = words.is_in(_WAITING).fill_null(value=False) & ~has_run
    never_ran = (codes == CANCELLED).fill_null(value=False) & ~has_run
    is_known = frame[CANCEL].is_not_null() if CANCEL in frame.columns else pl.repeat(False, len(frame), eager=True)
    stays = ~is_waiting & (~never_ran | is_known)
    is_running = words.is_in(_RUNNING).fill_null(value=False)
    counts = {
        "dropped_pending": is_waiting.sum(),
        "dropped_never_ran": (never_ran & ~is_known).sum(),
        "never_ran": (never_ran & is_known).sum(),
        "cut_by_end": is_running.sum(),
        "kept_cancelled_or_failed": (
            codes.is_in([FAILED, CANCELLED]).fill_null(value=False) & ~never_ran & has_run
        ).sum(),
        "unknown_states": (text.is_not_null() & codes.is_null() & ~words.is_in(_WAITING | _RUNNING)).sum(),
    }
    kept = [text.alias(STATE)] if STATE not in frame.columns else []
    read = frame.with_columns(codes.alias(STATUS), *kept)
    if counts["never_ran"]:
        read = _without_length(read, never_ran & is_known, length_s)
    rows = np.flatnonzero(stays.to_numpy())
    return read[rows], _at_rows(origin, rows), {name: int(count) for name, count in counts.items() if count}


def unread_states(frame: pl.DataFrame) -> Mapping[str, str]:
    """The column of a log that says how jobs ended, if it was not asked for and says that some did not end well."""
    if STATUS in frame.columns:
        return {}
    for name in frame.columns:
        if name.lower() in _COLUMNS_OF_STATES and _is_text(frame[name].dtype):
            words = set(_words(frame[name].cast(pl.String).str.strip_chars()).drop_nulls().unique())
            # Two letters may be anything, a region say.
            known = {word for word in words & {*_ENDED, *_WAITING, *_RUNNING} if len(word) > _SHORT}
            if any(_ENDED.get(word) != COMPLETED for word in known):
                return {"unread_states": name}
    return {}


def _is_text(dtype: pl.DataType) -> bool:
    return dtype == pl.String or isinstance(dtype, pl.Categorical | pl.Enum)


def _words(text: pl.Series) -> pl.Series:
    """The first word of each state: sacct writes ``CANCELLED by 1234``, and ``CANCELLED+`` where it cuts."""
    return text.str.extract(r"^([^\s+]*)", 1).str.to_uppercase()


def _lengths(frame: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
    """Seconds of each run, null where nothing readable stands; and where nothing stands at all."""
    nothing = pl.Series([None] * len(frame), dtype=pl.Float64)
    values = frame[LENGTH] if LENGTH in frame.columns else nothing
    if isinstance(values.dtype, pl.Duration):
        return values.dt.total_microseconds().cast(pl.Float64) / 1e6, values.is_null()
    if values.dtype == pl.String:
        text = values.str.strip_chars()
        text = text.set(text == "", None)
        return text.cast(pl.Float64, strict=False).fill_null(span_seconds(text)), text.is_null()
    if values.dtype.is_numeric():
        return values.cast(pl.Float64), values.is_null()
    return nothing, values.is_null()


def _has_nodes(frame: pl.DataFrame) -> pl.Series:
    """True for jobs with recorded nodes that they ran on; in a file of text, those with a number there."""
    if "observed_nodes" not in frame.columns:
        return pl.repeat(False, len(frame), dtype=pl.Boolean, eager=True)
    nodes = frame["observed_nodes"]
    return nodes.str.contains(r"\d").fill_null(value=False) if nodes.dtype == pl.String else nodes.is_not_null()


def _without_length(frame: pl.DataFrame, never_ran: pl.Series, length_s: pl.Series) -> pl.DataFrame:
    """Jobs that never ran with a length of 0 and nothing observed; all lengths in seconds if each can be read."""
    own_s = length_s.set(never_ran, 0.0).alias(LENGTH)
    gone = [pl.when(~never_ran).then(pl.col(name)).alias(name) for name in _OBSERVED if name in frame.columns]
    return frame.with_columns(*gone, *([own_s] if not own_s.null_count() else []))


def _at_rows(origin: Origin, rows: np.ndarray) -> Origin:
    """The same origin for a frame that holds some of its rows."""
    line_of = origin.line_of
    if line_of is None:
        return replace(origin, row_of=lambda row: int(rows[row]))
    return replace(origin, line_of=lambda row: line_of(int(rows[row])))
