"""The beginning of a bridge: nothing is done in Slurm before all is known to be well."""

import os
import subprocess
import sys

import pytest
from fake_slurm import FakeSlurm


@pytest.mark.parametrize("policy", ["replay", "easy"])
def test_a_gate_is_taken_once_the_policy_fits(tmp_path, policy):
    fake, machine = FakeSlurm(tmp_path), tmp_path / "p.toml"
    machine.write_text("nodes = 4\nidle_w = 100\ntdp_w = 300\nnode_names = 'n[1-4]'\nexclusive = true\n")
    words = fake.words(tmp_path / "j", machine, "--policy", policy, "--beats", "1")
    done = subprocess.run(
        [sys.executable, "-m", "hetsched", *words],
        env={**os.environ, "PATH": str(fake.bin)},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == (2 if policy == "replay" else 0), done.stderr
    assert (fake.state["end"] is None) == (policy == "replay")
