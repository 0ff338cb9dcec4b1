"""Types of the compiled extension, written by hand and checked by stubtest."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, final

import numpy as np
import numpy.typing as npt
from typing_extensions import disjoint_base

__version__: str
__commit__: str

@final
class Frame:
    """Columns on their way to Python: anything that reads the Arrow C stream interface takes them without a copy."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    @property
    def left_out(self) -> list[tuple[int, str, str, int | None]]:
        """Columns that hold the same in every row and are left out of the stream: place, name, type and value."""

@final
class JobColumns:
    """A workload's columns as the engine holds them."""

    def __new__(
        cls,
        *,
        job_id: npt.NDArray[np.int64],
        submit_s: npt.NDArray[np.float64],
        runtime_s: npt.NDArray[np.float64],
        node_count: npt.NDArray[np.int32],
        walltime_s: npt.NDArray[np.float64] | None = None,
        comm_s: npt.NDArray[np.float64] | None = None,
        slots: npt.NDArray[np.int64] | None = None,
        power_w: npt.NDArray[np.float64] | None = None,
        power_profile: npt.NDArray[np.float64] | None = None,
        power_profile_offsets: npt.NDArray[np.int64] | None = None,
        power_profile_s: npt.NDArray[np.float64] | None = None,
        cap_w: npt.NDArray[np.float64] | None = None,
        app: npt.NDArray[np.int32] | None = None,
        app_names: list[str] | None = None,
        on_gpu: npt.NDArray[np.int64] | None = None,
        first_run: npt.NDArray[np.int64] | None = None,
        observed_start_s: npt.NDArray[np.float64] | None = None,
        observed_end_s: npt.NDArray[np.float64] | None = None,
        observed_node_offsets: npt.NDArray[np.int64] | None = None,
        observed_nodes: npt.NDArray[np.int64] | None = None,
        min_nodes: npt.NDArray[np.int64] | None = None,
        size_offsets: npt.NDArray[np.int64] | None = None,
        time_ratios: npt.NDArray[np.float64] | None = None,
        malleable: npt.NDArray[np.int64] | None = None,
        resize_s: npt.NDArray[np.float64] | None = None,
        start_at_s: npt.NDArray[np.float64] | None = None,
        depends_on: npt.NDArray[np.int64] | None = None,
        depends_how: npt.NDArray[np.int64] | None = None,
        think_s: npt.NDArray[np.float64] | None = None,
        cancel_s: npt.NDArray[np.float64] | None = None,
        array: npt.NDArray[np.int64] | None = None,
        array_limits: npt.NDArray[np.int64] | None = None,
        source: str = "workload",
    ) -> JobColumns: ...
    def __len__(self) -> int: ...

@final
class PowerTable:
    """Busy watts (or factors on the nominal draw) and time factors by application and node."""

    def __new__(
        cls,
        *,
        apps: list[str],
        power_w: npt.NDArray[np.float64] | None = None,
        power_ratio: npt.NDArray[np.float64] | None = None,
        time_ratio: npt.NDArray[np.float64] | None = None,
        name: str = "table",
    ) -> PowerTable: ...

@final
class Machine:
    """A platform's columns, one value a node, as the engine holds them."""

    def __new__(
        cls,
        *,
        idle_w: npt.NDArray[np.float64],
        busy_w: npt.NDArray[np.float64],
        tdp_w: npt.NDArray[np.float64],
        off_w: npt.NDArray[np.float64],
        down_w: npt.NDArray[np.float64],
        boot_w: npt.NDArray[np.float64],
        boot_s: npt.NDArray[np.float64],
        shutdown_w: npt.NDArray[np.float64],
        shutdown_s: npt.NDArray[np.float64],
        slots: npt.NDArray[np.int64],
        exclusive: bool = True,
        actual: PowerTable | None = None,
        predicted: PowerTable | None = None,
        known_draws: str = "measured",
        cap_tables: list[tuple[float, PowerTable, PowerTable | None]] | None = None,
        cap_model: dict[str, Any] | None = None,
    ) -> Machine: ...
    def __len__(self) -> int: ...

@final
class Records:
    """What a run leaves behind; each frame can be taken once."""

    totals: dict[str, Any]
    def take_jobs(self) -> Frame: ...
    def take_timeline(self) -> Frame: ...
    def take_nodes(self) -> Frame: ...
    @property
    def has_segments(self) -> bool: ...
    def take_between(self) -> Frame: ...
    def take_segments(self) -> Frame | None: ...
    @property
    def has_lost_attempts(self) -> bool: ...
    def take_attempts(self) -> Frame: ...
    @property
    def has_events(self) -> bool: ...
    def take_events(self) -> Frame | None: ...
    def uncapped(
        self, rows: npt.NDArray[np.uint32], offsets: npt.NDArray[np.int64], nodes: npt.NDArray[np.uint32]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...

def read_swf(
    data: bytes,
    *,
    file: str,
    procs_per_node: int | None = None,
    skip_bad_lines: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> tuple[Frame, dict[str, Any]]: ...

_Budgets: TypeAlias = tuple[
    npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]
]

_Maintenance: TypeAlias = tuple[
    npt.NDArray[np.float64], npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.float64]
]

_Codes: TypeAlias = tuple[npt.NDArray[np.int64], list[str]]
_Longs: TypeAlias = npt.NDArray[np.int64]
_Floats: TypeAlias = npt.NDArray[np.float64]

@disjoint_base
class Jobs:
    """Jobs as columns: each attribute a read-only array with a value a job. To be read while the call lasts."""

    def __len__(self) -> int: ...
    @property
    def job_id(self) -> _Longs: ...
    @property
    def submit_s(self) -> _Floats: ...
    @property
    def eligible_s(self) -> _Floats: ...
    @property
    def planned_s(self) -> _Floats: ...
    @property
    def walltime_s(self) -> _Floats: ...
    @property
    def node_count(self) -> _Longs: ...
    @property
    def slots(self) -> _Longs: ...
    @property
    def app(self) -> _Longs: ...
    @property
    def user(self) -> _Longs: ...
    @property
    def account(self) -> _Longs: ...
    @property
    def queue(self) -> _Longs: ...
    @property
    def asked_nodes(self) -> _Longs: ...
    @property
    def min_nodes(self) -> _Longs: ...
    @property
    def max_nodes(self) -> _Longs: ...
    @property
    def malleable(self) -> npt.NDArray[np.bool_]: ...
    @property
    def resize_s(self) -> _Floats: ...
    def size_time_ratio(self, node_count: Sequence[int] | npt.NDArray[np.int64]) -> _Floats: ...
    @property
    def power_w(self) -> _Floats: ...
    @property
    def cap_w(self) -> _Floats: ...
    @property
    def on_gpu(self) -> npt.NDArray[np.bool_]: ...
    @property
    def want(self) -> _Longs: ...

@final
class Ended(Jobs):
    """Jobs that have ended: the columns of all jobs, and what has become of them."""

    @property
    def start_s(self) -> _Floats: ...
    @property
    def end_s(self) -> _Floats: ...
    @property
    def runtime_s(self) -> _Floats: ...
    @property
    def used_node_s(self) -> _Floats: ...
    @property
    def requeued(self) -> npt.NDArray[np.bool_]: ...

@final
class Profile:
    """Nodes, or slots where nodes are shared, that are free from now on by the planned ends of what runs."""

    @property
    def time_s(self) -> _Floats: ...
    @property
    def free_nodes(self) -> _Longs: ...
    @property
    def free_w(self) -> _Floats | None: ...
    def fits(self, nodes: int, length_s: float, *, watts: float = 0.0) -> bool: ...
    def earliest(self, nodes: int, length_s: float, *, watts: float = 0.0, after_s: float | None = None) -> float: ...
    def reserve(self, start_s: float, nodes: int, length_s: float, *, watts: float = 0.0) -> None: ...

@final
class Job:
    """One job, by attributes of the same names as the columns of several. To be read while the call lasts."""

    @property
    def job_id(self) -> int: ...
    @property
    def submit_s(self) -> float: ...
    @property
    def eligible_s(self) -> float: ...
    @property
    def planned_s(self) -> float: ...
    @property
    def walltime_s(self) -> float: ...
    @property
    def node_count(self) -> int: ...
    @property
    def slots(self) -> int: ...
    @property
    def app(self) -> int: ...
    @property
    def user(self) -> int: ...
    @property
    def account(self) -> int: ...
    @property
    def queue(self) -> int: ...
    @property
    def asked_nodes(self) -> int: ...
    @property
    def min_nodes(self) -> int: ...
    @property
    def max_nodes(self) -> int: ...
    @property
    def malleable(self) -> bool: ...
    @property
    def resize_s(self) -> float: ...
    def size_time_ratio(self, node_count: int) -> float: ...
    @property
    def power_w(self) -> float: ...
    @property
    def cap_w(self) -> float: ...
    @property
    def on_gpu(self) -> bool: ...
    @property
    def want(self) -> int: ...

@final
class Standby:
    """Nodes that idle, or are switched off: each attribute a read-only array."""

    @property
    def idle(self) -> _Longs: ...
    @property
    def idle_since_s(self) -> _Floats: ...
    @property
    def next_start_s(self) -> _Floats: ...
    @property
    def break_even_s(self) -> _Floats: ...
    @property
    def off(self) -> _Longs: ...
    @property
    def booting(self) -> _Longs: ...
    @property
    def shutting_down(self) -> _Longs: ...
    @property
    def spare(self) -> int: ...
    @property
    def free(self) -> int: ...
    @property
    def arrived(self) -> Jobs: ...

@final
class Running:
    """The jobs that run, by start: each attribute a read-only array. To be read while the call lasts."""

    def __len__(self) -> int: ...
    @property
    def job_id(self) -> _Longs: ...
    @property
    def start_s(self) -> _Floats: ...
    @property
    def planned_end_s(self) -> _Floats: ...
    @property
    def node_count(self) -> _Longs: ...
    @property
    def asked_nodes(self) -> _Longs: ...
    @property
    def min_nodes(self) -> _Longs: ...
    @property
    def max_nodes(self) -> _Longs: ...
    @property
    def malleable(self) -> npt.NDArray[np.bool_]: ...
    @property
    def resize_s(self) -> _Floats: ...
    def size_time_ratio(self, node_count: Sequence[int] | npt.NDArray[np.int64]) -> _Floats: ...
    @property
    def slots(self) -> _Longs: ...
    @property
    def app(self) -> _Longs: ...
    @property
    def user(self) -> _Longs: ...
    @property
    def account(self) -> _Longs: ...
    @property
    def queue(self) -> _Longs: ...
    @property
    def cap_w(self) -> _Floats: ...
    @property
    def own_cap_w(self) -> _Floats: ...
    @property
    def emergency_cap_w(self) -> _Floats: ...
    def draw_w(self, cap_w: float | npt.ArrayLike) -> _Floats: ...
    def node_draw_w(self, cap_w: float | npt.ArrayLike) -> _Floats: ...
    def slowdown(self, cap_w: float | npt.ArrayLike) -> _Floats: ...
    @property
    def nodes(self) -> _Longs: ...
    @property
    def node_offsets(self) -> _Longs: ...

@final
class View:
    """The machine and its jobs, as far as decisions know them: lent for the length of one call."""

    @property
    def now_s(self) -> float: ...
    @property
    def free(self) -> _Longs: ...
    @property
    def free_slots(self) -> _Longs: ...
    def may_use(self, want: int) -> npt.NDArray[np.bool_]: ...
    @property
    def queue(self) -> Jobs: ...
    @property
    def running(self) -> Running: ...
    @property
    def nodes(self) -> int: ...
    @property
    def slots(self) -> int: ...
    @property
    def idle_w(self) -> _Floats: ...
    @property
    def tdp_w(self) -> _Floats: ...
    @property
    def apps(self) -> tuple[str, ...]: ...
    def profile(self) -> Profile: ...
    def earliest(self, job: Job | int, *, after_s: float | None = None) -> float: ...
    @property
    def users(self) -> tuple[str, ...]: ...
    @property
    def accounts(self) -> tuple[str, ...]: ...
    @property
    def queues(self) -> tuple[str, ...]: ...
    def predicted_w(
        self, app: int | str | None, *, own_w: float | None = None, cap_w: float | None = None
    ) -> _Floats: ...
    def predicted_time_ratio(
        self, app: int | str | None, *, own_w: float | None = None, cap_w: float | None = None
    ) -> _Floats: ...

@final
class RunSetup:
    """Ingredients of a run, from which one run is made."""

    def __new__(
        cls,
        jobs: JobColumns,
        machine: Machine,
        policy: dict[str, Any],
        *,
        seed: int = 0,
        kill_at_walltime: bool = True,
        kill_grace_s: float = 0.0,
        walltimes: str = "fixed",
        on_failure: str = "fail",
        on_unknown_app: str = "error",
        until_s: float | None = None,
        known_w: npt.NDArray[np.float64] | None = None,
        budgets: _Budgets | None = None,
        unfit: str | None = None,
        agent: dict[str, Any] | None = None,
        users: _Codes | None = None,
        accounts: _Codes | None = None,
        queues: _Codes | None = None,
        cells: dict[str, Any] | None = None,
        queueing: dict[str, Any] | None = None,
        groups: npt.NDArray[np.uint32] | None = None,
        from_s: float | None = None,
    ) -> RunSetup: ...

@final
class Session:
    def __new__(
        cls, setup: RunSetup, *, succeeds: Session | None = None, extends: Session | None = None
    ) -> Session: ...
    def step_until(
        self, time_s: float | None, *, progress: Callable[[int, int, float], object] | None = None
    ) -> bool: ...
    def inject(
        self,
        time_s: npt.NDArray[np.float64],
        node: npt.NDArray[np.int64],
        fails: npt.NDArray[np.bool_],
        *,
        budgets: _Budgets | None = None,
        maintenance: _Maintenance | None = None,
        cancels: tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]] | None = None,
        holds: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None = None,
    ) -> None: ...
    def fork(self) -> Session: ...
    @property
    def is_over(self) -> bool: ...
    @property
    def has_begun(self) -> bool: ...
    @property
    def now_s(self) -> float: ...
    @property
    def standing(self) -> tuple[int, bool]: ...
    def take_records(self) -> Records: ...
    def chronicle(self) -> None: ...
    def take_pages(self) -> list[tuple[int, list[_Told], list[_Told]]]: ...

_Told: TypeAlias = tuple[str, int, int, list[int], str, float, float]
_State: TypeAlias = tuple[
    list[tuple[tuple[int, int], int]],
    list[tuple[tuple[int, int], list[int], int]],
    list[tuple[tuple[int, int], bool, int | None]],
    list[int],
    list[tuple[int, str]],
    list[tuple[float, int, int, int]],
]

@final
class Live:
    """A policy at work on a machine that its host watches and steers."""

    def __new__(cls, setup: RunSetup, *, start_us: int, extends: Live | None = None) -> Live: ...
    def step(self, t_us: int, reports: list[_Told]) -> list[_Told]: ...
    def snapshot(self) -> _State: ...
    def rebuild(self, t_us: int, state: _State, kept: dict[str, list[int]] | None = None) -> None: ...
    def remember(self) -> dict[str, list[int]]: ...
    def recall(self, kept: dict[str, list[int]]) -> None: ...
    @property
    def is_plain(self) -> bool: ...
    @property
    def next_us(self) -> int | None: ...
    @property
    def late(self) -> int: ...

@final
class Agents:
    """Runs side by side, each asked for one decision at a time."""

    def __new__(
        cls,
        *,
        queue: npt.NDArray[np.float32],
        machine: npt.NDArray[np.float32],
        mask: npt.NDArray[np.int8],
        sums: npt.NDArray[np.float64],
        now_s: npt.NDArray[np.float64],
        is_over: npt.NDArray[np.bool_],
    ) -> Agents: ...
    @staticmethod
    def features() -> tuple[int, int, list[int]]: ...
    def put(self, row: int, session: Session) -> None: ...
    def step(self, rows: npt.NDArray[np.int64], actions: npt.NDArray[np.int64]) -> None: ...
    def glance(self, row: int) -> dict[str, Any]: ...
    def take(self, row: int) -> Session: ...

@final
class PbsLog:
    def take_node_names(self) -> tuple[list[str], list[int]]: ...
    def take_texts(self) -> list[str]: ...
    def report(self) -> dict[str, Any]: ...
    def take_column(self, name: str, rank: npt.NDArray[np.uint32]) -> Frame | None: ...

def read_pbs(
    read_block: Callable[[int], bytes],
    *,
    file: str,
    zone: tuple[list[int], list[int]] | None,
    drop_never_ran: bool,
    skip_bad_lines: bool,
) -> PbsLog: ...

@final
class SacctDump:
    @property
    def is_json(self) -> bool: ...
    @property
    def columns(self) -> list[str]: ...
    def node_names(self) -> tuple[list[str], list[int]]: ...
    def take_texts(self) -> list[str]: ...
    def report(self) -> dict[str, Any]: ...
    def take_column(self, name: str, rank: npt.NDArray[np.uint32]) -> Frame | None: ...

def read_sacct(
    read_block: Callable[[int], bytes],
    *,
    file: str,
    zone_since: list[int],
    zone_offset: list[int],
    columns: list[str] | None,
    delimiter: str | None,
    app: str | None,
    drop_never_ran: bool,
    skip_bad_lines: bool,
) -> SacctDump: ...
def read_batsim(
    read_block: Callable[[int], bytes], *, file: str, flops_per_s: float | None, skip_bad_lines: bool
) -> tuple[Frame, dict[str, Any]]: ...
def unpacked(data: bytes, *, file: str) -> bytes: ...
def parts() -> list[dict[str, Any]]: ...
def refused_pairs() -> list[tuple[str, str, str, str]]: ...
def check_policy(policy: dict[str, Any]) -> dict[str, Any]: ...
def assign(
    cost: npt.NDArray[np.float64], /
) -> tuple[npt.NDArray[np.intp], float, npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
def assign_types(
    cost: npt.NDArray[np.float64], counts: npt.NDArray[np.uint32], /
) -> tuple[list[npt.NDArray[np.intp]], float, npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...

_Spans: TypeAlias = tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint64], npt.NDArray[np.int64], npt.NDArray[np.int64]]
_Certificate: TypeAlias = tuple[
    npt.NDArray[np.int64],
    npt.NDArray[np.int64],
    npt.NDArray[np.float64],
    npt.NDArray[np.int64],
    npt.NDArray[np.int64],
    npt.NDArray[np.int64],
    npt.NDArray[np.float64],
]

_Intervals: TypeAlias = tuple[
    npt.NDArray[np.uint32], npt.NDArray[np.float64], npt.NDArray[np.int64], npt.NDArray[np.int64]
]
_Closed: TypeAlias = tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64], npt.NDArray[np.int64]]

def least_cost_over_time(
    cost: npt.NDArray[np.float64],
    kinds: tuple[npt.NDArray[np.uint32], npt.NDArray[np.float64]],
    capacity: npt.NDArray[np.uint64],
    supplies: _Spans,
    outages: _Spans,
    *,
    certified: bool = False,
    priced: bool = False,
) -> tuple[float, float, int, int, int, _Certificate | None, npt.NDArray[np.float64] | None]: ...
def cheaper_placement(
    cost: npt.NDArray[np.float64],
    intervals: _Intervals,
    places: tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]],
    closed: _Closed,
    *,
    rounds: int,
    seed: int,
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], float, float, int]: ...
def cheaper_paced_placement(
    cost: npt.NDArray[np.float64],
    factor: npt.NDArray[np.float64],
    intervals: tuple[npt.NDArray[np.uint32], npt.NDArray[np.float64], npt.NDArray[np.int64]],
    lengths: tuple[
        npt.NDArray[np.int64],
        npt.NDArray[np.float64],
        npt.NDArray[np.int64],
        npt.NDArray[np.int64],
        npt.NDArray[np.float64],
        npt.NDArray[np.int64],
    ],
    places: tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]],
    closed: _Closed,
    *,
    grace: int,
    stretches: bool,
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], float, int]: ...
def raised_prices(
    cost: npt.NDArray[np.float64],
    intervals: _Intervals,
    sizes: npt.NDArray[np.uint32],
    closed: _Closed,
    prices: npt.NDArray[np.float64],
    *,
    steps: int,
    target: float,
) -> tuple[npt.NDArray[np.float64], float, float, float, int]: ...
def placed_by_prices(
    cost: npt.NDArray[np.float64],
    intervals: _Intervals,
    sizes: npt.NDArray[np.uint32],
    closed: _Closed,
    prices: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]] | None: ...
