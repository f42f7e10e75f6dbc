"""``az-engine bench``: speed as ratios beside a peer or limit of the same run."""
