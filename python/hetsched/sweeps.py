"""Many runs side by side, under the name that documents and scripts know; the work is done in `hetsched.many`."""

from __future__ import annotations

from hetsched.many.spec import Spec, run_one, specs
from hetsched.many.sweep import sweep

__all__ = ["Spec", "run_one", "specs", "sweep"]
