"""What comes from outside a run: whether it can happen to these jobs on this platform, and budgets among it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hetsched.features.feature import Feature, Setting
from hetsched.run.event_rows import BUDGET


class _Outside(Feature):
    def check(self, run: Setting) -> None:
        assert run.options.events is not None
        run.options.events.check_for(run.workload, run.platform, run.policy)

    def engine(self, run: Setting) -> Mapping[str, Any]:
        assert run.options.events is not None
        return {"budgets": run.options.events.of_budgets()} if run.options.events.has(BUDGET) else {}


FEATURE = _Outside()
