"""For users' own tests: hypothesis strategies for the inputs of a run, and a check of its outcome against the laws.

`workloads`, `platforms` and `policies` draw small and nasty inputs that go together: equal instants, jobs of length
zero, walltimes below and above the runtime, jobs larger than the machine, applications with and without a table.
`check_schedule` works every number of a result out again, from nothing but the inputs and the starts, and says where
the first law is broken. The strategies need hypothesis: ``pip install 'hetsched[testing]'``.
"""

from hetsched.testing.laws import check_schedule
from hetsched.testing.strategies import APPS, platforms, policies, workloads

__all__ = ["APPS", "check_schedule", "platforms", "policies", "workloads"]
