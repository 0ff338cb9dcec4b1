"""Variation tables that were not measured: drawn from normal distributions, or from measured devices with replacement.

Every number is drawn from a seed through a stream of its own name, so that another application at the end of a list, or
more nodes, leave the draws before them as they were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.chance import stream
from hetsched.checks import Faults, listed, shown
from hetsched.naming import named_in
from hetsched.params import MAX_NODE_W
from hetsched.variation.correlation import app_correlation, component_correlation, lower_factor
from hetsched.variation.frame import Matrix
from hetsched.variation.table import VariationTable

_TIME = "time_ratio"
_MOST_NODES = 10_000_000


@named_in("hetsched.platform")
@dataclass(frozen=True)
class Normal:
    """A normal distribution of watts, or of time factors.

    Parameters
    ----------
    mean
        Watts, or a factor.
    sd
        Standard deviation in the same unit, at least 0.

    Examples
    --------
    >>> Normal(220.0, sd=11.0) == Normal.relative(220.0, sd_ratio=0.05)
    True
    >>> Normal.of_range(107.0, 124.0)
    Normal(mean=115.5, sd=2.5)
    """

    mean: float
    sd: float

    @classmethod
    def relative(cls, mean: float, sd_ratio: float) -> Normal:
        """Distribution with a standard deviation that is a share of the mean."""
        return cls(mean, mean * sd_ratio)

    @classmethod
    def of_range(cls, low: float, high: float, *, width_sd: float = 6.8) -> Normal:
        """Distribution with the mean halfway between two ends that are `width_sd` standard deviations apart.

        Parameters
        ----------
        low, high
            The smallest and the largest value that was seen.
        width_sd
            Number of standard deviations between them; 6.8 is expected of about 1,750 values.
        """
        return cls((low + high) / 2, (high - low) / width_sd)


Spread: TypeAlias = Normal | tuple[float, float]


@named_in("hetsched.platform")
@dataclass(frozen=True, eq=False)
class Sample:
    """A drawn table, and a record of how it was drawn.

    Parameters
    ----------
    table
        The table.
    clipped
        One row an application and quantity (``power_w``, ``time_ratio``): ``app, quantity, draws, clipped``, the last
        how many draws lay below the floor and were set to it.
    components
        Watts of each component before they were added up, shape (n_apps, n_nodes), 0 where an application has no such
        component; empty for tables drawn from measured devices.
    drawn
        For tables drawn from measured devices: which device each node is.
    """

    table: VariationTable
    clipped: pl.DataFrame
    components: Mapping[str, Matrix]
    drawn: npt.NDArray[np.int64] | None = None

    @cached_property
    def clipped_count(self) -> int:
        """Number of draws that were set to a floor."""
        return int(self.clipped["clipped"].sum())

    def __repr__(self) -> str:
        by_app = self.clipped.filter(pl.col("clipped") > 0)
        rows = [f"{app} {quantity} {count:,}" for app, quantity, _, count in by_app.iter_rows()]
        said = f"{self.clipped_count:,} of {self.clipped['draws'].sum():,} draws set to a floor"
        return f"<Sample: {self.table!r}, {said}{': ' if rows else ''}{', '.join(rows)}>"


def sample_table(
    power_w: Mapping[str, Spread],
    *,
    nodes: int,
    seed: int,
    correlation: float | npt.ArrayLike = 0.0,
    time_ratio: Mapping[str, Spread] | None = None,
    time_correlation: float = 0.0,
    floor_w: npt.ArrayLike = 0.0,
    floor_time_ratio: float = 0.1,
) -> Sample:
    """A table whose watts are normal over nodes, with a stated correlation between applications.

    Parameters
    ----------
    power_w
        Mean and standard deviation of each application's watts.
    nodes
        Number of nodes to draw.
    seed
        Of the draws, from 0 to 2⁶⁴ - 1.
    correlation
        Between two applications' watts on a node: one number for all pairs, or a matrix (n_apps, n_apps).
    time_ratio
        Mean and standard deviation of the time factor of the same applications. None: no time factors. Two
        applications' time factors correlate as their watts do.
    time_correlation
        Between an application's watts and its time factor; negative where high-power nodes are fast. For two
        applications it is multiplied by their `correlation`.
    floor_w
        Draws below it are set to it, and counted: one number, or one a node (such as the idle draws).
    floor_time_ratio
        The same for time factors.

    Returns
    -------
    Sample
        The table, and the number of draws that were set to a floor.

    Raises
    ------
    ConfigError
        If a spread is invalid, or no draws can have the correlation; lists all faults.

    Examples
    --------
    >>> sample = sample_table({"hpcg": (220.0, 8.0), "stream": (190.0, 3.0)}, nodes=2000, seed=1, correlation=0.5)
    >>> sample
    <Sample: <VariationTable: 2 applications, 2,000 nodes, power_w>, 0 of 4,000 draws set to a floor>
    >>> bool(abs(np.corrcoef(sample.table.power_w)[0, 1] - 0.5) < 0.05)
    True
    """
    faults = Faults()
    _check_mapping("power_w", power_w, "of each application, as in {'hpcg': (220.0, 8.0)}", faults)
    if time_ratio is not None:
        _check_mapping("time_ratio", time_ratio, "of each application, as in {'hpcg': (1.0, 0.02)}", faults)
    faults.check()
    apps = list(power_w)
    faults.number("time_correlation", time_correlation, low=-1.0, high=1.0)
    between = app_correlation(correlation, len(apps), faults)
    if time_ratio is not None:
        _check_same_apps(time_ratio, apps, faults)
    faults.check()
    # Watts of all applications, then their time factors: the Kronecker product of two correlations is one.
    pair = np.array([[1.0, time_correlation], [time_correlation, 1.0]]) if time_ratio else np.ones((1, 1))
    return sample_components(
        {(app, "power_w"): spread for app, spread in power_w.items()},
        nodes=nodes,
        seed=seed,
        correlation=np.kron(pair, between),
        time_ratio=None if time_ratio is None else {app: time_ratio[app] for app in apps},
        floor_w=floor_w,
        floor_time_ratio=floor_time_ratio,
    )


def sample_components(
    components: Mapping[tuple[str, str], Spread],
    *,
    nodes: int,
    seed: int,
    between_apps: float | Mapping[str, float] = 0.0,
    within_app: float | Mapping[tuple[str, str], float] = 0.0,
    correlation: npt.ArrayLike | None = None,
    time_ratio: Mapping[str, Spread] | None = None,
    floor_w: npt.ArrayLike = 0.0,
    floor_time_ratio: float = 0.1,
) -> Sample:
    """A table whose watts are sums of normal components, such as package and memory.

    The correlation of two draws on one node is `between_apps` of a component under two applications, `within_app` of
    two components under one application, and `within_app` times the geometric mean of the two `between_apps` of
    different components under different applications. Nodes are independent.

    Parameters
    ----------
    components
        Mean and standard deviation of the watts by application and component, as ``{("hpcg", "pkg"): (115.5, 2.5)}``.
        An application's watts are the sum over its components.
    nodes
        Number of nodes to draw.
    seed
        Of the draws, from 0 to 2⁶⁴ - 1.
    between_apps
        One number for all components, or one a component; what is not named is 0. The time factor is the component
        ``"time_ratio"``.
    within_app
        One number for all pairs of components, or one a pair, in either order; what is not named is 0.
    correlation
        In place of the two: the whole matrix, in the order of `components`, then of `time_ratio`.
    time_ratio
        Mean and standard deviation of the time factor of each application. None: no time factors.
    floor_w
        Sums below it are set to it, and counted: one number, or one a node.
    floor_time_ratio
        The same for time factors.

    Returns
    -------
    Sample
        The table; the watts of each component; how many draws were set to a floor.

    Raises
    ------
    ConfigError
        If a spread is invalid, or no draws can have the correlation (its matrix has a negative eigenvalue); lists all
        faults.

    Examples
    --------
    >>> spreads = {
    ...     ("hpcg", "pkg"): Normal.of_range(107.0, 124.0), ("hpcg", "dram"): Normal.of_range(30.0, 40.0),
    ...     ("stream", "pkg"): Normal.of_range(119.0, 123.0), ("stream", "dram"): Normal.of_range(60.0, 78.0),
    ... }  # fmt: skip
    >>> sample = sample_components(spreads, nodes=1990, seed=0, between_apps={"pkg": 0.2, "dram": 0.9})
    >>> sample.table.power_w.mean(axis=1).round(-1).tolist()
    [150.0, 190.0]
    >>> bool(np.allclose(sample.components["pkg"] + sample.components["dram"], sample.table.power_w))
    True
    """
    faults = Faults()
    _check_mapping(
        "components", components, "by application and component, as in {('hpcg', 'pkg'): (115.5, 2.5)}", faults
    )
    if time_ratio is not None:
        _check_mapping("time_ratio", time_ratio, "of each application, as in {'hpcg': (1.0, 0.02)}", faults)
    faults.check()
    _check_keys(components, faults)
    faults.check()
    faults.whole("nodes", nodes, low=1, high=_MOST_NODES)
    faults.whole("seed", seed, low=0, high=2**64 - 1)
    faults.number("floor_time_ratio", floor_time_ratio, low=1e-3, high=1e3)
    apps = list(dict.fromkeys(app for app, _ in components))
    times = {} if time_ratio is None else {(app, _TIME): spread for app, spread in time_ratio.items()}
    if time_ratio is not None:
        _check_same_apps(time_ratio, apps, faults)
    spreads = _checked_spreads({**components, **times}, faults)
    floors = _checked_floor(floor_w, nodes, faults)
    factor = lower_factor(component_correlation(list(spreads), between_apps, within_app, correlation, faults), faults)
    faults.check()
    draws = _draws(spreads, factor, nodes, seed)
    by_component = _by_component({key: draws[key] for key in components}, apps, nodes)
    watts = np.sum(list(by_component.values()), axis=0)
    clipped = [_floored(watts, floors, apps, "power_w")]
    factors = None
    if times:
        factors = np.array([draws[app, _TIME] for app in apps])
        clipped.append(_floored(factors, np.float64(floor_time_ratio), apps, _TIME))
    return Sample(VariationTable(apps, power_w=watts, time_ratio=factors), pl.concat(clipped), by_component)


def resample_table(
    measured: VariationTable, *, nodes: int, seed: int, jitter_ratio: float = 0.0, floor_time_ratio: float = 0.1
) -> Sample:
    """A table of more (or fewer) nodes than were measured: each node is a measured device, drawn with replacement.

    Whole devices are drawn, which keeps the correlations between applications, and between watts and time.

    Parameters
    ----------
    measured
        The devices.
    nodes
        Number of nodes to draw.
    seed
        Of the draws, from 0 to 2⁶⁴ - 1.
    jitter_ratio
        Every value is multiplied by 1 + e, e normal with this standard deviation, so that copies of a device differ. 0:
        they do not. Watts are kept at 0 or above, time factors at `floor_time_ratio`, and counted.
    floor_time_ratio
        See there.

    Returns
    -------
    Sample
        The table; ``drawn`` says which device each node is.

    Raises
    ------
    ConfigError
        If any value is invalid; lists all of them.

    Examples
    --------
    >>> measured = VariationTable(["hpcg", "stream"], power_w=[[200.0, 220.0, 240.0], [180.0, 170.0, 160.0]])
    >>> sample = resample_table(measured, nodes=1000, seed=3)
    >>> sample.table.nodes, np.unique(sample.table.power_w[0]).tolist()
    (1000, [200.0, 220.0, 240.0])
    >>> bool((sample.table.power_w == measured.power_w[:, sample.drawn]).all())
    True
    """
    faults = Faults()
    _check_table(measured, faults)
    faults.whole("nodes", nodes, low=1, high=_MOST_NODES)
    faults.whole("seed", seed, low=0, high=2**64 - 1)
    faults.number("jitter_ratio", jitter_ratio, low=0.0, high=1.0)
    faults.number("floor_time_ratio", floor_time_ratio, low=1e-3, high=1e3)
    faults.check()
    drawn = stream(seed, "device").integers(measured.nodes, size=nodes)
    floors = {"power_w": 0.0, "power_ratio": 0.0, _TIME: floor_time_ratio if jitter_ratio else 0.0}
    matrices, clipped = {}, []
    for name, floor in floors.items():
        given = getattr(measured, name)
        if given is not None:
            values = given[:, drawn]
            if jitter_ratio:
                values *= 1.0 + jitter_ratio * stream(seed, f"jitter {name}").standard_normal(values.shape)
            clipped.append(_floored(values, np.float64(floor), measured.apps, name))
            matrices[name] = values
    table = VariationTable(measured.apps, cap_w=measured.cap_w, **matrices)
    return Sample(table, pl.concat(clipped), {}, drawn)


def _check_mapping(parameter: str, given: object, words: str, faults: Faults) -> None:
    if not isinstance(given, Mapping):
        faults.add(parameter, given, f"a dictionary of mean and standard deviation {words}")


def _check_table(measured: object, faults: Faults) -> None:
    if not isinstance(measured, VariationTable):
        found = shown(measured) if isinstance(measured, str) else f"a {type(measured).__name__}"
        faults.note("measured", found, "a VariationTable, as read_table reads it from a file")


def _check_keys(components: Mapping[Any, Spread], faults: Faults) -> None:
    for key in components:
        if not isinstance(key, tuple) or len(key) != 2 or not all(isinstance(name, str) for name in key):
            faults.add("components", key, "names of application and component, as in (`hpcg`, `pkg`)")
        elif key[1] == _TIME:
            faults.add(f"components[{', '.join(key)}]", components[key], "watts; time factors go into `time_ratio`")


def _checked_spreads(given: Mapping[tuple[str, str], Spread], faults: Faults) -> dict[tuple[str, str], Normal]:
    """The spreads by application and component; notes invalid ones."""
    if not given:
        faults.add("components", "none", "mean and standard deviation of at least one application")
    made = {}
    for (app, component), spread in given.items():
        name = f"{component}[{app}]"
        try:
            made[app, component] = normal = spread if isinstance(spread, Normal) else Normal(*spread)
        except TypeError:
            faults.add(name, spread, "mean and standard deviation")
            made[app, component] = Normal(0.0, 0.0)
            continue
        faults.number(f"{name}.mean", normal.mean, low=0.0, high=MAX_NODE_W)
        faults.number(f"{name}.sd", normal.sd, low=0.0, high=MAX_NODE_W)
    return made


def _check_same_apps(time_ratio: Mapping[str, Spread], apps: Sequence[str], faults: Faults) -> None:
    if set(time_ratio) != set(apps):
        faults.add("time_ratio", listed(time_ratio), f"the applications of the watts: {listed(apps)}")


def _checked_floor(floor_w: npt.ArrayLike, nodes: int, faults: Faults) -> Matrix:
    try:
        floors = np.asarray(floor_w, dtype=np.float64)
    except (TypeError, ValueError):
        faults.add("floor_w", floor_w, "watts")
        return np.zeros(())
    if floors.ndim and floors.shape != (nodes,):
        faults.add("floor_w", f"shape {floors.shape}", f"one number, or one for each of the {nodes} nodes")
    elif not (floors >= 0).all():
        faults.add("floor_w", float(np.atleast_1d(floors)[~(np.atleast_1d(floors) >= 0)][0]), "watts >= 0")
    return floors


def _draws(
    spreads: Mapping[tuple[str, str], Normal], factor: Matrix, nodes: int, seed: int
) -> dict[tuple[str, str], Matrix]:
    """Correlated draws of each component, one a node."""
    names = [f"{app} {component}" for app, component in spreads]
    joint = np.zeros((len(names), nodes))
    # Added up in one order, whatever the number of nodes and threads: a matrix product promises none.
    for row, name in enumerate(names):
        joint[row:] += factor[row:, row, None] * stream(seed, name).standard_normal(nodes)
    return {key: normal.mean + normal.sd * joint[row] for row, (key, normal) in enumerate(spreads.items())}


def _by_component(
    draws: Mapping[tuple[str, str], Matrix], apps: Sequence[str], nodes: int
) -> dict[str, npt.NDArray[np.float64]]:
    names = dict.fromkeys(component for _, component in draws)
    none = np.zeros(nodes)
    return {name: np.array([draws.get((app, name), none) for app in apps]) for name in names}


def _floored(values: Matrix, floor: Matrix | np.float64, apps: Sequence[str], quantity: str) -> pl.DataFrame:
    """Raise values in place to the floor; gives their number."""
    counts = (values < floor).sum(axis=1)
    np.maximum(values, floor, out=values)
    return pl.DataFrame(
        {
            "app": list(apps),
            "quantity": quantity,
            "draws": np.full(len(apps), values.shape[1]),
            "clipped": counts.astype(np.int64),
        }
    )
