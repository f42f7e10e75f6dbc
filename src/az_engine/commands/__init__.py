"""Commands that neither play, train nor measure: check, nets, convert."""
