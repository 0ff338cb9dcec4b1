"""No schedule and no joule changes unnoticed: every preset and more, on ten logs and drawn workloads, bit for bit."""

from __future__ import annotations

import pytest
from cases import DRAWN, LOGS, SWF, cases, known


@pytest.mark.parametrize("log", [*LOGS, *DRAWN])
def test_every_run_is_what_it_was(log: str) -> None:
    if log in LOGS and not SWF.is_dir():
        pytest.skip("the logs are not part of the repository")
    table = known()
    changed = [case.name for case in cases(log) if table.get(case.name) != case.fingerprint()]
    assert not changed, f"{len(changed)} runs differ; python tests/fingerprints/cases.py writes the table anew"
