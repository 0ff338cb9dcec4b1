"""Journals read again: notices and decisions of a controller, its replay, and the run's result."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any

import polars as pl

from hetsched.checks import shown
from hetsched.errors import ConfigError, LiveError
from hetsched.features.feature import Setting
from hetsched.live.controller import Controller
from hetsched.live.decisions import Decision, Start
from hetsched.live.lines import FORMAT, LINES, START, Instant, file_sha256, read_lines
from hetsched.live.notices import Ended, Notice, Started, StartFailed
from hetsched.live.outcome import result_in
from hetsched.live.plan import Plan
from hetsched.naming import named_in
from hetsched.policy import Policy
from hetsched.run.metering import meter
from hetsched.run.result import Result
from hetsched.run.session_file import read_saved


@named_in("hetsched")
@dataclass(frozen=True)
class Journal:
    """Notices and decisions of a controller, as `read_journal` reads them.

    Attributes
    ----------
    head : dict
        Version, seed, policy, and what the host has added.
    instants : tuple of hetsched.live.journal.Instant
        The lines after it.
    """

    folder: Path
    head: Mapping[str, Any]
    instants: tuple[Instant, ...] = field(repr=False)

    @property
    def notices(self) -> pl.DataFrame:
        """A row a notice: ``t_us``, ``kind``, and the fields of all kinds, null where a kind does not have them."""
        return _frame((instant.t_us, notice) for instant in self.instants for notice in instant.notices)

    @property
    def decisions(self) -> pl.DataFrame:
        """A row a decision: ``t_us``, ``number``, ``kind``, and the fields of all kinds."""
        return _frame((instant.t_us, decision) for instant in self.instants for decision in instant.decisions)

    @cached_property
    def setting(self) -> Setting:
        """The ingredients of the run."""
        path = self.folder / START
        if file_sha256(path) != self.head.get("start_sha256"):
            raise LiveError(f"{path}: found another file than that of the journal's head")
        return read_saved(path).setting

    def replay(self) -> Controller:
        """A controller that has been given all notices, and has decided the same.

        Raises
        ------
        LiveError
            If it decides anything else; names the line.
        """
        controller = Controller.of(self.setting, self.head.get("fold_after"))
        for number, instant in enumerate(self.instants, start=2):
            if instant.jobs is not None:
                controller.add_jobs(instant.jobs)
                continue
            if instant.snapshot is not None:
                after = None if instant.policy is None else Policy.from_dict(instant.policy)
                controller.rebuild(instant.t_us, instant.snapshot, policy=after, state=instant.state)
                continue
            decided = controller.step(instant.t_us, instant.notices)
            if tuple(decided) != instant.decisions:
                _differ(self.folder / LINES, number, instant.decisions, decided)
        return controller

    def result(self) -> Result:
        """The run as a `Result`: jobs that started, metered by the model where and while they ran.

        Of a run of ``hetsched run`` it has the columns ``exit_code, signal, attempts, cpu_s, max_rss_kb`` as well.

        Raises
        ------
        ConfigError
            If the runs do not fit the platform, as `hetsched.meter`.
        """
        if "commands" in self.head:
            return result_in(str(self.folder), self.setting, Plan.from_head(self.head), self.instants)
        workload = self.setting.as_submitted
        added = [instant.jobs for instant in self.instants if instant.jobs is not None]
        if added:
            controller = self.replay()
            workload = controller.jobs
        return meter(workload, self.setting.platform, _starts(self.instants))


def _differ(path: Path, number: int, known: Sequence[Decision], decided: Sequence[Decision]) -> None:
    one, other = next(pair for pair in zip_longest(known, decided) if pair[0] != pair[1])
    found, expected = one or "no more decisions", other or "no more"
    raise LiveError(f"{path}, line {number}: the journal has {found}, and a replay decides {expected}")


def _starts(instants: Iterable[Instant]) -> pl.DataFrame:
    """The last start of each job that has begun, and its end."""
    runs: dict[int, dict[str, Any]] = {}
    for instant in instants:
        for notice in instant.notices:
            match notice:
                case Ended(job=job) if job in runs:
                    runs[job]["end_s"] = instant.t_us / 1e6
                case StartFailed(job=job):
                    runs.pop(job, None)
                case Started(job=job, nodes=nodes) if job in runs:
                    runs[job]["nodes"] = list(nodes)
                case Started(job=job, nodes=nodes):
                    runs[job] = {"job_id": job, "start_s": instant.t_us / 1e6, "nodes": list(nodes), "end_s": None}
        for decision in instant.decisions:
            if isinstance(decision, Start):
                own = {"start_s": instant.t_us / 1e6, "nodes": list(decision.nodes), "end_s": None}
                runs[decision.job] = {"job_id": decision.job, **own}
    types: dict[str, Any] = {"job_id": pl.Int64, "start_s": pl.Float64, "nodes": pl.List(pl.Int64), "end_s": pl.Float64}
    return pl.DataFrame(list(runs.values()), schema=types)


def _frame(records: Iterable[tuple[int, Notice | Decision]]) -> pl.DataFrame:
    rows = [{"t_us": t_us, **record.to_json()} for t_us, record in records]
    if not rows:
        return pl.DataFrame(schema={"t_us": pl.Int64, "kind": pl.String})
    return pl.DataFrame(rows, infer_schema_length=None)


def read_journal(folder: str | os.PathLike[str]) -> Journal:
    """Read the journal of a run: notices and decisions of its controller.

    Parameters
    ----------
    folder
        The folder of ``hetsched run --out``, or of ``simulate(journal=…)``.

    Returns
    -------
    Journal
        Without a last line that is torn, which has never happened.

    Raises
    ------
    ConfigError
        If there is none.
    LiveError
        If a line before the last does not have its CRC-32, or is none; names the line.

    Examples
    --------
    >>> import tempfile, polars as pl, hetsched as hs
    >>> columns = {"job_id": [7], "submit_s": [0], "runtime_s": [5], "walltime_s": [60], "node_count": [1]}
    >>> log = hs.Workload.from_polars(pl.DataFrame(columns))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = hs.simulate(log, hs.Platform.homogeneous(nodes=1, idle_w=100, tdp_w=300), "easy", journal=folder)
    ...     journal = hs.read_journal(folder)
    ...     journal.replay().reached_us
    5000000
    >>> journal.notices.select("t_us", "kind", "job").rows()
    [(0, 'submitted', 7), (5000000, 'ended', 7)]
    >>> journal.decisions.select("t_us", "number", "kind", "job").rows()
    [(0, 1, 'start', 7)]
    """
    if not isinstance(folder, str | os.PathLike):
        raise ConfigError([("folder", shown(folder), "the folder of a journal")])
    path = Path(folder) / LINES
    head, *rows = read_lines(path)[0]
    if head.get("format") != FORMAT:
        raise LiveError(f"{path}, line 1: found format {shown(head.get('format'))}, expected {FORMAT}")
    instants = []
    for number, row in enumerate(rows, start=2):
        try:
            instants.append(Instant.from_json(row))
        except LiveError as error:
            raise LiveError(f"{path}, line {number}: {error}") from None
    return Journal(Path(folder), head, tuple(instants))
