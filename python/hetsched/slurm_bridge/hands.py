"""The hands of a bridge that acts: they keep the gate, and give orders to Slurm, one scontrol for all of a beat."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from hetsched.checks import one_line
from hetsched.errors import LiveError
from hetsched.live.points import point
from hetsched.slurm_bridge.calls import Answer, Slurm
from hetsched.slurm_bridge.gate import Gate
from hetsched.slurm_bridge.log import Log
from hetsched.slurm_bridge.orders import Order, orders_of
from hetsched.slurm_bridge.picture import Picture
from hetsched.slurm_bridge.power_cap import PowerCap
from hetsched.slurm_bridge.readings import Reading
from hetsched.slurm_bridge.sleepers import Sleepers
from hetsched.slurm_bridge.standing import JobKey, Site

MOST_ORDERS = 20
"""Orders a beat; what is left is seen, and ordered, at the next one."""

_REFUSAL = re.compile(r"(?P<why>.+) for job (?P<id>[0-9]+(_[0-9]+)?)")


class Hands:
    """The orders of a beat; nothing is repeated or undone by an exit code, as the next reading shows what happened."""

    def __init__(
        self,
        slurm: Slurm,
        gate: Gate,
        site: Site,
        names: Sequence[str],
        *,
        log: Log,
        say: Callable[[str], None],
        cap: PowerCap | None = None,
        named: bool = False,
        sleepers: Sleepers | None = None,
    ) -> None:
        self._slurm, self._gate, self._site, self._names = slurm, gate, site, names
        self._log, self._say, self._cap, self._named = log, say, cap, named
        self._sleepers = sleepers
        self._sent: dict[JobKey, int] = {}

    def beat(self, picture: Picture, reading: Reading) -> None:
        """Keep the gate and give the orders that follow; a call that fails is said."""
        self._sent = {key: attempt for key, attempt in self._sent.items() if key in picture.entries}
        try:
            self._gate.keep()
            if self._cap is not None:
                self._cap.keep()
            orders = orders_of(picture, reading, self._site, self._names, self._sent, named=self._named)[:MOST_ORDERS]
            if orders:
                self._give(orders)
            if self._sleepers is not None and (lines := self._sleepers.orders(picture, reading.nodes)):
                self._switch(lines)
        except LiveError as error:
            text = one_line(str(error))
            self._say(f"Slurm: {text}")
            self._log.write("error", where="call", error=text)

    def _switch(self, lines: Sequence[tuple[str, ...]]) -> None:
        answer = self._slurm.commands(lines)
        self._log.write("call", call=["scontrol"], nodes=lines, rc=answer.code, ms=round(1000 * answer.seconds, 1))
        for _, node, state in lines:
            self._say(f"{node.partition('=')[2]}: {state.partition('=')[2]}")
        if answer.code != 0:
            self._say(f"scontrol: {answer.why}; read again")

    def _give(self, orders: Sequence[Order]) -> None:
        releases = [order for order in orders if order.is_release]
        if releases:
            point("release.decided")
        answer = self._slurm.commands([("update", *order.words) for order in orders])
        if releases:
            point("release.sent")
        self._sent |= {order.key: order.attempt for order in releases if order.attempt is not None}
        refused = refusals(answer)
        given = [
            {
                "job": order.key.id,
                "words": order.words,
                "decision": order.decision,
                "refused": refused.get(order.key.id),
            }
            for order in orders
        ]
        self._log.write("call", call=["scontrol"], orders=given, rc=answer.code, ms=round(1000 * answer.seconds, 1))
        for order in orders:
            if (why := refused.get(order.key.id)) is not None:
                self._say(f"{'release' if order.is_release else 'hold'} of {order.key.id}: {why}; read again")
            elif not order.is_release:
                self._say(f"{order.key.id} has its gate again")
        if answer.code != 0 and not refused:
            self._say(f"scontrol: {answer.why}; read again")


def refusals(answer: Answer) -> Mapping[str, str]:
    r"""The reasons that scontrol gave, by the job that each names; other jobs may be refused as well.

    Examples
    --------
    >>> refusals(Answer(("scontrol",), 1, "", "Invalid job id specified for job 999\nfoo\n", 0.1))
    {'999': 'Invalid job id specified'}
    """
    found = (_REFUSAL.fullmatch(line.strip()) for line in answer.err.splitlines())
    return {one["id"]: one_line(one["why"], limit=200) for one in found if one is not None}
