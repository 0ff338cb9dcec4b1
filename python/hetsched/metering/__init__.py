"""Somebody else's schedule: checked against its inputs, and metered as if the engine had made it."""

from hetsched.metering.metered import meter

__all__ = ["meter"]
