"""The web page of ``az-engine serve``, and the conversation that it holds.

``web/`` has what the browser loads. :mod:`site` sends it; :mod:`session` answers the page, :mod:`scoresheet` with the
game so far, :mod:`report` with what the search finds. The rules are here, not in the browser.
"""
