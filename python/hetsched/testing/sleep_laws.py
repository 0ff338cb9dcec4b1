"""Laws of nodes that sleep: no node makes a step that it cannot make, and none serves a job while it is not on."""

from __future__ import annotations

import numpy as np
import polars as pl

from hetsched.testing.facts import Facts, Floats, Ints
from hetsched.units import TICKS_S, micros

_STEPS = {
    "sleep": ("on", "stopping"),
    "off": ("stopping", "off"),
    "wake": ("off", "booting"),
    "ready": ("booting", "on"),
}
_OUTAGES = {"failed": 1, "out": 1, "repaired": -1, "back": -1}
_SPANS = {"node": pl.Int64, "state": pl.String, "start": pl.Int64, "end": pl.Int64}


def check_sleep(run: Facts) -> None:
    """Check states, times and energies of nodes that sleep; raises AssertionError at the first broken law."""
    events, nodes = run.result.events, run.result.nodes
    if run.event_kinds.isdisjoint(_STEPS):
        assert not any(nodes[name].sum() for name in ("boots", "shutdowns")), "unseen boots"
        return
    spans = _spans(run, events)
    _check_served(run, spans)
    _check_nodes(run, events, spans)
    _check_energies(run, spans)


def _spans(run: Facts, events: pl.DataFrame) -> pl.DataFrame:
    """Spans of each node in a state other than on; reports invalid steps."""
    lasts = {
        kind: micros(pl.Series(_of_nodes(run, name))) for kind, name in (("off", "shutdown_s"), ("ready", "boot_s"))
    }
    state: dict[int, str] = {}
    since: dict[int, int] = {}
    causes: dict[int, int] = {}
    rows: list[tuple[int, str, int, int]] = []
    here = events.filter(pl.col("kind").is_in([*_STEPS, *_OUTAGES]))
    for at, kind, node in zip(micros(here["time_s"]).tolist(), here["kind"], here["node"], strict=True):
        before, begun = state.get(node, "on"), since.get(node, run.window[0])
        text = f"node {node} at {at / TICKS_S} s: {kind}"
        if kind in _STEPS:
            allowed, after = _STEPS[kind]
            assert before == allowed, f"{text}, but it is {before}"
            took = lasts[kind][node] if kind in lasts else None
            assert took is None or at - begun == took, f"{text} {(at - begun) / TICKS_S} s after it began"
        else:
            causes[node] = causes.get(node, 0) + _OUTAGES[kind]
            after = "down" if causes[node] else "on"
        if after != before:
            rows.append((node, before, begun, at))
            state[node], since[node] = after, at
    rows += [(node, state[node], since[node], max(run.window[1], since[node])) for node in state]
    spans = pl.DataFrame(rows, _SPANS, orient="row").filter(pl.col("state") != "on")
    first, last = run.window
    return spans.with_columns(pl.col("start", "end").clip(first, last))


def _check_served(run: Facts, spans: pl.DataFrame) -> None:
    """A job runs, or stands still, on nodes that are on."""
    served = run.held.select("job", pl.col("node").cast(pl.Int64), begins="start", ends="end")
    both = served.join(spans, on="node").filter(pl.col("begins") < pl.col("end"), pl.col("start") < pl.col("ends"))
    if len(both):
        job, node, state = both.sort("begins").row(0, named=True), both["node"][0], both["state"][0]
        raise AssertionError(f"{run.name(job['job'])} runs on node {node}, which is {state}")


def _check_nodes(run: Facts, events: pl.DataFrame, spans: pl.DataFrame) -> None:
    """Times and counts of the nodes are those of the events."""
    nodes = run.result.nodes
    for name, states in (("off_s", ["off"]), ("transition_s", ["stopping", "booting"]), ("down_s", ["down"])):
        expected, found = _ticks(run, spans, states), micros(nodes[name])
        wrong = np.flatnonzero(expected != found)
        assert not len(wrong), (
            f"node {wrong[0]}: {name} is {nodes[name][int(wrong[0])]}, not {expected[wrong[0]] / TICKS_S}"
        )
    for name, kind in (("boots", "wake"), ("shutdowns", "sleep")):
        recorded = events.filter(pl.col("kind") == kind)["node"].to_numpy().astype(np.int64)
        expected = np.bincount(recorded, minlength=run.platform.nodes)
        assert (nodes[name].to_numpy() == expected).all(), f"{name} are not those of the events"


def _check_energies(run: Facts, spans: pl.DataFrame) -> None:
    """Each state costs its draw for its time."""
    summary = run.result.summary()
    busy = micros(run.result.nodes["busy_s"])
    stopping, booting, off, down = (_ticks(run, spans, [name]) for name in ("stopping", "booting", "off", "down"))
    idle = run.window[1] - run.window[0] - busy - stopping - booting - off - down
    expected = {
        "transition_energy_j": _of_nodes(run, "shutdown_w") @ stopping + _of_nodes(run, "boot_w") @ booting,
        "off_energy_j": _of_nodes(run, "off_w") @ off,
        "down_energy_j": _of_nodes(run, "down_w") @ down,
        "idle_energy_j": run.platform.idle_w @ idle,
    }
    for name, energy in expected.items():
        assert abs(summary[name] - energy / TICKS_S) <= 1e-9 * max(1.0, summary["energy_j"]), f"{name}: {summary[name]}"


def _of_nodes(run: Facts, name: str) -> Floats:
    """A number of each node."""
    values = [one.per_node(name) for one in run.platform.classes]
    return np.concatenate(values)


def _ticks(run: Facts, spans: pl.DataFrame, states: list[str]) -> Ints:
    """Time for which each node was in these states."""
    here = spans.filter(pl.col("state").is_in(states))
    total = np.zeros(run.platform.nodes, dtype=np.int64)
    np.add.at(total, here["node"].to_numpy(), (here["end"] - here["start"]).to_numpy())
    return total
