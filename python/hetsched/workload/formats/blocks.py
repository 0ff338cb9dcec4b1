"""A source read block by block, so that nothing of a long file stays in memory; its sha256 is known at the end."""

from __future__ import annotations

import hashlib
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from hetsched.checks import reason_of, whole_text
from hetsched.errors import TraceError
from hetsched.resources import check_threads
from hetsched.workload.formats.raw import Piped, Source


class Blocks:
    """An open source: `read` gives its next bytes, `name` is for messages, `sha256` of what was read."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self.name = name
        self._file = file
        self._digest = hashlib.sha256()

    def read(self, most: int) -> bytes:
        """Up to `most` bytes; none at the end."""
        block = self._file.read(most)
        self._digest.update(block)
        return block

    @property
    def sha256(self) -> str:
        """Sha256 of the bytes so far, as hexadecimal digits."""
        return self._digest.hexdigest()


@contextmanager
def opened(source: Source, expected: str) -> Iterator[Blocks]:
    """A source's blocks; a `TraceError` if it cannot be read, with what was `expected`, such as "a dump of sacct"."""
    check_threads()
    if isinstance(source, bytes):
        yield Blocks(io.BytesIO(source), "standard input" if isinstance(source, Piped) else "bytes")
        return
    if source == "-":
        yield Blocks(sys.stdin.buffer, "standard input")
        return
    name = whole_text(os.fspath(source))
    try:
        file = Path(source).open("rb")  # noqa: SIM115 -- closed below
    except (OSError, ValueError) as error:
        is_known = isinstance(error, FileNotFoundError | IsADirectoryError)
        found = reason_of(error) if is_known else f"a file that cannot be read ({reason_of(error)})"
        raise TraceError(file=name, found=found, expected=expected) from None
    with file:
        yield Blocks(file, name)
