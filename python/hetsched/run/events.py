"""`Events`: failures and maintenance of nodes, budgets, prices and cancellations, from outside a run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.checks import Faults, many, read_toml
from hetsched.errors import ConfigError
from hetsched.features.tariffs import Charge, Rule, Steps, charges
from hetsched.files import frame_sha256
from hetsched.naming import named_in
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.policy.parts import FORESEEING
from hetsched.run.event_rows import (
    BUDGET,
    CANCEL,
    CARBON,
    COLUMN_NAMES,
    FAILED,
    HOLD,
    MAINTENANCE,
    MOST_LISTED,
    PRICE,
    REPAIRED,
    TIMES,
    WORDS,
    checked_rows,
    in_order,
    no_rows,
    note_first,
    note_others,
    note_rows,
    on_clock,
    on_nodes,
)
from hetsched.tables import Table, kind_of, read_csv_table, read_parquet_table, write_table
from hetsched.workload import Workload
from hetsched.workload.clock import unix_zero
from hetsched.zones import zone_named

_BILLIONTH = 1e-9
_SUFFIXES = ".csv, .csv.gz, .csv.zst, .parquet or .toml"

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@named_in("hetsched")
class Events:
    """Events from outside a run: failures and maintenance of nodes, holds, budgets, prices, cancellations.

    Made by `hetsched.read_events` from a file, by `from_polars` or `budget_from_price`; ``+`` joins two. Rows are in
    order of time; of one instant, failures and maintenance come last. What changes nothing is no event: a node
    fails that has failed, or is repaired and has not; a job is cancelled that runs or has ended.

    ================== ======================= =====================================================================
    ``kind``           uses                    meaning
    ================== ======================= =====================================================================
    ``node_failed``    ``node``, ``until_s``   the node is down from ``time_s`` on, and jobs on it have failed or are
                                               queued again (`simulate`, ``on_failure``); repaired at ``until_s``, if
                                               that is given
    ``node_repaired``  ``node``                it is back, and idle, unless it is in maintenance
    ``maintenance``    ``node``, ``until_s``,  the node is down from ``time_s`` until ``until_s``; the policy knows it
                       ``announced_s``         from ``announced_s`` on (null: always), which needs the backfill
                                               ``plan``; others know it at ``time_s``
    ``hold``           ``until_s``             no job starts from ``time_s`` on before ``until_s``; what runs goes on
    ``cancel``         ``job_id``              the job is withdrawn, unless it runs or has ended
    ``budget``         ``value``, ``until_s``, the machine may draw ``value`` W from ``time_s`` until ``until_s``
                       ``announced_s``         (null: to the run's end); a policy that looks ahead knows it from
                                               ``announced_s`` on (null: always). Of the rows that hold, the one
                                               that began last counts; if none does, the policy's own budget
    ``price``          ``value``, ``until_s``  a kWh costs ``value`` cost units, whatever the currency, until the
                                               next such row or ``until_s``; makes ``cost`` in the summary
    ``carbon``         ``value``, ``until_s``  a kWh emits ``value`` grams; makes ``carbon_kg`` in the summary
    ================== ======================= =====================================================================

    Examples
    --------
    >>> frame = pl.DataFrame({"time_s": [60.0, 90.0], "kind": ["node_failed", "node_repaired"], "node": [3, 3]})
    >>> Events.from_polars(frame)
    <Events: 2 events>
    >>> budget = pl.DataFrame({"time_s": [3600.0], "kind": ["budget"], "value": [250e3], "until_s": [7200.0]})
    >>> Events.from_polars(frame) + Events.from_polars(budget)
    <Events: 3 events>
    """

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    @classmethod
    def from_polars(cls, frame: pl.DataFrame, *, timezone: str = "UTC") -> Events:
        """Events from a frame of ``time_s``, ``kind`` and what the kinds use.

        Parameters
        ----------
        frame
            Columns ``time_s, kind, node, value, until_s, announced_s, job_id``; those that no row uses may be missing.
            What a row's kind does not use is null. Instants are seconds on the log's clock, or dates: datetimes or text
            such as ``2007-02-01T17:00:00+01:00``, which need a log that says the date of its second 0; a row has one or
            the other. In place of ``until_s`` a row may have ``for_s`` (seconds, or a span such as ``04:00:00``), in
            place of ``node`` ``nodes`` (``"0-71"``, ends included) or ``rack``, one of the platform's: it stands for
            a row for each of these nodes.
        timezone
            Of dates that do not say how far they are from UTC.

        Raises
        ------
        ConfigError
            If a column is missing or a value is invalid; lists all faults with their rows.
        """
        if not isinstance(frame, pl.DataFrame):
            raise ConfigError([("events", type(frame).__name__, f"a polars.DataFrame with columns {COLUMN_NAMES}")])
        faults = Faults()
        zone = zone_named("timezone", timezone, faults)
        faults.check()
        return cls(checked_rows(frame, zone))

    @classmethod
    def read_csv(cls, path: str | os.PathLike[str], *, timezone: str = "UTC") -> Events:
        """Events from a CSV file, whatever its name; as `hetsched.read_events`."""
        table = read_csv_table(os.fspath(path), f"a CSV file with columns {COLUMN_NAMES}", words=WORDS)
        return cls._of(table, timezone)

    @classmethod
    def read_parquet(cls, path: str | os.PathLike[str], *, timezone: str = "UTC") -> Events:
        """Events from a Parquet file, whatever its name; as `hetsched.read_events`."""
        return cls._of(read_parquet_table(os.fspath(path), f"a Parquet file with columns {COLUMN_NAMES}"), timezone)

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str], *, timezone: str = "UTC") -> Events:
        """Events from a TOML file, whatever its name; as `hetsched.read_events`."""
        name = os.fspath(path)
        content = read_toml(name)
        rows = content.get("events", [] if "contract" in content else None)
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise ConfigError([(name, "no tables [[events]]", f"a table [[events]] each, with keys {COLUMN_NAMES}")])
        plain = [{key: _as_written(key, value) for key, value in row.items()} for row in rows]
        frame = pl.DataFrame(plain, infer_schema_length=None, strict=False) if plain else no_rows()
        return cls._of(Table(name, frame), content.get("timezone", timezone))

    @classmethod
    def _of(cls, table: Table, timezone: str) -> Events:
        try:
            return cls.from_polars(table.frame, timezone=timezone)
        except ConfigError as error:
            located = error.mapped(lambda fault: fault.moved("events", "runs"))
            raise table.located(located) from None

    @classmethod
    def budget_from_price(
        cls,
        prices: Events,
        *,
        low_w: float,
        high_w: float,
        threshold: float | None = None,
        quantile: float | None = None,
        between: Sequence[float] | None = None,
        kind: str = PRICE,
        ahead_s: float | None = None,
    ) -> Events:
        """A budget that follows a price, or a carbon intensity: full while energy is cheap, lower while it is dear.

        Parameters
        ----------
        prices
            Events with rows of `kind`; others are left out. Before the first row, and where none holds, the result says
            nothing: the policy's own budget is in force.
        low_w, high_w
            Watts of the machine while energy is dear, and while it is cheap.
        threshold
            Up to this price the budget is `high_w`, above it `low_w`.
        quantile
            In place of `threshold`: that quantile of the rows' prices, each row counted once: 0.75 lowers the budget in
            the dearest quarter.
        between
            In place of both: two prices. Up to the first the budget is `high_w`, from the second on `low_w`, and
            linear in the price between them.
        kind
            ``"price"`` or ``"carbon"``.
        ahead_s
            How long before it begins each budget is known to policies that look ahead, seconds. None: always.

        Returns
        -------
        Events
            Rows of kind ``budget`` only, a row a stretch of one budget. ``prices + ...`` runs with both.

        Raises
        ------
        ConfigError
            If a value is invalid, not exactly one of `threshold`, `quantile` and `between` is given, or `prices` has no
            row of `kind`; lists all faults.

        Examples
        --------
        >>> hours = pl.DataFrame({"time_s": [0.0, 3600.0, 7200.0], "kind": "price", "value": [0.11, 0.34, 0.12]})
        >>> prices = Events.from_polars(hours)
        >>> budget = Events.budget_from_price(prices, low_w=400e3, high_w=1e6, threshold=0.2)
        >>> budget.to_polars().select("time_s", "value", "until_s").rows()
        [(0.0, 1000000.0, 3600.0), (3600.0, 400000.0, 7200.0), (7200.0, 1000000.0, None)]
        >>> slope = Events.budget_from_price(prices, low_w=400e3, high_w=1e6, between=(0.10, 0.40))
        >>> slope.to_polars()["value"].round().to_list()
        [980000.0, 520000.0, 960000.0]
        """
        faults = Faults()
        faults.choice("kind", kind, (PRICE, CARBON))
        rule = Rule(low_w, high_w, threshold, quantile, between, ahead_s).checked(faults)
        check_events(prices, faults, "prices", is_needed=True)
        if not faults.found and not prices.has(kind):
            faults.note("prices", f"no rows of kind {kind}", "at least one")
        dated = prices._frame.filter(pl.col("kind") == kind)["is_date"] if not faults.found else pl.Series([False])
        if dated.any() and not dated.all():
            faults.note("prices", "rows with dates and rows with seconds", f"one of the two in all rows of kind {kind}")
        faults.check()
        budgets = rule.budgets(Steps.of(prices._frame, kind))
        return cls.from_polars(budgets.with_columns(map(_date, TIMES)) if dated.any() else budgets)

    def to_polars(self) -> pl.DataFrame:
        """The rows, in order: ``time_s, kind, node, value, until_s, announced_s``; with cancellations ``job_id``.

        Where rows name racks there is ``rack``; where some have dates, instants are text.
        """
        rows = self._frame if not self._frame["is_date"].any() else _dated(self._frame)
        left_out = [*([] if self.has(CANCEL) else ["job_id"]), "is_date"]
        return rows.drop(*left_out, *(["rack"] if rows["rack"].null_count() == len(rows) else []))

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write `to_polars` to a file, for `hetsched.read_events`.

        Parameters
        ----------
        path
            Ends in ``.parquet`` or ``.csv``; its folder is made if it is not there.

        Raises
        ------
        ConfigError
            If the name ends otherwise.
        OutputError
            If the file cannot be written.
        """
        write_table(self.to_polars(), path)

    def __add__(self, other: object) -> Events:
        if not isinstance(other, Events):
            return NotImplemented
        return Events(in_order(pl.concat([self._frame, other._frame])))

    def __len__(self) -> int:
        return len(self._frame)

    def __eq__(self, other: object) -> bool:
        return self._frame.equals(other._frame) if isinstance(other, Events) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __repr__(self) -> str:
        return f"<Events: {many(len(self), 'event')}>"

    @property
    def sha256(self) -> str:
        """Sha256 over the rows."""
        return frame_sha256(self.to_polars())

    def on(self, workload: Workload, platform: Platform, *, zero_s: float | None = None) -> Events:
        """The same events in seconds on the log's clock, on nodes by number.

        `zero_s` is when that clock began, in seconds since 1970, in place of what the log says.

        Raises
        ------
        ConfigError
            If there are dates, and nothing says the date of the log's second 0; if the platform has not a rack that is
            named.
        """
        rows = self._frame
        if rows["is_date"].any():
            rows = on_clock(rows, unix_zero(workload) if zero_s is None else zero_s, workload.report.source)
        if rows["rack"].null_count() < len(rows):
            rows = on_nodes(rows, platform.racks)
        return self if rows is self._frame else Events(in_order(rows))

    def has(self, *kinds: str) -> bool:
        """True if there are rows of any of these kinds."""
        return bool(self._frame["kind"].is_in(kinds).any())

    def of_kinds(self, *kinds: str) -> Events:
        """The events of some kinds."""
        return Events(self._of_kinds(*kinds))

    def _charges(self, timeline: pl.DataFrame) -> list[Charge]:
        """Amounts of a run's energy under the prices and carbon intensities there are."""
        return charges(self._frame, timeline)

    def _of_nodes(self) -> tuple[Floats, Ints, npt.NDArray[np.bool_]]:
        """Failures and repairs as the engine takes them: times, nodes, whether it fails."""
        own = self._of_kinds(FAILED, REPAIRED)
        return own["time_s"].to_numpy(), own["node"].to_numpy(), (own["kind"] == FAILED).to_numpy()

    def _of_maintenance(self) -> tuple[Floats, Ints, Floats, Floats]:
        """Windows of maintenance as the engine takes them: begins, nodes, ends, when they are known (-inf: always)."""
        own = self._of_kinds(MAINTENANCE)
        announced_s = own["announced_s"].fill_null(-np.inf).to_numpy()
        return own["time_s"].to_numpy(), own["node"].to_numpy(), own["until_s"].to_numpy(), announced_s

    def _of_holds(self) -> tuple[Floats, Floats]:
        """Holds as the engine takes them: begins, ends."""
        own = self._of_kinds(HOLD)
        return own["time_s"].to_numpy(), own["until_s"].to_numpy()

    def _of_cancels(self, workload: Workload) -> tuple[Floats, Ints]:
        """Cancellations as the engine takes them: times, rows of the jobs."""
        own = self._of_kinds(CANCEL)
        rows = workload.to_polars().select("job_id").with_row_index("row")
        found = own.select("time_s", "job_id").join(rows, on="job_id", how="left", maintain_order="left")
        return own["time_s"].to_numpy(), found["row"].cast(pl.Int64).to_numpy()

    def _of_budgets(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Budgets as the engine takes them: begins, ends (inf: none), when they are known (-inf: always), watts."""
        own = self._of_kinds(BUDGET)
        until_s, announced_s = own["until_s"].fill_null(np.inf), own["announced_s"].fill_null(-np.inf)
        return own["time_s"].to_numpy(), until_s.to_numpy(), announced_s.to_numpy(), own["value"].to_numpy()

    def _of_kinds(self, *kinds: str) -> pl.DataFrame:
        return self._frame.filter(pl.col("kind").is_in(kinds)).rechunk()

    def _check_for(self, workload: Workload, platform: Platform, policy: Policy) -> None:
        """Raise a `ConfigError` for each row that cannot happen to these jobs on this platform under this policy."""
        rows, faults = self._frame.with_row_index("row"), Faults()
        beyond = np.flatnonzero(rows["node"].fill_null(-1).to_numpy() >= platform.nodes)
        expected = f"a node of the platform, 0 to {platform.nodes - 1}"
        for row in beyond[:MOST_LISTED].tolist():
            faults.note("events.node", str(rows["node"][row]), expected, row=row)
        note_others(faults, "node", len(beyond) - MOST_LISTED, expected)
        budgets = rows.filter(pl.col("kind") == BUDGET)
        if policy.parts["power"] is None:
            expected = f"a policy with a part in the role `power`, such as system-budget; {policy.name} has none"
            note_rows(faults, "kind", budgets, expected)
        else:
            least_w, expected = least_budget(platform, policy)
            too_low = budgets.filter(pl.col("value") * (1 + _BILLIONTH) < least_w)
            note_rows(faults, "value", too_low, expected)
        _note_unplanned(rows, policy, faults)
        _note_foreseen(rows, policy, faults)
        known = workload.to_polars()["job_id"]
        strange = rows.filter((pl.col("kind") == CANCEL) & ~pl.col("job_id").is_in(known.implode()))
        note_rows(faults, "job_id", strange, "a job of the workload")
        faults.check()

    def _check_after(self, reached_s: float) -> None:
        """Raise a `ConfigError` for each row that is not after an instant up to which a run has come."""
        time_s, faults = self._frame["time_s"], Faults()
        past = time_s.to_numpy() <= reached_s
        expected = f"seconds after {reached_s:g}, up to which the run has come"
        note_first(faults, "time_s", past, time_s, expected)
        faults.check()


def _note_unplanned(rows: pl.DataFrame, policy: Policy, faults: Faults) -> None:
    """Note what no policy with a power part can plan with (rule 7 of the operations page on machines)."""
    if policy.parts["power"] is None:
        return
    others = rows.filter(pl.col("kind").is_in([FAILED, REPAIRED, MAINTENANCE, HOLD, CANCEL]))
    expected = f"only budgets: the part in the role `power` of {policy.name} plans with no other events; power=None"
    note_rows(faults, "kind", others, expected)


def _note_foreseen(rows: pl.DataFrame, policy: Policy, faults: Faults) -> None:
    """Note maintenance that is known before it begins to a policy that has no use for that."""
    if (policy.parts["backfill"] or {}).get("name") in FORESEEING:
        return
    is_early = pl.col("announced_s").is_null() | (pl.col("announced_s") < pl.col("time_s"))
    early = rows.filter((pl.col("kind") == MAINTENANCE) & is_early)
    known = " or ".join(FORESEEING)
    expected = f"time_s, as only the backfill `{known}` can plan around maintenance that is known before it begins"
    note_rows(faults, "announced_s", early, expected)


def _as_written(key: str, value: Any) -> Any:
    """A value of a file as a column of others like it can hold it."""
    if key in TIMES or key == "for_s":
        return value.isoformat() if hasattr(value, "isoformat") else str(value)
    return str(value) if key == "rack" else value


def _date(name: str) -> pl.Expr:
    """Seconds since 1970 as dates, in UTC."""
    return pl.from_epoch((pl.col(name) * 1e6).round().cast(pl.Int64), "us").alias(name)


def _dated(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows whose instants are text: dates where they are."""
    columns = [
        pl.when("is_date")
        .then(_date(name).dt.to_string("iso:strict") + "Z")
        .otherwise(pl.col(name).cast(pl.String))
        .alias(name)
        for name in TIMES
    ]
    return rows.with_columns(columns)


def read_events(path: str | os.PathLike[str], *, timezone: str = "UTC") -> Events:
    """Read events from a file; CSV, Parquet or TOML, known by its name.

    Parameters
    ----------
    path
        Ends in ``.csv`` (also ``.csv.gz``, ``.csv.zst``) or ``.parquet``, with the columns of `Events.from_polars`; or
        in ``.toml``, with a table ``[[events]]`` each, which has these keys. There a table ``[contract]`` may stand
        next to them, which `hetsched.read_contract` reads, and ``timezone`` at the top replaces the parameter.
    timezone
        Of dates that do not say how far they are from UTC.

    Raises
    ------
    ConfigError
        If it cannot be read, or as in `Events.from_polars`; lists all faults with their lines or rows.

    Examples
    --------
    >>> import tempfile
    >>> frame = pl.DataFrame({"time_s": [3600.0], "kind": ["budget"], "value": [250e3], "until_s": [7200.0]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Events.from_polars(frame).write(f"{folder}/events.csv")
    ...     read_events(f"{folder}/events.csv")
    <Events: 1 event>
    """
    readers = {"csv": Events.read_csv, "parquet": Events.read_parquet, "toml": Events.from_toml}
    if (read := readers.get(kind_of(path))) is None:
        raise ConfigError([(os.fspath(path), "another suffix", f"a file of events whose name ends in {_SUFFIXES}")])
    return read(path, timezone=timezone)


def check_events(given: Any, faults: Faults, name: str = "events", *, is_needed: bool = False) -> None:
    """Note what is no `Events`."""
    if not isinstance(given, Events) and (is_needed or given is not None):
        faults.add(name, type(given).__name__, "an Events, as Events.from_polars makes it")


def least_budget(platform: Platform, policy: Policy) -> tuple[float, str]:
    """The least budget under a policy, W, and what that is in words."""
    idle_w = float(platform.idle_w.sum())
    boot_w = _most_beyond_idle_to_boot(platform) if policy._puts_to_sleep else 0.0
    booting = f", and one of its nodes {boot_w:,.12g} W more while it boots" if boot_w else ""
    return idle_w + boot_w, f"at least {idle_w + boot_w:,.12g} W, what the idle machine draws{booting}"


def _most_beyond_idle_to_boot(platform: Platform) -> float:
    """Highest draw of one node beyond idle while it boots, W; 0 where that takes no time."""
    per_node = [[one.per_node(name) for name in ("idle_w", "boot_w", "boot_s")] for one in platform.classes]
    return max(float(((boot_w - idle_w) * (boot_s > 0)).max(initial=0.0)) for idle_w, boot_w, boot_s in per_node)
