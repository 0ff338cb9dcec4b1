"""One run: a workload on a platform under a policy, with its options, and the result it leaves behind."""
