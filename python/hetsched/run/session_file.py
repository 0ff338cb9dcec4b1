"""Saved sessions: a run's inputs and what was done with it, in one archive of JSON and Parquet."""

from __future__ import annotations

import io
import json
import math
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from hetsched import _core
from hetsched.checks import one_line, reason_of, shown
from hetsched.contract.contract import Contract
from hetsched.errors import ConfigError, HetschedError
from hetsched.features import queues
from hetsched.features.feature import Setting
from hetsched.files import MALFORMED, frame_sha256, write_whole
from hetsched.platform import Platform, VariationTable
from hetsched.policy import Policy
from hetsched.power.forecast import Forecast
from hetsched.run.events import Events
from hetsched.run.memory import check_memory
from hetsched.run.options import RunOptions
from hetsched.tables import TableError, read_parquet
from hetsched.workload import Workload
from hetsched.workload.describe import Report

_VERSION = 2
_FILE = "a session as Session.write writes it"
_TABLES = ("actual", "predicted")


@dataclass(frozen=True)
class Deed:
    """Events or jobs that were injected, or another policy that took over; and how far the run had come, in seconds."""

    reached_s: float
    given: Events | pl.DataFrame | Policy

    def record(self) -> dict[str, Any]:
        """Note of it in a result, or in a file."""
        if isinstance(self.given, Policy):
            return {"reached_s": self.reached_s, "policy": self.given.to_dict()}
        if isinstance(self.given, Events):
            return {"reached_s": self.reached_s, "events": len(self.given), "sha256": self.given.sha256}
        return {"reached_s": self.reached_s, "jobs": len(self.given), "sha256": frame_sha256(self.given)}


@dataclass(frozen=True)
class Saved:
    """A session: what it was made of, how far it has come (None: to its end), and what was done with it on the way."""

    setting: Setting
    reached_s: float | None
    deeds: tuple[Deed, ...]


def write_saved(path: Path, saved: Saved) -> None:
    """Write a session's file, whole or not at all."""
    setting = saved.setting
    frames = {"jobs": setting.as_submitted.to_polars()}
    tables = _tables(setting.platform)
    frames |= {name: table.to_polars() for name, table in tables.items()}
    if setting.forecast is not None:
        frames["known_w"] = pl.DataFrame({"known_w": setting.forecast.known_w})
    if setting.options.events is not None:
        frames["events"] = setting.options.events.to_polars()
    for place, deed in enumerate(saved.deeds):
        if isinstance(deed.given, Events):
            frames[f"events-{place}"] = deed.given.to_polars()
        elif isinstance(deed.given, pl.DataFrame):
            frames[f"jobs-{place}"] = deed.given
    text = json.dumps(_record(saved, tables), indent=1, allow_nan=False)

    def archive(file: Path) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as members:
            members.writestr("session.json", text)
            for name, frame in frames.items():
                members.writestr(f"{name}.parquet", _parquet(frame))

    write_whole(path, archive)


def read_saved(path: Path) -> Saved:
    """The session of a file; raises a `ConfigError` if it holds none."""
    try:
        with zipfile.ZipFile(path) as members:
            return _session(members)
    except TableError as error:
        found, expected = error.found, error.expected
    except HetschedError as error:
        found, expected = str(error), _FILE
    except (*MALFORMED, zipfile.BadZipFile, NotImplementedError) as error:
        found, expected = reason_of(error).removeprefix("found "), _FILE
    raise ConfigError([(one_line(str(path)), one_line(found, limit=200), expected)])


def _tables(platform: Platform) -> dict[str, VariationTable]:
    """Tables by the names of their members; those by cap are numbered."""
    if platform.actual_by_cap is None:
        return {name: table for name in _TABLES if (table := getattr(platform, name)) is not None}
    sets = {"actual": platform.actual_by_cap, "predicted": platform.predicted_by_cap or {}}
    return {f"{name}-{place}": table for name, tables in sets.items() for place, table in enumerate(tables.values())}


def _record(saved: Saved, tables: dict[str, VariationTable]) -> dict[str, Any]:
    setting, workload = saved.setting, saved.setting.as_submitted
    by_cap = setting.platform.actual_by_cap
    platform = {name: value for name, value in setting.platform.to_dict().items() if name not in _TABLES}
    return {
        "format": _VERSION,
        "version": _core.__version__,
        "policy": setting.policy.to_dict(),
        "options": setting.options.record(),
        "contract": None if setting.options.contract is None else setting.options.contract.to_dict(),
        "platform": platform,
        "caps_w": {name: _plain_cap(table.cap_w) for name, table in tables.items()},
        "table_keys_w": None if by_cap is None else [_plain_cap(cap_w) for cap_w in by_cap],
        "workload": {
            "sha256": workload.sha256,
            "source": workload.source,
            "source_sha256": workload.source_sha256,
            "history": list(workload.history),
            "report": {"source": workload.report.source, "counts": workload.report.to_dict()},
        },
        "forecast": None if setting.forecast is None else setting.forecast.report,
        "reached_s": saved.reached_s,
        "deeds": [deed.record() for deed in saved.deeds],
    }


def _plain_cap(cap_w: float | None) -> float | str | None:
    """A cap as JSON takes it, which has no infinity."""
    return "inf" if cap_w == math.inf else cap_w


def _session(members: zipfile.ZipFile) -> Saved:
    if any(member.compress_type != zipfile.ZIP_STORED for member in members.infolist()):
        raise TableError("a packed archive", _FILE)
    record = json.loads(members.read("session.json"))
    if record["format"] not in range(1, _VERSION + 1):
        raise TableError(f"format {shown(record['format'])}", f"format 1 to {_VERSION}; a later hetsched wrote it")
    workload, platform = _workload(members, record["workload"]), _platform(members, record)
    policy = Policy.from_dict(record["policy"])
    options = _options(members, record["options"], record.get("contract")).under(policy)
    check_memory(workload, platform, policy, until_s=options.until_s)
    forecast = record["forecast"]
    if forecast is not None:
        forecast = Forecast(_frame(members, "known_w")["known_w"].to_numpy(), forecast)
    # The first format knew injected events alone.
    done = record["deeds"] if "deeds" in record else [{"reached_s": at_s} for at_s in record["injected_at_s"]]
    deeds = tuple(_deed(members, place, one) for place, one in enumerate(done))
    reached_s = record["reached_s"]
    setting = queues.settle(Setting(workload, platform, policy, options, forecast=forecast))
    return Saved(setting, None if reached_s is None else float(reached_s), deeds)


def _deed(members: zipfile.ZipFile, place: int, record: dict[str, Any]) -> Deed:
    reached_s = float(record["reached_s"])
    if "policy" in record:
        return Deed(reached_s, Policy.from_dict(record["policy"]))
    if "jobs" in record:
        jobs = _frame(members, f"jobs-{place}")
        if frame_sha256(jobs) != record["sha256"]:
            raise TableError("injected jobs that are not those that were saved", _FILE)
        return Deed(reached_s, jobs)
    return Deed(reached_s, Events.from_polars(_frame(members, f"events-{place}")))


def _options(members: zipfile.ZipFile, record: dict[str, Any], contract: dict[str, Any] | None) -> RunOptions:
    things: dict[str, Events | Contract] = {}
    if "events" in record:
        things["events"] = Events.from_polars(_frame(members, "events"))
    if contract is not None:
        things["contract"] = Contract.from_dict(contract)
    for name, thing in things.items():
        if thing.sha256 != record[name]:
            raise TableError(f"{name} other than those that were saved", _FILE)
    return RunOptions(**{**record, **things})


def _workload(members: zipfile.ZipFile, record: dict[str, Any]) -> Workload:
    checked = Workload.from_polars(_frame(members, "jobs"), source=record["source"])
    if checked.sha256 != record["sha256"]:
        raise TableError("jobs that are not those that were saved", _FILE)
    report = Report(record["report"]["source"], record["report"]["counts"])
    return Workload(
        checked.to_polars(),
        source=record["source"],
        report=report,
        history=record["history"],
        source_sha256=record["source_sha256"],
    )


def _platform(members: zipfile.ZipFile, record: dict[str, Any]) -> Platform:
    caps = {name: None if cap_w is None else float(cap_w) for name, cap_w in record["caps_w"].items()}
    tables = {name: VariationTable.from_polars(_frame(members, name), cap_w=cap_w) for name, cap_w in caps.items()}
    if any(name in record["platform"] for name in _TABLES):
        raise TableError("a table by its path, which nothing that was saved has", _FILE)
    platform, keys = Platform.from_dict(record["platform"]), record.get("table_keys_w")
    if not tables:
        return platform
    if keys is None:
        return platform.with_tables(actual=tables.get("actual"), predicted=tables.get("predicted"))
    sets = {
        name: {float(key): tables[f"{name}-{place}"] for place, key in enumerate(keys) if f"{name}-{place}" in tables}
        for name in _TABLES
    }
    return platform.with_tables(actual=sets["actual"], predicted=sets["predicted"] or None)


def _frame(members: zipfile.ZipFile, name: str) -> pl.DataFrame:
    return read_parquet(members.read(f"{name}.parquet"))


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()
