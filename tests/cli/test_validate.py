"""``hetsched validate``: its screen, files and faults."""

import json

import polars as pl
import pytest


@pytest.fixture
def log(folder):
    rows = [
        f"{job},{600 * job},{3000 + 100 * (job % 7)},{1 + job % 3},{600 * job + 900 * (job % 5)}" for job in range(200)
    ]
    (folder / "log.csv").write_text("job_id,submit_s,runtime_s,node_count,observed_start_s\n" + "\n".join(rows) + "\n")
    return "log.csv"


def test_a_screen_of_scores(hetsched, log):
    said = hetsched("validate", log, "--nodes", "12", "--policy", "fcfs")
    assert said.code == 0, said.err
    text = " ".join(said.out.split())
    assert "160 jobs count, 128 of them waited for over a minute; left out: 40 of the warm-up and cool-down" in text
    for rival in ("fcfs", "easy, as it is", "every job at once", "mean wait of the week before"):
        assert rival in text
    assert "the run's log error is 2.74 times that of the best rival that simulates nothing" in text
    assert "by hour: busy nodes off by" in text
    assert "no intervals: the jobs are of 1 week" in text
    lines = said.out.splitlines()
    scores = lines[lines.index("no intervals: the jobs are of 1 week, and intervals need at least 4") :]
    assert all(len(line) <= 80 for line in scores)


def test_files_and_json(hetsched, folder, log):
    said = hetsched("validate", log, "--nodes", "12", "--warmup-s", "0", "--cooldown-s", "0", "--out", "out", "--json")
    assert said.code == 0, said.err
    found = json.loads(said.out)
    assert next(iter(found)) == "summary"
    assert found["summary"]["jobs"] == 200
    assert found["baseline"] is None, "EASY is the run itself"
    assert sorted(path.name for path in (folder / "out").iterdir()) == sorted(
        [f"{name}.csv" for name in ("rivals", "histogram", "quantiles", "series")]
        + [f"by_{name}.csv" for name in ("queue", "size", "user_class", "week")]
        + ["jobs.parquet", "validation.json"]
    )
    scores = json.loads((folder / "out" / "validation.json").read_text())["scores"]
    assert scores == found["summary"]
    assert pl.read_parquet(folder / "out" / "jobs.parquet").height == 200


def test_pictures_of_a_log_and_of_a_folder(hetsched, folder, log):
    said = hetsched("validate", log, "--nodes", "12", "--plot", "seen", "--json")
    assert said.code == 0, said.err
    assert sorted(path.name for path in (folder / "seen").iterdir()) == ["errors.png", "over-time.png", "waits.png"]
    assert hetsched("simulate", log, "--nodes", "12", "--out", "run").code == 0
    assert hetsched("validate", "run", "--plot", "one.svg").code == 0
    assert (folder / "one.svg").read_text().startswith("<?xml")
    assert hetsched("validate", log, "--nodes", "12", "--horizon", "1h", "--plot", "ahead").code == 0
    assert sorted(path.name for path in (folder / "ahead").iterdir()) == ["errors.png", "waits.png"]


def test_restarts_from_the_observed_state(hetsched, folder, log):
    said = hetsched("validate", log, "--nodes", "12", "--horizon", "90m,1d,none", "--out", "out")
    assert said.code == 0, said.err
    assert said.out.count("Restarts from the observed state") == 1
    for name in ("1.500 h", "24.00 h", "one run"):
        assert name in said.out
    rows = pl.read_csv(folder / "out" / "horizons.csv")
    assert rows["horizon_s"].to_list() == [5400.0, 86_400.0, None]
    assert rows["jobs"].to_list() == [160, 160, 160]
    lines = said.out.splitlines()
    assert all(len(line) <= 80 for line in lines[lines.index("Restarts from the observed state") :])


@pytest.mark.parametrize(
    ("span", "message"),
    [
        ("1w", "--horizon: found `1w`, expected a span such as 3600, 90m, 1h or 1d, or none"),
        ("0.5", "--horizon: found `0.5`, expected a number between 1 and 1e+09"),
        ("60,1m", "--horizon: found "),
    ],
)
def test_a_horizon_is_a_span(hetsched, log, span, message):
    said = hetsched("validate", log, "--nodes", "12", "--horizon", span)
    assert said.code != 0
    assert message in said.err


def test_the_folder_of_a_result_has_no_horizon(hetsched, log):
    assert hetsched("simulate", log, "--nodes", "12", "--out", "run").code == 0
    said = hetsched("validate", "run", "--horizon", "1h").err
    assert "--horizon: found spans, expected nothing with the folder" in said


def test_the_folder_of_a_result_does(hetsched, log):
    assert hetsched("simulate", log, "--nodes", "12", "--out", "run").code == 0
    of_folder = json.loads(hetsched("validate", "run", "--json").out)
    of_log = json.loads(hetsched("validate", log, "--nodes", "12", "--baseline", "none", "--json").out)
    assert of_folder["summary"] == of_log["summary"]


def test_measured_power(hetsched, folder, log):
    pl.DataFrame({"time_s": [600.0 * k for k in range(200)], "power_w": [2500.0] * 200}).write_csv(folder / "power.csv")
    said = hetsched("validate", log, "--nodes", "12", "--power", "power.csv")
    assert said.code == 0, said.err
    assert "power by hour: off by" in said.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["log.csv", "--nodes", "12", "--policy", "esay"], "--policy: found `esay`, expected"),
        (["log.csv", "--nodes", "12", "--baseline", "esay"], "--baseline: found `esay`"),
        (["log.csv", "--nodes", "12", "--warmup-s", "-1"], "--warmup-s: found `-1`"),
        (["log.csv", "--nodes", "12", "--warmup-s", "1e6"], "no job is submitted in the time that is left"),
        (["log.csv", "--nodes", "12", "--power", "log.csv"], "expected time_s and power_w"),
        (["log.csv", "--nodes", "12", "--warm-up-s", "1"], "unknown option --warm-up-s; did you mean `--warmup-s`?"),
        (["run", "--nodes", "12"], "--nodes: found 12, expected nothing with the folder of a result"),
        (["bare.csv", "--nodes", "12"], "expected a log that says when its jobs started"),
    ],
)
def test_faults(hetsched, folder, log, arguments, message):
    (folder / "run").mkdir()
    (folder / "bare.csv").write_text("job_id,submit_s,runtime_s,node_count\n1,0,10,1\n")
    said = hetsched("validate", *arguments)
    assert said.code == 2
    assert message in said.err, said.err
