"""Gate, orders and hands: without a Slurm, the commands being stand-ins."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import hetsched as hs
from hetsched.errors import ConfigError, OutputError
from hetsched.slurm_bridge.bridge import OVERDUE_S, Bridge
from hetsched.slurm_bridge.calls import CallError, Slurm
from hetsched.slurm_bridge.gate import Gate, remove_gate
from hetsched.slurm_bridge.hands import MOST_ORDERS, Hands
from hetsched.slurm_bridge.log import Log, read_log
from hetsched.slurm_bridge.machine import BridgeMachine
from hetsched.slurm_bridge.orders import TOP, Priorities, hold_of, open_words, release_of
from hetsched.slurm_bridge.power_cap import PowerCap
from hetsched.slurm_bridge.standing import BAND, Site, Standing, standing_of

SITE = Site("batch", needs_gate=True)
MACHINE = BridgeMachine(hs.Platform.homogeneous(4, idle_w=100, tdp_w=300, node_names="n[1-4]"))
EASY = hs.policy.parse_policy("easy")
HELD = ("hetsched:1",)

SCONTROL = """
import json
path = {path!r}
state = json.load(open(path)) if os.path.exists(path) else {{"end": None, "calls": []}}
words = sys.argv[1:]
now, code = {now}, 0
if not words:
    lines = sys.stdin.read().splitlines()
    assert lines.pop() == "quit"
    state["calls"] += [line.split() for line in lines]
    state["processes"] = state.get("processes", 0) + 1
    json.dump(state, open(path, "w"))
    for line in lines:
        job = line.split()[1].partition("=")[2]
        if job in {refused!r}:
            print("Job is no longer pending execution for job", job, file=sys.stderr); code = 1
    sys.exit(code)
state["calls"].append(words)
pairs = dict(word.partition("=")[::2] for word in words)
until = pairs.get("EndTime", "").removeprefix("now+")
if words[:2] == ["create", "reservation"]:
    if {races}:
        state["end"] = now + 77
    if state["end"] is None and not {refuses}:
        state["end"] = now + int(until)
    else:
        print("Error creating the reservation: Duplicate reservation name", file=sys.stderr); code = 1
elif words[0] == "delete":
    state["end"] = None
elif words[0] == "update" and "ReservationName" in pairs:
    state["end"] = now + int(until)
    code = {update_code}
elif words[:3] == ["-o", "show", "reservation"]:
    if state["end"] is None:
        print("Reservation hetsched not found"); code = 1
    else:
        print(f"ReservationName=hetsched StartTime=1 EndTime={{state['end']}} Duration=1")
json.dump(state, open(path, "w"))
sys.exit(code)
"""


class Scontrol:
    """A stand-in of scontrol that has a reservation, and keeps its calls."""

    def __init__(self, write, path):
        self._write, self._path = write, path
        self.now = 1000
        self.set()

    def set(self, *, refuses=False, races=False, update_code=0, refused=()):
        text = SCONTROL.format(
            path=str(self._path),
            now=self.now,
            refuses=refuses,
            races=races,
            update_code=update_code,
            refused=refused,
        )
        self._write("scontrol", text)

    @property
    def state(self):
        return json.loads(Path(self._path).read_text())

    def updates(self):
        return [words[1:] for words in self.state["calls"] if words[0] == "update"]

    def real(self):
        return float(self.now)


@pytest.fixture
def scontrol(commands, tmp_path):
    return Scontrol(commands, tmp_path / "scontrol.json")


@pytest.fixture
def gate(scontrol, tmp_path):
    return gate_of(scontrol, tmp_path / "own")


def gate_of(scontrol, folder):
    return Gate(Slurm(), total=1000, lease_s=120.0, user="me", real=scontrol.real, folder=str(folder))


def test_the_gate_is_made_renewed_and_made_again(scontrol, gate):
    gate.keep()
    assert scontrol.state["end"] == 1120
    assert scontrol.state["calls"][1][2:] == [
        "ReservationName=hetsched",
        "StartTime=now",
        "EndTime=now+120",
        "Licenses=hetsched:1000",
        "Flags=LICENSE_ONLY,IGNORE_JOBS",
        "Users=me",
    ]
    scontrol.now += 39
    scontrol.set()
    gate.keep()
    assert scontrol.updates() == []
    scontrol.now += 2
    scontrol.set()
    gate.keep()
    assert scontrol.state["end"] == 1161
    assert remove_gate(Slurm())
    assert not remove_gate(Slurm())
    gate.keep()
    assert scontrol.state["end"] == 1161


def test_an_exit_code_says_nothing_about_what_happened(scontrol, gate):
    gate.keep()
    scontrol.now += 100
    scontrol.set(update_code=1)
    gate.keep()
    assert scontrol.state["end"] == 1220


def test_a_gate_that_cannot_be_made(scontrol, gate):
    scontrol.set(refuses=True)
    with pytest.raises(CallError, match="the gate could not be made: exit code 1: Error creating the reservation"):
        gate.keep()


def test_another_bridge_lives_or_is_gone(scontrol, gate, tmp_path):
    slept = []
    gate.keep()
    other = gate_of(scontrol, tmp_path / "other")
    other.take(slept.append)
    assert slept == [42.0]
    # A bridge that starts again knows its own gate, unless somebody has moved its end.
    other.take(slept.append)
    gate.take(slept.append)
    assert slept == [42.0]
    scontrol.now += 60
    scontrol.set()
    other.keep()

    def renewed(_):
        scontrol.now += 60
        scontrol.set()
        other.keep()

    with pytest.raises(ConfigError, match="a gate that another bridge renews"):
        gate.take(renewed)


def test_of_two_bridges_that_make_the_gate_at_once_one_goes_away(scontrol, gate):
    scontrol.set(races=True)
    with pytest.raises(ConfigError, match="another bridge has made at this moment"):
        gate.take(pytest.fail)


WATTS = """
import json
path = {path!r}
state = json.load(open(path)) if os.path.exists(path) else {{"held": None, "calls": []}}
words = sys.argv[1:]
state["calls"].append(words)
pairs = dict(word.partition("=")[::2] for word in words)
code = 0
if words[0] == "delete":
    state["held"] = None
elif "Licenses" in pairs:
    if not {refuses}:
        state["held"], state["end"] = pairs["Licenses"], {now} + int(pairs["EndTime"].removeprefix("now+"))
elif state["held"] is not None:
    print(f"ReservationName=hetsched_watts EndTime={{state['end']}} Licenses={{state['held']}} State=ACTIVE")
else:
    print("Reservation hetsched_watts not found"); code = 1
json.dump(state, open(path, "w"))
sys.exit(code)
"""


def test_a_cap_holds_the_watts_that_are_not_to_be_used(commands, tmp_path):
    def state():
        return json.loads((tmp_path / "watts").read_text())

    def kept(cap_w, now=1000, total=900, refuses=False):
        commands("scontrol", WATTS.format(path=str(tmp_path / "watts"), now=now, refuses=refuses))
        PowerCap(Slurm(), total=total, cap_w=cap_w, lease_s=120.0, user="me", real=lambda: float(now)).keep()
        return state()["held"], state().get("end")

    assert kept(600) == ("watts:300", 1120)
    assert kept(600, now=1039) == ("watts:300", 1120)
    assert kept(600, now=1041) == ("watts:300", 1161)
    # Another cap counts at once, and one of everything holds nothing.
    assert kept(200, now=1042) == ("watts:700", 1162)
    assert kept(900)[0] is None
    created = [call for call in state()["calls"] if call[0] == "create"]
    assert "Flags=LICENSE_ONLY,IGNORE_JOBS" in created[0]
    with pytest.raises(CallError, match="the cap could not be set"):
        kept(600, refuses=True)
    with pytest.raises(ConfigError, match="901 with 900 licences `watts`"):
        kept(901)
    with pytest.raises(ConfigError, match="no licence `watts`"):
        kept(1, total=None)


def test_a_note_that_cannot_be_written_is_an_error_of_output(scontrol, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="file"):
        gate_of(scontrol, tmp_path / "file").keep()


@pytest.fixture
def acting(slurm, scontrol, gate, tmp_path):
    """A bridge that acts, on jobs of the stand-in; `orders` gives the new updates and carries them out there."""
    folder, said = str(tmp_path / "j"), []
    hands = Hands(Slurm(), gate, SITE, MACHINE.names, log=Log(folder, real=slurm.real), say=said.append)
    bridge = Bridge(
        SITE,
        MACHINE,
        EASY,
        source=slurm,
        folder=folder,
        clock=slurm.clock,
        real=slurm.real,
        say=said.append,
        fallback=EASY,
        hands=hands,
    )
    done = []

    def orders(*, lost=False):
        assert bridge.beat()
        new = scontrol.updates()[len(done) :]
        done.extend(new)
        for words in [] if lost else new:
            pairs = dict(word.split("=", 1) for word in words)
            licences = tuple(one for one in pairs["Licenses"].split(",") if one)
            changes = {"priority": int(pairs["Priority"])} if "Priority" in pairs else {}
            slurm.change(pairs["JobId"], licences=licences, **changes)
        return [" ".join(words) for words in new]

    orders.said = said
    yield orders
    bridge.close()


def test_jobs_are_let_go_as_decided(slurm, acting, tmp_path):
    slurm.submit(1, 2, licences=("matlab:2", *HELD), reason="Licenses")
    slurm.submit(2, 3, licences=HELD, reason="Licenses")
    slurm.submit(3, 1)
    assert acting() == [f"JobId=1 Licenses=matlab:2 Prefer=n1|n2 Priority={TOP}"]
    assert acting() == []
    slurm.start(1, "n1", "n2")
    # A job without the gate is Slurm's own business.
    slurm.start(3, "n3")
    assert acting() == []
    slurm.end(1)
    assert acting() == [f"JobId=2 Licenses= Prefer=n1|n2|n4 Priority={TOP}"]
    calls = [line for line in read_log(str(tmp_path / "j")) if line["event"] == "call"]
    assert [(one["job"], one["decision"], line["rc"]) for line in calls for one in line["orders"]] == [
        ("1", 1, 0),
        ("2", 2, 0),
    ]


def test_an_order_that_got_lost_is_given_again(slurm, acting):
    slurm.submit(1, licences=HELD)
    first = acting(lost=True)
    assert len(first) == 1
    assert acting() == first
    assert acting() == []


def test_a_job_that_does_not_start_is_decided_again(slurm, acting):
    slurm.submit(1, licences=HELD)
    assert len(acting()) == 1
    slurm.change(1, reason="Resources")
    slurm.t_us += int(1e6 * OVERDUE_S)
    # It is let go a second time, with a new wish, as its place is the policy's business.
    assert acting() == [f"JobId=1 Licenses= Prefer=n1 Priority={TOP}"]
    assert acting() == []


def test_a_job_that_was_let_go_and_is_not_decided_is_held_again(slurm, acting):
    slurm.submit(1, 4, licences=HELD)
    slurm.start(1, "n1", "n2", "n3", "n4")
    slurm.submit("2_7", priority=BAND + 5, licences=("matlab:1",))
    assert acting() == ["JobId=2_7 Licenses=matlab:1,hetsched:1 Prefer="]
    assert "2_7 has its gate again" in acting.said
    assert acting() == []


def test_a_requeued_job_gets_its_gate_back(slurm, acting):
    slurm.submit(1, licences=HELD)
    acting()
    slurm.start(1, "n1")
    acting()
    slurm.change(1, state="PENDING", nodes=(), reason="BeginTime", restarts=1, eligible_s=slurm.t_us // 10**6 + 121)
    assert acting() == ["JobId=1 Licenses=hetsched:1 Prefer="]
    assert acting() == []
    slurm.change(1, reason="Licenses")
    assert len(acting()) == 1


def test_at_most_so_many_orders_a_beat_in_one_process(slurm, scontrol, acting):
    for job in range(1, 40):
        slurm.submit(job, priority=BAND + job, partitions=("batch",), node_count=4)
    assert [len(acting()), len(acting())] == [MOST_ORDERS, 39 - MOST_ORDERS]
    assert scontrol.state["processes"] == 2


def test_a_refused_order_is_said_with_its_job_and_read_again(slurm, scontrol, acting, tmp_path):
    slurm.submit(1, licences=HELD)
    slurm.submit(2, licences=HELD)
    scontrol.set(refused=("2",))
    first = acting(lost=True)
    assert len(first) == 2
    assert "release of 2: Job is no longer pending execution; read again" in acting.said
    assert not any("release of 1:" in line for line in acting.said)
    slurm.end(2, "CANCELLED")
    assert acting() == first[:1]
    (call, _) = [line for line in read_log(str(tmp_path / "j")) if line["event"] == "call"]
    assert [(one["job"], one["refused"]) for one in call["orders"]] == [
        ("1", None),
        ("2", "Job is no longer pending execution"),
    ]
    assert call["rc"] == 1


def test_a_name_that_is_no_word_reaches_no_scontrol():
    with pytest.raises(ConfigError, match="node_names"):
        BridgeMachine(hs.Platform.homogeneous(2, idle_w=1, tdp_w=2, node_names=["a", "b\nquit"]))
    for word in ("a b", "a\nb", "a\u2028b", "\x1f"):
        with pytest.raises(ValueError, match="no word of a command"):
            Slurm().commands([("update", word)])


def test_wishes_and_licences(slurm):
    slurm.submit(1, 2, licences=("hetsched:1", "a@srv:2"))
    job = slurm.jobs["1"]
    assert release_of(job, ["n1", "n2"], 1, 7).words == (
        "JobId=1",
        "Licenses=a@srv:2",
        "Prefer=n1|n2",
        f"Priority={TOP}",
    )
    # A wish would stand in place of the job's own constraint.
    assert "Prefer=" in release_of(replace(job, constraint="gpu"), ["n1"], 1, 7).words
    assert "Prefer=" in release_of(job, [f"node{number:04d}" for number in range(200)], 1, 7).words
    assert release_of(replace(job, licences=("x y=1",)), ["n1"], 1, 7) is None


def test_a_job_is_let_go_behind_those_that_have_not_started():
    left = Priorities([TOP - 4, TOP - 900, BAND + 7])
    assert [left.take(named=False) for _ in range(3)] == [TOP - 901, TOP - 902, TOP - 903]
    # Names stand below wishes, and there is an end to both.
    assert [left.take(named=True) for _ in range(9)] == [*range(BAND + 6, BAND - 1, -1), None, None]
    few = Priorities([])
    wished = [few.take(named=False) for _ in range(TOP - BAND)]
    assert wished[0] == TOP
    assert None in wished
    assert min(one for one in wished if one is not None) > few.take(named=True) >= BAND


def test_the_next_job_is_let_go_behind_those_that_have_not_started(slurm, acting):
    slurm.submit(1, 2, licences=HELD)
    slurm.submit(2, 1, licences=HELD)
    assert [words.split()[-1] for words in acting()] == [f"Priority={TOP}", f"Priority={TOP - 1}"]
    slurm.submit(3, 1, licences=HELD)
    assert [words.split()[-1] for words in acting()] == [f"Priority={TOP - 2}"]


def test_nodes_by_name_are_taken_back_and_those_of_a_user_are_not(slurm):
    slurm.submit(1, 2, licences=("a:1", *HELD))
    job = slurm.jobs["1"]
    words = release_of(job, ["n1", "n2"], 1, 7, named=True).words
    assert words[1:4] == ("Licenses=a:1", "ReqNodeList=n1,n2", "Prefer=")
    let_go = replace(job, licences=("a:1",), priority=int(words[4].split("=")[1]), names_nodes=True)
    assert standing_of(let_go, SITE) is Standing.RELEASED
    assert hold_of(let_go).words == ("JobId=1", "Licenses=a:1,hetsched:1", "Prefer=", "ReqNodeList=")
    assert open_words(let_go)[0] == ("update", "JobId=1", "Prefer=", "ReqNodeList=")
    # It may be decided again, for others.
    assert "ReqNodeList=n3,n4" in release_of(let_go, ["n3", "n4"], 2, 8, named=True).words
    # A user's own are his.
    own = replace(job, names_nodes=True)
    wished = release_of(own, ["n1", "n2"], 1, 7, named=True).words
    assert not any("ReqNodeList" in word for word in wished)
    for changed in (own, replace(own, licences=("a:1",), priority=int(wished[3].split("=")[1]))):
        assert "ReqNodeList=" not in hold_of(changed).words
        assert not any("ReqNodeList=" in line for line in open_words(changed))
    assert "Prefer=" in release_of(replace(job, constraint="gpu"), ["n1"], 1, 7, named=True).words
    named = [int(release_of(job, ["n1"], 1, 7, named=one).words[-1].split("=")[1]) for one in (True, False)]
    assert BAND <= named[0] < named[1] <= TOP


def test_the_way_out_in_words(slurm):
    slurm.submit(1, licences=("matlab:1", *HELD), priority=5)
    slurm.submit(2, priority=BAND)
    slurm.submit(3, priority=0)
    assert open_words(slurm.jobs["1"]) == [("update", "JobId=1", "Licenses=matlab:1", "Prefer=")]
    assert open_words(slurm.jobs["2"]) == [("update", "JobId=2", "Prefer="), ("hold", "2"), ("release", "2")]
    assert open_words(slurm.jobs["3"]) == []
