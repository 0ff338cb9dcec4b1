"""``hetsched report`` and ``--report``: pages from the command line."""

import json
import re

import pytest

pytest.importorskip("plotly")

MACHINE = ("--nodes", "16", "--idle-w", "100", "--tdp-w", "300")


def headline(page):
    return re.search(r"<h1>(.*?)</h1>", page.read_text())[1]


def test_compare_writes_a_page_of_all_policies(hetsched, folder):
    said = hetsched("compare", "small.swf", *MACHINE, "--policies", "fcfs,easy", "--report", "page.html")
    assert said.code == 0, said.err
    assert said.out.splitlines()[-1] == "wrote page.html"
    text = (folder / "page.html").read_text()
    assert headline(folder / "page.html") == "small.swf: 2 policies"
    assert "hetsched compare small.swf" in text
    assert "fcfs" in text
    assert "hetsched 0" in text or "Made by hetsched" in text


def test_the_title_is_the_readers_own(hetsched, folder):
    said = hetsched("simulate", "small.swf", *MACHINE, "--report", "page.html", "--title", "What <we> save")
    assert said.code == 0, said.err
    assert headline(folder / "page.html") == "What &lt;we&gt; save"


def test_what_was_assumed_stands_in_the_box(hetsched, folder):
    assert hetsched("compare", "small.swf", "--nodes", "16", "--policies", "fcfs,easy", "--report", "p.html").code == 0
    box = re.search(r'<aside class="assumed".*?</aside>', (folder / "p.html").read_text(), re.DOTALL)[0]
    assert "assumed: idle 100 W and TDP 400 W a node" in box


def test_runs_of_before_make_the_page_of_the_comparison(hetsched, folder):
    assert hetsched("compare", "small.swf", *MACHINE, "--policies", "fcfs,easy", "--out", "runs").code == 0
    said = hetsched("report", "runs", "--baseline", "fcfs", "--out", "page.html", "--json")
    assert said.code == 0, said.err
    found = json.loads(said.out)
    assert [run["policy"] for run in found["runs"]] == ["fcfs", "easy"]
    assert found["written"] == ["page.html"]
    assert hetsched("report", "runs/easy", "--out", "one.html").code == 0
    assert headline(folder / "one.html") == "small.swf under easy"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["report"], "error: missing argument DIR; see hetsched report --help"),
        (
            ["report", "nowhere"],
            "error: nowhere/summary.json: found no such file, expected a file written by Result.write",
        ),
        (
            ["report", "run", "--baseline", "esy"],
            "error: --baseline: found `esy`, expected one of easy; did you mean `easy`?",
        ),
        (
            ["report", "run", "--out", "page.pdf"],
            "error: --out: found `page.pdf`, expected a name ending in .html, .htm",
        ),
        (["simulate", "small.swf", "--title", "x"], "error: --title: found no --report, expected a page for it"),
        (["simulate", "small.swf", "--report", "no/such/\0.html"], "error: --report: found"),
    ],
)
def test_faults_are_a_line(hetsched, folder, words, message):
    assert hetsched("simulate", "small.swf", *MACHINE, "--out", "run").code == 0
    said = hetsched(*words)
    assert said.code == 2
    assert message in said.err
    assert not list(folder.glob("*.html"))
    assert not list(folder.glob("*.pdf"))


OBSERVED = "job_id,submit_s,runtime_s,walltime_s,node_count,observed_start_s\n" + "".join(
    f"{job},{4000 * job},{3000 + 900 * (job % 7)},9000,{1 + job % 3},{4000 * job + 600 * (job % 5)}\n"
    for job in range(300)
)
SWEEP = 'logs = ["log.csv"]\npolicies = ["fcfs", "easy"]\nnodes = 6\nidle_w = 100\ntdp_w = 300\n'
PROVISION = ["--budget-w", "900", "--base-w", "25", "--mix", "85:1,70:1"]
VERBS = {
    "validate": ["validate", "log.csv", *MACHINE],
    "whatif": ["whatif", "log.csv", *MACHINE, "--set", "nodes=8", "--workers", "1"],
    "provision": ["provision", *PROVISION, "--nodes", "6,9"],
    "sweep": ["sweep", "s.toml", "--workers", "1"],
    "reproduce": ["reproduce", "swa-multi", "--quick", "--repetitions", "2"],
}


@pytest.fixture
def verb(hetsched, folder):
    """Calls a verb that has a page, with more words."""
    (folder / "log.csv").write_text(OBSERVED)
    (folder / "s.toml").write_text(SWEEP)
    return lambda name, *more: hetsched(*VERBS[name], *more)


@pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")
@pytest.mark.parametrize("name", VERBS)
def test_each_verb_writes_its_page_with_the_command_that_made_it(verb, folder, name):
    said = verb(name, "--report", "page.html", "--title", "What <we> asked")
    assert said.code == 0, said.err
    assert said.out.splitlines()[-1] == "wrote page.html"
    text = (folder / "page.html").read_text()
    assert headline(folder / "page.html") == "What &lt;we&gt; asked"
    assert f"hetsched {VERBS[name][0]} " in text
    assert text.count('<p class="answer">') == 2
    assert text.count('<div class="number">') == 3


@pytest.mark.parametrize("name", VERBS)
def test_a_title_needs_a_page_and_a_page_its_ending(verb, folder, name):
    said = verb(name, "--title", "Ours")
    assert (said.code, said.err) == (2, "error: --title: found no --report, expected a page for it: --report FILE.html")
    said = verb(name, "--report", "page.png")
    assert said.code == 2
    assert said.err.startswith("error: --report: found `page.png`, expected a name ending in .html, .htm")
    assert sorted(path.name for path in folder.iterdir() if path.suffix == ".html") == []
