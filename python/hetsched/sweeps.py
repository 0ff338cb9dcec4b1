"""Many runs side by side, under the name that documents and scripts know; the work is done in `hetsched.run`."""

from __future__ import annotations

from hetsched.run import Spec, run_one, specs, sweep

__all__ = ["Spec", "run_one", "specs", "sweep"]
