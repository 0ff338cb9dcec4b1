"""The least job energy that any placement of a run's jobs could have reached in its window.

What jobs ask of nodes is `demand`, prices of node time and the bound that they certify `energy`;
docs/background/bounds.md states and proves what they say together.
"""

from hetsched.bound.energy import check_bound, energy_bound

__all__ = ["check_bound", "energy_bound"]
