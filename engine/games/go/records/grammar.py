"""sgfmill's grammar of SGF, without what Python 3.12 says of its docstrings where no installer has compiled it."""

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from sgfmill import sgf_grammar

__all__ = ["sgf_grammar"]
