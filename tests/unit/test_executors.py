"""Executors by a word or as objects: the same rows from each, workers that are lost, and what goes to a worker."""

from __future__ import annotations

import importlib.util
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import settings
from lost_workers import Kills

import hetsched as hs
from hetsched.experiments import reproduce
from hetsched.many import executors, specs
from hetsched.many.carried import build, check_build
from hetsched.many.many import many
from hetsched.many.processes import Processes
from hetsched.many.spec import read_workload

try:
    import dask
    from distributed import Client, LocalCluster

    from hetsched.many import on_dask
    from hetsched.many.on_dask import OnDask, at_scheduler
except ImportError:
    on_dask = None

JOBS = pl.DataFrame(
    {"job_id": range(30), "submit_s": range(0, 1800, 60), "runtime_s": [60.0] * 30, "node_count": [1, 2, 3] * 10}
)
LOG = hs.Workload.from_polars(JOBS, source="may.swf")
MACHINE = hs.Platform.homogeneous(4, 100, 300)
WORK = (LOG, MACHINE, ["easy", "random"])


@pytest.fixture(scope="module")
def wanted():
    return hs.sweep(*WORK, seeds=4, workers=1)


def message(**given):
    with pytest.raises(hs.ConfigError) as caught:
        hs.sweep(LOG, MACHINE, "easy", **given)
    return str(caught.value)


# Words


@pytest.mark.parametrize(
    "word", ["", "dask", "dask://host", "dask://:8786", "processes", "processes:two", "slurm", "MPI"]
)
def test_a_word_of_no_executor_is_answered_by_all_that_there_are(word):
    assert message(executor=word) == (
        f"executor: found `{word}`, expected processes:N, dask://HOST:PORT, dask-slurm, dask-slurm:N or mpi"
    )


def test_what_is_no_executor_and_numbers_that_cannot_be_are_refused():
    assert message(executor=4).startswith("executor: found `int`, expected an Executor of concurrent.futures, or ")
    assert message(executor="processes:0") == "executor: found `0`, expected a whole number between 1 and 1024"
    assert message(executor="dask-slurm:5000").splitlines()[0].startswith("executor: found `5000`")


def test_an_executor_has_its_own_workers():
    for given in ("processes:2", Processes(2)):
        said = message(executor=given, workers=3)
        assert said == "workers: found `3`, expected nothing with an executor, which has its own"


@pytest.mark.parametrize(
    ("word", "package", "extra"),
    [
        ("dask://host:8786", "distributed", "dask"),
        ("dask-slurm", "dask-jobqueue", "slurm"),
        ("dask-slurm:3", "dask-jobqueue", "slurm"),
        ("mpi", "mpi4py", "mpi"),
    ],
)
def test_an_extra_that_is_not_installed_is_named(monkeypatch, word, package, extra):
    monkeypatch.setattr(executors, "find_spec", lambda _: None)
    expected = f"executor: found an installation without {package}, expected {package}: pip install 'hetsched[{extra}]'"
    assert message(executor=word) == expected


def test_processes_by_a_word_give_the_same_rows(wanted):
    assert hs.sweep(*WORK, seeds=4, executor="processes:2").equals(wanted)


def test_settings_and_calibrations_take_words():
    asked = {"nodes": [5, 6]}
    alone = hs.what_if(LOG, MACHINE, "easy", asked, workers=1)
    assert hs.what_if(LOG, MACHINE, "easy", asked, executor="processes:1").table.equals(alone.table)
    observed = hs.Workload.from_polars(JOBS.with_columns(observed_start_s=pl.col("submit_s") + 9.0))
    alone = hs.calibrate(observed, MACHINE, workers=1, evaluations=5)
    found = hs.calibrate(observed, MACHINE, executor="processes:1", evaluations=5)
    assert found.trials.equals(alone.trials)
    for call in (hs.what_if, hs.calibrate):
        with pytest.raises(hs.ConfigError, match="executor: found `nowhere`"):
            call(observed, MACHINE, "easy", executor="nowhere")


def without_times(comparison):
    """All that a comparison says, but for how long its runs took."""
    said = comparison.to_dict()
    for run in said["runs"]:
        del run["timing"]
    return said


def test_comparisons_and_provisions_take_words(tmp_path, recwarn):
    log = hs.Workload.from_polars(JOBS.with_columns(team=pl.lit("red"), power_w=pl.lit(250.0)), source="may.swf")
    given = {"seeds": 2, "bound": True, "predictor": hs.power.Noisy(error_ratio=0.1, seed=3)}
    here = hs.compare(log, MACHINE, WORK[2], out=tmp_path / "here", **given)
    there = hs.compare(log, MACHINE, WORK[2], out=tmp_path / "there", executor="processes:1", **given)
    assert there.table.equals(here.table)
    assert there.runs.equals(here.runs)
    assert without_times(there) == without_times(here)
    assert str(there) == str(here)
    folders = [path.name for path in (tmp_path / "here").iterdir() if path.is_dir()]
    assert sorted(folders) == ["easy", "random-seed-0", "random-seed-1"]
    for folder in folders:
        whole = hs.read_result(tmp_path / "there" / folder)
        assert whole == hs.read_result(tmp_path / "here" / folder)
        # A log's own columns go along.
        assert whole.jobs["team"].to_list() == ["red"] * 30
    asked = {"budget_w": 400, "base_w": 25, "mix": {85: 1, 55: 1}, "nodes": [3, 4], "workload": LOG, "seeds": 2}
    alone = hs.provision(**asked)
    away = hs.provision(**asked, executor="processes:1")
    assert away.runs.equals(alone.runs)
    assert away.to_dict() == alone.to_dict()
    assert away.provenance == alone.provenance
    assert not recwarn.list


def test_comparisons_and_provisions_say_what_is_no_executor():
    with pytest.raises(hs.ConfigError, match="executor: found `nowhere`, expected processes:N"):
        hs.compare(LOG, MACHINE, "easy", executor="nowhere")
    with pytest.raises(hs.ConfigError, match="executor: found `nowhere`, expected processes:N"):
        hs.provision(400, 25, {85: 1}, nodes=[3], workload=LOG, executor="nowhere")
    with pytest.raises(hs.ConfigError, match="executor: found `processes:2`, expected a workload as well"):
        hs.provision(400, 25, {85: 1}, nodes=[3], executor="processes:2")


def test_a_run_that_fails_elsewhere_says_the_same_as_here():
    unknown = hs.Workload.from_polars(JOBS.with_columns(app=pl.lit("lu")))
    table = hs.VariationTable(["bt"], power_w=np.full((1, 4), 200.0))
    machine = hs.Platform.homogeneous(4, 100, 300, actual=table)
    said = []
    for executor in (None, "processes:1"):
        with pytest.raises(hs.HetschedError) as caught:
            hs.compare(unknown, machine, ["easy", "fcfs"], executor=executor)
        said.append((type(caught.value), str(caught.value)))
    assert said[0] == said[1]
    assert "lu" in said[0][1]


def test_the_jobs_and_the_machine_go_to_a_worker_once_for_a_comparison():
    tasks = []

    class Keeping(ThreadPoolExecutor):
        def submit(self, fn, /, *args, **kwargs):
            tasks.append(args[0])
            return super().submit(fn, *args, **kwargs)

    with Keeping(1) as executor:
        hs.compare(LOG, MACHINE, WORK[2], seeds=3, executor=executor)
    assert len(tasks) == 4
    assert len({task.files for task in tasks}) == 1
    assert all(len(pickle.dumps(task)) < 4000 for task in tasks)


def test_a_comparison_can_be_pickled_with_what_its_page_needs():
    found = hs.compare(LOG, MACHINE, ["easy", "fcfs"])
    again = pickle.loads(pickle.dumps(found))
    assert again.to_dict() == found.to_dict()
    assert [run.policy for run in again._again()] == ["easy", "fcfs"]


# Workers that are lost


@pytest.mark.skipif(sys.platform != "linux", reason="processes are ended by a signal")
def test_an_experiment_takes_words(recwarn):
    here = reproduce("swa-multi", quick=True, repetitions=2)
    found = reproduce("swa-multi", quick=True, repetitions=2, executor="processes:1")
    assert found.runs.equals(here.runs)
    assert found.to_dict() == here.to_dict()
    assert not recwarn.list
    with pytest.raises(hs.ConfigError, match="executor: found `nodes`, expected processes:N"):
        reproduce("swa-multi", quick=True, executor="nodes")


def test_a_lost_worker_repeats_only_what_it_had(tmp_path):
    tasks = [Kills(number, str(tmp_path), times=2 * (number == 3)) for number in range(8)]
    with Processes(2) as processes:
        found = {task.number: answer["number"] for task, answer in many(tasks, executor=processes)}
    assert found == {number: number for number in range(8)}
    runs = {number: len((tmp_path / str(number)).read_text()) for number in range(8)}
    assert runs == {number: 3 if number == 3 else 1 for number in range(8)}


@pytest.mark.skipif(sys.platform != "linux", reason="processes are ended by a signal")
def test_a_run_that_ends_its_process_three_times_is_named(tmp_path):
    tasks = [Kills(number, str(tmp_path), times=9 * (number == 1)) for number in range(4)]
    with Processes(1) as processes, pytest.raises(hs.SimulationError) as caught:
        list(many(tasks, executor=processes, place=str))
    assert str(caught.value).startswith("run 1: the process running it was ended by the system with SIGKILL; ")
    assert str(caught.value).endswith("; it was the 3rd to be lost while running it")
    assert len((tmp_path / "1").read_text()) == 3


def test_another_build_on_a_worker_is_said_to_be():
    check_build(build())
    with pytest.raises(hs.ConfigError) as caught:
        check_build(("0.0.1", "abcdef0123456789"))
    assert str(caught.value).startswith(f"executor: found hetsched {hs.__version__} (build {build()[1][:8]}) on ")
    assert "expected hetsched 0.0.1 (build abcdef01) on every machine" in str(caught.value)


# Sizes


@dataclass(frozen=True)
class Tiny:
    number: int

    @property
    def key(self):
        return str(self.number)

    @property
    def names(self):
        return {}

    def execute(self):
        return {"number": self.number}


class Counting(Executor):
    """Answers in a thread, some at a time, and counts what is outstanding."""

    def __init__(self):
        self.waiting, self.most, self.lock, self.is_over = [], 0, threading.Lock(), threading.Event()
        self.thread = threading.Thread(target=self.answer, daemon=True)
        self.thread.start()

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        with self.lock:
            self.waiting.append((future, fn, args))
            self.most = max(self.most, len(self.waiting))
        return future

    def answer(self):
        while not self.is_over.wait(0.001):
            with self.lock:
                now, self.waiting = self.waiting[:300], self.waiting[300:]
            for future, fn, args in now:
                future.set_result(fn(*args))

    def shutdown(self, wait=True, *, cancel_futures=False):
        self.is_over.set()
        self.thread.join()


@pytest.mark.at_length
def test_runs_that_are_outstanding_are_bounded_however_many_there_are():
    count = 10_000 if settings.get_current_profile_name() == "long" else 2_500
    with Counting() as executor:
        found = sum(
            answer["number"] for _, answer in many([Tiny(number) for number in range(count)], executor=executor)
        )
    assert found == count * (count - 1) // 2
    assert executor.most <= 1000


def test_what_goes_to_a_worker_for_a_run_does_not_grow_with_the_log(tmp_path):
    sizes = []
    for repeats in (1, 100):
        jobs = pl.concat([JOBS] * repeats).with_columns(job_id=pl.int_range(30 * repeats))
        given = specs(hs.Workload.from_polars(jobs), MACHINE, "easy", folder=tmp_path / str(repeats))
        sizes.append(len(pickle.dumps(given[0])))
    assert sizes[1] - sizes[0] < 20
    assert sizes[1] < 4000


# Dask

has_dask = pytest.mark.skipif(on_dask is None, reason="distributed is not installed (hetsched[dask])")
# Its own clean-up of sockets and loops is its own affair.
dask_warns = pytest.mark.filterwarnings("default")


def _count_reads():
    return read_workload.cache_info().misses


def _holds_files(dask_worker):
    return [key for key in dask_worker.data if str(key).startswith("hetsched-file")]


@pytest.fixture(scope="module")
def cluster():
    # Workers have interpreters of their own, as on other machines, and find this test's modules.
    path = os.pathsep.join(
        [str(Path(hs.__file__).parents[1]), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    )
    before, os.environ["PYTHONPATH"] = os.environ.get("PYTHONPATH"), path
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    configured = {"distributed.scheduler.allowed-failures": 2, "distributed.worker.memory.terminate": False}
    try:
        with dask.config.set(configured), LocalCluster(host="tcp://127.0.0.1", **options) as made:
            yield made
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


def word_of(cluster):
    return cluster.scheduler_address.replace("tcp://", "dask://")


@has_dask
@dask_warns
def test_a_cluster_gives_the_same_rows_and_reads_each_log_once_a_worker(cluster, wanted, tmp_path):
    sent = []
    with Client(cluster, set_as_default=False) as client, OnDask(client, "dask") as executor:
        before = client.run(_count_reads)
        submit = client.submit

        def counted(function, *args, **kwargs):
            sent.append((function.__name__, sum(len(one) for one in args if isinstance(one, bytes))))
            return submit(function, *args, **kwargs)

        client.submit = counted
        found = hs.sweep(*WORK, seeds=[*range(4), 17, 18, 19], executor=executor, out=tmp_path)
        after = client.run(_count_reads)
    assert found.filter(pl.col("seed") < 4).equals(wanted)
    # A file of jobs and one of the machine, whatever the number of runs, each of which is one call.
    assert [name for name, _ in sent].count("_same") == 2
    assert [name for name, _ in sent].count("called_with") == 8
    assert sum(size for name, size in sent if name == "called_with") == 0
    assert all(after[worker] - before[worker] <= 1 for worker in after)
    assert hs.sweep(*WORK, seeds=4, executor=word_of(cluster)).equals(wanted)


@has_dask
@dask_warns
def test_a_cluster_makes_settings_and_keeps_no_file_behind(cluster):
    asked = {"nodes": [5, 6]}
    alone = hs.what_if(LOG, MACHINE, "easy", asked, workers=1)
    assert hs.what_if(LOG, MACHINE, "easy", asked, executor=word_of(cluster)).table.equals(alone.table)
    with Client(cluster, set_as_default=False) as client:
        assert [key for held in client.run(_holds_files).values() for key in held] == []


@has_dask
@dask_warns
def test_a_cluster_makes_comparisons_and_provisions(cluster, tmp_path):
    here = hs.compare(*WORK, seeds=2, out=tmp_path / "here")
    there = hs.compare(*WORK, seeds=2, out=tmp_path / "there", executor=word_of(cluster))
    assert without_times(there) == without_times(here)
    assert hs.read_result(tmp_path / "there" / "easy") == hs.read_result(tmp_path / "here" / "easy")
    asked = {"budget_w": 400, "base_w": 25, "mix": {85: 1, 55: 1}, "nodes": [3, 4], "workload": LOG}
    assert hs.provision(**asked, executor=word_of(cluster)).runs.equals(hs.provision(**asked).runs)
    with Client(cluster, set_as_default=False) as client:
        assert [key for held in client.run(_holds_files).values() for key in held] == []


@has_dask
@dask_warns
def test_a_lost_worker_of_a_cluster_repeats_only_what_it_had(cluster, tmp_path):
    tasks = [Kills(number, str(tmp_path), times=number == 3) for number in range(12)]
    with at_scheduler(word_of(cluster).removeprefix("dask://")) as executor:
        found = {task.number: answer["number"] for task, answer in many(tasks, executor=executor)}
    assert found == {number: number for number in range(12)}
    runs = [len((tmp_path / str(number)).read_text()) for number in range(12)]
    assert runs[3] == 2
    # One more may have begun on the worker that was lost.
    assert sum(runs) <= 14


@has_dask
@dask_warns
def test_a_run_that_a_cluster_loses_three_workers_with_is_named(cluster, tmp_path):
    with (
        at_scheduler(word_of(cluster).removeprefix("dask://")) as executor,
        pytest.raises(hs.SimulationError, match=r"^run 0: 3 workers of dask://\S+ were lost while running it"),
    ):
        list(many([Kills(0, str(tmp_path), times=9)], executor=executor, place=str))
    assert len((tmp_path / "0").read_text()) == 3


@has_dask
@dask_warns
def test_a_scheduler_that_does_not_answer_is_said_to_be(monkeypatch):
    monkeypatch.setattr(on_dask, "_ANSWERS_WITHIN_S", 1.0)
    assert message(executor="dask://127.0.0.1:1") == (
        "executor: found `dask://127.0.0.1:1`, expected a dask scheduler that answers there within 1 s: "
        "`dask scheduler` starts one"
    )


@has_dask
@dask_warns
def test_a_scheduler_without_workers_is_not_waited_for_for_ever(monkeypatch):
    monkeypatch.setattr(on_dask, "_PATIENCE_S", 2.0)
    options = {"n_workers": 0, "processes": False, "dashboard_address": ":0", "silence_logs": 50}
    with (
        LocalCluster(host="tcp://127.0.0.1", **options) as empty,
        pytest.raises(hs.SimulationError, match="has had no worker for 2 s"),
    ):
        hs.sweep(LOG, MACHINE, "easy", executor=word_of(empty))


@pytest.mark.skipif(importlib.util.find_spec("dask_jobqueue") is None, reason="dask-jobqueue is not installed")
@dask_warns
def test_a_machine_without_slurm_is_said_to_be(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    handler = signal.getsignal(signal.SIGINT)
    monkeypatch.delitem(sys.modules, "dask_jobqueue.runner", raising=False)
    monkeypatch.delitem(sys.modules, "dask_jobqueue", raising=False)
    assert message(executor="dask-slurm") == (
        "executor: found `dask-slurm`, expected a machine that has sbatch, such as a login node of the cluster"
    )
    # The package takes Ctrl-C for itself when it is imported.
    assert "dask_jobqueue.runner" in sys.modules
    assert signal.getsignal(signal.SIGINT) is handler


# MPI

has_mpi = pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None or shutil.which("mpirun") is None,
    reason="mpi4py (hetsched[mpi]) or mpirun is not installed",
)
MPI_SCRIPT = """
import polars as pl, hetsched as hs

jobs = {"job_id": range(9), "submit_s": range(0, 540, 60), "runtime_s": [60.0] * 9, "node_count": [1, 2, 3] * 3}
work = hs.Workload.from_polars(pl.DataFrame(jobs)), hs.Platform.homogeneous(4, 100, 300), ["easy", "random"]
if __name__ == "__main__":
    found = hs.sweep(*work, seeds=4, executor="mpi")
    print(found.equals(hs.sweep(*work, seeds=4, workers=1)), len(found))
"""


def by_mpi(folder, *launch):
    (folder / "script.py").write_text(MPI_SCRIPT)
    return launched(*launch, str(folder / "script.py"))


def launched(*words):
    given = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "POLARS_MAX_THREADS": "1"}
    given["PYTHONPATH"] = str(Path(hs.__file__).parents[1])
    command = ["mpirun", "--oversubscribe", "-n", *words]
    return subprocess.run(
        command, env={**os.environ, **given}, capture_output=True, text=True, timeout=300, check=False
    )


@has_mpi
@pytest.mark.slow
def test_ranks_give_the_same_rows(tmp_path):
    done = by_mpi(tmp_path, "2", sys.executable, "-m", "mpi4py.futures")
    assert done.stdout == "True 8\n", done.stderr


@has_mpi
@pytest.mark.slow
def test_ranks_run_a_sweep_from_a_file(tmp_path):
    (tmp_path / "log.csv").write_text(JOBS.write_csv())
    words = [
        'logs = ["log.csv"]',
        'policies = ["easy", "random"]',
        "seeds = 3",
        "nodes = 4",
        "idle_w = 100",
        "tdp_w = 300",
    ]
    (tmp_path / "sweep.toml").write_text("\n".join([*words, 'metrics = ["mean_wait_s"]']))
    command = [
        "-m",
        "mpi4py.futures",
        "-m",
        "hetsched",
        "sweep",
        str(tmp_path / "sweep.toml"),
        "--json",
        "--executor",
        "mpi",
    ]
    done = launched("2", sys.executable, *command)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["summary"]["runs"] == 6


@has_mpi
@pytest.mark.slow
def test_ranks_without_workers_learn_how_to_start(tmp_path):
    done = by_mpi(tmp_path, "1", sys.executable)
    assert (
        "executor: found mpi on 1 rank without mpi4py.futures, expected a program started by mpirun -n N" in done.stderr
    )
