"""Settings of machine and policy found in the first half of a log, and tried on the second."""

from hetsched.calibration.calibrating import calibrate
from hetsched.calibration.calibration import Calibration

__all__ = ["Calibration", "calibrate"]


def __dir__() -> list[str]:
    return sorted(__all__)
