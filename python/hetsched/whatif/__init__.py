"""A machine with other settings, against what it does today."""

from hetsched.whatif.answer import WhatIf
from hetsched.whatif.what_if import what_if

__all__ = ["WhatIf", "what_if"]


def __dir__() -> list[str]:
    return sorted(__all__)
