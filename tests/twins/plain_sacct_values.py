"""Values of sacct's columns, each from its text, straight from the reference of files."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Any

from hetsched.hostlists import HostListError, expanded

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
NOTHING = {"", "unknown", "none", "n/a", "invalid", "(null)"} | {str(2**b - d) for b in (32, 64) for d in (1, 2)}
JOB = re.compile(r"(\d{1,18})(?:_(\d+)|_\[([^\]]*)\]|\+(\d+))?(?:\.(.+))?")
POWERS = "KMGTP"


class BadError(Exception):
    """A value that does not read."""


def is_null(text: str) -> bool:
    return text.strip(" \t").lower() in NOTHING


def whole(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise BadError(text)
    return int(text)


def scaled(text: str, base: float) -> float:
    found = re.fullmatch(r"(\d+\.?\d*|\.\d+)([KMGTPkmgtp]?)", text)
    if not found:
        raise BadError(text)
    return float(found[1]) * base ** (POWERS.index(found[2].upper()) + 1 if found[2] else 0)


def count(text: str) -> int:
    value = scaled(text, 1024.0)
    if value != int(value):
        raise BadError(text)
    return int(value)


def megabytes(text: str) -> float:
    has_unit = text[-1:].upper() in POWERS and text != ""
    return scaled(text, 1024.0) / 1024.0**2 if has_unit else scaled(text, 1024.0)


def memory(text: str) -> tuple[float, str]:
    share = text[-1:] if text[-1:] in ("n", "c") else ""
    return megabytes(text[: len(text) - len(share)]), share


def span(text: str) -> float:
    found = re.fullmatch(r"(?:(\d+)-)?(\d+):([0-5]\d):([0-5]\d)(?:\.(\d+))?", text)
    if not found:
        raise BadError(text)
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups()[:4])
    return (
        days * 86400.0
        + hours * 3600
        + minutes * 60
        + seconds
        + (int(found[5]) / 10 ** len(found[5]) if found[5] else 0)
    )


def limit(text: str) -> float:
    if text.lower() in ("unlimited", "infinite", "partition_limit", "not_set", "-1"):
        return 0.0
    days, dash, clock = text.rpartition("-")
    parts = [whole(part) for part in clock.split(":")]
    if len(parts) > 3:
        raise BadError(text)
    if dash:
        return whole(days) * 86400.0 + sum(a * b for a, b in zip(parts, (3600, 60, 1), strict=False))
    return float(sum(a * b for a, b in zip(parts, [(60,), (60, 1), (3600, 60, 1)][len(parts) - 1], strict=True)))


def limit_minutes(text: str) -> float:
    if re.fullmatch(r"\d+", text):
        return int(text) * 60.0
    if limit(text):
        raise BadError(text)
    return 0.0


def tres(text: str) -> dict[str, str]:
    pairs = [item.partition("=") for item in text.split(",")]
    if any(not equals for _, equals, _ in pairs):
        raise BadError(text)
    found = {name: value for name, _, value in pairs if not is_null(value)}
    for name, value in found.items():
        if name == "mem":
            megabytes(value)
        elif name == "energy":
            scaled(value, 1000.0)
        elif name in ("cpu", "node", "gres/gpu") or name.startswith(("gres/gpu:", "license/")):
            count(value)
    return found


def hosts(text: str) -> list[str]:
    if text.lower() == "none assigned":
        return []
    try:
        return list(dict.fromkeys(expanded(text)))
    except HostListError:
        raise BadError(text) from None


def instants(text: str, zone: tzinfo) -> list[float]:
    if re.fullmatch(r"\d{1,12}", text):
        return [float(text)]
    found = re.fullmatch(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(Z|[+-]\d\d:?\d\d)?", text)
    if not found:
        raise BadError(text)
    try:
        local = datetime.fromisoformat(f"{found[1]}T{found[2]}")
    except ValueError:
        raise BadError(text) from None
    if found[3]:
        ahead = 0 if found[3] == "Z" else int(found[3][:3] + "0") // 10 * 3600
        ahead += 0 if found[3] == "Z" else (-1 if found[3][0] == "-" else 1) * int(found[3][-2:]) * 60
        return [(local.replace(tzinfo=timezone.utc) - EPOCH).total_seconds() - ahead]
    both = {(local.replace(tzinfo=zone, fold=fold) - EPOCH) / timedelta(seconds=1) for fold in (0, 1)}
    real = sorted(at for at in both if (EPOCH + timedelta(seconds=at)).astimezone(zone).replace(tzinfo=None) == local)
    if not real:
        raise BadError(text)
    return real


def job_name(text: str) -> re.Match[str]:
    found = JOB.fullmatch(text)
    if not found:
        raise BadError(text)
    return found


def a_state(text: str) -> str:
    word = text.split(" ", maxsplit=1)[0]
    if not re.fullmatch(r"[A-Za-z_+]*", word):
        raise BadError(text)
    return word.split("+")[0]


def exit_code(text: str) -> str:
    if not re.fullmatch(r"\d+:\d+", text):
        raise BadError(text)
    return text


TYPES: dict[str, Any] = {
    "exitcode": exit_code,
    **dict.fromkeys("jobid jobidraw".split(), job_name),  # noqa: SIM905
    **dict.fromkeys("elapsedraw priority uid".split(), whole),  # noqa: SIM905
    **dict.fromkeys("elapsed suspended".split(), span),  # noqa: SIM905
    **dict.fromkeys("nnodes allocnodes reqnodes alloccpus ncpus reqcpus restarts".split(), count),  # noqa: SIM905
    **dict.fromkeys("alloctres reqtres".split(), tres),  # noqa: SIM905
    **dict.fromkeys("consumedenergy consumedenergyraw".split(), lambda text: scaled(text, 1000.0)),  # noqa: SIM905
    "timelimit": limit,
    "timelimitraw": limit_minutes,
    "reqmem": memory,
    "nodelist": hosts,
    "state": a_state,
}
TIMES = ("submit", "eligible", "start", "end")


def value(column: str, text: str, zone: tzinfo) -> Any:
    if is_null(text):
        if column == "jobid":
            raise BadError(text)
        return None
    if column in TIMES:
        return instants(text.strip(), zone)
    return TYPES[column](text.strip()) if column in TYPES else text
