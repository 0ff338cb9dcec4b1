"""``hetsched new policy``: what it writes works, and it overwrites nothing."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from hetsched.cli.new_policy import ON_A_BUDGET, ROLES

PLATFORM = """
[[classes]]
name = "node"
count = 4
idle_w = 100
tdp_w = 400
boot_s = 120
shutdown_s = 60
off_w = 10

[cap_model]
static_w = 100
"""

TABLE = "app,node,power_w\n" + "".join(f"*,{node},{310 - 5 * node}\n" for node in range(16))


ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("role", ROLES)
def test_what_is_written_is_compared_as_it_says(hetsched, folder, role):
    said = hetsched("new", "policy", "my_own", "--role", role)
    assert said.code == 0
    compare = "compare TRACE --policies easy,my_own.py:MyOwn"
    if role == "placement":
        compare = "compare TRACE --table TABLE.csv --policies easy,my_own.py:MyOwn"
    if role == "sleep":
        compare = "compare TRACE --platform PLATFORM.toml --policies easy,my_own.py:MyOwn"
    if role in ON_A_BUDGET:
        compare = (
            "compare TRACE --platform PLATFORM.toml "
            "--policies power-slurm:budget_w=WATTS,my_own.py:MyOwn:budget_w=WATTS"
        )
    assert said.out == (
        f"wrote my_own.py\nwrote test_my_own.py\ntest it:     pytest test_my_own.py\ncompare it:  hetsched {compare}"
    )
    (folder / "PLATFORM.toml").write_text(PLATFORM, encoding="utf-8")
    (folder / "TABLE.csv").write_text(TABLE, encoding="utf-8")
    arguments = compare.replace("TRACE", "small.swf").replace("WATTS", "1500").split()
    try:
        assert hetsched(*arguments).code == 0
    finally:
        sys.path.remove(str(folder))


@pytest.fixture
def examples(hetsched, folder, monkeypatch):
    """A folder with the policies of all roles and their tests."""
    (folder / "examples").mkdir()
    monkeypatch.chdir(folder / "examples")
    for role in ROLES:
        assert hetsched("new", "policy", f"own_{role}", "--role", role).code == 0
    return folder / "examples"


def run(folder, *words):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    command = [sys.executable, *words]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_what_is_written_passes_its_own_tests(examples):
    if settings.get_current_profile_name() != "long":
        for path in examples.glob("test_*.py"):
            text = path.read_text(encoding="utf-8")
            path.write_text(re.sub(r"conformance\((\w+)\)", r"conformance(\1, examples=3)", text), encoding="utf-8")
    said = run(examples, "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider", *examples.glob("test_*.py"))
    count = sum(path.read_text(encoding="utf-8").count("\ndef test_") for path in examples.glob("test_*.py"))
    assert f"{count} passed" in said


@pytest.mark.slow
def test_what_is_written_is_as_clean_as_examples(examples):
    # A role's method is given more than each needs, and the order of imports depends on the project.
    rules = ("--config", str(ROOT / "pyproject.toml"))
    run(examples.parent, "-m", "ruff", "check", *rules, "--ignore", "ARG002,I001", "examples")
    run(examples.parent, "-m", "ruff", "format", "--check", *rules, "examples")
    # With the settings, and so the cache, of the package that is imported; what is written has no annotations.
    own = f"module = {[path.stem for path in examples.glob('*.py')]}\n"
    own += "".join(f"disallow_untyped_{kind} = false\n" for kind in ("calls", "decorators", "defs"))
    settings_of_all = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (examples.parent / "mypy.toml").write_text(f"{settings_of_all}\n[[tool.mypy.overrides]]\n{own}", encoding="utf-8")
    run(ROOT, "-m", "mypy", "--strict", "--config-file", examples.parent / "mypy.toml", examples)


def test_it_overwrites_nothing(hetsched, folder):
    (folder / "test_mine.py").write_text("mine", encoding="utf-8")
    said = hetsched("new", "policy", "mine")
    assert said.code == 2
    assert said.err == "error: NAME: found `mine`, expected another name: test_mine.py is there, and is not overwritten"
    assert not (folder / "mine.py").exists()
    assert (folder / "test_mine.py").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["json"], "NAME: found `json`, expected another name: Python has a module of this one"),
        (
            ["a-b"],
            "NAME: found `a-b`, expected a name of letters, digits and underscores, as Python takes it for a module",
        ),
        (
            ["mine", "--role", "placment"],
            f"--role: found `placment`, expected one of {', '.join(ROLES)}; did you mean `placement`?",
        ),
    ],
)
def test_what_cannot_be_is_reported(hetsched, folder, arguments, line):
    said = hetsched("new", "policy", *arguments)
    assert (said.code, said.err) == (2, f"error: {line}")
    assert [path.name for path in folder.iterdir()] == ["small.swf"]


@pytest.mark.usefixtures("folder")
def test_json_says_what_was_written(hetsched):
    found = json.loads(hetsched("new", "policy", "mine", "--json").out)
    assert found["summary"] == {"name": "mine", "role": "order", "class": "Mine"}
    assert found["written"] == ["mine.py", "test_mine.py"]
