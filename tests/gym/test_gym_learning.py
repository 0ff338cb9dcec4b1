"""The agent of the page on learning a policy beats a random one, and the page's table says what it finds."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "learn-a-policy.md"
LEARNER = re.compile(r"^`learner\.py`:\n\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| ([^|]+) \| ([\d.]+) \| ([+-][\d.]+) ± ([\d.]+) \| ([\d.]+) \|$", re.MULTILINE)
# Of a mean wait of half an hour: sums of floats may differ in their last digits elsewhere, and with them a few choices.
NEAR_H = 0.05


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """What the page's statements leave behind, as far as its table."""
    text = PAGE.read_text(encoding="utf-8")
    folder = tmp_path_factory.mktemp("page")
    (folder / "learner.py").write_text(LEARNER.search(text)[1], encoding="utf-8")
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        patch.delitem(sys.modules, "learner", raising=False)
        for block in BLOCK.findall(text[: text.index("The table adds")]):
            if ">>>" not in block:
                exec(compile(block, str(PAGE), "exec"), found)
    return found


def test_the_agent_beats_a_random_one_beyond_chance(learned):
    waits_h = learned["found"]
    gains_h = waits_h["random"][:, 0] - waits_h["learned, training seed 0"][:, 0]
    half = 2.01 * gains_h.std(ddof=1) / np.sqrt(len(gains_h))
    assert gains_h.mean() - half > 0.1


def test_the_table_says_what_was_found(learned):
    rows = {name: tuple(map(float, numbers)) for name, *numbers in ROW.findall(PAGE.read_text(encoding="utf-8"))}
    assert len(rows) == 10
    easy_h = learned["found"]["`easy`"][:, 0]
    for name, waits_h in learned["found"].items():
        mean_h, gain_h, half_h, longest_h = rows[name]
        change_h = waits_h[:, 0] - easy_h
        assert waits_h[:, 0].mean() == pytest.approx(mean_h, abs=NEAR_H)
        assert change_h.mean() == pytest.approx(gain_h, abs=NEAR_H)
        assert 2.01 * change_h.std(ddof=1) / np.sqrt(len(change_h)) == pytest.approx(half_h, abs=NEAR_H)
        assert waits_h[:, 1].mean() == pytest.approx(longest_h, rel=0.1)


@pytest.mark.slow
@pytest.mark.at_length
def test_other_trainings_find_as_much(learned):
    seeds = [1, 2, 3, 4] if settings.get_current_profile_name() == "long" else [1]
    rows = dict(re.findall(r"^\| ([^|]+) \| ([\d.]+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    for seed in seeds:
        mean_h = mean_wait_h(learned, seed)
        assert mean_h == pytest.approx(float(rows[f"learned, training seed {seed}"]), abs=NEAR_H)


def mean_wait_h(learned, seed):
    """Over all workloads, after a training."""
    weights = learned["learn"](learned["envs"], seed=seed)
    return learned["waits_h"](learned["greedy"](weights[None]))[:, 0].mean()
