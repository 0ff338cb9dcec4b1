"""`Workload`: the jobs of a run as a checked table, and what can be done to it before the run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched import _core
from hetsched.checks import Faults, many, shown, whole_text
from hetsched.errors import ConfigError
from hetsched.files import frame_sha256
from hetsched.naming import named_in
from hetsched.notebook import card
from hetsched.workload.conform import conformed
from hetsched.workload.convert import Origin, node_offsets
from hetsched.workload.describe import Report, coarse_clock, described, offered_load
from hetsched.workload.profiles import engine_profiles
from hetsched.workload.sizes import size_columns
from hetsched.workload.states import with_states
from hetsched.workload.waits import cleared, engine_columns, has_waits
from hetsched.workload.writers.registry import write_jobs


class Capacity(Protocol):
    """The part of a platform that a workload's offered load depends on."""

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        ...

    @property
    def exclusive(self) -> bool:
        """True if a job gets whole nodes."""
        ...

    @property
    def slots(self) -> npt.NDArray[np.int64]:
        """Slots of each node."""
        ...


_ROWS_ON_CARDS = 5


@named_in("hetsched")
class Workload:
    """Jobs, one row each, in the order in which they are submitted.

    Made by `from_polars` or by a reader (`read_swf`, `read_parquet`, `read_csv`). A workload never changes: what
    transforms it gives a new one.

    Attributes
    ----------
    report : hetsched.workload.Report
        What reading kept, changed, dropped and counted.
    source : str
        The file it was read from, as it was named, or what else it came from.
    source_sha256 : str or None
        Sha256 of that file's bytes.
    history : tuple of str
        How it came to be, step by step.

    Examples
    --------
    >>> jobs = pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 60], "runtime_s": [30, 30], "node_count": [1, 2]})
    >>> workload = Workload.from_polars(jobs)
    >>> len(workload), workload.head(1).to_polars()["job_id"].to_list()
    (2, [1])
    """

    def __init__(
        self,
        frame: pl.DataFrame,
        *,
        source: str,
        report: Report,
        history: Sequence[str],
        source_sha256: str | None = None,
    ) -> None:
        self._frame = frame
        self.source = source
        self.report = report
        self.history = tuple(history)
        self.source_sha256 = source_sha256

    @classmethod
    def from_polars(cls, frame: pl.DataFrame, *, source: str | os.PathLike[str] = "workload") -> Workload:
        """Check a frame and make it a workload.

        Parameters
        ----------
        frame
            One row a job. Required: ``job_id`` (unique), ``submit_s``, ``runtime_s`` (seconds), ``node_count``; for the
            others see `hetsched.workload.schema`. Whole-number columns may be of any width, ``submit_s`` may be a
            Datetime (it becomes seconds since 1970, UTC), spans may be Durations. Unknown columns are kept.
        source
            Name to use in messages.

        Returns
        -------
        Workload
            Sorted by ``submit_s``; jobs submitted at one instant keep their order.

        Raises
        ------
        TraceError
            At the first thing that is invalid: a missing column, a wrong type, a null or NaN, a negative runtime, no
            nodes, a repeated job_id. Names column, row and value.

        Examples
        --------
        >>> jobs = pl.DataFrame({"job_id": [7], "submit_s": [0.0], "runtime_s": [-5.0], "node_count": [1]})
        >>> Workload.from_polars(jobs, source="mine")
        Traceback (most recent call last):
        hetsched.errors.TraceError: mine, row 0, column `runtime_s`: found `-5`, expected seconds from 0 to 1e+12
        """
        source = os.fspath(source) if isinstance(source, os.PathLike) else source
        if not isinstance(source, str):
            raise ConfigError([("source", shown(source), "a name")])
        source = whole_text(source)
        read, origin, ended = with_states(frame, Origin(source))
        table, counts = conformed(read, origin)
        return cls(
            table,
            source=source,
            report=Report(source, counts | ended | coarse_clock(table["submit_s"])),
            history=[f"read {source}"],
        )

    def to_polars(self) -> pl.DataFrame:
        """The jobs as a frame: known columns in the schema's order, then any others.

        Examples
        --------
        >>> jobs = pl.DataFrame({"job_id": [1], "submit_s": [0], "runtime_s": [9], "node_count": [1], "mine": ["x"]})
        >>> Workload.from_polars(jobs).to_polars().columns
        ['job_id', 'submit_s', 'runtime_s', 'node_count', 'mine']
        """
        return self._frame.clone()

    def __len__(self) -> int:
        return len(self._frame)

    def __eq__(self, other: object) -> bool:
        return self._frame.equals(other._frame) if isinstance(other, Workload) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __getstate__(self) -> dict[str, Any]:
        # What the engine holds stays with the process.
        return {name: value for name, value in vars(self).items() if name != "_core_columns"}

    def __repr__(self) -> str:
        return f"<Workload: {len(self):,} jobs, {'; '.join(self.history)}>"

    def _repr_html_(self) -> str:
        jobs = self._frame
        facts = {"history": "; ".join(self.history), "columns": ", ".join(jobs.columns)}
        if len(jobs):
            first_s, last_s = jobs["submit_s"][0], jobs["submit_s"][-1]
            facts["submits"] = f"{(last_s - first_s) / 86400:,.2f} days"
            least, most = jobs.select(pl.col("node_count").min(), most=pl.col("node_count").max()).row(0)
            facts["nodes a job"] = f"{least:,} to {most:,}"
        return card(many(len(jobs), "job"), facts, jobs.head(_ROWS_ON_CARDS)._repr_html_())

    @cached_property
    def sha256(self) -> str:
        """Sha256 over the columns' names, types and values; the file's path plays no part."""
        return frame_sha256(self._frame)

    @property
    def columns(self) -> list[str]:
        r"""Names of the jobs' columns, the log's own among them.

        Examples
        --------
        >>> hs.read_csv(b"job_id,submit_s,runtime_s,node_count,team\n1,0,60,2,red\n").columns
        ['job_id', 'submit_s', 'runtime_s', 'node_count', 'team']
        """
        return self._frame.columns

    @cached_property
    def _core_columns(self) -> _core.JobColumns:
        """The jobs as the engine holds them; converted once."""
        return self._columns_ending(None)

    def _columns_ending(
        self, end_s: npt.NDArray[np.float64] | None, apps: Sequence[str] | None = None
    ) -> _core.JobColumns:
        """The same, of jobs whose ends are known: seconds, NaN where they are not; with applications in this order."""
        app, app_names = self._app_codes(apps)
        return _core.JobColumns(
            job_id=self._frame["job_id"].to_numpy(),
            submit_s=self._frame["submit_s"].to_numpy(),
            runtime_s=self._frame["runtime_s"].to_numpy(),
            node_count=self._frame["node_count"].to_numpy(),
            walltime_s=self._floats("walltime_s"),
            comm_s=self._floats("comm_s"),
            slots=self._whole("slots", null=0),
            power_w=self._floats("power_w"),
            **engine_profiles(self._frame),
            **self._caps(),
            app=app,
            app_names=app_names,
            on_gpu=self._on_gpu(),
            first_run=self._whole("first_run", null=-1),
            observed_start_s=self._floats("observed_start_s"),
            observed_end_s=end_s,
            **self._observed_nodes(),
            **size_columns(self._frame),
            **engine_columns(self._frame),
            source=self.source,
        )

    def _floats(self, name: str) -> npt.NDArray[np.float64] | None:
        is_known = name in self._frame.columns and self._frame[name].null_count() < len(self)
        return self._frame[name].to_numpy() if is_known else None

    def _whole(self, name: str, *, null: int) -> npt.NDArray[np.int64] | None:
        if name not in self._frame.columns:
            return None
        return self._frame[name].cast(pl.Int64).fill_null(null).to_numpy()

    def _observed_nodes(self) -> dict[str, Any]:
        if "observed_nodes" not in self._frame.columns:
            return {}
        offsets, nodes = node_offsets(self._frame["observed_nodes"])
        return {"observed_node_offsets": offsets, "observed_nodes": nodes}

    def _caps(self) -> dict[str, Any]:
        """Caps that jobs ask for, NaN = none; nothing where none does."""
        caps = self._floats("cap_w")
        return {} if caps is None or np.isnan(caps).all() else {"cap_w": caps}

    @property
    def _has_waits(self) -> bool:
        """True if a job waits for anything but nodes, is cancelled, or belongs to an array."""
        return has_waits(self._frame)

    def _on_gpu(self) -> npt.NDArray[np.int64] | None:
        if "device" not in self._frame.columns:
            return None
        return (self._frame["device"] == "gpu").fill_null(value=False).cast(pl.Int64).to_numpy()

    def _app_codes(self, apps: Sequence[str] | None) -> tuple[npt.NDArray[np.int32] | None, list[str] | None]:
        """Each job's application as an index into the names, sorted or as given; -1 for none."""
        if "app" not in self._frame.columns:
            return None, None
        app = self._frame["app"]
        names = app.drop_nulls().unique().sort() if apps is None else pl.Series(apps, dtype=pl.String)
        codes = app.cast(pl.Enum(names)).to_physical().cast(pl.Int32).fill_null(-1)
        return codes.to_numpy(), names.to_list()

    def head(self, n: int) -> Workload:
        """The first `n` jobs; who waits for one of the others waits for none.

        Examples
        --------
        >>> jobs = pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 9], "runtime_s": [5, 5], "node_count": [1, 1]})
        >>> len(Workload.from_polars(jobs).head(1))
        1
        """
        faults = Faults()
        faults.whole("n", n, low=0, high=2**62)
        faults.check()
        return self._changed(self._frame.head(n), f"head({n})")

    def between(self, start_s: float, end_s: float) -> Workload:
        """The jobs submitted from `start_s` on and before `end_s` (seconds on the log's clock); as `head`.

        Examples
        --------
        >>> jobs = pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 9], "runtime_s": [5, 5], "node_count": [1, 1]})
        >>> len(Workload.from_polars(jobs).between(0, 9))
        1
        """
        faults = Faults()
        faults.number("start_s", start_s, low=-1e300)
        faults.number("end_s", end_s, low=-1e300)
        faults.check()
        kept = self._frame.filter(pl.col("submit_s").is_between(start_s, end_s, closed="left"))
        return self._changed(kept, f"between({start_s:g}, {end_s:g})")

    def filter(self, *predicates: pl.Expr) -> Workload:
        """The jobs for which all `predicates` are true; as `head`.

        Examples
        --------
        >>> jobs = pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 9], "runtime_s": [5, 5], "node_count": [1, 4]})
        >>> len(Workload.from_polars(jobs).filter(pl.col("node_count") > 1))
        1
        """
        return self._changed(self._frame.filter(*predicates), f"filter({', '.join(map(str, predicates))})")

    def scale_arrivals(self, k: float) -> Workload:
        """Jobs arrive `k` times as densely: distances from the first submit are divided by `k`.

        Runtimes stay, so the offered load is multiplied by `k`. Observed starts and nodes belong to the old arrivals
        and become null; what a job waits for, and when it is cancelled, keeps its distance from the submission.

        Parameters
        ----------
        k
            > 1 is denser, < 1 is sparser.

        Examples
        --------
        >>> jobs = pl.DataFrame({"job_id": [1, 2], "submit_s": [10, 30], "runtime_s": [5, 5], "node_count": [1, 1]})
        >>> Workload.from_polars(jobs).scale_arrivals(2).to_polars()["submit_s"].to_list()
        [10.0, 20.0]
        """
        _check_factor(k)
        first = pl.col("submit_s").first()
        submit_s = first + (pl.col("submit_s") - first) / k
        own = [name for name in ("start_at_s", "cancel_s") if name in self._frame.columns]
        moved = [pl.col(name) + (submit_s - pl.col("submit_s")) for name in own]
        frame = self._frame.with_columns(submit_s, *moved)
        observed = [name for name in ("observed_start_s", "observed_nodes") if name in frame.columns]
        frame = frame.with_columns(pl.lit(None, frame.schema[name]).alias(name) for name in observed)
        return self._changed(frame, f"scale_arrivals({k:g})", recheck=True)

    def scale_walltimes(self, k: float) -> Workload:
        """Requested times multiplied by `k`; jobs that asked for none still ask for none.

        Examples
        --------
        >>> jobs = {"job_id": [1], "submit_s": [0], "runtime_s": [5], "node_count": [1], "walltime_s": [60]}
        >>> Workload.from_polars(pl.DataFrame(jobs)).scale_walltimes(1.5).to_polars()["walltime_s"].to_list()
        [90.0]
        """
        _check_factor(k)
        if "walltime_s" not in self._frame.columns:
            return self._changed(self._frame, f"scale_walltimes({k:g})")
        return self._changed(
            self._frame.with_columns(pl.col("walltime_s") * k), f"scale_walltimes({k:g})", recheck=True
        )

    def shift_to_zero(self) -> Workload:
        """The first job is submitted at 0; every instant moves with it.

        Examples
        --------
        >>> jobs = pl.DataFrame({"job_id": [1, 2], "submit_s": [10, 30], "runtime_s": [5, 5], "node_count": [1, 1]})
        >>> Workload.from_polars(jobs).shift_to_zero().to_polars()["submit_s"].to_list()
        [0.0, 20.0]
        """
        known = ("submit_s", "observed_start_s", "start_at_s", "cancel_s")
        instants = [name for name in known if name in self._frame.columns]
        frame = self._frame.with_columns(pl.col(instants) - pl.col("submit_s").first())
        return self._changed(frame, "shift_to_zero()")

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the jobs as a log, in the format that the file's name says, whole or not at all.

        `hetsched.read_jobs` reads it. Parquet keeps everything but the header. CSV keeps the same, as text. SWF keeps
        job number, submission, run length, nodes, requested time, status, observed wait and dependency; names of
        users, queues and applications become numbers, with comments that say which is which; `power_w`,
        `power_profile`, `slots`, `device`, `comm_s`, `observed_nodes` and columns of the user's own are lost. Its
        header says how many nodes there are, if the workload's report does (a node is a processor in this file, also
        where the log it was read from counted several to a node), and how a generated workload was made. The same
        workload gives the same bytes.

        Parameters
        ----------
        path
            Ends in ``.swf``, ``.swf.gz``, ``.parquet`` or ``.csv``; its folder is made if it is not there.

        Raises
        ------
        ConfigError
            If the name ends otherwise.
        TraceError
            If a job's number is below 0, which SWF does not allow.
        OutputError
            If the file cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> import hetsched as hs
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     hs.workload.poisson(nodes=8, jobs=3, seed=1).write(f"{folder}/jobs.swf")
        ...     workload = hs.read_jobs(f"{folder}/jobs.swf")
        >>> len(workload), workload.report["header"]["max_nodes"]
        (3, 8)
        """
        write_jobs(self, path)

    def describe(self) -> pl.DataFrame:
        """Distributions of the jobs' properties: one row a quantity, over the jobs where it is known.

        Returns
        -------
        polars.DataFrame
            ``quantity, count, mean, p5, median, p95, max``; the quantities are ``runtime_s``, ``walltime_s``,
            ``node_count``, ``area_node_s`` (nodes × runtime), ``interarrival_s``, ``power_w`` and ``span_s`` (last
            minus first submit), as far as the workload has them. Percentiles are interpolated linearly.

        Examples
        --------
        >>> jobs = pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 60], "runtime_s": [30, 50], "node_count": [1, 2]})
        >>> Workload.from_polars(jobs).describe().row(0, named=True)["mean"]
        40.0
        """
        return described(self._frame)

    def offered_load(self, platform: Capacity) -> float | None:
        """Work submitted a second, as a share of what the platform can do.

        ``Σ node_count × runtime / (nodes × (last submit - first submit))``. Where jobs share nodes
        (``exclusive=False``) slots are counted in place of nodes.

        Parameters
        ----------
        platform
            The machine.

        Returns
        -------
        float or None
            0 without jobs, None where all jobs are submitted at one instant.

        Examples
        --------
        >>> import hetsched as hs
        >>> jobs = pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 100], "runtime_s": [30, 50], "node_count": [1, 1]})
        >>> Workload.from_polars(jobs).offered_load(hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=200))
        0.4
        """
        return offered_load(self._frame, platform.nodes, None if platform.exclusive else platform.slots)

    def _changed(self, frame: pl.DataFrame, step: str, *, recheck: bool = False) -> Workload:
        if recheck:
            frame, _ = conformed(frame, Origin(f"{self.source} after {step}"))
        report, (frame, gone) = self.report, cleared(frame)
        if gone:
            step = f"{step}, {gone:,} waiting for jobs left out made to wait for none"
            count = report.get("depends_on_cleared", 0) + gone
            report = Report(report.source, {**report, "depends_on_cleared": count})
        return Workload(
            frame,
            source=self.source,
            report=report,
            history=[*self.history, step],
            source_sha256=self.source_sha256,
        )


def _check_factor(k: float) -> None:
    faults = Faults()
    faults.number("k", k, low=1e-9, high=1e9)
    faults.check()
