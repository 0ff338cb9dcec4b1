"""Draws of jobs as decisions know them before the run: by the platform's rule, and by a predictor's forecast."""

import numpy as np
import polars as pl
import pytest

import hetsched as hs
from hetsched.power import History, Ideal, Noisy

MACHINE = hs.Platform.homogeneous(nodes=2, idle_w=100.0, tdp_w=400.0, busy_w=300.0)


def workload(power_w, **columns):
    rows = len(power_w)
    own = {
        "job_id": range(1, rows + 1),
        "submit_s": [0.0] * rows,
        "runtime_s": [100.0] * rows,
        "node_count": [1] * rows,
    }
    frame = pl.DataFrame(own | columns, strict=False)
    return hs.Workload.from_polars(frame.with_columns(pl.Series("power_w", power_w, dtype=pl.Float64)))


def starts(jobs, platform, budget_w, **options):
    result = hs.simulate(jobs, platform, f"easy:power=system-budget:power.budget_w={budget_w}", **options)
    return result.jobs["start_s"].to_list()


# Idle, the two nodes draw 200 W. Two jobs of 220 W add 240, two at busy_w 400, two at TDP 600.
@pytest.mark.parametrize(
    ("rule", "budget_w", "second_s"),
    [
        ("measured", 440, 0.0),
        ("measured", 439, 100.0),
        ("table", 600, 0.0),
        ("table", 599, 100.0),
        ("tdp", 800, 0.0),
        ("tdp", 799, 100.0),
    ],
)
def test_a_budget_counts_jobs_as_the_rule_says(rule, budget_w, second_s):
    assert starts(workload([220.0, 220.0]), MACHINE.with_known_draws(rule), budget_w) == [0.0, second_s]


# 0.8 × 200, 0.8 × 300 and 0.8 × 400 W, of which 100 are the idle draw.
@pytest.mark.parametrize(("rule", "added_w"), [("measured", 60), ("table", 140), ("tdp", 220)])
def test_a_factor_scales_what_stands_for_the_measurement(rule, added_w):
    table = hs.VariationTable(["a"], power_ratio=[[0.8, 0.8]])
    platform = MACHINE.with_known_draws(rule).with_tables(actual=table)
    jobs = workload([200.0, 200.0], app=["a", "a"])
    assert starts(jobs, platform, 200 + 2 * added_w) == [0.0, 0.0]
    assert starts(jobs, platform, 200 + 2 * added_w - 1) == [0.0, 100.0]


def test_a_job_without_a_measurement_counts_with_its_busy_draw_under_every_rule():
    for rule in ("measured", "table", "tdp"):
        assert starts(workload([None, None]), MACHINE.with_known_draws(rule), 600) == [0.0, 0.0]
        assert starts(workload([None, None]), MACHINE.with_known_draws(rule), 599) == [0.0, 100.0]


@pytest.mark.parametrize("rule", ["measured", "table", "tdp"])
def test_watts_of_a_table_stand_before_every_rule(rule):
    table = hs.VariationTable(["a"], power_w=[[250.0, 250.0]])
    platform = MACHINE.with_known_draws(rule).with_tables(actual=table)
    assert starts(workload([390.0, 390.0], app=["a", "a"]), platform, 500) == [0.0, 0.0]


def test_the_order_by_energy_reads_what_is_known_too():
    jobs = workload([150.0, 390.0], node_count=[2, 2])
    order = "easy:order=vahrm:order.beta=1.0"
    known = {
        rule: hs.simulate(jobs, MACHINE.with_known_draws(rule), order).jobs for rule in ("measured", "table", "tdp")
    }
    assert known["measured"]["start_s"].to_list() == [100.0, 0.0]
    assert known["table"]["start_s"].to_list() == known["tdp"]["start_s"].to_list() == [0.0, 100.0]


@pytest.mark.parametrize("rule", ["table", "tdp"])
def test_a_job_that_fits_only_by_its_measurement_is_rejected_by_what_is_known(rule):
    jobs = workload([150.0])
    policy = "easy:power=system-budget:power.budget_w=260"
    assert hs.simulate(jobs, MACHINE, policy).summary()["completed"] == 1
    assert hs.simulate(jobs, MACHINE.with_known_draws(rule), policy).summary()["rejected"] == 1


# The platform's own side of it.


def test_a_platform_keeps_what_is_known_through_everything_it_is_turned_into(tmp_path):
    platform = hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=400, known_draws="tdp")
    table = hs.VariationTable(["a"], power_w=[[250.0, 250.0]])
    assert platform.with_tables(actual=table).known_draws == "tdp"
    assert hs.Platform.from_dict(platform.to_dict()) == platform
    (tmp_path / "two.toml").write_text('nodes = 2\nidle_w = 100\ntdp_w = 400\nknown_draws = "tdp"\n')
    assert hs.Platform.from_toml(tmp_path / "two.toml") == platform
    assert platform != platform.with_known_draws("table")
    rules = ("measured", "table", "tdp")
    assert len({platform.with_known_draws(rule).sha256 for rule in rules}) == 3
    assert len({hash(platform.with_known_draws(rule)) for rule in rules}) == 3


def test_a_rule_that_is_none_is_refused_with_the_nearest():
    with pytest.raises(hs.ConfigError) as caught:
        hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=400, known_draws="tpd")
    assert str(caught.value) == "known_draws: found `tpd`, expected one of measured, table, tdp; did you mean `tdp`?"
    with pytest.raises(hs.ConfigError, match="known_draws: found `3`"):
        MACHINE.with_known_draws(3)


def test_a_sweep_distinguishes_platforms_by_known_draws():
    jobs = workload([220.0, 220.0])
    machines = {rule: MACHINE.with_known_draws(rule) for rule in ("measured", "tdp")}
    runs = hs.sweep(jobs, machines, ["easy:power=system-budget:power.budget_w=500"], workers=1, progress=None)
    assert runs["makespan_s"].to_list() == [100.0, 200.0]


# The sentence.

BUDGETED = "easy:power=system-budget:power.budget_w=700"


def record(jobs, platform=MACHINE, policy=BUDGETED, **options):
    return hs.simulate(jobs, platform, policy, **options).provenance["known_draws"]


def test_a_run_whose_decisions_know_measured_draws_says_so():
    told = record(workload([220.0, None, 150.0]))
    assert told == {
        "rule": "measured",
        "jobs": 2,
        "read_by": ["power system-budget"],
        "forecast": None,
        "note": 'decisions know the measured draw of 2 jobs before they have run; known_draws ("table" or "tdp") or a '
        "predictor changes that",
    }


FACTORS = hs.VariationTable(["a"], power_ratio=[[1.0, 1.1]])
WATTS = hs.VariationTable(["a"], power_w=[[250.0, 260.0]])


@pytest.mark.parametrize(
    ("policy", "table", "read_by"),
    [
        ("easy", None, []),
        ("easy", FACTORS, []),
        ("cgva-fcfs", FACTORS, []),
        ("coa", None, []),
        ("coa", WATTS, []),
        ("coa", FACTORS, ["placement assignment"]),
        ("easy:placement=opportunity-cost", FACTORS, ["placement opportunity-cost"]),
        ("hetsched", FACTORS, ["order vahrm", "placement opportunity-cost"]),
        ("vahrm", None, ["order vahrm", "power system-budget"]),
        ("easy:order=vahrm", None, ["order vahrm"]),
        ("easy:order=vahrm:order.beta=0", None, []),
    ],
)
def test_it_is_said_where_a_part_decides_by_it_and_nowhere_else(policy, table, read_by):
    jobs = workload([220.0, 150.0], app=["a", "a"])
    told = record(jobs, MACHINE.with_tables(actual=table), policy)
    assert told["read_by"] == read_by
    # Watts of a table stand before the jobs' own.
    assert told["jobs"] == (0 if table is WATTS else 2)
    assert (told["note"] is not None) == bool(read_by)


def test_nothing_is_said_where_no_decision_knows_draws():
    assert record(workload([None, 0.0]))["note"] is None
    for rule in ("table", "tdp"):
        told = record(workload([220.0]), MACHINE.with_known_draws(rule))
        assert (told["rule"], told["jobs"], told["note"]) == (rule, 1, None)


# Predictors of jobs' own draws.


def test_ideal_knows_each_jobs_own_draw_whatever_the_platform_lets_decisions_know():
    jobs = workload([220.0, 220.0])
    for predictor in ("ideal", Ideal(), Noisy(error_ratio=0.0)):
        assert starts(jobs, MACHINE.with_known_draws("tdp"), 440, predictor=predictor) == [0.0, 0.0]


def test_noise_is_normal_by_job_and_independent_of_the_order_of_rows():
    rows = 20_000
    frame = pl.DataFrame({"job_id": np.arange(rows), "power_w": np.full(rows, 200.0)})
    noisy = Noisy(error_ratio=0.1, seed=3)
    known_w = noisy.draws(frame)["known_w"].to_numpy()
    error = known_w / 200.0 - 1.0
    assert abs(error.mean()) < 0.003
    assert abs(error.std() - 0.1) < 0.003
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=1)
    back = shuffled.with_columns(noisy.draws(shuffled)).sort("job_id")["known_w"].to_numpy()
    assert (back == known_w).all()
    assert (noisy.draws(frame.head(100))["known_w"].to_numpy() == known_w[:100]).all()
    assert (Noisy(error_ratio=0.1, seed=4).draws(frame)["known_w"].to_numpy() != known_w).all()
    assert Noisy(error_ratio=3.0).draws(frame)["known_w"].min() == 0.0


def test_a_job_has_the_error_of_its_own_row():
    jobs = workload([220.0, 150.0], app=["a", None])
    noisy = Noisy(error_ratio=0.5, seed=1)
    told = record(jobs, MACHINE.with_tables(actual=FACTORS), on_unknown_app="nominal", predictor=noisy)
    assert told["forecast"]["jobs"] == 1
    error = abs(noisy.draws(jobs.to_polars())["known_w"][1] / 150.0 - 1.0)
    assert told["forecast"]["mape_percent"] == pytest.approx(100 * error)


def earlier(**columns):
    """Two jobs of ann's that end at 50 and 150, and one of hers that is submitted at 200."""
    own = {"submit_s": [0.0, 100.0, 200.0], "runtime_s": [50.0, 50.0, 50.0], "user": ["ann"] * 3, "app": ["x"] * 3}
    return workload([200.0, 300.0, 999.0], **(own | columns)).to_polars()


@pytest.mark.parametrize(
    ("columns", "known_w", "level"),
    [
        ({}, 250.0, "user and app"),
        ({"app": ["y", "x", "x"]}, 300.0, "user and app"),
        ({"app": ["y", "y", "x"]}, 250.0, "user"),
        ({"app": ["y", None, None]}, 250.0, "user"),
        ({"user": ["bo", "bo", "ann"], "app": ["x", "y", "x"]}, 200.0, "app"),
        ({"user": ["bo", "bo", "ann"], "app": ["y", "y", "x"]}, 250.0, "all"),
        ({"user": [None] * 3, "app": [None] * 3}, 250.0, "all"),
        # Ends at 200, as the third is submitted: too late.
        ({"runtime_s": [50.0, 100.0, 50.0]}, 200.0, "user and app"),
        # Started late in reality.
        ({"observed_start_s": [0.0, 180.0, None]}, 200.0, "user and app"),
        ({"observed_start_s": [190.0, 180.0, 200.0]}, None, None),
    ],
)
def test_history_asks_the_closest_that_had_ended(columns, known_w, level):
    assert History().draws(earlier(**columns)).row(2) == (3, known_w, level)


def test_history_of_the_last_jobs_only():
    assert History(last=1).draws(earlier())["known_w"].to_list() == [None, 200.0, 300.0]
    with pytest.raises(hs.ConfigError, match="last: found `0`, expected a whole number"):
        History(last=0).draws(earlier())


def slow_history(jobs, last):
    """The same, job by job."""
    ends = [(j["submit_s"] if j["observed_start_s"] is None else j["observed_start_s"]) + j["runtime_s"] for j in jobs]
    for job in jobs:
        found = (None, None)
        before = sorted((e, j["job_id"], j) for e, j in zip(ends, jobs, strict=True) if e < job["submit_s"])
        measured = [j for _, _, j in before if (j["power_w"] or 0) > 0]
        for level, keys in (("user and app", ("user", "app")), ("user", ("user",)), ("app", ("app",)), ("all", ())):
            own = [j for j in measured if all(job[k] is not None and j[k] == job[k] for k in keys)]
            if own:
                found = (float(np.mean([j["power_w"] for j in own][-(last or len(own)) :])), level)
                break
        yield found


@pytest.mark.parametrize("last", [None, 3])
def test_history_is_what_a_loop_over_the_jobs_finds(last):
    rng = np.random.default_rng(5)
    rows = 300
    jobs = workload(
        [None if x < 0.1 else round(100 + 300 * x, 1) for x in rng.random(rows)],
        submit_s=np.sort(rng.integers(0, 500, rows)).astype(float),
        runtime_s=rng.integers(0, 60, rows).astype(float),
        user=[None if k == 0 else f"u{k}" for k in rng.integers(0, 12, rows)],
        app=[None if k == 0 else f"a{k}" for k in rng.integers(0, 6, rows)],
        observed_start_s=[None] * rows,
    ).to_polars()
    waits = pl.Series(rng.integers(0, 40, rows))
    seen = pl.when(pl.col("job_id") % 5 > 0).then(pl.col("submit_s") + waits)
    jobs = jobs.with_columns(observed_start_s=seen)
    found = History(last=last).draws(jobs)
    for (_, known_w, level), (slow_w, slow_level) in zip(
        found.rows(), slow_history(jobs.to_dicts(), last), strict=True
    ):
        assert level == slow_level
        assert known_w == (None if slow_w is None else pytest.approx(slow_w))
    assert set(found["level"]) == {"user and app", "user", "app", "all", None}
    shuffled = jobs.sample(fraction=1.0, shuffle=True, seed=2)
    assert History(last=last).draws(shuffled).sort("job_id").equals(found)


def test_an_unknown_job_counts_with_tdp_or_its_busy_draw():
    jobs = workload([220.0, 220.0])
    assert starts(jobs, MACHINE, 800, predictor=History()) == [0.0, 0.0]
    assert starts(jobs, MACHINE, 799, predictor=History()) == [0.0, 100.0]
    assert starts(jobs, MACHINE.with_known_draws("table"), 600, predictor=History()) == [0.0, 0.0]
    assert starts(jobs, MACHINE.with_known_draws("table"), 599, predictor=History()) == [0.0, 100.0]


def test_the_record_says_from_where_draws_are_predicted_and_how_well():
    jobs = workload(
        [200.0, 300.0, None, 250.0],
        submit_s=[0.0, 200.0, 300.0, 400.0],
        user=["ann", "ann", "ann", "bo"],
        app=["x", "x", "x", "y"],
    )
    told = record(jobs, predictor=History())
    # 200 for 300 W, and (200 + 300) / 2 for 250 W. The job that brings no draw is not asked for.
    assert told["forecast"] == {
        "predictor": "History()",
        "jobs": 3,
        "predicted": 2,
        "unknown": 1,
        "levels": {"all": 1, "user and app": 1},
        "mape_percent": pytest.approx(100 / 6),
    }
    assert told["note"] == (
        "History() predicts the draw of 2 jobs (all 1, user and app 1), off by 16.7 % on average; of 1 job nothing is "
        "known, taken for the nodes' TDP"
    )


class Says:
    """A predictor of somebody else's."""

    def __init__(self, frame):
        self.frame = frame

    def draws(self, jobs):
        return self.frame


def test_an_own_predictor_of_draws_is_taken():
    jobs = workload([220.0, 220.0])
    says = Says(pl.DataFrame({"known_w": [150, None]}))
    # 50 W beyond idle, and 300 at TDP.
    assert starts(jobs, MACHINE, 550, predictor=says) == [0.0, 0.0]
    assert starts(jobs, MACHINE, 549, predictor=says) == [0.0, 100.0]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (
            [150.0, 150.0],
            "predictor: found a list from Says.draws, expected a polars.DataFrame with a column known_w",
        ),
        (pl.DataFrame({"watts": [1.0, 1.0]}), "predictor: found columns watts from Says.draws, expected a polars."),
        (
            pl.DataFrame({"known_w": [1.0]}),
            "predictor: found 1 row from Says.draws, expected a row for each of 2 jobs",
        ),
        (pl.DataFrame({"known_w": ["a", "b"]}), "predictor: found known_w of type String from Says.draws, expected"),
        (
            pl.DataFrame({"known_w": [1.0, -2.0]}),
            "predictor: found -2 for job 2 from Says.draws, expected watts from",
        ),
    ],
)
def test_an_own_predictor_that_says_what_cannot_be_is_refused(frame, message):
    with pytest.raises(hs.ConfigError) as caught:
        hs.simulate(workload([220.0, 220.0]), MACHINE, predictor=Says(frame))
    assert str(caught.value).startswith(message)


def test_a_predictor_with_nothing_to_predict_is_refused():
    with pytest.raises(hs.ConfigError) as caught:
        hs.simulate(workload([None]), MACHINE, predictor=History())
    assert str(caught.value) == (
        "predictor: found `History()`, expected jobs that bring a measured draw, the column power_w"
    )
    with pytest.raises(hs.ConfigError, match=r"with_tables\(actual=...\); or jobs that bring a measured draw"):
        hs.simulate(workload([None]), MACHINE, predictor="ideal")
