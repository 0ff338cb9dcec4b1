"""Beats of a bridge that watches, against a Slurm that the test moves: no Slurm and no clock is needed."""

import json

import pytest
from slurm_stand_in import START_S

import hetsched as hs
from hetsched.errors import ConfigError, OutputError
from hetsched.live.lock import Held
from hetsched.slurm_bridge.applications import Applications
from hetsched.slurm_bridge.bridge import MOST_ERRORS, Bridge
from hetsched.slurm_bridge.calls import CallError, Slurm
from hetsched.slurm_bridge.log import Log, read_log
from hetsched.slurm_bridge.machine import BridgeMachine
from hetsched.slurm_bridge.mind import Mind
from hetsched.slurm_bridge.pace import Pace
from hetsched.slurm_bridge.readings import Reader
from hetsched.slurm_bridge.run import run_beats
from hetsched.slurm_bridge.standing import JobKey, Site
from hetsched.slurm_bridge.status import status_of

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

MACHINE = BridgeMachine(hs.Platform.homogeneous(4, idle_w=100, tdp_w=300, node_names="n[1-4]"))
EASY = hs.policy.parse_policy("easy")


@pytest.fixture
def bridges(slurm, tmp_path):
    """Makes bridges on the stand-in; `said` of each is what it said."""

    def make(policy=EASY, machine=MACHINE, **changes):
        said = []
        given = {
            "source": slurm,
            "folder": str(tmp_path / "j"),
            "clock": slurm.clock,
            "real": slurm.real,
            "say": said.append,
            "fallback": EASY,
        }
        made.append(Bridge(Site("batch", needs_gate=False), machine, policy, **given | changes))
        made[-1].said = said
        return made[-1]

    made = []
    yield make
    for bridge in made:
        bridge.close()


def events(tmp_path, kind):
    return [line for line in read_log(str(tmp_path / "j")) if line["event"] == kind]


def test_a_dry_run_says_what_it_would_release_and_what_slurm_did(slurm, bridges, tmp_path):
    slurm.submit(7, 2)
    slurm.start(7, "n1", "n2")
    slurm.submit(8, 3)
    slurm.submit(9)
    bridge = bridges()
    assert bridge.beat()
    assert bridge.said == [
        "found 1 job running and 2 waiting; 0 nodes out of service",
        "would release 9 on n3: easy takes 1 of 2 free nodes, after 1 s in the queue",
    ]
    bridge.said.clear()
    assert bridge.beat()
    assert bridge.said == []
    slurm.start(9, "n4")
    bridge.beat()
    assert bridge.said == ["Slurm started 9 on n4; decided 2.0 s before was n3"]
    bridge.said.clear()
    slurm.end(7)
    bridge.beat()
    slurm.start(8, "n1", "n2", "n3")
    bridge.beat()
    assert bridge.said == [
        "would release 8 on n[1-3]: easy takes 3 of 3 free nodes, after 4 s in the queue",
        "Slurm started 8 on n[1-3], as decided 1.0 s before",
    ]
    slurm.submit(10)
    slurm.start(10, "n4")
    slurm.end(9)
    bridge.said.clear()
    bridge.beat()
    assert bridge.said == ["Slurm started 10 on n4, not decided yet"]
    status = status_of(read_log(str(tmp_path / "j")))
    assert (status.starts, status.decided, status.as_wished, status.would) == (3, 2, 1, 2)
    assert status.median_lag_s == 1.5


def test_the_journal_replays_to_the_byte(slurm, bridges, tmp_path):
    bridge = bridges()
    for job in range(1, 9):
        slurm.submit(job, 1 + job % 3, limit_s=60.0 * job)
        bridge.beat()
        if job % 2 == 0:
            slurm.start(job, *(f"n{1 + node}" for node in range(1 + job % 3)))
            bridge.beat()
            slurm.end(job, "FAILED")
    bridge.close()
    journal = hs.read_journal(tmp_path / "j" / "run-0001")
    assert journal.head["nodes_by_name"] == ["n1", "n2", "n3", "n4"]
    assert len(journal.decisions) > 4
    assert journal.replay().reached_us == journal.instants[-1].t_us


def test_each_start_makes_a_journal_of_its_own_and_needs_none_of_before(slurm, bridges, tmp_path):
    slurm.submit(1, 4)
    bridges().beat()
    slurm.start(1, "n1", "n2", "n3", "n4")
    again = bridges()
    again.beat()
    assert again.said == ["found 1 job running and 0 waiting; 0 nodes out of service"]
    assert sorted(path.name for path in (tmp_path / "j").glob("run-*")) == ["run-0001", "run-0002"]


def test_no_reading_is_no_decision(slurm, bridges, tmp_path):
    slurm.submit(1)
    slurm.error = CallError("squeue did not answer within 20 s")
    bridge = bridges()
    assert not bridge.beat()
    assert bridge.said == ["reading: squeue did not answer within 20 s; nothing was decided"]
    assert bridge.picture.entries == {}
    slurm.error = None
    assert bridge.beat()
    assert bridge.said[-1].startswith("would release 1 on n1")
    assert status_of(read_log(str(tmp_path / "j"))).last_error == "squeue did not answer within 20 s"


class Broken:
    """An order that raises."""

    def rank(self, jobs, view):
        raise ValueError("no order today\x1b[2J")


def test_a_policy_that_raises_gives_way_after_ten_errors(slurm, bridges):
    slurm.submit(1)
    slurm.submit(2)
    bridge = bridges(hs.Policy(order=Broken))
    results = [bridge.beat() for _ in range(MOST_ERRORS)]
    assert results == [False] * MOST_ERRORS
    assert "no order today\\x1b[2J; nothing was decided" in bridge.said[0]
    assert bridge.said[-1].endswith("has failed 10 times in a row: easy takes over")
    assert bridge.beat()
    assert any(line.startswith("would release 1 on n1: easy") for line in bridge.said)


class Once(Broken):
    """An order that raises the first time it is asked."""

    failed = False

    def rank(self, jobs, view):
        if not Once.failed:
            Once.failed = True
            return super().rank(jobs, view)
        return jobs.node_count


def test_a_policy_recovers_in_the_same_journal(slurm, bridges):
    slurm.submit(1)
    slurm.submit(2)
    bridge = bridges(hs.Policy(order=Once))
    assert [bridge.beat(), bridge.beat()] == [False, True]
    assert sum(line.startswith("would release") for line in bridge.said) == 2


def test_a_full_disk_decides_nothing_and_begins_again(slurm, bridges, monkeypatch):
    slurm.submit(1)
    bridge = bridges()
    step = Mind.step

    def full(*_):
        raise OutputError("journal.jsonl", "No space left on device")

    monkeypatch.setattr(Mind, "step", full)
    assert not bridge.beat()
    assert "No space left on device" in bridge.said[0]
    monkeypatch.setattr(Mind, "step", step)
    assert bridge.beat()
    assert bridge.said[-1].startswith("would release 1")


def test_a_job_that_asks_for_too_much_is_named(slurm, bridges):
    slurm.submit(1, 5)
    bridge = bridges()
    bridge.beat()
    assert bridge.said[-1] == "1 would never start: it asks for what the machine does not have (nodes)"
    slurm.start(1, "n1")
    assert bridge.beat()


def test_a_controller_with_many_rows_is_replaced(slurm, bridges, monkeypatch, tmp_path):
    monkeypatch.setattr("hetsched.slurm_bridge.mind.MOST_ROWS", 3)
    bridge = bridges()
    for job in range(9):
        slurm.submit(job)
        slurm.start(job, "n1")
        assert bridge.beat()
        slurm.end(job)
    assert len(list((tmp_path / "j").glob("run-*"))) == 3


def test_machines_that_a_bridge_cannot_steer():
    for platform, found in [
        (hs.Platform.homogeneous(2, idle_w=1, tdp_w=2), "node_names"),
        (hs.Platform.homogeneous(2, idle_w=1, tdp_w=2, node_names="n[1-2]", slots=4, exclusive=False), "exclusive"),
    ]:
        with pytest.raises(ConfigError, match=found):
            BridgeMachine(platform)


def test_beats_keep_their_pace(slurm, bridges):
    slept, times = [], iter([0.0, 0.25, 1.0, 4.0, 4.0, 7.0, 7.0, 10.0, 12.0, 12.5])
    good = run_beats(bridges(), Pace(1.0), beats=5, sleep=slept.append, now=lambda: next(times))
    # Three answers that took 3 s double the beat of 1 s.
    assert (good, slept) == (5, [0.75])


def test_one_bridge_a_folder(tmp_path):
    one = Held(str(tmp_path), "--journal", "bridge")
    with pytest.raises(ConfigError, match="in use"):
        Held(str(tmp_path), "--journal", "bridge")
    one.close()
    Held(str(tmp_path), "--journal", "bridge").close()


def test_a_log_that_has_grown_is_kept(tmp_path):
    log = Log(str(tmp_path), real=lambda: 5.0, most_bytes=100)
    for number in range(20):
        log.write("x", number=number)
    assert len(list(tmp_path.glob("log-*.jsonl"))) > 3
    assert [line["number"] for line in read_log(str(tmp_path))] == list(range(20))
    (tmp_path / "log.jsonl").write_text(json.dumps({"event": "x"}) + "\nrubbish\n")
    with pytest.raises(ConfigError, match=r"log.jsonl, line 2"):
        list(read_log(str(tmp_path)))


DRAWS = hs.VariationTable(
    ["hot", "cold", "*"], power_w=[[300, 200, 300, 300], [300, 300, 300, 200], [300, 300, 200, 300]]
)


@pytest.mark.parametrize(("app", "node"), [("hot", "n2"), ("cold", "n4"), (None, "n3"), ("$(rm)\n", "n3")])
def test_a_policy_knows_the_applications_of_the_table(slurm, bridges, tmp_path, app, node):
    platform = MACHINE.platform.with_tables(actual=DRAWS)
    machine = BridgeMachine(platform, applications=Applications.of(platform, "name"))
    slurm.submit(1)
    if app is not None:
        slurm.apps["1"] = app
    bridge = bridges(hs.policy.parse_policy("easy:placement=lowest-power"), machine)
    assert bridge.beat()
    assert bridge.said[-1].startswith(f"would release 1 on {node}: ")
    assert hs.read_journal(tmp_path / "j" / "run-0001").replay() is not None


def test_slurm_compares_names_and_shows_ids_only(commands):
    row = "".join(f"{value:>{width}}\x1f" for value, width in (("9", 12), ("5", 12), ("2", 12), ("PENDING", 20)))
    commands(
        "squeue",
        f"words = sys.argv[1:]\nassert 'Name' not in str(words[4:6])\nif words[-2:] == ['-A', 'hot']: print({row!r})",
    )
    platform = MACHINE.platform.with_tables(actual=DRAWS)
    reader = Reader(Slurm(), "batch", Applications.of(platform, "account"))
    assert reader.applications([JobKey(1, "5_2", 0), JobKey(1, "6", 0)]) == {"5_2": "hot"}
    assert reader.applications([JobKey(1, "6", 0)]) == {}


def test_tables_that_no_job_can_be_looked_up_in_are_refused():
    plain, starless = MACHINE.platform, hs.VariationTable(["a b"], power_w=[[1, 1, 1, 1]])
    with pytest.raises(ConfigError, match="--app-by: found missing, expected name or account"):
        Applications.of(plain.with_tables(actual=starless), None)
    with pytest.raises(ConfigError, match="the application `a b` in the table"):
        Applications.of(plain.with_tables(actual=starless), "name")
    with pytest.raises(ConfigError, match="no table of draws"):
        Applications.of(plain, "name")
    assert Applications.of(plain, None).default() is None


def test_nodes_that_a_policy_puts_to_sleep_serve_again_when_it_wakes_them(slurm, bridges, tmp_path):
    """Slurm has them awake all the time: no job waits for ever for a node that nobody switches on."""
    watts = {"off_w": 5, "boot_s": 5, "shutdown_s": 3, "boot_w": 100, "shutdown_w": 100}
    machine = BridgeMachine(hs.Platform.homogeneous(4, idle_w=100, tdp_w=300, node_names="n[1-4]", **watts))
    bridge = bridges(hs.policy.parse_policy("easy:sleep=timeout:sleep.min_idle_s=2"), machine)
    slurm.submit(1)
    assert bridge.beat()
    slurm.start(1, "n1")
    assert bridge.beat()
    slurm.end(1)
    for _ in range(8):
        assert bridge.beat()
    assert sum("left to Slurm's own power saving" in line for line in bridge.said) >= 1
    slurm.submit(2, 4)
    for _ in range(8):
        assert bridge.beat()
    assert "would release 2 on n[1-4]" in bridge.said[-1] or any("would release 2 on" in one for one in bridge.said)
    slurm.start(2, "n1", "n2", "n3", "n4")
    assert bridge.beat()
    slurm.end(2)
    for _ in range(8):
        assert bridge.beat()
    # A job that Slurm gives to nodes which the controller has off.
    slurm.submit(3, 2)
    slurm.start(3, "n2", "n3")
    assert [bridge.beat(), bridge.beat()] == [True, True]
    assert "Slurm started 3 on n2,n3, not decided yet" in bridge.said[-1]
    assert events(tmp_path, "job")[-1]["job"] == "3"
    assert not (tmp_path / "j" / "run-0002").exists(), "no picture was dropped"
    hs.read_journal(tmp_path / "j" / "run-0001").replay()


@pytest.mark.parametrize(("kept", "first"), [("own", "3"), ("none", "2"), ("other version", "2")])
def test_a_policy_goes_on_with_what_the_last_bridge_knew(slurm, bridges, tmp_path, kept, first):
    shares, path = hs.policy.parse_policy("fair-share"), tmp_path / "j" / "policy-state"

    def submitted(number, user):
        slurm.submit(number, 4, key=JobKey(START_S, str(number), user))

    before = bridges(shares)
    submitted(1, 1000)
    assert before.beat()
    slurm.start(1, "n1", "n2", "n3", "n4")
    assert before.beat()
    slurm.t_us += 3_600_000_000
    slurm.end(1)
    assert before.beat()
    before.close()
    if kept == "none":
        path.unlink()
    elif kept == "other version":
        path.write_text(path.read_text().replace(hs.__version__, "0.0.1"))
    submitted(2, 1000)
    submitted(3, 2000)
    after = bridges(shares)
    assert after.beat()
    (line,) = [text for text in after.said if "would release" in text]
    assert line.startswith(f"would release {first} on")
    assert any("begins without it" in text for text in after.said) == (kept == "other version")
    journals = sorted((tmp_path / "j").glob("run-*"))
    assert hs.read_journal(journals[-1]).replay().snapshot().running[0].job == int(first) - 1
    assert (hs.read_journal(journals[-1]).instants[0].state is not None) == (kept == "own")


def test_a_picture_that_differs_begins_again_with_what_the_policy_knows(slurm, bridges, tmp_path, monkeypatch):
    bridge = bridges(hs.policy.parse_policy("fair-share"))
    slurm.submit(1, 4)
    assert bridge.beat()
    slurm.start(1, "n1", "n2", "n3", "n4")
    assert bridge.beat()
    step = Mind.step
    monkeypatch.setattr(Mind, "step", lambda *_: (_ for _ in ()).throw(CallError("pictures differ")))
    slurm.end(1)
    slurm.submit(2, 4)
    assert not bridge.beat()
    monkeypatch.setattr(Mind, "step", step)
    slurm.submit(3, 4, key=JobKey(START_S, "3", 2000))
    assert bridge.beat()
    assert any(text.startswith("would release 3 on") for text in bridge.said), bridge.said
