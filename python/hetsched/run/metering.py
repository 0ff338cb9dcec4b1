"""`meter`: a schedule that was made elsewhere, checked and metered as a run."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from hetsched import _core
from hetsched.checks import Faults, and_more, did_you_mean, listed, many, shown
from hetsched.errors import ConfigError, SimulationError
from hetsched.features import contracts
from hetsched.features.eligibility import eligibility
from hetsched.features.feature import Setting
from hetsched.files import frame_sha256
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.run.memory import check_memory
from hetsched.run.options import RunKeywords, options_given, takes_run_options
from hetsched.run.outcome import result_of
from hetsched.run.result import Result
from hetsched.run.simulation import run_of
from hetsched.tables import refuse_other_frames
from hetsched.units import TICKS_S, micros
from hetsched.workload import COLUMNS, Workload
from hetsched.workload.convert import Origin, converted, node_lists, nodes_text
from hetsched.workload.schema import MAX_SECONDS

if TYPE_CHECKING:
    from typing_extensions import Unpack


_COLUMNS = {
    "job_id": COLUMNS["job_id"],
    "start_s": replace(COLUMNS["observed_start_s"], name="start_s"),
    "nodes": replace(COLUMNS["observed_nodes"], name="nodes"),
    "end_s": replace(COLUMNS["observed_start_s"], name="end_s"),
}
_NEEDED = ("job_id", "start_s", "nodes")
_SECONDS = f"seconds up to {MAX_SECONDS:g}"
_EXPECTED = {"job_id": "a job of the workload", "start_s": _SECONDS, "nodes": "a list of node numbers"}
_NO_INSTANT = -(2**63)
_NO_ROW = "; a job that never started has no row"


def _checked_starts(starts: object, workload: Workload, platform: Platform) -> pl.DataFrame:
    """The schedule in one form, a row a job of it."""
    refuse_other_frames(starts, "starts")
    assert isinstance(starts, pl.DataFrame)
    _refuse_missing(starts)
    given = pl.DataFrame([_taken(starts, name) for name in _COLUMNS if name in starts.columns])
    if "end_s" not in given.columns:
        given = given.with_columns(end_s=pl.lit(None, pl.Float64))
    refuse(_rules_of_values(given))
    asked = workload.to_polars().select("job_id", "submit_s", "node_count", pl.col("^slots$")).with_row_index("row")
    known = given.join(asked, on="job_id", how="left", maintain_order="left")
    refuse(
        [
            *_rules_of_ids(known),
            *_rules_of_times(known),
            *_rules_of_nodes(known, platform),
            *_rules_of_cells(known, workload, platform),
        ]
    )
    return known.sort("row").select("job_id", "start_s", "nodes", "end_s", "row")


def _rules_of_cells(known: pl.DataFrame, workload: Workload, platform: Platform) -> list[_Rule]:
    """Nodes that have what a job asks for."""
    found = eligibility(workload, platform)
    if found is None:
        return []

    def other(row: int) -> int | None:
        nodes = [node for node in known["nodes"][row] if node < platform.nodes]
        job = known["row"][row]
        return None if job is None else next((n for n in nodes if not found.may_use(job, [n])[0]), None)

    others = [other(row) for row in range(len(known))]

    def fault(row: int) -> tuple[str, str, str]:
        place = f"starts, job {known['job_id'][row]}, nodes"
        return place, f"node {_called(others[row], platform)}", "a node that has what the job asks for"

    return [_Rule(pl.Series([node is not None for node in others], dtype=pl.Boolean), fault)]


def instant(ticks: int) -> str:
    """An instant as messages show it."""
    whole, rest = divmod(abs(ticks), TICKS_S)
    return f"{'-' if ticks < 0 else ''}{f'{whole}.{rest:06d}'.rstrip('0').rstrip('.')} s"


def _refuse_missing(starts: pl.DataFrame) -> None:
    missing = [name for name in _NEEDED if name not in starts.columns]
    if missing:
        hint = next((hint for name in missing if (hint := did_you_mean(name, starts.columns))), "")
        expected = "columns job_id, start_s and nodes, and end_s where it is known"
        _raise_faults([("starts", f"columns {listed(starts.columns)}", expected + hint)])


def _taken(starts: pl.DataFrame, name: str) -> pl.Series:
    values, column, origin = starts[name], _COLUMNS[name], Origin("starts")
    if name == "nodes" and values.dtype == pl.String and (read := node_lists(values)) is not None:
        lists, bad = read
        origin.refuse(values, bad, column.expected)
        return lists
    return converted(values, column, origin)


def _rules_of_values(given: pl.DataFrame) -> list[_Rule]:
    """Rules against missing values and values that are no numbers."""

    def no_value(name: str) -> _Rule:
        expected = _EXPECTED[name] + ("" if name == "job_id" else _NO_ROW)
        return _Rule(given[name].is_null(), lambda row: (f"starts, row {row}, {name}", "nothing", expected))

    def no_instant(name: str) -> _Rule:
        seconds = given[name]
        bad = ~(seconds.is_finite() & (seconds.abs() <= MAX_SECONDS))
        return _Rule(bad, lambda row: (f"starts, row {row}, {name}", shown(seconds[row]), _SECONDS))

    text = nodes_text(given["nodes"])
    holes = given["nodes"].list.drop_nulls().list.len() < given["nodes"].list.len()
    hole = _Rule(holes, lambda row: (f"starts, row {row}, nodes", shown(text[row]), _EXPECTED["nodes"]))
    return [*(no_value(name) for name in _NEEDED), no_instant("start_s"), no_instant("end_s"), hole]


def _rules_of_ids(known: pl.DataFrame) -> list[_Rule]:
    """Jobs that there are not, and jobs that are there twice."""
    job = known["job_id"]
    first = known.select(pl.int_range(pl.len()).min().over("job_id")).to_series()

    def at(row: int) -> tuple[str, str]:
        return f"starts, row {row}, job_id", shown(job[row])

    return [
        _Rule(known["row"].is_null(), lambda row: (*at(row), "the number of a job of the workload")),
        _Rule(~job.is_first_distinct(), lambda row: (*at(row), f"each job once; row {first[row]} has it already")),
    ]


def _rules_of_times(known: pl.DataFrame) -> list[_Rule]:
    """Rules about when a job may start, and end."""
    job, times = known["job_id"], {name: micros(known[name], _NO_INSTANT) for name in ("start_s", "submit_s", "end_s")}
    start, submit, end = times.values()
    has_end = known["end_s"].is_not_null().to_numpy()

    def early(row: int) -> tuple[str, str, str]:
        expected = f"{instant(int(submit[row]))} or later: it is submitted then"
        return f"starts, job {job[row]}, start_s", instant(int(start[row])), expected

    def backwards(row: int) -> tuple[str, str, str]:
        begun = instant(int(start[row]))
        return f"starts, job {job[row]} at {begun}, end_s", instant(int(end[row])), f"{begun} or later: it starts then"

    return [_Rule(pl.Series(start < submit), early), _Rule(pl.Series(has_end & (end < start)), backwards)]


def _rules_of_nodes(known: pl.DataFrame, platform: Platform) -> list[_Rule]:
    """Nodes that a job may have."""
    nodes, count, start = known["nodes"], known["node_count"], micros(known["start_s"], _NO_INSTANT)
    most = int(platform.slots.min())
    asked = (
        known["slots"] if "slots" in known.columns else pl.Series([None], dtype=pl.Int32).new_from_index(0, len(known))
    )

    def rule(broken: pl.Series, texts: Callable[[int], tuple[str, str]]) -> _Rule:
        def fault(row: int) -> tuple[str, str, str]:
            return f"starts, job {known['job_id'][row]} at {instant(int(start[row]))}, nodes", *texts(row)

        return _Rule(broken, fault)

    return [
        rule(nodes.list.len() != count, lambda row: (many(len(nodes[row]), "node"), f"{count[row]}, its node_count")),
        rule(
            nodes.list.n_unique() != nodes.list.len(),
            lambda row: (f"node {_called(_repeated(nodes[row]), platform)} twice", "each node once"),
        ),
        rule(
            nodes.list.max() >= platform.nodes,
            lambda row: (f"node {nodes[row].max()}", f"nodes from 0 to {platform.nodes - 1}, the platform's"),
        ),
        rule(asked > most, lambda row: (f"{asked[row]} slots asked for", f"at most {most}, a node's slots")),
    ]


def _called(node: int | None, platform: Platform) -> str:
    return "" if node is None else platform.node_name(node)


def _repeated(nodes: pl.Series) -> int:
    return int(nodes.filter(nodes.is_duplicated())[0])


_MOST_JOBS = 10
_MOST_RIVALS = 5


def _conflicts(schedule: pl.DataFrame, late: list[int], platform: Platform) -> list[Fault]:
    """A fault for each job, of the first ten, that cannot start as the schedule says."""
    per_node = 1 if platform.exclusive else int(platform.slots.min())
    jobs = schedule.filter(pl.col("row").is_in(late)).sort("start", "row")
    served = schedule.explode("nodes").filter(pl.col("start") < pl.col("end"))
    found = [_conflict(job, served, per_node, platform) for job in jobs.head(_MOST_JOBS).iter_rows(named=True)]
    return [fault for fault in found if fault is not None]


def _conflict(job: dict[str, Any], served: pl.DataFrame, per_node: int, platform: Platform) -> Fault | None:
    """The first node on which a job finds others when it is to start, and too little next to them."""
    at, need = job["start"], job["need"]
    here = served.filter(
        (pl.col("start") <= at) & (pl.col("end") > at) & (pl.col("row") != job["row"]),
        pl.col("nodes").is_in(list(job["nodes"])),
    )
    used = (
        here.group_by("nodes").agg(pl.col("need").sum()).filter(pl.col("need") > per_node - pl.lit(need)).sort("nodes")
    )
    if not len(used):
        return None
    node, taken = used.row(0)
    rivals = here.filter(pl.col("nodes") == node).sort("start", "row")
    names = ", ".join(
        f"job {rival} from {instant(start)} to {instant(end)}"
        for rival, start, end in rivals.head(_MOST_RIVALS).select("job_id", "start", "end").iter_rows()
    )
    more = and_more(len(rivals) - _MOST_RIVALS)
    wanted = "a free node" if per_node == 1 else f"{need} free slots there, of which {taken} of {per_node} are taken"
    return (
        f"starts, job {job['job_id']} at {instant(at)}, nodes",
        f"node {platform.node_name(node)}",
        f"{wanted}: it serves {names}{more}",
    )


Fault = tuple[str, str, str]
"""Parameter, value found, value expected."""

_MOST_FAULTS = 20


@dataclass(frozen=True)
class _Rule:
    """A rule that rows must keep."""

    broken: pl.Series
    fault: Callable[[int], Fault]


def refuse(rules: Sequence[_Rule]) -> None:
    """Raise if any row breaks a rule: the first twenty faults in the order of rows, and how many more there are."""
    broken = sorted((row, place) for place, rule in enumerate(rules) for row in rule.broken.arg_true().to_list())
    faults = Faults()
    for row, place in broken[:_MOST_FAULTS]:
        faults.note(*rules[place].fault(row))
    if (more := len(broken) - _MOST_FAULTS) > 0:
        faults.note("starts", f"{more:,} more faults", "none")
    faults.check()


def _raise_faults(faults: list[Fault]) -> None:
    """Raise what was found, if anything was."""
    if faults:
        raise ConfigError(faults)


@takes_run_options(without=("seed", "until_s", "predictor"))
def meter(
    workload: Workload,
    platform: Platform,
    starts: pl.DataFrame,
    **options: Unpack[RunKeywords],
) -> Result:
    """Check a schedule that was made elsewhere, and meter every node under it.

    The engine starts each job when and where `starts` says, and does the rest as in any run: the same draws, the same
    books of energy, the same frames.

    Parameters
    ----------
    workload
        The jobs.
    platform
        The machine, with the tables of its nodes' draw if there are any.
    starts
        One row a job: ``job_id``, ``start_s`` (seconds on the log's clock, or a Datetime), ``nodes`` (a list of node
        numbers, or text such as ``0-2 7``, as many as the job asks for) and, where it is known, ``end_s``. Other
        columns are left alone, so that rows of `Result.jobs` will do. A job without a row stays ``pending``, with a
        reason, and joins no queue.
    kill_at_walltime
        Whether a job that brings a walltime is killed at it.
    kill_grace_s, walltimes
        How long after it, and what it was meant for: as in `simulate`.
    on_unknown_app
        ``"error"``: an application that the platform's table does not hold is an error. ``"nominal"``: its jobs draw
        what they would without a table.
    bound
        Whether the summary also holds the least energies that other placements could have reached: as in `simulate`.
        A job with a given end keeps its length on any nodes.
    events, contract
        Prices and carbon intensities, and a contract that the schedule is metered against: as in `simulate`.

    Returns
    -------
    Result
        Its ``provenance["metered"]`` says how many jobs the schedule holds, how many ends were given, and the sha256 of
        it. A job without ``end_s`` runs as long as its nodes take, or until its walltime. One with ``end_s`` ends then,
        whatever the platform's tables say: that is what happened. It counts as ``timeout`` if it ran for its walltime
        or longer and would have had to run on, and as ``completed`` otherwise.

    Raises
    ------
    ConfigError
        With every fault of the schedule, naming job, node and instant (the first twenty): a job that there is not or
        that comes twice, a start before the submission, an end before the start, too many or too few nodes, a node
        twice or beyond the platform, a missing value; two jobs on one node at once, or more slots than it has. As
        `simulate` otherwise.
    TraceError
        If a column of `starts` has a type that makes no sense there.

    Examples
    --------
    >>> import hetsched as hs
    >>> jobs = pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 0], "runtime_s": [60, 30], "node_count": [1, 2]})
    >>> platform = hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300)
    >>> mine = pl.DataFrame({"job_id": [1, 2], "start_s": [0, 60], "nodes": [[1], [0, 1]]})
    >>> result = meter(hs.Workload.from_polars(jobs), platform, mine)
    >>> result.jobs["end_s"].to_list(), result.summary()["energy_j"]
    ([60.0, 90.0], 42000.0)
    >>> meter(hs.Workload.from_polars(jobs), platform, mine.with_columns(start_s=pl.Series([0.0, 45.0])))
    Traceback (most recent call last):
    hetsched.errors.ConfigError: starts, job 2 at 45 s, nodes: found node 1, expected a free node: it serves job 1 from
    0 s to 60 s
    """
    policy = Policy(order="observed", backfill="observed", placement="observed", name="metered")
    run = run_of(workload, platform, policy, options_given(meter, options))
    schedule = _checked_starts(starts, workload, platform)
    setting = Setting(workload, platform, policy, run.options, is_metered=True)
    contracts.check(setting)
    check_memory(workload, platform, policy, until_s=None)
    begun = time.perf_counter()
    setup = _core.RunSetup(
        _as_scheduled(workload, schedule),
        platform._machine,
        policy.to_dict(),
        on_unknown_app=run.options.on_unknown_app,
        **run.options.limits,
    )
    engine = _core.Session(setup)
    engine.step_until(None)
    records = engine.take_records()
    wall_s = time.perf_counter() - begun
    result = result_of(records, setting, wall_s=wall_s, more={"metered": _provenance(schedule)})
    if records.totals["late_starts"]:
        _raise_conflicts(result.jobs, schedule, platform)
    for concern in result.concerns:
        warnings.warn(str(concern), concern.category, stacklevel=2)
    return result


def _as_scheduled(workload: Workload, schedule: pl.DataFrame) -> _core.JobColumns:
    """The jobs with the schedule's starts and nodes in place of what their log says."""
    ends = schedule.select(
        "row", observed_start_s="start_s", observed_nodes="nodes", end_s=pl.col("end_s").fill_null(float("nan"))
    )
    jobs = workload.to_polars().drop("observed_start_s", "observed_nodes", strict=False).with_row_index("row")
    frame = jobs.join(ends, on="row", how="left", maintain_order="left").drop("row")
    end_s = frame["end_s"].to_numpy() if schedule["end_s"].null_count() < len(schedule) else None
    scheduled = Workload(frame.drop("end_s"), source=workload.source, report=workload.report, history=())
    return scheduled._columns_ending(end_s)


def _provenance(schedule: pl.DataFrame) -> dict[str, Any]:
    """Record of the metered schedule; the order of its rows plays no part in the sum."""
    content = schedule.drop("row").sort("job_id")
    ends = len(schedule) - schedule["end_s"].null_count()
    return {"jobs": len(schedule), "ends": ends, "starts_sha256": frame_sha256(content)}


def _raise_conflicts(jobs: pl.DataFrame, schedule: pl.DataFrame, platform: Platform) -> None:
    """Say which jobs could not start when the schedule says, and because of which others."""
    run = jobs[schedule["row"]]
    start = pl.Series("start", micros(schedule["start_s"], _NO_INSTANT))
    started, ended = (pl.Series(micros(run[name], _NO_INSTANT)) for name in ("start_s", "end_s"))
    need = run["slots"].cast(pl.Int64).fill_null(int(platform.slots.min())) if not platform.exclusive else pl.lit(1)
    starts = schedule.select("row", "job_id", "nodes", start, end=start + (ended - started), need=need)
    late = schedule["row"].filter(started > start).to_list()
    _raise_faults(_conflicts(starts, late, platform))
    raise SimulationError(f"metered: {len(late)} jobs do not start when the schedule says, and nothing is in their way")
