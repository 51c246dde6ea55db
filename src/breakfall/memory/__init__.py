"""Bayesian Tool Memory: what earlier episodes tell of tools, learned without training."""
