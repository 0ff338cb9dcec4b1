"""Measured counters and watts that lie next to the repository, in the shape that power models take.

A data set is features of applications and watts of devices under them. Where one device was measured at many clocks, or
settings, each of these counts as a device: they differ from each other as devices of a kind do, only more, and the
features are those of one of them, as the models expect. Licences and columns: the description next to each data set.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

FOLDER = Path(__file__).parents[2].parent / "shared" / "data"

M100_LOAD_PERCENT = (0.5, 1.0, 2.0, 4.0, 7.0, 10.0, 14.0, 18.0, 23.0, 30.0, 45.0)
M100_INLET_C = (18.0, 22.0, 25.0)
_M100_CONDITIONS = ("cpu_user_mean", "load_one_mean", "ambient_mean")
_LEAST_SAMPLES = 2160
_LEAST_SOCKET_W = 20.0


@dataclass(frozen=True)
class Measured:
    """A data set.

    Parameters
    ----------
    name
        What tables call it.
    features
        Shape (n_apps, n_features).
    power_w
        Shape (n_devices, n_apps), NaN = not measured.
    groups
        What is left out together, one name a column of `power_w`.
    devices
        What a row of `power_w` is.
    """

    name: str
    features: np.ndarray
    power_w: np.ndarray
    groups: list[str]
    devices: str


def dcgm_v100() -> Measured:
    """21 benchmarks on a V100 at 117 clocks; features at the highest."""
    names = ["gr_engine_active", "dram_active", "fp64_active", "fp32_active", "pcie_tx_bytes", "pcie_rx_bytes"]
    frame = pl.read_csv(FOLDER / "gpu-dcgm-v100" / "mean_fp_data_21_apps.csv", infer_schema_length=None)
    at = pl.col("sm_app_clock")
    features = frame.filter(at == at.max()).sort("application").select(*names, "mem_copy_utilization")
    return _by_setting("V100, DCGM", frame, "application", ["sm_app_clock"], "power_usage", features, "clock")


def hkbu_1080ti() -> Measured:
    """30 kernels on a GTX 1080 Ti at 20 clock pairs; the six features of the paper on TSMVA, in the middle of them."""
    path = FOLDER / "gpu-dvfs-hkbu" / "gtx1080ti-dvfs-real-Performance-Power.csv"
    frame = pl.read_csv(path, infer_schema_length=None)
    counted = [(pl.col(f"inst_{kind}") / pl.col("time/ms")).alias(kind) for kind in ("integer", "fp_32", "fp_64")]
    added = {"dram": "dram_{}_throughput", "shared": "shared_{}_throughput"}
    pairs = {"dram": ("read", "write"), "shared": ("load", "store")}
    moved = [sum(pl.col(added[k].format(one)) for one in pairs[k]).alias(k) for k in added]
    middle = frame.filter((pl.col("coreF") == 1800) & (pl.col("memF") == 5000)).sort("appName")
    features = middle.select(*counted, *moved, "tex_cache_throughput")
    return _by_setting(
        "GTX 1080 Ti, nvprof", frame, "appName", ["coreF", "memF"], "power/W", features, "pair of clocks"
    )


def gpmtool(file: str, name: str) -> Measured:
    """Micro-benchmarks (or, for ``titanx_real_all_frequencies_power``, applications) at pairs of clocks."""
    is_real = "real" in file
    lines = (FOLDER / "gpu-gpmtool" / f"{file}.csv").read_text().strip().splitlines()[4:]
    rows = [line.split(",") for line in lines]
    values = np.array([[float(one) for one in row[is_real:]] for row in rows])
    # Micro-benchmarks have no names, but their use of the components is the same at all clocks.
    labels = [row[0] if is_real else ",".join(row[3:]) for row in rows]
    apps, column = np.unique(labels, return_inverse=True)
    settings, device = np.unique(values[:, 1:3], axis=0, return_inverse=True)
    power_w = np.full((len(settings), len(apps)), np.nan)
    power_w[device.reshape(-1), column] = values[:, 0]
    features = np.empty((len(apps), values.shape[1] - 3))
    features[column] = values[:, 3:]
    return Measured(name, features, power_w, apps.tolist(), "pair of clocks")


def kepler_nx12(target: str = "package_power") -> Measured:
    """Two Xeon E5-2667 v3 for 77 minutes, a sample every 3 s; left out together are 200 samples on end."""
    source = "acpi" if target == "platform_power" else "rapl"
    frame = pl.read_csv(FOLDER / "cpu-kepler-nx12" / f"{source}_CounterIRQCombined_first70.csv.gz")
    features = frame.select("cpu_cycles", "cpu_instructions", "cache_miss", pl.col("^bpf_.*_irq$")).to_numpy()
    groups = [f"samples {number // 200 * 200} to {number // 200 * 200 + 199}" for number in range(len(frame))]
    return Measured(
        f"Xeon E5 v3, {target.partition('_')[0]}", features, frame[target].to_numpy()[None], groups, "pair of CPUs"
    )


def rome_roco2() -> Measured:
    """Six kernels on two EPYC 7502 with 4 to 128 threads; nine settings of clock and C-states; wall power.

    Features: threads, RAPL's watts of the packages and of the cores, at 2.5 GHz with all C-states.
    """
    frame = pl.read_csv(FOLDER / "cpu-rome-roco2" / "conway_roco2.csv.gz").filter(pl.col("kernel") != "idle")
    keys = ["kernel", "thread_count"]
    watts = ["elab.conway.power", "AMD RAPL PCKG", "AMD RAPL SINGLE_CORE"]
    frame = frame.group_by(*keys, "frequency", "cstate").agg(pl.col(watts).median())
    reference = frame.filter((pl.col("frequency") == 2_500_000_000) & (pl.col("cstate") == 2)).sort(keys)
    frame = frame.with_columns(app=pl.format("{}, {}", "kernel", pl.col("thread_count").cast(pl.String).str.zfill(3)))
    features = reference.select("thread_count", *watts[1:])
    found = _by_setting("EPYC 7502, RAPL", frame, "app", ["frequency", "cstate"], watts[0], features, "setting")
    return Measured(
        found.name, found.features, found.power_w, [app.partition(",")[0] for app in found.groups], "setting"
    )


def longhorn(*, joined: tuple[str, str] | None = None) -> Measured:
    """V100 GPUs and four workloads, medians over runs; features: the fleet's median clock and temperature.

    With `joined`, only GPUs that ran both of these.
    """
    parts = []
    for app in ("sgemm", "pagerank", "resnet", "bert"):
        frame = pl.read_csv(
            FOLDER / "gpu-variability-longhorn" / f"{app}-longhorn-agg.csv.gz", infer_schema_length=None
        )
        # GPUs carry other names in one pair of files than in the other, and cannot be joined.
        parts.append(frame.select(pl.lit(app).alias("app"), "uuid", pl.col("freq", "temp", "pwr").cast(pl.Float64)))
    frame = pl.concat(parts)
    if joined is not None:
        frame = frame.filter(pl.col("app").is_in(joined))
        ran = frame.group_by("uuid").agg(pl.col("app").n_unique()).filter(pl.col("app") == 2)["uuid"]
        frame = frame.filter(pl.col("uuid").is_in(ran.implode()))
    frame = frame.group_by("app", "uuid").agg(pl.all().median())
    features = frame.group_by("app").agg(pl.col("freq", "temp").median()).sort("app").select("freq", "temp")
    name = "Longhorn V100" if joined is None else f"Longhorn V100, {' and '.join(joined)}"
    return _by_setting(name, frame, "app", ["uuid"], "pwr", features, "GPU")


def m100(year: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """POWER9 sockets in classes of CPU load and inlet temperature, medians over a year's days.

    Returns cells (``socket, app, power_w, days``) and classes (``app`` and features, the fleet's medians). Days with
    half of their samples missing, sockets below 20 W (faulty sensors) and days without load are left out.
    """
    frame = pl.read_parquet(FOLDER / "m100-socket-power" / f"m100_socket_day_{year}.parquet")
    sides = [
        frame.select(
            pl.format("{}-{}", "node", pl.lit(side)).alias("socket"),
            *_M100_CONDITIONS,
            pl.col(f"p{side}_power_mean_w").alias("power_w"),
            pl.col(f"p{side}_power_n").alias("samples"),
        )
        for side in (0, 1)
    ]
    return _m100_cells(pl.concat(sides).drop_nulls())


def m100_of_2022(folder: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The same of 2022, from the monthly files of the data's origin."""
    power, load = (
        pl.concat(
            [pl.read_parquet(file) for file in sorted(folder.glob(f"{kind}_22-*.parquet"))], how="vertical_relaxed"
        )
        for kind in ("pw", "cov")
    )
    days = power.join(load.select("node", "day", *_M100_CONDITIONS), on=["node", "day"]).select(
        pl.format("{}-{}", "node", "socket").alias("socket"),
        *_M100_CONDITIONS,
        pl.col("mean").alias("power_w"),
        pl.col("count").alias("samples"),
    )
    return _m100_cells(days.drop_nulls())


def _m100_cells(days: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    days = days.filter((pl.col("samples") >= _LEAST_SAMPLES) & (pl.col("power_w") >= _LEAST_SOCKET_W))
    load, inlet = (
        np.digitize(days[column].to_numpy(), borders)
        for column, borders in (("cpu_user_mean", M100_LOAD_PERCENT), ("ambient_mean", M100_INLET_C))
    )
    days = days.with_columns(app=pl.Series(load * 10 + inlet))
    cells = days.group_by("socket", "app").agg(pl.col("power_w").median(), pl.len().alias("days"))
    classes = days.group_by("app").agg(pl.col("cpu_user_mean", "load_one_mean", "ambient_mean").median(), pl.len())
    return cells, classes.filter(pl.col("len") >= 200).sort("app")


def _by_setting(
    name: str,
    frame: pl.DataFrame,
    app: str,
    setting: list[str],
    power: str,
    features: pl.DataFrame,
    devices: str,
) -> Measured:
    """Rows of (application, setting, watts) as a matrix; features stand in the order of the applications' names."""
    wide = frame.sort(app).pivot(on=app, index=setting, values=power).sort(setting)
    apps = sorted(set(wide.columns) - set(setting))
    return Measured(
        name, features.to_numpy().astype(np.float64), wide.select(apps).to_numpy().astype(np.float64), apps, devices
    )
