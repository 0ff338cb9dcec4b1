"""`Platform.from_slurm`: slurm.conf and what scontrol prints (readers page, rules 45 to 48)."""

from __future__ import annotations

import pickle
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hetsched as hs

DUMPS = Path(__file__).parents[2].parent / "shared" / "slurm" / "dumps"

needs_dumps = pytest.mark.skipif(not DUMPS.is_dir(), reason="no recordings of a real Slurm here")

Conf = Callable[..., hs.Platform]


@pytest.fixture
def conf(tmp_path: Path) -> Conf:
    """The platform of a slurm.conf with this text."""

    def read(text: str, **options: Any) -> hs.Platform:
        path = tmp_path / "slurm.conf"
        path.write_text(text)
        return hs.Platform.from_slurm(path, **options)

    return read


def queue(platform: hs.Platform, name: str) -> hs.Queue:
    return next(one for one in platform.queues or () if one.name == name)


@needs_dumps
@pytest.mark.parametrize("files", [["slurm.conf"], ["nodes.txt", "partitions.txt"]])
def test_a_real_machine(files: list[str]) -> None:
    platform = hs.Platform.from_slurm(*(DUMPS / name for name in files), shared=True)
    assert [one.name for one in platform.classes] == ["n[1-2]", "n[3-4]", "n[5-8]"]
    assert [one.weight for one in platform.classes] == [30, 1, 1]
    assert [one.features for one in platform.classes] == [("fast",), ("big",), ()]
    assert {one.memory_gb for one in platform.classes} == {8000 / 1024}
    assert platform.node_names == tuple(f"n{k}" for k in range(1, 9))
    assert platform.slots.tolist() == [4] * 8
    assert platform.queues is not None
    assert [(one.name, one.numbers, one.priority) for one in platform.queues] == [("work", tuple(range(8)), 1)]
    assert (queue(platform, "work").max_walltime_s, queue(platform, "work").default_walltime_s) == (172800.0, None)
    assert platform.licences == ({"fluent": 4} if files == ["slurm.conf"] else None)


@needs_dumps
def test_a_real_slurm_conf_and_what_scontrol_prints_are_one_machine() -> None:
    written = hs.Platform.from_slurm(DUMPS / "slurm.conf")
    shown = hs.Platform.from_slurm(DUMPS / "nodes.txt", DUMPS / "partitions.txt")
    assert written.classes == shown.classes
    assert written.queues == shown.queues


NODES = "NodeName=n[1-4] CPUs=8 RealMemory=16384\n"


def test_the_grammar_of_slurm_conf(conf: Conf) -> None:
    platform = conf(
        "\ufeff# NodeName=none CPUTot=4\r\n"
        "nodename=default RealMemory=2048 CPUs=2 feature=old\r\n"
        'NODENAME = a1 RealMemory=1024 Comment="NodeName=b RealMemory=1" # the rest\n'
        "NodeName=a2 \\\n  RealMemory=4096 \\\nWeight=7\n"
        "NodeName=DEFAULT Features=new RealMemory=3072\n"
        "NodeName=a3\n"
        "NodeName=a4 Comment=a\\#b RealMemory=8192\\\n0 RealMemory=5120\n"
        "Licenses=x\nLicenses=y:2,z\n"
    )
    assert platform.node_names == ("a1", "a2", "a3", "a4")
    assert [one.memory_gb for one in platform.classes] == [1.0, 4.0, 3.0, 5.0]
    assert [one.features for one in platform.classes] == [("old",), ("old",), ("new",), ("new",)]
    assert [one.weight for one in platform.classes] == [1, 7, 1, 1]
    assert platform.licences == {"y": 2, "z": 1}
    assert platform.queues is None


def test_neighbours_alike_in_everything_are_a_class(conf: Conf) -> None:
    platform = conf(
        "NodeName=n1,n2 CPUs=4\nNodeName=n3 CPUs=4\nNodeName=n4 CPUs=4 Weight=2\nNodeName=n5 CPUs=4\n"
        "NodeName=r[1-2]n[01-02] CPUs=4 Gres=gpu\nNodeName=x CPUs=8 Gres=gpu\n"
    )
    names = ["n[1-3]", "n4", "n5", "r[1-2]n[01-02]", "x"]
    assert [(one.name, one.count) for one in platform.classes] == list(zip(names, [3, 1, 1, 4, 1], strict=True))


@pytest.mark.parametrize(
    ("gres", "gpus"),
    [
        ("gpu", 1),
        ("gpu:2", 2),
        ("gpu:a100", 1),
        ("gpu:a100:4(S:0-1)", 4),
        ("GPU:a100:4(S:0,1),gpu:v100:2(S:1),nvme:3", 6),
        ("gpu:no_consume:2", 2),
        ("nic:4", 0),
        ("gpu:0", 0),
        ("gpus:4", 0),
    ],
)
def test_gpus_of_gres(conf: Conf, gres: str, gpus: int) -> None:
    assert conf(f"NodeName=n1 Gres={gres}\n").classes[0].gpus == gpus


@pytest.mark.parametrize(
    ("said", "slots"),
    [
        ("CPUs=6 Sockets=2 CoresPerSocket=4", 6),
        ("Procs=6", 6),
        ("Sockets=2 CoresPerSocket=4 ThreadsPerCore=2", 16),
        ("Boards=2 SocketsPerBoard=2 CoresPerSocket=3", 12),
        ("Boards=2 Sockets=2 CoresPerSocket=3", 6),
        ("Boards=2 CoresPerSocket=3", 6),
        ("RealMemory=1", 1),
        ("CPUs=0", 1),
    ],
)
def test_slots_are_cpus(conf: Conf, said: str, slots: int) -> None:
    shared, whole = conf(f"NodeName=n1 {said}\n", shared=True), conf(f"NodeName=n1 {said}\n")
    assert (shared.slots.tolist(), shared.exclusive) == ([slots], False)
    assert (whole.slots.tolist(), whole.exclusive) == ([1], True)
    assert shared.classes[0].memory_gb is None


def test_partitions_are_queues(conf: Conf) -> None:
    platform = conf(
        NODES + "NodeName=g[1-2] Feature=gpu\nNodeName=f[1-9] State=FUTURE\n"
        "NodeSet=fast Feature=gpu\nNodeSet=some Nodes=n[2-3] Feature=gpu\n"
        "PartitionName=DEFAULT MaxTime=1-0 PriorityTier=5\n"
        "PartitionName=all Nodes=ALL DefaultTime=NONE Default=YES\n"
        "PartitionName=gpu Nodes=fast MaxTime=90 DefaultTime=10:30 PriorityTier=7 MaxNodes=1\n"
        "PartitionName=mixed Nodes=some,n1,f1 MaxTime=UNLIMITED MaxNodes=9\n"
        'PartitionName=none Nodes=""\nPartitionName=later\nPartitionName=future Nodes=f[1-3]\n'
        "PartitionName=DEFAULT MaxTime=2:0:1\n"
        "PartitionName=last Nodes=n4 MaxNodes=UNLIMITED Priority=3 Default=yes\n"
    )
    assert [one.name for one in platform.queues or () if one.default] == ["last"], "the last one that says so"
    told = [(one.name, one.numbers, one.priority, one.max_nodes) for one in platform.queues or ()]
    assert told == [
        ("all", (0, 1, 2, 3, 4, 5), 5, None),
        ("gpu", (4, 5), 7, 1),
        ("mixed", (0, 1, 2, 4, 5), 5, None),
        ("last", (3,), 3, None),
    ]
    times = [(one.max_walltime_s, one.default_walltime_s) for one in platform.queues or ()]
    assert times == [(86400.0, None), (5400.0, 630.0), (None, None), (7201.0, None)]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30", 1800.0),
        ("1:30", 90.0),
        ("1:00:01", 3601.0),
        ("2-12", 216000.0),
        ("2-12:30", 217800.0),
        ("2-12:30:05", 217805.0),
        ("0", None),
        ("infinite", None),
        ("-1", None),
        ("NOT_SET", None),
        ("Partition_Limit", None),
    ],
)
def test_limits_in_slurms_grammar(conf: Conf, text: str, seconds: float | None) -> None:
    platform = conf(f"{NODES}PartitionName=p Nodes=ALL MaxTime={text}\n")
    assert queue(platform, "p").max_walltime_s == seconds


SHOWN_NODE = """NodeName=n1 Arch=x86_64 CoresPerSocket=4
   CPUAlloc=0 CPUEfctv=4 CPUTot=4 CPULoad=7.80
   AvailableFeatures=fast,big
   ActiveFeatures=fast
   Gres=gpu:2(S:0)
   NodeAddr=n1 NodeHostName=n1
   OS=Linux 5.14 #1 SMP Features=none
   RealMemory=2048 AllocMem=0 Sockets=1 Boards=1
   State=DOWN*+DRAIN ThreadsPerCore=1 TmpDisk=0 Weight=3 Owner=N/A
   Reason=RealMemory=1 Weight=9 is wrong [root@2026-01-01T00:00:00]

NodeName=n2 CPUTot=4 AvailableFeatures=(null) Gres=(null) RealMemory=1 State=IDLE

NodeName=n3 CPUTot=4 AvailableFeatures=x State=FUTURE

PartitionName=p
   AllowGroups=ALL AllowAccounts=phys DefaultTime=00:10:00 MaxNodes=1
   MaxTime=UNLIMITED Nodes=n[1-3] PriorityTier=2 State=DOWN TotalNodes=3
"""


@pytest.mark.parametrize("is_one_line", [False, True])
def test_what_scontrol_prints(tmp_path: Path, is_one_line: bool) -> None:
    text = SHOWN_NODE.replace("\n   ", " ") if is_one_line else SHOWN_NODE
    path = tmp_path / "shown"
    path.write_text(text)
    with pytest.warns(hs.errors.PlatformWarning) as said:
        platform = hs.Platform.from_slurm(path, shared=True)
    first, second = platform.classes
    assert (first.features, first.gpus, first.memory_gb, first.weight) == (("big", "fast"), 2, 2.0, 3)
    assert (second.features, second.gpus, second.memory_gb, second.weight) == ((), 0, None, 1)
    assert platform.node_names == ("n1", "n2")
    own = queue(platform, "p")
    assert (own.numbers, own.max_nodes, own.default_walltime_s, own.priority) == ((0, 1), 1, 600.0, 2)
    (warning,) = said
    assert "of nodes State; of partitions AllowAccounts, State;" in str(warning.message)


def test_includes_are_read_where_they_stand(conf: Conf, tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "nodes.conf").write_text("NodeName=b[1-2]\nInclude more.conf\n")
    (tmp_path / "parts" / "more.conf").write_text("NodeName=DEFAULT CPUs=4\nNodeName=c1\n")
    platform = conf("NodeName=a1\ninclude parts/nodes.conf\nNodeName=d1\n", shared=True)
    assert platform.node_names == ("a1", "b1", "b2", "c1", "d1")
    assert platform.slots.tolist() == [1, 1, 1, 4, 4]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ClusterName=x\n", "{conf}: found no NodeName, expected at least one line NodeName=…"),
        ("NodeName=n1 State=FUTURE\n", "{conf}: found FUTURE nodes only"),
        ("\nNodeName=n[1-3\n", "{conf}, line 2, NodeName: found a bracket that is not closed in `n[1-3`"),
        (
            "NodeName=n[1-2]\nNodeName=n2\n",
            "{conf}, line 2, NodeName: found `n2` again, expected each node once; {conf}, line 1",
        ),
        ("NodeName=n1,n1\n", "{conf}, line 1, NodeName: found `n1` again"),
        (NODES + "PartitionName=p Nodes=n[1-2\n", "{conf}, line 2, Nodes: found a bracket that is not closed"),
        (
            NODES + "PartitionName=p Nodes=n[4-5],m1\n",
            "{conf}, line 2, Nodes: found `n5`, `m1`, expected nodes of a line NodeName",
        ),
        (
            NODES + "PartitionName=p Nodes=n1\nPartitionName=p Nodes=n2\n",
            "{conf}, line 3, PartitionName: found `p` again",
        ),
        ("NodeName=n1 RealMemory=8G\n", "{conf}, line 1, RealMemory: found `8G`, expected a whole number"),
        ("NodeName=n1 \\\n CPUs=-4\n", "{conf}, line 1, CPUs: found `-4`"),
        ("NodeName=n1 Weight=1.5\n", "{conf}, line 1, Weight: found `1.5`"),
        ("NodeName=n1 Gres=gpu:a:b:c\n", "{conf}, line 1, Gres: found `gpu:a:b:c`"),
        ("NodeName=n1 Gres=gpu:9999\n", "{conf}, line 1, Gres: found `gpu:9999`, expected at most 1024 GPUs"),
        (NODES + "PartitionName=p Nodes=n1 MaxTime=soon\n", "{conf}, line 2, MaxTime: found `soon`, expected minutes"),
        (NODES + "PartitionName=p Nodes=n1 MaxTime=5 DefaultTime=9\n", "{conf}, line 2, DefaultTime: found `540`"),
        (NODES + "PartitionName=p Nodes=n1 MaxNodes=many\n", "{conf}, line 2, MaxNodes: found `many`"),
        (NODES + "PartitionName=p Nodes=n1 MaxNodes=0\n", "{conf}, line 2, MaxNodes: found `0`"),
        ("NodeName=n1 fast\n", "{conf}, line 1: found `fast`, expected Key=value"),
        ("NodeName=n1\nInclude there.conf\n", "{conf}, line 2, Include: found no such file `there.conf`"),
        ("NodeName=n1\nInclude slurm.conf\n", "{conf}, line 2, Include: found `slurm.conf`, which includes this file"),
        (NODES + "Licenses=a:b\n", "{conf}, line 2, Licenses: found `a:b`"),
        ("", "{conf}: found no NodeName"),
        ('{"nodes": []}', "{conf}: found JSON, expected slurm.conf"),
        ("slurm_load_partitions error\nNodeName=n1 CPUTot=3\n", "{conf}, line 1: found `slurm_load_partitions`"),
        ("NodeName=n1 CPUTot=3\n   RealMemory=x\n", "{conf}, line 2, RealMemory: found `x`"),
    ],
)
def test_errors_name_file_and_line(conf: Conf, tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(hs.ConfigError, match=re.escape(message.format(conf=tmp_path / "slurm.conf"))):
        conf(text)


def test_all_faults_are_reported_at_once(conf: Conf) -> None:
    with pytest.raises(hs.ConfigError) as error:
        conf("NodeName=n1 CPUs=x RealMemory=y\nNodeName=n2 Weight=z\nPartitionName=p Nodes=n3\n")
    assert len(error.value.faults) == 4


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "utf16").write_bytes("NodeName=n1\n".encode("utf-16"))
    for name, found in [("none", "no such file"), (".", "a directory"), ("utf16", "UTF-16")]:
        with pytest.raises(hs.ConfigError, match=found):
            hs.Platform.from_slurm(tmp_path / name)
    with pytest.raises(hs.ConfigError, match="paths: found none"):
        hs.Platform.from_slurm()


def test_watts_by_class_and_feature(conf: Conf) -> None:
    text = "NodeName=n[1-2] Feature=fast,big\nNodeName=m1 Feature=big\nNodeName=m2\nNodeName=m3 Feature=other\n"
    platform = conf(text, tdp_w={"n[1-2]": 900, "big": 600, "*": 300}, idle_w={"other": 50}, off_w=5)
    assert platform.tdp_w.tolist() == [900, 900, 600, 300, 300]
    assert platform.idle_w.tolist() == [100, 100, 100, 100, 50]
    assert {one.off_w for one in platform.classes} == {5.0}
    with pytest.raises(hs.ConfigError, match=re.escape("tdp_w[bog]: found `5`, expected classes or features")):
        conf(text, tdp_w={"bog": 5})
    with pytest.raises(hs.ConfigError, match=r"^tdp_w: found `50`, expected at least the idle draw, 100 W$"):
        conf(text, tdp_w=50)
    with pytest.raises(hs.ConfigError, match=r"^class m2: tdp_w: found `50`"):
        conf(text, tdp_w={"big": 200, "m2": 50})


def test_one_warning_says_what_is_left_out_and_assumed(conf: Conf) -> None:
    text = (
        "SuspendTime=600\nPreemptType=preempt/partition_prio\nMailProg=x\n"
        "NodeName=n1 Feature=a/b,c NodeAddr=10.0.0.1\nPartitionName=p Nodes=n1 AllowGroups=ALL\nPartitionName=q\n"
    )
    with pytest.warns(hs.errors.PlatformWarning) as said:
        conf(text)
    (warning,) = said
    message = str(warning.message)
    for part in ("SuspendTime", "PreemptType", "MailProg", "NodeAddr", "AllowGroups", "a/b", "without nodes: q"):
        assert part in message
    assert "idle_w=100 and tdp_w=400" in message
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        conf("NodeName=n1 CPUs=4\nPartitionName=p Nodes=n1\n", idle_w=100, tdp_w=400)


def test_limits_of_boots_and_shutdowns_are_assumed_as_their_times(conf: Conf) -> None:
    def times(platform: hs.Platform) -> tuple[float | None, ...]:
        (one,) = platform.classes
        return one.boot_s, one.shutdown_s, one.off_w

    nodes = "NodeName=n1\n"
    sleeping = "SuspendTime=600\nSuspendProgram=/bin/off\nResumeProgram=/bin/on\n"
    assert times(conf(nodes)) == (None, None, None)
    with pytest.warns(hs.errors.PlatformWarning, match="assumed of nodes that sleep: boot_s=300 of ResumeTimeout$"):
        assert times(conf(f"ResumeTimeout=300\n{nodes}")) == (300, None, None)
    with pytest.warns(hs.errors.PlatformWarning, match="sleep: boot_s=60, shutdown_s=45 of SuspendTimeout, off_w=10"):
        assert times(conf(f"{sleeping}SuspendTimeout=45\n{nodes}")) == (60, 45, 10)
    assert times(conf(f"{sleeping.replace('600', '-1')}{nodes}")) == (None, None, None)
    assert times(conf(f"{sleeping}{nodes}", boot_s=5, off_w=3)) == (5, 30, 3)
    with pytest.raises(
        hs.ConfigError, match=r"slurm\.conf, line 1, ResumeTimeout: found `soon`, expected a whole numb"
    ):
        conf(f"ResumeTimeout=soon\n{nodes}")


def test_names_and_weights_are_kept(conf: Conf, tmp_path: Path) -> None:
    platform = conf("NodeName=n[1-3] Weight=4\nNodeName=x,y07\nPartitionName=p Nodes=ALL\n")
    assert hs.Platform.from_dict(platform.to_dict()) == platform
    there = pickle.loads(pickle.dumps(platform))
    assert (there.node_names, there._files) == (platform.node_names, platform._files)
    (tmp_path / "machine.toml").write_text(
        '[[classes]]\nname = "a"\ncount = 3\nidle_w = 100\ntdp_w = 400\nnode_names = "n[1-2,07]"\nweight = 4\n'
    )
    read = hs.Platform.from_toml(tmp_path / "machine.toml")
    assert read.node_names == ("n1", "n2", "n07")
    assert read.classes[0].weight == 4
    assert hs.Platform.homogeneous(2, 100, 400).node_names is None
    assert hs.Platform.homogeneous(2, 100, 400, node_names=["b", "a"]).node_names == ("b", "a")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("n[1-3]", "node_names: found 3 names, expected 2, one a node"),
        ("n[1-", "node_names: found a bracket that is not closed"),
        (["a", "a"], "node_names: found `a` twice, expected each name once"),
        (["a", "b[1]"], "node_names: found `['a', 'b[1]']`, expected a host list"),
        ([1, 2], "node_names: found `[1, 2]`"),
        (7, "node_names: found `7`"),
    ],
)
def test_names_that_are_none(names: Any, message: str) -> None:
    with pytest.raises(hs.ConfigError, match=re.escape(message)):
        hs.Platform.homogeneous(2, 100, 400, node_names=names)


def test_names_of_several_classes() -> None:
    one, other = ({"name": name, "count": 2, "idle_w": 100, "tdp_w": 400} for name in "ab")
    with pytest.raises(hs.ConfigError, match="none of class `b`, expected names of all nodes or of none"):
        hs.Platform([one | {"node_names": "n[1-2]"}, other])
    with pytest.raises(hs.ConfigError, match="`n2` in two classes"):
        hs.Platform([one | {"node_names": "n[1-2]"}, other | {"node_names": "n[2-3]"}])


@given(st.text('NodeName=n[1-3] \\#"\nPartitionName=p Nodes=ALL,Include', max_size=200))
def test_hostile_text_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("conf") / "slurm.conf"
    path.write_text("NodeName=a1\n" + text)
    try:
        platform = hs.Platform.from_slurm(path)
    except hs.ConfigError as error:
        assert all(str(path) in place for place, _, _ in error.faults)  # noqa: PT017
    else:
        assert platform.node_names is not None
        assert platform.node_names[0] == "a1"


def named() -> hs.Platform:
    return hs.Platform.homogeneous(3, 100, 400, node_names="n[08-10]")


def test_names_stand_next_to_numbers(tmp_path: Path) -> None:
    jobs = pl.DataFrame(
        {
            "job_id": [1, 2, 3],
            "submit_s": [0, 0, 0],
            "runtime_s": [60, 60, 60],
            "node_count": [2, 1, 9],
            "node_names": ["own"] * 3,
        }
    )
    failure = hs.Events.from_polars(pl.DataFrame({"time_s": [30.0], "kind": ["node_failed"], "node": [2]}))
    result = hs.simulate(hs.Workload.from_polars(jobs), named(), "fcfs", events=failure)
    assert result.nodes["node_name"].to_list() == ["n08", "n09", "n10"]
    assert result.jobs["node_names"].to_list() == [["n08", "n09"], ["n10"], None]
    assert result.jobs["trace_node_names"].to_list() == ["own"] * 3
    told = result.events.filter(pl.col("node").is_not_null())
    assert told["node_name"].to_list() == ["n10"] * len(told)
    assert len(told)
    result.write(tmp_path, csv=True)
    assert hs.read_result(tmp_path) == result
    assert pl.read_csv(tmp_path / "jobs.csv")["node_names"].to_list()[:2] == ["n08 n09", "n10"]
    unnamed = hs.simulate(hs.Workload.from_polars(jobs), hs.Platform.homogeneous(3, 100, 400), "fcfs", events=failure)
    assert "node_name" not in unnamed.nodes.columns
    assert unnamed.jobs.drop("node_names").equals(result.jobs.drop("node_names", "trace_node_names"))
    assert unnamed.events.equals(result.events.drop("node_name"))


def test_names_in_messages() -> None:
    jobs = pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 0], "runtime_s": [60, 60], "node_count": [1, 1]})
    starts = pl.DataFrame({"job_id": [1, 2], "start_s": [0.0, 30.0], "nodes": [[2], [2]]})
    with pytest.raises(hs.ConfigError, match=re.escape("nodes: found node 2 (n10), expected a free node")):
        hs.meter(hs.Workload.from_polars(jobs), named(), starts)
    with pytest.raises(hs.ConfigError, match=re.escape("node 2 (n10) twice")):
        hs.meter(
            hs.Workload.from_polars(jobs.with_columns(node_count=2)),
            named(),
            starts.with_columns(nodes=pl.Series([[2, 2], [0, 1]])),
        )
