"""The verifier of networks: presolve, backward bounds, attacks, branch and bound."""
