"""Predictions of each device's draw under each application: models that learn it, and predictors that know it.

A model's `fit` takes what is known of applications (rates of events, counted on one device) and the watts that were
measured on every device; `predict` gives watts of every device under any application. `Ideal` and `Noisy` turn a table
of actual watts into one of predictions that are right, or wrong by so much. `History` knows of a log's jobs what their
users' and applications' earlier jobs drew.
"""

from hetsched.power.evaluate import evaluate, mape
from hetsched.power.models.model import PowerModel
from hetsched.power.models.per_device import PowerRatio, SingleStage, TwoStage
from hetsched.power.models.shared_response import SharedResponse
from hetsched.power.predictors import History, Ideal, Noisy
from hetsched.power.ranks import rank_scores
from hetsched.power.synthetic import synthetic_profiles

__all__ = [
    "History",
    "Ideal",
    "Noisy",
    "PowerModel",
    "PowerRatio",
    "SharedResponse",
    "SingleStage",
    "TwoStage",
    "evaluate",
    "mape",
    "rank_scores",
    "synthetic_profiles",
]


def __dir__() -> list[str]:
    return sorted(__all__)
