"""Many games side by side, one tree each: self-play and matches within one process."""
