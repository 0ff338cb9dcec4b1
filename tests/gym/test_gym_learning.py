"""Other trainings of the agent of the page on learning a policy; `tests/docs` holds the page's own to its table."""

import re
import sys
from pathlib import Path

import pytest
from hypothesis import settings

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "learn-a-policy.md"
LEARNER = re.compile(r"^`learner\.py`:\n\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Of a mean wait of half an hour: sums of floats may differ in their last digits elsewhere, and with them a few choices.
NEAR_H = 0.05


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """Variables of the page's statements, as far as its table."""
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


@pytest.mark.at_length
@pytest.mark.skipif(settings.get_current_profile_name() != "long", reason="trained in `make fuzz`")
def test_other_trainings_find_as_much(learned):
    rows = dict(re.findall(r"^\| ([^|]+) \| ([\d.]+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    for seed in (1, 2, 3, 4):
        mean_h = mean_wait_h(learned, seed)
        assert mean_h == pytest.approx(float(rows[f"learned, training seed {seed}"]), abs=NEAR_H)


def mean_wait_h(learned, seed):
    """Over all workloads, after a training."""
    weights = learned["learn"](learned["envs"], seed=seed)
    return learned["waits_h"](learned["greedy"](weights[None]))[:, 0].mean()
