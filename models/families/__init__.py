"""Families of networks, one folder each."""
