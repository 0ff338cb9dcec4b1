"""``hetsched power``: a family of verbs that learn what every device draws, and predict it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hetsched.cli.power_evaluate import evaluate
from hetsched.cli.power_fit import fit
from hetsched.cli.power_predict import predict

HELP = "Learn from counters and measured watts what every device will draw, and predict it."

VERBS: dict[str, Callable[..., Any]] = {"fit": fit, "predict": predict, "evaluate": evaluate}
"""Its verbs, as `hetsched.cli.app` takes them."""
