"""Job logs as files hold them: one module a format, each turning bytes into columns.

What the columns must satisfy to be a workload is `hetsched.workload`'s business.
"""

from hetsched.trace import csv, parquet, swf
from hetsched.trace.raw import Format, RawTrace

__all__ = ["FORMATS", "READERS", "Format", "RawTrace"]

FORMATS: dict[str, Format] = {f.name: f for f in (swf.FORMAT, parquet.FORMAT, csv.FORMAT)}
"""Every format by its name."""

READERS: dict[str, Format] = {suffix: f for f in FORMATS.values() for suffix in f.suffixes}
"""Every format by the endings of its files' names."""
