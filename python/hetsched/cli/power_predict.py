"""``hetsched power predict``: from a fitted model and counters to a table of watts that simulations take."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import hetsched as hs
from hetsched.checks import Faults, few, many
from hetsched.cli import power_models as own
from hetsched.cli.declare import OUTPUT, argument, flag, number, option, whole
from hetsched.cli.options import check_output, file_ending_in
from hetsched.cli.terminal import Screen, renamed
from hetsched.errors import ConfigError

if TYPE_CHECKING:
    import polars as pl

    from hetsched.power import PowerModel
    from hetsched.power.feature_files import Features

_NODES = "Nodes"
_OUT_HELP = "Write the table for --table of simulate: .parquet or .csv."
_DEVICE_HELP = "With --out: write device, app, power_w by the devices' names instead."
_REST_HELP = "Watts of the rest of a busy node."


def predict(
    screen: Screen,
    faults: Faults,
    model: Annotated[str, argument("MODEL", "A file that power fit wrote.")],
    features: own.FeaturesFile,
    *,
    per_node: Annotated[int, option("--per-node", "K", "Devices per node, in order.", _NODES, read=whole(1, 1024))] = 1,
    rest_w: Annotated[float, option("--rest-w", "W", _REST_HELP, _NODES, read=number("watts", 0.0, 1e6))] = 0.0,
    out: Annotated[
        str | None, option("--out", "FILE", _OUT_HELP, OUTPUT, read=partial(file_ending_in, (".parquet", ".csv")))
    ] = None,
    by_device: Annotated[bool, flag("--by-device", _DEVICE_HELP, OUTPUT)] = False,
) -> None:
    """Predict the draw of each device under applications, and write it as a table for simulations."""
    if by_device and out is None:
        faults.note("--by-device", "no --out", "a file for it: --out FILE")
    if by_device and (per_node, rest_w) != (1, 0.0):
        faults.note("--by-device", "--per-node or --rest-w with it", "one or the other: devices or nodes")
    faults.check()
    check_output(files=[out])
    fitted, known = _read(model, features)
    watts = fitted.predict(known.values)
    table = _table(fitted.device_names_, known.apps, watts, per_node, rest_w)
    beyond = _beyond(fitted, known)
    _tell(screen, fitted, known, table, beyond, per_node=per_node)
    if out is not None:
        _write(_long(fitted.device_names_, known.apps, watts) if by_device else table.to_polars(), out)
    _show(screen, fitted, table, beyond, [] if out is None else [out])


def _read(model: str, features: str) -> tuple[PowerModel, Features]:
    """The model, and the features that it knows, in its order."""
    from hetsched import read_model
    from hetsched.power.feature_files import read_features

    fitted = read_model(model)
    with renamed({"path": "FEATURES"}):
        known = read_features(features)
    if hasattr(fitted, "feature_names_in_"):
        return fitted, known.in_order_of(fitted.feature_names_in_)
    if len(known.names) != fitted.n_features_in_:
        expected = f"{fitted.n_features_in_}, as the model was fitted with (it does not say which)"
        raise ConfigError([(known.path, many(len(known.names), "feature"), expected)])
    return fitted, known


def _beyond(model: PowerModel, known: Features) -> pl.DataFrame:
    """Features outside of what the model was fitted on: ``app, feature, value, low, high``."""
    import numpy as np
    import polars as pl

    low, high = model.feature_range_
    app, feature = np.nonzero((known.values < low) | (known.values > high))
    return pl.DataFrame(
        {
            "app": pl.Series(known.apps, dtype=pl.String).gather(app),
            "feature": pl.Series(known.names, dtype=pl.String).gather(feature),
            "value": known.values[app, feature],
            "low": low[feature],
            "high": high[feature],
        }
    )


def _table(names: Sequence[str], apps: Sequence[str], watts: Any, per_node: int, rest_w: float) -> hs.VariationTable:
    """Watts of nodes, each of so many devices that follow each other, and of the rest of them."""
    devices = len(names)
    if devices % per_node:
        raise ConfigError([("--per-node", f"`{per_node}`", f"a divisor of {devices:,}, the model's devices")])
    nodes = watts.reshape(devices // per_node, per_node, len(apps)).sum(axis=1) + rest_w
    return hs.VariationTable(apps, power_w=nodes.T)


def _long(names: Sequence[str], apps: Sequence[str], watts: Any) -> pl.DataFrame:
    import numpy as np
    import polars as pl

    device = np.repeat(np.arange(len(names)), len(apps))
    return pl.DataFrame(
        {
            "device": pl.Series(names, dtype=pl.String).gather(device),
            "app": list(apps) * len(names),
            "power_w": watts.ravel(),
        }
    )


def _write(frame: pl.DataFrame, out: str) -> None:
    from hetsched.files import write_whole

    write_whole(Path(out), frame.write_parquet if out.lower().endswith(".parquet") else frame.write_csv)


def _tell(
    screen: Screen, model: PowerModel, known: Features, table: hs.VariationTable, beyond: pl.DataFrame, *, per_node: int
) -> None:
    """Show the devices of each node, and for which applications predictions are not to be trusted."""
    names = [f"{node} = {_of_node(model.device_names_, node, per_node)}" for node in range(table.nodes)]
    shown = names if len(names) <= 4 else [*names[:2], "...", names[-1]]
    screen.say(f"{many(table.nodes, 'node')}: {', '.join(shown)}")
    if not hasattr(model, "feature_names_in_"):
        screen.say(f"the model does not say what its features are; columns are taken as they stand: {few(known.names)}")
    if clipped := model.clipped_:
        screen.say(f"{many(clipped, 'prediction')} below 0 W set to 0")
    if len(beyond):
        apps = beyond["app"].unique(maintain_order=True).to_list()
        first = beyond.row(0, named=True)
        screen.say(
            f"beyond what the model was fitted on: {few(apps)} "
            f"({first['feature']} of {first['app']} {first['value']:.4g}, "
            f"fitted {first['low']:.4g} to {first['high']:.4g})"
        )


def _of_node(devices: tuple[str, ...], node: int, per_node: int) -> str:
    own_devices = devices[node * per_node : (node + 1) * per_node]
    return own_devices[0] if per_node == 1 else f"{own_devices[0]} to {own_devices[-1]}"


def _show(
    screen: Screen, model: PowerModel, table: hs.VariationTable, beyond: pl.DataFrame, written: list[str]
) -> None:
    from hetsched.report.power import predictions_table

    assert table.power_w is not None
    rows = [
        {"app": app, "mean_w": float(row.mean()), "least_w": float(row.min()), "most_w": float(row.max())}
        for app, row in zip(table.apps, table.power_w, strict=True)
    ]
    screen.show(predictions_table(rows, nodes=table.nodes))
    screen.give(
        {
            "summary": {
                "apps": len(table.apps),
                "devices": model.n_devices_,
                "nodes": table.nodes,
                "clipped": model.clipped_,
                "apps_beyond": beyond["app"].n_unique(),
            },
            "model": own.described(model),
            "predicted": rows,
            "devices": list(model.device_names_),
            "beyond": beyond.rows(named=True),
        },
        written,
    )
