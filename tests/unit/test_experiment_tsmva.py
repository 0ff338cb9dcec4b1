"""``tsmva``: what has to hold of every draw."""

import json

import polars as pl
import pytest

from hetsched.experiments.tsmva import LEFT_OUT, NEW, OURS, PAPER_MEAN, SEEN, TYPES


@pytest.fixture(scope="module")
def report(quick_report):
    return quick_report("tsmva")


def errors_of(report, split):
    keys = ["repetition", "scenario", "policy"]
    means = report.runs.filter(split=split).group_by(keys).agg(pl.col("mape_percent").mean())
    return means.pivot(on="policy", index=["repetition", "scenario"], values="mape_percent")


@pytest.mark.slow
class TestReport:
    def test_a_second_stage_is_nearer_in_sample_on_every_draw(self, report):
        errors = errors_of(report, SEEN)
        assert len(errors) == 3 * len(TYPES)
        assert (errors["LR+RF"] < errors["LR"]).all()
        assert (errors["RF+RF"] < errors["RF"]).all()

    def test_forests_are_farther_off_on_kernels_left_out_than_in_sample(self, report):
        for label in ("RF", "RF+RF"):
            apart = errors_of(report, LEFT_OUT).sort("repetition", "scenario")[label]
            seen = errors_of(report, SEEN).sort("repetition", "scenario")[label]
            assert (apart > seen).mean() > 0.8

    def test_ours_is_nearer_than_two_forests_left_out_and_after_one_run(self, report):
        for split in (LEFT_OUT, NEW):
            errors = errors_of(report, split)
            assert errors[OURS].mean() < errors["RF+RF"].mean()

    def test_every_number_of_the_papers_stands_next_to_ours(self, report):
        papers = [row.paper for row in report.rows if row.paper is not None]
        assert set(papers) >= {value for own in PAPER_MEAN.values() for value in own.values()}
        quantities = [row.quantity for row in report.rows]
        assert len(set(quantities)) == len(quantities)
        assert all(SEEN in q or LEFT_OUT in q or "test run" in q for q in quantities)

    def test_parameters_say_what_is_assumed(self, report):
        assumed = {one.name for one in report.parameters if not one.is_printed}
        assert {"spread", "p100_w", "v100_w", "xeon_w"} <= assumed
        json.dumps(report.to_dict(), allow_nan=False)

    def test_kernels_and_new_devices_have_a_figure_each(self, report):
        assert set(report.savings["figure"]) == {"kernels", "new-devices"}
