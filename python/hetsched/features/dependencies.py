"""Jobs that are cancelled, under policies that hold jobs back until others have shown their profiles."""

from __future__ import annotations

from hetsched.errors import ConfigError
from hetsched.features.feature import Setting


def check(run: Setting) -> None:
    """Raise if a policy that holds jobs back is given jobs that are cancelled."""
    order = run.policy.parts["order"] or {}
    if order.get("first_run") and run.policy.parts["power"] is not None:
        expected = f"nulls only: policy {run.policy.name} has first_run=true under a budget; first_run=false takes them"
        raise ConfigError([("workload.cancel_s", "instants", expected)])
