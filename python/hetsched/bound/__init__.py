"""The least job energy that any placement of a run's jobs could have reached: in its window, and given its starts.

| module | |
|---|---|
| `window` | any starts within the run's window |
| `given`, `kinds`, `starts` | the run's own starts: the jobs, their kinds, the bound |
| `prices`, `search` | the bound for jobs that stay where they start, and schedules of them |
| `slots` | schedules with other starts |
| `blind` | what the same starts cost on nodes chosen blindly |

docs/background/bounds.md states and proves what they say.
"""

from hetsched.bound.given import Given
from hetsched.bound.starts import StartsBound, energy_bound_starts
from hetsched.bound.window import energy_bound

__all__ = ["Given", "StartsBound", "energy_bound", "energy_bound_starts"]


def __dir__() -> list[str]:
    return sorted(__all__)
