"""Files of nets, which may be hostile: read with bounds, compared with the game, tried, converted."""
