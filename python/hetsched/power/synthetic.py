"""Counters and watts of devices that do not exist: what power models are tried on where no measurements are public.

A device draws a static part and, for every component its application keeps busy, a part that grows with the rate of
that component's events. Devices differ in the static part (leakage), in a gain on all of the rest, in the watts of
each component, and a little in every application by itself; counters show all of the watts but a share that is the
application's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from hetsched.chance import stream
from hetsched.checks import Faults, did_you_mean, listed
from hetsched.power.checks import Floats


@dataclass(frozen=True)
class DeviceType:
    """A kind of device: what it counts, and the watts behind it.

    Parameters
    ----------
    name
        Of the device.
    components
        Counted events, per second of run time in the features.
    peak_per_s
        Of each component, the most events a second.
    peak_w
        Of each component, the watts that the most events a second add.
    used_ratio
        Of each component, the share of applications that use it at all.
    static_w
        Drawn by a device that runs something, whatever it is.
    tdp_w
        What the draw bends towards and never exceeds but by variation.
    devices, apps
        How many of them the paper measured.
    """

    name: str
    components: Sequence[str]
    peak_per_s: Sequence[float]
    peak_w: Sequence[float]
    used_ratio: Sequence[float]
    static_w: float
    tdp_w: float
    devices: int
    apps: int


_GPU = ("int", "fp32", "fp64", "global", "shared", "texture")
_CPU = ("instructions", "itlb_loads", "branch_misses", "dtlb", "l1d", "llc")
_GPU_USED = (1.0, 0.7, 0.35, 1.0, 0.45, 0.25)

DEVICE_TYPES: Mapping[str, DeviceType] = MappingProxyType(
    {
        "p100": DeviceType(
            name="p100",
            components=_GPU,
            peak_per_s=(2.6e12, 5.3e12, 2.6e12, 2.3e10, 7.6e10, 3.0e11),
            peak_w=(70.0, 120.0, 150.0, 110.0, 50.0, 30.0),
            used_ratio=_GPU_USED,
            static_w=60.0,
            tdp_w=300.0,
            devices=256,
            apps=48,
        ),
        "v100": DeviceType(
            name="v100",
            components=_GPU,
            peak_per_s=(7.8e12, 7.8e12, 3.9e12, 2.8e10, 1.1e11, 4.4e11),
            peak_w=(90.0, 110.0, 140.0, 90.0, 45.0, 30.0),
            used_ratio=_GPU_USED,
            static_w=50.0,
            tdp_w=250.0,
            devices=256,
            apps=48,
        ),
        "xeon": DeviceType(
            name="xeon",
            components=_CPU,
            peak_per_s=(9.6e10, 6.0e7, 5.0e8, 4.0e10, 4.0e10, 1.0e9),
            peak_w=(55.0, 2.0, 5.0, 8.0, 20.0, 35.0),
            used_ratio=(1.0,) * 6,
            static_w=40.0,
            tdp_w=125.0,
            devices=128,
            apps=11,
        ),
    }
)
"""GPUs of TSUBAME3.0 and of Cygnus, and the CPU of Cygnus, by name. Watts and rates are round, from data sheets."""


@dataclass(frozen=True)
class Spread:
    """Spread of devices, and of the part of an application's watts that its counters do not show.

    Parameters
    ----------
    static
        Standard deviation of a device's static watts, as a share of their mean.
    gain
        Of the factor on all watts above the static ones.
    component
        Of the factor on each component's watts, drawn for each device and component.
    app
        Of a factor drawn for each device and application by itself.
    noise
        Of a measurement.
    hidden
        Of the application's own factor on its watts above the static ones, alike on all devices: what counters miss.
    counters
        Of a counted rate, relative.
    """

    static: float = 0.12
    gain: float = 0.04
    component: float = 0.04
    app: float = 0.01
    noise: float = 0.01
    hidden: float = 0.08
    counters: float = 0.02


@dataclass(frozen=True)
class Profiles:
    """Data that a power model is fitted on.

    Parameters
    ----------
    features
        Events a second, shape (n_apps, n_features), as one device would count them.
    power_w
        Measured watts, shape (n_devices, n_apps).
    expected_w
        The same without the noise of measuring.
    apps, components
        Names of the applications and of the features.
    """

    features: Floats
    power_w: Floats
    expected_w: Floats
    apps: tuple[str, ...]
    components: tuple[str, ...]


def synthetic_profiles(
    kind: str = "p100",
    *,
    devices: int | None = None,
    apps: int | None = None,
    spread: Spread | None = None,
    seed: int = 0,
) -> Profiles:
    """Draw applications and devices.

    The watts of device i under application j are ``s_i + g_i a_ij h_j bend(sum_k c_ik w_k u_jk)``, measured with
    noise: `u` the share of each component's peak rate, `w` its watts at the peak, ``bend(x) = d (1 - exp(-x / d))``
    with `d` the watts between static and TDP, and the factors of `Spread`.

    Parameters
    ----------
    kind
        A key of `DEVICE_TYPES`.
    devices, apps
        How many, from 1. None: as many as the paper measured.
    spread
        How much they differ. None: `Spread` as it stands.
    seed
        Devices, applications and noise come from streams of their own: more devices change no application.

    Raises
    ------
    ConfigError
        If the kind is unknown, a count is below 1, or a spread is not between 0 and 1.

    Source
    ------
    Counters as in VAHRM, section IV-B; the generator is ours, as the paper's measurements are not public.

    Examples
    --------
    >>> drawn = synthetic_profiles("xeon", seed=3)
    >>> drawn.features.shape, drawn.power_w.shape, drawn.components[0]
    ((11, 6), (128, 11), 'instructions')
    """
    spread = Spread() if spread is None else spread
    own = _checked(kind, devices, apps, spread, seed)
    n_devices, n_apps = own.devices if devices is None else devices, own.apps if apps is None else apps
    use, hidden = _applications(own, n_apps, spread, seed)
    static, gain, component = _devices(own, n_devices, spread, seed)
    room = own.tdp_w - own.static_w
    dynamic = component @ (use * np.asarray(own.peak_w)).T
    bent = room * -np.expm1(-dynamic / room) * np.exp(hidden)
    own_factor = _near_one(stream(seed, f"power.synthetic.{kind}.cells"), (n_devices, n_apps), spread.app)
    expected = static[:, None] + gain[:, None] * own_factor * bent
    noise = _near_one(stream(seed, f"power.synthetic.{kind}.noise"), (n_devices, n_apps), spread.noise)
    counted = _near_one(stream(seed, f"power.synthetic.{kind}.counters"), use.shape, spread.counters)
    return Profiles(
        features=use * np.asarray(own.peak_per_s) * counted,
        power_w=expected * noise,
        expected_w=expected,
        apps=tuple(f"kernel-{number:02d}" for number in range(1, n_apps + 1)),
        components=tuple(own.components),
    )


def _checked(kind: str, devices: int | None, apps: int | None, spread: Any, seed: int) -> DeviceType:
    faults = Faults()
    if kind not in DEVICE_TYPES:
        faults.add("kind", kind, f"one of {listed(DEVICE_TYPES)}{did_you_mean(str(kind), DEVICE_TYPES)}")
    for name, count in (("devices", devices), ("apps", apps)):
        if count is not None:
            faults.whole(name, count, low=1, high=1_000_000)
    faults.whole("seed", seed, low=0, high=2**64 - 1)
    if isinstance(spread, Spread):
        for name, value in vars(spread).items():
            faults.number(f"spread.{name}", value, low=0.0, high=1.0)
    else:
        faults.add("spread", spread, "a Spread")
    faults.check()
    return DEVICE_TYPES[kind]


def _applications(own: DeviceType, count: int, spread: Spread, seed: int) -> tuple[Floats, Floats]:
    """The share of each component's peak that each application reaches, and its hidden factor's logarithm."""
    rng = stream(seed, f"power.synthetic.{own.name}.apps")
    shape = (count, len(own.components))
    # One component of an application is its bottleneck; the others come after it, each at a fraction of its own peak.
    ratio = rng.lognormal(-1.0, 1.0, shape) * (rng.random(shape) < own.used_ratio)
    bottleneck = rng.uniform(0.3, 1.0, (count, 1))
    use = bottleneck * ratio / ratio.max(axis=1, keepdims=True).clip(1e-300)
    return use, rng.normal(0.0, spread.hidden, count)


def _devices(own: DeviceType, count: int, spread: Spread, seed: int) -> tuple[Floats, Floats, Floats]:
    """Static watts, the gain, and a factor on each component, a row a device."""
    rng = stream(seed, f"power.synthetic.{own.name}.devices")
    drawn = rng.standard_normal((count, 2 + len(own.components)))
    static = own.static_w * np.exp(spread.static * drawn[:, 0])
    return static, np.exp(spread.gain * drawn[:, 1]), np.exp(spread.component * drawn[:, 2:])


def _near_one(rng: np.random.Generator, shape: tuple[int, ...], sd: float) -> Floats:
    return np.exp(sd * rng.standard_normal(shape))
