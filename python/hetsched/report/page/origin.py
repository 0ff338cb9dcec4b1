"""`Origin`: log, machine, settings and hashes of a run, as a page says them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from hetsched.checks import many
from hetsched.policy.parts import puts_to_sleep
from hetsched.report.canvas import unix_zero
from hetsched.report.page import words
from hetsched.report.page.document import Grid

_MOST_KINDS = 4

NOT_MODELLED = (
    "Submits stay as the log has them: users who wait less or longer do not submit otherwise.",
    "Jobs do not slow each other down by the network, by file systems or by shared memory.",
)
"""Effects that no run models."""
_NODES_ALONE = "Cooling, losses of power supplies and the network draw nothing here: watts are those of nodes."
_AT_THE_METER = (
    "Cooling and losses are in energy at the meter, costs and carbon alone, by a PUE: watts are those of nodes."
)


@dataclass(frozen=True)
class Origin:
    """Ingredients of a run: its log, machine, policy and options.

    Parameters
    ----------
    provenance
        As `Result.provenance`, at least ``version, seed, policy, options, trace, platform, tables, report``.
    jobs
        Number of jobs, for the facts; None: not known.
    window
        Its first and last second on the log's clock; None: not known.
    """

    provenance: Mapping[str, Any]
    jobs: int | None = None
    window: tuple[float, float] | None = None

    @property
    def log(self) -> str:
        """Name of the log."""
        return str(self.provenance["trace"]["name"])

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return int(self.provenance["platform"]["nodes"])

    @property
    def unix_zero_s(self) -> float | None:
        """Date of second 0 of the log's clock; None: not known."""
        return None if self.window is None else unix_zero(self.provenance, self.window[0])

    def facts(self) -> Iterator[tuple[str, str]]:
        """Log, period, machine and draws."""
        classes = self.provenance["platform"]["classes"]
        yield "Log", self.log if self.jobs is None else f"{self.log}, {many(self.jobs, 'job')}"
        if self.window is not None:
            yield "Period", self._period(*self.window)
        kinds = "" if len(classes) == 1 else f" of {len(classes)} kinds"
        yield "Machine", f"{many(self.nodes, 'node')}{kinds}"
        pairs = sorted({f"{words.watts(own['idle_w'])} / {words.watts(own['tdp_w'])}" for own in classes})
        shown = ", ".join(pairs[:_MOST_KINDS]) + (", …" if len(pairs) > _MOST_KINDS else "")
        yield "Idle draw and TDP of a node", shown

    def _period(self, from_s: float, until_s: float) -> str:
        length, zero_s = words.length(until_s - from_s), self.unix_zero_s
        if zero_s is None:
            return length
        days = [datetime.fromtimestamp(at + zero_s, tz=timezone.utc) for at in (from_s, until_s)]
        return f"{days[0]:%d %b %Y} to {days[1]:%d %b %Y}, {length}"

    def assumptions(self, policies: Sequence[Mapping[str, Any]] = ()) -> Iterator[str]:
        """Assumptions of every run of it; of `policies` with sleep the times of nodes, too."""
        if self.provenance["tables"]["actual"] is None:
            yield "Nodes of a class draw alike: no table says what an application draws on which node."
        if any(puts_to_sleep(policy) for policy in policies):
            yield from self._sleep_times()

    def _sleep_times(self) -> Iterator[str]:
        own = [one for one in self.provenance["platform"]["classes"] if "boot_s" in one]
        for one in own[:_MOST_KINDS]:
            boot, shutdown = (words.length(one.get(name, 0.0)) for name in ("boot_s", "shutdown_s"))
            draw, name = words.watts(one.get("off_w", 0.0)), one["name"]
            yield f"A node of the class {name} boots in {boot}, shuts down in {shutdown} and draws {draw} when off."

    def not_modelled(self) -> Iterator[str]:
        """Things that the run does not know of."""
        yield from NOT_MODELLED
        yield _AT_THE_METER if self.provenance["platform"].get("pue") is not None else _NODES_ALONE

    def versions(self, command: str = "", *more: Sequence[str]) -> Grid:
        """Version, hashes and seed, and `more` rows of that kind."""
        trace = self.provenance["trace"]
        return versions(
            command,
            ["log", f"{trace['name']}, sha256 {trace['sha256']}"],
            ["machine", f"sha256 {self.provenance['platform']['sha256']}"],
            ["seed", str(self.provenance["seed"])],
            *more,
            version=self.provenance["version"],
        )

    def settings(self, policies: Sequence[Mapping[str, Any]]) -> Grid:
        """Options and the parts of policies."""
        given = {name: value for name, value in self.provenance["options"].items() if value not in (None, False, 0.0)}
        return settings({"options": given, **{own["name"]: _parts(own) for own in policies}})


def _parts(policy: Mapping[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in policy.items() if name != "name" and part is not None}


def versions(command: str, *rows: Sequence[str], version: str | None = None) -> Grid:
    """A table of what it takes to repeat something: the command, hetsched's version, and `rows`."""
    from hetsched import __version__  # noqa: PLC0415 -- loads the engine

    own = [["command", command]] if command else []
    return Grid("Versions and hashes", ["what", "value"], [*own, ["hetsched", version or __version__], *rows], words=2)


def settings(values: Mapping[str, Any]) -> Grid:
    """A table of settings by name, as JSON."""
    rows = [[name, json.dumps(value, ensure_ascii=False, default=str)] for name, value in values.items()]
    return Grid("Settings", ["of", "values"], rows, words=2)
