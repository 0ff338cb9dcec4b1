"""Results made visible: pictures (with matplotlib, from the extra `plots`) and tables for a terminal.

Frames in, files or tables out; what the numbers mean is `hetsched.analysis`'s business.
"""
