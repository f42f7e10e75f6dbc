"""Learning from another net: it labels positions as they are played, and networks learn from them at once."""
