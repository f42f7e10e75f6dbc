"""A server under many clients, over real connections."""
