"""Power of live runs: counters that wrap, counters that may not be read, and the platform's word."""

import pytest
from live_hosts import fill

import hetsched as hs
from hetsched.checks import Faults
from hetsched.live import power
from hetsched.live.power import EnergyFile, Rapl, model_w


@pytest.fixture
def zones(tmp_path):
    """Counters of two packages, and of a memory that counts in the first."""
    for name, count in (("intel-rapl:0", 900), ("intel-rapl:1", 100), ("intel-rapl:0:0", 50)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "max_energy_range_uj").write_text("999\n")
        (tmp_path / name / "energy_uj").write_text(f"{count}\n")
    return tmp_path


def at(monkeypatch, seconds):
    """Sets the clock of readings."""
    monkeypatch.setattr(power.time, "monotonic", lambda: seconds)


def test_counters_of_packages_are_added_and_wrap(zones, monkeypatch):
    at(monkeypatch, 10.0)
    rapl = Rapl.of(str(zones))
    assert rapl.power_w is None
    (zones / "intel-rapl:0" / "energy_uj").write_text("30")
    (zones / "intel-rapl:1" / "energy_uj").write_text("170")
    at(monkeypatch, 10.5)
    assert not rapl.read()
    at(monkeypatch, 12.0)
    assert rapl.read()
    assert rapl.energy_j == pytest.approx((130 + 70) / 1e6)
    assert rapl.power_w == pytest.approx(200 / 1e6 / 2)


def test_counters_that_may_not_be_read_are_named_with_the_remedy(zones, monkeypatch):
    def refused(zone):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(power, "_counter", refused)
    faults = Faults()
    assert Rapl.of(str(zones), faults) is None
    assert str(faults.found[0]) == (
        "--power rapl: found counters that only root may read, expected counters that may be read: "
        f"as root, chmod a+r {zones}/intel-rapl:*/energy_uj"
    )


def test_a_machine_without_counters(tmp_path):
    faults = Faults()
    assert Rapl.of(str(tmp_path), faults) is None
    assert str(faults.found[0]).startswith("--power rapl: found no counters, expected a machine that has ")
    assert Rapl.of(str(tmp_path)) is None


def test_energy_is_added_over_the_processes_of_a_run(tmp_path):
    file = EnergyFile(str(tmp_path))
    assert file.total_j() is None
    for readings in ([1.0, 4.0], [7.0, 7.5]):
        file.begin(0)
        for energy_j in readings:
            file.add(1, energy_j)
    assert file.total_j() == 11.5


def test_a_full_disk_takes_no_reading_and_ends_no_run(small_disk):
    file = EnergyFile(str(small_disk))
    file.begin(0)
    file.add(1, 2.0)
    fill(small_disk / "filler")
    # The page that the file has holds some more of them.
    for reading in range(400):
        file.add(10**15 + reading, 2.0 + reading)
    text = (small_disk / "rapl.csv").read_text()
    assert text.endswith("\n")
    assert text.count("\n") < 400
    (small_disk / "filler").unlink()
    file.add(10**15 + 500, 1000.0)
    assert file.total_j() == 1000.0


def test_a_torn_reading_counts_for_nothing(tmp_path):
    file = EnergyFile(str(tmp_path))
    file.begin(0)
    file.add(1, 2.0)
    with (tmp_path / "rapl.csv").open("a") as torn:
        torn.write("15,7")
    assert file.total_j() == 2.0
    file.begin(20)
    file.add(21, 1.0)
    assert file.total_j() == 3.0


def test_watts_of_the_platform_are_those_of_busy_and_idle_nodes():
    classes = [hs.NodeClass("a", 2, 100, 400, busy_w=300), hs.NodeClass("b", 1, 50, 200)]
    platform = hs.Platform(classes)
    assert model_w(platform, ()) == 250
    assert model_w(platform, {1, 2}) == 250 + 200 + 150
