"""Slurm's scheduler in the engine: golden schedules, the plain reference, and recordings of a real cluster."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import assume, given
from plain_slurm import simulate
from slurm_cases import Case, cases
from slurm_examples import EXAMPLES, Example
from slurm_on_engine import starts
from slurm_recordings import FOLDER, NAMES, PHASES, TOLERANCE_S, mean, recording
from test_plain_slurm import machine_of

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")
MICROSECOND = 2e-6
SHARE = 0.95


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_golden_schedule(example: Example) -> None:
    found = starts(*machine_of(example))
    wanted = {number: (example.script_starts.get(number, at), nodes) for number, (at, nodes) in example.starts.items()}
    assert {number: (at, tuple(n + 1 for n in nodes)) for number, (at, nodes) in found.items()} == wanted


def comparable(case: Case) -> Case:
    """The case as far as logs can say it: no nice values, tasks or several dependencies, lines in configuration order,
    and beats that have begun when the first job comes, which is at the log's zero."""
    assume([node.line for node in case.nodes] == sorted(node.line for node in case.nodes))
    jobs = [replace(job, nice=0, cpus=None, after=()) for job in case.jobs]
    jobs[0] = replace(jobs[0], submit_s=jobs[0].submit_s % 1)
    assume(all(one.submit_s <= following.submit_s for one, following in pairwise(jobs)))
    started_s = min(case.options.started_s, 0.4 - max(case.options.bf_interval, 1))
    known = {"wait_all_nodes": True, "changes_as_recorded": False, "idle_since_s": 0.0}
    options = replace(case.options, **known, started_s=started_s)  # type: ignore[arg-type]
    return replace(case, jobs=jobs, options=options)


@given(cases())
def test_engine_agrees_with_the_plain_reference(case: Case) -> None:
    case = comparable(case)
    reference = simulate(case.nodes, case.partitions, case.options, case.jobs)
    wanted = {number: (job.script_start_s, tuple(sorted(job.nodes))) for number, job in reference.jobs.items()}
    found = starts(case.nodes, case.partitions, case.options, case.jobs)
    for number, (at, nodes) in wanted.items():
        own_at, own_nodes = found[number]
        assert (own_at is None) == (at is None), (number, wanted, found)
        if at is not None and own_at is not None:
            assert abs(own_at - at) < MICROSECOND, (number, wanted, found)
            assert own_nodes == nodes, (number, wanted, found)


def boot_s(lengths: dict[str, tuple[float, ...]]) -> float:
    return mean([length for row in lengths.values() for length in row])


def say_all(name: str) -> bool:
    """True if a log says all that mattered: no tasks, and no nodes that slept before the first job came."""
    known = json.loads((FOLDER / name / "recording.json").read_text())
    first_s = min(job["submit_s"] for job in known["jobs"])
    slept = any(event[0] < first_s for event in known.get("power") or [])
    return not slept and not any(job.get("tasks") for job in known["jobs"])


COMPARABLE = [name for name in NAMES if say_all(name)]


def test_most_recordings_can_be_compared() -> None:
    assert len(COMPARABLE) >= 12
    assert {"tight", "default", "weights", "power", "licences", "mixed", "limits"} <= set(COMPARABLE)


@pytest.mark.parametrize("name", COMPARABLE)
def test_starts_and_nodes_of_a_recording(name: str) -> None:
    """Beats, lengths and ends of clean-ups are as they were: within 1.1 s on the same nodes."""
    known = recording(name)
    ends = json.loads((FOLDER / name / "recording.json").read_text())["jobs"]
    clean = tuple(sorted({round(job["end_s"] + job["clean_up_s"], 6) for job in ends}))
    beats = {**known.options.beats, "clean": clean}
    options = replace(known.options, boot_s=boot_s(dict(known.options.boots)), beats=beats)
    found = starts(known.nodes, known.partitions, options, known.jobs)
    missed = [
        number
        for number, (_, nodes) in known.starts.items()
        if abs((found[number][0] or -1e9) - known.script_starts[number]) > TOLERANCE_S
        or found[number][1] != tuple(sorted(nodes))
    ]
    assert len(missed) <= (1 - SHARE) * len(known.starts), missed


@pytest.mark.parametrize(("kind", "margin"), [("default", 0.05), ("tight", 0.03), ("fifo", 0.03), ("power", 0.08)])
def test_mean_wait_from_settings_alone(kind: str, margin: float) -> None:
    """Over phases of the controller's start, against the mean over repeats of the real run."""
    repeats = [recording(name) for name in COMPARABLE if name.split("-")[0] == kind]
    waits = []
    for known in repeats:
        options = replace(known.options, beats={}, boot_s=boot_s(dict(known.options.boots)))
        for phase in range(PHASES):
            started_s = known.options.started_s - 30 * phase / PHASES
            found = starts(known.nodes, known.partitions, replace(options, started_s=started_s), known.jobs)
            waits.append(mean([(found[job.id][0] or 1e9) - job.submit_s for job in known.jobs]))
    recorded = mean([known.mean_wait_s for known in repeats])
    assert mean(waits) == pytest.approx(recorded, rel=margin)
