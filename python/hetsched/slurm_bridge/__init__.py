"""A policy next to a Slurm that goes on alone: what Slurm says is read, and given to a `hetsched.Controller`."""
