"""``--predictor``: a run that decides by other numbers than it is charged by."""

import json

import pytest

JOBS = "job_id,submit_s,runtime_s,node_count,app\n1,0,100,1,a\n"
TABLE = "app,node,power_w\na,0,200\na,1,150\n"


@pytest.mark.parametrize(
    ("predictor", "energy_j"), [("ideal", 15_000.0), ("noisy:0", 15_000.0), ("wrong.csv", 20_000.0)]
)
def test_a_run_decides_by_what_the_predictor_says_and_charges_the_table(hetsched, folder, predictor, energy_j):
    (folder / "jobs.csv").write_text(JOBS)
    (folder / "table.csv").write_text(TABLE)
    # It takes node 0, which really draws 200 W, for the better one.
    (folder / "wrong.csv").write_text(TABLE.replace("200", "100"))
    run = ("simulate", "jobs.csv", "--nodes", 2, "--idle-w", 40, "--policy", "cgva-fcfs", "--table", "table.csv")
    found = json.loads(hetsched(*run, "--predictor", predictor, "--json").out)
    assert found["summary"]["job_energy_j"] == pytest.approx(energy_j)
    assert found["options"]["predictor"] is not None
    assert (found["tables"]["actual"] == found["tables"]["predicted"]) == (predictor != "wrong.csv")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("--predictor idael", "--predictor: found `idael`, expected ideal, noisy:ERROR, history or a table ending "),
        (
            "--predictor noisy",
            "--predictor: found `noisy`, expected noisy:ERROR with a number from 0, such as noisy:0.1",
        ),
        ("--predictor noisy:-1", "--predictor: found `noisy:-1`, expected noisy:ERROR with a number from 0, such as "),
        ("--predictor none.csv", "none.csv: found no such file, expected a CSV file of app, node, power_w or "),
        ("--predictor other.csv", "--predictor other.csv: found `no application a`, expected the actual table's: a"),
    ],
)
def test_a_predictor_that_cannot_be_is_a_line(hetsched, folder, arguments, line):
    (folder / "jobs.csv").write_text(JOBS)
    (folder / "table.csv").write_text(TABLE)
    (folder / "other.csv").write_text(TABLE.replace("a,", "b,"))
    said = hetsched("simulate", "jobs.csv", "--nodes", 2, "--table", "table.csv", *arguments.split())
    assert said.code == 2
    assert said.err.splitlines()[0].startswith(f"error: {line}")
    said = hetsched("simulate", "jobs.csv", "--nodes", 2, "--predictor", "ideal")
    assert said.err == (
        "error: --predictor: found `ideal`, expected a log whose jobs bring power_w, or --table as well"
    )
    said = hetsched("simulate", "jobs.csv", "--nodes", 2, "--predictor", "other.csv")
    assert said.err == (
        "error: --predictor: found `other.csv`, expected --table as well: predictions are of what a table says"
    )
