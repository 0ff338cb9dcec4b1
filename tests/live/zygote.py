"""Runs of the executor in processes that are forked from one that has loaded everything: a line of JSON each."""

import json
import os
import signal
import sys
import time
import traceback
from importlib import import_module
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from stand_in import FirstCome, Lines

from hetsched.cli import main as command
from hetsched.live.clock import Clock
from hetsched.live.commands import Command
from hetsched.live.executor import Executor
from hetsched.live.hands import Hands, Limits
from hetsched.live.launchers import Local, Terms
from hetsched.live.machine import Nodes


def run(folder, jobs, nodes, *, boot=None, cgroups=None, requeues_lost=False, grace_s=0.1):
    """Runs jobs, or goes on with them, under the stand-in."""
    path = f"{folder}/journal.jsonl"
    commands = {int(job): Command.from_json({**one["command"], "cwd": folder}) for job, one in jobs.items()}
    sizes = {int(job): one.get("nodes", 1) for job, one in jobs.items()}
    controller, book = FirstCome(nodes, sizes), Lines(path)
    is_new = not Path(folder, "clock.json").exists()
    clock = Clock.started(boot=boot) if is_new else Clock.read(folder, boot=boot)
    places = Nodes([f"slot{node}" for node in range(nodes)], [[0]] * nodes, are_slots=True)
    terms, limits = Terms(grace_s=grace_s, cgroups=cgroups), Limits(most_running=100, launches_a_s=1000)
    hands = Hands(folder, commands, Local(places), clock, terms=terms, limits=limits)
    submits = [(int(1e6 * one.get("submit_s", 0)), int(job)) for job, one in jobs.items()]
    executor = Executor(
        controller,
        book,
        hands,
        submits,
        clock=clock,
        requeues_lost=requeues_lost,
        say=lambda text: print(text, file=sys.stderr),
    )
    instants = [] if is_new else book.instants()
    if instants:
        clock.resumed(instants[-1].t_us, 0.0)
    clock.write(folder)
    for instant in instants:
        assert controller.step(instant.t_us, instant.notices) == list(instant.decisions)
    executor.restore(instants)
    whole = executor.run()
    with open(f"{folder}/states.json", "w") as file:
        json.dump({"states": executor.states, "whole": whole}, file)


def loaded():
    """Imports what the command imports, and has polars do nothing: its threads would not be there after a fork."""
    run = ("cli.run", "features.feature", "live.running", "report.tables")
    bridge = ("cli.slurm_run", "live.journal", *(f"slurm_bridge.{name}" for name in ("bridge", "readings", "hands")))
    for name in run + bridge:
        import_module(f"hetsched.{name}")


def hurry(most_s):
    """Ends each sleep after so many seconds."""
    sleep = time.sleep
    time.sleep = lambda seconds: sleep(min(seconds, most_s))


def main():
    """Forks a process for each line: the environment's changes, and the arguments of `run` or of the command."""
    for line in sys.stdin:
        given = json.loads(line)
        if "words" in given:
            loaded()
        pid = os.fork()
        if not pid:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.environ.update(given.pop("environment", {}))
            os.setsid()
            sys.stdin.close()
            log = given.pop("log", given["folder"] + "/executor.err")
            os.dup2(os.open(log, os.O_CREAT | os.O_APPEND | os.O_WRONLY), 2)
            try:
                if "words" in given:
                    if (most_s := given["longest_sleep_s"]) is not None:
                        hurry(most_s)
                    os.dup2(os.open(log, os.O_APPEND | os.O_WRONLY), 1)
                    with open(1, "w", closefd=False) as sys.stdout:
                        code = command(given["words"])
                    os._exit(code)
                run(**given)
            except BaseException:  # noqa: BLE001 -- a child that was forked must not go on as its parent
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        print(pid, flush=True)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
