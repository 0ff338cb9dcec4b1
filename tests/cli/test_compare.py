"""``hetsched compare``: its table, its intervals, its files."""

import json

import polars as pl
import pytest

POLICIES = "fcfs,easy:placement=lowest-power"


def test_a_table_of_values_and_ratios(hetsched):
    # At 16 nodes nobody can overtake: job 5 waits for job 2, jobs 4 is too large; all policies do the same.
    said = hetsched(
        "compare", "small.swf", "--policies", POLICIES, "--baseline", "fcfs", "--idle-w", 90, "--tdp-w", 300
    )
    assert said.code == 0
    assert said.err == (
        "warning: jobs that never started: 1 of 5 (asks for more nodes than the platform has: job 4); energy is lower "
        "by their work"
    )
    assert said.out == (
        """\
5 jobs read from small.swf; 1 cancelled or failed kept
16 processors, each taken as a node (MaxProcs)

                                                                        waits
                                                      95th             over 1
                                         mean   percentile   longest        h
                               energy    wait     of waits      wait   longer
 policy                           kWh     min          min       min     jobs
 ────────────────────────────────────────────────────────────────────────────
 fcfs                           1.271   2.375        8.075     9.500        0
 easy:placement=lowest-power    1.271   2.375        8.075     9.500        0

 ratio to fcfs
 easy:placement=lowest-power    1.000   1.000        1.000     1.000        –

nodes are alike: which of them a job gets changes no energy
killed at their walltime: 1 of the jobs under every policy
rejected: 1 of the jobs under every policy"""
    )


def test_policies_that_draw_lots_run_under_every_seed_and_the_others_once(hetsched, folder):
    jobs = {"job_id": [1, 2], "submit_s": [0, 100], "runtime_s": [60, 60], "node_count": [1, 1], "app": ["a", "a"]}
    pl.DataFrame(jobs).write_parquet("own.parquet")
    watts = {"app": ["a"] * 4, "node": range(4), "power_w": [100.0, 200.0, 300.0, 400.0]}
    pl.DataFrame(watts).write_csv("watts.csv")
    options = ("--nodes", 4, "--table", "watts.csv", "--seeds", 5, "--seed", 3, "--metrics", "job_energy_j")
    said = hetsched("compare", "own.parquet", "--policies", "random,fcfs", *options, "--json")
    found = json.loads(said.out)
    assert list(found) == ["summary", "baseline", "comparison", "runs", "assumed", "written"]
    assert [(run["policy"], run["seed"]) for run in found["runs"]] == [
        *(("random", s) for s in range(3, 8)),
        ("fcfs", 3),
    ]
    random, fcfs = found["comparison"]
    joules = [run["summary"]["job_energy_j"] for run in found["runs"][:5]]
    assert random["mean"] == found["summary"]["random"]["job_energy_j"] == pytest.approx(sum(joules) / 5)
    assert (random["runs"], random["ratio"], fcfs["runs"]) == (5, 1.0, 1)
    assert random["half_width_95"] > 0
    assert fcfs["half_width_95"] is None
    assert fcfs["mean"] == 2 * 60 * 100.0
    table = hetsched("compare", "own.parquet", "--policies", "random,fcfs", *options).out.splitlines()
    assert any(line.startswith("   ± (95 %, 5 seeds)") for line in table)
    assert any(line.startswith("   ± (95 %)") for line in table)


def test_runs_elsewhere_give_the_same_table_pictures_and_page(hetsched, folder):
    words = ["compare", "small.swf", "--policies", POLICIES, "--idle-w", 90, "--tdp-w", 300, "--bound"]
    here = hetsched(*words)
    there = hetsched(*words, "--executor", "processes:1", "--plot", "pictures/", "--report", "page.html")
    assert there.code == 0, there.err
    assert there.out.startswith(here.out)
    assert (folder / "page.html").stat().st_size > 100_000
    assert (folder / "pictures" / "waits.png").exists()
    said = hetsched(*words, "--executor", "somewhere")
    assert said.code == 2
    assert "--executor: found `somewhere`, expected processes:N, dask://HOST:PORT" in said.err


def test_what_is_written_can_be_read_and_repeated(hetsched, folder):
    options = ("--policies", "fcfs,random", "--seeds", 2, "--out", "out", "--plot", "out/pictures")
    said = hetsched("compare", "small.swf", *options)
    assert said.code == 0
    assert sorted(path.name for path in (folder / "out").iterdir()) == [
        "comparison.csv",
        "fcfs",
        "pictures",
        "random-seed-0",
        "random-seed-1",
    ]
    assert sorted(path.name for path in (folder / "out" / "pictures").iterdir()) == [
        "energy-wait.png",
        "gantt-fcfs.png",
        "gantt-random.png",
        "node-map-fcfs.png",
        "node-map-random.png",
        "nodes-fcfs.png",
        "nodes-random.png",
        "overview-fcfs.png",
        "overview-random.png",
        "ratios.png",
        "waits.png",
    ]
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "summary.json"]
    before = {path: path.read_bytes() for path in files}
    hetsched("compare", "small.swf", *options)
    assert {path: path.read_bytes() for path in files} == before


def test_the_first_policy_is_the_baseline_if_none_is_named(hetsched):
    assert " ratio to easy" in hetsched("compare", "small.swf", "--policies", "easy,fcfs").out
    assert "ratio to" not in hetsched("compare", "small.swf", "--policies", "easy").out


def test_one_picture_holds_ratios_and_waits(hetsched, folder):
    said = hetsched("compare", "small.swf", "--policies", "easy,fcfs", "--plot", "both.png")
    assert said.out.endswith("wrote both.png")
    assert (folder / "both.png").read_bytes().startswith(b"\x89PNG")


SINGLES = {"job_id": [1, 2], "submit_s": [0, 100], "runtime_s": [60, 60], "node_count": [1, 1]}


def test_a_cap_is_chosen_of_a_table_of_several(hetsched):
    pl.DataFrame({**SINGLES, "app": ["a", "a"]}).write_parquet("own.parquet")
    watts = {"app": ["a"] * 4, "node": [0, 1] * 2, "power_w": [280.0, 280.0, 320.0, 320.0]}
    pl.DataFrame({**watts, "cap_w": [280.0, 280.0, float("inf"), float("inf")]}).write_csv("caps.csv")
    options = ("own.parquet", "--nodes", 2, "--table", "caps.csv")
    for cap, drawn_w in ((280, 280), ("inf", 320)):
        (energy,) = (
            summary["job_energy_j"]
            for summary in json.loads(
                hetsched("compare", *options, "--policies", "fcfs", "--cap-w", cap, "--json").out
            )["summary"].values()
        )
        assert energy == pytest.approx(2 * 60 * drawn_w)
        one = json.loads(hetsched("simulate", *options, "--cap-w", cap, "--json").out)
        assert one["summary"]["job_energy_j"] == energy
    said = hetsched("simulate", *options)
    assert said.err == "error: caps.csv: --cap-w: found `2 caps and none asked for`, expected one of 280, inf"


TWO_KINDS = """
[[classes]]
name = "a"
count = 2
idle_w = 90
tdp_w = 300

[[classes]]
name = "b"
count = 2
idle_w = 90
tdp_w = 310
"""
ALIKE = "nodes are alike: which of them a job gets changes no energy"


@pytest.mark.parametrize(
    ("policies", "platform", "note"),
    [
        ("naive,paa", "nodes = 4\nidle_w = 90\ntdp_w = 300\n", ALIKE),
        ("naive,easy", "nodes = 4\nidle_w = 90\ntdp_w = 300\n", None),
        ("naive,paa", "nodes = 2\nidle_w = [90, 91]\ntdp_w = 300\n", None),
        ("naive,paa", "nodes = 4\nidle_w = 90\ntdp_w = 300\nslots = 2\nexclusive = false\n", None),
        ("naive,paa", TWO_KINDS, None),
    ],
)
def test_that_placement_can_change_nothing_is_said(hetsched, folder, policies, platform, note):
    pl.DataFrame(SINGLES).write_parquet("own.parquet")
    (folder / "node.toml").write_text(platform)
    said = hetsched("compare", "own.parquet", "--platform", "node.toml", "--policies", policies)
    assert said.code == 0
    assert (said.out.splitlines()[-1] == ALIKE) == (note is not None)
    assert (ALIKE in said.out) == (note is not None)


def test_nothing_to_save_is_said_as_that(hetsched):
    pl.DataFrame(SINGLES).write_parquet("own.parquet")
    said = hetsched("compare", "own.parquet", "--nodes", 2, "--policies", "naive,paa", "--bound")
    assert said.out.splitlines()[-1] == "placement has nothing to save: nodes are alike"
    # One busy node of two: all differ, and naive is on the best already.
    pl.DataFrame({**SINGLES, "app": ["a", "a"]}).write_parquet("own.parquet")
    pl.DataFrame({"app": ["a"] * 2, "node": [0, 1], "power_w": [100.0, 300.0]}).write_csv("watts.csv")
    options = ("--nodes", 2, "--table", "watts.csv", "--policies", "naive,paa", "--bound")
    assert hetsched("compare", "own.parquet", *options).out.splitlines()[-1] == "placement has nothing to save"


def test_savings_are_held_against_what_was_attainable(hetsched, folder):
    # Two single jobs in turn, on nodes of 300 and 100 W: naive takes the first, paa the second, and no more can be had.
    jobs = {"job_id": [1, 2], "submit_s": [0, 100], "runtime_s": [60, 60], "node_count": [1, 1], "app": ["a", "a"]}
    pl.DataFrame(jobs).write_parquet("own.parquet")
    pl.DataFrame({"app": ["a"] * 2, "node": [0, 1], "power_w": [300.0, 100.0]}).write_csv("watts.csv")
    options = ("--nodes", 2, "--table", "watts.csv", "--policies", "naive,paa", "--bound")
    said = hetsched("compare", "own.parquet", *options)
    assert said.out.splitlines()[-1] == "placement could save at most 66.67% of naive's job energy; of that: paa 100.0%"
    found = json.loads(hetsched("compare", "own.parquet", *options, "--json").out)
    assert found["attained"] == {"paa": pytest.approx(1.0)}
    assert found["summary"]["paa"]["energy_bound_j"] == pytest.approx(2 * 60 * 100.0)
    # Stopped while the second job runs, the bound is of the first alone, and shares would mean nothing.
    cut = hetsched("compare", "own.parquet", *options, "--until-s", 130)
    assert "jobs were left when the runs were stopped: no share of what placement could save" in cut.out.splitlines()
    assert "placement could save" not in cut.out.replace("of what placement could save", "")
    one = hetsched("simulate", "own.parquet", "--nodes", 2, "--table", "watts.csv", "--policy", "naive", "--bound")
    assert any(line.startswith("     least any placement could reach") for line in one.out.splitlines())


@pytest.mark.parametrize("word", ["starts", "all"])
def test_placement_and_timing_have_shares_of_their_own_next_to_waits(hetsched, folder, word):
    jobs = {"job_id": [1, 2], "submit_s": [0, 100], "runtime_s": [60, 60], "node_count": [1, 1], "app": ["a", "a"]}
    pl.DataFrame(jobs).write_parquet("own.parquet")
    pl.DataFrame({"app": ["a"] * 2, "node": [0, 1], "power_w": [300.0, 100.0]}).write_csv("watts.csv")
    options = ("--nodes", 2, "--table", "watts.csv", "--policies", "naive,paa", "--bound", word)
    shown = hetsched("compare", *options, "own.parquet").out
    rows = [line.split() for line in shown.split("Saved by placement and by timing, and the waits")[1].splitlines()]
    # Blind placement draws 200 W on average: naive is at 300 W, paa at the bound.
    assert ["naive", "-100.00", "0.00", "0.00", "0.00"] in [row[:5] for row in rows]
    assert ["paa", "100.00", "66.67", "66.67", "0.00"] in [row[:5] for row in rows]
    found = json.loads(hetsched("compare", "own.parquet", *options, "--json").out)
    assert [row["placement_j"] for row in found["shares"]] == [0.0, pytest.approx(2 * 60 * 200.0)]
    assert ("energy_bound_j" in found["summary"]["paa"], "attained" in found) == (word == "all", word == "all")
    page = hetsched("compare", "own.parquet", *options, "--report", "page.html")
    assert page.code == 0, page.err
    assert "Saved by placement and by timing" in (folder / "page.html").read_text()


def test_a_bound_without_a_word_is_the_windows_whatever_follows(hetsched):
    pl.DataFrame(SINGLES).write_parquet("own.parquet")
    for given in (("--bound", "own.parquet"), ("own.parquet", "--bound"), ("--bound=true", "own.parquet")):
        said = json.loads(hetsched("simulate", *given, "--nodes", 2, "--json").out)["summary"]
        assert ("energy_bound_j" in said, "energy_bound_starts_j" in said) == (True, False)
    said = hetsched("simulate", "own.parquet", "--nodes", 2, "--bound=start")
    assert said.err.endswith("--bound: found `start`, expected one of starts, all; did you mean `starts`?")
    asked = ("compare", "own.parquet", "--nodes", 2, "--policies", "naive,paa", "--metrics", "energy_bound_starts_j")
    expected = "expected --bound starts as well, which computes it"
    assert hetsched(*asked, "--bound").err.endswith(expected)
    assert hetsched(*asked, "--bound", "all").code == 0


# Two nodes, of 100 W idle, that boot and shut down in a minute; there is nothing to save where both always serve.
SLEEPY = """[[classes]]
name = "node"
count = 2
idle_w = 100
tdp_w = 300
off_w = 0
boot_s = 60
shutdown_s = 60
"""


@pytest.mark.parametrize(("submits_s", "saving"), [((0, 20_000), ("63.87", "0.00")), ((0,), ("–", "–"))])
def test_the_share_that_sleep_saves_is_compared_with_the_bound(hetsched, folder, submits_s, saving):
    count = len(submits_s)
    columns = {"job_id": range(count), "submit_s": submits_s, "runtime_s": [100] * count, "node_count": [2, 1][:count]}
    pl.DataFrame(columns).write_csv("few.csv")
    (folder / "sleepy.toml").write_text(SLEEPY)
    asked = ("few.csv", "--platform", "sleepy.toml", "--policies", "nqsv,easy", "--metrics", "sleep_attained_ratio")
    said = hetsched("compare", *asked)
    assert said.err == "error: --metrics: found `sleep_attained_ratio`, expected --bound as well, which computes it"
    rows = [line.split() for line in hetsched("compare", *asked, "--bound").out.splitlines()]
    assert [row[1] for row in rows if row[:1] in (["nqsv"], ["easy"])][:2] == list(saving)


def test_where_windows_differ_the_parts_of_the_energy_and_the_makespans_are_shown(hetsched):
    # Of two nodes at 100 W idle and 300 W busy. fcfs: job 2 waits for job 1 until 100 and ends at 200, job 3 follows
    # until 300. easy: job 3 runs next to job 1, and all ends at 200.
    jobs = {"job_id": [1, 2, 3], "submit_s": [0, 1, 2], "runtime_s": [100, 100, 90], "node_count": [1, 2, 1]}
    pl.DataFrame(jobs).write_parquet("own.parquet")
    machine = ("--nodes", 2, "--idle-w", 100, "--tdp-w", 300)
    said = hetsched("compare", "own.parquet", "--policies", "fcfs,easy", *machine)
    note = (
        "makespans (min) differ, and energy holds that of idle nodes up to each run's last end: fcfs 4.833, easy 3.333"
    )
    assert note in said.out.splitlines()
    found = json.loads(hetsched("compare", "own.parquet", "--policies", "fcfs,easy", *machine, "--json").out)
    shown = {(row["policy"], row["metric"]): row["mean"] for row in found["comparison"]}
    # 390 node-seconds of jobs in windows of 290 and 200 s on two nodes.
    expected = {"fcfs": (190 * 100.0, 290), "easy": (10 * 100.0, 200)}
    for policy, (idle_j, makespan_s) in expected.items():
        assert found["summary"][policy]["makespan_s"] == makespan_s
        assert shown[policy, "idle_energy_j"] == idle_j
        assert shown[policy, "job_energy_j"] == 390 * 300.0
    titles = " ".join(said.out.split())
    assert "energy of" in titles
    chosen = hetsched("compare", "own.parquet", "--policies", "fcfs,easy", *machine, "--metrics", "mean_wait_s")
    assert "energy of" not in chosen.out.replace("energy holds that of", "")


def test_windows_within_a_hundredth_of_each_other_count_as_the_same(hetsched):
    jobs = {"job_id": [1, 2, 3], "submit_s": [0, 1, 2], "runtime_s": [100, 9900, 90], "node_count": [1, 2, 1]}
    pl.DataFrame(jobs).write_parquet("own.parquet")
    said = hetsched("compare", "own.parquet", "--nodes", 2, "--policies", "fcfs,easy")
    assert "makespans" not in said.out
    assert "nodes at" not in said.out


def test_who_knows_measured_draws_is_said_and_a_predictor_serves_every_policy(hetsched, folder):
    (folder / "jobs.csv").write_text("job_id,submit_s,runtime_s,node_count,power_w\n1,0,100,1,210\n2,200,100,1,240\n")
    run = ("compare", "jobs.csv", "--nodes", 2, "--idle-w", 100, "--tdp-w", 300)
    policies = ("--policies", "fcfs,easy:power=system-budget,vahrm")
    notes = [line for line in hetsched(*run, *policies).out.splitlines() if "draw of" in line]
    assert notes == [
        (
            "easy:power=system-budget, vahrm: decisions know the measured draw of 2 jobs before they have run; "
            "--known-draws table or tdp, or --predictor history, has them not know it"
        )
    ]
    found = json.loads(hetsched(*run, *policies, "--predictor", "history", "--json").out)
    forecasts = [own["provenance"]["known_draws"]["forecast"]["predicted"] for own in found["runs"]]
    assert forecasts == [1, 1, 1]
    assert "error: --predictor: found `histry`" in hetsched(*run, *policies, "--predictor", "histry").err


def test_what_happened_stands_next_to_what_could_have(hetsched, folder):
    # Jobs 1 and 2 ran one after the other, the second 900 s later than it had to.
    lines = [f"{job} 0 {wait} 600 2 -1 -1 2 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n" for job, wait in ((1, 0), (2, 900))]
    (folder / "log.swf").write_text("; MaxProcs: 4\n" + "".join(lines))
    said = hetsched("compare", "log.swf", "--policies", "replay,easy", "--idle-w", 90, "--tdp-w", 300)
    assert (said.code, said.err) == (0, "")
    table = said.out.partition("policy")[2]
    assert [line.split()[:2] for line in table.splitlines()[2:4]] == [["replay", "(observed)"], ["easy", "200.0"]]
    assert "ratio to replay (observed)" in table
    found = json.loads(hetsched("compare", "log.swf", "--policies", "replay,easy", "--nodes", 4, "--json").out)
    assert [found["summary"][name]["mean_wait_s"] for name in ("replay", "easy")] == [450.0, 0.0]


def test_a_log_without_observed_starts_cannot_be_replayed(hetsched):
    said = hetsched("compare", "small.swf", "--policies", "replay,easy", "--idle-w", 90, "--tdp-w", 300)
    assert (said.code, said.out) == (2, said.out)
    assert said.err == (
        "error: workload.observed_start_s: found nulls only, expected when each job started, in seconds: "
        "policy replay repeats it"
    )


def test_a_replay_on_a_machine_that_is_too_small_warns(hetsched, folder):
    log = "".join(f"{job} 0 0 600 2 -1 -1 2 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n" for job in (1, 2, 3))
    (folder / "log.swf").write_text(log)
    said = hetsched("simulate", "log.swf", "--policy", "replay", "--nodes", 4, "--idle-w", 90, "--tdp-w", 300)
    assert said.code == 0
    assert said.err == "warning: replay: 1 job starts later than in the log: the needed nodes were not free then"


def write_unlike_nodes():
    """Two jobs of 100 s, one node each, and a machine of two fast, hungry nodes and two slow ones that draw less."""
    jobs = {"job_id": [1, 2], "submit_s": [0, 0], "runtime_s": [100, 100], "walltime_s": [100, 100]}
    pl.DataFrame({**jobs, "node_count": [1, 1], "app": ["a", "a"]}).write_parquet("own.parquet")
    watts = {"app": ["a"] * 4, "node": range(4), "power_w": [400.0, 400.0, 300.0, 300.0]}
    pl.DataFrame({**watts, "time_ratio": [1.0, 1.0, 2.0, 2.0]}).write_csv("watts.csv")


UNLIKE = ("own.parquet", "--nodes", 4, "--table", "watts.csv", "--idle-w", 0, "--tdp-w", 400)


def test_different_work_is_compared_by_energy_per_work(hetsched):
    # On nodes 0 and 1 both jobs need 100 s at 400 W: 80 kJ for 200 node-seconds. On nodes 2 and 3 they would need 200 s
    # and are killed after 100 s at 300 W, half done: 60 kJ for 100 node-seconds.
    write_unlike_nodes()
    said = hetsched("compare", *UNLIKE, "--policies", "fcfs,fcfs:placement=lowest-power", "--metrics", "energy_j")
    assert said.code == 0
    assert said.err.splitlines()[-2:] == [
        (
            "warning: jobs killed before their work was done: fcfs:placement=lowest-power 2, and 50 % of the started "
            "node-seconds lost; energy is lower by as much work as was not done, and --walltimes stretch gives jobs "
            "the time they need on slower nodes"
        ),
        (
            "warning: the runs did different work: fcfs:placement=lowest-power did 50 % less than fcfs (jobs killed "
            "before their work was done: 2). Energy is lower by as much work as was not done: compare energy per work; "
            "where nodes are slower than nominal, --walltimes stretch gives jobs the time they need."
        ),
    ]
    assert said.out.split("\n\n", 1)[1] == (
        """\
                                        energy per
                               energy         work
 policy                            Wh     J/node-s
 ─────────────────────────────────────────────────
 fcfs                           22.22        400.0
 fcfs:placement=lowest-power    16.67        600.0

 ratio to fcfs
 fcfs:placement=lowest-power    0.750        1.500

killed at their walltime: fcfs 0, fcfs:placement=lowest-power 2"""
    )


def test_where_walltimes_stretch_the_work_is_the_same_and_nothing_is_said(hetsched):
    # Nodes 2 and 3 take 200 s at 300 W each: 120 kJ against 80.
    write_unlike_nodes()
    policies = ("--policies", "fcfs,fcfs:placement=lowest-power", "--walltimes", "stretch")
    said = hetsched("compare", *UNLIKE, *policies, "--json")
    found = json.loads(said.out)
    assert "energy_per_work_j_per_node_s" not in [row["metric"] for row in found["comparison"]]
    assert found["summary"]["fcfs"]["energy_j"] == 80e3
    assert found["summary"]["fcfs:placement=lowest-power"]["energy_j"] == 120e3
    assert "warning" not in said.err
    assert found["runs"][0]["provenance"]["options"]["walltimes"] == "stretch"


def test_a_replay_among_others_names_itself_once(hetsched, folder):
    log = "".join(f"{job} 0 0 600 2 -1 -1 2 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n" for job in (1, 2, 3))
    (folder / "log.swf").write_text(log)
    said = hetsched("compare", "log.swf", "--policies", "easy,replay", "--nodes", 4, "--idle-w", 90, "--tdp-w", 300)
    assert said.code == 0
    assert said.err == "warning: replay: 1 job starts later than in the log: the needed nodes were not free then"


def test_a_log_is_known_by_its_content_where_its_name_says_nothing(hetsched, folder):
    usual = hetsched("compare", "small.swf", "--policies", "easy")
    (folder / "small.swf").rename(folder / "log.txt")
    said = hetsched("compare", "log.txt", "--policies", "easy")
    assert (said.code, said.out) == (0, usual.out.replace("small.swf", "log.txt"))


def test_a_log_of_unknown_format_says_how_to_give_one(hetsched, folder):
    (folder / "log.txt").write_text("id;begin;end\n1;0;60\n")
    said = hetsched("compare", "log.txt", "--policies", "easy")
    assert said.err == (
        "error: log.txt: found a name that tells no format, expected one ending in .swf, .swf.gz, .swf.zst, .parquet, "
        ".json, .json.gz, .json.zst, .pbs, .pbs.gz, .pbs.zst, .csv, .csv.gz, .csv.zst, .sacct, .sacct.gz, .sacct.zst, "
        "or --format with one of swf, parquet, batsim, pbs, csv, sacct"
    )
