"""Machines of the reference (`plain_machine`), and their jobs, as the engine takes them."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import polars as pl
from plain_draws import SECOND, Draws, Row, Tables, flat
from plain_jobs import Job
from plain_machine import Machine
from plain_sizes import Run, growth_within, hungriest_w
from plain_vahrm import Vahrm
from power_cases import APPS, of_one_row, part_of

import hetsched as hs

IDLE_W, BUSY_W, DOWN_W = 100.0, 300.0, 7.0


def told(micros: float | None) -> float | None:
    return None if micros is None else micros / SECOND


def workload_of(machine: Machine, jobs: list[Job]) -> hs.Workload:
    columns: dict[str, tuple[Any, list[Any]]] = {
        "job_id": (pl.Int64, [job.row for job in jobs]),
        "submit_s": (pl.Float64, [told(job.submit) for job in jobs]),
        "runtime_s": (pl.Float64, [told(job.runtime) for job in jobs]),
        "node_count": (pl.Int64, [job.node_count for job in jobs]),
        "walltime_s": (pl.Float64, [told(job.walltime) for job in jobs]),
        "slots": (pl.Int64, [job.slots for job in jobs]),
        "queue": (pl.String, [job.queue for job in jobs]),
        "user": (pl.String, [job.user for job in jobs]),
        "account": (pl.String, [job.user for job in jobs]),
        "start_at_s": (pl.Float64, [told(job.start_at) for job in jobs]),
        "depends_on": (pl.Int64, [job.depends_on for job in jobs]),
        "depends_how": (pl.String, [None if job.how == "any" and job.row % 2 else job.how for job in jobs]),
        "think_s": (pl.Float64, [told(job.think) if job.think else None for job in jobs]),
        "cancel_s": (pl.Float64, [told(job.cancel) for job in jobs]),
        "array_id": (pl.Int64, [job.array for job in jobs]),
        "array_limit": (pl.Int64, [job.limit for job in jobs]),
        "constraint": (pl.String, [job.wish and job.wish[0] for job in jobs]),
        "gpus": (pl.Int64, [job.gpus for job in jobs]),
        "memory_gb": (pl.Float64, [float(job.memory) for job in jobs]),
        "licences": (pl.String, [",".join(f"{name}:{n}" for name, n in job.licences.items()) or None for job in jobs]),
        "app": (pl.String, [job.app for job in jobs]),
        "min_nodes": (pl.Int64, [job.sizes and job.sizes.least for job in jobs]),
        "max_nodes": (pl.Int64, [job.sizes and job.sizes.most for job in jobs]),
        "speedup": (pl.String, [job.sizes and job.sizes.model for job in jobs]),
        "serial_ratio": (pl.Float64, [job.sizes and job.sizes.serial_ratio for job in jobs]),
        "downey_a": (pl.Float64, [job.sizes and job.sizes.parallelism for job in jobs]),
        "downey_sigma": (pl.Float64, [job.sizes and job.sizes.sigma for job in jobs]),
        "speedup_table": (pl.String, [(job.sizes and " ".join(map(repr, job.sizes.table))) or None for job in jobs]),
        "malleable": (pl.Boolean, [job.sizes and job.sizes.malleable for job in jobs]),
        "resize_s": (pl.Float64, [job.sizes and told(job.sizes.pause) for job in jobs]),
        "first_run": (pl.Boolean, [job.first_run for job in jobs]),
        "comm_s": (pl.Float64, [told(job.comm) if job.comm else None for job in jobs]),
    }
    if any(job.cap_w for job in jobs):
        columns["cap_w"] = (pl.Float64, [job.cap_w for job in jobs])
    if machine.draws.believed is not None or any(job.interval for job in jobs):
        watts = drawn_w(machine.draws.actual)
        columns["power_w"] = (pl.Float64, [watts[job.app] for job in jobs])
    if any(job.profile_w for job in jobs):
        columns["power_profile"] = (pl.List(pl.Float64), [list(job.profile_w) or None for job in jobs])
        columns["power_profile_s"] = (pl.Float64, [told(job.interval) for job in jobs])
    # Some columns that say nothing are left out.
    needed = {name for name, (_, values) in columns.items() if any(value is not None for value in values)}
    needed |= {"start_at_s", "queue"} if len(jobs) % 2 else {"job_id"}
    columns = {name: column for name, column in columns.items() if name in needed}
    return hs.Workload.from_polars(pl.DataFrame([pl.Series(name, of, kind) for name, (kind, of) in columns.items()]))


def _limit(value: float) -> int | None:
    return None if value == inf else int(value)


def platform_of(machine: Machine, jobs: list[Job]) -> hs.Platform:
    queues = [
        hs.Queue(
            queue.name,
            queue.nodes,
            priority=queue.priority,
            max_nodes=_limit(queue.max_nodes),
            max_slots=_limit(queue.max_slots),
            max_walltime_s=told(queue.max_walltime),
            default_walltime_s=told(queue.default_walltime),
            max_running=_limit(queue.max_running),
            max_running_per_user=_limit(queue.max_running_per_user),
            users=queue.users,
            order=queue.order,
            allocation="spread" if queue.spreads else "concentrate",
            preempts=queue.preempts,
        )
        for queue in machine.queues
    ]
    given: dict[str, Any] = {"tdp_w": machine.draws.tdp_w, "down_w": machine.down_w, "slots": machine.slots}
    if machine.sleep is not None:
        given |= {"boot_s": told(machine.sleep.boot), "shutdown_s": told(machine.sleep.shutdown)}
    classes = []
    for number, idle_w in enumerate(machine.draws.idle_w):
        own, switch = machine.offer(number), {} if machine.sleep is None else dict(vars(machine.switch(number)))
        if machine.boots is not None:
            switch["boot_s"] = told(machine.boots[number])
        features = {} if machine.offers is None else {"features": list(own.features)}
        more = features | {"gpus": own.gpus, "memory_gb": own.memory} if machine.offers else {}
        classes.append(hs.NodeClass(f"n{number}", 1, idle_w=idle_w, **(given | switch | more)))
    licences = machine.licences or None
    platform = hs.Platform(classes, exclusive=machine.slots == 1, queues=queues or None, licences=licences)
    if any(job.interval for job in jobs) or machine.draws.is_flat or machine.draws.believed is not None:
        return with_model(platform, machine.draws)
    both = machine.draws.actual, machine.draws.predicted
    is_one_row = all(one == of_one_row(one) for one in both)
    actual, predicted = (tables_of(one, is_one_row=is_one_row) for one in both)
    platform = platform.with_tables(actual=actual, predicted=None if both[0] == both[1] else predicted)
    return with_model(platform, machine.draws)


def tables_of(tables: Tables, *, is_one_row: bool) -> Any:
    every = {cap: table_of(by_app, is_one_row=is_one_row) for cap, by_app in sorted(tables.items())}
    return every[inf] if len(every) == 1 else every


def table_of(by_app: dict[str, Row], *, is_one_row: bool) -> hs.VariationTable:
    by_app = {"*": by_app[APPS[0]]} if is_one_row else by_app
    watts, factors = (np.array([row[k] for row in by_app.values()]) for k in (0, 1))
    return hs.VariationTable(list(by_app), power_w=watts, time_ratio=factors)


def with_model(platform: hs.Platform, draws: Draws) -> hs.Platform:
    if draws.model is None:
        return platform
    return platform.with_cap_model(**{name: value for name, value in vars(draws.model).items() if value is not None})


def events_of(machine: Machine) -> hs.Events | None:
    kinds = {"failed": "node_failed", "repaired": "node_repaired"}
    rows = [
        {
            "time_s": told(one.time),
            "kind": kinds.get(one.kind, one.kind),
            "node": None if one.kind == "cancel" else one.about,
            "job_id": one.about if one.kind == "cancel" else None,
            "until_s": told(one.until) if one.kind == "maintenance" else None,
            "announced_s": told(one.announced) if one.kind == "maintenance" and one.announced > -inf else None,
        }
        for one in machine.world
    ]
    power = () if machine.power is None else machine.power.rows
    rows += [
        {
            "time_s": told(row.time),
            "kind": "budget",
            "value": row.value_w,
            "until_s": told(row.until),
            "announced_s": told(row.announced),
        }
        for row in power
    ]
    schema = {
        "time_s": pl.Float64,
        "kind": pl.String,
        "value": pl.Float64,
        "node": pl.Int64,
        "job_id": pl.Int64,
        "until_s": pl.Float64,
        "announced_s": pl.Float64,
    }
    return hs.Events.from_polars(pl.DataFrame(rows, schema=schema)) if rows else None


class Believer:
    """An analyzer that is right about run times, and about nothing else."""

    def __init__(self, draws: Draws, jobs: list[Job]) -> None:
        self._runtime_s = {job.row: job.runtime / SECOND for job in jobs}
        self._draw_w = drawn_w(draws.predicted)
        assert draws.believed is not None
        self._bound_ratio = draws.believed.bound

    def estimate(self, jobs: Any, view: Any) -> list[float]:
        return [self._runtime_s[job_id] for job_id in jobs.job_id]

    def draws(self, jobs: Any, view: Any) -> list[float]:
        return [self._draw_w[view.apps[app]] for app in jobs.app]

    def bound_ratios(self, jobs: Any, view: Any) -> list[float]:
        return [self._bound_ratio(view.apps[app]) for app in jobs.app]


class Resizer:
    """The sizing of the reference machine, as an object in its role."""

    def __init__(self, machine: Machine) -> None:
        assert machine.sizing is not None
        self._sizing, self._hungriest_w = machine.sizing, hungriest_w(machine)

    def sizes(self, queue: Any, watts: float, view: Any) -> Any:
        return queue.node_count

    def resizes(self, runs: Any, watts: float, view: Any) -> Any:
        columns = (runs.job_id, runs.node_count, runs.min_nodes, runs.max_nodes)
        rows = [Run(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
        growth = growth_within(watts, self._hungriest_w)
        return self._sizing.wanted(round(view.now_s * SECOND), rows, len(view.free), growth)


def drawn_w(tables: Tables) -> dict[str, float]:
    """Watts by application, where nodes are alike."""
    return {app: watts[0] for app, (watts, _) in tables[inf].items()}


def policy_of(machine: Machine, jobs: list[Job], sleep: Any = "timeout") -> hs.Policy:
    """Under the sleep part of that name, or under one of one's own."""
    depth = "unbounded" if machine.depth == inf else machine.depth
    rest = machine.sleep and ({"name": sleep, **machine.sleep.part} if isinstance(sleep, str) else sleep)
    order: Any = machine.order
    if order == "fair-share":
        half_life_s = "none" if machine.half_life == inf else machine.half_life / SECOND
        order = {"name": order, "half_life_s": half_life_s, "by": machine.by}
    if machine.vahrm is not None:
        order = order_of(machine.vahrm)
    parts: dict[str, Any] = {"power": machine.power and part_of(machine.power.rules), "sleep": rest}
    if machine.draws.believed is not None:
        parts["analyzer"] = Believer(machine.draws, jobs)
    if not machine.plan:
        by_name = {None: "none", 0: "first-fit"}.get(machine.depth)
        candidates = {} if machine.candidates is None else {"order": machine.candidates}
        backfill: Any = by_name or {"name": "reservations", "depth": depth, **candidates}
        if machine.patience is not None:
            patience_s = "none" if machine.patience == inf else machine.patience / SECOND
            backfill = {"name": "patience", "patience_s": patience_s, "depth": depth}
        if machine.sizing is not None:
            backfill = {"name": backfill} if isinstance(backfill, str) else backfill
            backfill["sizing"] = Resizer(machine)
        placement = "assignment" if machine.matches else "lowest-power" if machine.by_power else "lowest-id"
        return hs.Policy(order, backfill, placement, **parts)
    plan: dict[str, Any] = {
        "name": "plan",
        "depth": depth,
        "horizon_s": machine.horizon // SECOND,
        "interval_s": machine.interval // SECOND,
        "order": machine.candidates or "policy",
    }
    return hs.Policy(order, plan, **parts)


def order_of(vahrm: Vahrm) -> dict[str, Any]:
    ratio, limit = vahrm.profiling_ratio, vahrm.starvation_limit
    return {
        "name": "vahrm",
        "beta": vahrm.beta,
        "length": "walltime" if vahrm.by_walltime else "runtime",
        "starvation_limit_s": "none" if limit == inf else limit / SECOND,
        "first_run": ratio is not None,
        "profiling_ratio": ratio or 1.05,
    }


@dataclass
class Inputs:
    """Arguments of the engine."""

    workload: hs.Workload
    platform: hs.Platform
    events: hs.Events | None


def inputs_of(machine: Machine, jobs: list[Job]) -> Inputs:
    if not machine.draws.idle_w:
        machine.draws, machine.down_w = flat(machine.nodes, IDLE_W, BUSY_W, APPS), DOWN_W
    return Inputs(workload_of(machine, jobs), platform_of(machine, jobs), events_of(machine))


def run(machine: Machine, jobs: list[Job], sleep: Any = "timeout", *, inputs: Inputs | None = None) -> hs.Result:
    inputs = inputs or inputs_of(machine, jobs)
    return hs.simulate(
        inputs.workload,
        inputs.platform,
        policy_of(machine, jobs, sleep),
        events=inputs.events,
        on_failure="requeue" if machine.requeue else "fail",
        kill_at_walltime=machine.kill,
    )
