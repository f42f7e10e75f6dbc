"""Who judges positions: a module a teacher, found by being here; it offers ``TEACHER``."""
