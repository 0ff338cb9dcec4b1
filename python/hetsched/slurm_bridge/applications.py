"""Applications of jobs, which a platform's table of draws goes by: Slurm itself compares names with those of the table.

A job's name or account is what a user wrote, and is never read: ``squeue`` is asked which jobs have the name of an
application, and its answer holds ids only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hetsched.checks import shown
from hetsched.errors import ConfigError
from hetsched.platform import Platform
from hetsched.slurm_bridge.calls import Slurm
from hetsched.slurm_bridge.jobs import read_ids

BY = {"name": "-n", "account": "-A"}
"""Options of squeue by what an application is known by."""

STAR = "*"
OTHER = "other"
"""The application of a job that has none of the table's, where the table has a row for those."""

_WORD = re.compile(r"[A-Za-z0-9_.+][A-Za-z0-9_.+:/-]{0,127}")


@dataclass(frozen=True)
class Applications:
    """The applications of a platform's table, and what a job's one is known by; no table: no applications.

    Raises
    ------
    ConfigError
        If a name cannot be asked for; if the table has no row ``*`` and nothing says which application a job is.
    """

    names: tuple[str, ...] = ()
    by: str | None = None

    def __post_init__(self) -> None:
        for name in self.asked:
            if not _WORD.fullmatch(name):
                expected = "letters, digits and `_ . + : / -`, so that squeue can be asked for it"
                raise ConfigError([("--app-by", f"the application {shown(name)} in the table", expected)])
        if self.names and self.by is None and STAR not in self.names:
            raise ConfigError([("--app-by", "missing", "name or account: the platform's table goes by applications")])

    @classmethod
    def of(cls, platform: Platform, by: str | None) -> Applications:
        """The applications that a platform's decisions know."""
        table = platform.predicted or platform.actual
        if table is None and by is not None:
            raise ConfigError([("--app-by", by, "nothing: the platform has no table of draws")])
        return cls(() if table is None else tuple(table.apps), by)

    @property
    def asked(self) -> tuple[str, ...]:
        """Names that Slurm is asked for."""
        return () if self.by is None else tuple(name for name in self.names if name != STAR)

    def default(self) -> str | None:
        """The application of a job that has none of these."""
        return OTHER if STAR in self.names else None


def read_applications(slurm: Slurm, applications: Applications, ids: Sequence[str]) -> dict[str, str]:
    """The applications of jobs by id; a call for each of the table. Raises CallError and TableError."""
    found: dict[str, str] = {}
    for name in applications.asked:
        assert applications.by is not None
        found |= dict.fromkeys(read_ids(slurm, BY[applications.by], name).intersection(ids), name)
    return found
