"""Who plays a run's games: this process, worker processes, or actors of a Ray cluster."""
