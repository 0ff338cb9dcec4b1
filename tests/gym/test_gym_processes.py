"""Environments in processes that were started by forking: a sentence, never a wait without end."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import hetsched as hs

_FORKED = """
import multiprocessing, sys
import gymnasium
import numpy as np
import hetsched as hs
from hetsched.gym import SchedulingEnv, SchedulingVectorEnv
from hetsched.workload.generators import poisson

workload = poisson(nodes=8, jobs=50, seed=1)
platform = hs.Platform.homogeneous(nodes=8, idle_w=100, tdp_w=300)

def make():
    return SchedulingEnv(workload, platform, jobs=10)

def told(queue, work):
    try:
        work()
        queue.put("worked")
    except hs.SimulationError as error:
        queue.put(str(error))

def child(work):
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=told, args=(queue, work))
    process.start()
    said = queue.get(timeout=150)
    process.join(150)
    return said

def of_many():
    envs = gymnasium.vector.AsyncVectorEnv([make] * 2, context="fork")
    try:
        envs.reset(seed=0)
    finally:
        envs.close(terminate=True)

if __name__ == "__main__":
    one, many = make(), SchedulingVectorEnv(workload, platform, num_envs=2, jobs=10)
    begun, many_begun = make(), SchedulingVectorEnv(workload, platform, num_envs=2, jobs=10)
    action = int(begun.reset(seed=0)[1]["action_mask"].argmax())
    actions = many_begun.reset(seed=0)[1]["action_mask"].argmax(axis=1)
    for work in (one.reset, lambda: begun.step(action), many.reset, lambda: many_begun.step(actions)):
        print(child(work))
    try:
        of_many()
    except hs.SimulationError as error:
        print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="threads are looked up in /proc")
def test_forked_environments_say_so_and_do_not_wait(tmp_path):
    (tmp_path / "forked.py").write_text(_FORKED)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "forked.py"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(hs.__file__).parents[1])},
        timeout=900,
        check=False,
    )
    expected = (
        "this process was forked from one in which polars had been at work, and has lost its threads: start processes "
        'by multiprocessing.get_context("spawn") or "forkserver", or run hetsched.sweep'
    )
    assert done.stdout.splitlines() == [expected] * 5, done.stderr
