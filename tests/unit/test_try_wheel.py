"""The trial of wheels: what is wrong with one is found, and one that was built works in other Pythons."""

import importlib.util
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[2]
NEEDED = ("py.typed", "__init__.pyi", "_core.pyi", "_core.abi3.so", "data/slurm-testbed.conf")
IS_AT_LENGTH = settings.get_current_profile_name() == "long"
BUILT = sorted((ROOT / "dist").glob("*manylinux_2_17*.whl"))


@pytest.fixture
def trial() -> Any:
    """The script that tries wheels."""
    spec = importlib.util.spec_from_file_location("try_wheel", ROOT / "tools" / "try_wheel.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def wheel(folder: Path, tags: str, names: tuple[str, ...] = NEEDED) -> Path:
    """A file that looks like a wheel from outside."""
    path = folder / f"hetsched-0.1.0-{tags}.whl"
    with zipfile.ZipFile(path, "w") as content:
        for name in names:
            content.writestr(f"hetsched/{name}", "")
    return path


@pytest.fixture
def audited(trial: Any, monkeypatch: pytest.MonkeyPatch):
    """Makes auditwheel say that a wheel runs on a platform."""

    def says(platform: str) -> None:
        said = f'x.whl is consistent with\nthe following platform tag: "{platform}".\n'
        monkeypatch.setattr(
            trial.subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 0, stdout=said, stderr="")
        )

    return says


def test_a_wheel_for_old_systems_has_no_fault(trial: Any, audited: Any, tmp_path: Path) -> None:
    audited("manylinux_2_17_x86_64")
    assert list(trial.faults_of(wheel(tmp_path, "cp310-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64"))) == []


def test_what_is_wrong_with_a_wheel_is_found(trial: Any, audited: Any, tmp_path: Path) -> None:
    audited("manylinux_2_36_x86_64")
    found = list(trial.faults_of(wheel(tmp_path, "cp311-cp311-linux_x86_64", NEEDED[1:])))
    assert found == [
        "for cp311-cp311, not for every CPython from 3.10 on",
        "not for systems as old as glibc 2.17, by its name: linux_x86_64",
        "not for systems as old as glibc 2.17, by auditwheel: manylinux_2_36_x86_64",
        "no hetsched/py.typed in it",
    ]


def test_this_python_is_among_those_that_are_found_or_older_than_all(trial: Any) -> None:
    known = trial.interpreters()
    assert all(version >= (3, 10) and path.exists() for version, path in known.items())


@pytest.mark.at_length
@pytest.mark.skipif(not IS_AT_LENGTH, reason="minutes; `make wheel-test` and `make fuzz` do it")
@pytest.mark.skipif(not BUILT, reason="no wheel in dist: `make release` builds one")
@pytest.mark.skipif(importlib.util.find_spec("auditwheel") is None, reason="auditwheel is not installed")
def test_the_built_wheel_works_in_other_pythons(trial: Any) -> None:
    known = trial.interpreters()
    if not {version for version in known if version != sys.version_info[:2]}:
        pytest.skip("no CPython but this one is here")
    assert trial.main([str(ROOT / "dist")]) == 0


def test_what_an_sdist_lacks_is_found(trial: Any, tmp_path: Path) -> None:
    (tmp_path / "built").mkdir()
    whole, other = wheel(tmp_path, "a"), wheel(tmp_path / "built", "b", NEEDED[1:])
    assert list(trial.same_files(whole, whole)) == []
    assert list(trial.same_files(whole, other)) == ["hetsched/py.typed is not in both wheels"]


def test_an_sdist_is_not_tried_without_rust(
    trial: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(trial.shutil, "which", lambda _: None)
    (tmp_path / "hetsched-0.1.0.tar.gz").write_bytes(b"")
    trial.try_sdist(tmp_path, tmp_path / "no.whl", Path(sys.executable))
    assert capsys.readouterr().out.strip() == "hetsched-0.1.0.tar.gz: not tried: no cargo is here"
