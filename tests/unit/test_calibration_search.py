"""The search for settings: steps that are taken, ties, budget and guards (rules 37 and 38)."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from hetsched.calibration.search import Choice, Search
from hetsched.calibration.settings import OFF, Setting, Value
from hetsched.calibration.trial import refusal
from hetsched.toml import toml
from hetsched.units import TICKS_S
from hetsched.validation.changes import ranks
from hetsched.validation.windows import after_windows
from hetsched.workload.clock import WallClock

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SETTINGS = [Setting(name, (OFF, Value("one"), Value("two"))) for name in ("a", "b", "c")]


def search(errors: Mapping[Choice, Any], budget: int = 100) -> Search:
    """A search whose runs have these errors; a pair is the errors of the two halves; None is refused."""

    def evaluate(choices: Any) -> list[dict[str, Any]]:
        found = []
        for choice in choices:
            error = errors.get(choice, 9.0)
            halves = list(error) if isinstance(error, tuple) else [error or 9.0] * 2
            found.append({"log_error": sum(halves) / 2, "halves": halves, "is_refused": error is None})
        return found

    made = Search(SETTINGS, evaluate, lambda found: "no" if found["is_refused"] else None, budget)
    made.run()
    return made


def test_the_best_change_is_taken_and_others_on_top_of_it() -> None:
    found = search({(0, 0, 0): 2.0, (1, 0, 0): 1.5, (0, 2, 0): 1.8, (1, 2, 0): 1.2})
    assert found.steps == [(0, 0, 0), (1, 0, 0), (1, 2, 0)]


def test_a_gain_below_the_least_is_no_step() -> None:
    assert search({(0, 0, 0): 2.0, (1, 0, 0): 1.9951}).now == (0, 0, 0)
    assert search({(0, 0, 0): 2.0, (1, 0, 0): 1.9949}).now == (1, 0, 0)


def test_a_loss_in_one_half_is_no_step() -> None:
    assert search({(0, 0, 0): (2.0, 2.0), (1, 0, 0): (1.0, 2.021)}).now == (0, 0, 0)
    assert search({(0, 0, 0): (2.0, 2.0), (1, 0, 0): (1.0, 2.019)}).now == (1, 0, 0)


def test_a_refused_run_is_no_step_however_near_it_is() -> None:
    assert search({(0, 0, 0): 2.0, (1, 0, 0): None, (0, 1, 0): 1.9}).now == (0, 1, 0)


def test_of_equal_changes_the_earlier_is_taken() -> None:
    assert search({(0, 0, 0): 2.0, (0, 0, 1): 1.5, (0, 2, 0): 1.5 + 1e-10, (0, 1, 0): 1.5}).now == (0, 1, 0)


def test_pairs_are_tried_where_no_single_change_helps() -> None:
    assert search({(0, 0, 0): 2.0, (1, 0, 0): 2.1, (0, 0, 2): 2.1, (1, 0, 2): 1.0}).now == (1, 0, 2)


def test_the_budget_is_kept() -> None:
    for budget in (1, 2, 5, 11):
        assert len(search({(0, 0, 0): 2.0, (1, 0, 0): 1.5}, budget).found) == budget
    assert len(search({(0, 0, 0): 2.0}).found) == 1 + 6 + 12, "each change and each pair, and no more"


def test_guards() -> None:
    observed = {"mean_wait_s": 100.0, "most_queued": 10.0, "queued_at_end": 3}
    base = {"unstarted": 2}
    fine = {"jobs": 1000, "unstarted": 2, "mean_wait_s": 3900.0, "most_queued": 130.0, "queued_at_end": 56}
    assert refusal(fine, base, observed) is None
    for name, value, words in (
        ("unstarted", 3, "never start"),
        ("mean_wait_s", 3901.0, "s of mean wait, more than 3,900"),
        ("most_queued", 131.0, "jobs queued in an hour"),
        ("queued_at_end", 57, "at the end of the half"),
    ):
        assert words in str(refusal({**fine, name: value}, base, observed))
    assert refusal({"impossible": "why"}, base, observed) == "why"


def test_priorities_follow_the_longest_chain() -> None:
    pairs = [("a", "b"), ("b", "c"), ("a", "c"), (None, "c")]
    assert ranks([{"queue": one, "over": other} for one, other in pairs]) == [(None, 1), ("a", 2), ("b", 1), ("c", 0)]
    circle = [{"queue": one, "over": other} for one, other in (("a", "b"), ("b", "a"), ("a", "c"))]
    assert ranks(circle) == [("a", 1), ("b", 1), ("c", 0)]


def test_toml_reads_back() -> None:
    data = {
        "a": 1,
        "b": {"x": 1.5, "y": 'say "\\\n\x7f', "nested": {"z": True}},
        "list": [1, 2.0, "x"],
        "rows": [{"k": "v", "deep": {"w": [1]}}, {"k": "w y"}],
        "odd key": "é",
        "far": float("inf"),
    }
    assert tomllib.loads(toml({**data, "none": None})) == data


def test_jobs_of_a_window_join_the_queue_at_its_end() -> None:
    """Weekdays from 20:00 to 6:00, short jobs only; second 0 is a Thursday's midnight, and the clock an hour ahead."""
    hour = 3600 * TICKS_S
    day = 24 * hour
    window = {"jobs": "walltimes up to 15 min, weekdays", "from_hour": 20, "until_hour": 6}
    ahead = WallClock("an hour ahead", 0.0, (), (3600,))
    at = np.array([4 * hour, 5 * hour, 18 * hour, 19 * hour + 1, day + 20 * hour, 2 * day - 1, 4 * hour])
    short = np.full(len(at), 900 * TICKS_S)
    short[-1] += 1
    found = after_windows(at, short, [window], ahead)
    # The clock shows 5, 6, 19 and 20 h of Thursday, 21 h of Friday, and 0:59 of Saturday, which is no weekday.
    assert found.tolist() == [5 * hour, 5 * hour, 18 * hour, day + 5 * hour, day + 23 * hour, 2 * day - 1, 4 * hour]
    assert after_windows(at[:0], short[:0], [window], None).tolist() == []
