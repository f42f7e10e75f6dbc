"""The engine: rules, search and evaluation. No printing, no command line, no torch."""
