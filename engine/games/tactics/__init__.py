"""Searches without a net that a game makes of its device functions: short mates, forced mates, captures."""
