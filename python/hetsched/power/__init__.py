"""How much each device will draw under each application: models that learn it, and predictors that know it.

A model's `fit` takes what is known of applications (rates of events, counted on one device) and the watts that were
measured on every device; `predict` gives watts of every device under any application. `Ideal` and `Noisy` turn a table
of actual watts into one of predictions that are right, or wrong by so much. `History` knows of a log's jobs what their
users' and applications' earlier jobs drew.
"""

from hetsched.power.base import PowerModel
from hetsched.power.evaluate import evaluate, mape
from hetsched.power.files import load
from hetsched.power.history import History
from hetsched.power.ideal import Ideal
from hetsched.power.noisy import Noisy
from hetsched.power.ratio import PowerRatio
from hetsched.power.shared_response import SharedResponse
from hetsched.power.single_stage import SingleStage
from hetsched.power.synthetic import synthetic_profiles
from hetsched.power.two_stage import TwoStage

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
    "load",
    "mape",
    "synthetic_profiles",
]
