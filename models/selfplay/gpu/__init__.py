"""One evaluator on the GPU for the games of several processes."""
