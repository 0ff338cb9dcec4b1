"""Files made of workloads: their bytes, part by part, and a table of all kinds by the endings of names."""
