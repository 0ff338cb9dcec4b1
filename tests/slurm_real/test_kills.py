"""A hundred kills of bridges on a real Slurm, at named points and at any time: no job is lost, doubled or stuck."""

import random
import subprocess
import time

from hetsched.live.points import BRIDGE_POINTS
from hetsched.slurm_bridge.calls import Slurm
from hetsched.slurm_bridge.gate import gate_end_s

KILLS = 100
LEASE_S = 30
GATED = ("-L", "hetsched:1")


def prepared(cluster, point):
    """Bring about that a bridge comes to a point."""
    if point == "gate.absent":
        # There may be none.
        subprocess.run(["scontrol", "delete", "ReservationName=hetsched"], capture_output=True, timeout=60, check=False)
    if point == "gate.renewed" and (gate_end_s(Slurm()) or 0) > time.time() + 2:
        cluster.call("scontrol", "update", "ReservationName=hetsched", f"EndTime=now+{LEASE_S // 2}")


def test_a_hundred_killed_bridges_lose_double_and_stop_no_job(cluster, forks, tmp_path):
    count, chance = tmp_path / "ran", random.Random(5)
    count.touch()
    count.chmod(0o666)
    jobs, at = [], {**dict.fromkeys(BRIDGE_POINTS, 0), "": 0}
    for number in range(KILLS):
        point = [*BRIDGE_POINTS, ""][number % 5]
        prepared(cluster, point)
        size = chance.randint(1, 3)
        command = f"echo $SLURM_JOB_ID >> {count}; sleep {chance.choice([0.2, 0.5, 1.5])}"
        jobs.append(cluster.submit(f"-N{size}", "-t1", *GATED, command=command))
        once = tmp_path / f"once-{number}"
        bridge = forks.start(fault=f"{point}:{once}" if point else "")
        if point:
            # Jobs of before may hold all nodes; if all have started without a gate there is nothing to release.
            end = time.monotonic() + 60
            while forks.is_alive(bridge) and time.monotonic() < end:
                if point.startswith("release") and not set(jobs) & set(cluster.states()):
                    jobs.append(cluster.submit("-N1", "-t1", *GATED, command=command))
                time.sleep(0.05)
        else:
            time.sleep(chance.uniform(0.0, 2.0))
        forks.kill(bridge)
        at[point] += once.exists() or not point
    # Slurm alone: what is gated still starts once the lease is over, by the next beat of its loops.
    jobs += [cluster.submit("-N4", "-t1", *GATED, command=f"echo $SLURM_JOB_ID >> {count}") for _ in range(3)]
    end_s = gate_end_s(Slurm()) or time.time()
    assert end_s - time.time() <= LEASE_S + 1
    cluster.until(lambda states: not set(jobs) & set(states), LEASE_S + 120)
    assert sorted(count.read_text().split()) == sorted(jobs)
    print(f"killed {at}, {len(jobs)} jobs; all were over {time.time() - end_s:.0f} s after the gate's end")
    assert all(at[point] >= 15 for point in at), at
