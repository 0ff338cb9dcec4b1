"""EASY backfilling as the textbook has it (Mu'alem & Feitelson 2001): a shadow time and extra nodes, no profile.

A second twin, independent of `plain_scheduler`: whole nodes, first come first served, one reservation. Times are whole
ticks. It answers each job's start, end and how it was started; None for a job larger than the machine.
"""

from __future__ import annotations

from collections.abc import Sequence

Answer = tuple[int, int, str] | None


def textbook_easy(
    jobs: Sequence[tuple[int, int, int, int | None]],
    nodes: int,
    *,
    kill_at_walltime: bool = True,
    shortest_first: bool = False,
) -> list[Answer]:
    """Schedules jobs given as (submit, runtime, node count, walltime or None) on so many nodes."""
    answers: list[Answer] = [None] * len(jobs)
    coming = sorted((submit, j) for j, (submit, _, size, _) in enumerate(jobs) if size <= nodes)
    instants_to_come = sorted({submit for submit, *_ in jobs})
    queue: list[int] = []
    running: dict[int, int] = {}  # job -> end
    free = nodes

    def planned_length(j: int) -> int:
        _, runtime, _, walltime = jobs[j]
        return runtime if walltime is None else walltime

    def start(j: int, now: int, how: str) -> None:
        nonlocal free
        _, runtime, size, walltime = jobs[j]
        length = min(runtime, walltime) if kill_at_walltime and walltime is not None else runtime
        answers[j] = (now, now + length, how)
        running[j] = now + length
        free -= size

    while instants_to_come or running:
        now = min([*instants_to_come[:1], *running.values()])
        for j in [j for j, end in running.items() if end == now]:
            free += jobs[j][2]
            del running[j]
        new = {j for submit, j in coming if submit == now} if now in instants_to_come[:1] else set()
        queue += sorted(new)
        instants_to_come = [instant for instant in instants_to_come if instant > now]

        while queue and jobs[queue[0]][2] <= free:
            start(queue[0], now, "immediate" if queue[0] in new else "reservation")
            queue.pop(0)
        if not queue:
            continue
        # When will the head have its nodes, if all running jobs end as planned, and how many are left over then?
        head_size = jobs[queue[0]][2]
        release = {j: max(now, answers[j][0] + planned_length(j)) for j in running}  # type: ignore[index]
        for shadow_time in sorted({now, *release.values()}):
            free_then = free + sum(jobs[j][2] for j in running if release[j] <= shadow_time)
            if free_then >= head_size:
                break
        extra = free_then - head_size
        for j in sorted(queue[1:], key=planned_length) if shortest_first else queue[1:]:
            size = jobs[j][2]
            ends_in_time = now + planned_length(j) <= shadow_time
            if size <= free and (ends_in_time or size <= extra):
                start(j, now, "backfill")
                if not ends_in_time:
                    extra -= size
        queue = [j for j in queue if j not in running]
    return answers
