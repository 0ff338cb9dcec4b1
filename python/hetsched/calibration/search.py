"""The search for settings: which are tried, and which of them are taken (rule 38).

A step is taken if the error falls enough, in neither half of the jobs rises much, and falls by more than the half width
of its 95 % interval over weeks. The last is stricter than the rule: without it, chance of a few weeks is fitted.

A scan tries each change of one setting; the changes that help are then put together, the most helpful first, each only
if it still helps. When a scan helps no more, pairs of changes are tried, those of the most helpful first. Everything
that is tried follows from what was found before and from the order of settings, never from who was ready first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from hetsched.calibration.settings import Setting

Choice = tuple[int, ...]
"""The place of each setting's value; 0 is off."""

Found = Mapping[str, Any]
Evaluate = Callable[[Sequence[Choice]], Sequence[Found]]
Refuse = Callable[[Found], str | None]
IsCertain = Callable[[Found, Found], bool]
"""Test of two runs: true if the second is certainly nearer to the log."""

LEAST_GAIN = 0.005
MOST_LOSS = 0.02
_EQUAL = 1e-9
_PAIRS_AT_ONCE = 8


@dataclass
class Search:
    """A search under way."""

    settings: Sequence[Setting]
    evaluate: Evaluate
    refuse: Refuse
    budget: int
    is_certain: IsCertain = lambda _before, _after: True
    found: dict[Choice, Found] = field(default_factory=dict)
    """Everything that was evaluated, in order."""
    steps: list[Choice] = field(default_factory=list)
    """The choices that were taken, the first with all settings off."""

    def run(self) -> Choice:
        """The choice that is taken in the end; that with all settings off, if its run is impossible."""
        off = (0,) * len(self.settings)
        self._try([off])
        self.steps.append(off)
        while self._left and "log_error" in self.found[off]:
            scan = self._scan(self.now)
            if not self._pile(scan) and not self._pairs(scan):
                break
        return self.now

    @property
    def now(self) -> Choice:
        """The last choice that was taken."""
        return self.steps[-1]

    @property
    def _left(self) -> int:
        return max(self.budget - len(self.found), 0)

    def _try(self, choices: Sequence[Choice]) -> None:
        """Evaluate those that are not known, as far as the budget goes."""
        new = [choice for choice in dict.fromkeys(choices) if choice not in self.found][: self._left]
        if new:
            self.found |= zip(new, self.evaluate(new), strict=True)

    def _scan(self, base: Choice) -> list[Choice]:
        """All changes of one setting that are known in the end: those tried first that were the best when last seen."""
        changes = [(place, value) for place, one in enumerate(self.settings) for value in range(len(one.values))]
        changes = [(place, value) for place, value in changes if base[place] != value]
        seen: dict[tuple[int, int], float] = {}
        for choice, found in self.found.items():
            for place, value in enumerate(choice):
                if value:
                    seen[place, value] = min(self._error(found), seen.get((place, value), float("inf")))
        changes.sort(key=lambda change: seen.get(change, 0.0))
        own = [_with(base, *change) for change in changes]
        self._try(own)
        return sorted((choice for choice in own if choice in self.found), key=self._rank)

    def _pile(self, scan: Sequence[Choice]) -> bool:
        """Take the changes of a scan that help one after the other, of each setting the best; true if any did."""
        base, changed = self.now, set()
        for choice in [choice for choice in self._best_first(scan) if self._is_step(base, choice)]:
            place = next(place for place, value in enumerate(choice) if value != base[place])
            if place in changed:
                continue
            changed.add(place)
            joined = _with(self.now, place, choice[place])
            self._try([joined])
            if joined in self.found and self._is_step(self.now, joined):
                self.steps.append(joined)
        return self.now != base

    def _pairs(self, scan: Sequence[Choice]) -> bool:
        """Take the first pair of changes that helps where neither did alone; true if there is one."""
        base = self.now
        pairs = self._pairs_of(base, scan)
        while self._left and (some := [pair for _, pair in zip(range(_PAIRS_AT_ONCE), pairs, strict=False)]):
            self._try(some)
            helping = [pair for pair in some if pair in self.found and self._is_step(base, pair)]
            if helping:
                self.steps.append(next(self._best_first(helping)))
                return True
        return False

    def _pairs_of(self, base: Choice, scan: Sequence[Choice]) -> Iterator[Choice]:
        """Pairs of changes of two settings that are not known, those of the least errors first."""
        places = {choice: next(p for p, value in enumerate(choice) if value != base[p]) for choice in scan}
        fit = [choice for choice in scan if self._error(self.found[choice]) < float("inf")]
        pairs = [(one, other) for one, other in combinations(fit, 2) if places[one] != places[other]]
        pairs.sort(key=lambda pair: sum(self._error(self.found[choice]) for choice in pair))
        for one, other in pairs:
            joined = _with(one, places[other], other[places[other]])
            if joined not in self.found:
                yield joined

    def _error(self, found: Found) -> float:
        """The error that is made smaller; infinite where a run is refused."""
        return float("inf") if self.refuse(found) else float(found["log_error"])

    def _is_step(self, base: Choice, choice: Choice) -> bool:
        """True if a choice may be taken from this one."""
        before, after = self.found[base], self.found[choice]
        if self.refuse(after):
            return False
        losses = [new - old for old, new in zip(before["halves"], after["halves"], strict=True)]
        if before["log_error"] - after["log_error"] < LEAST_GAIN or max(losses) > MOST_LOSS:
            return False
        return self.is_certain(before, after)

    def _rank(self, choice: Choice) -> tuple[Any, ...]:
        """An order of choices: less error, then fewer changes, then the earlier settings and values."""
        changes = [(place, value) for place, value in enumerate(choice) if value]
        return self._error(self.found[choice]), len(changes), changes

    def _best_first(self, choices: Sequence[Choice]) -> Iterator[Choice]:
        """Choices by their errors; of equal ones those with fewer changes, then earlier ones."""
        rest = sorted(choices, key=self._rank)
        while rest:
            least = self._error(self.found[rest[0]])
            equal = [choice for choice in rest if self._error(self.found[choice]) <= least + _EQUAL]
            best = min(equal, key=lambda choice: self._rank(choice)[1:])
            rest.remove(best)
            yield best


def _with(choice: Choice, place: int, value: int) -> Choice:
    return (*choice[:place], value, *choice[place + 1 :])
