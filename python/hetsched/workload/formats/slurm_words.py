"""Constraints and licences as Slurm writes them, in hetsched's words."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from hetsched.workload.constraints import UnreadableError, constraint_test, licence_counts


def constraint_of(text: str) -> str | None:
    """A constraint out of `Constraints`; None for what hetsched's grammar does not read, such as counts.

    >>> constraint_of("[a|b],c"), constraint_of("a*2")
    ('(a|b)&c', None)
    """
    words = text.replace(",", "&").replace("[", "(").replace("]", ")")
    try:
        constraint_test(words)
    except UnreadableError:
        return None
    return words


def licences_of(text: str) -> str | None:
    """Licences with their numbers, in alphabetical order; None for alternatives and what does not read.

    >>> licences_of("b,a:2"), licences_of("a|b")
    ('a:2,b:1', None)
    """
    try:
        counts = licence_counts(text)
    except UnreadableError:
        return None
    return ",".join(f"{name}:{count}" for name, count in sorted(counts))


def with_words(jobs: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, int]]:
    """The jobs with hetsched's words in `constraint` and `licences`, and counts of what was loosened or not read."""
    counts: dict[str, int] = {}
    if "constraint" in jobs.columns:
        own = jobs["constraint"]
        jobs = _replaced(jobs, "constraint", constraint_of)
        is_read = (
            jobs["constraint"].is_not_null() if "constraint" in jobs.columns else own.is_null() & own.is_not_null()
        )
        is_loosened = own.str.contains("[", literal=True) & is_read
        counts["constraint_loosened"] = int(is_loosened.fill_null(value=False).sum())
        counts["constraint_unread"] = int((own.is_not_null() & ~is_read).sum())
    if "licences" in jobs.columns:
        jobs = _replaced(jobs, "licences", licences_of)
    return jobs, counts


def _replaced(jobs: pl.DataFrame, name: str, read: Callable[[str], str | None]) -> pl.DataFrame:
    """The jobs with each distinct text of a column read once; without the column if nothing of it reads."""
    known = {text: read(text) for text in jobs[name].drop_nulls().unique().to_list()}
    if not any(known.values()):
        return jobs.drop(name)
    return jobs.with_columns(jobs[name].replace_strict(known, default=None, return_dtype=pl.String).alias(name))
