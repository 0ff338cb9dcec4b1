"""The program of the showing set: what it counts as shown, and that no run of it goes unwritten."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hetsched.analysis import mean_and_half_width

BENCHES = Path(__file__).parents[2] / "benches" / "python"


@pytest.fixture(scope="module")
def showing():
    """The script as a module."""
    sys.path.insert(0, str(BENCHES))
    try:
        import showing  # noqa: PLC0415 - found only now

        yield showing
    finally:
        sys.path.remove(str(BENCHES))


@pytest.fixture
def repository(showing, monkeypatch, tmp_path):
    """A repository with one commit, in the place of this one."""

    def git(*words):
        by = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        return subprocess.run(["git", "-C", tmp_path, *by, *words], check=True, capture_output=True, text=True).stdout

    git("init", "--quiet")
    (tmp_path / "benches").mkdir()
    runs = tmp_path / "benches" / "showing-runs.csv"
    runs.write_text("part,commit,date,seeds,note\nsleep,abc,2026-01-01,1 to 2,\n", encoding="utf-8")
    git("add", ".")
    git("commit", "--quiet", "-m", "a")
    monkeypatch.setattr(showing, "ROOT", tmp_path)
    monkeypatch.setattr(showing, "RUNS", runs)
    return git


def spread_of(mean, deviation):
    """Eight differences of that mean and standard deviation."""
    ends = np.array([-1.0, 1.0] * 4)
    return mean + deviation * ends / ends.std(ddof=1)


def test_holm_by_hand(showing):
    # t = 8^0.5 · mean / deviation, and p by the table of Student's t with 7 degrees: 4.03 is 0.005, 3.00 is 0.02.
    means = {"clear": 10.0, "0.005": 4.0293 / np.sqrt(8), "0.02": 2.9980 / np.sqrt(8), "none": 0.0}
    found = dict(zip(means, showing.holm(np.stack([spread_of(one, 1.0) for one in means.values()])), strict=True))
    # 0.05 / 4, / 3, / 2, / 1: 0.005 < 0.0167 and 0.02 < 0.025 are shown, 1 is not.
    assert [one.is_shown for one in found.values()] == [True, True, True, False]
    assert all(one.is_shown == (abs(one.mean) > one.half) for one in found.values())
    # With five more claims of nothing 0.005 is not below 0.05 / 8, and so 0.02, later in the order, is not looked at.
    more = showing.holm(np.stack([spread_of(one, 1.0) for one in [*means.values(), *([0.0] * 7)]]))
    assert [one.is_shown for one in more[:3]] == [True, False, False]


def test_one_claim_has_the_usual_interval(showing):
    values = np.array([1.0, 2.5, 3.0, 0.5, 2.0, 1.5, 2.2, 0.9])
    (only,) = showing.holm(values[np.newaxis])
    assert (only.mean, only.half) == pytest.approx(mean_and_half_width(values))


def test_equal_runs_show_nothing_and_a_sure_change_is_shown(showing):
    nothing, sure = showing.holm(np.array([[0.0, 0.0, 0.0], [2.0, 2.0, 2.0]]))
    assert (nothing.is_shown, sure.is_shown) == (False, True)


def test_changes_are_paired_by_workload_and_seed(showing):
    rows = [
        {
            "asked": "q",
            "spread": 0.04,
            "workload": mix,
            "seed": seed,
            "policy": policy,
            "energy_j": factor * (seed + place),
        }
        for policy, factor in ((showing.instants.USUAL, 100.0), ("other", 110.0))
        for seed in (2, 1)
        for place, mix in enumerate(showing.MIXES)
    ]
    assert showing.changes(rows, "q", 0.04, "energy_j") == pytest.approx(np.full((9, 2), 10.0))


def test_it_runs_at_a_commit_only(showing, repository, tmp_path):
    name = showing.commit()
    assert repository("rev-parse", "HEAD").startswith(name)
    showing.write_down("sleep", name, [1, 2])
    assert showing.commit() == name
    (tmp_path / "new.py").write_text("", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"1 changed files, \?\? new.py first"):
        showing.commit()


@pytest.mark.usefixtures("repository")
def test_every_run_is_written_down_and_counted(showing, monkeypatch, capsys):
    monkeypatch.setattr(showing, "SEEDS", range(1, 3))
    monkeypatch.setattr(showing, "SPREADS", (0.04,))
    monkeypatch.setattr(showing, "NODES", 60)
    monkeypatch.setattr(showing, "JOBS", 30)
    monkeypatch.setattr(showing.measure, "pinned", lambda: None)
    for arguments in (["sleep", "watts"], ["--rehearse", "3,4", "sleep"]):
        monkeypatch.setattr(sys, "argv", ["showing.py", *arguments])
        assert showing.main() == 0
    told = capsys.readouterr().out
    assert "seeds 1,2, run 2 of this part" in told
    assert "seeds 1,2, run 1 of this part" in told
    assert "seeds 3,4, rehearsal, not counted" in told
    assert (showing.runs_before("sleep"), showing.runs_before("watts")) == (2, 1)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--rehearse", "1001,1"], "1001,1: expected two or more of 1 to 20"),
        (["--rehearse", "1"], "1: expected two or more of 1 to 20"),
        (["sleeps"], "sleeps: expected some of sleep, watts, logs"),
        (["logs", "--data", "nowhere"], "--data nowhere: no folder swf"),
    ],
)
def test_a_mistake_is_said(showing, monkeypatch, capsys, arguments, text):
    monkeypatch.setattr(sys, "argv", ["showing.py", *arguments])
    with pytest.raises(SystemExit):
        showing.main()
    assert text in capsys.readouterr().err
