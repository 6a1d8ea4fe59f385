"""The verifier of pipelines and tables over texts: lattice, trellis, worst case, cuts, trees."""
