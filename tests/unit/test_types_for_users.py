"""Types that a user's editor and checkers see: a script checks, and its faults are found."""

import subprocess
import sys
from pathlib import Path

import pytest

import hetsched as hs

USER = Path(__file__).resolve().parents[1] / "typing" / "user.py"
FAULTS = {
    'walltimes="stretch"': 'walltimes="strech"',
    "seeds=2, bound=True": "seedz=2, bound=True",
    "assert_type(result, hs.Result)": "assert_type(result, int)",
}


def complaints(script: Path) -> list[str]:
    """Errors that pyright finds in a script, in a folder where no settings of this project count."""
    command = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable, script.name]
    done = subprocess.run(command, cwd=script.parent, capture_output=True, encoding="utf-8", check=False)
    return [line for line in done.stdout.splitlines() if " error: " in line]


# mypy checks the script with the package, in `make test`.
@pytest.mark.slow
def test_a_users_script_checks_and_its_faults_are_found(tmp_path: Path) -> None:
    pytest.importorskip("basedpyright", reason="`make wheel-test` installs basedpyright, and checks the script with it")
    text = USER.read_text(encoding="utf-8")
    (tmp_path / "user.py").write_text(text, encoding="utf-8")
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    assert complaints(tmp_path / "user.py") == []
    for right, wrong in FAULTS.items():
        assert text.count(right) == 1
        text = text.replace(right, wrong)
    (tmp_path / "faulty.py").write_text(text, encoding="utf-8")
    assert len(complaints(tmp_path / "faulty.py")) >= len(FAULTS)


def test_the_package_says_that_it_has_types() -> None:
    package = Path(hs.__file__).parent
    assert {"py.typed", "__init__.pyi", "_core.pyi"} <= {path.name for path in package.iterdir()}
