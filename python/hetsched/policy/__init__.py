"""Policies: compositions of an order, a backfill, a placement and a power part, and named ones."""

from hetsched.policy.objects import METHODS, instance_of, roles_of
from hetsched.policy.parts import parts
from hetsched.policy.policy import Policy, parse_policy, parse_settings, policy_like, read_policy
from hetsched.policy.presets import PRESETS, Preset, presets

__all__ = [
    "METHODS",
    "PRESETS",
    "Policy",
    "Preset",
    "instance_of",
    "parse_policy",
    "parse_settings",
    "parts",
    "policy_like",
    "presets",
    "read_policy",
    "roles_of",
]
