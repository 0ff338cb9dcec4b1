"""How reports become files: whole or not at all."""

from __future__ import annotations

from hetsched.writing import write_whole

__all__ = ["write_whole"]
