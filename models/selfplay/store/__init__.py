"""The games of a run: on disk, and the window of the newest that the learner samples from."""
