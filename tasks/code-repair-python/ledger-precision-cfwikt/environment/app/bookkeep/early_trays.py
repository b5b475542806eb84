"""Keeps a number within limits."""


def early_trays(value, low=0, high=20):
    return max(low, min(high, value))
