"""Training data: labelled records of each game, and what a learner samples from them."""
