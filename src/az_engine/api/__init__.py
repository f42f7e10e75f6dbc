"""The Python library: what ``import az_engine`` offers, one file a noun. Nothing here is loaded before it is used."""
