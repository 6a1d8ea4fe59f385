"""What may change: perturbation sets, the regions they make of a text, and nearest words."""
