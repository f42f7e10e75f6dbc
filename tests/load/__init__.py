"""Minutes of load, to be started by hand, and a short look at each."""
