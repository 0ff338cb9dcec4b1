"""Which format a log is in: by what was said, by its file's name, or by its content."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import PurePath

from hetsched.checks import did_you_mean, listed, shown
from hetsched.errors import ConfigError
from hetsched.workload.formats import csv, parquet, swf
from hetsched.workload.formats.raw import Format, Source

__all__ = ["FORMATS", "READERS", "format_of"]

FORMATS: dict[str, Format] = {f.name: f for f in (swf.FORMAT, parquet.FORMAT, csv.FORMAT)}
"""Every format by its name."""

READERS: dict[str, Format] = {suffix: f for f in FORMATS.values() for suffix in f.suffixes}
"""Every format by the endings of its files' names."""

_PARQUET = b"PAR1"


def format_of(source: Source, name: str | None, *, options: Collection[str] = ()) -> Format:
    """The format of a log.

    Parameters
    ----------
    source
        Path, or content.
    name
        The format's name; None: told by the path's ending, or by the content.
    options
        Names of the options that were given: those of content tell CSV from SWF.

    Raises
    ------
    ConfigError
        If there is no such format, or the path does not tell.

    Examples
    --------
    >>> format_of("log.swf.gz", None).name, format_of(b"PAR1...", None).name, format_of(b"", None).name
    ('swf', 'parquet', 'swf')
    >>> format_of(b"1;0;60", None, options={"separator"}).name
    'csv'
    """
    if name is not None:
        if name not in FORMATS:
            raise ConfigError([("format", shown(name), f"one of {listed(FORMATS)}{did_you_mean(name, FORMATS)}")])
        return FORMATS[name]
    if isinstance(source, bytes):
        return _format_of_content(source, options)
    path = os.fspath(source)
    for suffix, reader in READERS.items():
        if PurePath(path).name.lower().endswith(suffix):
            return reader
    expected = f"a name ending in {listed(READERS)}, or format= one of {listed(FORMATS)}"
    raise ConfigError([("format", f"`{path}`", expected)])


def _format_of_content(content: bytes, options: Collection[str]) -> Format:
    if content.startswith(_PARQUET):
        return FORMATS["parquet"]
    is_table = not set(options) <= set(FORMATS["swf"].options) and set(options) <= set(FORMATS["csv"].options)
    return FORMATS["csv" if is_table else "swf"]
