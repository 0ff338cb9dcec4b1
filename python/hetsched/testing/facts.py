"""A result and its inputs as arrays, and what follows from them: which nodes served which job when, at which draw.

Nothing here reads a number that the engine worked out, but for the starts, the ends and the nodes of the jobs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.features.eligibility import Eligibility, eligibility
from hetsched.features.queues import Queueing, queueing_of, settled
from hetsched.platform import Platform, VariationTable
from hetsched.platform.queues import overlapping, pools_of
from hetsched.policy.parts import names_of
from hetsched.run.result import Result
from hetsched.run.stretches import by_nodes, is_resized
from hetsched.testing.draws_in_time import in_parts
from hetsched.units import TICKS_S, floats, micros
from hetsched.workload import Workload
from hetsched.workload.profiles import Profiles, profiles_of
from hetsched.workload.sizes import size_columns

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_LEFT_OUT = "no start is known for it"
_OVER_BUDGET = "would exceed the power budget on any nodes"
_UNPROFILED = "fits the power budget only once its application has a profile"
_OFF_OR_DOWN = ("off_s", "transition_s", "down_s", "boots", "shutdowns")


def _where(column: pl.Series, value: str) -> Mask:
    """Rows of a column that hold a text; null does not."""
    return np.fromiter((one == value for one in column.to_list()), dtype=np.bool_, count=len(column))


def _stretched(length: Ints, factor: Floats) -> Ints:
    """Spans times a factor each, rounded up once."""
    return np.where(factor == 1.0, length, np.ceil(length.astype(np.float64) * factor).astype(np.int64))


@dataclass(frozen=True)
class Books:
    """State of every node between two changes, derived from the jobs alone.

    Where nodes are shared, a job draws its slots' part of what it would draw there alone, and the idle draw of slots
    that is not in use is borne by the jobs on the node, by slots. A whole node is one slot.
    """

    node: Ints
    since: Ints
    until: Ints
    used: Ints
    draw_w: Floats
    unused_w: Floats

    @property
    def seconds(self) -> Floats:
        """Length of each interval."""
        seconds: Floats = np.maximum(self.until - self.since, 0) / TICKS_S
        return seconds

    @classmethod
    def of(cls, run: Facts, served: tuple[Ints, ...], whole_w: Floats) -> Books:
        """Books of jobs on nodes: node, start, end and slots of each, and what it would draw there alone."""
        node, start, end, slots = served
        watts = whole_w * slots / run.slots_per_node
        everyone = np.arange(run.platform.nodes)
        opening = np.full(len(everyone), run.window[0])
        nothing = np.zeros(len(everyone))
        at_node = np.concatenate([everyone, node, node])
        at = np.concatenate([opening, end, start])
        used = np.concatenate([nothing, -slots, slots]).astype(np.int64)
        drawn = np.concatenate([nothing, -watts, watts])
        in_order = np.lexsort((at, at_node))
        at_node, at = at_node[in_order], at[in_order]
        last = np.append(at_node[1:] != at_node[:-1], True)
        until = np.minimum(np.where(last, run.window[1], np.append(at[1:], 0)), run.window[1])
        used_now = np.cumsum(used[in_order])
        unused_w = run.platform.idle_w[at_node] * (run.slots_per_node - used_now) / run.slots_per_node
        drawn_now = np.where(used_now > 0, np.cumsum(drawn[in_order]), 0.0)
        return cls(at_node, at, until, used_now, drawn_now + unused_w, unused_w)


@dataclass(frozen=True)
class Budget:
    """The system's power budget and the predicted draws under it."""

    watts: float
    least_w: Floats
    tdp_w: Floats
    is_exact: bool
    is_known: bool = True

    @staticmethod
    def of(run: Facts) -> Budget:
        """The budget of a run's policy."""
        part, platform = run.policy["power"], run.platform
        is_share = part["budget_w"] == "none"
        watts = float(part["pcr"] * platform.tdp_w.sum() if is_share else part["budget_w"])
        # Jobs of one row and one measured draw that ask for the same draw alike: each kind is worked out once.
        measured = floats(run.asked_for("power_w"))
        wants = np.zeros(len(run.asked)) if run.serving is None else run.serving.of_job
        queues = np.zeros(len(run.asked)) if run.queueing is None else run.queueing.of_job
        rows = run.row_of_jobs(platform.actual), run.row_of_jobs(platform.predicted)
        kinds = np.column_stack([*rows, measured, wants, queues])
        _, some_job, kind = np.unique(kinds, axis=0, return_index=True, return_inverse=True)
        everyone = np.arange(platform.nodes)
        shape = len(some_job), platform.nodes
        pairs = np.repeat(some_job, platform.nodes), np.tile(everyone, len(some_job))
        actual = run.draw_w(platform.actual, *pairs).reshape(shape)
        table = platform.actual if platform.predicted is None else platform.predicted
        believed = run.draw_w(table, *pairs, known_draws=platform.known_draws).reshape(shape)
        # A policy that chooses sizes rejects no job that fits at its smallest.
        smallest = run.fewest_nodes if run.sizes_jobs else run.asked["node_count"].to_numpy()
        count = np.minimum(smallest, platform.nodes)
        share = run.slots / run.slots_per_node

        allowed = np.ones(shape, dtype=np.bool_)
        if run.serving is not None:
            allowed = np.array([run.serving.may_use(job, everyone) for job in some_job.tolist()])
        if run.queueing is not None and len(run.asked):
            allowed = allowed & [run.queueing.may_use(job, everyone) for job in some_job.tolist()]

        def least(draw_w: Floats) -> Floats:
            beyond = np.where(allowed, np.maximum(draw_w, platform.idle_w) - platform.idle_w, np.inf)
            lowest: Floats = share * np.cumsum(np.sort(beyond, axis=1), axis=1)[kind.reshape(-1), count - 1]
            return lowest

        tdp = least(np.broadcast_to(platform.tdp_w, shape))
        has_draws = "draws" in run.policy.get("analyzer", {}).get("methods", ())
        is_known = run.profiles is None and run.result.provenance["options"]["predictor"] is None and not has_draws
        return Budget(watts, least(believed), tdp, is_known and bool((actual == believed).all()), is_known)


_ANY_POLICY = {"order": None, "backfill": None, "placement": None, "power": None, "sleep": None}


class Facts:
    """A result next to its inputs, as arrays with a row a job; times in whole microseconds, -1 = null."""

    def __init__(self, result: Result, workload: Workload, platform: Platform) -> None:
        self.result, self.platform = result, platform
        self.policy = result.provenance["policy"]
        self.has_former = "policies_before" in result.provenance
        if self.has_former:
            # What holds of one policy need not hold of the others: such a run is held to what any machine does.
            self.policy = {**self.policy, **_ANY_POLICY}
        self.workload = settled(workload, platform) if self.has_queues else workload
        self.jobs, self.asked = result.jobs, self.workload.to_polars()
        assert len(self.jobs) == len(self.asked), f"{len(self.jobs)} rows for {len(self.asked)} jobs"
        self.job_id = self.jobs["job_id"].to_list()
        self.submit = micros(self.asked["submit_s"])
        self.start, self.end = micros(self.jobs["start_s"]), micros(self.jobs["end_s"])
        self.started = self.start >= 0
        self.state = self.jobs["state"].to_numpy()
        times = micros(result.timeline["time_s"])
        self.window = (int(times[0]), int(times[-1])) if len(times) else (0, 0)
        self.event_kinds = frozenset(result.events["kind"].to_list())
        powered_off = any(result.nodes[name].sum() for name in _OFF_OR_DOWN)
        stands = "suspended_s" in self.jobs.columns
        self.makes_way = stands and any(queue.preempts for queue in platform.queues or ())
        # Emergencies queue jobs again, too, and show how long these stood still.
        self.has_outages = "attempts" in self.jobs.columns and (self.makes_way or not stands)
        self.in_service = not self.has_outages and self.event_kinds.isdisjoint(("failed", "out"))
        self.all_powered = not powered_off and self.in_service
        self.is_stopped = result.provenance["options"]["until_s"] is not None
        self.metered = result.provenance.get("metered")
        self.left_out = _where(self.jobs["reason"], _LEFT_OUT)
        has_reason = np.array([reason is not None for reason in self.jobs["reason"].to_list()], dtype=np.bool_)
        self.is_stuck = _where(self.jobs["state"], "pending") & has_reason
        self.can_wait = workload._has_waits
        self.joined = self._joined_when_eligible() if self.can_wait else self._joined_at_submission()
        profiled = self.jobs["profiled"] if self.profiling_ratio is not None else [False] * len(self.jobs)
        self.profiled = np.array(profiled, dtype=np.bool_)

    def _joined_when_eligible(self) -> Ints:
        """A job that is held until its application has a profile is in no queue."""
        held = self.jobs["reason"].str.starts_with(_UNPROFILED).fill_null(value=False).to_numpy()
        joined: Ints = np.where(held, -1, micros(self.jobs["eligible_s"]))
        return joined

    def _joined_at_submission(self) -> Ints:
        joined: Ints = np.where((self.state != "rejected") & ~self.left_out, self.submit, -1)
        return joined

    @cached_property
    def withdrawn(self) -> Ints:
        """Times at which jobs were cancelled in the queue."""
        events = self.result.events
        if "cancel" not in self.event_kinds:
            return np.zeros(0, dtype=np.int64)
        cancelled = events.filter(pl.col("kind") == "cancel").select("time_s", "job_id")
        queued = self.jobs.select("job_id").filter(pl.Series(self.joined >= 0, dtype=pl.Boolean))
        return micros(cancelled.join(queued, on="job_id", how="semi")["time_s"])

    @cached_property
    def instant_turns(self) -> Ints:
        """Instants at which a node is on or off as soon as it is switched."""
        events = self.result.events
        if self.event_kinds.isdisjoint(("ready", "off")):
            return np.zeros(0, dtype=np.int64)
        begun, over = (events.filter(pl.col("kind").is_in(kinds)) for kinds in (["wake", "sleep"], ["ready", "off"]))
        return micros(over.join(begun, on=["time_s", "node"], how="semi")["time_s"])

    @property
    def attempts(self) -> Ints:
        """Number of times each job has started."""
        known = "attempts" in self.jobs.columns
        return self.jobs["attempts"].to_numpy().astype(np.int64) if known else self.started.astype(np.int64)

    def name(self, row: int) -> str:
        """Name of a job in messages."""
        return f"job {self.job_id[row]}"

    def placed(self, row: int) -> str:
        """Name of a started job in messages."""
        nodes = self.jobs["nodes"][row].to_list()
        return f"{self.name(row)} on nodes {nodes} from {self.jobs['start_s'][row]} s"

    def first(self, broken: npt.NDArray[np.bool_]) -> int | None:
        """The first job that breaks a law, in order of start and then of row."""
        rows = np.flatnonzero(broken)
        return int(rows[np.argmin(self.start[rows])]) if len(rows) else None

    def asked_for(self, name: str) -> pl.Series:
        """A column of the workload; null if it has none."""
        return self.asked[name] if name in self.asked.columns else pl.Series(name, [None] * len(self.asked))

    @property
    def sizes_jobs(self) -> bool:
        """True if the policy chooses sizes of moldable jobs."""
        return "sizing" in (self.policy["backfill"] or {})

    @property
    def may_resize(self) -> npt.NDArray[np.bool_]:
        """Jobs that may change their nodes while they run."""
        known = floats(self.asked_for("malleable")) > 0
        return np.asarray(known & (self.fewest_nodes < self.most_nodes), dtype=np.bool_)

    @cached_property
    def pause(self) -> Ints:
        """Time for which each job makes no progress after its nodes have changed, in microseconds."""
        return micros(self.asked_for("resize_s"), null=0)

    @cached_property
    def fewest_nodes(self) -> Ints:
        """Fewest nodes that each job can run on."""
        return self._nodes_or_asked("min_nodes")

    @cached_property
    def most_nodes(self) -> Ints:
        """Most nodes that each job can run on."""
        return self._nodes_or_asked("max_nodes")

    def _nodes_or_asked(self, name: str) -> Ints:
        own, asked = floats(self.asked_for(name), np.nan), self.asked["node_count"].to_numpy()
        return np.where(np.isnan(own), asked, own).astype(np.int64)

    def size_ratio(self, job: Ints, count: Ints) -> Floats:
        """Factor by which jobs take longer on so many nodes as on those they ask for."""
        columns = size_columns(self.asked)
        if not columns:
            return np.ones(len(job))
        low, offsets, ratios = (columns[name] for name in ("min_nodes", "size_offsets", "time_ratios"))
        found: Floats = ratios[offsets[job] + count - low[job]]
        return found

    @cached_property
    def own_size_ratio(self) -> Floats:
        """The same of started jobs on the nodes they had."""
        rows, ratio = np.flatnonzero(self.started), np.ones(len(self.asked))
        count = np.array([len(nodes or ()) for nodes in self.jobs["nodes"].to_list()], dtype=np.int64)
        ratio[rows] = self.size_ratio(rows, count[rows])
        return ratio

    @property
    def observed_start(self) -> Ints | None:
        """Observed start of each job in a replay."""
        repeats = (self.policy["backfill"] or {}).get("name") == "observed" and self.metered is None
        return micros(self.asked["observed_start_s"]) if repeats else None

    @cached_property
    def serving(self) -> Eligibility | None:
        """Cells and wants; None where all nodes serve all jobs, and in a replay."""
        return None if self.observed_start is not None else eligibility(self.workload, self.platform)

    @property
    def has_queues(self) -> bool:
        """True if jobs are in queues: not in a replay, nor in a schedule that is metered."""
        return self.platform.queues is not None and (self.policy["backfill"] or {}).get("name") != "observed"

    @cached_property
    def lane(self) -> list[int]:
        """Number of the set of nodes of each job's queue, where each set is scheduled by itself; else 0 (rule 6)."""
        queues, backfill = self.platform.queues, (self.policy["backfill"] or {}).get("name")
        by_itself = (
            self.has_queues and backfill not in names_of("backfill", "chooses_nodes") and not self.policy["power"]
        )
        if not queues or not by_itself or overlapping(queues) is not None:
            return [0] * len(self.start)
        sets = pools_of(queues)
        lane_of = {queue.name: sets.index(queue.numbers) for queue in queues}
        return [lane_of[name] for name in self.asked["queue"].to_list()]

    @cached_property
    def queueing(self) -> Queueing | None:
        """Queues and jobs; None where there are none."""
        return queueing_of(self.workload, self.platform) if self.has_queues else None

    @property
    def has_given_ends(self) -> bool:
        """True if some jobs have given ends."""
        return self.metered is not None and self.metered["ends"] > 0

    @property
    def limits_on_a_grid(self) -> bool:
        """True if the policy ends jobs over their limits by rules of its own, as Slurm's does at points of a grid."""
        return (self.policy["backfill"] or {}).get("name") == "slurm" and self.metered is None

    @property
    def profiling_ratio(self) -> float | None:
        """Factor on a first run's time; None under a policy that does not profile."""
        order = self.policy["order"] or {}
        return float(order["profiling_ratio"]) if order.get("first_run") else None

    @cached_property
    def budget(self) -> Budget | None:
        """The policy's budget and each job's predicted part of it; None if it has none."""
        return None if self.policy["power"] is None else Budget.of(self)

    @cached_property
    def may_have_waited(self) -> Mask:
        """Rejected jobs that may have been in the queue first, until a budget fell: no frame says when they left."""
        over_budget = _where(self.jobs["reason"], _OVER_BUDGET)
        return over_budget if self.has_budgets_in_time else np.zeros_like(over_budget)

    @cached_property
    def in_queue_from(self) -> Ints:
        """Time at which each job joined the queue, or may have; -1: never."""
        return np.where((self.joined < 0) & self.may_have_waited, self.submit, self.joined)

    @property
    def is_under_contract(self) -> bool:
        """True if draws are compared with a contract's limits, which hold whatever the policy's budget is."""
        return "contract" in self.result.provenance["options"]

    @property
    def has_budgets_in_time(self) -> bool:
        """True if the budget changes while the run goes on; the timeline shows which is in force."""
        return "budget_w" in self.result.timeline.columns

    @cached_property
    def slots_per_node(self) -> int:
        """Slots of a node; 1 where jobs get whole nodes."""
        return 1 if self.platform.exclusive else int(self.platform.slots[0])

    @cached_property
    def slots(self) -> Ints:
        """Slots that each job takes of each of its nodes."""
        if self.platform.exclusive:
            return np.ones(len(self.asked), dtype=np.int64)
        return floats(self.asked_for("slots"), self.slots_per_node).astype(np.int64)

    @cached_property
    def table_row(self) -> Ints:
        """The actual table's row for each job; -1 if it has none."""
        return self.row_of_jobs(self.platform.actual)

    def row_of_jobs(self, table: VariationTable | None) -> Ints:
        """A table's row for each job; -1 if it has none."""
        rows = {} if table is None else {app: row for row, app in enumerate(table.apps)}
        apps = self.asked_for("app").to_list()
        return np.array([-1 if app is None else rows.get(app, rows.get("*", -1)) for app in apps], dtype=np.int64)

    @cached_property
    def profiles(self) -> Profiles | None:
        """Draws of jobs that were measured in time; None if there are none."""
        return profiles_of(self.asked)

    def draw_w(
        self,
        table: VariationTable | None,
        job: Ints,
        node: Ints,
        *,
        known_draws: str = "measured",
        own_w: Floats | None = None,
    ) -> Floats:
        """Draw of each job alone on the given node, W: table, own measurement (`own_w`, or its mean), or busy draw.

        With another rule of `known_draws` than ``"measured"``, what decisions take it for.
        """
        each = [np.full(c.count, c.tdp_w if c.busy_w is None else c.busy_w) for c in self.platform.classes]
        busy = np.concatenate(each)[node]
        mean_w = floats(self.asked_for("power_w"))[job]
        measured = mean_w if own_w is None else np.where(np.isnan(own_w), mean_w, own_w)
        own = {"measured": measured, "table": busy, "tdp": self.platform.tdp_w[node]}[known_draws]
        nominal = np.where(measured > 0, own, busy)
        row = self.row_of_jobs(table)[job]
        tabled = nominal
        if table is not None and table.power_w is not None:
            tabled = table.power_w[row, node]
        elif table is not None and table.power_ratio is not None:
            tabled = table.power_ratio[row, node] * nominal
        drawn: Floats = np.where(row >= 0, tabled, nominal)
        return drawn

    def is_urgent(self, row: int) -> bool:
        """True if others make way for a job."""
        queues = self.queueing
        return queues is not None and bool(queues.queues[queues.of_job[row]].preempts)

    @cached_property
    def stood(self) -> Ints:
        """Time for which each job made way for others in its last attempt."""
        if not self.makes_way:
            return np.zeros(len(self.asked), dtype=np.int64)
        return micros(self.jobs["suspended_s"])

    @cached_property
    def running(self) -> tuple[Ints, Ints]:
        """Times at which jobs begin to run, and at which they no longer do."""
        if not self.makes_way:
            return self.start[self.started], self.end[self.end >= 0]
        stretches = self.stretches.filter(pl.col("state") == "running")
        return stretches["start"].to_numpy(), stretches["end"].to_numpy()

    @cached_property
    def stretches(self) -> pl.DataFrame:
        """One row a stretch of a job that may make way.

        ``job`` (row), ``attempt, nodes, slots, start, end, state``; what goes on when the run is stopped does so for
        another tick.
        """
        jobs = pl.DataFrame({"job": np.arange(len(self.start)), "job_id": self.job_id, "slots": self.slots})
        segments = self.result.segments
        frame = segments.select(
            "job_id",
            "attempt",
            "nodes",
            "state",
            start=pl.Series(micros(segments["start_s"])),
            end=pl.Series(micros(segments["end_s"])),
        ).join(jobs, on="job_id", how="left", maintain_order="left")
        goes_on = pl.col("job").is_in(np.flatnonzero(self.started & (self.end < 0)).tolist())
        last = frame.filter(goes_on & (pl.col("end") == self.window[1])).unique("job", keep="last", maintain_order=True)
        turned = last.select(pl.exclude("state")).join(
            self._turned_last, on="job_id", how="left", maintain_order="left"
        )
        state = turned["state"].fill_null(last["state"])
        at_last = turned.with_columns(
            state=state, start=pl.lit(self.window[1], pl.Int64), end=pl.lit(self.window[1] + 1, pl.Int64)
        )
        return pl.concat([frame, at_last.select(frame.columns)])

    @property
    def _turned_last(self) -> pl.DataFrame:
        """State of jobs from the last instant on that were suspended or resumed at it."""
        events = self.result.events.with_columns(at=pl.Series(micros(self.result.events["time_s"]), dtype=pl.Int64))
        last = events.filter(pl.col("at") == self.window[1], pl.col("kind").is_in(["suspend", "resume"]))
        last = last.unique("job_id", keep="last", maintain_order=True)
        state = pl.when(pl.col("kind") == "suspend").then(pl.lit("suspended")).otherwise(pl.lit("running"))
        return last.select("job_id", state=state)

    @cached_property
    def held(self) -> pl.DataFrame:
        """The same rows as `served`, also while jobs make way for others."""
        return self._by_node(self.stretches) if self.makes_way else self.served

    @staticmethod
    def _by_node(stretches: pl.DataFrame) -> pl.DataFrame:
        exploded = stretches.select("job", "attempt", "start", "end", "slots", node="nodes").explode("node")
        return exploded.with_columns(pl.col("node").cast(pl.Int64))

    @cached_property
    def spans(self) -> pl.DataFrame:
        """The jobs, with a row for each span in which one had the same nodes."""
        return by_nodes(self.jobs, self.result.segments) if is_resized(self.result.events) else self.jobs

    @cached_property
    def served(self) -> pl.DataFrame:
        """One row a job and node (and span): ``job`` (row), ``node``, ``start``, ``end``, ``slots``, all int64.

        A job that still runs when the run is stopped ends a tick after the window. Where jobs make way for others, a
        row a stretch in which it ran.
        """
        if self.makes_way:
            return self._by_node(self.stretches.filter(pl.col("state") == "running")).drop("attempt")
        spans = self.spans
        row_of = {job_id: row for row, job_id in enumerate(self.job_id)}
        job = np.array([row_of[job_id] for job_id in spans["job_id"].to_list()], dtype=np.int64)
        last = np.append(job[1:] != job[:-1], True)[: len(job)]
        end = np.where((self.end[job] < 0) & last, self.window[1] + 1, micros(spans["end_s"]))
        nodes = [own or [] for own in spans["nodes"].to_list()]
        times = np.array([len(own) for own in nodes], dtype=np.int64) * self.started[job]
        node = [number for own, is_there in zip(nodes, times, strict=True) if is_there for number in own]
        columns = {"job": job, "start": micros(spans["start_s"]), "end": end, "slots": self.slots[job]}
        repeated = {name: np.repeat(column, times) for name, column in columns.items()}
        return pl.DataFrame({**repeated, "node": np.array(node, dtype=np.int64)})

    @cached_property
    def drawn(self) -> pl.DataFrame:
        """The same rows, cut where profiles turn, with ``own_w``: jobs' own draw by then, NaN if they have none."""
        return in_parts(self.served, self.profiles, self._profile_factor)

    @property
    def _profile_factor(self) -> Floats:
        """Factor by which each started job takes longer in its profile than at nominal speed."""
        if self.has_given_ends:
            return np.ones(len(self.asked))
        return self._as_profiled(self.slowest * self.own_size_ratio)

    def _as_profiled(self, factor: Floats) -> Floats:
        """Factors of time, those of first runs as long as profiling makes them."""
        if self.profiling_ratio is None:
            return factor
        return np.where(self.profiled, factor * self.profiling_ratio, factor)

    @cached_property
    def whole_draw_w(self) -> Floats:
        """Draw of each row of `drawn` alone on its node, W: table, own measurement, or busy draw."""
        job, node, own_w = (self.drawn[name].to_numpy() for name in ("job", "node", "own_w"))
        return self.draw_w(self.platform.actual, job, node, own_w=own_w)

    @cached_property
    def comm(self) -> Ints:
        """Communication time of each job, in microseconds."""
        return micros(self.asked_for("comm_s"), null=0)

    @cached_property
    def slowest(self) -> Floats:
        """The largest actual time factor of each started job's nodes."""
        table = self.platform.actual
        slowest = np.ones(len(self.asked))
        if table is not None and table.time_ratio is not None:
            job, node = self.served["job"].to_numpy(), self.served["node"].to_numpy()
            row = self.table_row[job]
            slowest = np.zeros(len(self.asked))
            np.maximum.at(slowest, job, np.where(row >= 0, table.time_ratio[row, node], 1.0))
        return slowest

    @cached_property
    def full_length(self) -> Ints:
        """Length of each started job without a walltime, in microseconds."""
        factor = self._as_profiled(self.slowest * self.own_size_ratio)
        return _stretched(micros(self.asked["runtime_s"]), factor) + self.comm

    @cached_property
    def limit(self) -> Ints:
        """Limit on the length of each started job, in microseconds; -1: none."""
        options = self.result.provenance["options"]
        walltime = micros(self.asked_for("walltime_s"))
        stretches = options.get("walltimes") == "stretch"
        limit = _stretched(walltime, self.own_size_ratio * (self.slowest if stretches else 1.0))
        grace = round(options.get("kill_grace_s", 0.0) * TICKS_S)
        return np.where((walltime > 0) & options["kill_at_walltime"], limit + grace, -1)

    @cached_property
    def work_node_s(self) -> tuple[float, float]:
        """Nominal node-seconds of the jobs that started and ended: asked for, and done."""
        ended = np.isin(self.state, ["completed", "timeout", "failed"])
        nominal_s = (micros(self.asked["runtime_s"]) + self.comm) / TICKS_S * self.asked["node_count"].to_numpy()
        is_whole = (self.state == "completed") | (self.full_length == 0)
        share = np.where(is_whole, 1.0, (self.end - self.start - self.stood) / np.maximum(self.full_length, 1))
        return float(nominal_s[ended].sum()), float((nominal_s * share)[ended].sum())

    @cached_property
    def books(self) -> Books:
        """All nodes' intervals in the window, by node and then by time; some are of length zero."""
        columns = (self.drawn[name].to_numpy() for name in ("node", "start", "end", "slots"))
        return Books.of(self, tuple(columns), self.whole_draw_w)
