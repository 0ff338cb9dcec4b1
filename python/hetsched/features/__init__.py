"""Features of runs, a file each: what they ask of jobs and platform, what they check, and what the engine gets."""
