"""Jobs as tables of ``squeue`` and ``sacct`` show them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain, islice, pairwise
from operator import attrgetter

from hetsched.checks import shown
from hetsched.hostlists import HostListError, expanded
from hetsched.slurm_bridge.calls import Answer, Slurm
from hetsched.slurm_bridge.standing import JobKey, SeenJob
from hetsched.slurm_bridge.tables import Column, TableError, format_of, lines_of, row_of, rows_of, whole

_LICENCES_WIDTH = 256
COLUMNS = (
    Column("JobID", 12),
    Column("ArrayJobID", 12),
    Column("ArrayTaskID", 128),
    Column("SubmitTime", 20),
    Column("UserID", 12),
    Column("State", 20),
    Column("Reason", 64),
    Column("Partition", 256, may_be_cut=True),
    Column("NumNodes", 24),
    Column("TimeLimit", 24),
    Column("EligibleTime", 24),
    Column("StartTime", 24),
    Column("RestartCnt", 12),
    Column("PriorityLong", 20),
    Column("HetJobID", 12),
    Column("Feature", 256, may_be_cut=True),
    Column("Licenses", _LICENCES_WIDTH, may_be_cut=True),
    Column("ReqNodes", 64, may_be_cut=True),
    Column("NodeList", 1024),
)
WORDS = ("squeue", "-h", "-a", "--noconvert", "-O", format_of(COLUMNS))
"""The command that shows every job that is not over; what waits of an array is one row, however much it is."""

MOST_ELEMENTS = 100
"""Elements of an array that wait which count as jobs at a time; the next ones follow as these are let go."""

NONE = ("(null)", "N/A", "")
"""Words for nothing."""

_ID = re.compile(r"[0-9]{1,10}(_[0-9]{1,10})?")
_SPAN = re.compile(r"(?:(?P<days>[0-9]+)-)?(?:(?P<hours>[0-9]+):)?(?P<minutes>[0-9]+):(?P<seconds>[0-9]{2})")
_ELEMENTS = re.compile(r"(?P<all>[0-9,:\-]+?)(?P<rest>,?\.\.\.)?(%(?P<most>[0-9]+))?")
_RANGE = re.compile(r"(?P<first>[0-9]{1,10})(?:-(?P<last>[0-9]{1,10})(?::(?P<step>[0-9]{1,10}))?)?")
_STATE = re.compile(r"[A-Z_]+( by [0-9]+)?\+?")
_COUNT = re.compile(r"([0-9]+)(?:-[0-9]+)?")


def read_jobs(slurm: Slurm) -> list[SeenJob]:
    """All jobs that are not over; raises CallError and TableError."""
    return jobs_of(slurm.call(*WORDS).checked().out)


def jobs_of(text: str) -> list[SeenJob]:
    """The jobs of a table, by submission.

    Raises
    ------
    TableError
        If it does not read, or has a job twice.
    """
    return JobTables().read(text)


class JobTables:
    """Tables of the same queue, one after another: a line that the last one had is the same job, and not read again."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[SeenJob, ...]] = {}

    def read(self, text: str) -> list[SeenJob]:
        """The jobs of a table, as `jobs_of` gives them."""
        lines = lines_of(text, "squeue")
        known = self._known.get
        found = [
            known(line) or _jobs(row_of(line, COLUMNS, f"squeue, line {number}"))
            for number, line in enumerate(lines, start=1)
        ]
        self._known = dict(zip(lines, found, strict=True))
        jobs = list(chain.from_iterable(found))
        jobs.sort(key=attrgetter("order"))
        for one, other in pairwise(jobs):
            if one.key == other.key:
                raise TableError(f"squeue: found job {one.key.id} twice")
        return jobs


def _jobs(row: tuple[str, ...]) -> tuple[SeenJob, ...]:
    """The jobs of a row: one, or the first of an array's elements that wait."""
    values = {column.name: value for column, value in zip(COLUMNS, row, strict=True)}
    elements, array = values["ArrayTaskID"], values["ArrayJobID"]
    if elements in NONE:
        return (_job(values, values["JobID"]),)
    return tuple(_job(values, f"{array}_{one}") for one in elements_of(elements, f"squeue, job {array}"))


def elements_of(text: str, place: str) -> list[int]:
    """The first numbers of a list of elements as Slurm writes it, as many as count at a time and may run at once.

    Raises
    ------
    TableError
        If it does not read.

    Examples
    --------
    >>> elements_of("7", ""), elements_of("1-9:4,20", ""), elements_of("1-5000%3", ""), elements_of("1,3,...", "")
    ([7], [1, 5, 9, 20], [1, 2, 3], [1, 3])
    """
    found = _ELEMENTS.fullmatch(text)
    parts = [] if found is None else [_RANGE.fullmatch(part) for part in found["all"].split(",")]
    ranges = [
        range(int(one["first"]), int(one["last"] or one["first"]) + 1, int(one["step"] or 1) or 1)
        for one in parts
        if one is not None
    ]
    if found is None or len(ranges) < len(parts):
        raise TableError(f"{place}, ArrayTaskID: found {shown(text)}, expected numbers such as 1-9,12")
    most = min(MOST_ELEMENTS, int(found["most"] or MOST_ELEMENTS))
    return list(islice(chain.from_iterable(ranges), most))


def _job(values: Mapping[str, str], id_: str) -> SeenJob:
    place = f"squeue, job {values['JobID']}"
    if not _ID.fullmatch(id_):
        raise TableError(f"squeue: found the job id {shown(id_)}, expected digits")
    count = _COUNT.fullmatch(values["NumNodes"])
    if count is None:
        raise TableError(f"{place}, NumNodes: found {shown(values['NumNodes'])}, expected a whole number")
    return SeenJob(
        JobKey(whole(values["SubmitTime"], place), id_, whole(values["UserID"], place)),
        values["State"],
        values["Reason"],
        tuple(values["Partition"].split(",")),
        int(count[1]),
        limit_of(values["TimeLimit"]),
        _second(values["EligibleTime"], place),
        _second(values["StartTime"], place),
        whole(values["RestartCnt"], place),
        whole(values["PriorityLong"], place),
        # Of a job whose licences do not fit it is not known what to give back: it is left alone.
        values["HetJobID"] not in (*NONE, "0") or len(values["Licenses"]) == _LICENCES_WIDTH,
        None if values["Feature"] in NONE else values["Feature"],
        () if values["Licenses"] in NONE else tuple(values["Licenses"].split(",")),
        nodes_of(values["NodeList"], place),
        values["ReqNodes"] not in NONE,
    )


def _second(text: str, place: str) -> int | None:
    return None if text in NONE else whole(text, place)


def limit_of(text: str) -> float | None:
    """Seconds of a limit of time as Slurm writes it; None if there is none.

    Examples
    --------
    >>> limit_of("1-00:05:00"), limit_of("5:00"), limit_of("UNLIMITED")
    (86700.0, 300.0, None)
    """
    found = _SPAN.fullmatch(text)
    if found is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return float(86_400 * days + 3600 * hours + 60 * minutes + seconds)


def nodes_of(text: str, place: str) -> tuple[str, ...]:
    """The names of a host list; raises TableError."""
    if text in NONE:
        return ()
    try:
        return tuple(expanded(text))
    except HostListError as error:
        raise TableError(f"{place}: {error}") from None


_ENDS = (Column("JobID", 12), Column("ArrayJobID", 12), Column("ArrayTaskID", 12), Column("State", 20))
_END_WORDS = ("squeue", "-h", "-r", "-a", "-O", format_of(_ENDS))
MOST_ASKED = 200
"""Jobs that one call asks about."""


def _asked(keys: list[JobKey]) -> Iterator[str]:
    """The ids of all jobs, as lists that are no longer than a call may ask for."""
    for first in range(0, len(keys), MOST_ASKED):
        yield ",".join(key.id for key in keys[first : first + MOST_ASKED])


def read_ends(slurm: Slurm, keys: list[JobKey]) -> dict[str, str]:
    """States of jobs that are over, by id, as far as Slurm still knows them; raises CallError and TableError."""
    found: dict[str, str] = {}
    for asked in _asked(keys):
        answer = slurm.call(*_END_WORDS, "-t", "all", "-j", asked)
        # It fails if it knows none of them any more.
        found |= _states(answer) if answer.code == 0 else {}
    return found


def read_accounted_ends(slurm: Slurm, keys: list[JobKey]) -> dict[str, str]:
    """States of jobs that are over by what accounting says, by id; none if it gives no answer.

    Raises
    ------
    TableError
        If its table does not read.
    """
    found: dict[str, str] = {}
    for asked in _asked(keys):
        answer = slurm.call("sacct", "-n", "-X", "-P", "-j", asked, "-o", "JobID,State")
        found |= _accounted(answer) if answer.code == 0 else {}
    return found


def _accounted(answer: Answer) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, line in enumerate(lines_of(answer.out, "sacct"), start=1):
        id_, _, state = line.partition("|")
        if not _ID.fullmatch(id_) or not _STATE.fullmatch(state):
            raise TableError(f"sacct, line {number}: found {shown(line)}, expected a job and its state")
        # Who has cancelled it stands behind the state.
        found[id_] = state.split(" ")[0]
    return found


def read_ids(slurm: Slurm, *filters: str) -> set[str]:
    """Ids of the jobs that are not over and pass filters of squeue; raises CallError and TableError."""
    return set(_states(slurm.call(*_END_WORDS, *filters).checked()))


def _states(answer: Answer) -> dict[str, str]:
    rows = rows_of(answer.out, _ENDS, "squeue")
    return {(job if element in NONE else f"{array}_{element}"): state for job, array, element, state in rows}
