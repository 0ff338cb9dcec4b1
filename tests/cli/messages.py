"""Messages of a command on standard error."""


def without_warnings(err):
    """The lines that are no warnings about the run, which the small log gives cause for."""
    return [line for line in err.splitlines() if not line.startswith("warning: ")]
