"""The hands of a bridge that acts: they keep the gate, and give orders to Slurm, a call a job."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hetsched.checks import one_line
from hetsched.errors import LiveError
from hetsched.slurm_bridge.calls import Slurm
from hetsched.slurm_bridge.gate import Gate
from hetsched.slurm_bridge.jobs import JobKey
from hetsched.slurm_bridge.log import Log
from hetsched.slurm_bridge.orders import Order, orders_of
from hetsched.slurm_bridge.picture import Picture
from hetsched.slurm_bridge.readings import Reading
from hetsched.slurm_bridge.standing import Site

MOST_CALLS = 20
"""Orders a beat; what is left is seen, and ordered, at the next one."""


class Hands:
    """The orders of a beat; nothing is repeated or undone by an exit code, as the next reading shows what happened."""

    def __init__(
        self, slurm: Slurm, gate: Gate, site: Site, names: Sequence[str], *, log: Log, say: Callable[[str], None]
    ) -> None:
        self._slurm, self._gate, self._site, self._names = slurm, gate, site, names
        self._log, self._say = log, say
        self._sent: dict[JobKey, int] = {}

    def beat(self, picture: Picture, reading: Reading) -> None:
        """Keep the gate and give the orders that follow; a call that fails is said."""
        self._sent = {key: attempt for key, attempt in self._sent.items() if key in picture.entries}
        try:
            self._gate.keep()
            for order in orders_of(picture, reading, self._site, self._names, self._sent)[:MOST_CALLS]:
                self._give(order)
        except LiveError as error:
            text = one_line(str(error))
            self._say(f"Slurm: {text}")
            self._log.write("error", where="call", error=text)

    def _give(self, order: Order) -> None:
        answer = self._slurm.call("scontrol", "update", *order.words)
        if order.attempt is not None:
            self._sent[order.key] = order.attempt
        call = ["scontrol", "update", *order.words]
        self._log.write("call", call=call, rc=answer.code, ms=round(1000 * answer.seconds, 1), job=order.key.id)
        if answer.code != 0:
            self._say(f"{'release' if order.is_release else 'hold'} of {order.key.id}: {answer.why}; read again")
        elif not order.is_release:
            self._say(f"{order.key.id} has its gate again")
