"""Input that other libraries trip over in words of their own: here it is an error of ours, in one line a fault."""

import json
import os
import zipfile

import numpy as np
import polars as pl
import pytest

import hetsched as hs
from hetsched.analysis import measured
from hetsched.checks import Faults, shown
from hetsched.errors import ConfigError, HetschedError, OutputError, TraceError
from hetsched.files import write_whole

JOBS = pl.DataFrame({"job_id": [1], "submit_s": [0], "runtime_s": [1], "node_count": [1]})


def message(function, *arguments, **options):
    with pytest.raises(HetschedError) as caught:
        function(*arguments, **options)
    text = str(caught.value)
    assert len(text) < 2000
    assert text.isprintable() or text.replace("\n", "").isprintable()
    return text


@pytest.mark.parametrize("node", [2**31, 2**63 - 1, 2**63, 2**64, 10**30], ids=str)
@pytest.mark.parametrize("apps", [1, 4])
def test_tables_of_nodes_beyond_all_numbers(tmp_path, node, apps):
    path = tmp_path / "a.csv"
    rows = [f"app{k},{'0' if k + 1 < apps else node},200" for k in range(apps)]
    path.write_text("\n".join(["app,node,power_w", "z,0,200", *rows]))
    assert message(hs.read_table, path).startswith(f"{path}")


HUGE = "1" + "0" * 400


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"nodes=2\nidle_w=[{HUGE},1]\ntdp_w=300", "idle_w: found"),
        (f"nodes=2\nidle_w={HUGE}\ntdp_w=300", "idle_w: found `1000"),
        (f"nodes=2\nidle_w=1\ntdp_w=2\nboot_s={HUGE}", "boot_s: found `1000"),
        (f"nodes={HUGE}\nidle_w=1\ntdp_w=300", "nodes: found `1000"),
        ("nodes=" + "9" * 5000, "found no valid TOML (Exceeds the limit"),
        ("nodes=" + "[" * 3000 + "]" * 3000, "found no valid TOML (brackets in brackets, too many to be followed)"),
        ("classes=[1]", "classes[0]: found `1`, expected a node class, or a dictionary of its parameters"),
        ("classes=[[]]", "classes[0]: found `[]`, expected a node class"),
        ("nodes=1\nidle_w=1\ntdp_w=2\nactual={apps=5,power_w=[[1,2]]}", "apps: found `5`, expected a list of names"),
        ('nodes=1\nidle_w=1\ntdp_w=2\nactual="a\\u0000b.csv"', "a\\x00b.csv: found a name that no file can have"),
        (
            f"nodes=1\nidle_w=1\ntdp_w=2\nactual={{apps=['a'],power_w=[[{HUGE}]]}}",
            "power_w: found `[[1000",
        ),
    ],
    ids=lambda text: text[:20],
)
def test_platforms_in_files(tmp_path, text, said):
    (tmp_path / "p.toml").write_text(text)
    assert said in message(hs.Platform.from_toml, tmp_path / "p.toml")


def test_policies_in_files(tmp_path):
    (tmp_path / "q.toml").write_text("[policy]\norder=" + "[" * 3000 + "]" * 3000)
    assert "brackets in brackets" in message(hs.Policy.from_toml, tmp_path / "q.toml")


@pytest.mark.parametrize("name", ["a\0b.toml", "\ud800.toml", None, 5])
def test_names_that_no_file_can_have(name):
    said = message(hs.Platform.from_toml, name)
    assert said.endswith("expected a TOML file")
    if isinstance(name, str):
        assert "found a name that no file can have" in said
        assert "found a name that no file can have" in message(hs.read_table, name.replace("toml", "csv"))


@pytest.mark.parametrize("name", ["\ud800.npz", "a\0.npz"])
def test_nor_be_written_to(tmp_path, name):
    with pytest.raises(OutputError) as caught:
        write_whole(tmp_path / name, b"x")
    assert "no file has" in caught.value.reason
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("text", ["[" * 100_000, '{"summary": ' * 5000])
def test_a_summary_of_brackets(tmp_path, text):
    hs.simulate(hs.Workload.from_polars(JOBS), hs.Platform.homogeneous(1, 10, 20)).write(tmp_path)
    (tmp_path / "summary.json").write_text(text)
    with pytest.raises(TraceError):
        hs.read_result(tmp_path)


@pytest.mark.parametrize("until_s", [10**400, -(10**400), 10**5000], ids=["much", "little", "more"])
def test_times_beyond_all_floats(until_s):
    jobs, platform = hs.Workload.from_polars(JOBS), hs.Platform.homogeneous(1, 10, 20)
    said = message(hs.simulate, jobs, platform, until_s=until_s)
    assert said.startswith("until_s: found `")
    assert "expected a number between -1e+12 and 1e+12" in said


def test_numbers_that_python_does_not_write_are_shown():
    assert shown(10**5000) == "`a whole number of 5,000 digits`"
    faults = Faults()
    faults.whole("n", -(10**5000), low=0, high=1)
    faults.number("x", 10**400, low=0.0)
    assert [fault.found for fault in faults.found] == ["`a whole number of 5,000 digits`", f"`1{'0' * 59}...`"]


def unaligned(values):
    """The same numbers as a field of a record that begins at an odd byte."""
    records = np.zeros(values.shape, dtype=[("mark", "u1"), ("value", values.dtype)])
    records["value"] = values
    assert not records["value"].flags.aligned
    return records["value"]


def test_arrays_that_are_not_aligned_are_taken():
    cost = np.array([[4.0, 5.0, 9.0], [2.0, 8.0, 7.0]])
    assert hs.assign(unaligned(cost)).columns.tolist() == hs.assign(cost).columns.tolist() == [1, 0]
    counts = np.array([2, 1], dtype=np.int64)
    found = hs.assign_types(unaligned(cost), unaligned(counts))
    assert [columns.tolist() for columns in found.columns] == [[0, 1], [2]]
    assert hs.VariationTable(["a", "b"], power_w=unaligned(cost)) == hs.VariationTable(["a", "b"], power_w=cost)


ODD = [
    np.array([[1 + 2j]]),
    [["300"]],
    np.array([[5]], dtype="timedelta64[s]"),
    np.array([["2024-01-01"]], dtype="datetime64[D]"),
    np.array([[300.0]], dtype=object),
    [[1.0], [1.0, 2.0]],
]


@pytest.mark.parametrize("values", ODD, ids=repr)
def test_what_would_only_turn_into_numbers(values):
    for name in ("power_w", "power_ratio"):
        assert message(hs.VariationTable, ["a"], **{name: values}).startswith(f"{name}: found ")
    said = message(hs.VariationTable, ["a"], power_w=[[1.0]], time_ratio=values)
    assert said.startswith("time_ratio: found")
    row = values[0] if len(values) == 1 else values
    assert message(hs.Platform.homogeneous, 1, row, 300.0).startswith("idle_w: found")
    node_class = hs.Platform.homogeneous(1, 10.0, 300.0).classes[0]
    assert message(hs.Platform, [node_class], idle_w=row).startswith("idle_w: found")
    assert message(hs.assign, values).startswith("cost: found")
    assert Faults().array("x", [[True, 2]], "numbers").tolist() == [[1, 2]]


@pytest.mark.parametrize("value", [np.array([3, 4]), np.complex128(1), np.str_("3"), np.datetime64(3, "s")])
@pytest.mark.parametrize("name", ["nodes", "idle_w", "tdp_w", "busy_w", "slots", "off_w", "boot_s"])
def test_values_of_numpy_that_are_no_numbers(name, value):
    with pytest.raises(ConfigError):
        hs.Platform.homogeneous(**{"nodes": 1, "idle_w": 10, "tdp_w": 20, name: value})


@pytest.mark.parametrize("value", [np.int8(3), np.float32(3), np.uint64(3), np.array(3)])
def test_and_those_that_are_stand_as_plain_ones(value):
    platform = hs.Platform.homogeneous(nodes=3, idle_w=value, tdp_w=value, boot_s=value)
    assert json.loads(json.dumps(platform.to_dict())) == platform.to_dict()
    assert platform == hs.Platform.homogeneous(nodes=3, idle_w=3, tdp_w=3, boot_s=3)


# --- Messages of many faults ---------------------------------------------------------------------------------------


def test_thousands_of_missing_applications_are_reported_in_few_lines():
    names = [f"application-{k:04}" for k in range(2000)]
    jobs = pl.DataFrame(
        {
            "job_id": range(2000),
            "submit_s": range(2000),
            "runtime_s": [1] * 2000,
            "node_count": [1] * 2000,
            "app": names,
        }
    )
    table = hs.VariationTable([f"other-{k:04}" for k in range(1000)], power_w=np.full((1000, 2), 150.0))
    platform = hs.Platform.homogeneous(2, 10, 300, actual=table)
    with pytest.raises(ConfigError) as caught:
        hs.simulate(hs.Workload.from_polars(jobs), platform)
    lines = str(caught.value).splitlines()
    first = ", ".join(f"other-{k:04}" for k in range(10))
    assert lines[0] == (
        "table.apps: found no row for application `application-0000` of job 0, "
        f'expected one of {first} and 990 more, a row `*`, or on_unknown_app="nominal"'
    )
    assert len(lines) == 21
    assert lines[-1] == "table.apps: found no row for 1980 more applications, expected a row for each"


def test_an_errors_message_has_the_first_faults_and_their_count():
    faults = [(f"p{k}", "`0`", "at least 1") for k in range(100)]
    error = ConfigError(faults)
    assert error.faults == faults
    assert str(error).splitlines()[-2:] == ["p20: found `0`, expected at least 1", "and 79 more faults"]
    assert str(ConfigError(faults[:22])).splitlines()[-1] == "and 1 more fault"
    assert str(ConfigError(faults[:21])).splitlines()[-1] == "p20: found `0`, expected at least 1"


def test_tables_of_other_applications_list_a_few():
    tables = [hs.VariationTable([f"{word}-{k:04}" for k in range(2000)], power_w=np.ones((2000, 1))) for word in "ab"]
    said = message(hs.Platform.homogeneous, 1, 1, 2, actual=tables[0], predicted=tables[1])
    assert len(said.splitlines()) == 2


def test_a_link_is_followed_and_what_is_no_regular_file_is_refused(tmp_path):
    (tmp_path / "target").mkdir()
    (tmp_path / "link.csv").symlink_to("target/new.csv")
    write_whole(tmp_path / "link.csv", b"all")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "target" / "new.csv").read_bytes() == b"all"
    assert sorted(one.name for one in (tmp_path / "target").iterdir()) == ["new.csv"]
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "to-pipe.csv").symlink_to("pipe.csv")
    for name in ("pipe.csv", "to-pipe.csv"):
        with pytest.raises(hs.OutputError, match="it is a device, a pipe or a socket, expected a file or a free name"):
            write_whole(tmp_path / name, b"x")
        assert (tmp_path / name).is_fifo()


def test_what_is_handed_out_is_not_what_runs_are_made_of():
    platform = hs.Platform.homogeneous(2, 1, 2)
    with pytest.raises(ValueError, match="read-only"):
        platform.slots[:] = 2
    job = {"job_id": [1], "submit_s": [0.0], "runtime_s": [1.0], "node_count": [1]}
    result = hs.simulate(hs.Workload.from_polars(pl.DataFrame(job)), platform)
    for name in ("jobs", "timeline", "nodes", "segments", "events"):
        before = getattr(result, name)
        getattr(result, name).insert_column(0, pl.repeat(7, len(before), eager=True).alias("new"))
        assert getattr(result, name).equals(before)


def test_likely_mistakes_of_type_are_reported_as_any_other():
    platform, table = hs.Platform.homogeneous(1, 1, 2), hs.VariationTable(["a"], power_w=[[100.0, 120.0]])
    for given in ("t.csv", table.to_polars()):
        with pytest.raises(ConfigError, match=r"actual: found .*expected a VariationTable, such as"):
            platform.with_tables(actual=given)
    for make in (hs.VariationTable.from_polars, hs.VariationTable.by_cap):
        with pytest.raises(ConfigError, match="frame: found LazyFrame, expected a polars DataFrame"):
            make(table.to_polars().lazy())
    for static_w in ("50", [50 + 7j], 10**400):
        with pytest.raises(ConfigError, match=r"static_w: found .*expected one number, one a node"):
            table.under_cap(200.0, static_w=static_w)
    with pytest.raises(TraceError, match="File name too long"):
        hs.read_result("x" * 300)


def test_values_of_libraries_and_objects_serve_as_plain_ones(tmp_path):
    job = {"job_id": [1, 2], "submit_s": [0.0, 20.0], "runtime_s": [9.0, 1.0], "node_count": [1, 1]}
    platform, log = hs.Platform.homogeneous(1, 1, 2), hs.Workload.from_polars(pl.DataFrame(job), source=tmp_path / "a")
    assert log.source == str(tmp_path / "a")
    result = hs.simulate(log, platform)
    window = measured(result, from_s=np.int64(0), until_s=np.float32(6.0))
    assert window == measured(result, from_s=0, until_s=6.0)
    policies = [hs.Policy.preset("fcfs"), hs.Policy.preset("easy")]
    listed = hs.compare(log, platform, policies, policies[1], metrics=["mean_wait_s", "energy_j"], progress=None)
    lazily = hs.compare(log, platform, policies, "easy", metrics=iter(["mean_wait_s", "energy_j"]), progress=None)
    assert listed.baseline == "easy"
    assert listed.table.equals(lazily.table)
    assert len(listed.table) == 4
    assert (listed == lazily, listed == listed) == (False, True)


def test_ranges_and_numbers_of_nodes_are_counted_before_they_are_written_out(tmp_path):
    # Each would take gigabytes, and the last ones terabytes, if it were written out.
    (tmp_path / "a.csv").write_text(
        "job_id,submit_s,runtime_s,node_count,observed_nodes\n1,0,5,1," + " ".join(["0-9999999"] * 200) + "\n"
    )
    with pytest.raises(TraceError, match="line 2, column `observed_nodes`: found `0-9999999"):
        hs.read_csv(tmp_path / "a.csv")
    with pytest.raises(ConfigError, match="nodes: found `0-999999999`, expected numbers such as"):
        hs.Queue("q", "0-999999999")
    table = hs.VariationTable(["a"], power_w=[[200.0, 210.0]])
    with pytest.raises(ConfigError, match="nodes 2-1999999999 have no row for any application"):
        hs.Platform.homogeneous(2_000_000_000, 1, 2).with_tables(actual=table)


def test_a_session_of_more_nodes_than_memory_holds_is_refused(tmp_path):
    job = {"job_id": [1], "submit_s": [0.0], "runtime_s": [1.0], "node_count": [1]}
    hs.Session(hs.Workload.from_polars(pl.DataFrame(job)), hs.Platform.homogeneous(2, 1, 2)).save(tmp_path / "a")
    with zipfile.ZipFile(tmp_path / "a") as saved:
        members = {one.filename: saved.read(one) for one in saved.infolist()}
    record = json.loads(members["session.json"])
    record["platform"]["classes"][0]["count"] = 2**31 - 1
    members["session.json"] = json.dumps(record).encode()
    with zipfile.ZipFile(tmp_path / "b", "w") as changed:
        for name, content in members.items():
            changed.writestr(name, content)
    with pytest.raises(ConfigError, match=r"the run needs about .* of memory"):
        hs.Session.load(tmp_path / "b")


HALF = "a\udce9"
NODES = {"idle_w": 100, "tdp_w": 300}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (lambda: hs.Queue(name=HALF, nodes="0"), r"name: found `a\udce9`, expected a name"),
        (
            lambda: hs.Queue(name="a", nodes="0", users=[HALF]),
            r"users: found `['a\udce9']`, expected a list of names",
        ),
        (lambda: hs.NodeClass(name=HALF, count=2, **NODES), r"name: found `a\udce9`, expected a name"),
        (lambda: hs.VariationTable([HALF], power_w=[[1.0]]), r"apps[0]: found `a\udce9`, expected a name"),
        (
            lambda: hs.Policy.from_dict({"preset": "easy", "backfill": {"name": "reservations", "order": HALF}}),
            r"policy.backfill.order: found `a\udce9`, expected text of whole characters",
        ),
        (
            lambda: hs.Policy.from_dict({"preset": "easy", "order": HALF}),
            r"policy.order: found `a\udce9`, expected one",
        ),
        (lambda: hs.read_csv(b"a\n1\n", separator="\udce9"), r"separator: found `\udce9`, expected one character"),
        (lambda: hs.read_csv(b"a\n1\n", columns={"a": HALF}), r"bytes, column `a`: found `a\udce9` to be read as"),
    ],
)
def test_halves_of_characters_are_no_names(given, said):
    told = message(given)
    assert told.startswith(said)
    assert "\n" not in told


@pytest.mark.parametrize("name", ["caf\udce9", "a\ud800"])
def test_but_names_of_files_and_their_like_are_written_out(name):
    """Bytes of names that are no UTF-8 come as halves of characters; no message, result or table could hold them."""
    platform = hs.Platform.homogeneous(nodes=2, **NODES)
    policy = hs.Policy.from_dict({"preset": "easy", "name": name})
    log = hs.Workload.from_polars(JOBS, source=name)
    result = hs.simulate(log, platform, policy)
    written = {"caf\udce9": "caf\\xe9", "a\ud800": "a\\ud800"}[name]
    assert (result.provenance["trace"]["name"], result.provenance["policy"]["name"]) == (written, written)
    runs = hs.sweep({name: log}, platform, {name: "easy"}, workers=1)
    assert runs["workload", "policy"].row(0) == (written, written)


def test_progress_functions_take_what_they_are_given():
    log, platform = hs.Workload.from_polars(JOBS), hs.Platform.homogeneous(nodes=2, **NODES)
    told = "(jobs done, jobs in all, seconds on the log's clock), or None"
    session = hs.Session(log, platform)
    for call in (lambda given: hs.simulate(log, platform, progress=given), lambda given: session.run(progress=given)):
        assert message(call, 3) == f"progress: found `3`, expected a function of {told}"
        assert message(call, lambda _: None) == (
            f"progress: found a function of other arguments, expected a function of {told}"
        )
    assert session.run(progress=lambda *_: None).summary()["jobs"] == 1
    rows = "(rows done, rows in all), or `bar`, or None"
    for given, found in ((3, "`3`"), (lambda _: None, "a function of other arguments")):
        assert message(hs.sweep, log, platform, "easy", progress=given) == (
            f"progress: found {found}, expected a function of {rows}"
        )
    assert message(hs.read_swf, b"; MaxProcs: 4\n", progress=3).endswith(
        "a function of (bytes read, bytes in all), or None"
    )


def test_an_empty_name_is_no_folder_and_no_file(tmp_path, monkeypatch):
    """An unset variable gives an empty name, which would be the current folder."""
    monkeypatch.chdir(tmp_path)
    log, platform = hs.Workload.from_polars(JOBS), hs.Platform.homogeneous(nodes=2, **NODES)
    assert message(hs.simulate(log, platform).write, "") == "folder: found ``, expected a folder's name"
    assert message(hs.Session(log, platform).save, "") == "`.`: cannot be written: no file has this name"
    assert list(tmp_path.iterdir()) == []


def test_a_sessions_file_names_no_other_file(tmp_path):
    platform = hs.Platform.homogeneous(nodes=2, **NODES)
    hs.Session(hs.Workload.from_polars(JOBS), platform).save(tmp_path / "good")
    with zipfile.ZipFile(tmp_path / "good") as good, zipfile.ZipFile(tmp_path / "bad", "w") as bad:
        for name in good.namelist():
            content = good.read(name)
            if name == "session.json":
                record = json.loads(content)
                content = json.dumps({**record, "platform": {**record["platform"], "actual": "table.csv"}}).encode()
            bad.writestr(name, content)
    hs.Session.load(tmp_path / "good")
    assert message(hs.Session.load, tmp_path / "bad").startswith(f"{tmp_path / 'bad'}: found a table by its path")
