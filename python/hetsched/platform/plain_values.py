"""What a platform's dictionary or file says, as the platform's arguments."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hetsched.checks import Faults
from hetsched.platform.node_class import CLASS_KEYS, NodeClass, list_of_classes, single_class
from hetsched.platform.queues import queue_list
from hetsched.platform.table_files import TABLES, named_table, wanted_cap

_OPTIONS = ("exclusive", "known_draws", "cap_model", "licences")
_KEYS = ("classes", "exclusive", *TABLES, "cap_w", "known_draws", "cap_model", "licences", "queue")


def arguments_of(data: Mapping[str, Any], folder: Path) -> tuple[list[NodeClass], dict[str, Any]]:
    """The classes and the options of a platform; files' paths are relative to the folder."""
    faults = Faults()
    known = _KEYS if "classes" in data else ("nodes", *CLASS_KEYS, *_KEYS[1:])
    faults.unknown_keys(data, known)
    classes = list_of_classes(data["classes"], faults) if "classes" in data else single_class(data, faults)
    cap_w = wanted_cap(data, faults)
    tables = {name: named_table(data[name], name, folder, cap_w, faults) for name in TABLES if name in data}
    queues = queue_list(data.get("queue"), "queue", faults)
    faults.check()
    return classes, {**tables, "queues": queues, **{name: data[name] for name in _OPTIONS if name in data}}
