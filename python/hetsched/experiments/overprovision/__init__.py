"""The experiments of the paper on power-aware Slurm: more nodes than the budget feeds at their peak."""
