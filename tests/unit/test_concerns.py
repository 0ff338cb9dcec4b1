"""Warnings of runs that look wrong: GPU jobs on other nodes, draws of whole jobs, jobs cut off, long gaps."""

import warnings

import polars as pl
import pytest

import hetsched as hs
from hetsched.errors import DeviceWarning, PowerWarning, ResultWarning, RunWarning

DAY_S = 86400.0


def jobs_of(**columns):
    count = len(columns["submit_s"])
    own = {"job_id": range(count), "runtime_s": [100.0] * count, "node_count": [1] * count, **columns}
    return hs.Workload.from_polars(pl.DataFrame(own))


def said_of(workload, platform, **options):
    """Everything that a run warns of, but for its load."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = hs.simulate(workload, platform, "fcfs", **options)
    found = [(one.category, str(one.message)) for one in said if one.category is not hs.errors.LoadWarning]
    assert all(one.filename == __file__ for one in said)
    assert [(one.category, str(one)) for one in result.concerns] == found
    return found


def classes(cpu_gpus, gpu_gpus):
    cpu = hs.NodeClass("cpu", count=2, idle_w=100, tdp_w=400, gpus=cpu_gpus)
    return hs.Platform([cpu, hs.NodeClass("gpu", count=2, idle_w=300, tdp_w=1400, gpus=gpu_gpus)])


# Four jobs at once take nodes 0 to 3 in order: the second, of 200 s on node 1, and the fourth want GPUs.
MIXED = {"submit_s": [0.0] * 4, "runtime_s": [100.0, 200.0, 100.0, 100.0], "device": ["cpu", "gpu", None, "gpu"]}
ONCE_SAID = "once a class says it, they run where there are some"


def test_gpu_jobs_run_on_nodes_with_gpus_and_nothing_is_said():
    for platform in (classes(0, 4), classes(None, 4)):
        assert said_of(jobs_of(**MIXED), platform) == []
        nodes = hs.simulate(jobs_of(**MIXED), platform, "fcfs").jobs["nodes"].to_list()
        assert nodes == [[0], [2], [1], [3]]


def test_gpu_jobs_that_find_no_gpus_are_rejected():
    both = hs.simulate(jobs_of(submit_s=[0.0, 0.0], node_count=[3, 1], device=["gpu", "gpu"]), classes(0, 4), "easy")
    assert both.jobs["state"].to_list() == ["rejected", "completed"]
    assert both.jobs["reason"][0] == "asks for more nodes than have what it asks for"
    none = hs.simulate(jobs_of(submit_s=[0.0], device=["gpu"]), classes(0, None), "easy")
    assert none.jobs["reason"].to_list() == ["no node that it may use has as many GPUs as it asks for"]


def test_a_replay_repeats_the_log_and_says_what_ran_where_it_could_not():
    log = jobs_of(**MIXED, observed_start_s=[0.0] * 4, observed_nodes=[[0], [1], [2], [3]])
    with pytest.warns(
        DeviceWarning, match="GPU jobs on nodes without GPUs: 1 of 2, 200 node-seconds; a replay repeats"
    ):
        result = hs.simulate(log, classes(0, 4), "replay")
    assert result.jobs["nodes"].to_list() == [[0], [1], [2], [3]]


def test_of_several_classes_one_has_to_say_how_many_gpus_it_has():
    message = "GPU jobs on nodes whose class does not say how many GPUs they have (gpus): {}; " + ONCE_SAID
    unsaid = message.format("2 of 2, 300 node-seconds")
    assert said_of(jobs_of(**MIXED), classes(None, None)) == [(DeviceWarning, unsaid)]
    cut = said_of(jobs_of(submit_s=[0.0, 70.0], device=["gpu", "cpu"]), classes(None, None), until_s=70.0)
    assert "1 of 1, 70 node-seconds" in cut[0][1]


def test_what_the_platform_says_nothing_of_means_nothing_and_is_said_to():
    asking = {"constraint": ["a100", None], "gpus": [1, 2], "memory_gb": [None, 1.0], "licences": ["ansys", None]}
    plain = hs.Platform.homogeneous(2, idle_w=100, tdp_w=400)
    said = said_of(jobs_of(submit_s=[0.0, 0.0], **asking), plain)
    assert said == [
        (
            DeviceWarning,
            f"jobs that ask for {column}: {count} of 2 jobs; without {name} on the platform the column means nothing",
        )
        for column, count, name in [
            ("constraint", 1, "features"),
            ("gpus", 2, "gpus"),
            ("memory_gb", 1, "memory_gb"),
            ("licences", 1, "licences"),
        ]
    ]
    with pytest.warns(DeviceWarning):
        jobs = hs.simulate(jobs_of(submit_s=[0.0, 0.0], **asking), plain, "easy").jobs
    assert jobs["constraint"].to_list() == ["a100", None]


@pytest.mark.parametrize(
    ("workload", "platform"),
    [
        (jobs_of(**{**MIXED, "device": ["cpu"] * 4}), classes(0, 4)),
        (jobs_of(submit_s=[0.0] * 4), classes(None, None)),
        (jobs_of(**MIXED), classes(4, 4)),
        (jobs_of(**MIXED), hs.Platform.homogeneous(4, idle_w=100, tdp_w=400)),
        (jobs_of(**MIXED), hs.platform.tsubame3(4).platform()),
        (jobs_of(submit_s=[0.0], node_count=[9], device=["gpu"]), classes(0, 4)),
    ],
)
def test_nothing_is_said_of_gpus_where_nothing_is_known_to_be_wrong(workload, platform):
    assert [said for said in said_of(workload, platform) if said[0] is DeviceWarning] == []


def test_nodes_made_of_devices_say_themselves_what_they_have():
    cpu, gpu = hs.DeviceClass("cpu", 2, 40.0, 120.0), hs.DeviceClass("gpu", 4, 60.0, 300.0)
    other = hs.DeviceClass("vector engine", 8, 50.0, 240.0)
    for devices, gpus in (([cpu], 0), ([cpu, gpu], 4), ([cpu, other], None)):
        assert hs.DeviceNodes(4, devices).platform().classes[0].gpus == gpus
    on_cpus = hs.simulate(jobs_of(**MIXED), hs.DeviceNodes(4, [cpu]).platform(), "fcfs").jobs
    assert on_cpus["state"].to_list() == ["completed", "rejected", "completed", "rejected"]


def test_gpus_come_back_from_files_and_change_no_platform_that_has_not_said_them(tmp_path):
    platform = classes(0, 4)
    assert hs.Platform.from_dict(platform.to_dict()) == platform
    assert "gpus" not in classes(None, None).classes[0].to_dict()
    (tmp_path / "a.toml").write_text("nodes = 2\nidle_w = 1\ntdp_w = 2\ngpus = 4\n")
    assert hs.Platform.from_toml(tmp_path / "a.toml").classes[0].gpus == 4
    with pytest.raises(hs.ConfigError, match=r"gpus: found `-1`, expected a whole number between 0 and 1024"):
        hs.NodeClass("a", 1, 1, 2, gpus=-1)


def test_draws_of_whole_jobs_are_taken_for_what_they_are():
    platform = hs.Platform([hs.NodeClass("a", 2, 100, 400), hs.NodeClass("b", 2, 100, 600)])
    watts = [1200.0, 1200.1, None, 9000.0]
    message = (
        "measured draws (power_w) above twice the nodes' highest TDP of 600 W: 2 of 4 jobs, up to 9,000 W a node; "
        "a job's power_w is the watts of one node, not of all"
    )
    assert said_of(jobs_of(submit_s=[0.0] * 4, power_w=watts), platform) == [(PowerWarning, message)]
    assert said_of(jobs_of(submit_s=[0.0] * 2, power_w=watts[::2]), platform) == []
    alike = hs.Platform.homogeneous(4, idle_w=100, tdp_w=400)
    assert "the nodes' TDP of 400 W: 1 of 1 job," in said_of(jobs_of(submit_s=[0.0], power_w=[900.0]), alike)[0][1]


ALIKE = hs.Platform.homogeneous(20, idle_w=100, tdp_w=400)


def test_that_most_jobs_are_killed_is_said_and_that_half_are_is_not():
    # The last is too large for the machine, so it does not count.
    columns = {"submit_s": [0.0] * 4, "node_count": [1, 1, 1, 99]}
    most = jobs_of(**columns, walltime_s=[50.0, 50.0, 100.0, 50.0])
    message = (
        "killed at their walltime: 67 % of the jobs that ran; "
        "check the unit of their walltimes, or let jobs run past them"
    )
    assert (ResultWarning, message) in said_of(most, ALIKE)
    (other,) = said_of(most, ALIKE, kill_at_walltime=False)
    assert other[1].startswith("jobs that never started: 1 of 4 ")
    half = said_of(jobs_of(submit_s=[0.0] * 2, walltime_s=[50.0, 100.0]), ALIKE)
    assert ResultWarning not in [category for category, _ in half]


def test_a_machine_empty_for_a_tenth_of_a_run_is_reported():
    # One node of 20 is 5 %, which counts as busy; one of 21 is less.
    one = jobs_of(submit_s=[0.0], runtime_s=[7 * DAY_S])
    assert said_of(one, ALIKE) == []
    assert "100 % of the run's 7 days;" in said_of(one, hs.Platform.homogeneous(21, idle_w=100, tdp_w=400))[0][1]
    empty = jobs_of(submit_s=[0.0, 2 * DAY_S], runtime_s=[DAY_S, 7.5 * DAY_S], node_count=[1, 1])
    message = (
        "less than 5 % of the nodes busy: 11 % of the run's 10 days; means over the run, such as utilization and mean "
        "power, say little of the time in which jobs ran"
    )
    assert said_of(empty, ALIKE) == [(ResultWarning, message)]
    # Exactly a tenth is not over it.
    tenth = jobs_of(submit_s=[0.0, 2 * DAY_S], runtime_s=[DAY_S, 8 * DAY_S], node_count=[1, 1])
    assert said_of(tenth, ALIKE) == []
    six_days = jobs_of(submit_s=[0.0, 6 * DAY_S - 100.0])
    assert said_of(six_days, ALIKE) == []


def test_a_sweep_says_what_it_can_before_its_runs_and_no_more():
    workload = jobs_of(submit_s=[0.0, 0.0], power_w=[900.0, 900.0], walltime_s=[1.0, 1.0])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        hs.sweep({"a": workload}, {"b": ALIKE}, ["fcfs", "easy"], workers=1)
    (warning,) = said
    assert str(warning.message).startswith("workload `a`, platform `b`: measured draws (power_w) above twice")
    assert (warning.category, warning.filename) == (PowerWarning, __file__)


def test_one_base_turns_off_all():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", RunWarning)
        hs.simulate(jobs_of(submit_s=[0.0] * 4, power_w=[9e3] * 4, walltime_s=[1.0] * 4), ALIKE)
    assert issubclass(hs.errors.LoadWarning, RunWarning)
