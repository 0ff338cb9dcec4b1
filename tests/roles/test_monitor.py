"""A monitor in Python: what it shows decides about emergencies, and changes nothing that is drawn."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import settings

import hetsched as hs
from hetsched.testing import check_schedule, conformance

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

PLATFORM = hs.Platform.homogeneous(nodes=4, idle_w=50, tdp_w=200)


def log() -> hs.Workload:
    """Two jobs of 200 W a node: 500 W for both, with the idle nodes."""
    frame = {"job_id": [1, 2], "submit_s": [0.0, 10.0], "runtime_s": [100.0, 50.0], "node_count": [1, 1]}
    return hs.Workload.from_polars(pl.DataFrame(frame))


def policy(monitor: Any, budget_w: float, **power: Any) -> hs.Policy:
    given = {"name": "system-budget", "budget_w": budget_w, "on_excess": "kill", "monitor": monitor, **power}
    return hs.Policy.preset("easy", power=given)


class Bias:
    """Shows so many watts too many."""

    def __init__(self, watts: float = 0.0) -> None:
        self.watts = watts

    def read(self, draw_w: float, view: Any) -> float:
        return draw_w + self.watts


def test_a_monitor_that_shows_the_draw_changes_nothing() -> None:
    named = hs.Policy.preset("easy", power={"name": "system-budget", "budget_w": 520.0, "on_excess": "kill"})
    own = hs.simulate(log(), PLATFORM, policy(Bias(), 520.0))
    assert own.jobs.equals(hs.simulate(log(), PLATFORM, named).jobs)
    assert own.jobs["state"].to_list() == ["completed", "completed"]


def test_one_that_shows_too_much_begins_an_emergency() -> None:
    # 350 W with one job, 500 W with both: 30 W too many pass 520 W when the second has started, which is killed.
    result = hs.simulate(log(), PLATFORM, policy(Bias(30.0), 520.0))
    check_schedule(result, log(), PLATFORM)
    # What is shown beyond the prediction counts against starts, too: 350 + 30 + 150 W are more than there are.
    assert result.jobs["start_s"].to_list() == [0.0, 100.0]
    assert result.summary()["peak_power_w"] == 350.0


class Late(Bias):
    """Shows too much from an instant on."""

    def read(self, draw_w: float, view: Any) -> float:
        return draw_w + (self.watts if view.now_s >= 10 and len(view.running) > 1 else 0.0)


def test_it_is_read_after_each_thing_that_is_done() -> None:
    result = hs.simulate(log(), PLATFORM, policy(Late(30.0), 520.0))
    assert result.jobs["state"].to_list() == ["completed", "failed"]
    assert result.jobs["end_s"].to_list() == [100.0, 10.0]
    assert result.summary()["alerts"] == 1
    alert = result.events.filter(pl.col("kind") == "alert").row(0, named=True)
    assert alert["power_before_w"] == 500.0


@pytest.mark.parametrize("answer", [float("nan"), -1.0, None, "much", float("inf")])
def test_a_wrong_reading_is_reported(answer: Any) -> None:
    class Wrong:
        def read(self, draw_w: float, view: Any) -> Any:
            return answer

    with pytest.raises(hs.SimulationError) as raised:
        hs.simulate(log(), PLATFORM, policy(Wrong(), 520.0))
    assert str(raised.value) == (
        f"policy.power.monitor: `read` of Wrong gave `{answer!r}` where watts from 0 were asked for at 0 s"
    )


def test_an_exception_comes_back_as_itself() -> None:
    class Broken:
        def read(self, draw_w: float, view: Any) -> Any:
            return 1 / 0

    with pytest.raises(ZeroDivisionError) as raised:
        hs.simulate(log(), PLATFORM, policy(Broken(), 520.0))
    assert raised.value.__notes__ == ["policy.power.monitor: `read` of Broken, of 200 W, at 0 s"]


def test_a_monitor_that_nothing_reads_is_refused() -> None:
    with pytest.raises(hs.ConfigError, match=r"policy\.power\.monitor: found `Bias`, expected on_excess with it"):
        policy(Bias(), 520.0, on_excess=[])


class Noise:
    """Normal noise on what it shows."""

    def __init__(self, sd_w: float = 40.0) -> None:
        self.sd_w = sd_w

    def seed(self, rng: Any) -> None:
        self._rng = rng

    def read(self, draw_w: float, view: Any) -> float:
        return max(0.0, draw_w + self._rng.normal(0.0, self.sd_w))


def test_noise_is_of_the_run_and_conforms() -> None:
    noisy = policy(Noise(), 520.0)
    assert noisy.uses_chance
    assert hs.simulate(log(), PLATFORM, noisy, seed=4) == hs.simulate(log(), PLATFORM, noisy, seed=4)
    conformance(Noise, examples=settings().max_examples // 2)


def test_files_and_tables_are_no_monitors() -> None:
    for given in (hs.VariationTable, hs.Events):
        with pytest.raises(hs.ConfigError) as raised:
            hs.Policy(order=given)  # type: ignore[arg-type]
        assert "monitor" not in str(raised.value)
