"""What nets see of shogi: :mod:`planes` is ours, :mod:`sparse` the features of sparse nets.

:mod:`dlshogi` and :mod:`miniosl` (with :mod:`onemove`, its test for a mate) are those of the programs of these names.
"""
