"""Engine that a process gets: hetsched's own, or the one of an installed package; never one in doubt."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import hetsched as hs
from hetsched import _core
from hetsched.engine import engine
from hetsched.many import run_one, specs


def install(site: Path, name: str, *, content: str, module: str = "_engine") -> None:
    """A package whose metadata names an engine, as pip leaves one."""
    package, metadata = name.replace("-", "_"), site / f"{name.replace('-', '_')}-0.3.0.dist-info"
    (site / package).mkdir(parents=True)
    (site / package / "__init__.py").touch()
    (site / package / f"{module}.py").write_text(content)
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.3.0\n")
    (metadata / "entry_points.txt").write_text(f"[hetsched.engine]\n{name} = {package}._engine\n")


def told(site: Path, *arguments: str) -> tuple[int, str]:
    """Exit code and output of a command of an environment with these packages."""
    path = os.pathsep.join([str(Path(hs.__file__).parents[1]), str(site)])
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": path, "COLUMNS": "200"},
        encoding="utf-8",
        capture_output=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


# Another module of the same engine: what a package's engine is, but for the parts it adds.
LIKE_OURS = """
import importlib.util, sys
from pathlib import Path
import hetsched
own = importlib.util.spec_from_file_location("hetsched._core", Path(hetsched.__file__).with_name("_core.abi3.so"))
module = importlib.util.module_from_spec(own)
own.loader.exec_module(module)
globals().update({name: getattr(module, name) for name in dir(module) if name not in ("__name__", "__spec__")})
def parts():
    return [{**part, "is_added": part["name"] == "wfp3"} for part in module.parts()]
"""


def test_without_packages_it_is_hetscheds_own() -> None:
    assert engine().package is None
    assert engine().module is _core
    assert engine().record() == {}


def test_the_engine_of_a_package_takes_the_place_of_hetscheds_own(tmp_path: Path) -> None:
    install(tmp_path, "my-parts", content=LIKE_OURS)
    code, said = told(tmp_path, "-m", "hetsched", "--version")
    assert (code, said.splitlines()[0]) == (0, f"hetsched {hs.__version__}, engine of my-parts 0.3.0")
    everywhere = (
        "import hetsched, hetsched.roles, hetsched._core as core, my_parts._engine as mine;"
        "from hetsched.policy import parts; from hetsched import _core;"
        "print(core is mine is _core, [name for (_, name), part in parts().items() if 'package' in part])"
    )
    assert told(tmp_path, "-c", everywhere) == (0, "True ['wfp3']\n")


def test_of_two_packages_neither_is_chosen(tmp_path: Path) -> None:
    install(tmp_path, "my-parts", content=LIKE_OURS)
    install(tmp_path, "other-parts", content=LIKE_OURS)
    expected = "one installed package with an engine; one crate can hold the parts of all of them"
    message = f"error: engine: found my-parts 0.3.0, other-parts 0.3.0, expected {expected}\n"
    assert told(tmp_path, "-m", "hetsched", "policies") == (2, message)


def test_an_engine_of_another_version_is_refused(tmp_path: Path) -> None:
    install(tmp_path, "my-parts", content="__version__ = '0.0.9'\nparts = None\n")
    found = "the engine of hetsched 0.0.9 in my-parts 0.3.0"
    expected = f"that of hetsched {hs.__version__}, which is installed; build it again"
    assert told(tmp_path, "-m", "hetsched", "policies") == (2, f"error: engine: found {found}, expected {expected}\n")


@pytest.mark.parametrize("attempts", [1, 2])
def test_an_engine_that_cannot_be_loaded_is_never_replaced_by_hetscheds_own(tmp_path: Path, attempts: int) -> None:
    install(tmp_path, "my-parts", content="", module="_other")
    once = "try:\n    from hetsched import _core; print('loaded')\nexcept hetsched.ConfigError as error: print(error)\n"
    message = (
        "engine: found my-parts 0.3.0, No module named 'my_parts._engine', "
        "expected `my_parts._engine`, which its metadata names\n"
    )
    assert told(tmp_path, "-c", "import hetsched\n" + once * attempts) == (0, message * attempts)


def test_a_package_without_an_engine_is_recognised(tmp_path: Path) -> None:
    install(tmp_path, "my-parts", content="")
    code, message = told(tmp_path, "-m", "hetsched", "--version")
    assert code == 2
    assert message.startswith("error: engine: found no engine in my-parts 0.3.0, expected that of hetsched")


def test_a_spec_runs_on_the_engine_that_it_was_made_with(tmp_path: Path) -> None:
    jobs = pl.DataFrame({"job_id": [1], "submit_s": [0.0], "runtime_s": [10.0], "node_count": [1]})
    machine = hs.Platform.homogeneous(nodes=1, idle_w=100, tdp_w=300)
    (spec,) = specs(hs.Workload.from_polars(jobs), machine, ["fcfs"], folder=tmp_path)
    assert run_one(spec)["completed"] == 1
    with pytest.raises(hs.ConfigError, match=r"engine: found hetsched's own, expected my-parts 0\.3\.0, which"):
        run_one(replace(spec, engine="my-parts 0.3.0"))
