"""Where labelled positions come from: a module a source, found by being here; it offers ``SOURCE``."""
