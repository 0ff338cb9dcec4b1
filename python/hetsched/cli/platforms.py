"""The machine that ``--platform`` names: a file in TOML, files of Slurm's, or one that comes with hetsched."""

from __future__ import annotations

from collections.abc import Mapping

import hetsched as hs
from hetsched.checks import did_you_mean, exists
from hetsched.cli.terminal import changed, inside


def slurm_files(text: str) -> list[str]:
    """The files of Slurm's that the option names, with commas between them; none if they are of another kind."""
    from hetsched.slurm_files.records import is_slurm

    paths = [text] if exists(text) else text.split(",")
    return paths if all(exists(path) and is_slurm(path) for path in paths) else []


def platform_of(text: str, watts: Mapping[str, float]) -> hs.Platform:
    """The machine; `watts` are those given for files that have none."""
    from hetsched.platform.reading import machine_names

    if files := slurm_files(text):
        return hs.Platform.from_slurm(*files, **watts)  # type: ignore[arg-type]
    is_name = not exists(text)
    if is_name and text in machine_names():
        return hs.Platform.shipped(text)
    hint = did_you_mean(text, machine_names()) if is_name else ""
    with inside(text), changed(lambda fault: fault.hinting(hint) if fault.place == text else fault):
        return hs.Platform.from_toml(text)
