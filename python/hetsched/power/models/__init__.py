"""Kinds of power models, what they learn with, and the archives that hold them."""
