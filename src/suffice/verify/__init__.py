"""Is it enough? Verdicts, bounds, attacks, branch and bound, and the oracles made of them."""
