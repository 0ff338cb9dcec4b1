"""`PowerCap`: the speed of a node whose draw is capped all the time. Budgets say which node gets which cap."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hetsched.checks import Faults, did_you_mean, listed, typed
from hetsched.errors import ConfigError
from hetsched.variation.frame import Matrix, checked_cap


def speed_under_cap(
    power_w: npt.ArrayLike, cap_w: float, *, static_w: npt.ArrayLike, exponent: float = 1.0
) -> npt.NDArray[np.float64]:
    """The highest speed that keeps within a cap, as a share of the nominal one.

    ``min(1, ((cap - static) / (power - static)) ** (1 / exponent))``; 0 where the cap does not even cover the static
    watts.
    """
    power = np.asarray(power_w, dtype=np.float64)
    static = np.minimum(static_w, power)
    is_free = power <= cap_w
    # Where the cap does not bind the quotient is never looked at, and may be 0 / 0.
    dynamic = np.where(is_free, 1.0, power - static)
    left = np.where(is_free, 1.0, np.maximum(cap_w - static, 0.0))
    return np.where(is_free, 1.0, (left / np.where(dynamic > 0, dynamic, math.inf)) ** (1.0 / exponent))


def slowdown(speed_ratio: npt.ArrayLike, *, bound_ratio: npt.ArrayLike = 1.0) -> npt.NDArray[np.float64]:
    """Factor on a job's runtime at a lower speed: ``bound / speed + (1 - bound)``."""
    bound = np.asarray(bound_ratio, dtype=np.float64)
    return 1.0 + bound * (1.0 / np.asarray(speed_ratio, dtype=np.float64) - 1.0)


@dataclass(frozen=True)
class PowerCap:
    """A cap on a node's draw, and the speed that follows from it.

    At the speed ``f`` (1 = nominal) a node that draws ``P`` at nominal speed draws ``S + (P - S) f**a``: static watts
    ``S`` that do not depend on the clock and dynamic ones that do. The linear form, ``a = 1``, is what Inadomi et al.
    ("Analyzing and mitigating the impact of manufacturing variability in power-constrained supercomputing", SC 2015)
    fit to processors and memory between their lowest and highest frequency; a voltage that falls with the frequency
    gives up to ``a = 3``. Under a cap ``C < P`` the node runs at the speed that draws ``C`` exactly. A share ``b`` of
    the runtime stretches with the clock and the rest does not: ``T(f) = T (b / f + 1 - b)``, as in Hsu and Feng ("A
    power-aware run-time system for high-performance computing", SC 2005) and, for parallel jobs under a power budget,
    Etinski et al. ("Parallel job scheduling for power constrained HPC systems", Parallel Computing 38, 2012).

    Fitted to measured GPUs under power limits, this form is within 2 % of the time of each of four applications on an
    A100 (150 to 300 W) and within 8 % for training on V100s (100 to 250 W), but up to 25 % off on A40s limited to a
    third of their watts: what happens below the lowest clock is another mechanism.
    """

    cap_w: float
    static_w: npt.ArrayLike | None
    static_ratio: float | None
    exponent: float
    bound_ratio: float | Mapping[str, float]
    least_speed_ratio: float

    def applied_to(self, apps: Sequence[str], power_w: Matrix | None, own_cap_w: float | None) -> tuple[Matrix, Matrix]:
        """Watts under the cap, and factors on jobs' runtimes; both of shape (n_apps, n_nodes)."""
        faults = Faults()
        if power_w is None:
            faults.add("power_ratio", "factors on a job's draw", "a table of watts, `power_w`, to put a cap on")
        if own_cap_w is not None and not math.isinf(own_cap_w):
            faults.add("table", f"watts under a cap of {own_cap_w:g} W", "watts at nominal speed")
        self._check_numbers(faults)
        bound = self._bound(apps, faults)
        if power_w is None:
            raise ConfigError(faults.found)
        static = self._static(power_w, faults)
        faults.check()
        self._check_least(apps, power_w, static)
        speed = speed_under_cap(power_w, self.cap_w, static_w=static, exponent=self.exponent)
        # The least cap is met to the last digit: rounding may put the speed a hair below the lowest one.
        speed = np.maximum(speed, self.least_speed_ratio)
        return np.minimum(power_w, self.cap_w), slowdown(speed, bound_ratio=bound)

    def _check_numbers(self, faults: Faults) -> None:
        if checked_cap(self.cap_w, faults) is None and not faults.found:
            faults.add("cap_w", "None", "watts above 0, or infinite: without a cap")
        faults.number("exponent", self.exponent, low=1.0, high=10.0)
        faults.number("least_speed_ratio", self.least_speed_ratio, low=1e-3, high=1.0)
        if self.static_ratio is not None:
            faults.number("static_ratio", self.static_ratio, low=0.0, high=1.0)
        if (self.static_w is None) == (self.static_ratio is None):
            given = "neither" if self.static_w is None else "both"
            faults.add("static_w, static_ratio", given, "exactly one of the two: what does not fall with the speed")

    def _bound(self, apps: Sequence[str], faults: Faults) -> Matrix:
        """One share an application, shape (n_apps, 1)."""
        if not isinstance(self.bound_ratio, Mapping):
            faults.number("bound_ratio", self.bound_ratio, low=0.0, high=1.0)
            return np.full((len(apps), 1), self.bound_ratio if not faults.found else 1.0)
        given = dict(self.bound_ratio)
        missing = [app for app in apps if app not in given]
        if missing:
            faults.add("bound_ratio", f"nothing for {listed(missing)}", "a share for each application")
        for app, share in given.items():
            if app not in apps:
                faults.add(f"bound_ratio[{app}]", share, f"one of {listed(apps)}{did_you_mean(app, apps)}")
            faults.number(f"bound_ratio[{app}]", share, low=0.0, high=1.0)
        return np.ones((len(apps), 1)) if faults.found else np.array([[given[app]] for app in apps])

    def _static(self, power_w: Matrix, faults: Faults) -> Matrix:
        """Static watts of each pair, at most what it draws."""
        if self.static_w is None:
            return power_w * (0.0 if self.static_ratio is None or faults.found else self.static_ratio)
        try:
            given = np.asarray(self.static_w)
            if given.dtype.kind not in "iuf":
                raise TypeError(given.dtype)
            static = np.broadcast_to(given.astype(np.float64), power_w.shape)
        except (TypeError, ValueError, OverflowError):
            expected = f"one number, one a node ({power_w.shape[1]}), or shape {power_w.shape}"
            faults.note("static_w", _form(self.static_w), expected)
            return power_w
        if not (static >= 0).all():
            faults.add("static_w", float(static[~(static >= 0)][0]), "watts >= 0")
        return np.minimum(static, power_w)

    def _check_least(self, apps: Sequence[str], power_w: Matrix, static: Matrix) -> None:
        least_w = static + (power_w - static) * self.least_speed_ratio**self.exponent
        app, node = np.unravel_index(least_w.argmax(), least_w.shape)
        if least_w[app, node] <= self.cap_w:
            return
        # Rounded up: the number in the message works.
        enough_w = math.ceil(least_w[app, node] * 1000) / 1000
        why = (
            f"application {apps[app]} on node {node} draws that at the lowest speed, {self.least_speed_ratio:g} of "
            f"nominal ({power_w[app, node]:g} W at nominal speed, {static[app, node]:g} W of it static)"
        )
        faults = Faults()
        faults.add("cap_w", self.cap_w, f"at least {enough_w:.12g} W: {why}")
        faults.check()


def _form(value: Any) -> str:
    """Text in place of watts: the value of a number or text, the shape of anything else."""
    return typed(value) if np.ndim(value) == 0 else f"`shape {np.shape(value)}`"
