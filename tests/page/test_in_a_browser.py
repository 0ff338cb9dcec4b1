"""Pages in a real browser: charts are drawn, zoom together, obey the keyboard, and load nothing."""

import shutil
import time

import numpy as np
import polars as pl
import pytest

import hetsched as hs

pytest.importorskip("plotly")
webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
Select = pytest.importorskip("selenium.webdriver.support.select").Select
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
if CHROMIUM is None or DRIVER is None:
    pytest.skip("chromium and its driver are not installed", allow_module_level=True)
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore"), pytest.mark.xdist_group("browser")]

SIZES = {"desk": (1280, 900), "wide": (1920, 1080), "tablet": (820, 1180), "phone": (390, 844)}


@pytest.fixture(scope="module")
def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for word in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--window-size=1280,900",
    ):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(service=webdriver.ChromeService(DRIVER), options=options)
    yield driver
    driver.quit()


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


def opened(browser, page, size="desk"):
    width, height = SIZES[size]
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == "phone"}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get_log("performance")
    browser.get(f"file://{page}")
    until = time.monotonic() + 60
    while browser.execute_script("return document.documentElement.dataset.drawn") != "yes":
        assert time.monotonic() < until, "charts are not drawn after a minute"
        time.sleep(0.05)
    return browser


def ends(browser, chart):
    return browser.execute_script(f"return document.getElementById('{chart}').layout.xaxis.range.map(Number)")


def linked(browser):
    return browser.execute_script(
        "return [...document.querySelectorAll('.chart[data-link=time]')].filter(x => x.layout).map(x => x.id)"
    )


def test_all_charts_are_drawn_and_nothing_is_loaded(browser, page):
    opened(browser, page)
    shown = "document.querySelectorAll('figure:not([hidden]) .chart')"
    assert browser.execute_script(f"return [...{shown}].filter(x => !x.querySelector('svg')).length") == 0
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    sent = [
        line["message"] for line in browser.get_log("performance") if '"Network.requestWillBeSent"' in line["message"]
    ]
    assert all('"url":"file://' in line or '"url":"data:' in line for line in sent), sent


def test_charts_over_time_zoom_together_and_come_back(browser, page):
    opened(browser, page)
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


def test_the_keyboard_zooms_and_moves(browser, page):
    opened(browser, page)
    chart = linked(browser)[0]
    box = browser.find_element("id", chart)
    from_h, until_h = ends(browser, chart)
    box.send_keys("+")
    time.sleep(0.5)
    low, high = ends(browser, chart)
    assert high - low == pytest.approx((until_h - from_h) / 2, rel=1e-6)
    box.send_keys(webdriver.Keys.ARROW_RIGHT)
    time.sleep(0.5)
    assert ends(browser, chart)[0] == pytest.approx(low + (high - low) / 4, rel=1e-6)


def test_names_are_shown_as_text(browser, page):
    opened(browser, page)
    assert browser.execute_script("return document.querySelector('h1').textContent") == "<b>Ours</b> & theirs"
    assert "<script>alert(1)</script>" in browser.execute_script(
        "return document.body.innerText + [...document.querySelectorAll('svg text')].map(x => x.textContent).join(' ')"
    )
    assert browser.execute_script("return document.querySelectorAll('script').length") == 3


def test_another_policy_can_be_chosen_for_the_nodes(browser, page):
    opened(browser, page)
    select = browser.find_element("css selector", ".choice select")
    Select(select).select_by_visible_text("easy:sleep=timeout")
    time.sleep(1)
    seen = browser.execute_script(
        "return [...document.querySelectorAll('figure[data-group=nodes]:not([hidden])')].map(x => x.dataset.member)"
    )
    assert set(seen) == {"easy:sleep=timeout"}


@pytest.mark.parametrize("size", SIZES)
def test_no_size_scrolls_sideways(browser, page, size):
    opened(browser, page, size)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= SIZES[size][0]
