"""Nets: their files, checks and metadata, and the evaluator that runs them."""
