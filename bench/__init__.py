"""Measuring: speed, perft, matches and ratings, and the check of an installation. Knows protocols and engine, no torch."""
