"""Pages of every kind of answer in a real browser: drawn, of the page's width, dark, printed, and nothing but text."""

import base64
import re

import pytest

pytest.importorskip("plotly")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore"), pytest.mark.xdist_group("browser")]

KINDS = ("compare", "simulate", "validate", "whatif", "provision", "guideline", "reproduce", "sweep")
SIZES = {"desk": 1280, "wide": 1920, "tablet": 820, "phone": 390}
_SHOWN = "[...document.querySelectorAll('figure:not([hidden]) .chart')]"


@pytest.mark.parametrize("kind", KINDS)
def test_charts_are_drawn_and_nothing_is_loaded(opened, pages, kind):
    browser = opened(pages[kind])
    assert browser.execute_script(f"return {_SHOWN}.length") > 0
    assert browser.execute_script(f"return {_SHOWN}.filter(x => !x.querySelector('svg')).length") == 0
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    sent = [
        line["message"] for line in browser.get_log("performance") if "Network.requestWillBeSent" in line["message"]
    ]
    assert all('"url":"file://' in line or '"url":"data:' in line for line in sent), sent


_CUT = f"""return {_SHOWN}.flatMap(box => {{
  const own = box.getBoundingClientRect();
  const texts = [...box.querySelectorAll('.xtitle, .ytitle, .ytick text')].map(text => [text, text.getBoundingClientRect()]);
  return texts.filter(([, at]) => at.width && (at.left < own.left - 1 || at.right > own.right + 1))
    .map(([text]) => box.parentElement.querySelector('figcaption').textContent + ': ' + text.textContent);
}})"""  # noqa: E501 -- as a script is written


_OVERLAPPING = f"""return {_SHOWN}.flatMap(box => {{
  const boxes = [...box.querySelectorAll('.ytick text')].map(text => text.getBoundingClientRect());
  boxes.sort((one, other) => one.top - other.top);
  return boxes.slice(1).filter((own, place) => own.top < boxes[place].bottom - 2)
    .map(() => box.parentElement.querySelector('figcaption').textContent);
}})"""


@pytest.mark.parametrize("kind", KINDS)
def test_no_size_scrolls_sideways_and_no_axis_is_cut(opened, resized, pages, kind):
    opened(pages[kind])
    for size, width in SIZES.items():
        browser = resized(size)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width, size
        assert browser.execute_script(_CUT) == [], size
        assert browser.execute_script(_OVERLAPPING) == [], size


@pytest.mark.parametrize("kind", KINDS)
def test_names_are_text_and_the_answer_comes_first(opened, pages, kind):
    browser = opened(pages[kind])
    title = browser.execute_script("return document.querySelector('h1').textContent")
    assert title.startswith("<b>Ours</b> & theirs <script>alert(1)</script>")
    assert "\x1b" not in browser.page_source
    assert browser.execute_script("return document.querySelectorAll('script').length") == 3
    first = browser.execute_script("return [...document.querySelectorAll('main > section')][0].id")
    assert first == "answer"
    assert browser.execute_script("return document.querySelectorAll('#answer .answer').length") == 2
    values = browser.execute_script("return [...document.querySelectorAll('.number .value')].map(x => x.textContent)")
    assert len(values) == 3
    assert all(values)
    assert browser.execute_script("return document.querySelectorAll('aside.assumed li').length") > 0
    assert browser.execute_script("return document.querySelector('#repeat table').innerText").count("sha256") >= (
        0 if kind == "guideline" else 1
    )


@pytest.mark.parametrize("kind", KINDS)
def test_dark_is_dark(opened, pages, kind):
    browser = opened(pages[kind], scheme="dark")
    painted = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert max(map(int, re.findall(r"\d+", painted)[:3])) < 60
    inks = browser.execute_script(
        "return [...document.querySelectorAll('.xtick text')].map(x => getComputedStyle(x).fill)"
    )
    assert min(min(map(int, re.findall(r"\d+", ink)[:3])) for ink in inks) > 150


@pytest.mark.parametrize("kind", KINDS)
def test_paper_is_a4(opened, pages, kind):
    browser = opened(pages[kind])
    made = browser.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True, "printBackground": True})
    pdf = base64.b64decode(made["data"])
    boxes = re.findall(rb"/MediaBox\s*\[0 0 ([\d.]+) ([\d.]+)\]", pdf)
    assert boxes
    for width, height in boxes:
        assert (float(width), float(height)) == pytest.approx((595.3, 841.9), abs=1.0)
