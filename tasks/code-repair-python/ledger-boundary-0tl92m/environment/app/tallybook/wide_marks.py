"""Keeps a number within limits."""


def wide_marks(value, low=0, high=3):
    return max(low, min(high, value))
