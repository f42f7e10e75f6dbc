"""External engines over UCI, USI and GTP, driven as players and teachers."""
