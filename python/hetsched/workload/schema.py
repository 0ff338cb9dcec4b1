"""The job table: every column hetsched knows, its type, unit and meaning.

`convert` brings a user's columns into these types; `conform` refuses what does not fit.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from hetsched.naming import named_in
from hetsched.params import MAX_NODE_W

MAX_SECONDS = 1e12
"""The largest time that is taken, 30,000 years: the engine counts microseconds in 64 bits."""

SHORTEST_S = 1e-6
"""The shortest time that the engine's clock can distinguish from none."""


@named_in("hetsched.workload")
@dataclass(frozen=True)
class Column:
    """One column of the job table.

    Parameters
    ----------
    name
        As in the frame.
    dtype
        As in the frame.
    is_required
        Whether a workload must have it, without nulls.
    unit
        Of its values; empty if they have none.
    meaning
        What a value says.
    null
        What a null says; empty where nulls are refused.
    low, high
        Bounds of the values, both included; None where there is none.
    above
        Bound that the values are above; None where there is none.
    is_instant
        Whether it is a time of day rather than a span.
    """

    name: str
    dtype: type[pl.DataType] | pl.DataType
    is_required: bool
    unit: str
    meaning: str
    null: str = ""
    low: float | None = None
    high: float | None = None
    above: float | None = None
    is_instant: bool = False

    @property
    def expected(self) -> str:
        """Allowed values, as an error message says it."""
        if self.dtype is pl.Boolean:
            return "true or false"
        if isinstance(self.dtype, pl.List):
            if self.unit == "watts":
                return "a list of watts up to 1e6, such as 210 305.5 null 298 in a file of text"
            if self.dtype.inner == pl.Float64:
                return "a list of seconds, such as 0 60 75 90 in a file of text"
            return "a list of node numbers from 0, such as 0 1 2 7 or 0-2,7 in a file of text"
        kind = self.unit if self.dtype is pl.Float64 else "a whole number"
        low = "" if self.low is None else f" from {self.low:g}"
        low = low if self.above is None else f" above {self.above:g}"
        return kind + low + ("" if self.high is None else f" to {self.high:.10g}")


_COUNT = 2**31 - 1

# fmt: off
_COLUMNS = (
    Column("job_id", pl.Int64, True, "", "the job's number, unique in the workload"),
    Column("submit_s", pl.Float64, True, "seconds", "when it was submitted, on the log's own clock",
           low=0.0, high=MAX_SECONDS, is_instant=True),
    Column("runtime_s", pl.Float64, True, "seconds", "how long it runs on a nominal node", low=0.0, high=MAX_SECONDS),
    Column("node_count", pl.Int32, True, "nodes", "how many nodes it needs", low=1, high=_COUNT),
    Column("min_nodes", pl.Int32, False, "nodes", "the fewest nodes it can run on", "as many as it needs", low=1,
           high=_COUNT),
    Column("max_nodes", pl.Int32, False, "nodes", "the most nodes it can run on", "as many as it needs", low=1,
           high=_COUNT),
    Column("speedup", pl.String, False, "",
           "how its speed follows its number of nodes: `linear`, `amdahl`, `downey` or `table`",
           "unknown: it runs on as many nodes as it needs"),
    Column("serial_ratio", pl.Float64, False, "share",
           "of `amdahl`: the share of its work that more nodes do not speed up", "unknown", low=0.0, high=1.0),
    Column("downey_a", pl.Float64, False, "nodes", "of `downey`: its mean parallelism A", "unknown", low=1.0,
           high=_COUNT),
    Column("downey_sigma", pl.Float64, False, "number", "of `downey`: the spread sigma of its parallelism", "unknown",
           low=0.0, high=1e6),
    Column("speedup_table", pl.String, False, "",
           "of `table`: its speed at `min_nodes`, one node more, and so on to `max_nodes`, with blanks between",
           "unknown"),
    Column("malleable", pl.Boolean, False, "", "whether its nodes may change while it runs, between those two",
           "they may not"),
    Column("resize_s", pl.Float64, False, "seconds", "how long it makes no progress after such a change", "not at all",
           low=0.0, high=MAX_SECONDS),
    Column("walltime_s", pl.Float64, False, "seconds", "the time it asked for; values <= 0 become null",
           "it asked for none: never killed, planned with its runtime", high=MAX_SECONDS),
    Column("comm_s", pl.Float64, False, "seconds", "what communication adds to its run, however fast its nodes are",
           "nothing", low=0.0, high=MAX_SECONDS),
    Column("slots", pl.Int32, False, "slots", "slots it needs of each of its nodes", "whole nodes", low=1, high=_COUNT),
    Column("user", pl.String, False, "", "who submitted it", "unknown"),
    Column("account", pl.String, False, "", "the project or group that its use counts for", "unknown"),
    Column("queue", pl.String, False, "", "the queue it was submitted to", "unknown"),
    Column("app", pl.String, False, "", "its application: jobs with one power profile", "unknown"),
    Column("device", pl.String, False, "", "`cpu` or `gpu`", "cpu"),
    Column("constraint", pl.String, False, "", "features that each of its nodes must have, such as `gpu&(a100|h100)`",
           "any node"),
    Column("gpus", pl.Int32, False, "GPUs", "GPUs it needs in each of its nodes",
           "none, or 1 if `device` is `gpu`", low=0, high=1024),
    Column("memory_gb", pl.Float64, False, "GB", "memory it needs in each of its nodes", "any", low=0.0, high=1e9),
    Column("licences", pl.String, False, "", "licences it holds while it runs, such as `matlab:2,ansys`", "none"),
    Column("first_run", pl.Boolean, False, "",
           "whether it counts as its application's first run, for policies that profile", "the policy finds out"),
    Column("start_at_s", pl.Float64, False, "seconds", "when it may join the queue, on the log's own clock",
           "at its submission", high=MAX_SECONDS, is_instant=True),
    Column("depends_on", pl.Int64, False, "", "the job whose end it waits for", "none"),
    Column("depends_how", pl.String, False, "",
           "which end: `any`, `ok` (it completes) or `not_ok` (any other); cancelled if that cannot be", "any"),
    Column("think_s", pl.Float64, False, "seconds", "how long after that end it joins the queue", "at once",
           low=0.0, high=MAX_SECONDS),
    Column("cancel_s", pl.Float64, False, "seconds",
           "when it is withdrawn unless it runs by then or has ended, on the log's own clock", "never",
           high=MAX_SECONDS, is_instant=True),
    Column("array_id", pl.Int64, False, "", "the array of jobs that it belongs to", "none"),
    Column("array_limit", pl.Int32, False, "jobs", "how many jobs of its array may run at once", "no limit",
           low=1, high=_COUNT),
    Column("power_w", pl.Float64, False, "watts",
           "measured mean draw of each of its nodes; values <= 0 count as unknown", "unknown", high=MAX_NODE_W),
    Column("power_profile", pl.List(pl.Float64), False, "watts",
           "measured mean draw of each of its nodes in each interval of its run; what is not above 0 is unknown",
           "unknown", high=MAX_NODE_W),
    Column("power_profile_s", pl.Float64, False, "seconds", "how long an interval of `power_profile` is",
           "they share out `runtime_s` evenly", low=SHORTEST_S, high=MAX_SECONDS),
    Column("cap_w", pl.Float64, False, "watts", "the power cap it asks for, on each of its nodes", "none",
           high=MAX_NODE_W, above=0.0),
    Column("trace_status", pl.Int32, False, "",
           "how it ended: 1 completed, 0 failed, 5 cancelled, 2 to 4 in parts; a batch system's words become these",
           "unknown, or it had not ended"),
    Column("observed_start_s", pl.Float64, False, "seconds", "when it started in reality, on the log's own clock",
           "unknown", is_instant=True),
    Column("observed_nodes", pl.List(pl.UInt32), False, "",
           "the nodes it ran on in reality: as many as it needs, each once, numbered from 0", "unknown"),
    Column("observed_end_s", pl.Float64, False, "seconds", "when it ended in reality, on the log's own clock",
           "unknown, or it had not ended", is_instant=True),
    Column("observed_energy_j", pl.Float64, False, "joules", "measured energy of all of its nodes", "unknown", low=0.0),
    Column("observed_segments", pl.List(pl.Float64), False, "seconds",
           "start and end of each of its attempts that ran, one after the other, where there were several",
           "it had one", is_instant=True),
    Column("suspended_s", pl.Float64, False, "seconds", "how long it stood still while it held its nodes", "unknown",
           low=0.0, high=MAX_SECONDS),
    Column("restarts", pl.Int32, False, "", "how many attempts there were before its last", "unknown", low=0,
           high=_COUNT),
    Column("cpus", pl.Int64, False, "", "all of its processors", "unknown", low=0),
    Column("log_id", pl.String, False, "", "its name in the log that it comes from, such as `123_4`", "unknown"),
    Column("trace_state", pl.String, False, "", "how it ended, in the log's own word", "unknown"),
    Column("het_id", pl.Int64, False, "", "the heterogeneous job that it is a part of", "none"),
    Column("qos", pl.String, False, "", "its quality of service", "unknown"),
    Column("reservation", pl.String, False, "", "the reservation that it ran in", "none"),
    Column("priority", pl.Int64, False, "", "its priority in the log", "unknown"),
    Column("profile", pl.String, False, "", "the profile that a log in the format of Batsim gives it", "none"),
)
# fmt: on

COLUMNS: dict[str, Column] = {column.name: column for column in _COLUMNS}
"""Every column hetsched knows, by name; required ones first."""

TEXT_COLUMNS = tuple(
    column.name for column in _COLUMNS if column.dtype is pl.String or isinstance(column.dtype, pl.List)
)
"""Columns that a file of text holds as text, even where all of it are digits."""


def schema() -> pl.DataFrame:
    """The job table's columns as a frame, for people.

    Returns
    -------
    polars.DataFrame
        One row a column: name, dtype, required, unit, meaning, null.

    Examples
    --------
    >>> schema().filter(pl.col("required"))["name"].to_list()
    ['job_id', 'submit_s', 'runtime_s', 'node_count']
    """
    rows = [(c.name, str(c.dtype), c.is_required, c.unit, c.meaning, c.null) for c in _COLUMNS]
    return pl.DataFrame(rows, schema=["name", "dtype", "required", "unit", "meaning", "null"], orient="row")
