"""Policies: names, parameters, text and files, and what is refused."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hetsched as hs
from hetsched.policy import PRESETS, parse_policy, parts
from hetsched.policy import policy as policy_module
from hetsched.policy.parts import parameters_of, plain_number, takers_of, value_text


def messages_of(make):
    with pytest.raises(hs.ConfigError) as caught:
        make()
    return str(caught.value).splitlines()


def composition(policy):
    return {role: part["name"] for role, part in policy.parts.items() if part is not None}


# Each line as the contract and the textbook have it.
COMPOSITIONS = {
    "fcfs": ("fcfs", "none", "lowest-id"),
    "easy": ("fcfs", "reservations", "lowest-id"),
    "easy-sjbf": ("fcfs", "reservations", "lowest-id"),
    "fair-share": ("fair-share", "reservations", "lowest-id"),
    "conservative": ("fcfs", "reservations", "lowest-id"),
    "sjf": ("shortest", "none", "lowest-id"),
    "ljf": ("largest", "none", "lowest-id"),
    "random": ("fcfs", "none", "random"),
    "sequence": ("fcfs", "none", "lowest-id"),
    "naive": ("fcfs", "none", "lowest-id"),
    "paa": ("fcfs", "none", "best-rank"),
    "coa": ("fcfs", "none", "assignment"),
    "swa": ("fcfs", "none", "sliding-window"),
    "pool": ("fcfs", "none", "pools"),
    "vu-fcfs": ("fcfs", "none", "random"),
    "vu-fcfs-b": ("fcfs", "reservations", "random"),
    "cva-fcfs": ("fcfs", "none", "lowest-power-cpu"),
    "cva-fcfs-b": ("fcfs", "reservations", "lowest-power-cpu"),
    "cgva-fcfs": ("fcfs", "none", "lowest-power"),
    "cgva-fcfs-b": ("fcfs", "reservations", "lowest-power"),
    "vahrm": ("vahrm", "first-fit", "lowest-power", "system-budget"),
    "hetsched": ("vahrm", "patience", "opportunity-cost"),
    "replay": ("observed", "observed", "observed"),
}
if "on_excess" in parameters_of("power", "system-budget"):
    COMPOSITIONS["power-slurm"] = ("fcfs", "reservations", "lowest-id", "system-budget")
COMPOSITIONS["nqsv"] = ("fcfs", "plan", "lowest-id", "nqsv")
COMPOSITIONS["slurm"] = ("fcfs", "slurm", "lowest-id")
# Parameters of each with their defaults, as the contract has them.
PARAMETERS = {
    "paa": {"rank": "power"},
    "coa": {"interval_s": 0},
    "swa": {"window": 10, "on_miss": "narrowest", "application_aware": False},
    "pool": {"u_l": 0.65, "u_h": 0.8, "measured": False},
}


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_what_their_names_say(name):
    assert tuple(composition(hs.Policy.preset(name)).values()) == COMPOSITIONS[name]
    assert hs.Policy.preset(name).name == name


@pytest.mark.parametrize("name", PARAMETERS)
def test_presets_take_their_parameters_by_name(name):
    placement = hs.Policy.preset(name).parts["placement"]
    assert placement == {"name": COMPOSITIONS[name][2], **PARAMETERS[name]}
    assert hs.Policy.preset(name, **PARAMETERS[name]).parts["placement"] == placement


LISTS = [["lower-caps", "kill"], ["kill"], [], [100, 150.5], [100.0]]


@pytest.mark.parametrize("values", LISTS)
def test_lists_are_written_in_one_word_and_read_from_it(values):
    text = value_text(values)
    assert not set(text) & set(" ,:=")
    assert policy_module._setting_value(text) == values


def test_numbers_stay_numbers_among_lists():
    read = {
        text: policy_module._setting_value(text) for text in ("1e+06", "-3", "0.5", "true", "lower-caps", "1+2", "+")
    }
    assert read == {
        "1e+06": 1e6,
        "-3": -3,
        "0.5": 0.5,
        "true": True,
        "lower-caps": "lower-caps",
        "1+2": [1, 2],
        "+": [],
    }


needs_emergencies = pytest.mark.skipif(
    "on_excess" not in parameters_of("power", "system-budget"), reason="the engine has no emergencies yet"
)


@needs_emergencies
def test_power_slurm_lowers_caps_and_then_kills():
    policy = hs.Policy.preset("power-slurm")
    assert policy.parts["power"]["on_excess"] == ["lower-caps", "kill"]
    assert policy.parts["backfill"] == {"name": "reservations", "depth": 1, "order": "policy"}


@needs_emergencies
def test_parts_take_lists_of_words_and_numbers(tmp_path):
    file = tmp_path / "p.toml"
    file.write_text(
        '[policy]\npower = { name = "system-budget", on_excess = ["suspend", "kill"], caps_w = [100, 150] }\n'
    )
    read = hs.Policy.from_toml(file)
    assert read.parts["power"]["on_excess"] == ["suspend", "kill"]
    assert read.parts["power"]["caps_w"] == [100, 150]
    assert hs.Policy.from_dict(read.to_dict()) == read
    named = parse_policy("power-slurm:on_excess=suspend+kill:caps_w=100+150.5")
    assert named.parts["power"]["on_excess"] == ["suspend", "kill"]
    assert parse_policy(named.name).parts == named.parts
    read.parts["power"]["on_excess"].append("more")
    assert read.parts["power"]["on_excess"] == ["suspend", "kill"]


VAHRM = {"beta": 0.25**6, "starvation_limit_s": 604_800, "first_run": False, "profiling_ratio": 1.05}


def test_vahrm_takes_the_contracts_parameters_by_name():
    policy = hs.Policy.preset("vahrm")
    assert policy.parts["order"] == {"name": "vahrm", **VAHRM, "length": "runtime"}
    power = policy.parts["power"]
    assert {name: power[name] for name in ("name", "pcr", "budget_w", "on_excess")} == {
        "name": "system-budget",
        "pcr": 1.0,
        "budget_w": "none",
        "on_excess": [],
    }
    assert hs.Policy.preset("vahrm", **VAHRM, pcr=1.0).parts == policy.parts
    changed = hs.Policy.preset("vahrm", beta=0.01, pcr=0.8)
    assert changed.name == "vahrm:order.beta=0.01:power.pcr=0.8"
    assert parse_policy(changed.name) == changed


def test_a_week_may_be_any_time_or_none():
    for limit in (0, 3600.5, "none"):
        policy = hs.Policy.preset("vahrm", starvation_limit_s=limit)
        assert policy.parts["order"]["starvation_limit_s"] == limit
        assert parse_policy(policy.name) == policy


def test_first_runs_draw_lots():
    assert hs.Policy.preset("vahrm", first_run=True).uses_chance
    assert not hs.Policy.preset("vahrm").uses_chance


@pytest.mark.parametrize("name", [name for name in PRESETS if "fcfs" in name and len(name) > 4])
def test_the_rivals_of_vahrm_have_a_budget_where_one_is_given(name):
    assert hs.Policy.preset(name).parts["power"] is None
    power = hs.Policy.preset(name, pcr=0.5).parts["power"]
    assert (power["name"], power["pcr"], power["budget_w"]) == ("system-budget", 0.5, "none")
    held = hs.Policy.preset(name, budget_w=5e4)
    assert held.parts["power"]["budget_w"] == 5e4
    assert parse_policy(held.name) == held
    assert hs.Policy.from_dict(held.to_dict()) == held


def test_a_parameter_that_is_true_or_false_reads_back_from_the_name():
    policy = hs.Policy.preset("swa", application_aware=True, on_miss="wait")
    assert policy.name == "swa:placement.application_aware=true:placement.on_miss=wait"
    assert parse_policy(policy.name) == policy


def test_a_setting_that_is_given_twice_is_a_fault():
    assert messages_of(lambda: parse_policy("easy", settings=["depth=2", "depth=3"])) == [
        "policy.depth: found `depth=3` and `depth=2`, expected it once"
    ]
    assert parse_policy("easy:depth=2", settings=["depth=3"]).parts["backfill"]["depth"] == 3


def test_easy_holds_one_reservation_and_conservative_as_many_as_it_takes():
    assert hs.Policy.preset("easy").parts["backfill"]["depth"] == 1
    assert hs.Policy.preset("conservative").parts["backfill"]["depth"] == "unbounded"


def test_the_frame_of_presets_says_what_each_is():
    frame = hs.presets()
    assert frame.columns == ["name", "order", "backfill", "placement", "power", "sleep", "source", "parameters"]
    assert frame["name"].to_list() == list(COMPOSITIONS)
    parts_of_presets = [tuple(part for part in row if part) for row in frame.select(frame.columns[1:6]).rows()]
    assert parts_of_presets == list(COMPOSITIONS.values())
    assert frame["source"].null_count() == 0
    assert (
        dict(frame.select("name", "parameters").rows())["conservative"]
        == "backfill.depth=unbounded, backfill.order=policy"
    )


ROUND_TRIPS = [
    hs.Policy(),
    hs.Policy("wfp3", {"name": "reservations", "depth": 3}, {"name": "best-rank", "rank": "time"}),
    hs.Policy(order="shortest", name="mine"),
    *(hs.Policy.preset(name) for name in PRESETS),
    hs.Policy.preset("easy", placement="lowest-power", depth=4),
]


@pytest.mark.parametrize("policy", ROUND_TRIPS, ids=lambda policy: policy.name)
def test_dictionaries_give_the_policy_back(policy):
    assert hs.Policy.from_dict(policy.to_dict()) == policy


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("easy", {}),
        ("easy:placement=lowest-power", {"placement": "lowest-power"}),
        ("easy:backfill.depth=4", {"depth": 4}),
        ("fcfs:backfill=reservations:backfill.depth=2", {"backfill": {"name": "reservations", "depth": 2}}),
        ("fcfs:placement=best-rank:placement.rank=time", {"placement": "best-rank", "rank": "time"}),
    ],
)
def test_a_name_is_the_text_that_makes_the_policy_again(text, changes):
    policy = hs.Policy.preset(text.partition(":")[0], **changes)
    assert policy.name == text
    assert parse_policy(text) == policy


ORDERS = st.sampled_from([name for role, name in parts() if role == "order"])
PLACEMENTS = st.sampled_from([name for role, name in parts() if role == "placement"])


@given(st.sampled_from(list(PRESETS)), ORDERS, PLACEMENTS, st.none() | st.integers(1, 99) | st.just("unbounded"))
def test_every_changed_preset_can_be_written_and_read(preset, order, placement, depth):
    backfill = "first-fit" if depth is None else {"name": "reservations", "depth": depth}
    policy = hs.Policy.preset(preset, order=order, placement=placement, backfill=backfill)
    assert parse_policy(policy.name) == policy
    assert hs.Policy.from_dict(policy.to_dict()) == policy


@pytest.mark.parametrize("name", ["u_l", "u_h"])
def test_borders_that_are_measured_are_not_given_too(name):
    wanted = [f"policy.placement.{name}: found `0.7`, expected nothing with measured=true, which measures it"]
    assert messages_of(lambda: hs.Policy.preset("pool", measured=True, **{name: 0.7})) == wanted
    assert messages_of(lambda: parse_policy(f"pool:measured=true:{name}=0.7")) == wanted
    assert messages_of(lambda: hs.Policy.from_dict({"preset": "pool", "measured": True, name: 0.7})) == wanted
    assert hs.Policy.preset("pool", measured=False, **{name: 0.7}).parts["placement"][name] == 0.7


def test_a_run_with_measured_borders_reads_back():
    jobs = {"job_id": [1, 2], "submit_s": [0, 50], "runtime_s": [60, 60], "node_count": [1, 2]}
    platform = hs.Platform.homogeneous(nodes=4, idle_w=100, tdp_w=300)
    result = hs.simulate(hs.Workload.from_polars(pl.DataFrame(jobs)), platform, hs.Policy.preset("pool", measured=True))
    told = result.provenance["policy"]
    assert told["placement"]["measured"]
    assert hs.Policy.from_dict(told).to_dict() == told


def test_settings_come_last_and_win():
    assert parse_policy("easy:depth=2", settings=["backfill.depth = 5"]).parts["backfill"]["depth"] == 5
    assert parse_policy("easy", settings=["depth=unbounded"]).parts["backfill"]["depth"] == "unbounded"


def test_a_policy_from_toml(tmp_path):
    path = tmp_path / "policy.toml"
    path.write_text(
        '[policy]\norder = "fcfs"\nbackfill = { name = "reservations", depth = 4 }\nplacement = "lowest-power"\n'
    )
    expected = hs.Policy(backfill={"name": "reservations", "depth": 4}, placement="lowest-power")
    assert hs.Policy.from_toml(path) == expected
    path.write_text('[policy]\npreset = "easy"\nplacement = "lowest-power"\nname = "mine"\n')
    policy = hs.Policy.from_toml(path)
    assert policy.name == "mine"
    assert policy.parts == hs.Policy.preset("easy", placement="lowest-power").parts


REFUSED = [
    (lambda: hs.Policy.preset("esay"), "policy: found `esay`, expected one of fcfs, easy"),
    (lambda: hs.Policy.preset("easy", depht=3), "policy.depht: found `3`, expected one of order, backfill, placement"),
    (lambda: hs.Policy.preset("easy", rank="time"), "policy.rank: found `time`, expected one of order, backfill"),
    (lambda: hs.Policy.preset("easy", depth=0), "policy.backfill.depth: found 0, expected a whole number from 1"),
    (lambda: hs.Policy.preset("easy", depth=2.5), "policy.backfill.depth: found 2.5, expected a whole number from 1"),
    (
        lambda: hs.Policy.preset("easy", depth="deep"),
        "policy.backfill.depth: found `deep`, expected a whole number from",
    ),
    (lambda: hs.Policy(order="fcsf"), "policy.order: found `fcsf`, expected one of fcfs, shortest"),
    (lambda: hs.Policy(order=None), "policy.order: found `NoneType`, expected a part's name or a dictionary"),
    (lambda: hs.Policy(order={}), "policy.order.name: found `nothing`, expected one of fcfs"),
    (
        lambda: hs.Policy(order={"name": "fcfs", "depth": 1}),
        "policy.order.depth: found `1`, expected no parameter: `fcfs`",
    ),
    (
        lambda: hs.Policy(backfill={"name": "reservations", "dept": 1}),
        "policy.backfill.dept: found `1`, expected a paramet",
    ),
    (
        lambda: hs.Policy(power="budget"),
        "policy.power: found `budget`, expected one of system-budget",
    ),
    (lambda: hs.Policy(sleep={"name": "idle-timeout"}), "policy.sleep: found `idle-timeout`, expected one of timeout"),
    (lambda: hs.Policy.preset("easy", power="budget"), "policy.power: found `budget`, expected one of system-budget"),
    (lambda: hs.Policy.preset("vahrm", beta=1.5), "policy.order.beta: found 1.5, expected a number from 0 to 1"),
    (lambda: hs.Policy.preset("vahrm", beta=-0.1), "policy.order.beta: found -0.1, expected a number from 0 to 1"),
    (
        lambda: hs.Policy.preset("vahrm", starvation_limit_s=-1),
        'policy.order.starvation_limit_s: found -1, expected seconds from 0 to 1e12, or "none"',
    ),
    (
        lambda: hs.Policy.preset("vahrm", profiling_ratio=0.9),
        "policy.order.profiling_ratio: found 0.9, expected a factor from 1 to 1000",
    ),
    (lambda: hs.Policy.preset("vahrm", length="walltme"), "policy.order.length: found `walltme`, expected one of"),
    (lambda: hs.Policy.preset("vahrm", pcr=0), "policy.power.pcr: found 0, expected a number above 0, up to 1000"),
    (
        lambda: hs.Policy.preset("vu-fcfs", budget_w=-5),
        'policy.power.budget_w: found -5, expected watts above 0, up to 1e15, or "none"',
    ),
    (
        lambda: hs.Policy.preset("vu-fcfs", budget_w=5e4, pcr=0.5),
        "policy.power.pcr: found 0.5, expected nothing with budget_w",
    ),
    (lambda: hs.Policy.preset("easy", pcr=0.5), "policy.pcr: found `0.5`, expected one of order, backfill, placement"),
    (
        lambda: hs.Policy(placement=object()),
        "policy.placement: found `object`, expected a part's name or a dictionary of its",
    ),
    (lambda: hs.Policy.from_dict({"ordr": "fcfs"}), "policy.ordr: found `fcfs`, expected one of name, preset, order"),
    (lambda: hs.Policy.from_dict({"name": 5}), "policy.name: found `5`, expected a name"),
    (lambda: hs.Policy.from_dict({"preset": ["easy"]}), "policy: found `['easy']`, expected one of fcfs"),
    (lambda: parse_policy("easy:lowest-power"), "policy: found `lowest-power`, expected PARAM=VALUE"),
    (lambda: parse_policy(""), "policy: found ``, expected one of fcfs"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_cannot_be_is_one_line_with_its_path(make, message):
    (found,) = messages_of(make)
    assert found.startswith(message)


@pytest.mark.parametrize(
    ("make", "meant"),
    [
        (lambda: hs.Policy.preset("esay"), "easy"),
        (lambda: hs.Policy.preset("consevative"), "conservative"),
        (lambda: hs.Policy(placement="lowest_power"), "lowest-power"),
        (lambda: hs.Policy.preset("easy", depht=3), "depth"),
        (lambda: hs.Policy(backfill={"name": "reservations", "dept": 1}), "depth"),
        (lambda: hs.Policy.from_dict({"ordr": "fcfs"}), "order"),
    ],
)
def test_what_was_probably_meant_is_said(make, meant):
    assert messages_of(make)[0].endswith(f"did you mean `{meant}`?")


def test_all_faults_come_at_once():
    found = messages_of(lambda: hs.Policy(order="x", backfill="y", placement="z", power="p"))
    assert [line.split(":")[0] for line in found] == [
        f"policy.{r}" for r in ("order", "backfill", "placement", "power")
    ]


def test_files_without_a_policy_are_refused(tmp_path):
    path = tmp_path / "policy.toml"
    for text, found in (("", "nothing"), ('order = "fcfs"\n', "keys order"), ("policy = 3\n", "keys policy")):
        path.write_text(text)
        (message,) = messages_of(lambda: hs.Policy.from_toml(path))
        assert message == f"{path}: found {found}, expected a table [policy]"


def test_a_policy_that_was_made_cannot_be_changed_from_outside():
    policy = hs.Policy.preset("easy")
    policy.parts["backfill"]["depth"] = 99
    policy.to_dict()["backfill"]["depth"] = 99
    assert policy.parts["backfill"]["depth"] == 1


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("easy:budget_w=1.1MW", "; power=system-budget takes `budget_w`, as in power=system-budget:budget_w=1100000"),
        ("easy:power.budget_w=5e5", " takes `budget_w`, as in power=system-budget:budget_w=500000.0"),
        ("easy:power=system-budget:budget_w=0.5 GW", "up to 1e15, or \"none\"; `0.5 GW` is 500000000"),
        ("vahrm:starvation_limit_s=2days", "to 1e12, or \"none\"; `2days` is 172800"),
        ("vahrm:starvation_limit_s=5m", "expected seconds from 0 to 1e12, or \"none\""),
    ],
)  # fmt: skip
def test_a_value_with_its_unit_is_answered_with_the_number_and_where_it_goes(text, end):
    (line,) = messages_of(lambda: parse_policy(text))
    assert line.endswith(end)
    assert parse_policy("easy:power=system-budget:budget_w=1100000").parts["power"]["budget_w"] == 1100000


@pytest.mark.parametrize(
    ("parameter", "value", "number"),
    [
        ("budget_w", "1.1MW", "1100000"),
        ("policy.order.starvation_limit_s", "1h", "3600"),
        ("starvation_limit_s", "250 ms", "0.25"),
        ("depth", "4MW", None),
        ("budget_w", "4", None),
        ("budget_w", "4mw", None),
    ],
)
def test_a_number_with_a_unit_is_converted_to_the_parameters_unit(parameter, value, number):
    assert plain_number(parameter, value) == number


def test_a_parameter_names_the_parts_that_take_it():
    assert takers_of("budget_w") == ["power=system-budget"]
    assert takers_of("budget_w", "order") == []


def test_values_are_written_as_a_command_line_takes_them():
    assert [value_text(value) for value in (True, 0.8, "wait")] == ["true", "0.8", "wait"]


def test_an_order_of_candidates_is_refused_where_it_would_not_be_kept():
    with pytest.raises(hs.ConfigError, match=r"policy\.backfill\.order: found `newest`, expected one of policy, fcfs"):
        hs.Policy.preset("easy", **{"backfill.order": "newest"})
    for backfill in ("reservations", "plan"):
        with pytest.raises(hs.ConfigError, match=r"policy\.sleep: .*none with backfill\.order"):
            hs.Policy(backfill={"name": backfill, "depth": 1, "order": "shortest"}, sleep="timeout")
