"""Published strategies for power-constrained machines, as objects in the roles of a policy (`hetsched.roles`).

The strategies of Table II in Sakamoto et al., Production Hardware Overprovisioning (IPDPS 2017). Each is a class whose
docstring gives its paper's rule and what the paper leaves open; give an object of it to `hetsched.Policy`:

>>> import hetsched as hs
>>> from hetsched.strategies import DynamicSharing
>>> power = {"name": "system-budget", "budget_w": 1000.0, "allocator": DynamicSharing(least_cap_w=110.0)}
>>> hs.Policy.preset("easy", power=power).own["allocator"].least_cap_w
110.0
"""

from hetsched.strategies.demand_aware import DemandAware
from hetsched.strategies.dynamic_sharing import DynamicSharing
from hetsched.strategies.equipartition import Equipartition
from hetsched.strategies.moldable_backfill import MoldableBackfill
from hetsched.strategies.throughput_ilp import ThroughputIlp
from hetsched.strategies.two_level import TwoLevel
from hetsched.strategies.variation_aware import VariationAware
from hetsched.strategies.variation_placement import VariationPlacement

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
