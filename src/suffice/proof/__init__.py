"""What stands behind an answer: certificates, and the checker that shares no code with
the prover.
"""
