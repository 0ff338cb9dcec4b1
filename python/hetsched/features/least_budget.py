"""The least that a budget may be on a machine: what it draws while it idles, and what it takes to boot a node."""

from __future__ import annotations

from hetsched.platform import Platform
from hetsched.policy import Policy


def least_budget(platform: Platform, policy: Policy) -> tuple[float, str]:
    """The least budget under a policy, W, and what that is in words."""
    idle_w = float(platform.idle_w.sum())
    boot_w = 0.0 if policy.parts["sleep"] is None else _most_beyond_idle_to_boot(platform)
    beside = f", and one of its nodes {boot_w:,.12g} W more while it boots" if boot_w else ""
    return idle_w + boot_w, f"at least {idle_w + boot_w:,.12g} W, what the idle machine draws{beside}"


def _most_beyond_idle_to_boot(platform: Platform) -> float:
    """Highest draw of one node beyond idle while it boots, W; 0 where that takes no time."""
    per_node = [[one.per_node(name) for name in ("idle_w", "boot_w", "boot_s")] for one in platform.classes]
    return max(float(((boot_w - idle_w) * (boot_s > 0)).max(initial=0.0)) for idle_w, boot_w, boot_s in per_node)
