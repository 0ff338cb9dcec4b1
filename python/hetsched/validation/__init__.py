"""How near a simulation is to what a log recorded, what a log says of its machine, and how long jobs will wait."""

from hetsched.validation.inspection import Inspection, inspect
from hetsched.validation.predictions import predict_waits
from hetsched.validation.validation import Validation, validate

__all__ = ["Inspection", "Validation", "inspect", "predict_waits", "validate"]


def __dir__() -> list[str]:
    return sorted(__all__)
