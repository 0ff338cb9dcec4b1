"""Jobs that are cancelled, under policies that hold jobs back until others have shown their profiles."""

from __future__ import annotations

from hetsched.errors import ConfigError
from hetsched.features.feature import Feature, Setting


class _Dependencies(Feature):
    def check(self, run: Setting) -> None:
        order = run.policy.parts["order"] or {}
        if order.get("first_run") and run.policy.parts["power"] is not None:
            expected = (
                f"nulls only: policy {run.policy.name} has first_run=true under a budget; first_run=false takes them"
            )
            raise ConfigError([("workload.cancel_s", "instants", expected)])


FEATURE = _Dependencies()
