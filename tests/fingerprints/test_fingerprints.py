"""No schedule and no joule changes unnoticed: every preset and more, on ten logs and drawn workloads, bit for bit.

Of the runs on a log, a third, so that each policy meets each variant of the machine on three logs; at length all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import islice

import pytest
from cases import DRAWN, LOGS, SWF, Case, cases, known
from hypothesis import settings

EVERY = 3


def tried(log: str) -> Iterable[Case]:
    if log in DRAWN:
        return cases(log)
    return islice(cases(log), list(LOGS).index(log) % EVERY, None, EVERY)


@pytest.mark.at_length
@pytest.mark.parametrize("log", [*LOGS, *DRAWN])
def test_every_run_is_what_it_was(log: str) -> None:
    if log in LOGS and not SWF.is_dir():
        pytest.skip("the logs are not part of the repository")
    table = known()
    chosen = cases(log) if settings.get_current_profile_name() == "long" else tried(log)
    changed = [case.name for case in chosen if table.get(case.name) != case.fingerprint()]
    assert not changed, f"{len(changed)} runs differ; python tests/fingerprints/cases.py writes the table anew"


def test_each_policy_is_tried_on_each_variant_on_three_logs_at_least() -> None:
    found = Counter((case.policy, case.variant) for log in LOGS for case in tried(log))
    assert set(found) == {(case.policy, case.variant) for case in cases("drawn-small")}
    assert min(found.values()) >= len(LOGS) // EVERY
