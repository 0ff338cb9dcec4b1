"""Archives of arrays: each is read when it is asked for, and only as large and of the kind that was asked for.

A file may come from anywhere. A few kilobytes of it can unpack to gigabytes, and invalid numbers would turn up as
predictions; so what is read is bounded by the size of the file, and checked before anything works with it.
"""

from __future__ import annotations

import io
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from hetsched.files import MALFORMED
from hetsched.power.checks import Floats

Content = Mapping[str, npt.NDArray[np.generic]]

DAMAGED = (*MALFORMED, zipfile.BadZipFile, zlib.error, struct.error, NotImplementedError)
"""Errors that numpy, zip files and JSON raise on damaged bytes."""

_ALWAYS = 2**26
"""Bytes that any file may unpack to."""

_RATIO = 100
"""Bytes that a byte of a larger file may unpack to; what `zipped` writes keeps within."""

_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)

_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '([<|][fiu][1248])', 'fortran_order': False, 'shape': \(([\d, ]*)\), \} *\n",
    re.DOTALL,
)
"""Header of an array in numpy's format. Numpy's own reader evaluates it."""


@dataclass(frozen=True)
class Saved:
    """The arrays of an open archive whose names begin alike; `budget` is how many bytes are left to be unpacked."""

    archive: zipfile.ZipFile
    budget: list[int]
    prefix: str = ""

    @classmethod
    def of(cls, file: BinaryIO) -> Saved:
        """All arrays of a file; one of `DAMAGED` if it is no archive."""
        archive = zipfile.ZipFile(file)
        return cls(archive, [_most(file.seek(0, io.SEEK_END))])

    def inside(self, name: str) -> Saved:
        """Those whose names begin with one more part."""
        return replace(self, prefix=f"{self.prefix}{name}.")

    def __contains__(self, name: str) -> bool:
        return f"{self.prefix}{name}.npy" in self.archive.NameToInfo

    def floats(self, name: str, *shape: int | None, finite: bool = True) -> Floats:
        """An array of numbers, as large along each axis as `shape` says (None: whatever it is); or one of `DAMAGED`."""
        found = self._array(name, shape, "f").astype(np.float64)
        if finite and not np.isfinite(found).all():
            raise ValueError("numbers that are not finite")
        return found

    def whole(self, name: str, *shape: int | None) -> npt.NDArray[np.int64]:
        """An array of whole numbers; as `floats`."""
        return self._array(name, shape, "i").astype(np.int64)

    def places(self, name: str, count: int, *, ascending: bool = False) -> npt.NDArray[np.intp]:
        """An array of places among so many, counted from 0; each later than the one before if `ascending`."""
        found = self.whole(name, None).astype(np.intp)
        if not ((found >= 0) & (found < count)).all() or (ascending and not (np.diff(found) > 0).all()):
            raise ValueError("places that there are not")
        return found

    def text(self, name: str, *, most: int) -> bytes:
        """Text of at most so many bytes; raises as `floats`."""
        return self._array(name, (None,), "u", most=most).tobytes()

    def _array(
        self, name: str, shape: tuple[int | None, ...], kind: str, *, most: int | None = None
    ) -> npt.NDArray[np.generic]:
        member = self.archive.getinfo(f"{self.prefix}{name}.npy")
        if member.compress_type not in _METHODS:
            raise ValueError("packed in a way that hetsched does not pack")
        if member.file_size > min(self.budget[0], self.budget[0] if most is None else most):
            raise ValueError("more unpacked than a file of its size should hold")
        self.budget[0] -= member.file_size
        with self.archive.open(member) as file:
            data = file.read()
        if (header := _HEADER.match(data)) is None or header[1].decode()[1] != kind:
            raise ValueError("an array of another kind")
        found = tuple(int(size) for size in header[2].split(b",") if size.strip())
        if len(found) != len(shape) or any(b not in (None, a) for a, b in zip(found, shape, strict=True)):
            raise ValueError("an array of another shape")
        # Numpy takes no array that is longer or shorter than its shape says.
        return np.frombuffer(data, header[1].decode(), offset=header.end()).reshape(found)


def _most(size: int) -> int:
    """Bytes that a file of a size may unpack to."""
    return max(_ALWAYS, _RATIO * size)


def finite(values: object, count: int) -> list[float]:
    """So many finite numbers, of a header; or ValueError."""
    is_whole = isinstance(values, list) and len(values) == count
    found = [float(value) for value in values] if is_whole else [math.nan]  # type: ignore[attr-defined]
    if not all(map(math.isfinite, found)):
        raise ValueError("invalid numbers")
    return found


def zipped(content: Content) -> bytes:
    """An archive of arrays, by name, that `Saved` reads; equal arrays make equal archives."""
    packed = _archive(content, zipfile.ZIP_DEFLATED)
    # Arrays of a few numbers over and over pack so well that they would pass for a trap.
    plain = sum(array.nbytes for array in content.values()) + 2**10 * len(content)
    return packed if plain <= _most(len(packed)) else _archive(content, zipfile.ZIP_STORED)


def _archive(content: Content, method: int) -> bytes:
    buffer = io.BytesIO()
    # The best compression takes ten times as long and saves a twentieth.
    with zipfile.ZipFile(buffer, "w", method, compresslevel=1) as archive:
        for name, array in content.items():
            # The date of all members is zip's oldest, so that equal models make equal files.
            member = zipfile.ZipInfo(f"{name}.npy")
            member.compress_type = method
            with archive.open(member, "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)
    return buffer.getvalue()
