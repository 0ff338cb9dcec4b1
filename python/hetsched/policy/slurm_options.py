"""Options of slurm.conf, each with what becomes of it in the preset ``slurm``: one table.

The table holds the options of Slurm 22.05 to 26.05 (`src/common/read_config.c`, the manual page slurm.conf(5), and what
the source looks for in SchedulerParameters and SlurmctldParameters). An option is covered by a parameter of the
backfill ``slurm``, or has no effect on the schedule of batch jobs that get whole nodes, or is not simulated: then the
its row lists the values that do no harm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from hetsched.slurm_files.values import A_TIME, seconds_of


class NotReadError(ValueError):
    """A value does not read; its text says what would be right."""


@dataclass(frozen=True)
class Covered:
    """An option that a parameter of the backfill ``slurm`` takes."""

    parameter: str
    read: Callable[[str], Any]


@dataclass(frozen=True)
class Elsewhere:
    """An option that the platform reads, or the schedule needs in another form than as a number."""


@dataclass(frozen=True)
class Ignored:
    """An option without effect on the schedule of batch jobs that get whole nodes."""


@dataclass(frozen=True)
class Advice:
    """An option that changes how long something takes, which another parameter says."""

    text: str


@dataclass(frozen=True)
class Unsupported:
    """An option that is not simulated."""

    right: str
    """Description of a right value, for a message."""
    what: str
    """Subject of a message's ending ``not simulated``, with its verb."""
    harmless: frozenset[str] = frozenset()
    """Values without effect, in small letters; of a list each item counts."""
    harmful: frozenset[str] = frozenset()
    """If not empty, the only values with an effect."""
    within: str = ""
    """The only priority type or feature with which it has an effect: ``multifactor``, ``power``, ``slurmdbd``."""
    like_the_machine: bool = False
    """True of a partition's option that says the same as the machine's does no harm."""


Option = Covered | Elsewhere | Ignored | Advice | Unsupported


def whole(low: int = 0, high: int = 2**31 - 1, *, or_minus_one: bool = False) -> Callable[[str], int]:
    """A reader of whole numbers."""
    expected = f"a whole number from {low} to {high}" if high < 2**31 - 1 else f"a whole number from {low}"

    def read(text: str) -> int:
        if or_minus_one and text == "-1":
            return -1
        is_number = text.isascii() and text.isdecimal() and len(text) < 20
        if not is_number or not low <= int(text) <= high:
            raise NotReadError(f"{expected}{', or -1' if or_minus_one else ''}")
        return int(text)

    return read


def switch(text: str) -> bool:
    """A flag, as ``YES`` or ``NO``."""
    words = {"yes": True, "up": True, "true": True, "1": True, "no": False, "down": False, "false": False, "0": False}
    if text.lower() not in words:
        raise NotReadError("YES or NO")
    return words[text.lower()]


def flag(text: str) -> bool:
    """A word that is enough by itself: Slurm looks for it and not for what follows."""
    if text.lower() not in ("", "yes", "true", "1"):
        raise NotReadError("the word alone, or none at all: Slurm sets it whatever follows")
    return True


def is_set(text: str) -> bool:
    """A program's path: true if there is one."""
    return bool(text)


def minutes(text: str) -> int:
    """A time in minutes or as ``7-0``, in seconds."""
    seconds = seconds_of(text)
    if not seconds:
        raise NotReadError(f"{A_TIME}, above 0")
    return -(-seconds // 60) * 60


def idle_time(text: str) -> int | str:
    """Seconds until a node is put to sleep; ``none`` if none ever is."""
    if text.lower() in ("-1", "none", "infinite"):
        return "none"
    try:
        return whole()(text)
    except NotReadError as error:
        raise NotReadError(f"seconds: {error}, or INFINITE") from None


def word(prefix: str, *known: str) -> Callable[[str], str]:
    """A reader of one of some plug-ins."""

    def read(text: str) -> str:
        plain = text.lower().removeprefix(prefix)
        if plain not in known:
            raise NotReadError(" or ".join(f"{prefix}{one}" for one in known))
        return plain

    return read


def _unsupported(right: str, what: str, *harmless: str, **more: Any) -> Unsupported:
    return Unsupported(right, what, frozenset(harmless), **more)


def _harmful(right: str, what: str, *harmful: str, **more: Any) -> Unsupported:
    return Unsupported(right, what, harmful=frozenset(harmful), **more)


_ENFORCED = ("associations", "nojobs", "nosteps", "wckeys", "none", "")
_FAIR = "what only the accounting database knows is"

_MACHINE: dict[str, Option] = {
    "SchedulerType": Covered("scheduler_type", word("sched/", "backfill", "builtin")),
    "KillWait": Covered("kill_wait", whole(high=65533)),
    "Epilog": Covered("epilog", is_set),
    "PrologSlurmctld": Covered("prolog_slurmctld", is_set),
    "PriorityType": Covered("priority_type", word("priority/", "basic", "multifactor")),
    "PriorityWeightAge": Covered("priority_weight_age", whole()),
    "PriorityWeightJobSize": Covered("priority_weight_size", whole()),
    "PriorityMaxAge": Covered("priority_max_age", minutes),
    "PriorityCalcPeriod": Covered("priority_calc_period", minutes),
    "PriorityFavorSmall": Covered("priority_favor_small", switch),
    "SuspendTime": Covered("suspend_time", idle_time),
    "SuspendTimeout": Covered("suspend_timeout", whole(high=65533)),
    "ResumeTimeout": Covered("resume_timeout", whole(high=65533)),
    "SuspendRate": Covered("suspend_rate", whole(high=65533)),
    "ResumeRate": Covered("resume_rate", whole(high=65533)),
    **dict.fromkeys(
        ("SchedulerParameters", "SlurmctldParameters", "SuspendExcNodes", "SuspendExcParts", "SuspendProgram"),
        Elsewhere(),
    ),
    **dict.fromkeys(("ResumeProgram", "AccountingStorageType", "Licenses"), Elsewhere()),
    "DownNodes": _unsupported("nothing", "nodes that are down are"),
    "EpilogSlurmctld": Advice("nodes are completing until EpilogSlurmctld has ended, which clean_up_s can stand for"),
    "Prolog": Advice("Prolog runs before a job's script, for which start_s can stand"),
    "CompleteWait": _unsupported("0", "the pause of both loops while jobs are completing is", "0"),
    "OverTimeLimit": _unsupported("0", "jobs that go on beyond their limit are", "0"),
    "PreemptType": _unsupported("preempt/none", "preemption is", "preempt/none", "none"),
    "PreemptMode": _harmful("OFF", "gang scheduling is", "gang", "suspend", "within"),
    "TopologyPlugin": _unsupported(
        "topology/flat",
        "topologies are",
        *("topology/none", "topology/default", "topology/flat", "none", "default", "flat"),
    ),
    "SelectType": _unsupported(
        "select/cons_tres",
        "other choices of nodes are",
        "select/cons_tres",
        "select/cons_res",
        "cons_tres",
        "cons_res",
    ),
    "SelectTypeParameters": _harmful(
        "no CR_LLN", "the choice of the least loaded nodes is", "cr_lln", "ll_shared_gres"
    ),
    "GresTypes": _unsupported("nothing", "generic resources are", "", "none"),
    "AccountingStorageEnforce": _unsupported(
        "associations or nothing", "limits of associations and QOS are", *_ENFORCED
    ),
    "PriorityFlags": _unsupported(
        "ACCRUE_ALWAYS or nothing",
        "what other flags change is",
        "accrue_always",
        "none",
        "",
        within="multifactor",
    ),
    "PriorityWeightAssoc": _unsupported("0", _FAIR, "0", within="slurmdbd"),
    "PriorityWeightFairshare": _unsupported("0", _FAIR, "0", within="slurmdbd"),
    "PriorityWeightQOS": _unsupported("0", _FAIR, "0", within="slurmdbd"),
    "PriorityWeightTRES": _unsupported("nothing", "weights of TRES are", "", within="multifactor"),
    "PriorityWeightPartition": _unsupported(
        "0, or one PriorityJobFactor for all partitions",
        "factors of partitions are",
        "0",
        within="multifactor",
    ),
    "PrioritySiteFactorPlugin": _unsupported("nothing", "a site's own plug-in is", "", "none", within="multifactor"),
    "SuspendExcStates": _unsupported("nothing", "states that keep nodes awake are", "", within="power"),
    "NodeFeaturesPlugins": _unsupported("nothing", "reboots for features are", "", "none"),
    "BurstBufferType": _unsupported("nothing", "burst buffers are", "", "none", "burst_buffer/none"),
    "PowerPlugin": _unsupported("nothing", "Slurm's power capping is", "", "none", "power/none"),
    "FrontendName": _unsupported("NodeName", "front ends are"),
    "PowerAction": _unsupported("nothing", "programs that an operator calls are", within="power"),
}

_SCHEDULER: dict[str, Option] = {
    "batch_sched_delay": Covered("batch_sched_delay", whole()),
    "sched_interval": Covered("sched_interval", whole(1, or_minus_one=True)),
    "default_queue_depth": Covered("default_queue_depth", whole()),
    "partition_job_depth": Covered("partition_job_depth", whole()),
    "sched_max_job_start": Covered("sched_max_job_start", whole()),
    "defer": Covered("defer", flag),
    "bf_interval": Covered("bf_interval", whole(1, 10_800, or_minus_one=True)),
    "bf_window": Covered("bf_window", whole(1, 43_200)),
    "bf_resolution": Covered("bf_resolution", whole(1, 3600)),
    "bf_window_linear": Covered("bf_window_linear", whole()),
    "bf_max_job_test": Covered("bf_max_job_test", whole(1, 1_000_000)),
    "max_job_bf": Covered("bf_max_job_test", whole(1, 1_000_000)),
    "bf_max_job_start": Covered("bf_max_job_start", whole(0, 10_000)),
    "bf_max_job_part": Covered("bf_max_job_part", whole(0, 1_000_000)),
    "bf_max_job_user": Covered("bf_max_job_user", whole(0, 1_000_000)),
    "bf_node_space_size": Covered("bf_node_space_size", whole(2, 2_000_000)),
    "bf_min_prio_reserve": Covered("bf_min_prio_reserve", whole(0, 2**32 - 1)),
    "bf_min_age_reserve": Covered("bf_min_age_reserve", whole(0, 2_592_000)),
    "bf_job_part_count_reserve": Covered("bf_job_part_count_reserve", whole(0, 100_000)),
    "bf_licenses": Covered("bf_licenses", flag),
    "bf_running_job_reserve": Covered("bf_running_job_reserve", flag),
    "bf_max_job_assoc": _unsupported("0", "limits of associations are", "0"),
    "bf_max_job_user_part": _unsupported("0", "a limit for each user and partition is", "0"),
    "bf_busy_nodes": _unsupported("nothing", "the preference for nodes in use is"),
    "pack_serial_at_end": _unsupported("nothing", "the place of serial jobs is"),
    "reduce_completing_frag": _unsupported("nothing", "what goes with CompleteWait is"),
    "bf_topopt_enable": _unsupported("nothing", "topologies are"),
    "time_min_as_soft_limit": _unsupported("nothing", "soft limits are"),
    "sbatch_wait_nodes": _unsupported("nothing", "jobs that wait for all of their nodes to boot are", within="power"),
}

_SLURMCTLD: dict[str, Option] = {
    "power_save_interval": Covered("power_save_interval", whole(high=65535)),
    "power_save_min_interval": Covered("power_save_min_interval", whole(high=65535)),
    "max_powered_nodes": _unsupported("nothing", "a limit on nodes that are awake is", within="power"),
    "enable_expedited_requeue": _unsupported("nothing", "expedited requeues are"),
}

_NODE: dict[str, Option] = {
    **dict.fromkeys(
        ("NodeName", "CPUs", "Procs", "Boards", "SocketsPerBoard", "Sockets", "CoresPerSocket", "ThreadsPerCore"),
        Elsewhere(),
    ),
    **dict.fromkeys(("Weight", "RealMemory", "Features", "Feature"), Elsewhere()),
    "Gres": _unsupported("nothing", "generic resources are", ""),
    "State": _unsupported(
        "UNKNOWN",
        "nodes that are down or of a cloud are",
        *("unknown", "idle", "future", "up"),
    ),
    "SuspendTime": _unsupported("nothing", "times of some nodes alone are", within="power"),
}

_PARTITION: dict[str, Option] = {
    **dict.fromkeys(
        ("PartitionName", "Nodes", "PriorityTier", "Priority", "MaxTime", "DefaultTime", "Default"), Elsewhere()
    ),
    "PriorityJobFactor": Elsewhere(),
    "OverSubscribe": _unsupported("EXCLUSIVE", "jobs that share nodes are", "exclusive", "no"),
    "Shared": _unsupported("EXCLUSIVE", "jobs that share nodes are", "exclusive", "no"),
    "MinNodes": _unsupported("1", "a partition's limits on the size of jobs are", "0", "1"),
    "MaxNodes": _unsupported(
        "UNLIMITED, or the number of its nodes",
        "a partition's limits on the size of jobs are",
        "unlimited",
        "infinite",
    ),
    "LLN": _unsupported("NO", "the choice of the least loaded nodes is", "no", "0", "false"),
    "QOS": _unsupported("nothing", "limits of QOS are", "", "none", "n/a"),
    "OverTimeLimit": _unsupported("0", "jobs that go on beyond their limit are", "0", "none"),
    "PowerDownOnIdle": _unsupported("NO", "power-down at once is", "no", "0", "false", within="power"),
    "ReqResv": _unsupported("NO", "reservations are", "no", "0", "false"),
    "State": _unsupported("UP", "partitions that do not run jobs are", "up"),
    "SelectTypeParameters": _harmful("no CR_LLN", "the choice of the least loaded nodes is", "cr_lln"),
    "PreemptMode": _harmful("OFF", "gang scheduling is", "gang", "suspend", "within"),
    **dict.fromkeys(
        ("SuspendTime", "SuspendTimeout", "ResumeTimeout"),
        _unsupported("the machine's value", "times of some nodes alone are", within="power", like_the_machine=True),
    ),
}

_WITHOUT_EFFECT = {
    "machine": """
        AccountingStorageBackupHost AccountingStorageExternalHost AccountingStorageHost AccountingStorageLoc
        AccountingStorageParameters AccountingStoragePass AccountingStoragePort AccountingStorageTRES
        AccountingStorageUser AccountingStoreFlags AccountingStoreJobComment AcctGatherEnergyType
        AcctGatherFilesystemType AcctGatherInfinibandType AcctGatherInterconnectType AcctGatherNodeFreq
        AcctGatherProfileType AllowSpecResourcesUsage AuthAltParameters AuthAltTypes AuthInfo AuthType BackupAddr
        BackupController BatchStartTimeout BcastExclude BcastParameters BurstBufferParameters CacheGroups
        CertgenParameters CertgenType CertmgrParameters CertmgrType CheckpointType CliFilterParameters CliFilterPlugins
        ClusterName CommunicationParameters ControlAddr ControlMachine CoreSpecPlugin CpuFreqDef CpuFreqGovernors
        CredType CryptoType DataParserParameters DebugFlags DefCpuPerGPU DefMemPerCPU DefMemPerGPU DefMemPerNode
        DefRuntimePlugin DefaultStorageHost DefaultStorageLoc DefaultStoragePass DefaultStoragePort DefaultStorageType
        DefaultStorageUser DependencyParameters DisableRootJobs EioTimeout EnforcePartLimits EpilogMsgTime EpilogTimeout
        ExtSensorsFreq ExtSensorsType FairShareDampeningFactor FastSchedule FederationParameters FirstJobId
        GetEnvTimeout GpuFreqDef GroupUpdateForce GroupUpdateTime HashPlugin HealthCheckInterval HealthCheckNodeState
        HealthCheckProgram HealthCheckTimeout HttpParserType InactiveLimit InteractiveStepOptions
        JobAcctGatherFrequency JobAcctGatherParams JobAcctGatherType JobCheckpointDir JobCompHost JobCompLoc
        JobCompParams JobCompPass JobCompPassScript JobCompPort JobCompType JobCompUser JobContainerType
        JobCredentialPrivateKey JobCredentialPublicCertificate JobDefaults JobFileAppend JobRequeue JobSubmitPlugins
        KeepAliveTime KillOnBadExit LaunchParameters LaunchType LicenseParameters LogTimeFormat MailDomain MailProg
        MaxArraySize MaxBatchRequeue MaxDBDMsgs MaxJobCount MaxJobId MaxMemPerCPU MaxMemPerNode MaxNodeCount
        MaxStepCount MaxTasksPerNode MCSParameters MCSPlugin MemLimitEnforce MessageTimeout MetricsAuthUsers
        MetricsParameters MetricsType MinJobAge MpiDefault MpiParams MsgAggregationParams NamespaceType NodeSet
        PluginDir PlugStackConfig PowerParameters PreemptExemptTime PreemptParameters PrEpParameters PrEpPlugins
        PriorityDecayHalfLife PriorityParameters PrioritySiteFactorParameters PriorityUsageResetPeriod PrivateData
        ProctrackType PrologEpilogTimeout PrologFlags PrologTimeout PropagatePrioProcess PropagateResourceLimits
        PropagateResourceLimitsExcept RebootProgram ReconfigFlags RequeueExit RequeueExitHold ResumeFailProgram
        ResvEpilog ResvOverRun ResvProlog ReturnToService RoutePlugin SallocDefaultCommand SbcastParameters
        SchedulerAuth SchedulerPort SchedulerRootFilter SchedulerTimeSlice ScronParameters SerializerParameters
        SerializerPlugins SlurmctldAddr SlurmctldDebug SlurmctldHost SlurmctldHttpAuthParameters SlurmctldLogFile
        SlurmctldPidFile SlurmctldPlugstack SlurmctldPort SlurmctldPrimaryOffProg SlurmctldPrimaryOnProg
        SlurmctldSyslogDebug SlurmctldTimeout SlurmdDebug SlurmdHttpAuthParameters SlurmdLogFile SlurmdParameters
        SlurmdPidFile SlurmdPort SlurmdSpoolDir SlurmdSyslogDebug SlurmdTimeout SlurmdUser
        SlurmrestdHttpAuthParameters SlurmrestdParameters SlurmSchedLogFile SlurmSchedLogLevel SlurmstepdParameters
        SlurmUser SrunEpilog SrunPortRange SrunProlog StateSaveLocation SwitchParameters SwitchType TaskEpilog
        TaskPlugin TaskPluginParam TaskProlog TCPTimeout TLSParameters TLSType TmpFS TopologyParam TrackWCKey TreeWidth
        UnkillableStepProgram UnkillableStepTimeout UrlParserType UsePAM VSizeFactor WaitTime X11Parameters
    """,
    "SchedulerParameters": """
        allow_zero_lic assoc_limit_continue assoc_limit_stop bb_array_stage_cnt bf_allow_magnetic_slot bf_continue
        bf_hetjob_immediate bf_hetjob_prio bf_ignore_newly_avail_nodes bf_max_job_array_resv bf_max_time
        bf_one_resv_per_job bf_topopt_iterations bf_yield_interval bf_yield_rpc_cnt bf_yield_rpc_count bf_yield_sleep
        build_queue_timeout correspond_after_task_cnt default_gbytes defer_batch delay_boot disable_hetero_steps
        disable_hetjob_steps disable_job_shrink enable_hetero_steps enable_hetjob_steps enable_job_state_cache
        enable_user_top extra_constraints Ignore_NUMA ignore_constraint_validation ignore_prefer_validation
        inventory_interval jobs_per_user_per_hour kill_invalid_depend max_array_tasks max_depend_depth max_rpc_cnt
        max_rpc_count max_sched_time max_script_size max_submit_line_size max_switch_wait no_backup_scheduling
        no_env_cache nohold_on_prolog_fail pack_hetjob permit_job_expansion preempt_reorder_count preempt_strict_order
        preempt_youngest_first requeue_delay requeue_on_resume_failure requeue_setup_env_fail salloc_wait_nodes
        sched_min_interval spec_cores_first step_retry_count step_retry_time whole_hetjob whole_pack
    """,
    "SlurmctldParameters": """
        allow_user_triggers cloud_dns cloud_reg_addrs conmgr_connect_timeout conmgr_max_connections
        conmgr_quiesce_timeout conmgr_read_timeout conmgr_threads conmgr_use_poll conmgr_wait_write_delay
        conmgr_write_timeout disable_triggers enable_configless enable_job_state_cache enable_rpc_queue enable_stepmgr
        getnameinfo_cache_timeout idle_on_node_suspend ignore_nodes_without_config max_dbd_msg_action
        node_reg_mem_percent no_quick_restart preempt_send_user_signal reboot_from_controller reconfig_on_restart
        rl_bucket_size rl_enable rl_log_freq rl_refill_period rl_refill_rate rl_table_size threadpool
        threadpool_preallocate threadpool_preserve user_resv_delete validate_nodeaddr_threads workerpool_threads
    """,
    "NodeName": """
        BcastAddr CoreSpecCount CpuBind CpuSpecList GresConf MemSpecLimit NodeAddr NodeHostname Parameters Port Reason
        RestrictedCoresPerGPU TmpDisk Topology TRESWeights
    """,
    "PartitionName": """
        AllocNodes AllowAccounts AllowGroups AllowQos AllowUsers Alternate CpuBind DefCpuPerGPU DefMemPerCPU
        DefMemPerGPU DefMemPerNode DenyAccounts DenyGroups DenyQos DenyUsers DisableRootJobs ExclusiveTopo ExclusiveUser
        GraceTime Hidden JobDefaults MaxCPUsPerNode MaxCPUsPerSocket MaxMemPerCPU MaxMemPerNode RootOnly Topology
        TRESBillingWeights
    """,
}


def _lower(rows: dict[str, Option], names: Iterable[str]) -> dict[str, tuple[str, Option]]:
    known = {**dict.fromkeys(names, Ignored()), **rows}
    return {name.lower(): (name, option) for name, option in known.items()}


OPTIONS: dict[str, dict[str, tuple[str, Option]]] = {
    place: _lower(rows, _WITHOUT_EFFECT[place].split())
    for place, rows in {
        "machine": _MACHINE,
        "SchedulerParameters": _SCHEDULER,
        "SlurmctldParameters": _SLURMCTLD,
        "NodeName": _NODE,
        "PartitionName": _PARTITION,
    }.items()
}
"""Every option by where it stands and by its name in small letters: the name as the manual writes it, and its row."""
