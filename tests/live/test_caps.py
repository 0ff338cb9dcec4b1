"""Caps of a policy as limits of the machine's processors, and the limits that were there before."""

import json
from types import SimpleNamespace

import pytest

import hetsched as hs
from hetsched.checks import Faults
from hetsched.cli import main
from hetsched.live import caps, running
from hetsched.live.caps import LIMIT, NAME, ProcessorCaps, capped_zones, restored
from hetsched.live.decisions import Cap, Start
from hetsched.live.machine import Nodes
from hetsched.live.plan import Plan
from hetsched.live.reading import read_commands


@pytest.fixture
def zones(tmp_path):
    """Two packages, each limited to 150 W, and a memory that counts in the first."""
    for name in ("intel-rapl:0", "intel-rapl:1", "intel-rapl:0:0"):
        (tmp_path / "zones" / name).mkdir(parents=True)
        (tmp_path / "zones" / name / LIMIT).write_text("150000000\n")
    return tmp_path / "zones"


def limits(zones):
    """Limits of all zones."""
    return [int((zone / LIMIT).read_text()) for zone in sorted(zones.iterdir())]


def run_on(*nodes, cap_w=None):
    return SimpleNamespace(nodes=nodes, capped_w=cap_w)


def made(zones, folder, said=None):
    return ProcessorCaps(
        str(folder), [100.0] * 4, capped_zones(Faults(), str(zones)), (said if said is not None else []).append
    )


def test_limits_follow_the_caps_and_are_as_before_without_any(zones, tmp_path):
    own = made(zones, tmp_path)
    own.follow([run_on(0), run_on(2)])
    assert limits(zones) == [150_000_000] * 3
    assert not (tmp_path / NAME).exists()
    # Nodes 0 and 1 at 40 W, the others at their 100 W: half of 280 W each.
    own.follow([run_on(0, 1, cap_w=40.0), run_on(2)])
    assert limits(zones) == [140_000_000, 150_000_000, 140_000_000]
    assert json.loads((tmp_path / NAME).read_text()) == {
        str(zones / f"intel-rapl:{number}" / LIMIT): 150_000_000 for number in (0, 1)
    }
    # Never more than there was before.
    own.follow([run_on(0, cap_w=90.0)])
    assert limits(zones) == [150_000_000] * 3
    own.follow([run_on(0, 1, 2, 3, cap_w=50.0)])
    own.follow([])
    assert limits(zones) == [150_000_000] * 3
    assert not (tmp_path / NAME).exists()


def test_what_a_killed_run_has_set_is_taken_back(zones, tmp_path):
    made(zones, tmp_path).follow([run_on(0, 1, 2, 3, cap_w=50.0)])
    assert limits(zones)[0] == 100_000_000
    assert restored(str(tmp_path), print)
    assert limits(zones) == [150_000_000] * 3
    assert not restored(str(tmp_path), print)


@pytest.mark.parametrize("text", ["{", "[1]", ""])
def test_a_note_without_limits_changes_none(zones, tmp_path, text):
    said = []
    (tmp_path / NAME).write_text(text)
    assert not restored(str(tmp_path), said.append)
    assert limits(zones) == [150_000_000] * 3
    (line,) = said
    assert line.startswith(f"{tmp_path / NAME}: found no limits")


def test_a_limit_that_cannot_be_set_is_said_once(zones, tmp_path):
    said = []
    own = made(zones, tmp_path, said)
    (zones / "intel-rapl:1" / LIMIT).unlink()
    (zones / "intel-rapl:1" / LIMIT).mkdir()
    own.follow([run_on(0, cap_w=10.0)])
    own.follow([run_on(0, cap_w=20.0)])
    assert "no more caps are set" in said[0]
    assert int((zones / "intel-rapl:0" / LIMIT).read_text()) == 150_000_000


def test_limits_that_may_not_be_written_are_refused_with_the_reason(zones, tmp_path):
    faults = Faults()
    (zones / "intel-rapl:1" / LIMIT).unlink()
    assert capped_zones(faults, str(zones)) == []
    assert "intel-rapl:1" in str(faults.found[0])
    assert "as root may" in str(faults.found[0])
    assert capped_zones(faults, str(tmp_path / "none")) == []
    assert "no processors with limits" in str(faults.found[1])


def test_the_option_is_refused_where_there_are_no_limits(zones, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(caps.capped_zones, "__defaults__", (str(tmp_path / "none"),))
    (tmp_path / "jobs.csv").write_text("command,walltime_s\ntrue,9\n")
    words = ["run", str(tmp_path / "jobs.csv"), "--out", str(tmp_path / "out"), "--act-caps"]
    assert main(words) == 2
    assert "--act-caps: found no processors with limits" in capsys.readouterr().err


class Capping:
    """A controller that caps the first run."""

    def __init__(self, controller):
        self.controller, self.left = controller, True

    def __getattr__(self, name):
        return getattr(self.controller, name)

    @property
    def next_us(self):
        return self.controller.reached_us if self.left else None

    def step(self, t_us, notices, **given):
        decided = self.controller.step(t_us, notices, **given)
        if not self.left or not any(isinstance(one, Start) for one in decided):
            return decided
        self.left = False
        return [*decided, Cap(1, 1, 30.0, number=99)]


def test_a_run_sets_caps_and_leaves_the_limits_as_they_were(zones, tmp_path, monkeypatch):
    monkeypatch.setattr(caps.capped_zones, "__defaults__", (str(zones),))
    path = tmp_path / "jobs.toml"
    wait = f"while [ ! -e {tmp_path}/go ]; do sleep 0.02; done"
    path.write_text(f'[[job]]\ncommand = ["sh", "-c", "{wait}"]\nwalltime_s = 100\n')
    jobs, said = read_commands(str(path)), []
    plan = Plan(jobs.commands, "local", Nodes(["a", "b"], [[0], [0]], are_slots=True), jobs.source, acts_caps=True)
    platform = hs.Platform.homogeneous(nodes=2, idle_w=50, tdp_w=100)
    own = running.begun(str(tmp_path / "out"), jobs, platform, hs.Policy.preset("easy"), plan=plan, say=said.append)
    own.executor.controller = Capping(own.executor.controller)
    seen = []

    def tell(_):
        seen.append(limits(zones)[0])
        if seen[-1] == 65_000_000:
            (tmp_path / "go").touch()

    before = own.executor._tell
    own.executor._tell = lambda host: (before(host), tell(host))
    assert own.run() is True
    own.close()
    assert 65_000_000 in seen
    assert limits(zones) == [150_000_000] * 3
    assert said == []
