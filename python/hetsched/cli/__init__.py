"""The command `hetsched`: one file a verb, and a row for each in `hetsched.cli.app`.

The library computes; what is here reads options, shows progress and tables, and turns errors into lines and exit codes.
"""

from hetsched.cli.app import main

__all__ = ["main"]
