"""Bridges that act, forked from a process that has loaded everything: a line of JSON each, answered by its pid."""

import json
import os
import signal
import sys
from importlib import import_module

from hetsched.cli import main as command


def main():
    """Fork a bridge for each line; whoever reads the pids kills them."""
    for name in ("cli.slurm_run", "slurm_bridge.bridge", "slurm_bridge.readings", "slurm_bridge.hands", "live.journal"):
        import_module(f"hetsched.{name}")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        given = json.loads(line)
        pid = os.fork()
        if not pid:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.environ["HETSCHED_FAULT"] = given["fault"]
            log = os.open(given["log"], os.O_CREAT | os.O_APPEND | os.O_WRONLY)
            null = os.open(os.devnull, os.O_RDONLY)
            for own, other in ((null, 0), (log, 1), (log, 2)):
                os.dup2(own, other)
            os.setsid()
            with open(1, "w", closefd=False) as sys.stdout:
                os._exit(command(given["words"]))
        print(pid, flush=True)


if __name__ == "__main__":
    main()
