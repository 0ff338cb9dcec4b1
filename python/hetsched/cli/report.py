"""``hetsched report``: one page of runs that were made before."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import hetsched as hs
from hetsched.checks import Faults, many
from hetsched.cli import options as opt
from hetsched.cli.declare import OUTPUT, argument, option
from hetsched.cli.terminal import Screen, command_line

_SUMMARY = "summary.json"
_DIRS_HELP = "Folders that --out wrote, one a policy, of one log and one machine."
_BASELINE_HELP = "Policy that the others are held against; default: that of the first folder."


def report(
    screen: Screen,
    faults: Faults,
    *,
    runs: Annotated[tuple[str, ...], argument("DIR", _DIRS_HELP, is_list=True)],
    baseline: Annotated[str | None, option("--baseline", "A", _BASELINE_HELP, "Policies")] = None,
    out: Annotated[str, option("--out", "F.html", "The page.", OUTPUT, read=opt.page)] = "report.html",
    title: Annotated[str, option("--title", "TEXT", "The title of the page.", OUTPUT)] = "",
) -> None:
    """Make one page of runs in folders: the answer in numbers, charts over time and by node, settings and hashes."""
    faults.check()
    from hetsched.report.page.runs import page_of_results

    results = [hs.read_result(folder) for given in runs for folder in _folders(given)]
    names = [result.provenance["policy"]["name"] for result in results]
    if baseline is not None:
        faults.choice("--baseline", baseline, names)
        faults.check()
    page = page_of_results(results, baseline=baseline, command=command_line(), title=title)
    written = page.write(out)
    screen.say(f"{many(len(results), 'run')} on one page")
    screen.give({"runs": [{"policy": run.policy, "summary": dict(run.summary)} for run in page.runs]}, [written])


def _folders(given: str) -> list[str]:
    """The folder of a run itself, or those of the runs of a comparison in it."""
    folder = Path(given)
    if not folder.is_dir() or (folder / _SUMMARY).is_file():
        return [given]
    return [str(own.parent) for own in sorted(folder.glob(f"*/{_SUMMARY}"))] or [given]
