"""Scores of how near a simulation is to what a log recorded, in waits, use and power, next to simple rivals."""

from hetsched.validation.validation import Validation, validate

__all__ = ["Validation", "validate"]


def __dir__() -> list[str]:
    return sorted(__all__)
