"""Spaces of actions that know which of them are legal at the moment."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

Mask = npt.NDArray[np.int8]


class LegalActions(spaces.Discrete):
    """Actions of one run; a sample without a mask is one of those that are legal now."""

    def __init__(self, legal: Mask) -> None:
        super().__init__(legal.shape[-1])
        self._legal = legal

    def sample(self, mask: Mask | None = None, probability: Any = None) -> np.int64:
        """A random action: of the legal ones, unless a mask or probabilities are given."""
        own = self._legal if mask is None and probability is None else mask
        return np.int64(super().sample(mask=own, probability=probability))

    def __reduce__(self) -> tuple[Any, ...]:
        return (LegalActions, (self._legal,))


class LegalActionsOfMany(spaces.MultiDiscrete):
    """An action for each of several runs; a sample without a mask holds legal ones only."""

    def __init__(self, legal: Mask) -> None:
        super().__init__(np.full(len(legal), legal.shape[1], np.int64))
        self._legal = legal

    def sample(self, mask: Any = None, probability: Any = None) -> npt.NDArray[np.int64]:
        """A random action a run: of the legal ones, unless masks or probabilities are given."""
        if mask is not None or probability is not None:
            return np.asarray(super().sample(mask=mask, probability=probability))
        chances = self.np_random.random(self._legal.shape)
        return np.asarray(np.argmax(np.where(self._legal == 1, chances, -1.0), axis=1))

    def __reduce__(self) -> tuple[Any, ...]:
        return (LegalActionsOfMany, (self._legal,))
