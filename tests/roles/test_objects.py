"""Objects in the roles of a policy: copies, chance, who they are, and where policies take them."""

from __future__ import annotations

import copy
import threading
import time
from typing import Any

import numpy as np
import polars as pl
import pytest
from answering_parts import Broken, Order, jobs, one_node, starts
from own_parts import Chance, Counting, FirstFit, LowestId, Shortest

import hetsched as hs

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")


def test_runs_share_nothing() -> None:
    own = Counting()
    policy = hs.Policy(order=own)
    first = hs.simulate(jobs(), one_node(), policy)
    assert own.calls == 0
    assert hs.simulate(jobs(), one_node(), policy) == first


def test_a_fork_goes_its_own_way() -> None:
    session = hs.Session(jobs(submit_s=[0, 12, 13, 14]), one_node(), hs.Policy(order=Counting()))
    session.step_until(11)
    fork = session.fork()
    whole = session.run()
    # Had both counted on one object, the fork would rank other numbers.
    assert fork.run() == whole


class Uncopied(Shortest):
    def __deepcopy__(self, memo: Any) -> Any:
        raise Broken("not to be copied")


def test_what_cannot_be_copied_is_reported() -> None:
    with pytest.raises(Broken, match="not to be copied") as raised:
        starts(hs.Policy(order=Uncopied()))
    assert raised.value.__notes__ == ["policy.order: a run works on a copy of Uncopied, which could not be made"]


class OnlyOnce(Shortest):
    """Lets itself be copied for the run, and not for a fork of it."""

    def __init__(self) -> None:
        self._copies = 0

    def fork(self) -> OnlyOnce:
        if self._copies:
            raise Broken("not again")
        again = copy.copy(self)
        again._copies = 1
        return again


def test_a_fork_that_cannot_be_made_is_reported() -> None:
    session = hs.Session(jobs(), one_node(), hs.Policy(order=OnlyOnce()))
    session.step_until(2)
    with pytest.raises(Broken, match="not again"):
        session.fork()


class Both(Shortest, LowestId):
    """Two roles that must see the same state."""

    def __init__(self) -> None:
        self._ranked: list[int] = []

    def rank(self, jobs: Any, view: Any) -> Any:
        self._ranked += jobs.job_id.tolist()
        return jobs.planned_s

    def choose(self, job: Any, free: Any, view: Any) -> Any:
        assert job.job_id in self._ranked
        return super().choose(job, free, view)


def test_an_object_in_two_roles_stays_one() -> None:
    own = Both()
    session = hs.Session(jobs(submit_s=[0, 12, 13, 14]), one_node(), hs.Policy(order=own, placement=own))
    session.step_until(12)
    fork = session.fork()
    assert session.run() == fork.run()
    assert own._ranked == []


def test_chance_comes_from_the_seed_of_the_run() -> None:
    policy = hs.Policy(order=Chance)
    assert policy.uses_chance
    assert not hs.Policy(order=Shortest).uses_chance
    assert starts(policy, seed=3) == starts(policy, seed=3)
    assert len({tuple(starts(policy, seed=seed)) for seed in range(12)}) > 1


class Parameters(Shortest):
    def __init__(self, alpha: float = 2.0) -> None:
        self.alpha = alpha
        self.weights = np.arange(3.0)
        self._hidden = 1


def test_who_an_object_is_stands_in_the_provenance() -> None:
    policy = hs.Policy.preset("easy", order=Parameters(alpha=0.5))
    order = policy.to_dict()["order"]
    assert order["name"] == "Parameters"
    assert order["python"].endswith(".Parameters")
    assert order["parameters"]["alpha"] == 0.5
    assert order["parameters"]["weights"]["array"] == [3]
    assert "_hidden" not in order["parameters"]
    assert len(order["source_sha256"]) == 64
    assert policy.name == "easy:order=Parameters(alpha=0.5)"
    assert policy == hs.Policy.preset("easy", order=Parameters(alpha=0.5))
    assert policy != hs.Policy.preset("easy", order=Parameters(alpha=0.6))
    assert hs.simulate(jobs(), one_node(), policy).provenance["policy"]["order"] == order
    assert hs.Policy(scheduler=FirstFit()).to_dict()["scheduler"]["name"] == "FirstFit"


def test_a_dictionary_or_a_file_holds_no_python(tmp_path: Any) -> None:
    with pytest.raises(hs.ConfigError, match=r"policy\.order: .*the object itself, as in hs\.Policy\(order=\.\.\.\)"):
        hs.Policy.from_dict(hs.Policy(order=Shortest()).to_dict())
    with pytest.raises(hs.ConfigError, match=r"scheduler: .*the object itself"):
        hs.Policy.from_dict(hs.Policy(scheduler=FirstFit()).to_dict())
    file = tmp_path / "policy.toml"
    file.write_text('[policy.order]\nname = "Shortest"\npython = "own_parts.Shortest"\n', encoding="utf-8")
    with pytest.raises(hs.ConfigError, match="a file holds no Python"):
        hs.Policy.from_toml(file)
    with pytest.raises(hs.ConfigError, match="a file holds no Python objects; fork the session instead"):
        hs.Session(jobs(), one_node(), hs.Policy(order=Shortest())).save(tmp_path / "s.hetsched")
    assert not (tmp_path / "s.hetsched").exists()


def test_what_has_no_role_is_refused_with_a_hint() -> None:
    for given, hint in [
        (hs.Policy, "method `rank`"),
        (LowestId(), "placement= takes it, by its method `choose`"),
        (FirstFit(), "scheduler= takes it"),
    ]:
        with pytest.raises(hs.ConfigError) as raised:
            hs.Policy(order=given)  # type: ignore[arg-type]
        assert hint in str(raised.value)
    with pytest.raises(hs.ConfigError, match=r'this is one role of it: hs\.Policy\.preset\("easy", order=\.\.\.\)'):
        hs.simulate(jobs(), one_node(), Shortest())  # type: ignore[arg-type]
    with pytest.raises(hs.ConfigError, match="nothing with a scheduler"):
        hs.Policy(order="wfp3", scheduler=FirstFit())
    with pytest.raises(hs.ConfigError, match="the class needs arguments"):
        hs.Policy(order=type("Needy", (Shortest,), {"__init__": lambda self, alpha: None}))


def test_comparisons_take_objects_wherever_policies_stand() -> None:
    contestants = {"easy": "easy", "own": hs.Policy.preset("easy", order=Shortest), "whole": FirstFit()}
    found = hs.compare(jobs(), one_node(), contestants, progress=None)
    named = hs.compare(jobs(), one_node(), ["easy", "easy:order=shortest"], progress=None)
    assert found.value("own", "mean_wait_s") == named.value("easy:order=shortest", "mean_wait_s")
    assert set(found.summaries) == {"easy", "own", "whole"}


@pytest.mark.parametrize("workers", [1, 2])
def test_sweeps_take_objects_and_go_on_where_they_were(workers: int, tmp_path: Any) -> None:
    policies = ["easy", hs.Policy.preset("easy", order=Shortest()), FirstFit(), hs.Policy(order=Chance())]
    rows = hs.sweep(jobs(), one_node(), policies, seeds=2, workers=workers, out=tmp_path, progress=None)
    assert rows["policy"].unique(maintain_order=True).to_list() == [
        "easy",
        "easy:order=Shortest",
        "FirstFit",
        rows[6, 2],
    ]
    again = hs.sweep(jobs(), one_node(), policies, seeds=2, workers=1, out=tmp_path, progress=None)
    assert again.equals(rows)


def test_a_sweep_in_processes_refuses_what_cannot_get_there() -> None:
    def local() -> Any:
        return Order(lambda jobs, _: jobs.submit_s)

    policies = ["fcfs", hs.Policy(order=local())]
    with pytest.raises(
        hs.ConfigError, match=r"policy\.order: .*can be pickled, for runs in other processes; or workers=1"
    ):
        hs.sweep(jobs(), one_node(), policies, workers=2, progress=None)
    assert len(hs.sweep(jobs(), one_node(), policies, workers=1, progress=None)) == 2


def test_other_threads_get_their_turns_while_python_decides() -> None:
    ticks = [0]
    over = threading.Event()

    def count() -> None:
        while not over.is_set():
            ticks[0] += 1
            time.sleep(0.001)

    rng = np.random.default_rng(1)
    many = 20_000
    columns = {
        "job_id": np.arange(many),
        "submit_s": np.sort(rng.integers(0, 10 * many, many)),
        "node_count": [1] * many,
    }
    workload = hs.Workload.from_polars(pl.DataFrame({**columns, "runtime_s": [5.0] * many}))
    thread = threading.Thread(target=count)
    thread.start()
    try:
        hs.simulate(workload, one_node(), hs.Policy(order=Shortest(), placement=LowestId()))
    finally:
        over.set()
        thread.join()
    assert ticks[0] > 1
