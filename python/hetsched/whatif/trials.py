"""Runs of settings: checked before the first, made side by side, each once, and kept as they finish."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from hetsched.checks import Faults
from hetsched.engine import engine
from hetsched.errors import ConfigError
from hetsched.files import json_sha256
from hetsched.many.axes import check_portable, on_clock_of
from hetsched.many.carried import inputs_folder, remove_inputs
from hetsched.many.executors import Where, executor_of
from hetsched.many.many import many
from hetsched.many.processes import Processes
from hetsched.many.spec import (
    Spec,
    belief_of,
    deciding,
    platform_sha256,
    read_workload,
    run_key,
    write_platform,
    write_workload,
)
from hetsched.many.store import Store
from hetsched.platform import Platform
from hetsched.run.concerns import Concern
from hetsched.run.options import RunOptions
from hetsched.run.outcome import origin_of
from hetsched.run.simulation import Run, run_of
from hetsched.whatif.paired import Answer, Jobs, answer_of, jobs_at
from hetsched.whatif.settings import Setting, checked
from hetsched.workload import Workload

JOURNAL = "whatif.jsonl"
"""Finished runs, in the folder of a call."""


@dataclass(frozen=True)
class Trial(Spec):
    """A run of a setting as plain values; the part of its result that is kept is held against today's jobs."""

    title: str = ""
    today_file: str = ""

    @property
    def names(self) -> dict[str, Any]:
        """The setting in words."""
        return {"setting": self.title}

    @property
    def files(self) -> tuple[str, ...]:
        """The files that it reads."""
        return *super().files, self.today_file

    def __str__(self) -> str:
        return self.title

    def execute(self) -> dict[str, Any]:
        """The part of its result that a row needs."""
        options = RunOptions(seed=self.seed, **self.options)
        return answer_of(run_of(*self._inputs(), options).execute(), jobs_at(self.today_file))


@dataclass(frozen=True)
class Trials:
    """Settings of one workload, today's first, and where and how their runs are made."""

    workload: Workload
    settings: Sequence[Setting]
    folder: Path | None = None
    executor: Where = None
    workers: int | None = None

    @cached_property
    def options(self) -> list[RunOptions]:
        """Each setting's options, with dates and racks resolved."""
        known: dict[tuple[int, int], RunOptions] = {}
        for one in self.settings:
            where = (id(one.options), id(one.platform))
            if where not in known:
                known[where] = on_clock_of(one.options, self.workload, one.platform)
        return [known[id(one.options), id(one.platform)] for one in self.settings]

    @cached_property
    def keys(self) -> list[str]:
        """Sha256 over everything that decides the kept part of each setting's run; equal settings have one."""
        platforms = {id(one.platform): platform_sha256(one.platform) for one in self.settings}
        beliefs: dict[tuple[str, int], Sequence[str | None]] = {}
        found = []
        for setting, own in zip(self.settings, self.options, strict=True):
            sha256 = platforms[id(setting.platform)]
            where = (sha256, id(own.predictor))
            if where not in beliefs:
                beliefs[where] = belief_of(self.workload, setting.platform, own)
            decides = deciding(own.under(setting.policy))
            found.append(
                run_key(self.workload, sha256, setting.policy, own.seed, options=decides, belief=beliefs[where])
            )
        return [json_sha256([key, found[0]]) for key in found]

    @property
    def provenance(self) -> dict[str, Any]:
        """Ingredients of today's run."""
        today = self.settings[0]
        return origin_of(run_of(self.workload, today.platform, today.policy, self.options[0]))

    def check(self, faults: Faults) -> list[Concern]:
        """Set up every setting and stop before the first job; notes what is wrong, gives what looks wrong.

        Every machine, policy and set of options meets all jobs once, every combination of them a job.
        """
        concerns: list[Concern] = []
        seen: set[int] = set()
        first = self.workload.head(1)

        def set_up(setting: Setting) -> None:
            _check_numbers(setting, self.settings[0])
            things = {id(setting.platform), id(setting.policy), id(setting.options)}
            is_new = not things <= seen
            seen.update(things)
            jobs = self.workload if is_new else first
            options = setting.options if is_new else replace(setting.options, predictor=None)
            run = run_of(jobs, setting.platform, setting.policy, options)
            run.stop_before()
            if is_new:
                concerns.extend(_more_concerns(run, setting, concerns))

        checked(self.settings, set_up, faults)
        return concerns

    def answers(self, tell: Callable[[int, int], object]) -> list[Answer]:
        """The kept part of each setting's run: from the folder, or run and kept there."""
        with ExitStack() as stack:
            store = None
            if self.folder is not None:
                store = stack.enter_context(Store(self.folder, JOURNAL, field="answer", by="what-if"))
                remove_inputs(self.folder)
            known = {} if store is None else {key: store.answers[key] for key in self.keys if key in store.answers}
            found = {key: _read(content, store, key) for key, content in known.items()}
            rows = Counter(self.keys)
            done = sum(rows[key] for key in found)
            tell(done, len(self.keys))
            if len(found) < len(rows):
                with closing(self._run(found, store)) as finished:
                    for key, content in finished:
                        found[key] = Answer.of(content)
                        done += rows[key]
                        tell(done, len(self.keys))
        return [found[key] for key in self.keys]

    def _run(self, found: Mapping[str, Answer], store: Store | None) -> Generator[tuple[str, Any], None, None]:
        """Run what is missing, today's first: its jobs are what the others' are held against."""
        first = {key: place for place, key in reversed(list(enumerate(self.keys)))}
        missing = [place for key, place in first.items() if key not in found]
        others = sorted(
            (place for place in missing if place), key=lambda place: (id(self.settings[place].platform), place)
        )
        with ExitStack() as stack:
            platforms: list[Platform] = [one.platform for one in self.settings]
            chosen = stack.enter_context(
                executor_of(self.executor, self.workers, max(len(others), 1), [self.workload], platforms)
            )
            inputs = stack.enter_context(inputs_folder(self.folder))
            today_file = (
                inputs if self.folder is None else self.folder.absolute()
            ) / f"today-{self.keys[0][:16]}.arrow"
            trials = [self._trial(place, inputs, today_file) for place in (0, *others)]
            if chosen is not None:
                policies = {self.settings[place].title: self.settings[place].policy for place in others}
                check_portable(policies)
            if isinstance(chosen, Processes):
                for _ in range(min(len(others), self.workers or os.cpu_count() or 1)):
                    chosen.submit(_warm_up, trials[0].workload_file, trials[0].workload)
            if 0 in missing or not today_file.exists():
                content = self._run_today(today_file)
                if 0 in missing and store is not None:
                    store.add(trials[0], content)
                if 0 in missing:
                    yield self.keys[0], content
            with closing(many(trials[1:], executor=chosen, store=store, place=str)) as finished:
                for trial, content in finished:
                    yield trial.key, content

    def _run_today(self, file: Path) -> dict[str, Any]:
        """Today's run, in this process; its jobs are written for the others."""
        today = self.settings[0]
        result = run_of(self.workload, today.platform, today.policy, self.options[0]).execute()
        Jobs.of(result).write(file)
        return answer_of(result, jobs_at(str(file)))

    def _trial(self, place: int, inputs: Path, today_file: Path) -> Trial:
        setting, options = self.settings[place], self.options[place]
        return Trial(
            workload=self.workload.source,
            platform="",
            policy=setting.policy.name,
            seed=options.seed,
            key=self.keys[place],
            workload_file=write_workload(self.workload, inputs),
            platform_file=write_platform(setting.platform, inputs),
            composition=setting.policy if setting.policy.own else setting.policy.to_dict(),
            options={name: value for name, value in vars(options).items() if name != "seed"},
            engine=engine().package,
            title=setting.title,
            today_file=str(today_file),
        )


def _warm_up(workload_file: str, name: str) -> None:
    """Have a process import what it needs and read the jobs while today's run is being made."""
    read_workload(workload_file, name)


def _read(content: Any, store: Store | None, key: str) -> Answer:
    try:
        return Answer.of(content)
    except (TypeError, KeyError, ValueError, AttributeError):
        assert store is not None
        raise store.malformed(key) from None


def _more_concerns(run: Run, setting: Setting, known: Sequence[Concern]) -> Iterator[Concern]:
    """Concerns about a setting's run that nothing before it has had, with the setting before them."""
    kinds = {one.category for one in known}
    for one in run.concerns:
        if not setting.row:
            yield one
        elif one.category not in kinds:
            yield replace(one, about=f"{setting.title}: {one.about}")


def _check_numbers(setting: Setting, today: Setting) -> None:
    """Refuse events on nodes by number where the nodes of several classes are numbered in another way than today's."""
    counts = [[one.count for one in own.platform.classes] for own in (setting, today)]
    events = setting.options.events
    if events is None or counts[0][:-1] == counts[1][:-1]:
        return
    if events.to_polars()["node"].null_count() < len(events):
        expected = "events by rack, or nodes added to the last class: others get other numbers"
        raise ConfigError([("events", "nodes by number", expected)])
