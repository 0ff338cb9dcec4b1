"""Nodes that are switched off and on: idle in two readings, one a second, and never too many."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from hetsched.slurm_bridge.nodes import SeenNode
from hetsched.slurm_bridge.picture import Picture, Rest
from hetsched.slurm_bridge.sleepers import LEAST_GAP_S, Sleepers

NAMES = {f"n{number}": number - 1 for number in range(1, 5)}


class Cluster:
    """Four nodes whose states follow the orders, a reading a second."""

    def __init__(self, min_awake=0, step_s=1.0):
        self.states = dict.fromkeys(NAMES, "idle")
        self.now = 0.0
        self.step_s = step_s
        self.sleepers = Sleepers(NAMES, min_awake=min_awake, now=lambda: self.now)

    def read(self, resting):
        """Gives the orders of a reading, and carries them out."""
        self.now += self.step_s
        nodes = [SeenNode(name, state, ()) for name, state in self.states.items()]
        picture = replace(Picture(), resting={NAMES[name]: rest for name, rest in resting.items()})
        orders = [(words[1].split("=")[1], words[2].split("=")[1]) for words in self.sleepers.orders(picture, nodes)]
        for name, state in orders:
            self.states[name] = "idle+powered_down" if state == "POWER_DOWN" else "idle+powering_up"
        return orders


def test_nodes_go_one_after_another_once_they_have_idled_twice():
    cluster = Cluster(min_awake=2)
    off = dict.fromkeys(["n2", "n3", "n4"], Rest.OFF)
    assert cluster.read(off) == []
    assert cluster.read(off) == [("n2", "POWER_DOWN")]
    assert cluster.read(off) == [("n3", "POWER_DOWN")]
    # Two stay awake.
    assert cluster.read(off) == []
    assert cluster.read({**off, "n3": Rest.WAKING}) == [("n3", "POWER_UP")]
    cluster.states["n3"] = "idle"
    assert cluster.read({}) == [("n2", "POWER_UP")]


def test_a_node_that_was_busy_or_is_of_slurms_own_sleep_is_left():
    cluster = Cluster()
    cluster.states |= {"n1": "allocated", "n2": "idle+drain", "n3": "idle+powered_down", "n4": "completing"}
    off = dict.fromkeys(NAMES, Rest.OFF)
    assert [cluster.read(off), cluster.read(off)] == [[], []]
    # Slurm has put it to sleep, and wakes it for a job.
    assert cluster.read({}) == []
    cluster.states["n1"] = "idle"
    assert cluster.read(off) == []
    assert cluster.read(off) == [("n1", "POWER_DOWN")]


_RESTS = st.sampled_from([None, Rest.GOING, Rest.OFF, Rest.WAKING])
_STATES = st.sampled_from([None, "idle", "allocated", "idle+drain", "down"])


@given(
    st.integers(0, 4),
    st.sampled_from([0.1, 0.4, 1.0]),
    st.lists(
        st.tuples(st.lists(_RESTS, min_size=4, max_size=4), st.lists(_STATES, min_size=4, max_size=4)), max_size=12
    ),
)
def test_never_fewer_are_awake_than_asked_for_by_an_order(min_awake, step_s, readings):
    cluster, last_s = Cluster(min_awake, step_s), -1.0
    for rests, states in readings:
        cluster.states |= {name: state for name, state in zip(NAMES, states, strict=True) if state is not None}
        before = dict(cluster.states)
        given_rests = {name: rest for name, rest in zip(NAMES, rests, strict=True) if rest is not None}
        down = [name for name, state in cluster.read(given_rests) if state == "POWER_DOWN"]
        assert len(down) <= 1
        for name in down:
            assert before[name] == "idle"
            assert given_rests[name] is Rest.OFF
            assert cluster.now - last_s >= LEAST_GAP_S
            awake = sum(state in ("idle", "allocated", "idle+powering_up") for state in cluster.states.values())
            assert awake >= min_awake
            last_s = cluster.now
