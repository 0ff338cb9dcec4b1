"""Runs on the ranks of an MPI program that was started by ``python -m mpi4py.futures``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from hetsched.errors import ConfigError

_MODULE = "mpi4py.futures"


@contextmanager
def on_ranks() -> Iterator[Executor]:
    """All ranks but the first, which is this process; they read the files of runs from where this one writes them."""
    # The module that makes workers of the other ranks is there from the beginning, or they all do what this one does.
    has_workers = _MODULE in sys.modules
    from mpi4py import MPI  # noqa: PLC0415 -- starts MPI
    from mpi4py.futures import MPIPoolExecutor  # noqa: PLC0415

    ranks = MPI.COMM_WORLD.Get_size()
    if not has_workers or ranks < 2:
        found = f"{ranks} rank{'s' * (ranks > 1)}" + ("" if has_workers else f" without {_MODULE}")
        expected = f"a program started by mpirun -n N python -m {_MODULE} -m hetsched …, with at least 2 ranks"
        raise ConfigError([("executor", f"mpi on {found}", expected)])
    with MPIPoolExecutor() as executor:
        try:
            yield executor
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            raise
