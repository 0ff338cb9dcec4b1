"""The VAHRM paper: its machine and workloads, its eight schedulers, and what it varies."""
