"""Scores of how near a simulation is to what a log recorded, and what a log says of its machine and rules."""

from hetsched.validation.inspection import Inspection, inspect
from hetsched.validation.validation import Validation, validate

__all__ = ["Inspection", "Validation", "inspect", "validate"]


def __dir__() -> list[str]:
    return sorted(__all__)
