"""Events from outside a run: whether they can happen to these jobs on this platform, and budgets among them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hetsched.features.feature import Setting
from hetsched.run.event_rows import BUDGET


def check(run: Setting) -> None:
    """Raise if events cannot happen to these jobs on this platform under this policy."""
    assert run.options.events is not None
    run.options.events._check_for(run.workload, run.platform, run.policy)


def engine(run: Setting) -> Mapping[str, Any]:
    """Budgets in time."""
    assert run.options.events is not None
    return {"budgets": run.options.events._of_budgets()} if run.options.events.has(BUDGET) else {}
