"""Validation: distance of a simulation from its log, evidence of a log about its machine, predicted waits."""

from hetsched.validation.inspection import Inspection, inspect
from hetsched.validation.predictions import predict_waits
from hetsched.validation.validation import Validation, validate

__all__ = ["Inspection", "Validation", "inspect", "predict_waits", "validate"]


def __dir__() -> list[str]:
    return sorted(__all__)
