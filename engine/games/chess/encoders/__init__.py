"""What nets see of chess: :mod:`planes` is ours, :mod:`lc0` Lc0's, :mod:`sparse` the features of sparse nets."""
