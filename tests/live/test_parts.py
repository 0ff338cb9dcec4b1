"""Parts of an executor by themselves: nodes, words, environments, states, clocks, processes, control groups."""

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from live_hosts import fill, until

from hetsched.checks import Faults
from hetsched.errors import LiveError, OutputError
from hetsched.live import cgroups, lock, orphans, processes
from hetsched.live.clock import Clock
from hetsched.live.commands import Command
from hetsched.live.environment import Given, environment_of
from hetsched.live.hands import Hands, Run
from hetsched.live.launchers import Local, Srun, Terms, spec_of
from hetsched.live.lock import Held
from hetsched.live.machine import Nodes, allocated_nodes, local_nodes
from hetsched.live.processes import Process, below, look, marked, signalled
from hetsched.live.sealed import read_sealed, reserve, sealed, unsealed, write_into, write_new
from hetsched.live.states import ending_of

CPUS = [0, 1, 2, 3, 4, 6]


@pytest.mark.parametrize(
    ("given", "names", "cpus"),
    [
        ({}, ["cpu0", "cpu1", "cpu2", "cpu3", "cpu4", "cpu6"], [[0], [1], [2], [3], [4], [6]]),
        ({"nodes": 2}, ["cpu0-2", "cpu3+4+6"], [[0, 1, 2], [3, 4, 6]]),
        ({"nodes": 4}, ["cpu0", "cpu1", "cpu2", "cpu3"], [[0], [1], [2], [3]]),
        ({"cpus_per_node": 4}, ["cpu0-3"], [[0, 1, 2, 3]]),
        ({"nodes": 2, "cpus_per_node": 2}, ["cpu0-1", "cpu2-3"], [[0, 1], [2, 3]]),
        ({"nodes": 7}, [f"slot{n}" for n in range(7)], [CPUS] * 7),
    ],
)
def test_nodes_are_equal_shares_of_the_cpus(given, names, cpus):
    nodes = local_nodes(Faults(), cpus=CPUS, **given)
    assert (list(nodes.names), [list(share) for share in nodes.cpus]) == (names, cpus)
    assert nodes.are_slots == (given.get("nodes") == 7)


def test_nodes_of_more_cpus_than_there_are_are_refused():
    faults = Faults()
    assert local_nodes(faults, cpus=CPUS, cpus_per_node=7) is None
    assert str(faults.found[0]) == "--cpus-per-node: found `7`, expected at most 6, the CPUs that this process may use"


def test_nodes_of_an_allocation():
    variables = {"SLURM_JOB_ID": "9", "SLURM_JOB_NODELIST": "n[1-2],m", "SLURM_JOB_CPUS_PER_NODE": "16(x2),8"}
    nodes = allocated_nodes(Faults(), variables)
    assert (nodes.names, [len(one) for one in nodes.cpus]) == (["n1", "n2", "m"], [16, 16, 8])
    faults = Faults()
    assert allocated_nodes(faults, {}) is None
    assert "a Slurm allocation around it" in str(faults.found[0])


def given(**more):
    """Arguments that a run of a job got."""
    plain = {
        "job": 7,
        "attempt": 2,
        "nodes": [0, 2],
        "names": ["a", "c"],
        "cpus": [0, 4],
        "cap_w": None,
        "threads": 2,
        "folder": "/r",
    }
    return Given(**plain | more)


def test_the_environment_of_a_command(monkeypatch):
    for name in list(os.environ):
        monkeypatch.delenv(name)
    monkeypatch.setenv("PATH", "/bin")
    monkeypatch.setenv("SECRET", "x")
    expected = {
        "PATH": "/bin",
        "MINE": "1",
        "OMP_NUM_THREADS": "2",
        "HETSCHED_JOB_ID": "7",
        "HETSCHED_ATTEMPT": "2",
        "HETSCHED_DIR": "/r",
        "HETSCHED_NODES": "0,2",
        "HETSCHED_NODE_NAMES": "a,c",
        "HETSCHED_CPUS": "0,4",
    }
    assert environment_of(given(), {"MINE": "1"}, exports=False) == expected
    assert environment_of(given(), {"MINE": "1"}, exports=True) == expected | {"SECRET": "x"}
    assert environment_of(given(cap_w=120.0), {"OMP_NUM_THREADS": "1"}, exports=False)["OMP_NUM_THREADS"] == "1"
    assert environment_of(given(cap_w=120.0), {}, exports=False)["HETSCHED_CAP_W"] == "120"
    assert environment_of(given(), {"HETSCHED_JOB_ID": "1"}, exports=False)["HETSCHED_JOB_ID"] == "7"


@pytest.mark.parametrize(
    ("nodes", "are_slots", "run_on", "threads"),
    [
        (2, False, (0, 1), "4"),
        (2, False, (1,), "2"),
        (8, True, (0,), "1"),
        (3, True, (0, 1), "2"),
        (1, True, (0,), "4"),
    ],
)
def test_a_slot_counts_for_its_part_of_the_cpus(tmp_path, nodes, are_slots, run_on, threads):
    shares = [[0, 1, 2, 3]] * nodes if are_slots else [[0, 1], [2, 3]]
    names = [f"n{node}" for node in range(nodes)]
    hands = Hands(str(tmp_path), {}, Local(Nodes(names, shares, are_slots=are_slots)), Clock.started())
    given = hands._given(Run(1, 1, run_on))
    assert environment_of(given, {}, exports=False)["OMP_NUM_THREADS"] == threads


def test_the_limit_of_an_orphan_does_not_count_its_standstill(monkeypatch):
    clock, sent = [0], []
    monkeypatch.setattr(orphans, "now_us", lambda: clock[0])
    monkeypatch.setattr(orphans, "signalled", lambda _, number: sent.append(number))
    monkeypatch.setattr(orphans.Orphan, "_processes", lambda _: [])
    command, stood = SimpleNamespace(is_alive=True, close=lambda: None), orphans.Standstill()
    orphan = orphans.Orphan(command, {}, limit_us=100, grace_us=10, stood=stood)
    stood.note(signal.SIGUSR1, 40)
    # What is said twice changes nothing.
    stood.note(signal.SIGUSR1, 60)
    orphan.signal(signal.SIGUSR1)
    clock[0] = 1_000
    assert not orphan.is_gone()
    assert not orphan.is_over_limit
    stood.note(signal.SIGUSR2, 1_000)
    orphan.signal(signal.SIGUSR2)
    assert sent == [signal.SIGSTOP, signal.SIGCONT]
    clock[0] = 1_059
    assert not orphan.is_gone()
    assert not orphan.is_over_limit
    clock[0] = 1_060
    orphan.is_gone()
    assert orphan.is_over_limit


def test_srun_starts_a_command_on_its_nodes():
    nodes = Nodes(["a", "b", "c"], [range(16)] * 3)
    command = Command(("echo", "x"), "/")
    spec = spec_of(command, given(), Srun(nodes), Terms())
    words = "srun --overlap --exact -w a,c -N 2 -n 2 --ntasks-per-node=1 --cpus-per-task=16 -J hs-7.2 echo x"
    assert spec["argv"] == words.split()
    assert spec["cpus"] is None
    assert [Srun(nodes).ending(code) for code in (3, 128, 137, 192, 255)] == [
        (3, None),
        (128, None),
        (None, 9),
        (None, 64),
        (255, None),
    ]
    assert Local(nodes).ending(137) == (137, None)


def test_names_of_files_have_places_for_job_and_attempt():
    command = Command(("true",), "/w", stdout="out-{job_id}.{attempt}")
    files = command.files(7, 2, "/r/jobs/7.2")
    assert files == {"stdin": "/dev/null", "stdout": "/w/out-7.2", "stderr": "/r/jobs/7.2/stderr"}


@pytest.mark.parametrize(
    ("record", "asked", "state", "reason"),
    [
        ({"code": 0}, None, "completed", ""),
        ({"code": 2}, None, "failed", "exit code 2"),
        ({"signal": 11}, None, "failed", "ended by SIGSEGV"),
        ({"signal": 15, "why": "timeout"}, None, "timeout", "its walltime was over"),
        ({"code": 0, "why": "timeout"}, None, "timeout", "its walltime was over"),
        ({"signal": 15, "why": "asked"}, None, "cancelled", ""),
        ({"signal": 15, "why": "asked"}, "requeued", "requeued", ""),
        ({"why": "command: x: No such file or directory"}, None, "failed", "command: x: No such file or directory"),
        ({}, None, "failed", "status lost"),
    ],
)
def test_states(record, asked, state, reason):
    numbers = {"begin_us": 1, "end_us": 2, "cpu_s": 0.5, "max_rss_kb": 9, "left": 0}
    whole = {"code": None, "signal": None, "why": "", **numbers} | record
    found = ending_of(whole, Local(Nodes([], [])), asked=asked)
    assert (found.state, found.reason) == (state, reason)
    assert (found.begin_us, found.end_us, found.cpu_s) == (1, 2, 0.5)


def test_a_clock_goes_on_within_a_boot_whatever_the_wall_clock_does():
    now = [5_000_000]
    clock = Clock.started(boot="a", now=lambda: now[0])
    now[0] += 7
    assert clock.t_us == 7
    clock.resumed(7, 1000.0, real=lambda: 0.0)
    clock.resumed(7, 1000.0, real=lambda: 1e9)
    assert clock.t_us == 7
    assert clock.instant("a", 5_000_003) == 3


@pytest.mark.parametrize(("real_s", "gone_us"), [(1003.5, 3_500_000), (900.0, 0)])
def test_after_another_boot_a_clock_goes_on_from_the_last_instant(tmp_path, real_s, gone_us):
    clock = Clock({"a": 100}, boot="b", now=lambda: 50)
    clock.resumed(2_000_000, 1000.0, real=lambda: real_s)
    assert clock.t_us == 2_000_000 + gone_us
    clock.write(str(tmp_path))
    again = Clock.read(str(tmp_path), boot="b", now=lambda: 60)
    again.resumed(9_999_999, 0.0)
    assert again.t_us == 2_000_010 + gone_us
    assert again.instant("a", 103) == 3
    assert again.instant("c", 103) is None


def test_a_damaged_clock_is_said(tmp_path):
    (tmp_path / "clock.json").write_text('{"origin_us"')
    with pytest.raises(LiveError, match=r"clock.json: found no clock of a run \(.*\), expected origin_us by boot"):
        Clock.read(str(tmp_path))


def test_a_full_disk_is_said_of_the_file_that_does_not_fit(small_disk):
    fill(small_disk / "filler")
    with pytest.raises(OutputError, match=f"^{small_disk}/clock.json: cannot be written: No space left on device$"):
        Clock.started().write(str(small_disk))
    (small_disk / "lock").touch()
    with pytest.raises(OutputError, match=f"^{small_disk}/lock: cannot be written: No space left on device$"):
        Held(str(small_disk))


def test_a_file_system_without_locks_is_said(tmp_path, monkeypatch):
    def refused(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(lock.fcntl, "flock", refused)
    with pytest.raises(OutputError, match="lock: cannot be written: no lock can be had there: No locks available"):
        Held(str(tmp_path))


def test_a_record_is_whole_or_not_there(tmp_path):
    line = sealed({"a": 1})
    assert unsealed(line) == {"a": 1}
    for place in range(len(line) - 1):
        assert unsealed(line[:place]) is None
        flipped = bytearray(line)
        flipped[place] ^= 1
        assert unsealed(bytes(flipped)) is None
    path = f"{tmp_path}/exit"
    reserve(path)
    assert read_sealed(path) is None
    write_into(path, {"a": 2})
    assert read_sealed(path) == {"a": 2}
    assert Path(path).stat().st_size == 4096
    assert write_new(f"{tmp_path}/claim", {"a": 3})
    assert not write_new(f"{tmp_path}/claim", {"a": 4})
    assert read_sealed(f"{tmp_path}/claim") == {"a": 3}


def test_a_process_is_known_by_its_ticks_and_never_signalled_by_its_number_alone():
    child = subprocess.Popen(["sleep", "60"])
    seen = look(child.pid)
    assert Process.held(child.pid, seen.ticks + 1) is None
    held = Process.held(child.pid, seen.ticks)
    assert held.is_alive
    assert [one.pid for one in below([os.getpid()])].count(child.pid) == 1
    assert signalled([seen], signal.SIGKILL) == 1
    child.wait()
    assert not held.is_alive
    assert not held.send(signal.SIGTERM)
    assert signalled([seen], signal.SIGKILL) == 0
    held.close()


_USED_AGAIN = """
import subprocess, sys
sys.path.append(sys.argv[1])
from hetsched.live.processes import Process, look, signalled

first = subprocess.Popen(["sleep", "60"])
seen = look(first.pid)
first.kill()
first.wait()
other = None
for _ in range(50):
    with open("/proc/sys/kernel/ns_last_pid", "w") as file:
        file.write(str(seen.pid - 1))
    other = subprocess.Popen(["sleep", "60"])
    if look(other.pid).ticks != seen.ticks:
        break
    other.kill()
    other.wait()
assert other.pid == seen.pid, "the number was not used again"
assert Process.held(seen.pid, seen.ticks) is None
assert signalled([seen], 9) == 0
assert other.poll() is None
other.kill()
other.wait()
print("not signalled")
"""


def test_a_process_that_has_the_number_of_another_one_by_now_is_not_signalled():
    inner = [sys.executable, "-c", _USED_AGAIN, str(Path(__file__).parents[2] / "python")]
    try:
        made = subprocess.run(
            ["unshare", "--pid", "--fork", "--mount-proc", *inner], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        pytest.skip("there is no unshare")
    if "unshare" in made.stderr and "failed" in made.stderr:
        pytest.skip(f"no name space of processes can be made here: {made.stderr.strip()}")
    assert made.stdout == "not signalled\n", made.stderr


def test_a_thread_with_the_number_of_a_process_is_not_that_process():
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    try:
        seen = look(thread.native_id)
        assert seen is not None
        assert Process.held(seen.pid, seen.ticks) is None
        assert signalled([seen], signal.SIGKILL) == 0
    finally:
        over.set()
        thread.join()


HIDDEN = """
import ctypes, os, sys
sys.path.insert(0, sys.argv[1])
from hetsched.live.processes import below, look
if ctypes.CDLL(None, use_errno=True).mount(b"proc", b"/proc", b"proc", 0, b"hidepid=1"):
    sys.exit("unshare failed: no /proc of our own")
other = os.fork()
if not other:
    os.execvp("sleep", ["sleep", "60"])
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
child = os.fork()
if not child:
    os.execvp("sleep", ["sleep", "60"])
try:
    open(f"/proc/{other}/stat")
except PermissionError:
    # Until it runs another program a child of ours is hidden, too.
    while not (found := below([os.getpid()])):
        pass
    print(look(other), [seen.pid == child for seen in found])
"""


def test_processes_of_others_may_be_hidden(tmp_path):
    words = ["unshare", "--mount", "--pid", "--fork", "--kill-child", sys.executable, "-c", HIDDEN]
    package = Path(processes.__file__).parents[2]
    try:
        made = subprocess.run([*words, str(package)], capture_output=True, text=True, check=False, timeout=60)
    except FileNotFoundError:
        pytest.skip("there is no unshare")
    if "unshare" in made.stderr and "failed" in made.stderr:
        pytest.skip(f"no name space of processes can be made here: {made.stderr.strip()}")
    assert made.stdout == "None [True]\n", made.stderr


def test_processes_are_found_by_their_mark():
    environment = {"HETSCHED_JOB_ID": "7", "HETSCHED_DIR": "/no/such/run"}
    child = subprocess.Popen(["sleep", "60"], env=environment)
    mark = [f"{name}={value}".encode() for name, value in environment.items()]
    try:
        assert [seen.pid for seen in marked(mark)] == [child.pid]
        assert marked([mark[0], b"HETSCHED_DIR=/no/such"]) == []
    finally:
        child.kill()
        child.wait()


def test_the_memory_of_a_group_is_limited_and_asked(tmp_path):
    group = tmp_path / "7.1"
    cgroups.make(str(group), 0.5, [0, 3])
    assert (group / "cpuset.cpus").read_text() == "0,3"
    assert (group / "memory.max").read_text() == "500000000"
    assert not cgroups.ran_out_of_memory(str(group))
    (group / "memory.events").write_text("low 0\noom 1\noom_kill 1\n")
    assert cgroups.ran_out_of_memory(str(group))
    cgroups.kill(None)
    cgroups.make(None)
    cgroups.remove(None)
    assert not cgroups.ran_out_of_memory(None)


def test_memory_of_groups_is_limited_where_it_is_handed_down(tmp_path):
    own, folder = tmp_path, tmp_path / "hetsched-0-1"
    folder.mkdir()
    assert not cgroups.can_limit_memory(None)
    for group in (folder, own):
        assert not cgroups.can_limit_memory(str(folder))
        (group / "cgroup.subtree_control").touch()
    assert cgroups.can_limit_memory(str(folder))
    assert [(group / "cgroup.subtree_control").read_text() for group in (own, folder)] == ["+memory"] * 2


def test_a_group_is_killed_as_a_whole(tmp_path):
    folder = cgroups.usable_folder(f"hetsched-test-{os.getpid()}")
    if folder is None:
        pytest.skip("no control group of version 2 can be made here")
    group = f"{folder}/1.1"
    cgroups.make(group)
    child = subprocess.Popen([sys.executable, "-c", f"open('{group}/cgroup.procs', 'w').write('0'); input()"], stdin=-1)
    until(lambda: Path(group, "cgroup.procs").read_text().split() == [str(child.pid)])
    cgroups.kill(group)
    assert child.wait(30) == -signal.SIGKILL
    child.stdin.close()
    until(lambda: (cgroups.remove(group), not Path(group).exists())[1])
    cgroups.remove(folder)
    assert not Path(folder).exists()
