"""Dumps of sacct as clusters and their users make them, hostile ones too."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from random import Random
from zoneinfo import ZoneInfo

COLUMNS = """
    JobIDRaw JobName User Account Partition QOS State Eligible Start End ElapsedRaw Elapsed Suspended TimelimitRaw
    Timelimit NNodes AllocNodes ReqNodes AllocCPUS ReqCPUS ReqMem ReqTRES AllocTRES Constraints NodeList
    ConsumedEnergyRaw Priority Reservation Restarts Comment Licenses ExitCode
""".split()  # noqa: SIM905
ZONES = ("UTC", "America/Chicago", "Europe/Berlin")
BACK = {"UTC": 1_714_560_000, "America/Chicago": 1_730_617_200, "Europe/Berlin": 1_729_990_800}
"""An instant of each zone at which its clocks go back."""
NAMES = ("cfd", "a|b", "md run", "", "x\ny", "\n", "none", "17", "JobID", "12|34", "é", "a||b", "p\n9|q", "|")
STATES = """
    COMPLETED COMPLETED COMPLETED FAILED TIMEOUT CANCELLED PENDING RUNNING REQUEUED NODE_FAIL PREEMPTED RESIZING
    DEADLINE REVOKED SUSPENDED ODD SPECIAL_EXIT
""".split()  # noqa: SIM905


class Dump:
    """Text of a dump made by chance."""

    def __init__(self, seed: int) -> None:
        self.random = random = Random(seed)
        self.zone = random.choice(ZONES)
        self.begin = BACK[self.zone] - random.choice((0, 3000, 90_000))
        kept = [name for name in COLUMNS if random.random() < 0.7]
        needed = {
            "Elapsed": ("Elapsed", "ElapsedRaw"),
            "NNodes": ("NNodes", "NodeList", "AllocTRES", "ReqTRES", "ReqNodes"),
        }
        kept += [name for name, others in needed.items() if not set(others) & set(kept)]
        self.columns = ["JobID", "Submit", *kept]
        if random.random() < 0.5:
            random.shuffle(self.columns)
        self.separator = random.choice(("|", "|", "|", "@@", "\t"))
        self.hostile = random.random() < 0.5
        self.is_p = random.random() < 0.3
        self.raw = random.randrange(1, 50)
        self.rows: list[str] = []
        for number in range(random.randrange(1, 8)):
            self.job(random.choice((number + 1, 3)))
        self.text = self.line(self.columns)
        for row in self.rows:
            self.text += row
            if random.random() < 0.05:
                self.text += random.choice(("\n", "garbage\n", "12|x\n", self.line(self.columns)))
        if random.random() < 0.3:
            self.text = self.text[: len(self.text) - random.randrange(1, 40)]

    def line(self, values: list[str]) -> str:
        return self.separator.join(values) + (self.separator if self.is_p else "") + "\n"

    def job(self, number: int) -> None:
        random = self.random
        self.raw += 1
        kind = random.choice(("plain", "plain", "task", "list", "part"))
        name = {
            "plain": f"{number}",
            "part": f"{number}+{random.randrange(2)}",
            "task": f"{number}_{random.randrange(3)}",
        }
        name["list"] = f"{number}_[{random.choice(('1-3', '1,3-9:2%2', '5', '1,2,4...', '0-1%3'))}]"
        submit = self.begin + random.randrange(-4000, 8000)
        user, job_name = random.choice(("ann", "bob", "")), random.choice(NAMES if self.hostile else ("cfd", "md"))
        for _ in range(random.choice((1, 1, 1, 2, 3))):
            submit = self.attempt(name[kind], submit, user, job_name, is_list=kind == "list")

    def attempt(self, name: str, submit: int, user: str, job_name: str, *, is_list: bool) -> int:
        random = self.random
        state = random.choice(("PENDING", "CANCELLED")) if is_list else random.choice(STATES)
        ran = not is_list and state != "PENDING" and (state != "CANCELLED" or random.random() < 0.5)
        start = submit + random.randrange(0, 4000)
        elapsed, stood = random.choice((0, 1, 60, 3600, 7201)), random.choice((0, 0, 0, 90))
        end = start + elapsed + stood + random.choice((0, 0, 0, 0, 1, -1, 30))
        nodes = random.randrange(1, 5)
        fields = self.fields(name, state, submit, user, job_name, nodes, ran=ran)
        fields |= {"Elapsed": self.span(elapsed if ran else 0), "ElapsedRaw": str(elapsed if ran else 0)}
        fields |= {
            "Suspended": self.span(stood if ran else 0),
            "Start": self.time(start if ran else None),
            "End": self.time(end),
        }
        if not ran and state == "CANCELLED":
            fields["Start"] = random.choice(("None", "Unknown", fields["End"]))
        if state in ("PENDING", "RUNNING", "SUSPENDED"):
            fields["End"] = "Unknown"
        self.rows.append(self.line([fields.get(column, "") for column in self.columns]))
        steps = (
            random.choice(((), ("batch",), ("batch", "extern"), ("batch", "0", "1"), ("extern", "0"))) if ran else ()
        )
        for step in steps:
            begin = start + random.choice((0, 0, 5, -10))
            own = {"JobID": f"{name}.{step}", "JobIDRaw": f"{self.raw}.{step}", "JobName": step, "State": "COMPLETED"}
            own |= {"Submit": self.time(begin), "Start": self.time(begin), "End": self.time(begin + elapsed)}
            own |= {"ElapsedRaw": str(elapsed), "Elapsed": self.span(elapsed), "Suspended": "00:00:00"}
            own |= {
                "NNodes": random.choice(("1", str(nodes), "")),
                "ConsumedEnergyRaw": random.choice(("", "0", "1200", "55")),
            }
            self.rows.append(self.line([own.get(column, "") for column in self.columns]))
        return random.choice((submit, end + 1, end + 5000, submit + 1))

    def fields(
        self, name: str, state: str, submit: int, user: str, job_name: str, nodes: int, *, ran: bool
    ) -> dict[str, str]:
        random = self.random
        hosts = (
            f"n[{(first := random.randrange(1, 12))}-{first + nodes - 1}]"
            if nodes > 1
            else f"n{random.randrange(12):02}"
        )
        resources = f"billing=4,cpu={nodes * 4},mem={nodes}G,node={nodes}"
        resources += random.choice(("", "", f",gres/gpu={nodes}", ",gres/gpu:a=3,gres/gpu:b=2", ",license/x=2"))
        return {
            "JobID": name,
            "JobIDRaw": str(self.raw),
            "JobName": job_name,
            "User": user,
            "Account": random.choice(("bio", "phys")),
            "Partition": random.choice(("work", "work,debug")),
            "QOS": "normal",
            "State": f"{state} by 17" if state == "CANCELLED" else state,
            "Submit": self.time(submit) if random.random() < 0.97 else "Unknown",
            "Eligible": self.time(submit + random.choice((0, 0, 50, 9000))),
            "TimelimitRaw": random.choice(("30", "UNLIMITED", "")),
            "Timelimit": random.choice(("00:30:00", "1-00:00:00", "UNLIMITED", "Partition_Limit", "90")),
            "NNodes": str(nodes),
            "AllocNodes": str(nodes if ran else 0),
            "ReqNodes": str(nodes),
            "AllocCPUS": str(nodes * 4 if ran else 0),
            "ReqCPUS": str(nodes),
            "ReqMem": random.choice(("1000M", "2Gn", "1.5Gc", "0", "0n", "4000")),
            "ReqTRES": resources,
            "AllocTRES": resources if ran else "",
            "Constraints": random.choice(("", "big", "a,b", "[a|b]", "a*2") if self.hostile else ("", "big")),
            "NodeList": random.choice((hosts, hosts, hosts, "n1,n2")) if ran else "None assigned",
            "ConsumedEnergyRaw": random.choice(("", "0", "4000")),
            "Priority": random.choice(("7", "4294901759", "4294967294")),
            "Reservation": "",
            "Restarts": random.choice(("0", "2")),
            "Comment": random.choice(("", "", "text") if not self.hostile else ("", "see\n\nbelow", "1|2")),
            "Licenses": random.choice(("", "b:2,a", "a|b")),
            "ExitCode": "0:0",
        }

    def time(self, instant: int | None) -> str:
        if instant is None:
            return "Unknown"
        zone = timezone.utc if self.zone == "UTC" else ZoneInfo(self.zone)
        return (
            (datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=instant))
            .astimezone(zone)
            .strftime("%Y-%m-%dT%H:%M:%S")
        )

    def span(self, seconds: int) -> str:
        days, rest = divmod(seconds, 86_400)
        return (f"{days}-" if days else "") + f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
