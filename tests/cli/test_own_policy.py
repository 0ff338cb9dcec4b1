"""Policies of users' own on the command line: ``FILE.py:NAME``."""

import json
import pickle
import signal
import subprocess
import sys
from contextlib import suppress

import pytest

from hetsched.cli.named_policies import policy_of

MINE = '''
import hetsched as hs
from beside import KEY


class MyOrder:
    """Shortest first."""

    def __init__(self, key=KEY):
        self.key = key

    def rank(self, jobs, view):
        return getattr(jobs, self.key)


class Whole:
    def decide(self, view):
        free, starts = view.free, []
        for job_id, count in zip(view.queue.job_id, view.queue.node_count):
            if count > len(free):
                break
            starts.append((job_id, free[:count]))
            free = free[count:]
        return starts


class Both(MyOrder, Whole):
    pass


class Nothing:
    pass


class Needy(MyOrder):
    def __init__(self, key):
        self.key = key


class Broken:
    def rank(self, jobs, view):
        return 1 / 0


class Yields:
    def decide(self, view):
        yield 1 / 0


class Leaves:
    def decide(self, view):
        raise SystemExit(7)


smallest = MyOrder("node_count")
policy = hs.Policy.preset("sjf")
'''
KNOWN = "MyOrder, Whole, Both, Needy, Broken, Yields, Leaves, smallest, policy"
METHODS = (
    "`rank` (order), `select` (backfill), `choose` (placement), `decide` (scheduler), `allot` (allocator), "
    "`read` (monitor), `estimate` (analyzer), `sizes` (sizing), `rest` (sleep)"
)


@pytest.fixture
def mine(folder):
    """A file with parts of policies, and one next to it that it imports."""
    (folder / "mine.py").write_text(MINE, encoding="utf-8")
    (folder / "beside.py").write_text('KEY = "planned_s"\n', encoding="utf-8")
    yield folder
    for name in [name for name in sys.modules if name.startswith("policy_file_") or name == "beside"]:
        del sys.modules[name]
    sys.path[:] = [path for path in sys.path if path != str(folder)]


@pytest.mark.parametrize(
    ("own", "named"),
    [
        ("mine.py:MyOrder", "easy:order=shortest"),
        ("mine.py:smallest", "easy:order=smallest"),
        ("mine.py:Whole", "fcfs"),
        ("mine.py:policy", "sjf"),
        ("mine.py:MyOrder:depth=2:placement=lowest-power", "easy:order=shortest:depth=2:placement=lowest-power"),
    ],
)
@pytest.mark.usefixtures("mine")
def test_a_policy_from_a_file_runs(hetsched, own, named):
    said = [json.loads(hetsched("simulate", "small.swf", "--policy", one, "--json").out) for one in (own, named)]
    assert said[0]["summary"] == said[1]["summary"]


@pytest.mark.usefixtures("mine")
def test_settings_change_the_other_parts(hetsched):
    said = hetsched("simulate", "small.swf", "--policy", "mine.py:MyOrder", "--set", "depth=3", "--json")
    policy = json.loads(said.out)["policy"]
    assert policy["name"] == "easy:order=MyOrder(key=planned_s):backfill.depth=3"
    assert policy["backfill"] == {"name": "reservations", "depth": 3, "order": "policy"}
    assert policy["order"]["python"] == "mine.MyOrder"


@pytest.mark.usefixtures("mine")
def test_what_a_class_takes_by_name_can_be_set(hetsched):
    said = hetsched("simulate", "small.swf", "--policy", "mine.py:MyOrder:key=node_count:depth=3", "--json")
    assert json.loads(said.out)["policy"]["name"] == "easy:order=MyOrder(key=node_count):backfill.depth=3"
    needy = hetsched("simulate", "small.swf", "--policy", "mine.py:Needy", "--set", "key=node_count", "--json")
    assert json.loads(needy.out)["policy"]["name"] == "easy:order=Needy(key=node_count)"


@pytest.mark.usefixtures("mine")
def test_policies_from_a_file_are_compared(hetsched):
    policies = "easy,mine.py:MyOrder,mine.py:Whole"
    said = hetsched("compare", "small.swf", "--policies", policies, "--baseline", "mine.py:Whole", "--json")
    found = json.loads(said.out)
    assert found["baseline"] == "Whole"
    assert list(found["summary"]) == ["easy", "easy:order=MyOrder(key=planned_s)", "Whole"]


@pytest.mark.parametrize(
    ("policy", "line"),
    [
        ("none.py:A", "found `none.py`, expected a Python file; there is none of this name"),
        ("mine.py", f"found `mine.py`, expected mine.py:NAME, NAME one of {KNOWN}"),
        ("mine.py:", f"found `mine.py`, expected mine.py:NAME, NAME one of {KNOWN}"),
        ("mine.py:MyOrdr", f"found `mine.py:MyOrdr`, expected one of {KNOWN}; did you mean `MyOrder`?"),
        (
            "mine.py:Nothing",
            f"found `mine.py:Nothing`, expected a class or object with a role's method: one of {METHODS}",
        ),
        (
            "mine.py:Both",
            (
                "found `mine.py:Both`, expected one role's method, not `rank` (order), `decide` (scheduler); "
                "in Python it can take each of them"
            ),
        ),
        ("mine.py:Needy", "found the class Needy, expected an object of it, Needy(...): the class needs arguments"),
        ("mine.py:Whole:depth=2", "found `depth=2`, expected nothing with Whole, which is a whole policy"),
        ("leaves.py:A", "found `leaves.py`, where SystemExit: 7 (line 2), expected a file that runs"),
        (f"{'x' * 300}.py:A", f"found `{'x' * 60}...`, expected a Python file; there is none of this name"),
        ("bad.py:A", "found `bad.py`, where ZeroDivisionError: division by zero (line 2), expected a file that runs"),
    ],
)
@pytest.mark.usefixtures("mine")
def test_what_cannot_be_found_is_reported(hetsched, mine, policy, line):
    (mine / "bad.py").write_text("A = 1\nB = 1 / 0\n", encoding="utf-8")
    (mine / "leaves.py").write_text("import sys\nsys.exit(7)\n", encoding="utf-8")
    said = hetsched("simulate", "small.swf", "--policy", policy)
    assert (said.code, said.out, said.err) == (2, "", f"error: --policy: {line}")


@pytest.mark.usefixtures("mine")
def test_a_role_that_is_taken_cannot_be_set(hetsched):
    said = hetsched("simulate", "small.swf", "--policy", "mine.py:MyOrder", "--set", "order=fcfs")
    assert said.code == 2
    assert said.err == (
        "error: policy.order: found `fcfs`, expected nothing with MyOrder(key=planned_s), which takes this role"
    )


@pytest.mark.usefixtures("mine")
def test_an_exception_is_the_objects_and_not_hetscheds(hetsched):
    said = hetsched("simulate", "small.swf", "--policy", "mine.py:Broken")
    assert said.code == 1
    assert said.err.splitlines()[-1] == (
        "error: policy.order: `rank` of Broken, for job 1 at 0 s: ZeroDivisionError: division by zero "
        "(--debug shows where)"
    )
    assert "1 / 0" in hetsched("simulate", "small.swf", "--policy", "mine.py:Broken", "--debug").err


@pytest.mark.parametrize(
    ("own", "told"), [("Yields", "ZeroDivisionError: division by zero"), ("Leaves", "SystemExit: 7")]
)
@pytest.mark.usefixtures("mine")
def test_what_reading_an_answer_raises_is_the_objects_too(hetsched, own, told):
    said = hetsched("simulate", "small.swf", "--policy", f"mine.py:{own}")
    assert said.code == 1
    assert said.err.splitlines()[-1] == (
        f"error: policy.scheduler: `decide` of {own}, with 1 job waiting, at 0 s: {told} (--debug shows where)"
    )


@pytest.mark.parametrize("executor", [(), ("--executor", "processes:1")])
def test_files_of_one_name_and_of_a_module_that_is_loaded_run_anywhere(hetsched, mine, executor):
    """Files named as another that is loaded, as a module of Python's, and one that imports what is next to it."""
    own = "class {}:\n    def rank(self, jobs, view):\n        return {}jobs.node_count\n"
    for name, kind, sign in (("platform.py", "Small", ""), ("other/mine.py", "Large", "-")):
        (mine / name).parent.mkdir(exist_ok=True)
        (mine / name).write_text(own.format(kind, sign), encoding="utf-8")
    policies = "platform.py:Small,other/mine.py:Large,mine.py:MyOrder"
    try:
        said = hetsched("compare", "small.swf", "--policies", policies, *executor, "--json")
    finally:
        sys.path[:] = [path for path in sys.path if path != str(mine / "other")]
    assert said.code == 0, said.err
    found = json.loads(said.out)
    runs = [run["provenance"]["policy"]["order"]["python"] for run in found["runs"]]
    assert runs == ["platform.Small", "mine.Large", "mine.MyOrder"]
    orders = ("smallest", "largest", "shortest")
    named = hetsched("compare", "small.swf", "--policies", ",".join(f"easy:order={one}" for one in orders), "--json")
    assert [list(one.values()) for one in found["summary"].values()] == [
        list(one.values()) for one in json.loads(named.out)["summary"].values()
    ]


def test_a_policy_of_a_file_brings_the_file_along(mine):
    sent = pickle.dumps(policy_of("mine.py:MyOrder"))
    for name in [name for name in sys.modules if name.startswith("policy_file_")]:
        del sys.modules[name]
    (mine / "mine.py").unlink()
    there = pickle.loads(sent)
    assert type(there.own["order"]).__qualname__ == "MyOrder"
    assert there.parts["order"]["python"] == "mine.MyOrder"


@pytest.mark.usefixtures("folder")
def test_a_monitor_takes_its_role_in_power_slurm(hetsched, folder):
    text = "class Gauge:\n    def read(self, draw_w, view):\n        return draw_w\n"
    (folder / "gauge.py").write_text(text, encoding="utf-8")
    try:
        said = hetsched("simulate", "small.swf", "--policy", "gauge.py:Gauge", "--set", "budget_w=5000", "--json")
    finally:
        sys.path.remove(str(folder))
    assert json.loads(said.out)["policy"]["name"] == "power-slurm:power.budget_w=5000:power.monitor=Gauge"


def test_ctrl_c_ends_a_part_that_is_silent(folder):
    (folder / "slow.py").write_text(
        "import sys, time\n\nclass Slow:\n    def rank(self, jobs, view):\n"
        "        print('asked', file=sys.stderr, flush=True)\n        time.sleep(3600)\n        return jobs.submit_s\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "hetsched", "simulate", "small.swf", "--policy", "slow.py:Slow"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    assert process.stderr is not None
    while "asked" not in process.stderr.readline():
        assert process.poll() is None
    said = None
    try:
        for _ in range(30):
            process.send_signal(signal.SIGINT)
            # One that comes just before the sleep begins does not end it.
            with suppress(subprocess.TimeoutExpired):
                _, said = process.communicate(timeout=10)
                break
    finally:
        process.kill()
    assert process.returncode == 130
    assert said is not None
    assert said.strip() == "interrupted"
