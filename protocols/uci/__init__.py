"""UCI and USI: a conversation, its ``go``, and what a user may look at beside it."""
