"""Published strategies for power-constrained machines, as objects in the roles of a policy (`hetsched.roles`).

The strategies of Table II in Sakamoto et al., Production Hardware Overprovisioning (IPDPS 2017). Each is a class whose
docstring gives its paper's rule and what the paper leaves open; give an object of it to `hetsched.Policy`:

>>> import hetsched as hs
>>> from hetsched.strategies import DynamicSharing
>>> power = {"name": "system-budget", "budget_w": 1000.0, "allocator": DynamicSharing(least_cap_w=110.0)}
>>> hs.Policy.preset("easy", power=power).own["allocator"].least_cap_w
110.0
"""

from hetsched.strategies.shares import DemandAware, DynamicSharing
from hetsched.strategies.sizes import Equipartition, MoldableBackfill
from hetsched.strategies.throughput_ilp import ThroughputIlp
from hetsched.strategies.variation_aware import TwoLevel, VariationAware, VariationPlacement

__all__ = [
    "DemandAware",
    "DynamicSharing",
    "Equipartition",
    "MoldableBackfill",
    "ThroughputIlp",
    "TwoLevel",
    "VariationAware",
    "VariationPlacement",
]


def __dir__() -> list[str]:
    return sorted(__all__)
