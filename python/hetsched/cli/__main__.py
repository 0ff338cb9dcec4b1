"""``python -m hetsched.cli``, the same as ``hetsched``."""

import sys

from hetsched.cli import main

sys.exit(main())
