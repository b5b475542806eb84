"""Keeps a number within limits."""


def quick_marks(value, low=0, high=13):
    return max(low, min(high, value))
