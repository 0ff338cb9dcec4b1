"""A platform's dictionary or file as its arguments, and the files of machines that come with hetsched."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hetsched import tables
from hetsched.checks import Faults, did_you_mean, listed, shown
from hetsched.errors import ConfigError
from hetsched.platform.draws import ByCap
from hetsched.platform.node_class import CLASS_KEYS, NodeClass, list_of_classes, single_class
from hetsched.platform.queues import queue_list
from hetsched.variation.frame import checked_cap
from hetsched.variation.table import VariationTable, read_table

if TYPE_CHECKING:
    from importlib.abc import Traversable


_SUFFIX = ".toml"
_SOURCE = "Source: "


def _folder() -> Traversable:
    return resources.files("hetsched") / "data" / "machines"


def machine_names() -> list[str]:
    """Names of the machines, as `Platform.shipped` takes them."""
    found = (file.name for file in _folder().iterdir())
    return sorted(name.removesuffix(_SUFFIX) for name in found if name.endswith(_SUFFIX))


def machine_file(name: str, *, parameter: str = "name") -> AbstractContextManager[Path]:
    """A machine's file for as long as the context lasts; `parameter` is what a message calls the name."""
    return resources.as_file(_file(name, parameter))


def machine_text(name: str, *, parameter: str = "name") -> str:
    """A machine's file, comments and all."""
    return _file(name, parameter).read_text(encoding="utf-8")


def _file(name: str, parameter: str) -> Traversable:
    known = machine_names()
    if name not in known:
        near = did_you_mean(name, known) if isinstance(name, str) else ""
        raise ConfigError([(parameter, shown(name), f"one of {listed(known)}{near}")])
    return _folder() / f"{name}{_SUFFIX}"


@dataclass(frozen=True)
class About:
    """First lines of a machine's file."""

    title: str
    source: str


def about_machine(name: str) -> About:
    """The title and the source in the first two lines of a machine's file."""
    title, source = (line.removeprefix("# ") for line in machine_text(name).splitlines()[:2])
    return About(title, source.removeprefix(_SOURCE))


_TABLES = ("actual", "predicted")

_ALL_CAPS = "all"
"""The key `cap_w` of a platform whose tables' files hold several caps, each to be a table of its own."""

_TABLE_FILE = "a file of app, node, cap_w, power_w or power_ratio, and time_ratio if it varies"

_OPTIONS = ("exclusive", "known_draws", "cap_model", "licences", "pue", "currency")
_KEYS = ("classes", "exclusive", *_TABLES, "cap_w", "known_draws", "cap_model", "licences", "queue", "pue", "currency")


def arguments_of(data: Mapping[str, Any], folder: Path) -> tuple[list[NodeClass], dict[str, Any]]:
    """The classes and the options of a platform; files' paths are relative to the folder."""
    faults = Faults()
    known = _KEYS if "classes" in data else ("nodes", *CLASS_KEYS, *_KEYS[1:])
    faults.unknown_keys(data, known)
    classes = list_of_classes(data["classes"], faults) if "classes" in data else single_class(data, faults)
    cap_w = _wanted_cap(data, faults)
    tables = {name: _named_table(data[name], name, folder, cap_w, faults) for name in _TABLES if name in data}
    queues = queue_list(data["queue"], "queue", faults) if data.get("queue") is not None else None
    faults.check()
    return classes, {**tables, "queues": queues, **{name: data[name] for name in _OPTIONS if name in data}}


def _wanted_cap(data: Mapping[str, Any], faults: Faults) -> float | str | None:
    """The cap whose rows to take, if one is asked for; or all caps."""
    if "cap_w" in data and not any(isinstance(data.get(name), str | Path) for name in _TABLES):
        faults.add("cap_w", data["cap_w"], "nothing without the file of a table as `actual` or `predicted`")
        return None
    return _ALL_CAPS if data.get("cap_w") == _ALL_CAPS else checked_cap(data.get("cap_w"), faults)


def _named_table(
    given: Any, name: str, folder: Path, cap_w: float | str | None, faults: Faults
) -> VariationTable | ByCap | None:
    """The table that a key stands for, or the tables by cap."""
    try:
        if isinstance(given, list):
            return _listed_by_cap(given, name, faults)
        if isinstance(given, str | Path) and isinstance(cap_w, str):
            return _read_by_cap(folder / given)
        if isinstance(given, str | Path):
            assert not isinstance(cap_w, str)
            return read_table(folder / given, cap_w=cap_w)
        if isinstance(given, Mapping):
            return VariationTable.from_dict(given, path=name)
    except ConfigError as error:
        own, hint = f"{folder / str(given)}.cap_w", f"; as the key `cap_w` next to `{name}`"
        faults.extend(error, lambda fault: fault.hinting(hint) if fault.place == own else fault)
        return None
    faults.add(name, given, "the path of a table's file, or a table's content")
    return None


def _read_by_cap(path: Path) -> dict[float, VariationTable]:
    """A table for each cap in a file."""
    table = tables.read_table(path, _TABLE_FILE, words=["app"])
    return VariationTable.by_cap(table.frame, source=table.path)


def _listed_by_cap(given: list[Any], name: str, faults: Faults) -> dict[float, VariationTable]:
    """Tables by cap out of plain values: a list of tables' contents, each with its cap."""
    found: dict[float, VariationTable] = {}
    for place, content in enumerate(given):
        path = f"{name}[{place}]"
        if not isinstance(content, Mapping) or "cap_w" not in content:
            faults.note(path, "no cap_w", "a table's content with its cap_w (inf: without a cap)")
            continue
        try:
            table = VariationTable.from_dict(content, path=path)
        except ConfigError as error:
            faults.extend(error)
            continue
        if table.cap_w in found:
            faults.add(f"{path}.cap_w", table.cap_w, "each cap once")
        elif table.cap_w is not None:
            found[table.cap_w] = table
    return found
