"""``az-engine match``: games between engines."""
