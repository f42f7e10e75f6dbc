"""The nets of a run: published, promoted, rated; and when a game may be resigned with them."""
