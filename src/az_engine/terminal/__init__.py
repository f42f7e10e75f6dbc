"""Playing in a terminal, on top of the Python library."""
