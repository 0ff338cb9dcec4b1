"""Lets the tests of this folder, and processes that they start, import the parts by name."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
