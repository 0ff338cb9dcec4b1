"""Requests of jobs, and the nodes that they get: words, numbers, rejections, refusals, roles in Python."""

import polars as pl
import pytest

import hetsched as hs
from hetsched.testing import check_schedule
from hetsched.workload.constraints import UnreadableError, constraint_test, licence_counts

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")


def jobs_of(**columns):
    count = len(next(iter(columns.values())))
    own = {"submit_s": [0.0] * count, "runtime_s": [100.0] * count, "node_count": [1] * count}
    return hs.Workload.from_polars(pl.DataFrame({"job_id": range(1, count + 1)} | own | columns))


def machine(**options):
    """Two CPU nodes, two with four A100, one with eight H100."""
    classes = [
        {"name": "cpu", "count": 2, "gpus": 0, "memory_gb": 64, "features": ["cpu"]},
        {"name": "a100", "count": 2, "gpus": 4, "memory_gb": 256, "features": ["gpu", "a100"]},
        {"name": "h100", "count": 1, "gpus": 8, "memory_gb": 512, "features": ["gpu", "h100"]},
    ]
    return hs.Platform([{**one, "idle_w": 100, "tdp_w": 500, "slots": 8} for one in classes], **options)


@pytest.mark.parametrize(
    ("text", "features", "holds"),
    [
        ("gpu", "gpu", True),
        ("gpu&(a100|h100)", "gpu h100", True),
        ("gpu&(a100|h100)", "gpu v100", False),
        ("a|b&c", "a", True),
        ("(a|b)&c", "a", False),
        ("!a&b", "b", True),
        ("!(a&b)", "a", True),
        ("!!a", "a", True),
        (" ib.hdr & node-3:x ", "ib.hdr node-3:x", True),
    ],
)
def test_a_constraint_is_read_as_slurm_writes_it(text, features, holds):
    assert constraint_test(text)(set(features.split())) is holds


@pytest.mark.parametrize(
    ("text", "position", "expected"),
    [
        ("", 0, "a feature, `!` or `(`"),
        ("gpu&", 4, "a feature, `!` or `(`"),
        ("gpu a100", 4, "`&`, `|` or the end"),
        ("(gpu|a100", 9, "`&`, `|` or `)`"),
        ("gpu)", 3, "`&`, `|` or the end"),
        ("gpu*4", 3, "`&`, `|` or the end"),
        ("!" * 200, 100, "no more than 100 `!` and `(` within each other"),
    ],
)
def test_text_that_cannot_be_read_says_where_and_what_would_be_right(text, position, expected):
    with pytest.raises(UnreadableError) as raised:
        constraint_test(text)
    assert (raised.value.position, raised.value.expected) == (position, expected)


def test_licences_are_counted():
    assert licence_counts("matlab:2,ansys, matlab=3") == (("matlab", 5), ("ansys", 1))
    for text, position in (("matlab:0", 0), ("a,,b", 2), ("a, b:x", 3)):
        with pytest.raises(UnreadableError) as raised:
            licence_counts(text)
        assert raised.value.position == position


def test_a_run_refuses_what_it_cannot_read_before_it_begins():
    jobs = jobs_of(constraint=["gpu", "gpu&&a100", "gpu&&a100"], licences=[None, None, "ansys:many"])
    with pytest.raises(hs.ConfigError) as raised:
        hs.simulate(jobs, machine(licences={"ansys": 2}), "easy")
    assert str(raised.value).splitlines() == [
        "workload.constraint: found `gpu&&a100` of job 2, expected a feature, `!` or `(` at position 4",
        "workload.constraint: found `gpu&&a100` of job 3, expected a feature, `!` or `(` at position 4",
    ]
    with pytest.raises(
        hs.ConfigError, match=r"workload\.licences: found `a:b` of job 1, expected a licence, or a licence and"
    ):
        hs.simulate(jobs_of(licences=["a:b"]), machine(licences={"ansys": 2}), "easy")


def test_each_job_runs_where_it_may_and_leaves_special_nodes_to_others():
    jobs = jobs_of(
        constraint=[None, "gpu", "h100|cpu", "!gpu"], gpus=[None, 8, None, None], memory_gb=[None, None, 100, None]
    )
    result = hs.simulate(jobs, machine(), "easy")
    assert result.jobs["nodes"].to_list() == [[0], [4], [4], [1]]
    assert result.jobs["start_s"].to_list() == [0.0, 0.0, 100.0, 0.0]
    check_schedule(result, jobs, machine())


def test_a_job_without_wishes_takes_the_plainest_nodes_first_and_then_the_others():
    whole = hs.simulate(jobs_of(node_count=[4, 1], gpus=[0, 1]), machine(), "easy")
    assert whole.jobs["nodes"].to_list() == [[0, 1, 2, 3], [4]]


def test_what_can_never_run_is_rejected_with_a_reason():
    jobs = jobs_of(
        constraint=["v100", "cpu", "cpu", "gpu", None, None, "a100&h100"],
        gpus=[None, 1, None, 1, None, None, None],
        memory_gb=[None, None, 65.0, None, None, None, None],
        node_count=[1, 1, 1, 4, 1, 1, 1],
        licences=[None, None, None, None, "ansys:3", "unheard-of", None],
    )
    result = hs.simulate(jobs, machine(licences={"ansys": 2}), "conservative")
    assert result.jobs["state"].to_list() == ["rejected"] * 7
    no_node, licences = (
        "no node satisfies its constraint",
        "asks for licences that the platform does not have, or not as many",
    )
    assert result.jobs["reason"].to_list() == [
        no_node,
        "no node that it may use has as many GPUs as it asks for",
        "no node that it may use has as much memory as it asks for",
        "asks for more nodes than have what it asks for",
        licences,
        licences,
        no_node,
    ]
    check_schedule(result, jobs, machine(licences={"ansys": 2}))


def test_licences_are_held_until_a_job_ends():
    jobs = jobs_of(licences=["ansys:2", "ansys", "ansys", None], walltime_s=[200.0] * 4)
    for policy, starts in (
        ("fcfs", [0, 100, 100, 100]),
        ("easy", [0, 100, 100, 0]),
        ("conservative", [0, 100, 100, 0]),
    ):
        result = hs.simulate(jobs, machine(licences={"ansys": 2}), policy)
        assert result.jobs["start_s"].to_list() == starts
        check_schedule(result, jobs, machine(licences={"ansys": 2}))


def test_backfilled_jobs_leave_their_nodes_and_licences_to_a_reservation():
    # Job 1 has both A100 nodes until 100, job 2 waits for them. Job 3 would outlast that on one H100 node, and may; job
    # 4 wants an A100 node and the licence that job 2 will hold: only job 5, which ends in time, may start before it.
    jobs = jobs_of(
        submit_s=[0.0, 1.0, 2.0, 3.0, 4.0],
        runtime_s=[100.0, 50.0, 300.0, 300.0, 90.0],
        walltime_s=[100.0, 50.0, 300.0, 300.0, 90.0],
        node_count=[2, 2, 1, 1, 1],
        constraint=["a100", "a100", "h100", "cpu", "cpu"],
        licences=[None, "ansys", None, "ansys", "ansys"],
    )
    platform = machine(licences={"ansys": 1})
    for policy in ("easy", "conservative", hs.Policy("fcfs", "plan")):
        result = hs.simulate(jobs, platform, policy)
        assert result.jobs["start_s"].to_list() == [0.0, 100.0, 2.0, 150.0, 4.0]
        check_schedule(result, jobs, platform)


def test_shared_nodes_share_gpus_and_memory():
    # Two jobs of two GPUs fit a node of four, a third does not, and one of 200 GB fits with none of 100 GB on 256 GB.
    jobs = jobs_of(slots=[1] * 5, gpus=[2, 2, 2, 0, 0], memory_gb=[1, 1, 1, 100, 200], constraint=["a100"] * 5)
    platform = hs.Platform(
        [*machine().classes[:1], hs.NodeClass.from_dict({**machine().classes[1].to_dict(), "count": 1})],
        exclusive=False,
    )
    result = hs.simulate(jobs, platform, hs.Policy("fcfs", "plan"))
    assert result.jobs["start_s"].to_list() == [0.0, 0.0, 100.0, 0.0, 100.0]
    check_schedule(result, jobs, platform)


def test_check_schedule_faults_wrong_nodes_and_what_is_overdrawn():
    one_each = jobs_of(slots=[1] * 3, gpus=[1] * 3, constraint=["a100"] * 3, licences=["ansys"] * 3)
    shared, plan = machine(exclusive=False, licences={"ansys": 3}), hs.Policy("fcfs", "plan")
    result = hs.simulate(one_each, shared, plan)
    assert result.jobs["nodes"].to_list() == [[2]] * 3
    check_schedule(result, one_each, shared)
    more = jobs_of(slots=[1] * 3, gpus=[1, 2, 2], constraint=["a100"] * 3)
    with pytest.raises(AssertionError, match=r"gpus of node 2 at 0\.0 s: 4 there, held by job 1, job 2, job 3"):
        check_schedule(result, more, shared)
    with pytest.raises(AssertionError, match=r"licence ansys at 0\.0 s: 2 there, held by job 1, job 2, job 3"):
        check_schedule(result, one_each, machine(exclusive=False, licences={"ansys": 2}))
    with pytest.raises(
        AssertionError, match=r"job 1 on nodes \[2\] from 0\.0 s: node 2, which does not have what it asks"
    ):
        check_schedule(result, jobs_of(constraint=["h100", None, None]), shared)


def test_of_one_kind_of_nodes_nothing_changes():
    """All nodes alike: the same schedule as without the columns, and every part may be used."""
    platform = hs.Platform.homogeneous(4, 100, 300, gpus=4, memory_gb=64, features=["gpu"])
    plain = {"submit_s": [0.0, 1.0, 2.0, 3.0], "node_count": [3, 4, 1, 1], "walltime_s": [200.0] * 4}
    jobs = jobs_of(**plain, constraint=["gpu"] * 4, gpus=[1, 2, 3, 4], memory_gb=[64.0] * 4)
    budget = hs.Policy("fcfs", "reservations", "assignment", power={"name": "system-budget", "budget_w": 1000})
    for policy in ("easy", "conservative", "swa", budget):
        one, other = (hs.simulate(each, platform, policy).jobs for each in (jobs, jobs_of(**plain)))
        assert one.select("start_s", "nodes", "energy_j").equals(other.select("start_s", "nodes", "energy_j"))


GPU = jobs_of(constraint=["gpu", None], node_count=[1, 3])


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (
            hs.Policy("fcfs", "none", "opportunity-cost"),
            "policy.placement: found `opportunity-cost`, expected one of lowest-id, random",
        ),
        (hs.Policy("fcfs", "none", "pools"), "policy.placement: found `pools`"),
        (hs.Policy("fcfs", "none", "sliding-window"), "policy.placement: found `sliding-window`"),
    ],
)
def test_parts_that_know_only_nodes_that_are_alike_are_refused(policy, message):
    with pytest.raises(hs.ConfigError) as raised:
        hs.simulate(GPU, machine(), policy)
    assert message in str(raised.value)


@pytest.mark.parametrize("backfill", ["reservations", {"name": "reservations", "depth": "unbounded"}])
def test_a_reservation_counts_on_nodes_that_come_back_from_maintenance(backfill):
    """Job 1, for both GPU nodes, is promised the end of one node's maintenance, which job 2 may not delay."""
    platform = hs.Platform(
        [hs.NodeClass("cpu", 2, 100, 300, gpus=0), hs.NodeClass("gpu", 2, 100, 300, gpus=2)], exclusive=True
    )
    jobs = jobs_of(submit_s=[1.0, 2.0], runtime_s=[10.0, 300.0], node_count=[2, 1], gpus=[2, 2])
    window = {"time_s": [0.0], "announced_s": [0.0], "kind": ["maintenance"], "node": [3], "until_s": [200.0]}
    result = hs.simulate(
        jobs, platform, hs.Policy("fcfs", backfill), events=hs.Events.from_polars(pl.DataFrame(window))
    )
    assert result.jobs["start_s"].to_list() == [200.0, 210.0]


def test_shared_nodes_need_a_plan():
    for policy in ("easy", "fcfs", hs.Policy("fcfs", "first-fit")):
        with pytest.raises(hs.ConfigError, match=r"policy\.backfill: found `.*`, expected plan, which names nodes"):
            hs.simulate(GPU, machine(exclusive=False), policy)


class Highest:
    """A placement that notes what it is asked."""

    def __init__(self):
        self.asked = []

    def choose(self, job, free, view, /):
        assert view.may_use(job.want)[free].all()
        return free[-job.node_count :]


def test_a_placement_in_python_gets_eligible_nodes_only_and_is_asked_cell_by_cell():
    jobs = jobs_of(constraint=["cpu", "a100|h100", None], node_count=[1, 3, 1], gpus=[0, 1, 0])
    result = hs.simulate(jobs, machine(), hs.Policy("fcfs", "none", Highest()))
    assert result.jobs["nodes"].to_list() == [[1], [2, 3, 4], [0]]


class Greedy:
    """A whole scheduler that looks where a job may run."""

    def __init__(self, *, looks=True):
        self.looks = looks

    def decide(self, view, /):
        queue, free = view.queue, list(view.free)
        starts = []
        for job_id, want, count in zip(queue.job_id, queue.want, queue.node_count, strict=True):
            own = [node for node in free if not self.looks or view.may_use(int(want))[node]][:count]
            if len(own) == count:
                starts.append((job_id, own))
                free = [node for node in free if node not in own]
        return starts


def test_a_scheduler_must_distinguish_heterogeneous_nodes():
    result = hs.simulate(GPU, machine(), Greedy())
    assert result.jobs["nodes"].to_list() == [[2], [0, 1, 3]]
    with pytest.raises(hs.SimulationError, match="gave node 0 to job 1, which is not free for it"):
        hs.simulate(GPU, machine(), Greedy(looks=False))
    with pytest.raises(hs.ConfigError, match=r"policy\.scheduler: found `.*`, expected a policy of parts"):
        hs.simulate(jobs_of(licences=["ansys"]), machine(licences={"ansys": 1}), Greedy())


def test_a_metered_schedule_is_held_to_what_jobs_ask_for():
    starts = pl.DataFrame({"job_id": [1, 2], "start_s": [0.0, 0.0], "nodes": [[2], [0, 1, 3]]})
    assert hs.meter(GPU, machine(), starts).summary()["completed"] == 2
    wrong = starts.with_columns(nodes=pl.Series([[0], [1, 2, 3]]))
    with pytest.raises(hs.ConfigError, match="starts, job 1, nodes: found node 0, expected a node that has what"):
        hs.meter(GPU, machine(), wrong)


def test_sessions_fork_and_stop_on_heterogeneous_nodes():
    session = hs.Session(GPU, machine(licences={"a": 1}), "easy")
    session.step_until(50.0)
    fork = session.fork()
    session.run()
    fork.run()
    assert session.result().jobs.equals(fork.result().jobs)


def test_platforms_come_back_from_dictionaries_and_files(tmp_path):
    platform = machine(licences={"matlab": 10, "ansys": 1})
    assert hs.Platform.from_dict(platform.to_dict()) == platform
    assert platform.with_known_draws("tdp").licences == {"ansys": 1, "matlab": 10}
    assert platform.sha256 != machine().sha256
    assert machine().sha256 != hs.Platform([{**c.to_dict(), "features": ["x"]} for c in machine().classes]).sha256
    text = (
        'nodes = 2\nidle_w = 1\ntdp_w = 2\nmemory_gb = 192\nfeatures = ["ib", "gpu", "ib"]\nlicences = { matlab = 3 }\n'
    )
    (tmp_path / "a.toml").write_text(text)
    read = hs.Platform.from_toml(tmp_path / "a.toml")
    own = read.classes[0]
    assert (own.memory_gb, own.features, read.licences) == (192.0, ("gpu", "ib"), {"matlab": 3})
    plain = hs.Platform.homogeneous(2, 1, 2)
    assert not {"features", "memory_gb", "licences"} & {*plain.to_dict(), *plain.classes[0].to_dict()}


def test_all_faults_of_features_and_licences_are_reported():
    with pytest.raises(hs.ConfigError) as raised:
        hs.Platform.homogeneous(2, 1, 2, features=["a b", 3], memory_gb=-1, gpus=0)
    assert str(raised.value).splitlines() == [
        "memory_gb: found `-1`, expected a number between 0 and 1e+09",
        "features: found `a b`, expected words of letters, digits and _.:+-",
        "features: found `3`, expected words of letters, digits and _.:+-",
    ]
    with pytest.raises(hs.ConfigError, match=r"licences\.matlab: found `-1`, expected a whole number"):
        hs.Platform.homogeneous(2, 1, 2, licences={"matlab": -1})
    with pytest.raises(hs.ConfigError, match=r"features: found `gpu`, expected a list of words"):
        hs.NodeClass("a", 1, 1, 2, features="gpu")
