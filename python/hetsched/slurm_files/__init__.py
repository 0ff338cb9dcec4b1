"""Slurm's files: what platforms and policies read of them alike."""
