"""Many tasks: answers as they come, from a store or any executor; options of a run, declared once."""

from __future__ import annotations

import dataclasses
import gc
import inspect
import os
import subprocess
import sys
import threading
import tracemalloc
import weakref
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import hetsched as hs
from hetsched.many.many import many
from hetsched.many.processes import Processes
from hetsched.many.store import Store
from hetsched.many.summaries import Summaries
from hetsched.resources import ended, threads
from hetsched.run.options import RunKeywords, RunOptions


@dataclass(frozen=True)
class Square:
    number: int

    @property
    def key(self):
        return str(self.number)

    @property
    def names(self):
        return {"number": self.number}

    def execute(self):
        if self.number < 0:
            raise hs.SimulationError("less than nothing")
        return {"square": self.number**2}


SQUARES = [Square(3), Square(1), Square(3), Square(2)]


@pytest.fixture(params=["none", "threads"])
def executor(request):
    if request.param == "none":
        yield None
    else:
        with ThreadPoolExecutor(2) as pool:
            yield pool


def test_tasks_of_one_key_are_executed_once(executor):
    found = {task: answer["square"] for task, answer in many(SQUARES, executor=executor)}
    assert found == {Square(3): 9, Square(1): 1, Square(2): 4}


def test_what_a_store_holds_is_not_executed_again(tmp_path, executor):
    with Store(tmp_path, "tasks.jsonl", field="answer") as store:
        store.add(Square(3), {"square": "kept"})
        found = [(task.number, answer["square"]) for task, answer in many(SQUARES, executor=executor, store=store)]
    assert found[0] == (3, "kept")
    assert sorted(found[1:]) == [(1, 1), (2, 4)]
    with Store(tmp_path, "tasks.jsonl", field="answer") as store:
        assert list(store.answers) == ["3", *(key for key in store.answers if key != "3")]
        assert len(list(many(SQUARES, store=store))) == 3


def test_the_first_error_comes_with_its_place(executor):
    with pytest.raises(hs.SimulationError, match=r"^number -1: less than nothing$"):
        list(many([Square(-1), Square(2)], executor=executor, place=lambda task: f"number {task.number}"))


def test_what_has_not_begun_is_not_begun_after_an_error():
    begun = []

    class Slow(Square):
        def execute(self):
            begun.append(self.number)
            return super().execute()

    with threads(1, stop=threading.Event().set) as pool, pytest.raises(hs.SimulationError):
        for _ in many([Slow(-1), *(Slow(number) for number in range(50))], executor=pool):
            pass
    assert len(begun) < 50


def test_processes_are_an_executor():
    with Processes(2) as processes:
        assert list(processes.map(pow, [2, 3, 4], [5, 2, 1])) == [32, 9, 4]
        failed = processes.submit(int, "no number")
        with pytest.raises(hs.SimulationError, match="ValueError: invalid literal"):
            failed.result(timeout=300)
        # One that cannot be sent is the caller's to hear of, and the process goes on.
        with pytest.raises(Exception, match="pickle"):
            processes.submit(lambda: 1).result(timeout=300)
        assert processes.submit(abs, -1).result(timeout=300) == 1
    with pytest.raises(RuntimeError, match="ended"):
        processes.submit(abs, -1)


# Sweeps


def work():
    jobs = {"job_id": range(8), "submit_s": [0] * 8, "runtime_s": [60.0] * 8, "node_count": [1] * 8, "app": ["a"] * 8}
    table = hs.VariationTable(["a"], power_w=np.linspace(200.0, 300.0, 12)[np.newaxis])
    platform = hs.Platform.homogeneous(nodes=12, idle_w=100, tdp_w=300).with_tables(actual=table)
    return hs.Workload.from_polars(pl.DataFrame(jobs)), platform


def test_a_sweep_takes_a_predictor_which_decides_what_its_runs_are(tmp_path):
    frames = {}
    for error in (0.0, 0.5):
        predictor = hs.power.Noisy(error_ratio=error, seed=1)
        frames[error] = hs.sweep(*work(), "vahrm", workers=1, predictor=predictor, out=tmp_path)
        alone = hs.simulate(*work(), "vahrm", predictor=predictor).summary()
        assert frames[error].drop("workload", "platform", "policy", "seed").to_dicts() == [alone]
    assert frames[0.0]["job_energy_j"].item() < frames[0.5]["job_energy_j"].item()
    assert len((tmp_path / "sweep.jsonl").read_text().splitlines()) == 2


def test_a_sweep_runs_in_any_executor():
    expected = hs.sweep(*work(), ["easy", "random"], seeds=3, workers=1)
    with ThreadPoolExecutor(2) as pool:
        assert hs.sweep(*work(), ["easy", "random"], seeds=3, executor=pool).equals(expected)
    with pytest.raises(hs.ConfigError, match="workers: found `2`, expected nothing with an executor"):
        hs.sweep(*work(), "easy", workers=2, executor=pool)


SCRIPT = """
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
import polars as pl
import hetsched as hs

if __name__ == "__main__":
    jobs = {"job_id": [1, 2], "submit_s": [0, 0], "runtime_s": [60.0, 30.0], "node_count": [1, 1]}
    work = hs.Workload.from_polars(pl.DataFrame(jobs)), hs.Platform.homogeneous(1, 100, 300)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        found = hs.sweep(*work, ["fcfs", "random"], seeds=2, executor=pool)
    print(found.equals(hs.sweep(*work, ["fcfs", "random"], seeds=2, workers=1)), len(found))
"""


def test_a_sweep_runs_in_pythons_own_processes(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "script.py")],
        env={**os.environ, "PYTHONPATH": str(Path(hs.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("True 4\n", "")


# Options


def test_options_are_declared_once():
    declared = {one.name: one.type for one in dataclasses.fields(RunOptions)}
    keywords = {name: getattr(hint, "__forward_arg__", hint) for name, hint in RunKeywords.__annotations__.items()}
    assert keywords == declared


@pytest.mark.parametrize(
    ("function", "without"),
    [
        (hs.simulate, set()),
        (hs.compare, set()),
        (hs.sweep, {"seed"}),
        (hs.meter, {"seed", "until_s", "predictor"}),
    ],
)
def test_signatures_show_every_option_with_its_default(function, without):
    shown = inspect.signature(function).parameters
    defaults = {one.name: one.default for one in dataclasses.fields(RunOptions) if one.name not in without}
    assert {name: shown[name].default for name in defaults} == defaults
    assert not without & set(shown)
    assert "options" not in shown
    with pytest.raises(TypeError, match=r"got an unexpected keyword argument 'untl_s'"):
        function(None, None, None, untl_s=1)


# Experiments


def test_a_reproduction_that_was_stopped_goes_on_where_it_was(tmp_path, quick_report):
    whole = quick_report("swa-multi", now=True)
    told = []

    def stop_after_two(done, total):
        told.append((done, total))
        if done == 2:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        hs.experiments.reproduce("swa-multi", quick=True, out=tmp_path, progress=stop_after_two)
    finished = (tmp_path / "repetitions.jsonl").read_text().splitlines()
    assert 2 <= len(finished) < told[0][1]
    resumed = hs.experiments.reproduce("swa-multi", quick=True, out=tmp_path)
    assert resumed.to_dict() == whole.to_dict()
    assert resumed.runs.equals(whole.runs)
    assert (tmp_path / "repetitions.jsonl").read_text().splitlines()[: len(finished)] == finished
    with pytest.raises(hs.ConfigError, match="out: found ``, expected a folder's name"):
        hs.experiments.reproduce("swa-multi", quick=True, out="")


def test_what_has_been_given_out_is_let_go_of():
    class Large:
        pass

    class Makes(Square):
        def execute(self):
            return Large()

    alive = []
    with ThreadPoolExecutor(1) as pool:
        for _, answer in many([Makes(number) for number in range(6)], executor=pool):
            alive.append(weakref.ref(answer))
            del answer
            # The last one given out may still be in a frame; those before are not.
            assert sum(one() is not None for one in alive[:-1]) == 0


# Memory


def test_what_a_sweep_holds_does_not_grow_with_its_runs(tmp_path):
    jobs = {"job_id": [1, 2], "submit_s": [0.0, 900.0], "runtime_s": [60.0, 30.0], "node_count": [1, 2]}
    log, machine = hs.Workload.from_polars(pl.DataFrame(jobs)), hs.Platform.homogeneous(2, idle_w=100, tdp_w=300)
    held = {}

    def look(done, _):
        if done in {50, 200}:
            gc.collect()
            held[done] = tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        with ThreadPoolExecutor(1) as pool:
            hs.sweep(log, machine, "random", seeds=201, executor=pool, out=tmp_path, progress=look)
    finally:
        tracemalloc.stop()
    # A key and a place in the journal; a summary as a dictionary takes 1.5 kB.
    assert held[200] - held[50] < 150 * 300


def test_summaries_are_columns_of_whole_numbers_where_all_are():
    held = Summaries(["a", "b", "c"])
    held.add("a", {"jobs": 2**53 + 1, "energy_j": 1.5, "budget_w": None, "mine": 3})
    held.add("c", {"jobs": -1, "energy_j": 2, "budget_w": None})
    assert ("a" in held, "b" in held) == (True, False)
    found = held.columns(["c", "a", "c"])
    assert {name: (one.dtype, one.to_list()) for name, one in found.items()} == {
        "jobs": (pl.Int64, [-1, 2**53 + 1, -1]),
        "energy_j": (pl.Float64, [2.0, 1.5, 2.0]),
        "budget_w": (pl.Float64, [None, None, None]),
        "mine": (pl.Int64, [None, 3, None]),
    }
    assert list(found) == ["jobs", "energy_j", "budget_w", "mine"]


def test_an_error_of_a_look_shows_no_empty_queue_before_it():
    def look() -> None:
        raise KeyboardInterrupt

    waited_for: Future[None] = Future()
    with pytest.raises(KeyboardInterrupt) as raised:
        next(ended(lambda part: waited_for, deque([1]), look=look))
    assert raised.value.__context__ is None
