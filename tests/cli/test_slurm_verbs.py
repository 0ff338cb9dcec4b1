"""``hetsched slurm``: its verbs with stand-ins of Slurm's commands, and without any."""

import json
import sys
from pathlib import Path

import pytest

import hetsched as hs

DATA = Path(__file__).parents[1] / "data" / "slurm_bridge"


@pytest.fixture
def cluster(folder, monkeypatch):
    """A folder that is all of PATH, with the commands of a recorded cluster in it."""
    bin_ = folder / "bin"
    bin_.mkdir()
    monkeypatch.setenv("PATH", str(bin_))
    said = {path.stem: path.read_text() for path in DATA.glob("*.txt")}
    said["config"] = said["config"].replace("as of ", "as of %d\nwas ", 1)
    scripts = {
        "scontrol": f"said = {said!r}\nimport time\nwords = [one for one in sys.argv[1:] if one != '-o']\n"
        "text = said[words[1]]\n"
        "sys.stdout.write(text % time.time() if words[1] == 'config' else text)",
        "squeue": f"print(1) if '-o' in sys.argv else sys.stdout.write({(DATA / 'queue.squeue').read_text()!r})",
        "sinfo": f"sys.stdout.write({(DATA / 'queue.sinfo').read_text()!r})",
    }
    for name, script in scripts.items():
        (bin_ / name).write_text(f"#!{sys.executable} -I\nimport sys\n{script}\n")
        (bin_ / name).chmod(0o755)
    return bin_


def test_doctor(hetsched, cluster):
    said = hetsched("slurm", "doctor", "--partition", "batch")
    assert (said.code, said.err) == (0, "")
    assert said.out.splitlines()[0] == "ok    version: 22.05.8"
    (cluster / "squeue").unlink()
    said = hetsched("slurm", "doctor", "--partition", "batch", "--json")
    assert said.code == 1
    words = "squeue: no such command in PATH"
    assert json.loads(said.out) == {"checks": [{"name": "Slurm", "is_well": False, "words": words}]}
    assert said.err == f"FAULT Slurm: {words}"


def test_conf_writes_nothing(hetsched, cluster, folder):
    before = sorted(folder.rglob("*"))
    said = hetsched("slurm", "conf", "--partition", "batch")
    assert said.code == 0
    assert "Licenses=hetsched:1000000" in said.out
    assert "function slurm_job_submit" in said.out
    assert sorted(folder.rglob("*")) == before


def test_platform_and_a_dry_run(hetsched, cluster, folder):
    said = hetsched("slurm", "platform", "--partition", "batch", "--out", "p.toml")
    assert said.code == 0, said.err
    assert hs.read_platform("p.toml").node_names == ("n1", "n2", "n3", "n4")
    run = ("slurm", "run", "--partition", "batch", "--platform", "p.toml", "--journal", "j", "--beat-s", "0.1")
    said = hetsched(*run, "--beats", 2)
    assert (said.code, said.out) == (0, "found 2 jobs running and 4 waiting; 1 node out of service\nwrote j"), said.err
    said = hetsched("slurm", "status", "--journal", "j", "--json")
    assert json.loads(said.out)["status"]["starts"] == 0
    (cluster / "squeue").write_text("#!/bin/sh\necho rubbish\n")
    said = hetsched(*run, "--beats", 2)
    assert said.code == 1
    assert "expected 19 columns; nothing was decided" in said.out


def test_to_act_needs_a_cluster_that_is_ready(hetsched, cluster):
    assert hetsched("slurm", "platform", "--partition", "batch", "--out", "p.toml").code == 0
    script = (cluster / "scontrol").read_text()
    (cluster / "scontrol").write_text(script.replace("LicenseName=hetsched", "LicenseName=other"))
    said = hetsched("slurm", "run", "--partition", "batch", "--platform", "p.toml", "--journal", "j", "--act")
    assert said.code == 2
    assert said.err == (
        "error: --act: found licence: no licence `hetsched`: no job can be held back; see `hetsched slurm conf`, "
        "expected what `hetsched slurm doctor` asks for"
    )


def test_a_lease_is_for_a_bridge_that_acts(hetsched, cluster):
    said = hetsched("slurm", "run", "--partition", "b", "--platform", "p", "--journal", "j", "--lease-s", 60)
    assert (said.code, said.err) == (
        2,
        "error: --lease-s: found `60`, expected nothing without --act: a dry run holds nobody back",
    )


def test_the_way_out_without_a_bridge(hetsched, cluster):
    script = (
        (cluster / "scontrol")
        .read_text()
        .replace(
            "text = said", "words[1:2] == ['reservation'] and sys.exit('Reservation hetsched not found')\ntext = said"
        )
    )
    (cluster / "scontrol").write_text(script)
    row = (DATA / "queue.squeue").read_text().replace("hetsched:1", "matlab:123")
    (cluster / "squeue").write_text(f"#!{sys.executable} -I\nimport sys\nsys.stdout.write({row!r})\n")
    said = hetsched("slurm", "leave", "--partition", "batch")
    assert (said.code, said.out) == (0, "there was no gate; gave back 0 jobs"), said.err
    said = hetsched("slurm", "sweep", "--partition", "batch")
    assert (said.code, said.out) == (0, "cleared 0 jobs"), said.err


@pytest.mark.parametrize("name", ["-p", "a,b", "$(x)", "", "a b", "a\nb"])
def test_names_of_partitions(hetsched, cluster, name):
    said = hetsched("slurm", "doctor", f"--partition={name}")
    assert said.code == 2
    assert "expected the name of one partition" in said.err


def test_machines_that_cannot_be_steered_are_named(hetsched, cluster, folder):
    (folder / "p.toml").write_text("nodes = 4\nidle_w = 1\ntdp_w = 2\n")
    said = hetsched("slurm", "run", "--partition", "batch", "--platform", "p.toml", "--journal", "j")
    assert said.code == 2
    assert said.err == (
        "error: --platform p.toml: node_names: found none, expected Slurm's names; "
        "`hetsched slurm platform` writes such a file"
    )
