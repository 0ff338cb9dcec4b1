"""Keys of settings and what they change; faults before the first run."""

from __future__ import annotations

import contextlib
import dataclasses

import numpy as np
import polars as pl
import pytest

import hetsched as hs
from hetsched.params import parameters_of
from hetsched.policy.parts import parts
from hetsched.run.options import RunOptions
from hetsched.whatif import machine
from hetsched.whatif.keys import keys_of
from hetsched.whatif.trials import Trials

JOBS = {"job_id": [1, 2, 3], "submit_s": [0, 10, 700_000], "runtime_s": [60, 60, 30], "node_count": [2, 3, 1]}
LOG = hs.Workload.from_polars(pl.DataFrame({**JOBS, "walltime_s": JOBS["runtime_s"]}))
MACHINE = hs.Platform.homogeneous(4, 100, 300)


def what_if(settings, platform=MACHINE, log=LOG, policy="easy", **options):
    return hs.what_if(log, platform, policy, settings, workers=1, **options)


def faults_of(settings, **more):
    with pytest.raises(hs.ConfigError) as caught:
        what_if(settings, **more)
    return caught.value.faults


@pytest.fixture
def rows(monkeypatch):
    """Gives the rows that are checked, and runs none of them."""

    class Stop(Exception):  # noqa: N818
        pass

    def of(settings, platform=MACHINE, policy="easy", **options):
        found = []

        def check(self, faults):
            del faults
            found.extend(self.settings)
            raise Stop

        with monkeypatch.context() as patch, contextlib.suppress(Stop):
            patch.setattr(Trials, "check", check)
            what_if(settings, platform, policy=policy, **options)
        return found[1:]

    return of


def test_every_declared_parameter_has_a_key():
    keys = keys_of()
    numbers = {one.name for one in dataclasses.fields(hs.NodeClass)} - {
        *("name", "count", "features", "racks", "node_names"),
    }
    queues = {one.name for one in dataclasses.fields(hs.Queue)} - {"name"}
    options = set(parameters_of(RunOptions)) - {"bound", "until_s"}
    own = {f"{role}.{one['name']}" for (role, _), part in parts().items() for one in part["parameters"]}
    expected = own | options | {f"node.{name}" for name in numbers} | {f"queue.QUEUE.{name}" for name in queues}
    assert expected <= set(keys)
    assert set(keys) - expected - {f"node.CLASS.{name}" for name in (*numbers, "count")} == {
        *("platform", "queues", "nodes", "exclusive", "known_draws"),
        *("policy", "order", "backfill", "placement", "power", "sleep"),
    }


def test_text_and_values_are_the_same(rows):
    text = {"nodes": ["8", "+50%"], "node.off_w": ["none", "5"], "kill_at_walltime": ["false"], "depth": ["4"]}
    plain = {"nodes": [8, "+50%"], "node.off_w": [None, 5.0], "kill_at_walltime": [False], "backfill.depth": [4]}
    for one, other in zip(rows(text), rows(plain), strict=True):
        assert (one.platform, one.policy, one.options) == (other.platform, other.policy, other.options)
    assert [one.platform.nodes for one in rows(text)] == [8, 8, 6, 6]


def test_policy_parts_and_parameters(rows):
    found = rows({"policy": ["fcfs", "conservative"], "sleep": ["timeout:min_idle_s=60", "none"], "budget_w": [9e5]})
    expected = [
        hs.Policy.preset(base, sleep=sleep, power={"name": "system-budget", "budget_w": 9e5})
        for base in ("fcfs", "conservative")
        for sleep in ({"name": "timeout", "min_idle_s": 60}, None)
    ]
    assert [one.policy.parts for one in found] == [one.parts for one in expected]
    assert found[0].policy.name == "fcfs:sleep=timeout:min_idle_s=60:power=system-budget:power.budget_w=900000.0"
    assert hs.policy.parse_policy(found[0].policy.name).parts == found[0].policy.parts


def test_a_parameter_brings_its_part_into_an_empty_role(rows):
    (found,) = rows({"min_idle_s": [60]})
    assert found.policy.parts["sleep"]["name"] == "timeout"
    (kept,) = rows({"min_idle_s": [60]}, policy="nqsv")
    assert kept.policy.parts["sleep"] == hs.Policy.preset("nqsv", min_idle_s=60).parts["sleep"]
    assert faults_of({"sleep": ["none"], "min_idle_s": [60]}) == [
        (
            "settings.min_idle_s",
            "`60` with sleep=none (with sleep=none)",
            "a part that takes it: sleep=timeout or sleep=nqsv or sleep=planned or sleep=newsvendor",
        )
    ]


def test_percents_are_of_todays_values(rows):
    platform = hs.Platform(
        [hs.NodeClass("a", 6, [90.0, 100.0] * 3, 300), hs.NodeClass("b", 3, 50.0, 200, boot_s=100.0)]
    )
    one, other = rows({"node.a.idle_w": ["-10%", "+10%"], "node.b.boot_s": ["+50%"]}, platform=platform)
    assert one.platform.idle_w.tolist() == pytest.approx([81, 90] * 3 + [50] * 3)
    assert other.platform.classes[1].boot_s == 150.0
    (pcr,) = rows({"power.budget_w": ["-5%"]}, policy="easy:power=system-budget:budget_w=1000")
    assert pcr.policy.parts["power"]["budget_w"] == 950
    assert faults_of({"node.boot_s": ["+10%"]}, platform=MACHINE)[0][:2] == (
        "settings.node.boot_s",
        "`+10%` of nothing",
    )


def test_copies_of_nodes_draw_and_are_named_as_their_originals():
    classes = [
        hs.NodeClass("a", 2, [90.0, 100.0], 300, racks={"r1": "0", "r2": "1"}, node_names="a[1-2]"),
        hs.NodeClass("b", 1, 50.0, 200, node_names="b1"),
    ]
    table = hs.VariationTable(["x"], power_w=[[200.0, 210.0, 150.0]], time_ratio=[[1.0, 1.1, 0.9]])
    queues = [hs.Queue("low", "0,2", max_nodes=2), hs.Queue("all", "0-2")]
    platform = hs.Platform(classes, actual=table, queues=queues)
    found = machine.with_counts(platform, [5, 2])
    assert found.idle_w.tolist() == [90, 100, 90, 100, 90, 50, 50]
    assert found.node_names == ("a1", "a2", "a1-copy", "a2-copy", "a1-copy2", "b1", "b1-copy")
    assert found.racks == {"r1": [0, 2, 4], "r2": [1, 3]}
    assert found.actual.power_w.tolist() == [[200, 210, 200, 210, 200, 150, 150]]
    assert found.actual.time_ratio.tolist() == [[1.0, 1.1, 1.0, 1.1, 1.0, 0.9, 0.9]]
    assert [one.numbers for one in found.queues] == [(0, 2, 4, 5, 6), tuple(range(7))]
    assert [one.max_nodes for one in found.queues] == [2, None]
    assert machine.with_counts(platform, [2, 1]) == platform
    small = machine.with_nodes(platform, 2)
    assert [one.count for one in small.classes] == [1, 1]
    assert small.queues[0].max_nodes == 2


@pytest.mark.parametrize("nodes", range(1, 40))
def test_classes_share_nodes_by_largest_remainder(nodes):
    counts = (7, 2, 1)
    platform = hs.Platform([hs.NodeClass(f"c{place}", count, 10, 20) for place, count in enumerate(counts)])
    found = machine.with_nodes(platform, nodes)
    assert found.nodes == nodes
    shares = {one.name: one.count for one in found.classes}
    for place, count in enumerate(counts):
        assert abs(shares.get(f"c{place}", 0) - count * nodes / 10) < 1


def test_a_homogeneous_machine_of_another_size_is_that_machine(rows):
    (found,) = rows({"nodes": ["+150%"]})
    assert found.platform == hs.Platform.homogeneous(10, 100, 300)
    (shrunk,) = rows({"nodes": [3]})
    assert shrunk.platform == hs.Platform.homogeneous(3, 100, 300)


def test_queues(tmp_path, rows):
    log = hs.Workload.from_polars(LOG.to_polars().with_columns(queue=pl.Series(["day", "day", "night"])))
    file = tmp_path / "queues.toml"
    file.write_text('[[queue]]\nname = "day"\nnodes = "0-2"\n[[queue]]\nname = "night"\nnodes = "3"\n')
    (two,) = rows({"queues": [str(file)]}, log=log)
    assert [one.name for one in two.platform.queues] == ["day", "night"]
    found = what_if({"queues": [str(file)], "nodes": [4, 8]}, log=log)
    assert found.table["nodes"].to_list() == [None, 4, 8]
    limited = what_if({"queue.day.max_nodes": ["2", "none"], "queue.day.users": ["ann+bo"]}, two.platform, log)
    assert limited.table["unstarted"].to_list() == [0, 2, 2]
    assert faults_of({"queue.dey.nodes": ["0"]}, platform=two.platform, log=log)[0][2].endswith(
        "did you mean `queue.day.nodes`?"
    )
    assert "the machine has no queues" in faults_of({"queue.day.nodes": ["0"]})[0][2]


def test_events_and_objects_have_names():
    fails = hs.Events.from_polars(pl.DataFrame({"time_s": [5.0], "kind": ["node_failed"], "node": [0]}))
    found = what_if({"events": [None, fails], "on_failure": ["requeue"]})
    assert found.table["events"].to_list() == [None, "none", "events"]
    assert found.runs["failed"].to_list() == [0, 0, 0]
    named = what_if({"events": {"storm": fails}, "policy": {"mine": hs.Policy(order="largest")}})
    assert named.table["setting"][1] == "events=storm, policy=mine"
    assert named.runs["failed"][1] == 1


def test_unknown_keys_and_values_are_refused_together_with_the_allowed_ones():
    found = faults_of(
        {"nodse": [1], "nodes": [0, "many"], "backfill": ["esay"], "policy": ["easi"], "walltimes": ["long"]},
        metrics=("energy_j", "budget_w", "energy_bound_j", "wait"),
    )
    assert [fault[0] for fault in found] == ["metrics"]
    found = faults_of(
        {"nodse": [1], "nodes": [0, "many"], "backfill": ["esay"], "policy": ["easi"], "walltimes": ["long"]}
    )
    places = ["settings", *["settings.nodes"] * 2, "settings.backfill", "settings.policy", "settings.walltimes"]
    assert [fault[0] for fault in found] == places
    assert found[0][2].startswith("one of platform, queues, nodes, exclusive, known_draws, policy, order")
    assert "node.{idle_w,tdp_w" in found[0][2]
    assert found[0][2].endswith("did you mean `nodes`?")
    assert found[4][2].endswith("did you mean `easy`?")


def test_metrics_without_a_better_side_and_those_that_runs_lack():
    found = faults_of({"nodes": [5]}, metrics=("budget_w", "sleep_attained_ratio", "cost", "penalty"))
    assert [fault[2] for fault in found] == [
        "metrics of which less or more is better",
        "bound=True as well, which computes it",
        "events or a contract as well, with prices or carbon intensities",
        "a contract as well, with limits",
    ]


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        ({}, "settings"),
        ("nodes=3", "settings"),
        ({"nodes": []}, "settings.nodes"),
        ({"nodes": "35"}, "settings.nodes"),
        ({"nodes": [5, 5]}, "settings.nodes"),
        ({"depth": [1], "backfill.depth": [2]}, "settings.backfill.depth"),
        ({"node.off_w": [-1]}, "settings.node.off_w"),
        ({"node.tdp_w": [50]}, "settings.node.tdp_w"),
        ({"events": ["nowhere.csv"]}, "settings.events: nowhere.csv"),
        ({"platform": ["aobo"]}, "settings.platform: name"),
    ],
)
def test_other_faults(settings, place):
    assert [fault[0] for fault in faults_of(settings)] == [place]


def test_what_cannot_run_is_refused_before_the_first_run(monkeypatch):
    monkeypatch.setattr(Trials, "answers", None)
    faults = faults_of({"nodes": [5, 6], "sleep": ["timeout", "planned"]})
    assert [fault[0] for fault in faults] == [
        f"settings, nodes=5, sleep={name}: platform" for name in ("timeout", "planned")
    ]
    assert "policy easy:sleep=timeout puts nodes to sleep" in faults[0][2]
    fails = hs.Events.from_polars(pl.DataFrame({"time_s": [5.0], "kind": ["node_failed"], "node": [3]}))
    (fault,) = faults_of({"nodes": [3]}, events=fails)
    assert fault[0].startswith("settings, nodes=3: ")
    two = hs.Platform([hs.NodeClass("a", 2, 10, 20), hs.NodeClass("b", 2, 10, 20)])
    assert faults_of({"node.a.count": [3]}, platform=two, events=fails) == [
        (
            "settings, node.a.count=3: events",
            "nodes by number",
            "events by rack, or nodes added to the last class: others get other numbers",
        )
    ]


def test_too_many_combinations():
    assert faults_of({"seed": list(range(400)), "kill_grace_s": list(range(400))}) == [
        ("settings", "160,000 combinations", "at most 100,000")
    ]


def test_a_result_without_what_is_needed(tmp_path):
    table = hs.VariationTable(["*"], power_w=np.full((1, 4), 200.0))
    own = hs.Events.from_polars(pl.DataFrame({"time_s": [5.0], "kind": ["price"], "value": [0.2]}))
    result = hs.simulate(LOG, MACHINE.with_tables(actual=table), "easy", events=own)
    result.write(tmp_path)
    with pytest.raises(hs.ConfigError) as caught:
        hs.what_if(hs.read_result(tmp_path), settings={"nodes": [5]})
    assert [fault[0] for fault in caught.value.faults] == ["result.tables", "result.events"]
    with pytest.raises(hs.ConfigError, match="platform: found a value"):
        hs.what_if(result, MACHINE, settings={"nodes": [5]})
    plain = hs.simulate(LOG, MACHINE, "easy", events=own)
    assert hs.what_if(plain, settings={"nodes": [5]}, workers=1, events=own).runs["cost"][0] > 0


def test_a_damaged_journal_names_its_line(tmp_path):
    what_if({"nodes": [5]}, out=tmp_path)
    journal = tmp_path / "whatif.jsonl"
    lines = journal.read_text().splitlines()
    journal.write_text("\n".join([lines[0], lines[1].replace('"unstarted"', '"unstartled"')]) + "\n")
    with pytest.raises(hs.TraceError, match=r"whatif.jsonl, line 2"):
        what_if({"nodes": [5]}, out=tmp_path)


def test_text_at_eighty_columns():
    found = what_if({"nodes": [5], "sleep": ["none"], "node.boot_s": [300], "policy": ["easy:depth=4"]})
    assert max(map(len, str(found).splitlines())) <= 80
    assert "no intervals: the jobs are of 2 weeks" in str(found)
    assert repr(found).startswith("<WhatIf: 1 setting against today")
