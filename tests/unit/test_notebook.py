"""Results and inputs in notebooks: HTML in which names are text."""

import re
from html.parser import HTMLParser

import polars as pl
import pytest

import hetsched as hs
from hetsched.notebook import card, table

HOSTILE = "<script>alert(1)</script>"
pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag not in ("br", "col", "meta", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def tags(html):
    parser = Tags()
    parser.feed(html)
    assert parser.open == [], "every tag is closed"
    return parser.seen


def things():
    jobs = pl.DataFrame(
        {"job_id": [1, 2], "submit_s": [0, 60], "runtime_s": [30, 30], "node_count": [1, 2], "app": [HOSTILE, "b"]}
    )
    log = hs.Workload.from_polars(jobs.with_columns(observed_start_s=pl.col("submit_s")), source=HOSTILE)
    watts = hs.VariationTable([HOSTILE, "b"], power_w=[[150.0, 160.0, 170.0], [200.0, 210.0, 220.0]])
    alike = hs.Platform.homogeneous(nodes=3, idle_w=100, tdp_w=300)
    machine = alike.with_tables(actual=watts)
    return {
        "workload": log,
        "platform": machine,
        "policy": hs.Policy.preset("easy", placement="lowest-power"),
        "table": watts,
        "result": hs.simulate(log, machine, "easy"),
        "comparison": hs.compare(log, machine, ["fcfs", "easy"], progress=None),
        "inspection": hs.inspect(log),
        "model": hs.power.SharedResponse(),
    }


@pytest.mark.parametrize("name", things())
def test_a_card_is_well_formed_and_names_are_text(name):
    html = things()[name]._repr_html_()
    assert "script" not in tags(html)
    assert "<b>" in html


def test_a_result_shows_its_metrics_with_units():
    html = things()["result"]._repr_html_()
    cells = re.findall(r"<td[^>]*>(.*?)</td>", html)
    shown = dict(zip(cells[::2], cells[1::2], strict=True))
    assert shown["jobs"] == "2"
    assert shown["mean wait"] == "0 s"


def test_a_class_whose_nodes_differ_shows_a_range():
    machine = hs.Platform([hs.NodeClass("n", 2, idle_w=[100.0, 120.0], tdp_w=300.0)])
    assert "100 to 120" in machine._repr_html_()


def test_a_table_aligns_numbers_to_the_right():
    html = table(["a", "b"], [["x", "1"]])
    assert html.count("text-align: right") == 2
    assert tags(card("t", {"k": HOSTILE}, html, notes=[HOSTILE])).count("p") == 2
