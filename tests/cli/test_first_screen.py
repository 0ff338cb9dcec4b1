"""``hetsched`` by itself: one screen, with five commands that work as they stand."""

import shlex

import pytest

from hetsched.cli.first_screen import THINGS


def test_it_fits_a_terminal_and_is_no_error(hetsched):
    said = hetsched()
    assert (said.code, said.err) == (0, "")
    lines = said.out.splitlines()
    assert len(lines) <= 23
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in said.out
    assert [line.strip() for line in lines if line.startswith("  ")] == [command for _, command in THINGS]
    assert "hetsched --help" in said.out


def test_help_and_version_are_as_ever(hetsched):
    assert "Usage: hetsched" in hetsched("--help").out
    assert hetsched("--help").out == hetsched("-h").out
    assert hetsched("--version").out.startswith("hetsched ")
    assert hetsched("--nonsense").code == 2
    assert hetsched("power").code == 2


@pytest.mark.parametrize("command", [command for _, command in THINGS if command != "hetsched demo"])
def test_its_commands_run_as_they_stand(hetsched, folder, command):
    """On a log with observed starts; the demo has tests of its own."""
    header = "; MaxNodes: 8\n; MaxProcs: 8\n"
    swf = [f"{job} {60 * job} 5 300 {1 + job % 3} -1 -1 {1 + job % 3} 600 -1 1 1 1 1 1 -1 -1 -1" for job in range(50)]
    (folder / "log.swf").write_text(header + "\n".join(swf) + "\n")
    (folder / "FILE.toml").write_text('logs = ["log.swf"]\npolicies = ["fcfs", "easy"]\n')
    words = ["log.swf" if word == "LOG" else word for word in shlex.split(command)[1:]]
    said = hetsched(*words)
    assert said.code == 0, said.err
