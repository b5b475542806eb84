"""Keeps a number within limits."""


def north_marks(value, low=0, high=40):
    return max(low, min(high, value))
