"""A bill is what a plain program makes of a timeline by quarters of an hour, and a contract is kept where it can be."""

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hetsched as hs
from hetsched.testing import check_schedule

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")
PLATFORM = hs.Platform.homogeneous(nodes=8, idle_w=100, tdp_w=300)
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun", "holidays")
QUARTER_S = 900


def clock(quarter: int) -> str:
    return f"{quarter // 4:02}:{quarter % 4 * 15:02}"


@st.composite
def windows(draw):
    start, stop = draw(st.integers(0, 95)), draw(st.integers(1, 96))
    if start == stop:
        return {}
    days = draw(st.sets(st.sampled_from(DAYS), min_size=1))
    return {"from": clock(start), "until": clock(stop), "days": ",".join(sorted(days))}


PRICES = st.sampled_from([0.0, 0.5, 2.0])


@st.composite
def contracts(draw):
    """A contract on days with and without a change of the clock, by Berlin's or New York's."""
    limit = st.fixed_dictionaries(
        {"limit_w": st.sampled_from([900, 1200, 1500.0]), "excess_price_per_kwh": PRICES, "excess_price_per_kw": PRICES}
    )
    limits = [draw(limit) | draw(windows()) for _ in range(draw(st.integers(1, 3)))]
    prices = [{"price_per_kwh": draw(PRICES)} | draw(windows()) for _ in range(draw(st.integers(0, 3)))]
    return {
        "timezone": draw(st.sampled_from(["Europe/Berlin", "America/New_York"])),
        "starts": draw(
            st.sampled_from(["2007-03-23T12:00", "2007-10-27T00:07", "2007-03-10T23:59", "2007-05-30T06:00"])
        ),
        "holidays": ["2007-03-24", "2007-06-01"],
        "price_per_kwh": 0.1,
        "limits": limits,
        "prices": prices,
    }


@st.composite
def logs(draw):
    size = draw(st.integers(1, 12))
    several = {"min_size": size, "max_size": size}
    runtime_s = draw(st.lists(st.floats(60, 60000), **several))
    frame = {
        "job_id": range(size),
        "submit_s": sorted(draw(st.lists(st.floats(0, 300000), **several))),
        "runtime_s": runtime_s,
        "walltime_s": runtime_s,
        "node_count": draw(st.lists(st.integers(1, 8), **several)),
    }
    return hs.Workload.from_polars(pl.DataFrame(frame))


def holds(clause: dict, shown: datetime, holidays: set[date]) -> bool:
    """True if a clause holds while the clock shows this quarter of an hour."""
    if "from" not in clause:
        return True
    start, stop = (int(text[:2]) * 4 + int(text[3:]) // 15 for text in (clause["from"], clause["until"]))
    quarter, day = shown.hour * 4 + shown.minute // 15, shown.date()

    def begins(day: date) -> bool:
        return ("holidays" if day in holidays else day.strftime("%a").lower()) in clause["days"].split(",")

    if start < stop:
        return start <= quarter < stop and begins(day)
    return (quarter >= start and begins(day)) or (quarter < stop and begins(day - timedelta(days=1)))


def plain_bill(contract: dict, timeline: pl.DataFrame) -> dict[str, float]:
    zone = ZoneInfo(contract["timezone"])
    zero_s = datetime.fromisoformat(contract["starts"]).replace(tzinfo=zone).timestamp()
    holidays = {date.fromisoformat(day) for day in contract["holidays"]}
    at_s, power_w = timeline["time_s"].to_list(), timeline["power_w"].to_list()
    beyond_s = beyond_kwh = penalty = energy = 0.0
    highest_kw: dict[tuple[int, int, int], float] = {}
    for since_s, until_s, watts in zip(at_s, at_s[1:], power_w, strict=False):
        slot = (zero_s + since_s) // QUARTER_S * QUARTER_S
        while slot < zero_s + until_s:
            lasts_s = min(until_s, slot + QUARTER_S - zero_s) - max(since_s, slot - zero_s)
            shown = datetime.fromtimestamp(slot, zone)
            held = [place for place, one in enumerate(contract["limits"]) if holds(one, shown, holidays)]
            price = next((one["price_per_kwh"] for one in contract["prices"] if holds(one, shown, holidays)), 0.1)
            energy += price * watts * lasts_s / 3.6e6
            slot += QUARTER_S
            if not held:
                continue
            place = min(held, key=lambda one: (contract["limits"][one]["limit_w"], one))
            limit = contract["limits"][place]
            if watts <= limit["limit_w"] * (1 + 1e-9):
                continue
            excess_kw = (watts - limit["limit_w"]) / 1e3
            beyond_s += lasts_s
            beyond_kwh += excess_kw * lasts_s / 3600
            penalty += limit["excess_price_per_kwh"] * excess_kw * lasts_s / 3600
            month = (place, shown.year, shown.month)
            highest_kw[month] = max(highest_kw.get(month, 0.0), excess_kw)
    penalty += sum(contract["limits"][place]["excess_price_per_kw"] * kw for (place, *_), kw in highest_kw.items())
    return {
        "over_budget_s": beyond_s,
        "over_budget_kwh": beyond_kwh,
        "penalty": penalty,
        "cost": energy + penalty,
    }


POLICIES = ("easy", "conservative", "easy:power=system-budget", "power-slurm:power.on_excess=suspend")


@given(contract=contracts(), log=logs(), policy=st.sampled_from(POLICIES))
def test_a_bill_is_what_a_plain_program_makes_of_the_timeline(contract, log, policy):
    result = hs.simulate(log, PLATFORM, policy, contract=hs.Contract.from_dict(contract))
    summary = result.summary()
    for name, there in plain_bill(contract, result.timeline).items():
        assert summary[name] == pytest.approx(there, rel=1e-9, abs=1e-6), name
    check_schedule(result, log, PLATFORM)


@given(contract=contracts(), log=logs(), unfit=st.sampled_from(["wait", "reject"]))
def test_who_looks_ahead_keeps_a_contract_and_leaves_out_only_what_fits_nowhere(contract, log, unfit):
    policy = "easy:power=system-budget:power.foresight_s=all"
    result = hs.simulate(log, PLATFORM, policy, contract=hs.Contract.from_dict({**contract, "unfit": unfit}))
    assert result.summary()["over_budget_s"] == 0
    left = result.jobs.filter(pl.col("start_s").is_null())
    assert set(left["reason"]) <= {
        "fits between no two changes of the power budget",
        "would exceed the power budget on any nodes",
    }
    for row in left.iter_rows(named=True):
        assert longest_s(contract, 800 + 200 * row["node_count"], row["submit_s"]) < row["walltime_s"]


def longest_s(contract: dict, need_w: float, since_s: float) -> float:
    """The longest time for which so many watts are allowed within the five weeks after an instant."""
    zone = ZoneInfo(contract["timezone"])
    zero_s = datetime.fromisoformat(contract["starts"]).replace(tzinfo=zone).timestamp()
    holidays = {date.fromisoformat(day) for day in contract["holidays"]}
    first = (zero_s + since_s) // QUARTER_S * QUARTER_S
    is_left = []
    for slot in np.arange(first, first + 35 * 86400, QUARTER_S).tolist():
        shown = datetime.fromtimestamp(slot, zone)
        held = [one["limit_w"] for one in contract["limits"] if holds(one, shown, holidays)]
        is_left.append(need_w <= min([*held, 2400.0]))
    longest = run = 0
    for free in is_left:
        run = run + 1 if free else 0
        longest = max(longest, run)
    # The first quarter may have begun before.
    return longest * QUARTER_S - (zero_s + since_s - first if is_left[0] else 0.0) * (longest == sum(is_left[:longest]))
