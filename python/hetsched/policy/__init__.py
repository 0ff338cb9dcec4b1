"""Policies: compositions of an order, a backfill, a placement and a power part, and named ones."""

from hetsched.policy.parts import parts
from hetsched.policy.policy import Policy, parse_policy, read_policy
from hetsched.policy.presets import PRESETS, Preset, presets

__all__ = ["PRESETS", "Policy", "Preset", "parse_policy", "parts", "presets", "read_policy"]


def __dir__() -> list[str]:
    return sorted(__all__)
