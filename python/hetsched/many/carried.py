"""Calls that go to other machines: the files that they read go along, and the code there must be that of here."""

from __future__ import annotations

import functools
import io
import platform
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from hetsched import __version__
from hetsched.checks import reason_of
from hetsched.errors import ConfigError, OutputError
from hetsched.many.store import code_sha256

if TYPE_CHECKING:
    from functools import _lru_cache_wrapper

_own = threading.local()
Build = tuple[str, str]
Content = TypeVar("Content")

_INPUTS = ".inputs-"
_held: list[_lru_cache_wrapper[Any]] = []


@dataclass(frozen=True)
class Call:
    """A function and what it is called with."""

    function: Callable[..., Any]
    arguments: Sequence[Any]
    keywords: Mapping[str, Any]


def build() -> Build:
    """The version of hetsched and the sum of its compiled module, which decide what a run answers."""
    return __version__, code_sha256()


def check_build(wanted: Build) -> None:
    """Raise a ConfigError if hetsched is another one than where runs are handed out."""
    if build() != wanted:
        found = f"{_named(build())} on {platform.node()}"
        raise ConfigError([("executor", found, f"{_named(wanted)} on every machine, as where runs are handed out")])


def _named(own: Build) -> str:
    return f"hetsched {own[0]} (build {own[1][:8]})"


def called_with(call: Call, paths: Sequence[str], *contents: bytes) -> Any:
    """The answer of a call for which files of these names have these contents, wherever it runs."""
    with _holding(dict(zip(paths, contents, strict=True))):
        return call.function(*call.arguments, **call.keywords)


@contextmanager
def _holding(files: Mapping[str, bytes]) -> Iterator[None]:
    before = getattr(_own, "files", {})
    _own.files = files
    try:
        yield
    finally:
        _own.files = before


def content_of(path: str) -> str | io.BytesIO:
    """The content of a file that came along; its name where it did not, and is to be read from disk."""
    files: Mapping[str, bytes] = getattr(_own, "files", {})
    return io.BytesIO(files[path]) if path in files else path


def held(read: Callable[..., Content]) -> _lru_cache_wrapper[Content]:
    """The function with its last two contents of files held for the next run on them.

    Two of each: runs of one workload come one after the other, and at the seam every process needs the next one.
    """
    cached = functools.lru_cache(maxsize=2)(read)
    _held.append(cached)
    return cached


@contextmanager
def inputs_folder(folder: Path | None) -> Iterator[Path]:
    """Folder of workloads and platforms while runs need them."""
    try:
        made = Path(tempfile.mkdtemp(prefix=_INPUTS, dir=folder)).absolute()
    except OSError as error:
        raise OutputError(str(folder or tempfile.gettempdir()), reason_of(error)) from None
    try:
        yield made
    finally:
        clear()
        shutil.rmtree(made, ignore_errors=True)


def clear() -> None:
    """Let go of what is held for next runs."""
    for cached in _held:
        cached.cache_clear()


def remove_inputs(folder: Path) -> None:
    """Remove what a call that was killed has left in its folder."""
    for old in folder.glob(f"{_INPUTS}*"):
        shutil.rmtree(old, ignore_errors=True)
