"""``python -m hetsched``, the same as ``hetsched``."""

import sys

from hetsched.cli import main

sys.exit(main())
