"""`hs.simulate(..., predictor=...)`: whose predictions a run decides by, what it charges, and what it records."""

import numpy as np
import polars as pl
import pytest

import hetsched as hs
from hetsched.power import Ideal, Noisy, SingleStage

# Node 1 draws least for `a`, node 0 for `b`.
ACTUAL = hs.VariationTable(["a", "b"], power_w=[[200.0, 150.0, 180.0], [110.0, 140.0, 120.0]])
# Believes the other way round.
WRONG = hs.VariationTable(["b", "a"], power_w=[[140.0, 110.0, 120.0], [150.0, 200.0, 180.0]])
PLATFORM = hs.Platform.homogeneous(nodes=3, idle_w=40.0, tdp_w=250.0)
TABLED = PLATFORM.with_tables(actual=ACTUAL)
JOBS = hs.Workload.from_polars(
    pl.DataFrame(
        {
            "job_id": [1, 2],
            "submit_s": [0.0, 1000.0],
            "runtime_s": [100.0, 100.0],
            "node_count": [1, 1],
            "app": ["a", "b"],
        }
    )
)


def run(platform=TABLED, **options):
    return hs.simulate(JOBS, platform, "cgva-fcfs", **options)


def nodes_taken(result):
    return [nodes[0] for nodes in result.jobs["nodes"].to_list()]


def test_decisions_follow_the_predictor_and_charges_the_actual_table():
    result = run(predictor=WRONG)
    assert nodes_taken(result) == [0, 1]
    assert result.summary()["job_energy_j"] == pytest.approx(100 * (200 + 140))
    assert nodes_taken(run()) == [1, 0]


@pytest.mark.parametrize("predictor", ["ideal", Ideal(), Noisy(error_ratio=0.0), ACTUAL])
def test_an_exact_predictor_decides_as_the_actual_table(predictor):
    result = run(PLATFORM.with_tables(actual=ACTUAL, predicted=WRONG), predictor=predictor)
    assert result.jobs.equals(run().jobs)


def test_without_a_predictor_the_platform_believes_what_it_did():
    assert nodes_taken(run(PLATFORM.with_tables(actual=ACTUAL, predicted=WRONG))) == [0, 1]


def test_a_predictor_gives_what_its_table_gives():
    noisy = Noisy(error_ratio=0.5, seed=3)
    assert run(predictor=noisy).jobs.equals(run(predictor=noisy.table(ACTUAL)).jobs)


def test_a_fitted_models_table_is_a_predictor():
    # Each node's watts are a line of one rate: a linear model is right, and decides as the actual table does.
    model = SingleStage(model="linear").fit([[1.0], [2.0]], ACTUAL.power_w.T)
    assert nodes_taken(run(predictor=model.table([[2.0], [1.0]], apps=["b", "a"]))) == [1, 0]


def test_the_record_holds_the_table_and_what_it_came_from():
    for predictor, name in (
        (None, None),
        ("ideal", "ideal"),
        (Noisy(error_ratio=0.2, seed=4), "Noisy(error_ratio=0.2, seed=4)"),
        (WRONG, "<VariationTable: 2 applications, 3 nodes, power_w>"),
    ):
        provenance = run(predictor=predictor).provenance
        assert provenance["options"]["predictor"] == name
        assert provenance["tables"]["actual"] == ACTUAL.sha256
    assert run().provenance["tables"]["predicted"] is None
    assert run(predictor="ideal").provenance["tables"]["predicted"] == ACTUAL.sha256
    noisy = Noisy(error_ratio=0.2, seed=4)
    assert run(predictor=noisy).provenance["tables"]["predicted"] == noisy.table(ACTUAL).sha256


class Tenth:
    """A predictor of somebody else's, without a word about itself."""

    def table(self, actual):
        return hs.VariationTable(actual.apps, power_w=actual.power_w * 0.1)


def test_an_own_predictor_is_recorded_by_its_class(tmp_path):
    for name in ("first", "second"):
        run(predictor=Tenth()).write(tmp_path / name)
    assert run(predictor=Tenth()).provenance["options"]["predictor"] == "Tenth"
    first, second = (pl.read_json(tmp_path / name / "summary.json").drop("timing") for name in ("first", "second"))
    assert first.equals(second)


def test_a_mistake_in_an_own_predictor_comes_back_as_itself():
    class Broken:
        def table(self, actual):
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        run(predictor=Broken())


class Matrix:
    def table(self, actual):
        return np.array(actual.power_w)


FAULTS = [
    (
        TABLED,
        "idael",
        "predictor: found `idael`, expected None, `ideal`, a VariationTable of predictions, or an object",
    ),
    (TABLED, 3, "predictor: found `3`, expected None, `ideal`"),
    (TABLED, Noisy, "predictor: found the class Noisy, expected one of its objects: Noisy()"),
    (TABLED, Matrix(), "predictor: found a ndarray from Matrix.table, expected a VariationTable"),
    (
        TABLED,
        SingleStage(),
        "predictor: found the model SingleStage, expected its table for this platform: predictor=model.table(",
    ),
    (PLATFORM, "ideal", "predictor: found `ideal`, expected a platform with an actual table"),
    (
        PLATFORM,
        WRONG,
        "predictor: found `<VariationTable: 2 applications, 3 nodes, power_w>`, expected a platform with",
    ),
    (
        TABLED,
        hs.VariationTable(["a", "c"], power_w=np.ones((2, 3))),
        (
            "predictor: found `no application b`, expected the actual table's: a, b\n"
            "predictor: found `application c`, expected the actual table's: a, b"
        ),
    ),
    (
        TABLED,
        hs.VariationTable(["a", "b"], power_w=np.ones((2, 2))),
        "predictor: found `2 nodes`, expected a table of 3 nodes, as the platform has",
    ),
    (TABLED, Noisy(error_ratio=-1.0), "error_ratio: found `-1`, expected a number >= 0"),
]


@pytest.mark.parametrize(("platform", "predictor", "message"), FAULTS, ids=[message[:60] for _, _, message in FAULTS])
def test_a_predictor_that_cannot_be_is_refused(platform, predictor, message):
    with pytest.raises(hs.ConfigError) as caught:
        run(platform, predictor=predictor)
    assert str(caught.value).startswith(message)
