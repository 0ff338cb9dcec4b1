"""The example of a part in Rust: as the page shows it, in step with the project, and working as a wheel of its own."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

import hetsched as hs

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "placement-in-rust"
PAGE = ROOT / "docs" / "how-to" / "your-own-policy.md"
IS_AT_LENGTH = settings.get_current_profile_name() == "long"

needs_cargo = pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo compiles the engine")
needs_maturin = pytest.mark.skipif(find_spec("maturin") is None, reason="maturin builds wheels")
needs_pip = pytest.mark.skipif(find_spec("pip") is None, reason="pip installs them")


def done(*command: object, cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> str:
    """Output of a command; the test fails with it, and is skipped where crates would have to be fetched."""
    ended = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        encoding="utf-8",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if ended.returncode != 0 and "--offline" in ended.stdout:
        pytest.skip("crates that the engine needs are not here")
    assert ended.returncode == 0, ended.stdout
    return ended.stdout


def locked(folder: Path) -> set[tuple[str, str]]:
    """Crates and versions of a lock file."""
    text = (folder / "Cargo.lock").read_text(encoding="utf-8")
    return set(re.findall(r'^name = "([^"]+)"\nversion = "([^"]+)"$', text, flags=re.MULTILINE))


def test_the_page_shows_the_example() -> None:
    source = (EXAMPLE / "src" / "lib.rs").read_text(encoding="utf-8")
    shown = re.findall(r"^```rust\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert shown
    assert [block for block in shown if block not in source] == []


def test_the_example_is_built_from_the_projects_crates() -> None:
    assert locked(EXAMPLE) - locked(ROOT) == {("spread-racks", "0.1.0")}
    assert f'"hetsched=={hs.__version__}"' in (EXAMPLE / "pyproject.toml").read_text(encoding="utf-8")


@needs_cargo
def test_the_example_is_formatted() -> None:
    done("cargo", "fmt", "--check", cwd=EXAMPLE)


@pytest.mark.at_length
@pytest.mark.skipif(not IS_AT_LENGTH, reason="built in `make fuzz`; `make test` has clippy compile it")
@needs_cargo
@needs_maturin
@needs_pip
def test_the_examples_wheel_passes_its_own_tests(tmp_path: Path) -> None:
    # Next to the extension: the dependencies are compiled once for both.
    options = ("--release", "--offline", "--locked", "--target-dir", ROOT / "target", "--out", tmp_path)
    done(sys.executable, "-m", "maturin", "build", *options, "--interpreter", sys.executable, cwd=EXAMPLE)
    (wheel,) = tmp_path.glob("*.whl")
    site = tmp_path / "site"
    done(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", site, wheel)
    shutil.copytree(EXAMPLE / "tests", tmp_path / "tests")
    # The package under test, and next to it the wheel.
    path = os.pathsep.join([str(Path(hs.__file__).parents[1]), str(site)])
    said = done(
        sys.executable, "-m", "pytest", "-q", "--rootdir", tmp_path, "tests", cwd=tmp_path, env={"PYTHONPATH": path}
    )
    assert re.search(r"^\d+ passed in", said, flags=re.MULTILINE), said
    said = done(sys.executable, "-m", "hetsched", "--version", cwd=tmp_path, env={"PYTHONPATH": path})
    assert said.startswith(f"hetsched {hs.__version__}, engine of spread-racks 0.1.0\n")


@pytest.mark.at_length
@needs_cargo
def test_the_core_can_be_published(tmp_path: Path) -> None:
    # To verify is to compile the package alone.
    options = ("--offline", "--allow-dirty", "--target-dir", tmp_path, *([] if IS_AT_LENGTH else ["--no-verify"]))
    said = done("cargo", "package", "--package", "hetsched-core", *options)
    assert ("Verifying hetsched-core" in said) == IS_AT_LENGTH
    (package,) = (tmp_path / "package").glob("*.crate")
    assert package.name == f"hetsched-core-{hs.__version__}.crate"
