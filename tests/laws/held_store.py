"""A store of answers that stands still once it has taken so many: whoever is to kill it then cannot come too late."""

import time

from hetsched.many.store import Store


def hold_after(lines):
    """Answers beyond so many are not taken, nor is the process ended by itself for an hour."""
    add, taken = Store.add, []

    def held(self, task, answer):
        if len(taken) == lines:
            time.sleep(3600)
            raise AssertionError("nobody has ended it")
        add(self, task, answer)
        taken.append(task)

    Store.add = held
