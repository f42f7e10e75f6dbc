"""Engines for tests: ``program`` is a process that a client talks to, ``engine`` sits behind a session."""
