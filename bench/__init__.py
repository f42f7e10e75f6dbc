"""Measuring: speed, perft, matches and ratings, the check of an installation. Knows protocols and engine, no torch."""
