"""A browser for tests of pages, and pages of each kind with names that would be markup."""

import importlib
import os
import shutil
import time

import numpy as np
import polars as pl
import pytest

import hetsched as hs

SIZES = {"desk": (1280, 900), "wide": (1920, 1080), "tablet": (820, 1180), "phone": (390, 844)}
NAME = '<script>alert(1)</script> o\'hara "x" \x1b[31m'


@pytest.fixture(scope="session")
def browser():
    """Chromium, driven through selenium; skips where either is missing."""
    # Selenium's manager of drivers asks the network and reports its use, unless these say otherwise.
    os.environ |= {"SE_OFFLINE": "true", "SE_AVOID_STATS": "true"}
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("chromium and its driver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    words = ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "window-size=1280,900")
    for word in words:
        options.add_argument(f"--{word}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    found = webdriver.Chrome(service=webdriver.ChromeService(driver), options=options)
    yield found
    found.quit()


@pytest.fixture
def resized(browser):
    """Gives the page that is open another size."""

    def resize(size):
        width, height = SIZES[size]
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == "phone"}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        # Charts follow after two frames of the screen.
        time.sleep(0.7)
        return browser

    return resize


@pytest.fixture
def opened(browser, resized):
    """Opens a page at a size, in light or dark, once all its charts are drawn."""

    def open_page(page, size="desk", scheme="light"):
        resized(size)
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        browser.get_log("performance")
        browser.get_log("browser")
        browser.get(f"file://{page}")
        until = time.monotonic() + 60
        while browser.execute_script("return document.documentElement.dataset.drawn") != "yes":
            assert time.monotonic() < until, "charts are not drawn after a minute"
            time.sleep(0.05)
        return browser

    return open_page


@pytest.fixture(scope="session")
def log():
    """Jobs of three weeks with observed starts, whose user, queue and source would be markup."""
    rng = np.random.default_rng(3)
    count = 240
    runtime = rng.integers(600, 40_000, count)
    submit = np.sort(rng.integers(0, 21 * 86_400, count))
    jobs = pl.DataFrame(
        {
            "job_id": range(1, count + 1),
            "submit_s": submit,
            "runtime_s": runtime,
            "walltime_s": 2 * runtime,
            "node_count": rng.integers(1, 5, count),
            "user": [NAME if job % 3 else "bo" for job in range(count)],
            "queue": [NAME if job % 2 else "short" for job in range(count)],
            "observed_start_s": submit + rng.integers(0, 9_000, count),
        }
    )
    return hs.Workload.from_polars(jobs, source=NAME)


def machine(nodes=6):
    """Nodes that sleep if they are to."""
    return hs.Platform.homogeneous(nodes=nodes, idle_w=100, tdp_w=300, boot_s=60, shutdown_s=30, off_w=5)


@pytest.fixture(scope="session")
def answers(log):
    """An answer of every kind that has a page, by its name."""
    quiet = {"progress": None}
    settings = {"nodes": [7, 9], "sleep": {NAME: "timeout", "none": "none"}}
    contract = hs.Contract(limits=[{"limit_w": 1200, "from": "08:00", "until": "12:00"}], starts="2026-03-02T00:00")
    policies = ["fcfs", "easy", "easy:sleep=timeout"]
    caps = {85: 1, 70: 1}
    return {
        "compare": hs.compare(log, machine(), policies, contract=contract, **quiet),
        "simulate": hs.simulate(log, machine(), "easy:sleep=timeout"),
        "validate": hs.validate(log, machine(), "easy", baseline="fcfs"),
        "whatif": hs.what_if(log, machine(), "easy", settings, workers=1, **quiet),
        "provision": hs.provision(900.0, 25, caps, nodes=[6, 9, 12], seeds=3, workload=log, **quiet),
        "guideline": hs.provision(900.0, 25, caps, nodes=[6, 9, 12]),
        "reproduce": importlib.import_module("hetsched.experiments").reproduce("swa-multi", quick=True, repetitions=2),
        "sweep": hs.sweep(
            {NAME: log, "half": log.head(120)},
            {"6": machine(), "8": machine(8)},
            ["fcfs", "easy"],
            workers=1,
            **quiet,
        ),
    }


@pytest.fixture(scope="session")
def pages(answers, tmp_path_factory):
    """Their pages, written with a title that would be markup."""
    folder = tmp_path_factory.mktemp("pages")
    title = f"<b>Ours</b> & theirs {NAME}"
    write_sweep = hs.report.sweeps.write_page
    return {
        kind: write_sweep(found, folder / f"{kind}.html", title=title)
        if kind == "sweep"
        else found.report(folder / f"{kind}.html", title=title)
        for kind, found in answers.items()
    }
