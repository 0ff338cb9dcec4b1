"""Facts about a Slurm that do not change from beat to beat: its settings, licences and partitions."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hetsched.errors import LiveError
from hetsched.slurm_bridge.calls import Slurm
from hetsched.slurm_bridge.nodes import SeenNode, read_nodes

_SETTING = re.compile(r"(\w+) *= (.*)")
_PAIR = re.compile(r"([A-Za-z]+)=(\S*)")
_AS_OF = re.compile(r"Configuration data as of ([0-9]+)")


def settings_of(text: str) -> dict[str, str]:
    r"""The settings that ``scontrol show config`` prints.

    Examples
    --------
    >>> settings_of("SLURM_VERSION           = 22.05.8\nLicenses                = hetsched:1000000\n")
    {'SLURM_VERSION': '22.05.8', 'Licenses': 'hetsched:1000000'}
    """
    return {found[1]: found[2].strip() for line in text.splitlines() if (found := _SETTING.fullmatch(line))}


def pairs_of(text: str) -> dict[str, str]:
    """The words ``Key=value`` of a record that ``scontrol show -o`` prints."""
    return dict(_PAIR.findall(text))


@dataclass(frozen=True)
class Facts:
    """Settings of the cluster, its licences with their totals, the partition, its nodes, and jobs in its queue."""

    settings: Mapping[str, str]
    as_of_s: int | None
    """Seconds since 1970 by the controller's clock."""
    licences: Mapping[str, int]
    partition: Mapping[str, str] | None
    """None: there is none of this name."""
    nodes: Sequence[SeenNode]
    waiting: int
    own_s: tuple[float, float]
    """Seconds since 1970 by this machine's clock, before and after the controller's was read."""

    @property
    def release(self) -> tuple[int, ...]:
        """Numbers of Slurm's version; none if they do not read."""
        return tuple(int(part) for part in re.findall(r"\d+", self.settings.get("SLURM_VERSION", "")))

    @property
    def parameters(self) -> dict[str, str]:
        """SchedulerParameters by name."""
        words = self.settings.get("SchedulerParameters", "").split(",")
        return {name: value for name, _, value in (word.strip().partition("=") for word in words) if name}


def read_settings(slurm: Slurm) -> dict[str, str]:
    """The settings of the cluster; raises CallError."""
    return settings_of(slurm.call("scontrol", "show", "config").checked().out)


def has_accounting(settings: Mapping[str, str]) -> bool:
    """True if slurmdbd keeps how jobs ended."""
    return settings.get("AccountingStorageType", "").endswith("slurmdbd")


def slurm_user(settings: Mapping[str, str]) -> int | None:
    """The number of the user that Slurm's controller runs as; None if it does not read.

    Examples
    --------
    >>> slurm_user({"SlurmUser": "slurm(64030)"}), slurm_user({})
    (64030, None)
    """
    found = re.fullmatch(r".*\(([0-9]+)\)", settings.get("SlurmUser", ""))
    return None if found is None else int(found[1])


def read_facts(slurm: Slurm, partition: str, *, real: Callable[[], float] = time.time) -> Facts:
    """The facts; raises CallError if Slurm does not answer, and TableError if its tables do not read."""
    begun_s = real()
    config = slurm.call("scontrol", "show", "config").checked().out
    own_s = (begun_s, real())
    as_of = _AS_OF.search(config)
    records = slurm.call("scontrol", "-o", "show", "licenses").checked().out
    licences = [pairs_of(line) for line in records.splitlines()]
    one = slurm.call("scontrol", "-o", "show", "partition", partition)
    if one.code != 0 and "not found" not in one.err + one.out:
        one.checked()
    waiting = slurm.call("squeue", "-h", "-r", "-t", "PD", "-p", partition, "-o", "%i").checked().out
    if one.code != 0:
        return Facts(settings_of(config), _second(as_of), _totals(licences), None, [], 0, own_s)
    nodes, count = read_nodes(slurm, partition), len(waiting.splitlines())
    return Facts(settings_of(config), _second(as_of), _totals(licences), pairs_of(one.out), nodes, count, own_s)


def _second(found: re.Match[str] | None) -> int | None:
    return None if found is None else int(found[1])


def _totals(licences: Sequence[Mapping[str, str]]) -> dict[str, int]:
    return {one["LicenseName"]: int(one["Total"]) for one in licences if one.get("Total", "").isdecimal()}


def record_text(slurm: Slurm, *words: str) -> str:
    """The text of ``scontrol show`` about something; raises LiveError, with Slurm's words, if there is nothing."""
    answer = slurm.call("scontrol", "show", *words)
    if answer.code != 0 or not answer.out.strip():
        raise LiveError(f"scontrol show {' '.join(words)}: {answer.why}")
    return answer.out
