"""Leaves of a tree on their way from selection to backup: in batches through cache and net, or by a kernel alone."""
