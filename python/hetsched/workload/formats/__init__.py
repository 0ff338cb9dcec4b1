"""Job logs as files hold them: one module a format, each turning bytes into columns.

What the columns must satisfy to be a workload is `hetsched.workload`'s business.
"""

from hetsched.workload.formats.choice import FORMATS, READERS, format_of
from hetsched.workload.formats.raw import Format, RawTrace

__all__ = ["FORMATS", "READERS", "Format", "RawTrace", "format_of"]
