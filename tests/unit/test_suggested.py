"""The run that an inspection suggests: what of each finding stands where, and files that say so and read back."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

import hetsched as hs
from hetsched.toml import toml
from hetsched.validation.finding import Finding, frame_of, settings_of
from hetsched.validation.run_files import PLATFORM, POLICY, run_files
from hetsched.validation.suggested import Given, Suggested, suggested

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HOSTILE = 'a"b\\\n[[queue]]\nname = "x" # \u2028\x7f\x1b[31m'
MACHINE = Finding("machine", "", 8.0, "nodes", evidence=5, suggestion="nodes = 8", setting={"nodes": 8})


def platform(nodes: int = 8, **more: object) -> hs.Platform:
    return hs.Platform.homogeneous(nodes, idle_w=100, tdp_w=300, **more)  # type: ignore[arg-type]


def log(
    queue: Sequence[str | None] = ("q", HOSTILE), user: Sequence[str] = ("u", HOSTILE), **more: object
) -> hs.Workload:
    """Sixty jobs of 100 s, one every 25 s, of one or two nodes, by turns of the queues and users."""
    count = 60
    frame = pl.DataFrame(
        {
            "job_id": range(count),
            "submit_s": [25.0 * k for k in range(count)],
            "runtime_s": [100.0] * count,
            "node_count": [1 + k // 4 % 2 for k in range(count)],
            "observed_start_s": [25.0 * k for k in range(count)],
            "queue": [queue[k % len(queue)] for k in range(count)],
            "user": [user[k // 2 % len(user)] for k in range(count)],
        }
    )
    return hs.Workload.from_polars(frame.with_columns(**more), source="a/log")  # type: ignore[arg-type]


def ceiling(limit: int, **labels: str) -> Finding:
    name = " in ".join(f"{label} {value}" for label, value in labels.items())
    setting = {"ceilings": [{**labels, "running": limit}]}
    return Finding("ceiling", name, limit, "jobs", None, None, 30, 0.9, f"at most {limit} running of {name}", setting)


def partition(queue: str, **how: object) -> Finding:
    text = f"nodes of its own for queue {queue}"
    return Finding(
        "partition", f"queue {queue}", 2, "nodes", None, None, 70, 0.99, text, {"partitions": [{"queue": queue, **how}]}
    )


def priority(queue: str | None, over: str | None) -> Finding:
    setting = {"priorities": [{"queue": queue, "over": over}]}
    name = f"queue {queue} before {over}"
    return Finding("priority", name, 200, "pairs", None, None, 200, 0.01, name, setting)


EVERYBODY = Finding(
    "ceiling", "all users", 2, "jobs", None, None, 4, 0.0, "at most 2 running of each user", {"user_running": 2}
)


def made(*findings: Finding, jobs: hs.Workload | None = None, machine: hs.Platform | None = None) -> Suggested:
    findings = (MACHINE, *findings)
    given = Given(log() if jobs is None else jobs, machine, None)
    columns = {"time_s": pl.Float64, "kind": pl.String, "node": pl.Int64}
    none = hs.Events.from_polars(pl.DataFrame(schema=columns))
    return suggested(given, frame_of(findings), settings_of(findings), none)


def comments(found: Suggested, file: str) -> list[str]:
    return [line for lines in found.comments[file].values() for line in lines]


def most_at_once(jobs: pl.DataFrame) -> int:
    starts = jobs.select(at="start_s", change=pl.lit(1))
    ends = jobs.select(at="end_s", change=pl.lit(-1))
    return int(pl.concat([starts, ends]).sort("at", "change")["change"].cum_sum().max())  # type: ignore[arg-type]


def test_hostile_names_stay_names(tmp_path: Path) -> None:
    """Names with ends of lines, quotes and terminal escapes: the files read back, and no comment ends early."""
    own = [ceiling(3, queue=HOSTILE), priority(HOSTILE, "q"), ceiling(1, user=HOSTILE), ceiling(2, user="u", queue="q")]
    found = made(*own)
    run = found.run
    for name, content in run_files(run.workload, run.platform, run.policy, found.comments).items():
        (tmp_path / name).write_bytes(content)
    assert hs.read_platform(tmp_path / PLATFORM) == run.platform
    assert hs.read_policy(tmp_path / POLICY) == run.policy
    queues = {queue.name: queue for queue in run.platform.queues or ()}
    assert set(queues) == {"q", HOSTILE}
    assert (queues[HOSTILE].max_running, queues[HOSTILE].priority, queues["q"].priority) == (3, 1, 0)
    text = (tmp_path / PLATFORM).read_text()
    assert "\x1b" not in text
    assert "\x7f" not in text
    assert text.index("30 held") > text.index("[[classes]]"), "it stands above its queue"
    result = hs.simulate(hs.read_parquet(tmp_path / "trace.parquet"), run.platform, run.policy, kill_at_walltime=False)
    assert most_at_once(result.jobs.filter(queue=HOSTILE)) <= 3
    assert most_at_once(result.jobs.filter(user=HOSTILE)) == 1
    assert most_at_once(result.jobs.filter(user="u", queue="q")) <= 2


def test_everything_that_is_suggested_is_in_the_run_or_said_not_to_be() -> None:
    order = Finding("inversion_ratio", "", 0.3, "", None, None, 20, 0.3, "another order")
    own = [priority("q", HOSTILE), ceiling(2, queue="q"), EVERYBODY, order, partition("q", size=4)]
    own += [
        Finding("start_latency_s", "p10", 5.0, "s", None, None, 200, None, "5 s", {"start_latency_s": 5.0}),
        Finding("beat", "", 60, "s", None, None, 300, 0.7, "every 60 s", {"interval_s": 60, "phase_s": 6.0}),
    ]
    found = made(*own)
    said = "\n".join([*comments(found, PLATFORM), *comments(found, POLICY)])
    for one in (MACHINE, *own):
        assert str(one.suggestion) in said
    (left,) = [line for line in said.splitlines() if line.startswith("not set")]
    assert left.startswith("not set (the log does not say which; hetsched validate --calibrate tries some): another")
    jobs = hs.simulate(found.run.workload, found.run.platform, found.run.policy).jobs
    assert (jobs["start_s"] >= jobs["submit_s"] + 5).all()
    assert most_at_once(jobs.filter(user="u")) == 2, "of all queues together"
    assert {queue.name: len(queue.numbers) for queue in found.run.platform.queues or ()} == {"q": 4, HOSTILE: 4}


def test_a_machine_with_queues_keeps_them() -> None:
    """Queues that overlap: nodes and priorities stay, limits are added, and the backfill names nodes."""
    queues = [{"name": "q", "nodes": "0-5", "priority": 3}, {"name": HOSTILE, "nodes": "2-7", "max_walltime_s": 900}]
    own = (partition("q", size=4), priority(HOSTILE, "q"), ceiling(2, queue="q"), EVERYBODY)
    found = made(*own, machine=platform(queues=queues))
    first, second = (queue.to_dict() for queue in found.run.platform.queues or ())
    limit = {"max_running_per_user": 2}
    assert first == {"name": "q", "nodes": "0-5", "priority": 3, "max_running": 2, **limit}
    assert second == {"name": HOSTILE, "nodes": "2-7", "max_walltime_s": 900.0, **limit}
    backfill = found.run.policy.parts["backfill"]
    assert backfill is not None
    assert backfill["name"] == "plan"
    left = [line for line in comments(found, PLATFORM) if line.startswith("not set (this machine has queues")]
    assert len(left) == 2
    assert found.run.workload.to_polars().columns == log().to_polars().columns, "queues hold the limit of users"
    hs.simulate(found.run.workload, found.run.platform, found.run.policy)


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"size": 8}, "queues have to share"),
        ({"size": 9}, "numbers such as"),
        ({"nodes": "3-9"}, "nodes below 8"),
        ({"size": 1}, "queue `q` would have 1 nodes, and has a job of 2"),
        ({"size": 7}, "would have 1 nodes, and has a job of 2"),
    ],
)
def test_a_partition_that_the_jobs_do_not_fit_in_is_left_out(how: dict[str, object], why: str) -> None:
    found = made(partition("q", **how))
    assert found.run.platform.queues is None
    (left,) = [line for line in comments(found, PLATFORM) if line.startswith("not set")]
    assert why in left
    assert hs.simulate(found.run.workload, found.run.platform, found.run.policy).jobs["start_s"].null_count() == 0


def test_limits_of_arrays_are_not_replaced() -> None:
    arrays = log(array_id=pl.lit(7), array_limit=pl.lit(3))
    found = made(EVERYBODY, ceiling(1, user="u"), jobs=arrays)
    assert found.run.workload.to_polars().equals(arrays.to_polars())
    assert sum("the log has arrays" in line for line in comments(found, POLICY)) == 2


def test_a_machine_of_heterogeneous_nodes_stays() -> None:
    classes = [{"name": name, "count": 3, "idle_w": 100, "tdp_w": 300} for name in ("old", "new")]
    found = made(machine=hs.Platform(classes))
    assert found.run.platform.nodes == 6
    assert any("they stay 6" in line for line in comments(found, PLATFORM))
    assert made(machine=platform(5)).run.platform == platform(8)


def test_tables_of_a_machine_are_found_from_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A platform that names its table by a relative path is written with one that holds elsewhere."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "t.csv").write_text("app,node,power_w\n" + "".join(f"a,{k},300\n" for k in range(8)))
    (tmp_path / "in" / "m.toml").write_text('nodes = 8\nidle_w = 100\ntdp_w = 300\nactual = "t.csv"\n')
    monkeypatch.chdir(tmp_path)
    own = hs.read_platform("in/m.toml")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / PLATFORM).write_bytes(run_files(log(), own, hs.Policy.preset("easy"))[PLATFORM])
    assert hs.read_platform("out/platform.toml").actual == own.actual


def test_comments_stand_above_their_tables() -> None:
    data = {"a": 1, "rows": [{"k": 1}, {"k": 2, "deep": {"x": 1}}], "one": {"y": 2}}
    text = toml(data, {"": ["top"], "rows[1]": ["second"], "rows[1].deep": ["deep"], "one": ["w " * 80]})
    assert tomllib.loads(text) == data
    lines = text.splitlines()
    assert lines[0] == "# top"
    for place, comment in (("[[rows]]", "# second"), ("[rows.deep]", "# deep")):
        assert lines[lines.index(comment) + 1] == place
    assert all(len(line) <= 102 for line in lines)
