"""`Policy.from_slurm_conf` and the preset ``slurm``: settings of Slurm's scheduler out of a slurm.conf."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hetsched.errors import ConfigError
from hetsched.policy.node_lines import by_class, lines_in
from hetsched.policy.slurm_conf import SlurmConf, read_slurm_conf
from hetsched.policy.slurm_options import OPTIONS, Covered, Unsupported

RECORDED = sorted((Path(__file__).parents[1] / "data" / "slurm").glob("*/slurm.conf"))
SHARED = Path(__file__).parents[2].parent / "shared" / "slurm"

NODES = "NodeName=n[1-4] CPUs=8\nPartitionName=work Nodes=ALL\n"
MODERN = "SelectType=select/cons_tres\n"

Reading = Callable[..., SlurmConf]


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reading:
    """Settings of a slurm.conf with this text, which begins on line 1."""
    monkeypatch.chdir(tmp_path)

    def settings(text: str, *, release: str = "22.05", **options: Any) -> SlurmConf:
        Path("slurm.conf").write_text(text, encoding="utf-8")
        return read_slurm_conf("slurm.conf", release=release, **options)

    return settings


def faults_of(read: Reading, text: str, **options: Any) -> list[str]:
    with pytest.raises(ConfigError) as raised:
        read(text, **options)
    return str(raised.value).splitlines()


# ------------------------------------------------------------------------------------------------- options one by one


@pytest.mark.parametrize(
    ("line", "parameter", "value"),
    [
        ("SchedulerType=sched/builtin", "scheduler_type", "builtin"),
        ("schedulertype = Sched/Backfill", "scheduler_type", "backfill"),
        ("KillWait=2", "kill_wait", 2),
        ("Epilog=/usr/bin/epilog", "epilog", True),
        ("PrologSlurmctld=/usr/bin/prolog", "prolog_slurmctld", True),
        ("PriorityMaxAge=7-0", "priority_max_age", 604_800),
        ("PriorityMaxAge=1-12:00:00", "priority_max_age", 129_600),
        ("PriorityMaxAge=90", "priority_max_age", 5400),
        ("PriorityCalcPeriod=5", "priority_calc_period", 300),
        ("PriorityCalcPeriod=0:30", "priority_calc_period", 60),
        ("PriorityFavorSmall=YES", "priority_favor_small", True),
        ("PriorityFavorSmall=no", "priority_favor_small", False),
        ("SuspendTime=-1", "suspend_time", "none"),
        ("SuspendTime=INFINITE", "suspend_time", "none"),
        ("SuspendTimeout=45", "suspend_timeout", 45),
        ("ResumeTimeout=600", "resume_timeout", 600),
        ("SuspendRate=0", "suspend_rate", 0),
        ("ResumeRate=12", "resume_rate", 12),
        ("SlurmctldParameters=enable_configless,power_save_interval=5", "power_save_interval", 5),
        ("SlurmctldParameters=power_save_min_interval=20", "power_save_min_interval", 20),
        ("SchedulerParameters=sched_interval=-1", "sched_interval", -1),
        ("SchedulerParameters=bf_interval=-1", "bf_interval", -1),
        ("SchedulerParameters=BF_Window=2880", "bf_window", 2880),
        ("SchedulerParameters=max_job_bf=50", "bf_max_job_test", 50),
        ("SchedulerParameters=defer", "defer", True),
        ("SchedulerParameters=bf_running_job_reserve", "bf_running_job_reserve", True),
        ('SchedulerParameters="bf_continue, bf_max_job_user = 7"', "bf_max_job_user", 7),
    ],
)
def test_options_become_parameters(read: Reading, line: str, parameter: str, value: Any) -> None:
    found = read(f"{MODERN}{line}\n{NODES}")
    assert found.settings[parameter] == value
    assert type(found.settings[parameter]) is type(value)
    assert found.places[parameter].startswith("slurm.conf, line 2, ")
    assert found.said == ""


@pytest.mark.parametrize("name", [name for name, _ in OPTIONS["SchedulerParameters"].values()])
def test_every_scheduler_parameter_has_a_place(read: Reading, name: str) -> None:
    option = OPTIONS["SchedulerParameters"][name.lower()][1]
    is_flag = isinstance(option, Covered) and option.read("") is True if _takes_nothing(option) else False
    text = f"{MODERN}SchedulerParameters={name}{'' if is_flag else '=77'}\n{NODES}"
    if isinstance(option, Unsupported) and not option.within:
        (fault,) = faults_of(read, text)
        assert fault.startswith(f"slurm.conf, line 2, {name}: found `77`, expected ")
        assert "unsupported=warn" in fault
    else:
        assert read(text).said == ""
        assert set(read(text).settings) - {"node_lines", "bf_running_job_reserve"} == (
            {option.parameter} - {"bf_running_job_reserve"} if isinstance(option, Covered) else set()
        )


def _takes_nothing(option: object) -> bool:
    try:
        return isinstance(option, Covered) and option.read("") is True
    except ValueError:
        return False


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("SchedulerType=sched/backfil", "SchedulerType: found `sched/backfil`, expected sched/backfill or sched/bu"),
        ("KillWait=soon", "KillWait: found `soon`, expected a whole number from 0 to 65533"),
        ("PriorityMaxAge=7d", "PriorityMaxAge: found `7d`, expected minutes, or a time such as 1-12:00:00, above 0"),
        ("PriorityFavorSmall=maybe", "PriorityFavorSmall: found `maybe`, expected YES or NO"),
        ("PriorityType=priority/fair", "PriorityType: found `priority/fair`, expected priority/basic or priority/mul"),
        ("SuspendTime=5m", "SuspendTime: found `5m`, expected seconds: a whole number from 0, or INFINITE"),
        ("SchedulerParameters=bf_interval", "bf_interval: found nothing, expected a whole number from 1 to 10800"),
        ("SchedulerParameters=bf_interval=0", "bf_interval: found `0`, expected a whole number from 1 to 10800, or"),
        ("SchedulerParameters=bf_interval=,defer", "bf_interval: found nothing behind =, expected bf_interval=VALUE"),
        ("SchedulerParameters=bf_licenses=no", "bf_licenses: found `no`, expected the word alone"),
        ("SlurmctldParameters=power_save_interval=x", "power_save_interval: found `x`, expected a whole number"),
        ("CompleteWait=32", "CompleteWait: found `32`, expected 0: the pause of both loops"),
        ("OverTimeLimit=UNLIMITED", "OverTimeLimit: found `UNLIMITED`, expected 0"),
        ("PreemptType=preempt/qos", "PreemptType: found `preempt/qos`, expected preempt/none: preemption is not"),
        ("PreemptMode=SUSPEND,GANG", "PreemptMode: found `SUSPEND,GANG`, expected OFF"),
        ("TopologyPlugin=topology/tree", "TopologyPlugin: found `topology/tree`, expected topology/flat"),
        ("SelectType=select/linear", "SelectType: found `select/linear`, expected select/cons_tres"),
        ("SelectTypeParameters=CR_Core,CR_LLN", "SelectTypeParameters: found `CR_Core,CR_LLN`, expected no CR_LLN"),
        ("GresTypes=gpu", "GresTypes: found `gpu`, expected nothing: generic resources are not simulated"),
        ("AccountingStorageEnforce=associations,limits", "AccountingStorageEnforce: found `associations,limits`"),
        ("SchedulerParameters=bf_busy_nodes", "bf_busy_nodes: found bf_busy_nodes alone, expected nothing"),
        ("SuspendExcNodes=n[1-2]:1", "SuspendExcNodes: found `n[1-2]:1`, expected names without :COUNT"),
        ("SuspendExcNodes=n[1-9]", "SuspendExcNodes: found `n5`, `n6`, `n7`, `n8`, `n9`, expected nodes of a line"),
        ("SuspendExcParts=wrok", "SuspendExcParts: found `wrok`, expected partitions of a line PartitionName: work; "),
        ("DownNodes=n1 State=DOWN", "DownNodes: found `n1`, expected nothing: nodes that are down are not simulated"),
        ("NodeName=x1 Gres=gpu:2", "Gres: found `gpu:2`, expected nothing: generic resources are not simulated"),
        ("NodeName=x1 State=CLOUD", "State: found `CLOUD`, expected UNKNOWN"),
        ("NodeName=x1 Weight=heavy", "Weight: found `heavy`, expected a whole number"),
        ("NodeName=x[1-", "NodeName: found a bracket that is not closed"),
        ("PartitionName=p Nodes=n1 OverSubscribe=FORCE:2", "OverSubscribe: found `FORCE:2`, expected EXCLUSIVE"),
        ("PartitionName=p Nodes=n1 MinNodes=2", "MinNodes: found `2`, expected 1"),
        ("PartitionName=p Nodes=n[1-3] MaxNodes=2", "MaxNodes: found `2`, expected UNLIMITED, or the number"),
        ("PartitionName=p Nodes=n1 State=DRAIN", "State: found `DRAIN`, expected UP"),
        ("PartitionName=p Nodes=n1 LLN=YES", "LLN: found `YES`, expected NO"),
        ("PartitionName=p Nodes=n1 QOS=normal", "QOS: found `normal`, expected nothing"),
        ("SchedulerParameters=sched_interval=-1,bf_interval=-1", "sched_interval: found -1 without backfill"),
        ("SchedulerParameters=bf_window=1,bf_resolution=600", "bf_window: found 60 s with bf_resolution 600 s"),
    ],
)
def test_what_cannot_be_names_its_line(read: Reading, line: str, fault: str) -> None:
    text = f"# a comment\n{'' if 'SelectType=' in line else MODERN}\n{line}\n{NODES}"
    (found,) = faults_of(read, text)
    number = next(place for place, one in enumerate(text.splitlines(), 1) if one == line)
    assert found.startswith(f"slurm.conf, line {number}, {fault}")


def test_all_faults_come_at_once_in_the_order_of_the_lines(read: Reading) -> None:
    text = (
        "KillWait=x\nNodeName=DEFAULT Gres=gpu:1\nNodeName=n1\nNodeName=n[2-3] Weight=-1\n"
        "PartitionName=p Nodes=n1,m9\nPreemptType=preempt/qos\nInclude more.conf\n"
    )
    Path("more.conf").write_text("\nSchedulerParameters=bf_interval=x,\\\nbf_resolution=y\n")
    found = faults_of(read, text)
    places = [one.partition(": found")[0] for one in found]
    assert places == [
        "more.conf, line 2, bf_interval",
        "more.conf, line 2, bf_resolution",
        "slurm.conf, line 1, KillWait",
        "slurm.conf, line 2, Gres",
        "slurm.conf, line 4, Weight",
        "slurm.conf, line 6, PreemptType",
    ]
    assert [one for one in found if "unsupported=warn" in one] == found[-1:]


def test_a_file_that_is_none(read: Reading, tmp_path: Path) -> None:
    assert faults_of(read, "") == ["slurm.conf: found no option, expected slurm.conf"]
    assert faults_of(read, "NodeName=n1 Arch=x86_64 CPUTot=4\n") == [
        "slurm.conf: found what scontrol prints, expected slurm.conf"
    ]
    assert faults_of(read, "hello world\n")[0].startswith("slurm.conf, line 1: found `hello`, expected Key=value")
    with pytest.raises(ConfigError, match=r"nowhere\.conf: found no such file"):
        read_slurm_conf("nowhere.conf", release="22.05")
    with pytest.raises(ConfigError, match="a directory"):
        read_slurm_conf(tmp_path, release="22.05")


# ------------------------------------------------------------------------------------- what is said and what is implied


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SchedulrType=sched/builtin\n", "not known, and left out: `SchedulrType` (line 1, perhaps `SchedulerType`)"),
        ("Wombat=1\n", "not known, and left out: `Wombat` (line 1)"),
        ("SchedulerParameters=bf_intervall=3\n", "`bf_intervall` of SchedulerParameters (line 1, perhaps `bf_interv"),
        ("bf_max_time=5\n", "`bf_max_time` (line 1, which belongs to SchedulerParameters)"),
        ("SchedulerParameters=power_save_interval=9\n", "(line 1, which belongs to SlurmctldParameters)"),
        (
            "SchedulerParameters=bf_window=9,bf_window=8\n",
            "line 1: bf_window is there twice in SchedulerParameters, of ",
        ),
        ("SchedulerParameters=bf_max_job_test=9,max_job_bf=8\n", "max_job_bf is an earlier name of bf_max_job_test"),
        ("KillWait=9\nKillWait=8\n", "line 1: KillWait does not count, as line 2 has it again"),
        ("Prolog=/bin/p\n", "line 1: Prolog runs before a job's script, for which start_s can stand"),
        ("EpilogSlurmctld=/bin/p\n", "clean_up_s can stand for"),
        (
            "PriorityWeightAge=9\n",
            "PriorityWeightAge without effect under priority/basic, the default in release 22.05",
        ),
        ("PriorityType=priority/basic\nPriorityWeightAge=9\n", "PriorityWeightAge without effect under priority/basic"),
        ("SuspendTime=600\n", "SuspendTime without SuspendProgram and ResumeProgram: Slurm saves no power"),
        ("SuspendTime=9\nSuspendProgram=a\nResumeProgram=b\n", "SuspendTime is below SuspendTimeout and ResumeTim"),
        ("SchedulerType=sched/builtin\nSchedulerParameters=bf_interval=9\n", "bf_interval without effect under sched/"),
        ("SchedulerParameters=bf_max_job_part=600\n", "bf_max_job_part is not below bf_max_job_test, 500"),
        (
            "SchedulerParameters=bf_window=60\nNodeName=m\nPartitionName=long Nodes=m MaxTime=2-0\n",
            "line 1: bf_window is shorter than MaxTime=2-0 of partition long",
        ),
    ],
)
def test_what_is_left_out_is_said(read: Reading, text: str, said: str) -> None:
    found = read(f"{text}{MODERN}{NODES}")
    assert said in found.said
    assert "; " not in found.said.replace(said, "")


def test_what_is_not_simulated_is_left_out_if_asked(read: Reading) -> None:
    text = f"{MODERN}PreemptType=preempt/qos\nSchedulerParameters=bf_busy_nodes,bf_interval=9\n{NODES}"
    found = read(text, unsupported="warn")
    assert found.said == "not simulated, and left out: PreemptType=preempt/qos (line 2), bf_busy_nodes (line 3)"
    assert found.settings["bf_interval"] == 9


def test_options_without_effect_here_are_no_fault(read: Reading) -> None:
    basic = "PriorityWeightFairshare=9\nPriorityFlags=MAX_TRES\nPriorityWeightTRES=cpu=9\n"
    assert "priority/basic" in read(f"PriorityType=priority/basic\n{basic}{MODERN}{NODES}").said
    assert read(f"SuspendExcStates=DOWN\n{MODERN}{NODES}").said == ""
    assert read(f"PartitionName=p Nodes=n[1-3] MaxNodes=3\nPartitionName=q QOS=x\n{MODERN}{NODES}").said == ""
    slurmdbd = "AccountingStorageType=accounting_storage/slurmdbd\nPriorityType=priority/multifactor\n"
    factors = "PartitionName=p Nodes=n1 PriorityJobFactor=1\nPriorityWeightPartition=9\n"
    assert read(f"{slurmdbd}{factors}{MODERN}{NODES}").said == ""
    (found,) = faults_of(read, f"{slurmdbd}{factors.replace('=1', '=2')}{MODERN}{NODES}".replace("n2", "n1"))
    assert "PriorityWeightPartition" in found
    power = "SuspendTime=600\nSuspendProgram=a\nResumeProgram=b\n"
    own = "PartitionName=p Nodes=n1 SuspendTime={}\n"
    assert read(f"{power}{own.format(600)}{MODERN}{NODES}").said == ""
    assert "SuspendTime" in faults_of(read, f"{power}{own.format(60)}{MODERN}{NODES}")[0]
    assert read(f"{own.format(60)}{MODERN}{NODES}").said == ""


def test_weights_need_accounting(read: Reading) -> None:
    text = f"PriorityType=priority/multifactor\nPriorityWeightAge=9\nPriorityWeightJobSize=8\n{MODERN}{NODES}"
    found = read(text)
    assert found.said == "line 2: PriorityWeightAge taken as 0, as Slurm does without accounting_storage/slurmdbd"
    assert (found.settings["priority_weight_age"], found.settings["priority_weight_size"]) == (0, 8)
    found = read(f"AccountingStorageType=accounting_storage/slurmdbd\n{text}")
    assert (found.settings["priority_weight_age"], found.said) == (9, "")
    fair = f"AccountingStorageType=accounting_storage/slurmdbd\nPriorityWeightFairshare=5\n{text}"
    assert faults_of(read, fair)[0].startswith("slurm.conf, line 2, PriorityWeightFairshare: found `5`, expected 0")


def test_defaults_follow_the_release(read: Reading) -> None:
    assert "priority_type" not in read(MODERN + NODES).settings
    assert read(MODERN + NODES, release="23.11").settings["priority_type"] == "multifactor"
    assert read(f"PriorityType=priority/basic\n{NODES}", release="23.11").settings["priority_type"] == "basic"
    assert "select/linear is the default in release 22.05" in read(NODES).said
    assert read(NODES, release="24.05").said == ""


def test_licences_imply_reservations_of_running_jobs(read: Reading) -> None:
    settings = read(f"{MODERN}SchedulerParameters=bf_licenses\n{NODES}").settings
    assert (settings["bf_licenses"], settings["bf_running_job_reserve"]) == (True, True)


def test_nodes_that_never_sleep_and_lines_of_nodes(read: Reading) -> None:
    text = (
        f"{MODERN}SuspendExcNodes=a[1-2],fat\nSuspendExcParts=login\n"
        "NodeName=DEFAULT Sockets=2 CoresPerSocket=8 Weight=7\nNodeName=a[1-3] CPUs=4\nNodeName=b[1-2]\n"
        "NodeName=c[1-9] State=FUTURE\nNodeName=d1 Weight=1\nNodeName=e[1-2] Boards=1 CPUs=4 Feature=big\n"
        "NodeSet=fat Feature=big\nPartitionName=login Nodes=d1\nPartitionName=all Nodes=ALL\n"
    )
    settings = read(text).settings
    assert settings["suspend_exclude"] == "0-1,5-7"
    assert settings["node_lines"] == "3*4*7+2*16*7+1*16*1+2*4*7"
    assert "suspend_exclude" not in read(MODERN + NODES).settings


def test_power_saving(read: Reading) -> None:
    text = f"{MODERN}SuspendTime=600\nSuspendProgram=/bin/s\nResumeProgram=/bin/r\nSuspendRate=20\n{NODES}"
    assert read(text).settings["suspend_time"] == 600
    assert read(text.replace("ResumeProgram", "#")).settings["suspend_time"] == "none"


def test_the_grammar_is_that_of_slurm(read: Reading) -> None:
    Path("nodes.conf").write_text("NODENAME=n[1-2] cpus=2 # two\n")
    text = (
        "﻿selecttype=select/cons_tres # the usual\r\nschedulerparameters=bf_interval=7,\\\r\nbf_window=90\r\n"
        "include nodes.conf\r\n#KillWait=1\r\n"
    )
    settings = read(text).settings
    assert (settings["bf_interval"], settings["bf_window"], settings["node_lines"]) == (7, 90, "2*2*1")
    assert "kill_wait" not in settings


@pytest.mark.skipif(not SHARED.is_dir(), reason="no files of a real Slurm here")
@pytest.mark.parametrize("name", ["slurm.conf.template", "dumps/slurm.conf"])
def test_files_of_a_real_cluster(name: str) -> None:
    found = read_slurm_conf(SHARED / name, release="22.05")
    assert found.said == ""
    assert found.settings["kill_wait"] == 2


@pytest.mark.parametrize("conf", RECORDED, ids=lambda conf: conf.parent.name)
def test_files_of_recordings(conf: Path) -> None:
    found = read_slurm_conf(conf, release="22.05")
    assert "not known" not in found.said
    assert sum(count for count, _, _ in lines_in(found.settings["node_lines"])) == 8
    written = conf.read_text(encoding="utf-8")
    for name in ("bf_interval", "batch_sched_delay", "bf_max_job_test", "bf_window_linear"):
        if (given := re.search(rf"\b{name}=([0-9]+)", written)) is not None:
            assert found.settings[name] == int(given[1])


def test_lines_of_nodes_of_a_machine_that_changes() -> None:
    lines = lines_in("2*4*1+3*8*2+1*1*1")
    assert by_class(lines, [4, 2], [6, 1]) == [[(2, 4, 1), (2, 8, 2), (2, 4, 1)], [(1, 8, 2)]]
    assert by_class(lines, [4, 2], [1, 0]) == [[(1, 4, 1)], []]
    assert lines_in("") == lines_in("4*8") == []
