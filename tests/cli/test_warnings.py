"""Warnings of the command line: each in a line of its own on standard error, once, whatever the policies."""

import polars as pl
import pytest

DAY_S = 86400.0
TWO_MAKES = """
classes = [
    { name = "cpu", count = 2, idle_w = 100, tdp_w = 400 },
    { name = "gpu", count = 2, idle_w = 300, tdp_w = 1400 },
]
"""
QUIET = "means over the run, such as utilization and mean power, say little of the time in which jobs ran"
KILLED = "check the unit of their walltimes, or let jobs run past them"


@pytest.fixture
def odd(folder):
    """A log in which much looks wrong: job 2 waits until job 1 is killed, and job 3 comes days later."""
    jobs = {
        "job_id": [1, 2, 3],
        "submit_s": [0.0, 0.0, 8 * DAY_S],
        "runtime_s": [DAY_S, 2 * DAY_S, 2 * DAY_S],
        "node_count": [3, 2, 1],
        "walltime_s": [3600.0, 3600.0, None],
        "power_w": [5000.0, None, None],
        "device": ["cpu", "gpu", "gpu"],
    }
    pl.DataFrame(jobs).write_parquet("odd.parquet")
    (folder / "two.toml").write_text(TWO_MAKES)
    return ("odd.parquet", "--platform", "two.toml")


WATTS = (
    "warning: measured draws (power_w) above twice the nodes' highest TDP of 1,400 W: 1 of 3 jobs, up to 5,000 W a "
    "node; a job's power_w is the watts of one node, not of all"
)


LOST = (
    "warning: jobs killed before their work was done: 2, and 75 % of the started node-seconds lost; energy is lower by "
    "as much work as was not done, and --no-kill-at-walltime lets jobs run on, as those did that overran their "
    "walltime in the log"
)


GPUS = (
    "warning: GPU jobs on nodes whose class does not say how many GPUs they have (gpus): 2 of 2, 180,000 "
    "node-seconds; once a class says it, they run where there are some"
)


def test_a_run_reports_each_concern_in_a_line(hetsched, odd):
    said = hetsched("simulate", *odd)
    assert said.code == 0
    assert said.err.splitlines() == [
        WATTS,
        f"warning: killed at their walltime: 67 % of the jobs that ran; {KILLED}",
        f"warning: less than 5 % of the nodes busy: 79 % of the run's 10 days; {QUIET}",
        GPUS,
        LOST,
    ]


def test_a_comparison_says_once_what_all_policies_share(hetsched, odd):
    said = hetsched("compare", *odd, "--policies", "fcfs,easy,paa", "--json")
    assert said.err.splitlines()[1:-1] == [
        WATTS,
        f"warning: killed at their walltime: 67 % of the jobs that ran; {KILLED}",
        f"warning: less than 5 % of the nodes busy: 79 % of the run's 10 days; {QUIET}",
        GPUS,
        LOST,
    ]


def test_what_differs_is_reported_by_policy(hetsched, odd):
    pl.DataFrame({"app": ["a"] * 4, "node": range(4), "power_w": [900.0, 800.0, 500.0, 400.0]}).with_columns(
        time_ratio=pl.Series([1.0, 1.0, 1.0, 2.0])
    ).write_csv("watts.csv")
    jobs = {"job_id": [1], "submit_s": [0], "runtime_s": [60], "node_count": [1], "app": ["a"], "device": ["gpu"]}
    pl.DataFrame(jobs).write_parquet("own.parquet")
    table = ("--platform", "two.toml", "--table", "watts.csv")
    said = hetsched("compare", "own.parquet", *table, "--policies", "naive,paa,sequence")
    assert said.err == (
        "warning: GPU jobs on nodes whose class does not say how many GPUs they have (gpus): "
        "naive 1 of 1, 60 node-seconds, paa 1 of 1, 120 node-seconds, sequence 1 of 1, 60 node-seconds; "
        "once a class says it, they run where there are some"
    )
