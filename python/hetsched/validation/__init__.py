"""How near a simulation is to what a log recorded: scores of waits, of use and of power, beside simple rivals."""

from hetsched.validation.validation import Validation, validate

__all__ = ["Validation", "validate"]


def __dir__() -> list[str]:
    return sorted(__all__)
