"""Lets the tests of this folder import what they share by name, however pytest imports the tests themselves."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
