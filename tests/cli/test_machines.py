"""Machines that come with hetsched: every file reads, says where each number is from, and is found by its name."""

from __future__ import annotations

import json
import re

import pytest

import hetsched as hs
from hetsched.platform.reading import about_machine, machine_names, machine_text

# name: nodes, idle W, TDP W of all nodes together, as the sources have them
KNOWN = {
    "aoba": (72, 72 * 600, 72 * 2100),
    "cygnus": (64, 64 * 280, 64 * 1250),
    "ito": (2000, 2000 * 100, 2000 * 400),
    "kestrel": (2304, 2304 * 250, 2304 * 785),
    "m100": (980, 980 * 400, 980 * 2000),
    "tsubame3": (540, 172_800, 777_600),
}


def test_all_machines_are_there():
    assert machine_names() == sorted(KNOWN)


@pytest.mark.parametrize("name", KNOWN)
def test_a_machine_has_the_numbers_of_its_source(name):
    nodes, idle_w, tdp_w = KNOWN[name]
    platform = hs.Platform.shipped(name)
    assert platform.nodes == nodes
    assert platform.idle_w.sum() == idle_w
    assert sum(one.count * one.tdp_w for one in platform.classes) == tdp_w
    assert hs.Platform.from_dict(platform.to_dict()) == platform


@pytest.mark.parametrize("name", KNOWN)
def test_every_number_of_a_file_has_a_word_on_its_source(name):
    about = about_machine(name)
    assert about.title
    assert about.source
    assert len(about.source) > 20
    for line in machine_text(name).splitlines():
        if re.match(r"[a-z_]+ = [0-9]", line):
            assert re.search(r" # \S", line), line


def test_tsubame3_is_the_machine_of_devices():
    devices = hs.platform.tsubame3()
    assert hs.Platform.shipped("tsubame3").nodes == devices.nodes


def test_aoba_has_the_queues_and_times_of_the_paper():
    aoba = hs.Platform.shipped("aoba")
    queues = {queue.name: queue for queue in aoba.queues}
    assert {name: len(queue.nodes) for name, queue in queues.items()} == {
        "sxf": 4, "sxl": 4, "sxmix_s": 58, "sx_s": 58, "sx_m": 58, "sx_l": 58, "urgent": 24,
    }  # fmt: skip
    assert set(queues["urgent"].preempts) == {"sxmix_s", "sx_s", "sx_m", "sx_l"}
    assert (queues["sx_m"].max_slots, queues["sx_l"].max_slots) == (64, 256)
    (nodes,) = aoba.classes
    assert (nodes.slots, nodes.boot_s, nodes.shutdown_s, nodes.off_w) == (8, 60, 120, 0)
    assert not aoba.exclusive


def test_an_unknown_machine_is_refused_with_the_nearest_name():
    with pytest.raises(hs.ConfigError, match=r"name: found `kestral`, expected one of .*; did you mean `kestrel`"):
        hs.Platform.shipped("kestral")


def test_the_command_lists_shows_and_copies(hetsched, folder):
    said = hetsched("machines")
    assert said.code == 0
    assert set(KNOWN) <= set(said.out.split())
    assert max(map(len, said.out.splitlines())) <= 80
    shown = hetsched("machines", "aoba")
    assert shown.out == machine_text("aoba").strip()
    copied = hetsched("machines", "aoba", "--copy", "mine.toml")
    assert copied.code == 0
    assert (folder / "mine.toml").read_text() == machine_text("aoba")
    assert hs.Platform.from_toml("mine.toml") == hs.Platform.shipped("aoba")


def test_the_command_as_json_holds_the_librarys_numbers(hetsched):
    found = json.loads(hetsched("machines", "--json").out)
    assert found["summary"] == {"machines": len(KNOWN)}
    assert {row["name"]: (row["nodes"], row["idle_w"], row["tdp_w"]) for row in found["machines"]} == KNOWN
    one = json.loads(hetsched("machines", "ito", "--json").out)
    assert hs.Platform.from_dict(one["platform"]) == hs.Platform.shipped("ito")


def test_the_command_refuses_what_it_does_not_know(hetsched):
    said = hetsched("machines", "ittoo")
    assert said.code == 2
    assert said.err.startswith("error: NAME: found `ittoo`, expected one of aoba, cygnus, ito")
    assert (
        hetsched("machines", "--out", "x.toml").err
        == "error: NAME: found none, expected the machine whose file to write"
    )


def test_a_name_stands_for_a_platforms_file_unless_there_is_such_a_file(hetsched, folder):
    jobs = "job_id,submit_s,runtime_s,node_count\n1,0,60,1\n"
    (folder / "jobs.csv").write_text(jobs)
    named = json.loads(hetsched("simulate", "jobs.csv", "--platform", "tsubame3", "--json").out)
    assert named["platform"]["nodes"] == 540
    (folder / "tsubame3").write_text("nodes = 3\nidle_w = 1\ntdp_w = 2\n")
    own = json.loads(hetsched("simulate", "jobs.csv", "--platform", "tsubame3", "--json").out)
    assert own["platform"]["nodes"] == 3
    wrong = hetsched("simulate", "jobs.csv", "--platform", "kestral")
    assert wrong.err == "error: kestral: found no such file, expected a TOML file; did you mean `kestrel`?"
