"""Things made once for all tests, on however many workers they run."""

import fcntl
import gc
import os
import pickle
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from hetsched.many import executors
from hetsched.report import canvas

# Other modules are found by name, however pytest imports the tests themselves.
sys.path.insert(0, str(Path(__file__).with_name("golden")))
sys.path.insert(0, str(Path(__file__).with_name("live")))

import known_runs
from live_hosts import Zygote

# `make test` tries the same examples every time, `make fuzz` others each time: `--hypothesis-profile=long`.
_PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("gate", max_examples=10, derandomize=True, database=None, **_PATIENT)
settings.register_profile("long", max_examples=1_000, derandomize=False, print_blob=True, **_PATIENT)
settings.load_profile("gate")


def is_at_length():
    """True if tests take their time, as in `make fuzz`."""
    return settings.get_current_profile_name() == "long"


def pytest_collection_modifyitems(config, items):
    """Leaves out what `make fuzz` alone has time for."""
    if not is_at_length():
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("at_length_only")])
        items[:] = [item for item in items if not item.get_closest_marker("at_length_only")]


def pytest_collection_finish():
    """Has the collector of garbage pass over what was imported and collected: it stays to the end."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def one_process():
    """Makes runs in this process unless a test says in how many: starting others takes seconds.

    That their number changes nothing is tested where it is given, and that there are as many as cores in scripts.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(executors, "most_at_once", lambda *_, **__: 1)
        yield


@pytest.fixture(scope="session", autouse=True)
def coarse_pictures():
    """Pictures of few dots: hundreds are drawn, and what tests look at is in figures, or in any picture."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(canvas, "_DOTS_PER_INCH", 60)
        yield


@pytest.fixture(scope="session", autouse=True)
def ctrl_c():
    """Ctrl-C is heeded here and in what is started from here, also where it is ignored.

    As under ``nohup``, and in what a script starts in its background.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def zygote():
    """Forks executors and bridges, one after the other; one for all tests of a worker."""
    made = Zygote()
    yield made
    made.close()


@pytest.fixture(scope="session")
def once(tmp_path_factory):
    """Calls a function for its value once in a whole run of the tests, not once in every worker."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    found = {}

    def value(name, make):
        if name not in found:
            path = folder / f"{name}.pickle"
            with (folder / f"{name}.lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not path.exists():
                    path.write_bytes(pickle.dumps(make()))
            found[name] = pickle.loads(path.read_bytes())
        return found[name]

    return value


@pytest.fixture(scope="session")
def quick_report(once):
    """``quick_report(name)`` is what ``reproduce(name, quick=True)`` returns; no other test has it run again.

    It is made of the known runs, which ``tests/golden`` holds to what is run today; with ``now=True``, or at length, it
    is run. With ``beside=True`` it holds what is said of the policy `known_runs.BESIDE`, too.
    """

    def report(name, *, beside=False, now=False):
        if now or is_at_length():
            whole = once(f"run-{name}", lambda: known_runs.run(name))
        else:
            whole = once(f"quick-{name}", lambda: known_runs.report_of(name))
        return whole if beside else known_runs.without_beside(whole)

    return report
