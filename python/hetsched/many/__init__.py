"""Many runs: sweeps and comparisons, the tasks they are made of, and what executes and keeps them."""
