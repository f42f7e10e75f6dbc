"""Elo differences, ratings and the SPRT."""
