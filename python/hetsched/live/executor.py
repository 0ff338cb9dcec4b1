"""The loop of a live run: events become notices, a controller decides, decisions are written down and carried out.

An instant is one line of the journal, on the disk before anything of it is carried out. So whatever kills this process,
another one reads the journal, asks the controller the same, finds the jobs as they are, and goes on.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from errno import EDQUOT, ENOSPC

from hetsched.checks import many
from hetsched.errors import HetschedError, LiveError
from hetsched.live import decisions as do
from hetsched.live import notices as heard
from hetsched.live.allocation import Question, end_of, is_end_of_another
from hetsched.live.clock import Clock, real_s
from hetsched.live.decisions import Decision
from hetsched.live.hands import RETRY_S, Hands, Run
from hetsched.live.notices import Notice
from hetsched.live.orphans import PERIOD_S
from hetsched.live.points import point
from hetsched.live.requests import WAKING, asked_to_cancel, forget_cancel
from hetsched.live.seams import Book, Decider, Instant, Line
from hetsched.live.snapshot import Snapshot
from hetsched.live.states import Ending, killed_for
from hetsched.live.truth import of_nodes, true_state
from hetsched.policy import Policy

_MOST_ERRORS = 10
_AFTER_ERROR_S = 1.0
_MOST_STRAYS = 3
"""Times in a row that a controller begins again as it takes the machine for another."""

LONGEST_STEP_S = 5.0
"""Seconds after which a step is broken off."""


class Executor:
    """A live run: jobs that are submitted in time, a controller, and hands."""

    def __init__(
        self,
        controller: Decider,
        book: Book,
        hands: Hands,
        submits: Iterable[tuple[int, int]],
        *,
        clock: Clock,
        requeues_lost: bool = False,
        acts_caps: bool = False,
        fallback: Policy | None = None,
        decide_within_s: float = 0.05,
        longest_step_s: float = LONGEST_STEP_S,
        longest_wait_s: float = 3600.0,
        tell: Callable[[Executor], object] = lambda _: None,
        say: Callable[[str], object] = lambda _: None,
    ) -> None:
        self.controller = controller
        self.book = book
        self.hands = hands
        self.clock = clock
        self.requeues_lost = requeues_lost
        self.states: dict[int, str] = {}
        """Jobs that are over, each with its state."""
        self.running: dict[int, Run] = {}
        """Runs that the controller takes for running, by job."""
        self.interrupts = 0
        self._looks = True
        """True if there may be requests."""
        self.is_cut_off = False
        """True once the nodes are not there any more: the end of an allocation."""
        self._has_parted = self._is_killing = self._is_doubtful = False
        self._question: Question | None = None
        """The question whether the nodes are still there, while it is open."""
        self._down: dict[int, str] = {}
        self._submits = sorted(submits)
        self._submitted = 0
        self._last_us = -1
        self._found: list[Notice] = []
        self._kept: list[Notice] = []
        """Notices of a step that failed, which the next one is given again."""
        self._unwritten: Instant | None = None
        self._write_after = self._step_after = 0.0
        self._failed_writes = 0
        self._strayed = self._broken_off = 0
        """Times since the last step that the controller took the machine for another."""
        self.errors_in_row = 0
        """Steps since the last that the policy decided."""
        self._fallback, self._acts_caps = fallback, acts_caps
        self._standing: set[tuple[int, int]] = set()
        """Runs that are suspended."""
        self._decide_within_s = decide_within_s
        self._longest_step_s = longest_step_s
        self._was_slow = self._is_impatient = self._was_capped = False
        self._longest_wait_s = longest_wait_s
        self._tell = tell
        self._say = say

    # The loop.

    def run(self) -> bool:
        """Run until all jobs are over, or nothing can be done for those that are not; False if interrupted before."""
        with self._heard() as woken:
            while not self._is_over():
                self._heed()
                self._heed_requests()
                if self._unwritten is not None:
                    self._write()
                    if self.interrupts:
                        # What runs is waited for, though it cannot be written down.
                        self._collect()
                else:
                    self._collect()
                    notices = self._due()
                    if notices:
                        self._step(notices)
                self.hands.launch_due()
                self._report()
                if not self._is_over():
                    self._wait(woken)
        return not self.interrupts and (not self.is_cut_off or len(self.states) == len(self._submits))

    @property
    def _is_closing(self) -> bool:
        """True if nothing is to start any more."""
        return self.interrupts > 0 or self.is_cut_off

    @property
    def waiting(self) -> int:
        """Jobs that were submitted, do not run, and are not over."""
        return self._submitted - len(self.states) - len(self.running)

    @property
    def jobs(self) -> int:
        """All jobs."""
        return len(self._submits)

    def _is_over(self) -> bool:
        if self.hands.live or self._question is not None:
            return False
        if self._unwritten is not None:
            # What is not in the journal has not happened: it is found again when the run goes on.
            return self.interrupts > 0 and self._failed_writes > 1
        if self._is_closing and self._kept:
            # Nothing starts, and what the policy could not be given yet is found again when the run goes on.
            return True
        if self._found or self._kept:
            return False
        if self._is_closing:
            return bool(self.interrupts) or self._has_parted
        is_idle = self._submitted == len(self._submits) and not self.hands.queue
        return is_idle and (len(self.states) == len(self._submits) or self.controller.next_us is None)

    def _collect(self) -> None:
        ended = list(self.hands.ended())
        for run, ending in ended:
            self._end(run, ending)
        is_doubtful = any(ending is None or ending.state == "failed" for _, ending in ended)
        if self._has_lost_nodes(is_doubtful=is_doubtful):
            self.is_cut_off = self.hands.is_held = True
            self._say(f"{self._end_of_nodes}: no more starts, and what runs is ended")
            self.hands.end_all("failed")
        if self.is_cut_off and not self._has_parted and not self.hands.live:
            self._part()

    def _has_lost_nodes(self, *, is_doubtful: bool) -> bool:
        """True once it is known that the nodes are gone.

        A failed job raises the question. While it is open nothing starts, and nobody waits for the answer.
        """
        self._is_doubtful |= is_doubtful and not self.is_cut_off
        if self._question is None and self._is_doubtful:
            self._question, self._is_doubtful = self.hands.launcher.question(), False
        answer = None if self._question is None else self._question.answer()
        if answer is not None:
            self._question = None
        self.hands.is_paused = self._question is not None
        return bool(answer)

    @property
    def _end_of_nodes(self) -> str:
        return end_of(self.hands.launcher.nodes.allocation)

    def _part(self) -> None:
        """Take leave of nodes that are not there any more: runs that were not launched yet wait again."""
        self._has_parted = True
        for run in self.hands.queue:
            if self.running.get(run.job) is run:
                del self.running[run.job]
                self._found.append(heard.StartFailed(run.job, run.attempt, self._end_of_nodes))
        self.hands.queue.clear()
        nodes = range(len(self.hands.launcher.nodes))
        self._found += [heard.NodeDown(node, self._end_of_nodes) for node in nodes]

    def _due(self) -> list[Notice]:
        """Notices that are to be given now: those of a step that failed first."""
        now = self.clock.t_us
        if time.monotonic() < self._step_after and not (self._is_impatient and self._is_news(now)):
            return []
        notices, self._kept, self._found = [*self._kept, *self._found], [], []
        while self._is_submission_due(now):
            notices.append(heard.Submitted(self._submits[self._submitted][1]))
            self._submitted += 1
            self._looks = True
        next_us = self.controller.next_us
        if not notices and not self._is_closing and next_us is not None and next_us <= now:
            notices.append(heard.Tick())
        return notices

    def _is_news(self, now: int) -> bool:
        """True if there is a notice that the last step did not have."""
        return bool(self._found) or self._is_submission_due(now)

    def _is_submission_due(self, now: int) -> bool:
        return (
            not self._is_closing and self._submitted < len(self._submits) and self._submits[self._submitted][0] <= now
        )

    def _step(self, notices: list[Notice]) -> None:
        t_us = max(self.clock.t_us, self._last_us + 1)
        begin = time.monotonic()
        try:
            point("run.step")
            decisions = self.controller.step(t_us, notices, within_s=self._longest_step_s)
        except LiveError as error:
            self._begin_again(t_us, notices, error)
            return
        except Exception as error:  # noqa: BLE001 -- a policy may be anybody's; what runs goes on whatever it raises
            self._refused(t_us, notices, error)
            return
        self.errors_in_row = self._strayed = 0
        took_s = time.monotonic() - begin
        self._note_slowness(t_us, took_s)
        point("run.decided")
        self._unwritten = Instant(t_us, notices, decisions, round(took_s * 1e6), self._broken_off)
        self._broken_off = 0
        self._write()

    def _note_slowness(self, t_us: int, took_s: float) -> None:
        if took_s > self._decide_within_s and not self._was_slow:
            self._was_slow = True
            took = f"at {t_us / 1e6:.3f} s the policy took {took_s * 1e3:,.0f} ms"
            self._say(f"{took}, more than {self._decide_within_s * 1e3:g} ms; further steps like it are only counted")

    def _refused(self, t_us: int, notices: list[Notice], error: Exception) -> None:
        """Keep what has happened for the next step: of one in which a policy fails nothing has taken place."""
        self.errors_in_row += 1
        patient = self.errors_in_row > _MOST_ERRORS
        self._kept = notices
        # A step that was broken off is tried again with the next notice; others may come no more.
        self._is_impatient = isinstance(error, TimeoutError)
        self._broken_off += self._is_impatient
        self._step_after = time.monotonic() + (RETRY_S if patient or self._is_impatient else _AFTER_ERROR_S)
        if self.errors_in_row <= _MOST_ERRORS + 1:
            self._say(f"at {t_us / 1e6:.3f} s the policy failed, and nothing starts: {type(error).__name__}: {error}")
            if patient:
                self._say(f"it failed {self.errors_in_row} times in a row: asked every {RETRY_S:g} s from now on")
        if self._fallback is not None and self.errors_in_row >= _MOST_ERRORS:
            self._go_over(self._fallback)

    def _begin_again(self, t_us: int, notices: list[Notice], error: LiveError) -> None:
        """Let the controller begin again with what is true: a notice cannot be, of the machine as it takes it."""
        self._strayed += 1
        if self._strayed > _MOST_STRAYS:
            raise error
        self._say(f"at {t_us / 1e6:.3f} s: {error}; the controller begins again with what runs and waits")
        taken, state = self.controller.snapshot(), self.controller.policy_state()
        jobs = [job for _, job in self._submits[: self._submitted]]
        snapshot = true_state(taken, jobs, self.states, self.running, t_us)
        self.controller.rebuild(t_us, snapshot, state=state)
        # Jobs are as the state has them. What was said of nodes is said once more, unless that is what cannot be.
        self._found += self._unknown_to(snapshot) + (of_nodes(notices) if self._strayed == 1 else [])
        self._found = self._found or [heard.Tick()]
        self._unwritten = Instant(t_us, broken_off=self._broken_off, snapshot=snapshot, state=state)
        self._broken_off = 0
        self._write()

    def _go_over(self, policy: Policy) -> None:
        """Let another policy decide from now on, with everything as the last one left it."""
        self._fallback = None
        t_us, snapshot = max(self.clock.t_us, self._last_us + 1), self.controller.snapshot()
        try:
            self.controller.rebuild(t_us, snapshot, policy=policy)
        except HetschedError as error:
            self._say(f"it failed {self.errors_in_row} times in a row, and {policy.name} cannot take over: {error}")
            return
        self._say(f"it failed {self.errors_in_row} times in a row: {policy.name} decides from now on")
        self.errors_in_row, self._step_after = 0, 0.0
        self._found += self._unknown_to(snapshot)
        self._unwritten = Instant(t_us, broken_off=self._broken_off, snapshot=snapshot, policy=policy)
        self._broken_off = 0
        self._write()

    def _unknown_to(self, snapshot: Snapshot) -> list[Notice]:
        """Submissions of jobs that a state leaves out, as they wait for others; but not those yet to be given."""
        known = {*self.states, *(one.job for one in snapshot.waiting), *(one.job for one in snapshot.running)}
        known |= {one.job for one in snapshot.over} | set(snapshot.held)
        known |= {notice.job for notice in self._kept if isinstance(notice, heard.Submitted)}
        jobs = [job for _, job in self._submits[: self._submitted]]
        return [heard.Submitted(job) for job in jobs if job not in known]

    def _write(self) -> None:
        """Bring the last instant to the disk, and carry it out; on a full disk nothing is started until it is there."""
        if time.monotonic() < self._write_after:
            return
        instant = self._unwritten
        assert instant is not None
        try:
            self.book.append(instant, real_s())
        except OSError as error:
            if error.errno not in (ENOSPC, EDQUOT):
                raise
            self._say(f"the journal cannot be written: {error.strerror}; nothing starts, tried again in {RETRY_S:g} s")
            self._write_after = time.monotonic() + RETRY_S
            self._failed_writes += 1
            return
        self._unwritten, self._last_us, self._failed_writes = None, instant.t_us, 0
        if instant.snapshot is not None:
            self._let_all_go_on()
        for decision in instant.decisions:
            self._carry_out(decision)

    def _let_all_go_on(self) -> None:
        """Let suspended runs go on: to the policy that takes over they run."""
        for job, attempt in self._standing:
            self.hands.signal_shim(job, attempt, signal.SIGUSR2)
        self._standing.clear()

    # What is asked for from another shell.

    def _heed_requests(self) -> None:
        """Cancel the jobs that somebody wants to be cancelled; a request stays until it is in the journal."""
        if not self._looks or self._unwritten is not None:
            return
        self._looks = False
        for job in asked_to_cancel(self.hands.folder):
            if job not in self.states:
                self._cancel(job)
            elif not self._found and not self._kept:
                forget_cancel(self.hands.folder, job)
            self._looks |= job in self.states and bool(self._found or self._kept)

    def _cancel(self, job: int) -> None:
        run = self.running.get(job)
        if run is not None and run in self.hands.queue:
            self.hands.end(job, run.attempt, "cancelled")
            del self.running[job]
            self.states[job] = "cancelled"
            self._found.append(heard.Ended(job, run.attempt, "cancelled"))
        elif run is not None:
            self.hands.end(job, run.attempt, "cancelled")
        elif job in {known for _, known in self._submits[: self._submitted]}:
            self.states[job] = "cancelled"
            self._found.append(heard.Withdrawn(job))

    def run_again(self, states: Collection[str]) -> int:
        """Let the jobs wait once more that ended in one of these states; gives their number."""
        again = [job for job, state in self.states.items() if state in states]
        for job in again:
            del self.states[job]
            self._found.append(heard.Requeued(job))
        return len(again)

    # What happens.

    def _end(self, run: Run, ending: Ending | None) -> None:
        """Report the end of a run, unless it was decided: then the controller has counted it already."""
        self._looks = True
        if self.running.get(run.job) is run:
            del self.running[run.job]
            if ending is None:
                self._found.append(heard.StartFailed(run.job, run.attempt, "its shim died before the command ran"))
            elif ending.end_us is None and self.requeues_lost and ending.state == "failed":
                # It is over, and waits again.
                self._found += [heard.Ended(run.job, run.attempt, ending.state), heard.Requeued(run.job)]
            else:
                self.states[run.job] = ending.state
                self._found.append(heard.Ended(run.job, run.attempt, ending.state))
        if ending is not None and ending.left:
            why = f"{ending.left} processes of job {run.job} cannot be killed"
            self._say(f"nodes {', '.join(map(str, run.nodes))} are down: {why}")
            self._found += [heard.NodeDown(node, why) for node in run.nodes]

    # What is decided.

    def _carry_out(self, decision: Decision) -> None:
        match decision:
            case do.Start(job=job, attempt=attempt, nodes=nodes, cap_w=cap_w):
                self._note_cap(cap_w)
                self.running[job] = Run(job, attempt, tuple(nodes), cap_w, cap_w)
                self.hands.start(self.running[job])
            case do.Cap(job=job, watts_a_node=cap_w):
                self._note_cap(cap_w)
                if job in self.running:
                    self.running[job].capped_w = cap_w
            case do.Reject(job=job):
                self.states[job] = "rejected"
            case do.Kill(job=job, attempt=attempt, why=why):
                self.running.pop(job, None)
                self.states[job], _ = killed_for(why)
                self.hands.end(job, attempt, self.states[job])
            case do.Requeue(job=job, attempt=attempt):
                self.running.pop(job, None)
                self.hands.end(job, attempt, "requeued")
            case do.Suspend(job=job, attempt=attempt):
                self._standing.add((job, attempt))
                self.hands.signal_shim(job, attempt, signal.SIGUSR1)
            case do.Resume(job=job, attempt=attempt):
                self._standing.discard((job, attempt))
                self.hands.signal_shim(job, attempt, signal.SIGUSR2)
            case do.Wake(nodes=nodes):
                # Nodes of one machine, and those of an allocation, are on.
                self._found.append(heard.NodeUp(tuple(nodes)))
            case do.Sleep(nodes=nodes):
                self._found.append(heard.NodeOff(tuple(nodes)))

    def _note_cap(self, cap_w: float | None) -> None:
        """Say once that a cap of the policy is none of the machine's."""
        if cap_w is not None and not self._was_capped and not self._acts_caps:
            self._was_capped = True
            self._say(
                "the policy caps nodes: without --act-caps no cap is set, a command finds that of its start in "
                "HETSCHED_CAP_W"
            )

    # After a start of this process.

    def restore(self, instants: Iterable[Line]) -> None:
        """Take over a run from its journal, whose instants the controller has been asked again."""
        ended: dict[tuple[int, int], Run] = {}
        stands: dict[tuple[int, int], int] = {}
        submitted: set[int] = set()
        for instant in instants:
            self._last_us = instant.t_us
            if instant.snapshot is not None:
                if instant.policy is not None:
                    self._fallback = None
                self._submitted = len(submitted)
                self._take(instant.snapshot)
                self._found += self._unknown_to(instant.snapshot)
                stands = dict.fromkeys(stands, signal.SIGUSR2)
            submitted |= {notice.job for notice in instant.notices if isinstance(notice, heard.Submitted)}
            for notice in instant.notices:
                self._recall(notice)
            for decision in instant.decisions:
                self._redo(decision, instant.t_us, ended, stands)
        self._submitted = len(submitted)
        self._standing = {key for key, number in stands.items() if number == signal.SIGUSR1}
        for run in [*ended.values(), *self.running.values()]:
            for gone, ending in self.hands.adopt(run):
                self._end(gone, ending)
        for (job, attempt), number in stands.items():
            self.hands.signal_shim(job, attempt, number)
        present = self.hands.launcher.nodes.allocation
        if back := tuple(node for node, why in self._down.items() if is_end_of_another(why, present)):
            self._found.append(heard.NodeUp(back))

    def _take(self, snapshot: Snapshot) -> None:
        """Take what a state says of jobs for true: of what had just happened then no line tells."""
        for one in snapshot.over:
            self.running.pop(one.job, None)
            self.states.setdefault(one.job, one.state)
        for waiting in snapshot.waiting:
            self.running.pop(waiting.job, None)

    def _recall(self, notice: Notice) -> None:
        match notice:
            case heard.Ended(job=job, attempt=attempt, state=state):
                if job in self.running and self.running[job].attempt == attempt:
                    del self.running[job]
                    self.states[job] = state
            case heard.StartFailed(job=job, attempt=attempt):
                if job in self.running and self.running[job].attempt == attempt:
                    del self.running[job]
            case heard.Requeued(job=job):
                self.states.pop(job, None)
            case heard.Withdrawn(job=job):
                self.states[job] = "cancelled"
            case heard.NodeDown(node=node, why=why):
                self._down[node] = why
            case heard.NodeUp() | heard.NodeOff() | heard.Submitted():
                if notice in self._found:
                    self._found.remove(notice)
                for node in notice.nodes if isinstance(notice, heard.NodeUp) else ():
                    self._down.pop(node, None)

    def _stood(self, job: int, number: int, t_us: int) -> None:
        """Note that a run stood still or went on at an instant, for its limit if its shim is not there any more."""
        if job in self.running:
            self.running[job].stood.note(number, self.clock.boot_us(t_us))

    def _redo(
        self,
        decision: Decision,
        t_us: int,
        ended: dict[tuple[int, int], Run],
        stands: dict[tuple[int, int], int],
    ) -> None:
        """Take a decision for carried out: runs are looked for later, among them those `ended` on purpose."""
        match decision:
            case do.Start(job=job, attempt=attempt, nodes=nodes, cap_w=cap_w):
                self.running[job] = Run(job, attempt, tuple(nodes), cap_w, cap_w)
            case do.Kill(job=job) | do.Requeue(job=job):
                run, state = self.running.pop(job, None), "requeued"
                if isinstance(decision, do.Kill):
                    state = self.states[job] = killed_for(decision.why)[0]
                if run is not None:
                    run.asked = state
                    ended[run.key] = run
            case do.Suspend(job=job, attempt=attempt):
                stands[job, attempt] = signal.SIGUSR1
                self._stood(job, signal.SIGUSR1, t_us)
            case do.Resume(job=job, attempt=attempt):
                stands[job, attempt] = signal.SIGUSR2
                self._stood(job, signal.SIGUSR2, t_us)
            case _:
                self._carry_out(decision)

    # Waiting.

    def _report(self) -> None:
        for trouble in self.hands.troubles:
            self._say(trouble)
        self.hands.troubles.clear()
        self._tell(self)

    def _wait(self, woken: int) -> None:
        """Wait until something may have happened."""
        poll = select.poll()
        for handle in (woken, *self.hands.handles):
            poll.register(handle, select.POLLIN)
        poll.poll(max(0.0, self._rest_s()) * 1e3)
        with suppress(BlockingIOError):
            os.read(woken, 4096)

    def _rest_s(self) -> float:
        now, rest = self.clock.t_us, [self._longest_wait_s]
        if (until := self.hands.wait_s) is not None:
            rest.append(until)
        if self._question is not None:
            rest.append(PERIOD_S)
        if self._unwritten is not None:
            return min(*rest, self._write_after - time.monotonic())
        after_s = self._step_after - time.monotonic()
        if after_s > 0:
            rest.append(after_s)
        elif self._found or self._kept:
            return 0.0
        if not self._is_closing and (after_s <= 0 or self._is_impatient):
            if self._submitted < len(self._submits):
                rest.append((self._submits[self._submitted][0] - now) / 1e6)
            if after_s <= 0 and self.controller.next_us is not None:
                rest.append((self.controller.next_us - now) / 1e6)
        return min(rest)

    @contextmanager
    def _heard(self) -> Iterator[int]:
        """Ctrl-C once: nothing starts any more; twice: what runs is ended. Gives what is readable after it."""
        out, into = os.pipe()
        os.set_blocking(out, False)
        os.set_blocking(into, False)
        before = signal.signal(signal.SIGINT, self._interrupted)
        asked = signal.signal(WAKING, self._asked)
        waking = signal.set_wakeup_fd(into, warn_on_full_buffer=False)
        try:
            yield out
        finally:
            signal.set_wakeup_fd(waking)
            signal.signal(signal.SIGINT, before)
            signal.signal(WAKING, asked)
            os.close(out)
            os.close(into)

    def _asked(self, *_: object) -> None:
        self._looks = True

    def _interrupted(self, *_: object) -> None:
        self.interrupts += 1

    def _heed(self) -> None:
        """Do what Ctrl-C asks for."""
        count = len(self.hands.live)
        if self.interrupts and not self.hands.is_held:
            self.hands.is_held = True
            rest = f"; waiting for {many(count, 'job')} to end (Ctrl-C again kills)" if count else ""
            self._say(f"no more starts{rest}")
        if self.interrupts > 1 and not self._is_killing:
            self._is_killing = True
            self._say(f"ending {many(count, 'job')}")
        if self._is_killing:
            self.hands.end_all("cancelled")
