"""Options and parameters in numpy's numbers, fractions and decimals: the run is the one that plain numbers ask for."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import hetsched as hs

WORKLOAD = hs.Workload.from_polars(
    pl.DataFrame(
        {"job_id": [1, 2], "submit_s": [0, 30], "runtime_s": [10, 20], "node_count": [1, 2], "app": ["a", "a"]}
    )
)
TABLE = hs.VariationTable(["a"], power_w=[[150.0, 250.0]])
PLATFORM = hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300).with_tables(actual=TABLE)


def run(policy="easy", **options):
    return hs.simulate(WORKLOAD, PLATFORM, policy, **options)


ODD_OPTIONS = [
    ({"seed": np.int64(3)}, {"seed": 3}),
    ({"seed": np.uint64(2**64 - 1)}, {"seed": 2**64 - 1}),
    ({"until_s": np.float32(12.5)}, {"until_s": 12.5}),
    ({"until_s": np.int64(12)}, {"until_s": 12}),
    ({"until_s": Fraction(25, 2)}, {"until_s": 12.5}),
    ({"until_s": Decimal("12.5")}, {"until_s": 12.5}),
    ({"kill_at_walltime": np.False_, "bound": np.True_}, {"kill_at_walltime": False, "bound": True}),
    ({"kill_grace_s": np.int64(5), "walltimes": np.str_("stretch")}, {"kill_grace_s": 5.0, "walltimes": "stretch"}),
    ({"kill_grace_s": Decimal("2.5")}, {"kill_grace_s": 2.5}),
    ({"on_unknown_app": np.str_("nominal")}, {"on_unknown_app": "nominal"}),
]


@pytest.mark.parametrize(("odd", "plain"), ODD_OPTIONS)
def test_options_in_other_kinds_of_number_are_the_plain_ones(odd, plain, tmp_path):
    result = run("random", **odd)
    result.write(tmp_path)
    assert hs.read_result(tmp_path) == result == run("random", **plain)


ODD_PARAMETERS = [
    ("easy", {"depth": np.int64(3)}, {"depth": 3}),
    ("easy", {"backfill": {"name": "reservations", "depth": np.int16(3)}}, {"backfill.depth": 3}),
    ("vahrm", {"pcr": np.float32(0.75), "first_run": np.True_}, {"pcr": 0.75, "first_run": True}),
    ("vahrm", {"pcr": Fraction(3, 4)}, {"pcr": 0.75}),
    ("vahrm", {"pcr": Decimal("0.75")}, {"pcr": 0.75}),
]


@pytest.mark.parametrize(("preset", "odd", "plain"), ODD_PARAMETERS)
def test_a_policys_parameters_in_other_kinds_of_number_are_the_plain_ones(preset, odd, plain, tmp_path):
    policy, same = hs.Policy.preset(preset, **odd), hs.Policy.preset(preset, **plain)
    assert policy.parts == same.parts
    assert "np." not in policy.name
    result = run(policy)
    result.write(tmp_path)
    assert hs.read_result(tmp_path) == result


def test_measured_borders_refuse_others_next_to_them_in_numpys_words_too():
    with pytest.raises(hs.ConfigError, match=r"u_l: found `0.5`, expected nothing with measured=true"):
        hs.Policy.preset("pool", measured=np.True_, u_l=0.5)


@pytest.mark.parametrize("error_ratio", [np.float32(0.25), Fraction(1, 4), Decimal("0.25")])
def test_a_predictors_parameters_in_other_kinds_of_number_are_the_plain_ones(error_ratio, tmp_path):
    result = run(predictor=hs.power.Noisy(error_ratio, seed=np.int64(2)))
    result.write(tmp_path)
    assert hs.read_result(tmp_path) == result == run(predictor=hs.power.Noisy(0.25, seed=2))
    assert result.provenance["options"]["predictor"] == "Noisy(error_ratio=0.25, seed=2)"


def test_a_sweep_of_numpys_seeds_and_options_has_the_rows_of_plain_ones():
    odd = hs.sweep(
        WORKLOAD, PLATFORM, "random", seeds=np.arange(2), until_s=np.float32(12.5), bound=np.True_, workers=1
    )
    assert odd.equals(hs.sweep(WORKLOAD, PLATFORM, "random", seeds=[0, 1], until_s=12.5, bound=True, workers=1))


@pytest.mark.parametrize("until_s", [10**400, -(10**400), Decimal("1e400")], ids=["whole", "negative", "decimal"])
def test_an_instant_beyond_all_floats_is_refused(until_s):
    with pytest.raises(hs.ConfigError, match=r"^until_s: found .*, expected a number between -1e\+12 and 1e\+12$"):
        run(until_s=until_s)


@pytest.mark.parametrize("seed", [np.float64(3), Fraction(3, 1), np.array([3]), "3"])
def test_what_is_no_whole_number_is_no_seed(seed):
    with pytest.raises(hs.ConfigError, match=r"^seed: found .*, expected a whole number"):
        run(seed=seed)
