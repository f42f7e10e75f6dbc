"""Evaluation nets of alpha-beta engines as teachers: what a position is worth in microseconds, without the engine."""
