"""Contracts: windows of the wall clock, worked out by hand; what a run is billed; faults."""

from __future__ import annotations

import itertools
import pickle
from datetime import datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hetsched as hs
from hetsched.contract.bill import Terms
from hetsched.contract.windows import Window
from hetsched.testing import check_schedule

BERLIN = ZoneInfo("Europe/Berlin")
TEN = hs.Platform.homogeneous(nodes=10, idle_w=100, tdp_w=300)
DAY_S, HOUR_S = 86400, 3600


def unix(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def window(**keys: Any) -> Window:
    """The window of a limit with these keys; `start` stands for ``from``."""
    if "start" in keys:
        keys["from"] = keys.pop("start")
    holidays = keys.pop("holidays", ())
    zone = keys.pop("zone", "UTC")
    return hs.Contract(limits=[{"limit_w": 1, **keys}], timezone=zone, holidays=holidays).limits[0].window


def spans(own: Window, since: str, until: str) -> list[tuple[str, str]]:
    """Begins and ends as dates in UTC."""
    found = zip(*own.spans(unix(since), unix(until)), strict=True)
    return [tuple(datetime.fromtimestamp(at, timezone.utc).strftime("%m-%d %H:%M") for at in one) for one in found]


def test_a_window_of_an_evening_on_weekdays():
    own = window(start="17:00", until="20:00", days="mon-fri", zone="Europe/Berlin")
    # 2 February 2007 is a friday; Berlin is an hour ahead.
    found = spans(own, "2007-02-01T00:00+00:00", "2007-02-06T00:00+00:00")
    assert found == [("02-01 16:00", "02-01 19:00"), ("02-02 16:00", "02-02 19:00"), ("02-05 16:00", "02-05 19:00")]


def test_a_window_across_midnight_is_of_the_day_on_which_it_begins():
    own = window(start="22:00", until="06:00", days="fri")
    found = spans(own, "2007-02-01T00:00+00:00", "2007-02-10T00:00+00:00")
    assert found == [("02-02 22:00", "02-03 06:00"), ("02-09 22:00", "02-10 00:00")]


def test_an_hour_that_the_clock_leaves_out_or_shows_twice():
    own = window(start="01:00", until="03:00", zone="Europe/Berlin")
    # On 25 March 2007 the clock goes from 02:00 to 03:00, on 28 October from 03:00 back to 02:00.
    assert spans(own, "2007-03-25T00:00+01:00", "2007-03-26T00:00+02:00") == [("03-25 00:00", "03-25 01:00")]
    assert spans(own, "2007-10-28T00:00+02:00", "2007-10-29T00:00+01:00") == [("10-27 23:00", "10-28 02:00")]
    # The evening is at another time of UTC from then on.
    evening = window(start="17:00", until="20:00", zone="Europe/Berlin")
    found = spans(evening, "2007-03-24T00:00+01:00", "2007-03-26T00:00+02:00")
    assert found == [("03-24 16:00", "03-24 19:00"), ("03-25 15:00", "03-25 18:00")]


def test_months_dates_and_holidays():
    winter = window(start="12:00", until="13:00", months="nov-feb", first_date="2007-01-31", last_date="2007-11-01")
    found = spans(winter, "2007-01-29T00:00+00:00", "2007-12-01T00:00+00:00")
    assert found[0] == ("01-31 12:00", "01-31 13:00")
    assert len(found) == 1 + 28 + 1
    assert found[-1] == ("11-01 12:00", "11-01 13:00")
    holidays = ["2007-02-05"]
    monday = ("2007-02-04T00:00+00:00", "2007-02-07T00:00+00:00")
    weekdays = window(days="mon-fri", holidays=holidays)
    assert spans(weekdays, *monday) == [("02-06 00:00", "02-07 00:00")]
    off = window(days="sat-sun,holidays", holidays=holidays)
    assert spans(off, *monday) == [("02-04 00:00", "02-06 00:00")]
    assert spans(window(holidays=holidays), *monday) == [("02-04 00:00", "02-07 00:00")]
    round_the_end = window(days="sun-mon")
    assert spans(round_the_end, "2007-02-03T00:00+00:00", "2007-02-08T00:00+00:00") == [("02-04 00:00", "02-06 00:00")]


_CLOCKS = st.integers(0, 95)


@given(
    start=_CLOCKS,
    stop=_CLOCKS,
    days=st.sets(st.sampled_from(["mon", "tue", "wed", "thu", "fri", "sat", "sun", "holidays"]), min_size=1),
    month=st.sampled_from(["mar", "mar-apr", "oct-mar", "jan-dec"]),
    zone=st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "UTC"]),
    at=st.sampled_from(["2007-03-08T00:00+00:00", "2007-03-23T00:00+00:00", "2007-10-26T00:00+00:00"]),
)
def test_an_instant_is_in_a_window_whose_time_the_clock_shows(start, stop, days, month, zone, at):
    if start == stop:
        return
    clock = [f"{quarter // 4:02}:{quarter % 4 * 15:02}" for quarter in (start, stop)]
    holiday = datetime.fromisoformat(at).date() + timedelta(days=2)
    own = window(
        start=clock[0], until=clock[1], days=",".join(sorted(days)), months=month, zone=zone, holidays=[str(holiday)]
    )
    begin_s, end_s = own.spans(unix(at), unix(at) + 5 * DAY_S)
    instants = unix(at) + np.arange(0, 5 * DAY_S, 900)
    inside = np.searchsorted(begin_s, instants, side="right") > np.searchsorted(end_s, instants, side="right")
    months = {"mar": {3}, "mar-apr": {3, 4}, "oct-mar": {10, 11, 12, 1, 2, 3}, "jan-dec": set(range(1, 13))}[month]

    def begins(day) -> bool:
        kind = "holidays" if day == holiday else day.strftime("%a").lower()
        return kind in days and day.month in months

    for unix_s, is_inside in zip(instants.tolist(), inside.tolist(), strict=True):
        shown = datetime.fromtimestamp(unix_s, own.zone)
        quarter = shown.hour * 4 + shown.minute // 15
        if start < stop:
            expected = start <= quarter < stop and begins(shown.date())
        else:
            expected = (quarter >= start and begins(shown.date())) or (
                quarter < stop and begins(shown.date() - timedelta(days=1))
            )
        assert is_inside == expected, shown


def jobs(*rows: tuple[float, float, int], walltime_s: float | None = None) -> hs.Workload:
    frame = pl.DataFrame(rows, schema=["submit_s", "runtime_s", "node_count"], orient="row")
    if walltime_s is not None:
        frame = frame.with_columns(walltime_s=pl.lit(walltime_s))
    return hs.Workload.from_polars(frame.with_row_index("job_id").cast({"job_id": pl.Int64}))


def test_a_bill_by_hand():
    # Ten nodes for 4 h from 16:00 on: 3,000 W. From 17:00 to 20:00 2,100 W are allowed: 900 W x 3 h = 2.7 kWh beyond.
    evening = {"limit_w": 2100, "from": "17:00", "until": "20:00", "excess_price_per_kwh": 2, "excess_price_per_kw": 10}
    dear = {"price_per_kwh": 0.5, "from": "18:00", "until": "19:00"}
    contract = hs.Contract(
        limits=[evening], prices=[dear], price_per_kwh=0.1, carbon_g_per_kwh=400, starts="2007-02-01T16:00"
    )
    found = hs.simulate(jobs((0, 4 * HOUR_S, 10)), TEN, "easy", contract=contract).summary()
    assert found["over_budget_s"] == 3 * HOUR_S
    assert found["over_budget_count"] == 1
    assert found["over_budget_peak_w"] == 900
    assert found["over_budget_kwh"] == pytest.approx(2.7, abs=1e-12)
    assert found["penalty"] == pytest.approx(2 * 2.7 + 10 * 0.9, abs=1e-12)
    # 12 kWh, of which 3 at 0.5.
    assert found["cost"] == pytest.approx(9 * 0.1 + 3 * 0.5 + found["penalty"], abs=1e-12)
    assert found["carbon_kg"] == pytest.approx(4.8, abs=1e-12)


def test_the_highest_excess_is_paid_for_in_each_month():
    limit = {"limit_ratio": 0.5, "excess_price_per_kw": 1}
    contract = hs.Contract(limits=[limit], starts="2007-01-31T22:00", timezone="Europe/Berlin")
    # Half of 3,000 W. In January two hours at 3,000 W, in February first as much, later less.
    work = jobs((0, 3 * HOUR_S, 10), (4 * HOUR_S, HOUR_S, 6))
    found = hs.simulate(work, TEN, "easy", contract=contract).summary()
    assert found["penalty"] == pytest.approx(1.5 + 1.5)
    assert found["over_budget_kwh"] == pytest.approx(3 * 1.5 + 0.7)


def test_the_lowest_limit_and_the_first_price_count():
    limits = [{"limit_w": 2000}, {"limit_w": 1500, "from": "01:00", "until": "02:00"}, {"limit_w": 2500}]
    prices = [{"price_per_kwh": 3, "from": "01:00", "until": "02:00"}, {"price_per_kwh": 2, "until": "02:00"}]
    contract = hs.Contract(limits=limits, prices=prices, price_per_kwh=1, starts="2007-01-01T00:00")
    found = hs.simulate(jobs((0, 3 * HOUR_S, 10)), TEN, "easy", contract=contract).summary()
    assert found["over_budget_kwh"] == pytest.approx(1 + 1.5 + 1)
    assert found["cost"] == pytest.approx(3 * (2 + 3 + 1))


def test_prices_by_hour_of_the_day():
    contract = hs.Contract(price_per_kwh=list(range(24)), starts="2007-01-01T22:30")
    found = hs.simulate(jobs((0, 2 * HOUR_S, 10)), TEN, "easy", contract=contract).summary()
    assert found["cost"] == pytest.approx(3 * (0.5 * 22 + 23 + 0.5 * 0))
    assert found["penalty"] == found["over_budget_kwh"] == 0


def test_energy_without_a_price_is_reported():
    contract = hs.Contract(prices=[{"price_per_kwh": 1, "until": "01:00"}], starts="2007-01-01T00:00")
    result = hs.simulate(jobs((0, 4 * HOUR_S, 10)), TEN, "easy", contract=contract)
    assert result.summary()["cost"] == pytest.approx(3)
    assert "the contract does not say what" in str(result.concerns[0])
    assert "75 % of the energy" in str(result.concerns[0])


CONTRACT = {
    "timezone": "Europe/Berlin",
    "starts": "2007-02-01T00:00",
    "holidays": ["2007-02-02"],
    "price_per_kwh": 0.2,
    "limits": [{"limit_w": 2100.0, "from": "17:00", "until": "20:00", "days": "mon-fri", "excess_price_per_kwh": 1.5}],
}


def poisson(seed: int) -> hs.Workload:
    chance = np.random.default_rng(seed)
    submit_s = np.cumsum(chance.exponential(4500, 200))
    rows = zip(submit_s, chance.exponential(8000, 200) + 60, chance.integers(1, 8, 200), strict=True)
    return jobs(*((float(a), float(b), int(c)) for a, b, c in rows))


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "easy:power=system-budget", "random"])
def test_what_is_beyond_equals_a_plain_integration(policy):
    contract = hs.Contract.from_dict(CONTRACT)
    result = hs.simulate(poisson(3), TEN, policy, contract=contract)
    check_schedule(result, poisson(3), TEN)
    found, rows = result.summary(), result.timeline.select("time_s", "power_w").rows()
    zero_s = datetime(2007, 2, 1, tzinfo=BERLIN).timestamp()
    beyond_s = beyond_j = energy_j = 0.0
    for (since_s, power_w), (until_s, _) in itertools.pairwise(rows):
        energy_j += power_w * (until_s - since_s)
        if power_w <= 2100:
            continue
        day = datetime.fromtimestamp(zero_s + since_s, BERLIN).replace(hour=0, minute=0, second=0, microsecond=0)
        while day.timestamp() < zero_s + until_s:
            if day.weekday() < 5 and str(day.date()) != "2007-02-02":
                low = max(since_s, day.replace(hour=17).timestamp() - zero_s)
                high = min(until_s, day.replace(hour=20).timestamp() - zero_s)
                beyond_s += max(0.0, high - low)
                beyond_j += max(0.0, high - low) * (power_w - 2100)
            day += timedelta(days=1)
    assert found["over_budget_s"] == pytest.approx(beyond_s, rel=1e-9)
    assert found["over_budget_kwh"] == pytest.approx(beyond_j / 3.6e6, rel=1e-9)
    assert found["penalty"] == pytest.approx(1.5 * beyond_j / 3.6e6, rel=1e-9)
    assert found["cost"] == pytest.approx(0.2 * energy_j / 3.6e6 + found["penalty"], rel=1e-9)
    assert beyond_s > 0


def table_of(contract: hs.Contract, days: int) -> hs.Events:
    """The same limits as rows of budgets."""
    rows = Terms.of(contract, None, last_s=0.0, peak_w=1.0, log="").rows(0.0, days * DAY_S)
    return hs.Events.from_polars(rows.with_columns(kind=pl.lit("budget")))


KEEPS = ["easy:power=system-budget:power.foresight_s=all", "power-slurm:power.on_excess=suspend", "power-slurm"]


@pytest.mark.parametrize("policy", [*KEEPS, "easy:power=system-budget", "conservative:power=system-budget"])
def test_a_contract_is_kept_like_a_table_of_its_windows(policy):
    contract = hs.Contract.from_dict(CONTRACT)
    mine = hs.simulate(poisson(5), TEN, policy, contract=contract)
    by_table = hs.simulate(poisson(5), TEN, policy, events=table_of(contract, 60))
    assert mine.jobs.drop("reason").equals(by_table.jobs.drop("reason"))
    assert mine.timeline.equals(by_table.timeline)
    check_schedule(mine, poisson(5), TEN)
    if policy in KEEPS:
        assert mine.summary()["over_budget_s"] == 0
    assert mine.summary()["over_budget_s"] == pytest.approx(by_table.summary()["over_budget_s"])


def test_a_policy_keeps_to_its_own_budget_where_that_is_lower():
    contract = hs.Contract.from_dict(CONTRACT)
    own = hs.Policy.preset("easy", power={"name": "system-budget", "budget_w": 1900, "foresight_s": "all"})
    result = hs.simulate(poisson(5), TEN, own, contract=contract)
    assert result.summary()["peak_power_w"] <= 1900
    assert result.timeline["budget_w"].unique().to_list() == [1900]


W2 = jobs((0, 60, 10), (0, 60, 2), walltime_s=DAY_S)
EVENINGS = {"limits": [{"limit_w": 2100, "from": "17:00", "until": "20:00"}], "starts": "2007-02-01T00:00"}
FORESEES = "easy:power=system-budget:power.foresight_s=all"
NAMED = (
    "jobs that fit between no two changes of the power budget: 1 job (0); job 0 needs 3,000 W for 24.0 h, which are "
    "left for 21.0 h at most; "
)


def test_a_job_that_fits_between_no_two_windows_waits_and_is_named():
    result = hs.simulate(W2, TEN, FORESEES, contract=hs.Contract.from_dict(EVENINGS))
    assert result.jobs["start_s"].to_list() == [None, 0.0]
    assert result.jobs["state"].to_list() == ["pending", "completed"]
    assert result.jobs["reason"][0] == "fits between no two changes of the power budget"
    assert result.summary()["makespan_s"] == 60
    check_schedule(result, W2, TEN)
    said = [str(concern) for concern in result.concerns]
    assert NAMED + 'they never start; a contract with unfit="reject" turns them away at their submit' in said


def test_or_is_rejected():
    contract = hs.Contract.from_dict({**EVENINGS, "unfit": "reject"})
    result = hs.simulate(W2, TEN, FORESEES, contract=contract)
    assert result.jobs["state"].to_list() == ["rejected", "completed"]
    assert result.jobs["reason"][0] == "fits between no two changes of the power budget"
    # A policy that does not look ahead starts it, and so does one that looks ahead for less than the job takes.
    for foresight_s in (0, 20 * HOUR_S):
        policy = f"easy:power=system-budget:power.foresight_s={foresight_s}"
        assert hs.simulate(W2, TEN, policy, contract=contract).jobs["start_s"][0] is not None
    policy = f"easy:power=system-budget:power.foresight_s={22 * HOUR_S}"
    assert hs.simulate(W2, TEN, policy, contract=contract).jobs["state"][0] == "rejected"


@pytest.mark.parametrize("days", [3, 30])
def test_a_job_that_waits_for_the_last_row_of_a_table_is_named(days):
    rows = table_of(hs.Contract.from_dict(EVENINGS), days)
    result = hs.simulate(W2, TEN, FORESEES, events=rows)
    assert result.jobs["start_s"][0] == (days - 1) * DAY_S + 20 * HOUR_S
    said = [str(concern) for concern in result.concerns]
    assert any(text.startswith(NAMED + "they wait for the last row of the events") for text in said)


def test_a_job_that_fits_on_a_weekend_waits_for_it():
    limits = [{"limit_w": 2100, "from": "17:00", "until": "20:00", "days": "mon-fri"}]
    # 1 February 2007 is a thursday; the friday's window ends at 20:00.
    contract = hs.Contract(limits=limits, starts="2007-02-01T00:00")
    result = hs.simulate(W2, TEN, FORESEES, contract=contract)
    assert result.jobs["start_s"][0] == DAY_S + 20 * HOUR_S
    assert not result.concerns


def test_limits_have_no_end():
    # Three years of one job a day at the wrong time; windows of the third year are not forgotten.
    work = jobs(*((day * DAY_S + 17 * HOUR_S, 600, 10) for day in range(0, 1100, 20)), walltime_s=600)
    contract = hs.Contract.from_dict(EVENINGS)
    result = hs.simulate(work, TEN, FORESEES, contract=contract)
    assert (result.jobs["start_s"] % DAY_S == 20 * HOUR_S).all()
    session = hs.Session(work, TEN, FORESEES, contract=contract)
    for time_s in range(0, 1100 * DAY_S, 97 * DAY_S):
        session.step_until(time_s)
    fork = session.fork()
    assert session.run().jobs.equals(result.jobs)
    assert fork.run().summary() == result.summary()


def test_a_saved_session_has_its_contract(tmp_path):
    session = hs.Session(W2, TEN, FORESEES, contract=hs.Contract.from_dict(EVENINGS))
    session.step_until(30)
    session.save(tmp_path / "one.hetsched")
    assert hs.Session.load(tmp_path / "one.hetsched").run() == session.run()


def test_the_clock_is_that_of_the_log():
    contract = hs.Contract(limits=[{"limit_w": 2100, "from": "17:00", "until": "20:00"}])
    with pytest.raises(
        hs.ConfigError, match=r"contract.starts: found nothing, expected a date such as 2007-02-01T00:00"
    ):
        hs.simulate(W2, TEN, "easy", contract=contract)
    work = jobs((unix("2007-02-01T19:30+00:00"), HOUR_S, 10))
    assert hs.simulate(work, TEN, "easy", contract=contract).summary()["over_budget_s"] == HOUR_S / 2


def test_a_schedule_of_others_is_metered_against_it():
    contract = hs.Contract.from_dict(CONTRACT)
    result = hs.simulate(poisson(3), TEN, "easy", contract=contract)
    metered = hs.meter(poisson(3), TEN, result.jobs.select("job_id", "start_s", "nodes"), contract=contract)
    keys = ("over_budget_s", "over_budget_kwh", "penalty", "cost")
    assert [metered.summary()[key] for key in keys] == [result.summary()[key] for key in keys]


def test_an_environment_keeps_to_it():
    pytest.importorskip("gymnasium")
    from hetsched.gym import SchedulingEnv  # noqa: PLC0415 -- gymnasium need not be there

    contract = hs.Contract.from_dict(CONTRACT)
    power = {"name": "system-budget", "foresight_s": "all"}
    env = SchedulingEnv(poisson(5), TEN, power=power, contract=contract)
    _, info = env.reset(seed=0)
    is_over = False
    while not is_over:
        _, _, is_over, _, info = env.step(int(info["action_mask"].argmax()))
    assert info["summary"]["over_budget_s"] == info["summary"]["penalty"] == 0
    assert env.result().timeline["budget_w"].min() == 2100


def test_a_sweep_knows_the_clock_of_each_log():
    contract = hs.Contract(limits=[{"limit_w": 2100, "from": "17:00", "until": "20:00"}])
    work = {hour: jobs((unix(f"2007-02-01T{hour}:30+00:00"), HOUR_S, 10)) for hour in ("18", "19")}
    rows = hs.sweep(work, TEN, ["easy"], contract=contract, workers=1, progress=None)
    assert rows["over_budget_s"].to_list() == [HOUR_S, HOUR_S / 2]


FAULTS = [
    ({}, "limits: found no limit, no price and no carbon intensity, expected at least one of them"),
    ({"limit": []}, r"limit: found `\[\]`, expected one of limits, .*; did you mean `limits`"),
    ({"limits": [{"limit_kw": 1}]}, r"limits\[0\].limit_kw: found `1`, expected one of .*did you mean `limit_w`"),
    ({"limits": [{"limit_w": 1, "limit_ratio": 1}]}, r"limits\[0\].limit_w: found limit_w and limit_ratio"),
    ({"limits": [{"limit_w": 1, "days": "mon-fry"}]}, r"limits\[0\].days: found `mon-fry`, expected some of mon, tue"),
    ({"limits": [{"limit_w": 1, "months": "13"}]}, r"limits\[0\].months: found `13`, expected some of jan, feb"),
    ({"limits": [{"limit_w": 1, "from": "8", "until": "26:00"}]}, r"from: found `8`, expected a time of day such as"),
    ({"limits": [{"limit_w": 1, "from": "8:00", "until": "8:00"}]}, r"until: found `8:00`, expected another time"),
    ({"limits": [{"limit_w": 1, "timezone": "Europe/Berlyn"}]}, r"limits\[0\].timezone: found `Europe/Berlyn`"),
    ({"prices": [{"from": "8:00"}]}, r"prices\[0\].price_per_kwh: found nothing, expected a number, or 24 of them"),
    ({"price_per_kwh": [1, 2]}, r"price_per_kwh: found 2 numbers"),
    ({"carbon_g_per_kwh": -1}, r"carbon_g_per_kwh: found `-1`, expected a number between 0 and"),
    ({"price_per_kwh": 1, "starts": "yesterday"}, r"starts: found `yesterday`, expected a date with a time such as"),
    ({"price_per_kwh": 1, "holidays": ["2007-02-30"]}, r"holidays\[0\]: found `2007-02-30`, expected a date such as"),
    ({"price_per_kwh": 1, "unfit": "kill"}, r"unfit: found `kill`, expected one of wait, reject"),
]


@pytest.mark.parametrize(("data", "message"), FAULTS)
def test_faults_are_reported(data, message):
    with pytest.raises(hs.ConfigError, match=message):
        hs.Contract.from_dict(data)


def test_all_faults_are_reported_at_once():
    with pytest.raises(hs.ConfigError) as error:
        hs.Contract.from_dict({"limits": [{"limit_w": -1, "days": "x"}, {"from": "x"}], "unfit": 1, "price": 2})
    places = [fault[0] for fault in error.value.faults]
    assert places == ["price", "limits[0].limit_w", "limits[0].days", "limits[1].limit_w", "limits[1].from", "unfit"]


def test_what_a_policy_cannot_keep_is_refused():
    low = hs.Contract(limits=[{"limit_w": 900}], starts="2007-02-01T00:00")
    assert hs.simulate(W2, TEN, "easy", contract=low).summary()["over_budget_s"] == 120
    with pytest.raises(
        hs.ConfigError, match=r"contract.limits\[0\]: found 900 W, expected at least 1,000 W, what the idle"
    ):
        hs.simulate(W2, TEN, "easy:power=system-budget", contract=low)
    rows = table_of(hs.Contract.from_dict(EVENINGS), 2)
    with pytest.raises(hs.ConfigError, match="rows of kind budget, expected no such rows with a contract"):
        hs.simulate(W2, TEN, FORESEES, contract=low, events=rows)
    session = hs.Session(W2, TEN, FORESEES, contract=hs.Contract.from_dict(EVENINGS))
    with pytest.raises(hs.ConfigError, match="rows of kind budget, expected no such rows with a contract"):
        session.inject(rows)
    with pytest.raises(hs.ConfigError, match="contract: found `dict`, expected a Contract"):
        hs.simulate(W2, TEN, contract={"limits": []})


def test_a_contract_in_a_file(tmp_path):
    text = """
    timezone = "Europe/Berlin"
    holidays = [2007-02-19]
    price_per_kwh = 0.2
    [[limits]]
    limit_w = 2100
    from = 17:00:00
    until = "20:00"
    first_date = 2007-01-01
    """
    alone, within = tmp_path / "c.toml", tmp_path / "e.toml"
    alone.write_text(text)
    within.write_text("[contract]\n" + text.replace("[[limits]]", "[[contract.limits]]"))
    contract = hs.Contract.from_toml(alone)
    assert contract == hs.Contract.from_toml(within) == hs.Contract.from_dict(contract.to_dict())
    assert contract.sha256 == hs.Contract.from_toml(within).sha256
    assert repr(contract) == "<Contract: 1 limit, 1 price>"
    assert pickle.loads(pickle.dumps(contract)) == contract
    within.write_text("[contract]\nprice_per_kwh = true\n")
    with pytest.raises(hs.ConfigError, match=r"contract.price_per_kwh: found `True`"):
        hs.Contract.from_toml(within)
