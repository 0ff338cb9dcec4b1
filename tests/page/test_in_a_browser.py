"""Pages in a real browser: charts are drawn, zoom together, obey the keyboard, and load nothing."""

import time

import numpy as np
import polars as pl
import pytest

import hetsched as hs

pytest.importorskip("plotly")
Select = pytest.importorskip("selenium.webdriver.support.select").Select
Keys = pytest.importorskip("selenium.webdriver").Keys
SIZES = {"desk": 1280, "wide": 1920, "tablet": 820, "phone": 390}
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore"), pytest.mark.xdist_group("browser")]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    rng = np.random.default_rng(1)
    count = 200
    jobs = pl.DataFrame(
        {
            "job_id": range(count),
            "submit_s": np.sort(rng.integers(0, 90_000, count)),
            "runtime_s": rng.integers(200, 9000, count),
            "node_count": rng.integers(1, 5, count),
            "user": ["<script>alert(1)</script>" if job % 3 else 'o\'hara "x" \x1b[31m' for job in range(count)],
        }
    )
    machine = hs.Platform.homogeneous(nodes=8, idle_w=100, tdp_w=300, boot_s=60, shutdown_s=30, off_w=5)
    found = hs.compare(hs.Workload.from_polars(jobs), machine, ["fcfs", "easy", "easy:sleep=timeout"], progress=None)
    return found.report(tmp_path_factory.mktemp("page") / "page.html", title="<b>Ours</b> & theirs")


def ends(browser, chart):
    return browser.execute_script(f"return document.getElementById('{chart}').layout.xaxis.range.map(Number)")


def linked(browser):
    return browser.execute_script(
        "return [...document.querySelectorAll('.chart[data-link=time]')].filter(x => x.layout).map(x => x.id)"
    )


def test_all_charts_are_drawn_and_nothing_is_loaded(opened, page):
    browser = opened(page)
    shown = "document.querySelectorAll('figure:not([hidden]) .chart')"
    assert browser.execute_script(f"return [...{shown}].filter(x => !x.querySelector('svg')).length") == 0
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    sent = [
        line["message"] for line in browser.get_log("performance") if '"Network.requestWillBeSent"' in line["message"]
    ]
    assert all('"url":"file://' in line or '"url":"data:' in line for line in sent), sent


def test_charts_over_time_zoom_together_and_come_back(opened, page):
    browser = opened(page)
    first, *others = linked(browser)
    assert len(others) >= 3
    whole = ends(browser, first)
    browser.execute_script(f"Plotly.relayout('{first}', {{'xaxis.range': [2, 5]}})")
    time.sleep(1)
    assert all(np.allclose(ends(browser, chart), [2, 5]) for chart in others)
    box = browser.find_element("id", first)
    browser.execute_script("arguments[0].focus()", box)
    box.send_keys("0")
    time.sleep(1)
    assert np.allclose(ends(browser, first), whole)


def test_the_keyboard_zooms_and_moves(opened, page):
    browser = opened(page)
    chart = linked(browser)[0]
    box = browser.find_element("id", chart)
    from_h, until_h = ends(browser, chart)
    box.send_keys("+")
    time.sleep(0.5)
    low, high = ends(browser, chart)
    assert high - low == pytest.approx((until_h - from_h) / 2, rel=1e-6)
    box.send_keys(Keys.ARROW_RIGHT)
    time.sleep(0.5)
    assert ends(browser, chart)[0] == pytest.approx(low + (high - low) / 4, rel=1e-6)


def test_names_are_shown_as_text(opened, page):
    browser = opened(page)
    assert browser.execute_script("return document.querySelector('h1').textContent") == "<b>Ours</b> & theirs"
    assert "<script>alert(1)</script>" in browser.execute_script(
        "return document.body.innerText + [...document.querySelectorAll('svg text')].map(x => x.textContent).join(' ')"
    )
    assert browser.execute_script("return document.querySelectorAll('script').length") == 3


def test_another_policy_can_be_chosen_for_the_nodes(opened, page):
    browser = opened(page)
    select = browser.find_element("css selector", ".choice select")
    Select(select).select_by_visible_text("easy:sleep=timeout")
    time.sleep(1)
    seen = browser.execute_script(
        "return [...document.querySelectorAll('figure[data-group=nodes]:not([hidden])')].map(x => x.dataset.member)"
    )
    assert set(seen) == {"easy:sleep=timeout"}


@pytest.mark.parametrize(("size", "width"), SIZES.items())
def test_no_size_scrolls_sideways(opened, page, size, width):
    browser = opened(page, size)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
