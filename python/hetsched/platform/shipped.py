"""Machines that come with hetsched: TOML files with a source next to every number."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from hetsched.checks import did_you_mean, listed, shown
from hetsched.errors import ConfigError

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
