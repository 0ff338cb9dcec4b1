"""The socket for events: deleted, full, flooded and spoken to by strangers, readings go on."""

import os
import socket
import subprocess
import sys
import time

import pytest

from hetsched.errors import ConfigError
from hetsched.slurm_bridge.events import LEAST_GAP_S, MOST_BYTES, Events, hook_lines
from hetsched.slurm_bridge.pace import Pace
from hetsched.slurm_bridge.run import run_beats

LONG_S = 60.0


@pytest.fixture
def path(tmp_path):
    return tmp_path / "own" / "events"


@pytest.fixture
def make(path):
    """Makes sockets; `said` of each is what it said."""
    made = []

    def events(uids=None):
        said = []
        made.append(Events(str(path), uids or (os.geteuid(),), say=said.append))
        made[-1].said = said
        return made[-1]

    yield events
    for one in made:
        one.close()


def send(path, data=b"x", times=1):
    """Sends datagrams as a hook does; gives how many were taken."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as hook:
        for number in range(times):
            try:
                hook.sendto(data, str(path))
            except OSError:
                return number
    return times


def slept_s(events, seconds):
    began = time.monotonic()
    events.sleep(seconds)
    return time.monotonic() - began


def test_an_event_ends_the_wait_and_none_leaves_it(path, make):
    events = make()
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    send(path)
    assert LEAST_GAP_S <= slept_s(events, LONG_S) < LONG_S
    assert slept_s(events, 0.5) >= 0.5
    events.close()
    assert not path.exists()


def test_strangers_and_long_datagrams_do_not_count(path, make):
    events = make(uids=(os.geteuid() + 1,))
    send(path, times=3)
    assert slept_s(events, 0.5) >= 0.5
    assert events.strangers == 3
    events = make()
    send(path, b"x" * (MOST_BYTES + 1))
    assert slept_s(events, 0.5) >= 0.5


def test_a_socket_that_is_deleted_comes_again(path, make):
    events = make()
    path.unlink()
    assert slept_s(events, 0.4) >= 0.4
    assert events.said == [f"events: {path} was gone and is there again"]
    send(path)
    assert slept_s(events, LONG_S) < LONG_S
    path.unlink()
    path.parent.rmdir()
    path.parent.write_text("a file")
    assert slept_s(events, 0.4) >= 0.4
    assert "readings go on without" in events.said[-1]


def test_a_full_socket_stops_no_hook(path, make):
    make()
    taken = send(path, times=100_000)
    assert taken < 100_000


def test_a_flood_of_a_hundred_thousand_leaves_readings_their_pace(path, make):
    script = (
        "import socket, sys\n"
        "hook = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)\n"
        "taken = tries = 0\n"
        "while tries < 100_000 or taken < 100:\n"
        "    tries += 1\n"
        "    try: taken += hook.sendto(b'x' * 900, sys.argv[1]) > 0\n"
        "    except BlockingIOError: continue\n"
    )
    events, beats, gaps = make(), [], []

    class Beats:
        def beat(self):
            beats.append(time.monotonic())
            return True

    def hasten(seconds):
        gaps.append(seconds)
        events.sleep(seconds)

    with subprocess.Popen([sys.executable, "-IS", "-c", script, str(path)]) as flood:
        while flood.poll() is None:
            run_beats(Beats(), Pace(1.0), beats=2, hasten=hasten)
    assert flood.returncode == 0
    assert all(other - one >= LEAST_GAP_S for one, other in zip(beats[::2], beats[1::2], strict=True))
    assert len(gaps) == len(beats) // 2


def test_folders_that_others_can_enter_and_other_files_are_refused(path, tmp_path, make):
    open_folder = tmp_path / "open"
    open_folder.mkdir(mode=0o755)
    with pytest.raises(ConfigError, match="mode 755, expected a folder of your own"):
        Events(str(open_folder / "x"), (0,), say=print)
    path.parent.mkdir(mode=0o700)
    path.write_text("mine")
    with pytest.raises(ConfigError, match="a socket that a bridge has left"):
        make()
    assert path.read_text() == "mine"
    with pytest.raises(ConfigError, match="at most 100 bytes"):
        Events(str(tmp_path / ("x" * 100)), (0,), say=print)


def test_a_slow_slurm_is_not_read_sooner():
    slept, hastened = [], []

    class Beats:
        def beat(self):
            times.pop()
            return True

    times = [0.0] * 20
    now = iter(float(second) for second in range(0, 1000, 3))
    run_beats(Beats(), Pace(4.0), beats=8, sleep=slept.append, hasten=hastened.append, now=lambda: next(now))
    assert len(hastened) == 2
    assert len(slept) == 5


def test_the_hook_sends_and_never_fails(path, make, tmp_path):
    hook = tmp_path / "hook.py"
    hook.write_text("\n".join(hook_lines(str(path))) + "\n")
    run = lambda: subprocess.run([sys.executable, "-IS", hook], capture_output=True, timeout=60, check=False)  # noqa: E731
    assert (run().returncode, run().stderr) == (0, b"")
    events = make()
    assert run().returncode == 0
    assert slept_s(events, LONG_S) < LONG_S
