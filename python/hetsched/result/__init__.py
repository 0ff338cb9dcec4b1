"""What a run leaves behind: frames, a summary, where it came from, and the files these are kept in."""

from hetsched.result.result import Result, read_result

__all__ = ["Result", "read_result"]
