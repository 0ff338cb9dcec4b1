"""A first-come-first-served controller and a journal, so small that what is tested is what stands around them."""

import errno
import json
import os
import zlib

from hetsched.live.decisions import Start, decision_of
from hetsched.live.notices import Ended, Requeued, StartFailed, Submitted, notice_of
from hetsched.live.points import is_armed, point
from hetsched.live.seams import Instant


class FirstCome:
    """Starts jobs in the order of their submission, each on the free nodes with the lowest numbers."""

    next_us = None

    def __init__(self, nodes, sizes):
        self.sizes = sizes
        self.free = set(range(nodes))
        self.queue = []
        self.held = {}
        self.attempts = {}
        self.number = 0

    def step(self, t_us, notices, *, within_s=None):
        for notice in notices:
            match notice:
                case Submitted(job=job):
                    self.queue.append(job)
                case Ended(job=job):
                    self.free |= set(self.held.pop(job))
                case StartFailed(job=job):
                    self.free |= set(self.held.pop(job))
                    self.queue.insert(0, job)
                case Requeued(job=job):
                    self.queue.insert(0, job)
        return list(self._starts())

    def _starts(self):
        while self.queue and self.sizes[self.queue[0]] <= len(self.free):
            job = self.queue.pop(0)
            nodes = tuple(sorted(self.free)[: self.sizes[job]])
            self.free -= set(nodes)
            self.held[job] = nodes
            self.attempts[job] = self.attempts.get(job, 0) + 1
            self.number += 1
            yield Start(job, self.attempts[job], nodes, number=self.number)


class Lines:
    """A line an instant, with its CRC in front, on the disk before `append` is over."""

    def __init__(self, path):
        self.path = path

    def append(self, instant, real):
        words = {name: [one.to_json() for one in getattr(instant, name)] for name in ("notices", "decisions")}
        text = json.dumps({"t_us": instant.t_us, "real": real, **words})
        line = f"{zlib.crc32(text.encode()):08x} {text}\n".encode()
        point("journal")
        with open(self.path, "ab", buffering=0) as file:
            end = file.seek(0, os.SEEK_END)
            try:
                if is_armed("journal.torn"):
                    file.write(line[: len(line) // 2])
                    point("journal.torn")
                if file.write(line) < len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fdatasync(file.fileno())
            except OSError:
                file.truncate(end)
                raise
        point("journal.written")

    def instants(self):
        found, end = [], 0
        with open(self.path, "ab+") as file:
            file.seek(0)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                assert int(line[:8], 16) == zlib.crc32(line[9:-1])
                one = json.loads(line[9:])
                heard = [notice_of(value) for value in one["notices"]]
                found.append(Instant(one["t_us"], heard, [decision_of(value) for value in one["decisions"]]))
                end += len(line)
            file.truncate(end)
        return found
