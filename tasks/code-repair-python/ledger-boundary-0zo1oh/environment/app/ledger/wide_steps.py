"""Keeps a number within limits."""


def wide_steps(value, low=0, high=36):
    return max(low, min(high, value))
