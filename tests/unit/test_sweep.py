"""A sweep's axes, its rows and specs, and what it says when something is wrong."""

import functools
import pickle
import shutil
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from small_sweeps import lines, log, machine

import hetsched as hs
from hetsched import _core
from hetsched.many import spec, store
from hetsched.many.carried import clear
from hetsched.many.spec import run_one, specs
from hetsched.many.store import FILE
from hetsched.many.sweep import sweep
from hetsched.run.options import RunOptions

# Axes and rows


def test_rows_are_the_product_in_the_order_of_the_arguments():
    frame = sweep({"b": log(), "a": log(jobs=3)}, [machine(2), machine(4)], ["random", "easy"], seeds=[7, 3], workers=1)
    expected = [
        (workload, platform, policy, seed)
        for workload in ("b", "a")
        for platform in ("2 nodes", "4 nodes")
        for policy in ("random", "easy")
        for seed in (7, 3)
    ]
    assert frame.select("workload", "platform", "policy", "seed").rows() == expected
    assert frame["jobs"].to_list() == [6] * 8 + [3] * 8


def test_energy_of_a_row_is_what_a_hand_reckons():
    # 5 minutes and 10 s on 2 nodes at 100 W idle; 6 jobs of 10 s add 200 W each.
    (energy_j,) = sweep(log(), machine(2), "fcfs", workers=1)["energy_j"]
    assert energy_j == 310 * 2 * 100 + 6 * 10 * 200


def test_things_that_call_themselves_alike_are_numbered():
    frame = sweep([log(), log(jobs=2)], [machine(), machine()], ["easy", "easy", hs.Policy.preset("easy")], workers=1)
    assert frame["workload"].unique(maintain_order=True).to_list() == ["may.swf", "may.swf #2"]
    assert frame["platform"].unique(maintain_order=True).to_list() == ["4 nodes", "4 nodes #2"]
    assert frame["policy"].unique(maintain_order=True).to_list() == ["easy", "easy #2", "easy #3"]


def test_every_way_to_say_a_policy():
    own = {"order": "shortest", "backfill": "none"}
    frame = sweep(log(), machine(), ["fcfs", hs.Policy.preset("easy"), own, {"preset": "easy", "depth": 4}], workers=1)
    assert frame["policy"].to_list() == ["fcfs", "easy", "shortest/none/lowest-id", "easy:backfill.depth=4"]
    assert sweep(log(), machine(), {"mine": own}, workers=1)["policy"].to_list() == ["mine"]


def test_columns_have_the_types_of_their_quantities():
    at_once = log(jobs=1)  # has no offered load
    schema = sweep(at_once, machine(), "easy", workers=1).schema
    assert (schema["seed"], schema["jobs"], schema["completed"]) == (pl.UInt64, pl.Int64, pl.Int64)
    assert all(schema[name] == pl.Float64 for name in ("energy_j", "max_wait_s", "offered_load_ratio"))


def test_the_largest_seed_keeps_its_value():
    assert sweep(log(), machine(), "random", seeds=[2**64 - 1], workers=1)["seed"].to_list() == [2**64 - 1]


def test_a_policy_without_chance_runs_once_and_has_a_row_a_seed(tmp_path):
    frame = sweep(log(), machine(), ["easy", "random"], seeds=5, workers=1, out=tmp_path)
    assert frame.filter(policy="easy")["seed"].to_list() == [0, 1, 2, 3, 4]
    assert [line["policy"] for line in lines(tmp_path)] == ["easy"] + ["random"] * 5


def test_options_reach_the_runs():
    frame = sweep(log(), machine(), "easy", until_s=100, workers=1)
    # Submitted at 0 and 60 and done; the other four come after the end.
    assert frame["completed"].to_list() == [2]


SLOW = hs.VariationTable(["*"], power_w=np.full((1, 4), 250.0), time_ratio=np.full((1, 4), 1.25))


def limited(walltime_s):
    """The six jobs of 10 s, with a walltime."""
    return hs.Workload.from_polars(log(app="heat").to_polars().with_columns(walltime_s=pl.lit(walltime_s)))


def test_walltimes_and_grace_reach_the_runs_and_their_rows():
    # 12.5 s on every node: killed at 10 s with four fifths of the work done; or not.
    machines = {"slow": machine(actual=SLOW)}
    for options, timeout in (({}, 6), ({"walltimes": "stretch"}, 0), ({"kill_grace_s": 2.5}, 0)):
        (row,) = sweep(limited(10.0), machines, "easy", workers=1, **options).to_dicts()
        assert row["timeout"] == timeout
        assert (row["work_lost_node_s"], row["completed_work_ratio"]) == ((12.0, 0.8) if timeout else (0.0, 1.0))
        assert row["energy_per_work_j_per_node_s"] == row["energy_j"] / (48 if timeout else 60)


def test_rows_of_runs_with_other_walltimes_are_not_taken_for_each_other(tmp_path):
    machines = {"slow": machine(actual=SLOW)}
    for options in ({}, {"walltimes": "stretch"}, {"kill_grace_s": 2.5}, {"kill_grace_s": 0}):
        sweep(limited(10.0), machines, "easy", workers=1, out=tmp_path, **options)
    # A grace of 0 is no grace: the first run serves it.
    assert len(lines(tmp_path)) == 3


def test_what_is_no_walltimes_and_no_grace_is_refused_before_any_run():
    with pytest.raises(hs.ConfigError) as caught:
        sweep(log(), machine(), "easy", walltimes="strech", kill_grace_s=-1, workers=1)
    assert [name for name, _, _ in caught.value.faults] == ["kill_grace_s", "walltimes"]


def test_progress_is_reported_in_rows():
    told = []
    sweep(log(), machine(), ["easy", "random"], seeds=2, workers=1, progress=lambda *now: told.append(now))
    assert told == [(0, 4), (2, 4), (3, 4), (4, 4)]


def test_what_progress_raises_stops_the_sweep_and_its_processes(children):
    def tell(done, _):
        if done:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        sweep(log(), machine(), "random", seeds=8, workers=2, progress=tell)
    assert children() == []


# Faults before the first run


def test_all_faults_are_reported_at_once():
    with pytest.raises(hs.ConfigError) as caught:
        sweep(3, [], ["esay", {"order": "fcsf"}], seeds=[1, 1], workers=0, progress="bars", until_s="noon")
    assert [parameter for parameter, _, _ in caught.value.faults] == [
        "workloads",
        "platforms",
        "policies[0]",
        "policies[1].order",
        "seeds[1]",
        "until_s",
        "workers",
        "progress",
    ]


@pytest.mark.parametrize("seeds", [0, -1, [], "12", 1.5, True, [0.5], [-1], [2**64], [[1]], [([1],)], [{}, {}], None])
def test_seeds_that_cannot_be(seeds):
    with pytest.raises(hs.ConfigError, match=r"^seeds"):
        sweep(log(), machine(), "random", seeds=seeds)


@pytest.mark.parametrize("out", [5, "", b"out", "a\0b", "\ud800", Path("\0"), ["out"], True])
def test_an_out_that_is_no_name_is_reported_with_the_other_faults(tmp_path, monkeypatch, out):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(hs.ConfigError) as caught:
        sweep(log(), machine(), "esay", out=out)
    assert [(name, expected) for name, _, expected in caught.value.faults][1:] == [("out", "a folder's name")]
    with pytest.raises(hs.ConfigError, match=r"^folder: found .*, expected a folder's name"):
        specs(log(), machine(), "easy", folder=out)
    assert list(tmp_path.iterdir()) == []


def test_a_bound_that_a_platform_has_none_of_is_refused_before_any_run(tmp_path):
    shared = hs.Platform.homogeneous(nodes=4, idle_w=100, tdp_w=300, slots=2, exclusive=False)
    begun = []
    with pytest.raises(hs.ConfigError) as caught:
        sweep(
            log(),
            {"whole": machine(), "shared": shared, "shared, too": shared},
            "easy",
            bound=True,
            workers=1,
            out=tmp_path,
            progress=lambda *now: begun.append(now),
        )
    expected = "False where jobs share nodes: the bound is of whole nodes"
    assert caught.value.faults == [
        ("platform `shared`: bound", "`True`", expected),
        ("platform `shared, too`: bound", "`True`", expected),
    ]
    assert begun == []
    assert list(tmp_path.iterdir()) == []
    # Where all nodes are alike no placement needs less than six jobs of 10 s at 300 W.
    (bound_j,) = sweep(log(), machine(), "easy", bound=True, workers=1)["energy_bound_j"]
    assert bound_j == pytest.approx(6 * 10 * 300)


def test_what_sleep_saves_of_what_it_could_is_in_rows_with_the_bound():
    sleepy = hs.Platform.homogeneous(nodes=4, idle_w=100, tdp_w=300, boot_s=5, shutdown_s=5, off_w=0)
    frame = sweep(
        [log().scale_arrivals(0.01), log(jobs=1, node_count=4)], sleepy, ["easy", "nqsv"], bound=True, workers=1
    )
    share = frame["sleep_attained_ratio"].to_list()
    assert share[0] == 0.0, "nothing sleeps"
    assert 0.0 < share[1] < 1.0
    assert share[2:] == [None, None], "a single job of all nodes leaves no gap"
    assert "sleep_attained_ratio" not in sweep(log(), sleepy, "nqsv", workers=1).columns


def test_a_dictionary_that_may_be_a_policy_or_policies_is_refused():
    with pytest.raises(hs.ConfigError, match="goes into a list"):
        sweep(log(), machine(), {"order": "fcfs"})


def test_an_unknown_application_is_found_before_any_run(tmp_path):
    measured = hs.VariationTable(["heat"], power_w=np.full((1, 4), 250.0))
    platforms = {"plain": machine(), "measured": machine(actual=measured)}
    with pytest.raises(hs.ConfigError) as caught:
        sweep({"known": log(app="heat"), "unknown": log(app="flow")}, platforms, "easy", out=tmp_path)
    assert str(caught.value).startswith("workload `unknown`, platform `measured`: table.apps: found no row for")
    assert len(caught.value.faults) == 1
    assert not (tmp_path / FILE).exists()


def test_overload_is_said_once_for_a_workload_and_a_platform():
    busy = hs.Workload.from_polars(log().to_polars().with_columns(runtime_s=pl.lit(600.0)))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        sweep({"busy": busy, "calm": log()}, [machine(2), machine(64)], ["fcfs", "random"], seeds=3, workers=1)
    (warning,) = said
    assert str(warning.message).startswith("workload `busy`, platform `2 nodes`: offered load 6.00")
    assert (warning.category, warning.filename) == (hs.errors.LoadWarning, __file__)


# Specs for another engine


def test_specs_are_plain_and_run_anywhere(tmp_path):
    measured = hs.VariationTable(["heat"], power_w=[[210.0, 250.0, 190.0, 333.3]], time_ratio=[[1.0, 1.1, 0.9, 1.0]])
    work = ([log(app="heat"), log(app="heat", jobs=40)], [machine(), machine(actual=measured)], ["easy", "random"])
    sent = pickle.dumps(specs(*work, seeds=2, folder=tmp_path))
    assert len(sent) < 20_000
    assert len(list(tmp_path.iterdir())) == 4
    rows = [run_one(one) for one in pickle.loads(sent)]
    assert rows == sweep(*work, seeds=2, workers=1).to_dicts()


def test_specs_refuse_an_option_that_is_none(tmp_path):
    with pytest.raises(hs.ConfigError, match="did you mean `until_s`"):
        specs(log(), machine(), "easy", folder=tmp_path, untl_s=5)


def test_the_users_own_columns_stay_behind(tmp_path):
    heavy = hs.Workload.from_polars(log().to_polars().with_columns(script=pl.lit("#!/bin/sh" * 100)))
    (one,) = specs(heavy, machine(), "easy", folder=tmp_path)
    assert pl.read_ipc_schema(one.workload_file).keys() == log().to_polars().schema.keys()
    assert run_one(one) == sweep(heavy, machine(), "easy", workers=1).to_dicts()[0]


# What decides a run


def keys(*work, **more):
    axes = spec.axes_of(*work, more.pop("seeds", 1), hs.checks.Faults())
    return [plan.key for plan in spec.plan_of(axes, dict.fromkeys(axes.platforms, RunOptions(**more)))]


def test_everything_that_decides_a_run_is_in_its_key(monkeypatch):
    table = hs.VariationTable(["heat"], power_w=np.full((1, 4), 250.0))
    other = hs.VariationTable(["heat"], power_w=np.full((1, 4), 251.0))
    unlike = [
        keys(log(), machine(), "random"),
        keys(log(jobs=7), machine(), "random"),
        keys(log(), machine(5), "random"),
        keys(log(), machine(actual=table), "random"),
        keys(log(), machine(actual=other), "random"),
        keys(log(), machine(actual=table, predicted=other), "random"),
        keys(log(), machine(), "easy"),
        keys(log(), machine(), "easy:depth=2"),
        keys(log(), machine(), "random", seeds=[1]),
        keys(log(), machine(), "random", until_s=5.0),
    ]
    monkeypatch.setattr(spec, "__version__", "0.0.0")
    unlike.append(keys(log(), machine(), "random"))
    assert len({key for (key,) in unlike}) == len(unlike)


def test_runs_of_another_build_are_other_runs(tmp_path, monkeypatch):
    module = tmp_path / "_core.so"
    found = []
    for content in (b"one", b"other", b"one"):
        module.write_bytes(content)
        monkeypatch.setattr(_core.__spec__, "origin", str(module))
        store.code_sha256.cache_clear()
        found.append(keys(log(), machine(), "easy"))
    store.code_sha256.cache_clear()
    assert found[0] == found[2] != found[1]
    assert spec.__version__ == hs.__version__


def test_a_spec_whose_files_are_gone_or_damaged_names_them(tmp_path):
    gone, kept = (specs(log(), machine(nodes), "easy", folder=tmp_path / str(nodes))[0] for nodes in (4, 5))
    clear()
    shutil.rmtree(tmp_path / "4")
    with pytest.raises(hs.TraceError, match=r"\.arrow: found no such file, expected the jobs that `specs` wrote there"):
        run_one(gone)
    Path(kept.platform_file).write_text('{"nodes":')
    with pytest.raises(hs.TraceError, match=r"\.json: found .* expected the platform that `specs` wrote there"):
        run_one(kept)
    Path(kept.workload_file).write_bytes(b"ARROW")
    clear()
    with pytest.raises(hs.TraceError, match=r"\.arrow: found .* expected the jobs that"):
        run_one(kept)


@pytest.mark.parametrize(("given", "found"), [("a.json", "`a.json`"), (None, "a NoneType"), ({}, "a dict")])
def test_what_is_no_spec_is_reported(given, found):
    with pytest.raises(hs.ConfigError) as caught:
        run_one(given)
    assert str(caught.value) == f"spec: found {found}, expected a Spec, as `specs` makes them"


def test_names_decide_nothing():
    assert keys({"a": log(source="x")}, {"b": machine()}, {"c": "easy"}) == keys(log(source="y"), machine(), "easy")


# Workloads that are functions of the seed


def drawn_log(seed):
    """Six jobs of one node, seed + 1 seconds longer than ten."""
    return hs.Workload.from_polars(log().to_polars().with_columns(runtime_s=pl.lit(11.0 + seed)))


def test_a_function_of_the_seed_gives_each_seed_a_workload_of_its_own(tmp_path):
    workloads = {"drawn": drawn_log, "fixed": log()}
    frame = sweep(workloads, machine(1), ["random", "easy"], seeds=[2, 5], workers=1, out=tmp_path)
    busy_s = (frame["job_energy_j"] / 300).round(6)
    assert frame.select("workload", "policy", "seed").with_columns(busy_s).rows() == [
        ("drawn", "random", 2, 78.0),
        ("drawn", "random", 5, 96.0),
        ("drawn", "easy", 2, 78.0),
        ("drawn", "easy", 5, 96.0),
        ("fixed", "random", 2, 60.0),
        ("fixed", "random", 5, 60.0),
        ("fixed", "easy", 2, 60.0),
        ("fixed", "easy", 5, 60.0),
    ]
    # A policy without chance runs once on the fixed workload, and once a seed on what is drawn.
    assert len(lines(tmp_path)) == 7
    alone = sweep(drawn_log(5), machine(1), "easy", workers=1)
    assert frame.row(3)[4:] == alone.row(0)[4:]


def test_what_is_drawn_is_known_again_in_a_folder_and_in_other_processes(tmp_path):
    told = []
    first = sweep(drawn_log, machine(1), "easy", seeds=2, workers=2, out=tmp_path)
    both = sweep(
        drawn_log, machine(1), "easy", seeds=3, workers=1, out=tmp_path, progress=lambda *done: told.append(done)
    )
    assert told == [(2, 3), (3, 3)]
    assert both["workload"].to_list() == ["drawn_log"] * 3
    assert both.head(2).equals(first)


def test_generators_take_the_seed_by_name():
    draw = functools.partial(hs.workload.poisson, nodes=4, jobs=20, load=0.5)
    frame = sweep(
        {"half": draw, "by hand": lambda any_name: draw(seed=any_name)}, machine(), "easy", seeds=2, workers=1
    )
    assert frame["offered_load_ratio"].n_unique() == 2
    assert frame["energy_j"][:2].equals(frame["energy_j"][2:])


def test_a_function_that_gives_something_else_is_refused_with_its_seed():
    with pytest.raises(hs.ConfigError) as caught:
        sweep({"odd": lambda seed: drawn_log(seed) if seed < 4 else 7}, machine(), "easy", seeds=[3, 4], workers=1)
    assert str(caught.value) == (
        "workloads['odd'], seed 4: found `int`, expected a Workload, as read_swf or Workload.from_polars makes it"
    )
    with pytest.raises(
        hs.ConfigError, match=r"^workloads: found str, expected a Workload, .* or a function of the seed"
    ):
        sweep("may.swf", machine(), "easy")


def test_the_concern_of_a_function_is_said_once():
    def busy(seed):
        return drawn_log(seed).scale_arrivals(10)

    with pytest.warns(
        hs.errors.LoadWarning, match="workload `busy` of seed 0, platform `1 nodes`: offered load"
    ) as said:
        sweep(busy, machine(1), "easy", seeds=3, workers=1)
    assert len([one for one in said if one.category is hs.errors.LoadWarning]) == 1


def test_a_platform_with_queues_is_swept():
    jobs = pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 500], "runtime_s": [60, 60], "node_count": [2, 1]})
    log = hs.Workload.from_polars(jobs.with_columns(queue=pl.Series(["a", "b"])))
    for nodes, policy in ((["0-1", "2-3"], "easy"), (["0-2", "1-3"], "slurm")):
        queues = [hs.Queue(name, own) for name, own in zip("ab", nodes, strict=True)]
        platform = hs.Platform.homogeneous(4, 100, 400, queues=queues)
        assert hs.sweep(log, platform, policy, seeds=[0], workers=1)["completed"].to_list() == [2]
