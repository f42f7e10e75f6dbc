"""What a person sees of a run: the table on the terminal, games to look at."""
