"""Saved sessions: a run's inputs and what was done with it, in one archive of JSON and Parquet."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from hetsched import _core
from hetsched.checks import one_line, reason_of, shown
from hetsched.errors import ConfigError, HetschedError
from hetsched.files import MALFORMED, write_whole
from hetsched.platform import Platform, VariationTable
from hetsched.platform.predictor import predictor_name
from hetsched.policy import Policy
from hetsched.power.forecast import Forecast
from hetsched.run.concerns import concerns_of_draws, concerns_of_load
from hetsched.run.events import Events
from hetsched.run.options import RunOptions
from hetsched.run.outcome import Setting
from hetsched.tables import TableError, read_parquet
from hetsched.workload import Workload
from hetsched.workload.describe import Report

_VERSION = 1
_FILE = "a session as Session.save writes it"
_TABLES = ("actual", "predicted")


@dataclass(frozen=True)
class Injection:
    """Events, and how far the run had come when they were injected, seconds on the log's clock."""

    reached_s: float
    events: Events

    def record(self) -> dict[str, Any]:
        """Note of it in a result."""
        return {"reached_s": self.reached_s, "events": len(self.events), "sha256": self.events.sha256}


@dataclass(frozen=True)
class Saved:
    """A session: what it was made of, how far it has come (None: to its end), and what befell it on the way."""

    setting: Setting
    reached_s: float | None
    injected: tuple[Injection, ...]


def write_session(path: Path, saved: Saved) -> None:
    """Write a session's file, whole or not at all."""
    setting = saved.setting
    frames = {"jobs": setting.workload.to_polars()}
    tables = {name: getattr(setting.platform, name) for name in _TABLES}
    frames |= {name: table.to_polars() for name, table in tables.items() if table is not None}
    if setting.forecast is not None:
        frames["known_w"] = pl.DataFrame({"known_w": setting.forecast.known_w})
    frames |= {f"events-{place}": one.events.to_polars() for place, one in enumerate(saved.injected)}
    text = json.dumps(_record(saved, tables), indent=1, allow_nan=False)

    def archive(file: Path) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as members:
            members.writestr("session.json", text)
            for name, frame in frames.items():
                members.writestr(f"{name}.parquet", _parquet(frame))

    write_whole(path, archive)


def read_session(path: Path) -> Saved:
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


def _record(saved: Saved, tables: dict[str, VariationTable | None]) -> dict[str, Any]:
    setting, workload = saved.setting, saved.setting.workload
    options = {**vars(setting.options), "predictor": predictor_name(setting.options.predictor)}
    platform = {name: value for name, value in setting.platform.to_dict().items() if name not in _TABLES}
    return {
        "format": _VERSION,
        "version": _core.__version__,
        "policy": setting.policy.to_dict(),
        "options": options,
        "platform": platform,
        "caps_w": {name: table.cap_w for name, table in tables.items() if table is not None},
        "workload": {
            "sha256": workload.sha256,
            "source": workload.source,
            "source_sha256": workload.source_sha256,
            "history": list(workload.history),
            "report": {"source": workload.report.source, "counts": workload.report.to_dict()},
        },
        "forecast": None if setting.forecast is None else setting.forecast.report,
        "reached_s": saved.reached_s,
        "injected_at_s": [one.reached_s for one in saved.injected],
    }


def _session(members: zipfile.ZipFile) -> Saved:
    if any(member.compress_type != zipfile.ZIP_STORED for member in members.infolist()):
        raise TableError("a packed archive", _FILE)
    record = json.loads(members.read("session.json"))
    if record["format"] != _VERSION:
        raise TableError(f"format {shown(record['format'])}", f"format {_VERSION}; a later hetsched wrote it")
    workload, platform = _workload(members, record["workload"]), _platform(members, record)
    policy, options = Policy.from_dict(record["policy"]), RunOptions(**record["options"])
    forecast = record["forecast"]
    if forecast is not None:
        forecast = Forecast(_frame(members, "known_w")["known_w"].to_numpy(), forecast)
    concerns = [*concerns_of_load(workload, platform), *concerns_of_draws(workload.to_polars(), platform)]
    injected = tuple(
        Injection(float(reached_s), Events.from_polars(_frame(members, f"events-{place}")))
        for place, reached_s in enumerate(record["injected_at_s"])
    )
    reached_s = record["reached_s"]
    setting = Setting(workload, platform, policy, options, concerns, forecast)
    return Saved(setting, None if reached_s is None else float(reached_s), injected)


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
    tables = {
        name: VariationTable.from_polars(_frame(members, name), cap_w=cap_w) for name, cap_w in record["caps_w"].items()
    }
    platform = Platform.from_dict(record["platform"])
    return (
        platform if not tables else platform.with_tables(actual=tables.get("actual"), predicted=tables.get("predicted"))
    )


def _frame(members: zipfile.ZipFile, name: str) -> pl.DataFrame:
    return read_parquet(members.read(f"{name}.parquet"))


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()
