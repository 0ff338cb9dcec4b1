"""The command `hetsched`: one file a verb, and a row for each in `hetsched.cli.app`.

The library computes; what is here reads options, shows progress and tables, and turns errors into lines and exit codes.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; see `hetsched.cli.app.main`, which loads here so that Ctrl-C meanwhile ends as it does later.

    Examples
    --------
    >>> main(["--version"])
    hetsched ...
    0
    """
    try:
        from hetsched.cli.app import main as run  # noqa: PLC0415 -- what takes time to load must be inside the try
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return 130
    return run(arguments)
