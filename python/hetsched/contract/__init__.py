"""Power contracts: limits, prices and carbon intensities by the wall clock, and what a run comes to under them."""

from hetsched.contract.contract import Contract, read_contract

__all__ = ["Contract", "read_contract"]


def __dir__() -> list[str]:
    return sorted(__all__)
