"""Number of nodes that a power budget feeds: a published guideline, its steady state, and a trial by simulation."""

from hetsched.provisioning.answer import Provision, provision
from hetsched.provisioning.budget import parse_mix

__all__ = ["Provision", "parse_mix", "provision"]


def __dir__() -> list[str]:
    return sorted(__all__)
