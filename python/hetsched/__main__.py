"""``python -m hetsched``, the same as ``hetsched``."""

import sys

from hetsched.cli import main

# Workers of MPI import it under another name.
if __name__ == "__main__":
    sys.exit(main())
