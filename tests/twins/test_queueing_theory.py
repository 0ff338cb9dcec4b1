"""Waits as queueing theory says: M/M/c (Erlang C) and M/G/1 (Pollaczek and Khinchine).

Each estimate is the mean over independent replications with fixed seeds, each started with a warm-up that is cut away,
and comes with its confidence interval. An interval that would take any theory for granted proves nothing: each test
also shows that theory at a slightly different load lies outside.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

import hetsched as hs

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")

MEAN_SERVICE_S = 100.0
REPLICATIONS = 24
JOBS, WARM_UP = 20_000, 2_000
T_9999 = 4.685  # quantile of Student's t, 23 degrees of freedom: intervals of 99.99 %

Draw = Callable[[np.random.Generator, int], npt.NDArray[np.float64]]


def exponential(rng: np.random.Generator, count: int) -> npt.NDArray[np.float64]:
    return rng.exponential(MEAN_SERVICE_S, count)


def constant(rng: np.random.Generator, count: int) -> npt.NDArray[np.float64]:
    return np.full(count, MEAN_SERVICE_S)


def uniform(rng: np.random.Generator, count: int) -> npt.NDArray[np.float64]:
    return rng.uniform(0.0, 2.0 * MEAN_SERVICE_S, count)


def two_phases(rng: np.random.Generator, count: int) -> npt.NDArray[np.float64]:
    """Hyperexponential: four short jobs (mean 25 s) on one long (mean 400 s)."""
    return np.where(rng.random(count) < 0.8, 0.25, 4.0) * rng.exponential(MEAN_SERVICE_S, count)


def simulated_wait(servers: int, load: float, service: Draw) -> tuple[float, float]:
    """Mean wait in the steady state and half its confidence interval, both in seconds."""
    platform = hs.Platform.homogeneous(nodes=servers, idle_w=100.0, tdp_w=200.0)
    means = []
    for seed in range(REPLICATIONS):
        rng = np.random.default_rng([servers, seed])
        workload = hs.Workload.from_polars(
            pl.DataFrame(
                {
                    "job_id": np.arange(JOBS),
                    "submit_s": np.cumsum(rng.exponential(MEAN_SERVICE_S / (load * servers), JOBS)),
                    "runtime_s": service(rng, JOBS),
                    "node_count": np.ones(JOBS, dtype=np.int64),
                }
            )
        )
        waits = hs.simulate(workload, platform, policy="fcfs").jobs["wait_s"].to_numpy()
        means.append(waits[WARM_UP:].mean())
    return float(np.mean(means)), T_9999 * float(np.std(means, ddof=1)) / math.sqrt(REPLICATIONS)


def erlang_c_wait(servers: int, load: float) -> float:
    """Mean wait of M/M/c: the chance that all servers are busy over the rate at which they free up beyond need."""
    offered = servers * load
    all_busy = offered**servers / math.factorial(servers) / (1 - load)
    waiting_chance = all_busy / (sum(offered**k / math.factorial(k) for k in range(servers)) + all_busy)
    return waiting_chance * MEAN_SERVICE_S / (servers * (1 - load))


def pollaczek_khinchine_wait(load: float, squared_variation: float) -> float:
    """Mean wait of M/G/1: half the mean residual work's worth of a queue, times 1 + the squared variation."""
    return load / (1 - load) * (1 + squared_variation) / 2 * MEAN_SERVICE_S


@pytest.mark.parametrize(("servers", "load"), [(1, 0.7), (2, 0.7), (8, 0.8)])
def test_mmc_waits_as_erlang_says(servers: int, load: float) -> None:
    wait, half_width = simulated_wait(servers, load, exponential)
    assert abs(wait - erlang_c_wait(servers, load)) <= half_width
    assert wait + half_width < erlang_c_wait(servers, 1.05 * load)
    assert wait - half_width > erlang_c_wait(servers, load / 1.05)


@pytest.mark.parametrize(
    ("service", "squared_variation"),
    # Variance over mean squared: 0; (2 m)^2 / 12 / m^2; E[S^2] = 2 (0.8 x 25^2 + 0.2 x 400^2) = 65,000 = 6.5 m^2.
    [(constant, 0.0), (uniform, 1 / 3), (two_phases, 5.5)],
    ids=["constant", "uniform", "two-phases"],
)
def test_mg1_waits_as_pollaczek_and_khinchine_say(service: Draw, squared_variation: float) -> None:
    wait, half_width = simulated_wait(1, 0.6, service)
    assert abs(wait - pollaczek_khinchine_wait(0.6, squared_variation)) <= half_width
    assert wait + half_width < pollaczek_khinchine_wait(0.66, squared_variation)
    assert wait - half_width > pollaczek_khinchine_wait(0.6 / 1.1, squared_variation)


def test_erlang_c_at_one_server_is_mm1() -> None:
    assert erlang_c_wait(1, 0.5) == pytest.approx(pollaczek_khinchine_wait(0.5, 1.0), rel=1e-12)
