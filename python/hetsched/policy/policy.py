"""Policies: the order of jobs, which may overtake, their nodes, and the power of the machine."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from functools import lru_cache
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hetsched.checks import Faults, did_you_mean, listed, plain, read_toml, shown, whole_text
from hetsched.errors import ConfigError, PolicyWarning
from hetsched.naming import named_in
from hetsched.notebook import card, table
from hetsched.policy import objects
from hetsched.policy.own_files import Modules
from hetsched.policy.parts import (
    OBJECT_ROLES,
    OPTIONAL_ROLES,
    ROLES,
    parameters_of,
    parts,
    plain_number,
    puts_to_sleep,
    resolved,
    shown_parameters,
    takers_of,
    value_text,
)
from hetsched.policy.presets import PRESETS
from hetsched.policy.slurm_conf import OF_CONF, SlurmConf, at_its_line, settings_of
from hetsched.roles import Analyzer, Backfill, Order, Placement, Scheduler, Sleep
from hetsched.typing import OnUnsupported

if TYPE_CHECKING:
    import polars as pl

Part = str | Mapping[str, Any]

_Value = str | int | float | bool | list[Any]
_TAKEN = (*ROLES, *OBJECT_ROLES)
_DEFAULTS = {"order": "fcfs", "backfill": "none", "placement": "lowest-id"}


@named_in("hetsched")
class Policy:
    """A composition of parts, one a role.

    Parameters
    ----------
    order
        Order of the queued jobs: a part's name, a dictionary of its ``name`` and parameters, or an object with the
        role's method (`hetsched.roles`).
    backfill
        Which later jobs may start before a job that does not fit; its parameter ``sizing`` may be an object that
        chooses how many nodes moldable jobs get.
    placement
        Choice of the free nodes that a job gets.
    power
        Limit on the power of the whole machine; its parameters ``allocator`` and ``monitor`` may be objects. None: no
        limit.
    sleep
        Which idle nodes are switched off, and on again for jobs: a part, or an object (`hetsched.roles.Sleep`). None:
        no node is.
    analyzer
        An object that says how long jobs will run, and perhaps what they will draw, for all planning
        (`hetsched.roles.Analyzer`). None: as long as they ask for, and what they bring along.
    scheduler
        An object that decides everything, in place of all parts (`hetsched.roles.Scheduler`).
    name
        Its name in results. None: its parts' names.

    Raises
    ------
    ConfigError
        With every unknown part and parameter and every value out of its range.

    Examples
    --------
    >>> Policy(order="fcfs", backfill={"name": "reservations", "depth": 4}, placement="lowest-power").name
    'fcfs/reservations(depth=4,order=policy)/lowest-power'
    >>> Policy(order="fcsf")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    hetsched.errors.ConfigError: policy.order: found `fcsf`, expected one of ...; did you mean `fcfs`?
    """

    def __init__(
        self,
        order: Part | Order | type[Order] = "fcfs",
        backfill: Part | Backfill | type[Backfill] = "none",
        placement: Part | Placement | type[Placement] = "lowest-id",
        power: Part | None = None,
        sleep: Part | Sleep | type[Sleep] | None = None,
        *,
        analyzer: Analyzer | type[Analyzer] | None = None,
        scheduler: Scheduler | type[Scheduler] | None = None,
        name: str | None = None,
    ) -> None:
        given: dict[str, Any] = {
            "order": order,
            "backfill": backfill,
            "placement": placement,
            "power": power,
            "sleep": sleep,
        }
        if analyzer is not None:
            given["analyzer"] = analyzer
        if scheduler is None:
            given = {role: objects.instance_of(part, f"policy.{role}") for role, part in given.items()}
            inside: dict[str, Any] = {}
            for outer in objects.outer_roles():
                if found := objects.inner(given[outer], outer):
                    inside |= found
                    given[outer] = {**given[outer], **found}
            self._parts = resolved(given)
            self._own = {role: part for role, part in given.items() if role in objects.roles_of(part)}
            self._own |= inside
            if "backfill" in self._own and "sizing" in objects.roles_of(self._own["backfill"]):
                self._own["sizing"] = self._own["backfill"]
        else:
            whole = _whole(scheduler, given)
            self._parts = {**dict.fromkeys(ROLES), objects.WHOLE: objects.identity(whole)}
            self._own = {objects.WHOLE: whole}
        self._sleeps = puts_to_sleep(self._parts)
        chosen = [(role, part) for role, part in self._parts.items() if part is not None]
        self._name = whole_text(name) if name else "/".join(_part_text(role, part) for role, part in chosen)

    @classmethod
    def preset(cls, preset: str, /, **parameters: Any) -> Policy:
        """A named scheduler, unchanged or with changes.

        Parameters
        ----------
        preset
            One of the names in `hetsched.presets`.
        **parameters
            Changes: a role (``placement="lowest-power"``), or a parameter of one of its parts by its name
            (``depth=4``), or by role and name (``**{"backfill.depth": 4}``). Of ``slurm``: ``conf``, ``unsupported``
            and ``beats`` as well, as in `from_slurm_conf`.

        Raises
        ------
        ConfigError
            If there is no such preset or parameter, or a value is out of its range or would be overwritten by the
            run: the borders of pools that are measured.

        Examples
        --------
        >>> Policy.preset("easy", placement="lowest-power").name
        'easy:placement=lowest-power'
        >>> Policy.preset("esay")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        hetsched.errors.ConfigError: policy: found `esay`, expected one of ...; did you mean `easy`?
        """
        return cls._of_preset(preset, parameters)

    @classmethod
    def _of_preset(cls, preset: str, parameters: dict[str, Any]) -> Policy:
        """The same for a method of this class that a user has called, where warnings are to point."""
        if not isinstance(preset, str) or preset not in PRESETS:
            raise ConfigError(
                [("policy", shown(preset), f"one of {listed(PRESETS)}{did_you_mean(str(preset), PRESETS)}")]
            )
        parameters = plain(parameters)
        conf, given = SlurmConf(), parameters
        if PRESETS[preset].reads_conf:
            conf, parameters = settings_of(parameters)
            if conf.said:
                warnings.warn(f"{given['conf']}: {conf.said}", PolicyWarning, stacklevel=3)
        parameters = {name: objects.instance_of(value, f"policy.{name}") for name, value in parameters.items()}
        base = PRESETS[preset].parts()
        if conf.settings:
            base["backfill"] = {"name": base["backfill"], **conf.settings}
        emptied = [role for role in OPTIONAL_ROLES if parameters.get(role) == "none"]
        if base["sleep"] is not None and parameters.get("sleep", "") is None:
            emptied.append("sleep")
        parameters |= dict.fromkeys(emptied)
        parts = base | {role: parameters[role] for role in _TAKEN if role in parameters}
        joining = PRESETS[preset].joining(parts, [name for name in parameters if name not in _TAKEN])
        parts |= joining
        changes = _parameter_changes(parts, {k: v for k, v in parameters.items() if k not in _TAKEN})
        _check_borders(changes)
        for (role, parameter), value in changes.items():
            own = parts[role]
            parts[role] = {**({"name": own} if isinstance(own, str) else own), parameter: value}
        replaced = [role for role in _TAKEN if parameters.get(role) is not None or role in emptied]
        text = preset if given.get("conf") is None else f"{preset}:conf={os.fspath(given['conf'])}"
        name = _preset_name(text, parts, replaced, list(changes))
        try:
            return cls(**parts, name=name)
        except ConfigError as error:
            raise at_its_line(error, conf, [parameter for _, parameter in changes]) from None

    @classmethod
    def from_slurm_conf(
        cls,
        path: str | os.PathLike[str],
        *,
        release: str = "22.05",
        epoch_s: float = 0.0,
        started_s: float | str = "auto",
        main_period_s: float | str = "auto",
        cycle_s: float | str = "auto",
        clean_up_s: float = 0.012,
        start_s: float = 0.0,
        main_phase_s: float | str = "auto",
        backfill_phase_s: float | str = "auto",
        scan_phase_s: float | str = "auto",
        beats: Mapping[str, Sequence[float]] | pl.DataFrame | str | os.PathLike[str] | None = None,
        unsupported: OnUnsupported = "error",
        **changes: Any,
    ) -> Policy:
        """Slurm's own scheduler with the settings of a slurm.conf: the preset ``slurm``.

        Partitions, their tiers and limits, licences and features are those of the run's platform
        (`Platform.from_slurm`), not of the policy. Jobs get whole nodes.

        Parameters
        ----------
        path
            The file; what it includes is read, too.
        release
            Release of Slurm whose rules and defaults hold: ``"22.05", "23.02", "23.11", "24.05", "24.11", "25.05"``.
        epoch_s
            The log's 0 in seconds since 1970. Slurm plans on whole minutes of absolute time; 0 is as good as any
            multiple of 60 if the log's own clock has no date.
        started_s
            When the controller started, on the log's clock: all its loops count from then. ``"auto"``: a minute before
            the run begins.
        main_period_s
            Time from one look of the main loop to the next, seconds. ``"auto"``: 1.0017, from 23.11 on whole seconds.
        cycle_s
            Length of a cycle of backfill, seconds. ``"auto"``: 0.4 ms and 0.06 ms a job tested.
        clean_up_s
            Time from a job's end until its nodes are idle, seconds.
        start_s
            Time from the allocation of a job's nodes until it runs, seconds.
        main_phase_s, backfill_phase_s, scan_phase_s
            The first look of the main loop, the first cycle of backfill and the first scan for nodes to put to sleep,
            on the log's clock. ``"auto"``: they follow from `started_s`.
        beats
            Instants at which the loops ran, in place of rules: from ``"main", "backfill", "recompute", "epilog",
            "scan"``, from ``"grid"`` (checks of time limits) and ``"clean"`` (ends of clean-ups) to ascending seconds
            on the log's clock; or a table, or a table's file, with the columns ``loop`` and ``time_s``. A recording of
            a cluster gives them. A loop that is left out runs by the rules; one with an empty list never runs.
        unsupported
            What becomes of options that are not simulated. ``"error"``: each is named, with its line. ``"warn"``: they
            are left out, and a warning says so.
        **changes
            Further changes, as in `preset`: they take precedence over the file (``bf_interval=60``,
            ``order="shortest"``).

        Raises
        ------
        ConfigError
            With everything that is wrong in the file, each with its line, or what is wrong with the arguments.

        Warns
        -----
        PolicyWarning
            Once, of options that are not known, that Slurm itself would leave out, or that are not simulated.

        Examples
        --------
        >>> policy = Policy.from_slurm_conf("slurm.conf", bf_interval=60)  # doctest: +SKIP
        >>> policy.name  # doctest: +SKIP
        'slurm:conf=slurm.conf:backfill.bf_interval=60'
        """
        clock = {
            "release": release,
            "epoch_s": epoch_s,
            "started_s": started_s,
            "main_period_s": main_period_s,
            "cycle_s": cycle_s,
            "clean_up_s": clean_up_s,
            "start_s": start_s,
            "main_phase_s": main_phase_s,
            "backfill_phase_s": backfill_phase_s,
            "scan_phase_s": scan_phase_s,
            "unsupported": unsupported,
        }
        usual = {name: one.default for name, one in signature(cls.from_slurm_conf).parameters.items()}
        own = {name: value for name, value in clock.items() if value != usual[name]}
        return cls._of_preset("slurm", {"conf": path, "beats": beats, **own, **changes})

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Policy:
        """A policy from plain values, as `to_dict` gives them.

        Parameters
        ----------
        data
            A part for each role (`Policy`'s parameters) and ``name``; or ``preset`` with the roles and parameters to
            change.

        Raises
        ------
        ConfigError
            With every unknown key, part and parameter and every value out of its range.

        Examples
        --------
        >>> policy = Policy.preset("conservative")
        >>> Policy.from_dict(policy.to_dict()) == policy
        True
        >>> Policy.from_dict({"preset": "easy", "backfill.depth": 4}).name
        'easy:backfill.depth=4'
        """
        if "preset" in data:
            changes = {key: value for key, value in data.items() if key not in ("preset", "name")}
            policy = cls.preset(data["preset"], **changes)
            return policy if data.get("name") is None else policy._changed(name=data["name"])
        faults = Faults("policy")
        if objects.WHOLE in data:
            faults.extend(_no_scheduler(data[objects.WHOLE]))
        faults.unknown_keys({key: data[key] for key in data if key != objects.WHOLE}, ("name", "preset", *_TAKEN))
        if not isinstance(data.get("name"), str | None):
            faults.add("name", data["name"], "a name")
        faults.check()
        return cls(**data)

    @classmethod
    def from_toml(cls, path: str | Path) -> Policy:
        """A policy from a TOML file: a table ``[policy]`` with what `from_dict` takes.

        Parameters
        ----------
        path
            The file.

        Raises
        ------
        ConfigError
            If the file cannot be read; with every unknown key, part and parameter and every value out of its range.
        """
        data = read_toml(path)
        if "policy" not in data or not isinstance(data["policy"], dict):
            raise ConfigError([(str(path), f"keys {listed(data)}" if data else "nothing", "a table [policy]")])
        faults = Faults()
        faults.unknown_keys(data, ("policy",))
        faults.check()
        # As tables in a platform's file: next to the file that names them.
        files = {name: str(Path(path).parent / file) for name, file in data["policy"].items() if _is_file(name, file)}
        return cls.from_dict(data["policy"] | files)

    def to_dict(self) -> dict[str, Any]:
        """Its name, and each role's part with all parameters.

        Examples
        --------
        >>> Policy.preset("easy").to_dict()["backfill"]
        {'name': 'reservations', 'depth': 1, 'order': 'policy'}
        """
        return {"name": self._name, **self.parts}

    @property
    def name(self) -> str:
        """Name in results: the preset's name and its changes, or the parts' names."""
        return self._name

    @property
    def parts(self) -> dict[str, dict[str, Any] | None]:
        """Each role's part with all its parameters."""
        return deepcopy(self._parts)

    @property
    def own(self) -> dict[str, Any]:
        """The objects among its parts by role; ``scheduler`` for one that decides everything."""
        return dict(self._own)

    def _part_flag(self, role: str, flag: str) -> bool:
        """A flag of its part in a role, as the engine's registry has it; False of an object."""
        return role not in self._own and bool(parts()[role, (self._parts[role] or {})["name"]][flag])

    @property
    def _repeats_log(self) -> bool:
        """True if no job starts before it did in reality."""
        return "backfill" in self.needs.get("observed_starts", ())

    @property
    def _puts_to_sleep(self) -> bool:
        """True if a part switches idle nodes off."""
        return self._sleeps

    def _begun(self, seed: int) -> dict[str, Any]:
        """Parts as the engine takes them: `to_dict`, with a fresh copy of each object in its place."""
        parts = {**self._parts, **objects.begun(self._own, seed)}
        for outer in objects.outer_roles():
            if outer not in self._own and (part := self._parts.get(outer)):
                parts[outer] = {key: value for key, value in part.items() if key not in self._own}
        return {"name": self._name, **parts}

    def __reduce__(self) -> tuple[object, ...]:
        # Files of users' own go along: another process finds no module of theirs.
        return _unpickled, (Modules.of(self._own.values()), vars(self))

    def _check_portable(self) -> None:
        """Raise a ConfigError if another process cannot be given the policy."""
        objects.check_portable(self._own)

    def _changed(self, **changes: Any) -> Policy:
        """The same with other parts, or another name."""
        inside = {role: part for role, part in self._own.items() if role in objects.INSIDE}
        outside = {role: part for role, part in self._own.items() if role not in inside}
        filled = {
            outer: {**part, **{role: own for role, own in inside.items() if objects.INSIDE[role] == outer}}
            for outer in objects.outer_roles()
            if outer not in outside and (part := self._parts.get(outer))
        }
        return Policy(**{"name": self._name, **self._parts, **filled, **outside, **changes})

    @property
    def _chosen(self) -> list[tuple[str, dict[str, Any]]]:
        return [(role, part) for role, part in self._parts.items() if part is not None and role not in self._own]

    @property
    def uses_chance(self) -> bool:
        """True if the schedule depends on the seed: some part chooses at random.

        Examples
        --------
        >>> Policy.preset("random").uses_chance, Policy.preset("easy").uses_chance
        (True, False)
        """
        # First runs go to random nodes.
        return (
            "first_runs" in self.needs
            or any(parts()[role, part["name"]]["uses_chance"] for role, part in self._chosen)
            or any(objects.uses_chance(one) for one in self._own.values())
        )

    @property
    def needs(self) -> dict[str, list[str]]:
        """Requirements of the policy on a run, and the roles of the parts that need it.

        ``observed_starts`` and ``observed_nodes``: columns of the log. ``first_runs``: the column of profiled runs.
        ``utilizations``: a run before, under random placement; see `measured_in`.

        Examples
        --------
        >>> Policy.preset("easy").needs, Policy.preset("vahrm", first_run=True).needs
        ({}, {'first_runs': ['order']})
        """
        found: dict[str, list[str]] = {}
        for role, part in self._chosen:
            for need, parameter in parts()[role, part["name"]]["needs"].items():
                if parameter is None or part[parameter]:
                    found.setdefault(need, []).append(role)
        return found

    def _measured_in(self, utilizations: Callable[[Policy], tuple[float, float]]) -> Policy:
        """The same with the extremes of the utilization under random placement, if a part needs them."""
        roles = self.needs.get("utilizations", [])
        if not roles:
            return self
        low, high = utilizations(self._changed(placement="random", name=None))
        return self._changed(**{role: {**(self.parts[role] or {}), "u_l": low, "u_h": high} for role in roles})

    def _reading_draws(self, *, factors: bool) -> list[str]:
        """Parts that read the predicted draw of jobs, each as its role and name.

        Parameters
        ----------
        factors
            Whether the predicted table holds factors on jobs' own draws. Without them a job draws the same on every
            node, and its draw does not matter to a placement.

        Examples
        --------
        >>> Policy.preset("vahrm")._reading_draws(factors=False), Policy.preset("easy")._reading_draws(factors=True)
        (['order vahrm', 'power system-budget'], [])
        """
        reading = ("always", "with_factors") if factors else ("always",)
        return [
            f"{role} {part['name']}"
            for role, part in self._chosen
            # At beta = 0 the order depends on waits only.
            if parts()[role, part["name"]]["reads_draws"] in reading and part.get("beta") != 0
        ]

    def __eq__(self, other: object) -> bool:
        return self.to_dict() == other.to_dict() if isinstance(other, Policy) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._name)

    def __repr__(self) -> str:
        return f"<Policy: {self._name}>"

    def _repr_html_(self) -> str:
        own = {role: part for role, part in self.parts.items() if part is not None}
        rows = [
            [role, str(part["name"]), ", ".join(f"{key}={value}" for key, value in part.items() if key != "name")]
            for role, part in own.items()
        ]
        return card(f"Policy {self._name}", None, table(["role", "part", "parameters"], rows, words=3))


def _is_file(name: str, value: object) -> bool:
    """True of a key of a policy's file that names another file."""
    return name in ("conf", "beats") and isinstance(value, str)


def _unpickled(_modules: Modules, state: dict[str, Any]) -> Policy:
    policy = Policy.__new__(Policy)
    vars(policy).update(state)
    return policy


def policy_like(given: object) -> Policy | None:
    """A policy from whatever stands for one: a preset's name, a dictionary, a whole scheduler, itself; else None."""
    if isinstance(given, Policy):
        return given
    if isinstance(given, str):
        # What a file says may have changed since.
        return parse_policy(given) if ":conf=" in given else _of_text(given)
    if isinstance(given, Mapping):
        return Policy.from_dict(given)
    roles = objects.roles_of(given)
    if objects.WHOLE in roles:
        return Policy(scheduler=given)  # type: ignore[arg-type]
    if roles:
        name = getattr(given, "__name__", type(given).__name__)
        expected = f'a whole policy; this is one role of it: hs.Policy.preset("easy", {roles[0]}=...)'
        raise ConfigError([("policy", shown(name), expected)])
    return None


@lru_cache(maxsize=128)
def _of_text(text: str) -> Policy:
    """A policy from its text form, made once."""
    return parse_policy(text)


def parse_policy(text: str, *, settings: Iterable[str] = (), parts: Mapping[str, Any] | None = None) -> Policy:
    """A policy from its text form, one word of a command line, which is also its `Policy.name`.

    Parameters
    ----------
    text
        A preset's name, then changes, each as ``:PARAM=VALUE``.
    settings
        More changes, each as ``PARAM=VALUE``; these take precedence.
    parts
        Objects by role, in place of the preset's parts.

    Returns
    -------
    Policy
        As `Policy.preset` gives it. Values that read as whole numbers, numbers, true or false become such; one with a
        ``+`` in it becomes a list: ``on_excess=lower-caps+kill``, of one item ``on_excess=kill+``.

    Raises
    ------
    ConfigError
        If a setting has no ``=`` or is given twice, or as `Policy.preset`.

    Examples
    --------
    >>> parse_policy("easy:placement=lowest-power").to_dict()["placement"]["name"]
    'lowest-power'
    >>> parse_policy("easy", settings=["depth=4"]).name
    'easy:backfill.depth=4'
    """
    preset, *changes = text.split(":")
    given = {**parse_settings(_with_whole_paths(changes)), **parse_settings(settings)}
    faults = Faults("policy")
    for role in set(parts or ()) & set(given):
        faults.add(role, given[role], f"nothing with {_part_name((parts or {})[role])}, which takes this role")
    faults.check()
    return Policy.preset(preset.strip(), **given, **(parts or {}))


def _with_whole_paths(changes: Iterable[str]) -> list[str]:
    """Changes in which a file's path is one word again, though it has colons in it."""
    whole: list[str] = []
    for change in changes:
        if whole and "=" not in change and whole[-1].startswith("conf="):
            whole[-1] += f":{change}"
        else:
            whole.append(change)
    return whole


def _whole(scheduler: Any, given: Mapping[str, Any]) -> Any:
    """The object of a whole scheduler; raises if it is none, or is given with parts."""
    faults = Faults("policy")
    others = [role for role, part in given.items() if part is not None and part != _DEFAULTS.get(role)]
    for role in others:
        faults.add(role, _part_name(given[role]), "nothing with a scheduler, which decides everything")
    if objects.WHOLE not in objects.roles_of(scheduler):
        faults.add(
            objects.WHOLE, type(scheduler).__name__, f"an object with the method `{objects.METHODS[objects.WHOLE]}`"
        )
    faults.check()
    return objects.instance_of(scheduler, f"policy.{objects.WHOLE}")


def _no_scheduler(data: Any) -> ConfigError:
    found = shown(data.get("python") if isinstance(data, Mapping) else type(data).__name__)
    expected = "the object itself, as in hs.Policy(scheduler=...): a file holds no Python"
    return ConfigError([(objects.WHOLE, found, expected)])


def _parameter_changes(parts: Mapping[str, Any], given: Mapping[str, Any]) -> dict[tuple[str, str], Any]:
    """From role and parameter to value, for parameters given as ``depth`` or ``backfill.depth``."""
    known = {role: parameters_of(role, _part_name(parts[role])) for role in ROLES}
    for inside, role in objects.INSIDE.items():
        if parts[role] is not None and inside in objects.roles_of(given.get(inside)) and inside not in known[role]:
            known[role] = [*known[role], inside]
    all_names = [name for names in known.values() for name in names]
    faults = Faults("policy")
    changes: dict[tuple[str, str], Any] = {}
    for key, value in given.items():
        role, dot, parameter = key.rpartition(".")
        roles = [r for r in ROLES if parameter in known[r] and (not dot or r == role)]
        if len(roles) == 1:
            changes[roles[0], parameter] = value
        elif roles:
            faults.add(key, value, f"one of {listed(f'{r}.{parameter}' for r in roles)}")
        else:
            names = [*ROLES, *(f"{r}.{n}" for r, own in known.items() for n in own)]
            hint = _conf_hint(key) or _taker_hint(role, parameter, value) or did_you_mean(key, [*names, *all_names])
            faults.add(key, value, f"one of {listed(names)}{hint}")
    faults.check()
    return changes


def _conf_hint(key: str) -> str:
    """Hint at the presets that read files, for what only these take."""
    names = [name for name, preset in PRESETS.items() if preset.reads_conf]
    return f"; {listed(names)} takes `{key}`, as in slurm:conf=slurm.conf" if key in OF_CONF and names else ""


def _taker_hint(role: str, parameter: str, value: Any) -> str:
    """Hint at a part that takes a parameter which the policy's own parts lack, with an example."""
    takers = takers_of(parameter, role)
    if not takers:
        return ""
    example = plain_number(parameter, value) or value_text(value)
    return f"; {' or '.join(takers)} takes `{parameter}`, as in {takers[0]}:{parameter}={example}"


def _check_borders(changes: Mapping[tuple[str, str], Any]) -> None:
    """Refuse utilizations that are to be measured, which would overwrite them."""
    faults = Faults("policy")
    for role, asking in {(role, part["needs"].get("utilizations")) for (role, _), part in parts().items()}:
        given = [name for name in ("u_l", "u_h") if (role, name) in changes]
        if changes.get((role, asking)) is True:
            for name in given:
                faults.add(f"{role}.{name}", changes[role, name], f"nothing with {asking}=true, which measures it")
    faults.check()


def _part_name(part: Any) -> str:
    if part is None:
        return "none"
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping):
        return str(part.get("name"))
    return objects.text_of(objects.identity(part)) if objects.is_own(part) else ""


def _preset_name(preset: str, parts: Mapping[str, Any], replaced: list[str], changed: list[tuple[str, str]]) -> str:
    """Text form of this policy: ``easy:placement=best-rank:placement.rank=time``."""
    settings = []
    for role in _TAKEN:
        own = parts[role] if isinstance(parts.get(role), Mapping) else {}
        if role in replaced:
            settings.append(f"{role}={_part_name(parts[role])}")
        settings += [
            f"{role}.{name}={value_text(value)}"
            for name, value in own.items()
            if name != "name" and (role in replaced or (role, name) in changed)
        ]
    return ":".join([preset, *settings])


def _part_text(role: str, part: Mapping[str, Any]) -> str:
    if "python" in part:
        return objects.text_of(part)
    shown = shown_parameters(role, part)
    parameters = ",".join(f"{name}={value_text(value)}" for name, value in shown.items())
    return f"{part['name']}({parameters})" if parameters else str(part["name"])


def parse_settings(changes: Iterable[str]) -> dict[str, _Value]:
    """Parameters by name, of words ``PARAM=VALUE``."""
    parameters: dict[str, _Value] = {}
    for change in changes:
        name, equals, value = (part.strip() for part in change.partition("="))
        if not equals or not name:
            raise ConfigError([("policy", f"`{change}`", "PARAM=VALUE, such as placement=lowest-power")])
        if name in parameters:
            raise ConfigError([(f"policy.{name}", f"`{change}` and `{name}={parameters[name]}`", "it once")])
        parameters[name] = _setting_value(value)
    return parameters


def _setting_value(text: str) -> _Value:
    if text in ("true", "false"):
        return text == "true"
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    if "+" in text:
        return [_setting_value(one) for one in text.split("+") if one]
    return text


def read_policy(path: str | Path) -> Policy:
    """Read a policy from a TOML file; as `Policy.from_toml`."""
    return Policy.from_toml(path)
