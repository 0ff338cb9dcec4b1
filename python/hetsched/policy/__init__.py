"""Policies: compositions of an order, a backfill and a placement part, and the named ones."""

from hetsched.policy.parts import parts
from hetsched.policy.policy import Policy
from hetsched.policy.presets import PRESETS, Preset, presets
from hetsched.policy.text import parse_policy

__all__ = ["PRESETS", "Policy", "Preset", "parse_policy", "parts", "presets"]
